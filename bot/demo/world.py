"""The whole server: who and what exists, and what happens when somebody writes."""

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from bot.demo.calls import Calls
from bot.demo.changes import Changes
from bot.demo.chats import Chat, Draft, Kind, Status, Topic
from bot.demo.clock import VirtualClock
from bot.demo.command_lists import Commands
from bot.demo.faults import Faults
from bot.demo.files import Files
from bot.demo.flood import Flood
from bot.demo.messages import Json, Message, User
from bot.demo.presses import Press
from bot.demo.updates import Updates

ANONYMOUS_ADMIN_ID = 1087968824
SERVICE = frozenset(
    [
        "new_chat_members",
        "left_chat_member",
        "group_chat_created",
        "supergroup_chat_created",
        "migrate_to_chat_id",
        "migrate_from_chat_id",
        "pinned_message",
        "forum_topic_created",
        "forum_topic_edited",
        "forum_topic_closed",
        "forum_topic_reopened",
        "new_chat_title",
    ]
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server behaves.

    Attributes:
        strict: Count text limits in UTF-16 units; otherwise in code points, as TDLib does.
        privacy: Whether the bot has privacy mode on, as every new bot has.
        topics: Whether the bot has topics in private chats (`has_topics_enabled`).
        ack_window: Seconds in which a press may be answered.
        newest: Whether what came after Bot API 10.0 exists (rich messages, Stop on drafts).
    """

    strict: bool = True
    privacy: bool = True
    topics: bool = False
    ack_window: float = 15.0
    newest: bool = True


@dataclass(slots=True, eq=False)
class World:
    """Everything the server knows. One bot, one token."""

    token: str
    bot: User
    clock: VirtualClock
    settings: Settings
    updates: Updates
    flood: Flood
    calls: Calls
    changes: Changes = field(default_factory=Changes)
    faults: Faults = field(default_factory=Faults)
    files: Files = field(default_factory=Files)
    users: dict[int, User] = field(default_factory=dict)
    chats: dict[int, Chat] = field(default_factory=dict)
    presses: dict[str, Press] = field(default_factory=dict)
    commands: Commands = field(default_factory=Commands)
    menu_buttons: dict[int, Json] = field(default_factory=dict)
    webhook: Json = field(default_factory=dict)
    _next_message: int = 100
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(4_382_000_000_000_001))

    def user_wire(self, user_id: int) -> Json | None:
        """Return a user as entities name them."""
        user = self.users.get(user_id)
        return None if user is None else user.wire()

    def private_chat(self, user: User) -> Chat:
        """Return the chat of a person with our bot, made on first use."""
        chat = self.chats.get(user.id)
        if chat is None:
            members: dict[int, Status] = {user.id: "member", self.bot.id: "member"}
            chat = self.add_chat(user.id, "private", members=members, user=user)
        return chat

    def add_chat(
        self,
        chat_id: int,
        kind: Kind,
        title: str = "",
        *,
        members: dict[int, Status],
        user: User | None = None,
        forum: bool = False,
        username: str = "",
    ) -> Chat:
        """Make a chat.

        Raises:
            ValueError: There is one with this id.
        """
        if chat_id in self.chats:
            raise ValueError(f"chat {chat_id} exists already")
        chat = self.chats[chat_id] = Chat(
            chat_id,
            kind,
            self.clock,
            Changes(self.changes),
            title,
            username,
            user,
            forum,
            bot_id=self.bot.id,
            members=members,
            reads_all=kind == "private" or not self.settings.privacy,
            last_id=1 if forum else 0,
        )
        return chat

    def bot_me(self) -> Json:
        """Return what getMe answers."""
        return self.bot.wire() | {
            "can_join_groups": True,
            "can_read_all_group_messages": not self.settings.privacy,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": self.settings.topics,
            "allows_users_to_create_topics": self.settings.topics,
            "can_manage_bots": False,
        }

    def post(
        self,
        chat: Chat,
        sender: User,
        content: Json,
        *,
        markup: Json | None = None,
        reply_to: Message | None = None,
        thread: int | None = None,
        anonymous: bool = False,
    ) -> Message:
        """Put a new message into a chat; nobody is told yet, see `tell`.

        In a topic, a message that replies to nothing counts as a reply to the topic's creation; in a
        supergroup without topics a reply carries the id of its thread's first message. Both as the server
        does.
        """
        if chat.type == "supergroup":
            chat.last_id += 1
            number = chat.last_id
        else:
            self._next_message += 1
            number = self._next_message
        is_topic = thread is not None and thread in chat.topics
        if is_topic and thread is not None and reply_to is None:
            reply_to = chat.history.get(thread)
        if thread is None and chat.type == "supergroup" and not chat.forum and reply_to is not None:
            thread = reply_to.thread or reply_to.id
        message = Message(
            chat,
            number,
            sender,
            self.clock(),
            content,
            markup,
            reply_to,
            thread if thread else None,
            is_topic,
        )
        if anonymous:
            message.sender = User(ANONYMOUS_ADMIN_ID, "Group", username="GroupAnonymousBot", is_bot=True)
            message.sender_chat = chat
        chat.history[number] = message
        if sender.is_bot:
            chat.last_bot = sender.id
        if sender is self.bot:
            chat.actions.pop(thread, None)
            chat.drafts.pop(thread, None)
        chat.changed(message)
        return message

    def tell(self, message: Message, kind: str = "message") -> int | None:
        """Queue the update about a person's message, if the bot gets to see it; returns its id."""
        if not self.reaches_bot(message):
            return None
        return self.updates.push(kind, message.wire(), message.chat.id)

    def reaches_bot(self, message: Message) -> bool:
        """Return whether the bot is told of a message: privacy mode, other bots, membership.

        https://core.telegram.org/bots/features#privacy-mode. A plain mention does not get through; a
        command without a name only when our bot was the last bot to write there.
        """
        chat, sender = message.chat, message.sender
        if sender.is_bot and message.sender_chat is None:
            return False
        if not chat.is_group:
            return not (chat.user is not None and chat.user.blocked)
        if chat.bot_status in ("left", "kicked"):
            return False
        if any(kind in SERVICE for kind in message.content):
            return True
        if chat.reads_all or chat.bot_status == "administrator":
            return True
        if message.reply_to is not None and message.reply_to.sender is self.bot:
            return True
        text = message.text
        if named := addressed_bots(text):
            return self.bot.username.lower() in named
        return text.startswith("/") and chat.last_bot == self.bot.id

    def press(self, user: User, message: Message, data: str) -> Press:
        """Queue a callback query."""
        press = Press(str(next(self._ids)), user, message, data, self.clock())
        self.presses[press.id] = press
        payload: Json = {
            "id": press.id,
            "from": user.wire(),
            "message": message.wire(),
            "chat_instance": str(-(message.chat.id * 7919) % 10**18),
            "data": data,
        }
        self.updates.push("callback_query", payload, message.chat.id)
        return press

    def set_status(self, chat: Chat, user: User, status: Status, by: User) -> None:
        """Change somebody's membership and queue my_chat_member or chat_member."""
        old = chat.members.get(user.id, "left")
        chat.members[user.id] = status
        change: Json = {
            "chat": chat.wire(),
            "from": by.wire(),
            "date": int(self.clock()),
            "old_chat_member": member_wire(user, old),
            "new_chat_member": member_wire(user, status),
        }
        if user is self.bot:
            chat.reads_all = not chat.is_group or not self.settings.privacy
            self.updates.push("my_chat_member", change, chat.id)
        elif chat.bot_status == "administrator":
            self.updates.push("chat_member", change, chat.id)

    def add_topic(self, chat: Chat, name: str, by: User) -> Topic:
        """Create a topic; its id is that of the service message."""
        message = self.post(chat, by, {"forum_topic_created": {"name": name, "icon_color": 7322096}})
        topic = Topic(message.id, name)
        chat.topics[topic.id] = topic
        message.thread, message.is_topic = topic.id, True
        self.tell(message)
        return topic

    def migrate(self, group: Chat, new_id: int, *, announce: bool = True) -> Chat:
        """Turn a basic group into a supergroup with another id.

        Args:
            group: The group; from now on every call to it answers 400 with `migrate_to_chat_id`.
            new_id: Of the supergroup, -100… .
            announce: Whether the two service messages come; without them only the 400 tells the bot.
        """
        chat = self.add_chat(new_id, "supergroup", group.title, members=dict(group.members))
        chat.reads_all = group.reads_all
        by = next((self.users[i] for i in group.members if i in self.users and i != self.bot.id), self.bot)
        if announce:
            old = self.post(group, by, {"migrate_to_chat_id": new_id})
            new = self.post(chat, by, {"migrate_from_chat_id": group.id})
            self.tell(old)
            self.tell(new)
        group.migrated_to = chat
        return chat

    def draft(self, chat: Chat, thread: int | None, draft: Draft) -> None:
        """Show or change a draft."""
        chat.drafts[thread] = draft
        chat.changes.announce()


def member_wire(user: User, status: Status) -> Json:
    """Return a ChatMember. https://core.telegram.org/bots/api#chatmember"""
    fields: Json = {"user": user.wire(), "status": status}
    match status:
        case "creator":
            fields["is_anonymous"] = False
        case "administrator":
            rights: dict[str, Any] = dict.fromkeys(ADMIN_RIGHTS, True)
            fields |= rights | {"can_be_edited": False, "is_anonymous": False}
        case "kicked":
            fields["until_date"] = 0
        case "restricted":
            fields |= dict.fromkeys(MEMBER_RIGHTS, False) | {"is_member": True, "until_date": 0}
    return fields


ADMIN_RIGHTS = (
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_pin_messages",
    "can_manage_topics",
)
MEMBER_RIGHTS = (
    "can_change_info",
    "can_invite_users",
    "can_pin_messages",
    "can_send_messages",
    "can_send_polls",
    "can_send_other_messages",
    "can_add_web_page_previews",
    "can_manage_topics",
    "can_send_audios",
    "can_send_documents",
    "can_send_photos",
    "can_send_videos",
    "can_send_video_notes",
    "can_send_voice_notes",
    "can_edit_tag",
    "can_react_to_messages",
)


def valid_token(token: str) -> bool:
    """Return whether a token has the right shape."""
    return re.fullmatch(r"\d{1,20}:[A-Za-z0-9_-]{3,}", token) is not None


def addressed_bots(text: str) -> list[str]:
    """Return the lower-case names in `/command@name` at the start of words."""
    return [name.lower() for name in re.findall(r"(?<!\w)/\w+@(\w+)", text)]
