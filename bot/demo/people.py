"""A person's side: what somebody does in their Telegram app."""

from collections.abc import Sequence

from bot.demo.chats import Chat, Screen, Toast, Topic, thread_id
from bot.demo.entities import TEXT_LIMIT, utf16_length
from bot.demo.files import StoredFile
from bot.demo.messages import Button, Json, Message, User
from bot.demo.methods.common import external_reply, quote_of
from bot.demo.methods.media import media_content
from bot.demo.methods.messages import copied, said
from bot.demo.presses import Press
from bot.demo.world import World

Where = Chat | None


class Person:
    """Somebody with a Telegram app.

    Every method acts at once; the bot learns of it through its updates. Without `chat`, things happen in the
    private chat with the bot, which the first message opens.

    Attributes:
        user: Who they are.
        chat: Their private chat with the bot.
    """

    def __init__(self, world: World, user: User) -> None:
        self._world = world
        self.user = user
        self.chat = world.private_chat(user)

    @property
    def id(self) -> int:
        return self.user.id

    def __repr__(self) -> str:
        return f"<{self.user.first_name} {self.id}>"

    def send(
        self,
        text: str,
        chat: Where = None,
        *,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
        edit_of: Message | None = None,
        quote: str | None = None,
        anonymous: bool = False,
    ) -> Message:
        """Write a message, or rewrite one.

        Args:
            text: More than 4096 UTF-16 units are sent as several messages, as the apps do.
            chat: The private chat unless named.
            topic: A topic of the chat; None is General.
            reply_to: A message here or in another chat.
            edit_of: An own message that gets this text instead.
            quote: The part of `reply_to` that is quoted.
            anonymous: As an anonymous admin of the group.

        Returns:
            The message; the last one when the app split the text.
        """
        if edit_of is not None:
            return self.edit(edit_of, text)
        parts = split(text)
        for part in parts[:-1]:
            self._post(said(part), chat, topic, reply_to, quote, anonymous)
        return self._post(said(parts[-1]), chat, topic, reply_to, quote, anonymous)

    def edit(self, message: Message, text: str) -> Message:
        """Give an own message another text or caption."""
        if message.sender is not self.user:
            raise ValueError(f"{message!r} is not {self.user.first_name}'s")
        field = "text" if "text" in message.content else "caption"
        entities = said(text).get("entities")
        kept = {k: v for k, v in message.content.items() if not k.endswith("entities")} | {field: text}
        if entities:
            kept["entities" if field == "text" else "caption_entities"] = entities
        message.content = kept
        message.edited = self._world.clock()
        message.chat.changed(message)
        self._world.tell(message, "edited_message")
        return message

    def refresh(self, message: Message) -> None:
        """Let the bot be told of an edit that changed nothing, as when only a link preview was loaded."""
        message.edited = self._world.clock()
        self._world.tell(message, "edited_message")

    def download(self, message: Message) -> bytes:
        """Return the bytes of a message's file.

        Raises:
            LookupError: It has none.
        """
        media = message.media
        stored = None if media is None else self._world.files.find(media["file_id"])
        if stored is None:
            raise LookupError(f"{message!r} has no file")
        return stored.data

    def delete(self, message: Message) -> None:
        """Delete a message for everybody; bots are not told of that."""
        message.deleted = True
        message.chat.changed(message)

    def start(self, payload: str = "") -> Message:
        """Press Start, with the payload of a deep link."""
        return self.send(f"/start {payload}".strip())

    def send_document(
        self,
        name: str,
        data: bytes = b"",
        chat: Where = None,
        *,
        caption: str = "",
        mime: str = "",
        size: int | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """Send a file; `size` claims more bytes than `data` has."""
        stored = self._world.files.add("document", name, data, mime=mime, size=size)
        return self._send_file(stored, chat, caption, topic, reply_to)

    def send_photo(
        self,
        data: bytes = b"\xff\xd8jpeg",
        chat: Where = None,
        *,
        caption: str = "",
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """Send a photo."""
        stored = self._world.files.add("photo", "photo.jpg", data, mime="image/jpeg")
        return self._send_file(stored, chat, caption, topic, reply_to)

    def send_voice(
        self,
        data: bytes = b"OggS",
        chat: Where = None,
        *,
        size: int | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """Send a voice message."""
        stored = self._world.files.add("voice", "voice.ogg", data, mime="audio/ogg", size=size)
        return self._send_file(stored, chat, "", topic, reply_to)

    def send_album(
        self,
        files: Sequence[tuple[str, bytes]],
        chat: Where = None,
        *,
        kind: str = "photo",
        caption: str = "",
        topic: Topic | int | None = None,
    ) -> list[Message]:
        """Send two to ten files as one album: as many updates, one `media_group_id`, one caption."""
        if not 2 <= len(files) <= 10:
            raise ValueError(f"an album has 2 to 10 files, not {len(files)}")
        group = str(13_900_000_000_000_000 + self._world.updates.next_id)
        messages = []
        for index, (name, data) in enumerate(files):
            content = media_content(self._world.files.add(kind, name, data)) | {"media_group_id": group}
            if caption and index == 0:
                content |= captioned(caption)
            messages.append(self._post(content, chat, topic, None, None, False))
        return messages

    def forward(self, message: Message, chat: Where = None, *, topic: Topic | int | None = None) -> Message:
        """Forward a message."""
        origin: Json = {"type": "user", "sender_user": message.sender.wire(), "date": int(message.date)}
        content = copied(message) | {"forward_origin": message.content.get("forward_origin", origin)}
        return self._post(content, chat, topic, None, None, False)

    def press(self, label: str, message: Message | None = None, *, chat: Where = None) -> Press:
        """Press an inline button.

        Args:
            label: Its text or its callback data.
            message: Where it is; otherwise the newest message of the chat that has such a button.
            chat: Where to look; the private chat unless named.

        Raises:
            LookupError: The chat shows no such button; the text names those it shows.
            ValueError: The button calls no bot: it opens a page or copies a text.
        """
        place = message.chat if message is not None else chat or self.chat
        shown = [message] if message is not None else [m for m in reversed(place.messages) if m.buttons]
        for candidate in shown:
            button = None if candidate.deleted else candidate.find_button(label)
            if button is not None:
                if not button.data:
                    raise ValueError(f"{button!r} does not call the bot")
                return self._world.press(self.user, candidate, button.data)
        labels = [button.text for candidate in shown for row in candidate.buttons for button in row]
        raise LookupError(f"no button {label!r}; shown: {labels!r}")

    def press_stale(self, button: Button, message: Message) -> Press:
        """Press a button that the app still showed though it was already gone on the server."""
        return self._world.press(self.user, message, button.data)

    def react(self, message: Message, emoji: str | None) -> None:
        """Put a reaction on a message; None takes it away. Bots are told only as `message_reaction`."""
        old = message.reactions.get(self.id, [])
        new: list[Json] = [{"type": "emoji", "emoji": emoji}] if emoji else []
        message.reactions[self.id] = new
        if not message.chat.is_group or message.chat.bot_status == "administrator":
            change: Json = {
                "chat": message.chat.wire(),
                "message_id": message.id,
                "user": self.user.wire(),
                "date": int(self._world.clock()),
                "old_reaction": old,
                "new_reaction": new,
            }
            self._world.updates.push("message_reaction", change, message.chat.id)

    def block(self) -> None:
        """Stop the bot: it is told, and every later call to the private chat answers 403."""
        self._world.set_status(self.chat, self._world.bot, "kicked", self.user)
        self.user.blocked = True

    def unblock(self) -> None:
        """Start the bot again."""
        self._world.set_status(self.chat, self._world.bot, "member", self.user)
        self.user.blocked = False

    def stop_draft(self, chat: Where = None, *, topic: Topic | int | None = None) -> None:
        """Press Stop on a draft that allows it (Bot API 10.3).

        Raises:
            LookupError: No such draft is shown.
        """
        place, thread = chat or self.chat, thread_id(topic)
        draft = place.drafts.get(thread)
        if draft is None or not draft.can_stop or draft.expires <= self._world.clock():
            raise LookupError("no draft with a Stop button is shown")
        stopped: Json = {"chat": place.wire(), "from": self.user.wire(), "draft_id": draft.id}
        if thread is not None:
            stopped["message_thread_id"] = thread
        del place.drafts[thread]
        self._world.updates.push("stopped_message_generation", stopped, place.id)

    def add_bot(self, group: Chat, *, admin: bool = False) -> None:
        """Add the bot to a group; its privacy mode there is settled now."""
        world = self._world
        world.set_status(group, world.bot, "administrator" if admin else "member", self.user)
        message = world.post(group, self.user, {"new_chat_members": [world.bot.wire()]})
        world.tell(message)

    def promote_bot(self, group: Chat, *, admin: bool = True) -> None:
        """Make the bot an administrator of a group, or a plain member again."""
        self._world.set_status(group, self._world.bot, "administrator" if admin else "member", self.user)

    def remove_bot(self, group: Chat) -> None:
        """Throw the bot out of a group."""
        self._world.set_status(group, self._world.bot, "kicked", self.user)

    def join(self, group: Chat) -> None:
        """Join a group."""
        self._world.set_status(group, self.user, "member", self.user)
        self._world.tell(self._world.post(group, self.user, {"new_chat_members": [self.user.wire()]}))

    def leave(self, group: Chat) -> None:
        """Leave a group."""
        self._world.tell(self._world.post(group, self.user, {"left_chat_member": self.user.wire()}))
        self._world.set_status(group, self.user, "left", self.user)

    def create_topic(self, chat: Chat, name: str) -> Topic:
        """Create a topic in a forum, or in the private chat of a bot that has topics there."""
        return self._world.add_topic(chat, name, self.user)

    def close_topic(self, chat: Chat, topic: Topic) -> None:
        """Close a topic: only admins write there then."""
        topic.closed = True
        message = self._world.post(chat, self.user, {"forum_topic_closed": {}}, thread=topic.id)
        self._world.tell(message)

    def screen(self, chat: Where = None, *, topic: Topic | int | None = None) -> Screen:
        """Return what this person sees in a chat now."""
        return (chat or self.chat).screen(self.id, topic)

    def toasts(self, chat: Where = None) -> list[Toast]:
        """Return the answers to this person's presses that said something, oldest first."""
        return [toast for toast in self.screen(chat).toasts if toast.text]

    def commands(self, chat: Where = None) -> list[Json]:
        """Return the command list this person is offered in a chat."""
        place = chat or self.chat
        admin = place.members.get(self.id) in ("creator", "administrator")
        return self._world.commands.seen_by(self.user, place, admin=admin)

    def _send_file(
        self,
        stored: StoredFile,
        chat: Where,
        caption: str,
        topic: Topic | int | None,
        reply_to: Message | None,
    ) -> Message:
        content = media_content(stored)
        if caption:
            content |= captioned(caption)
        return self._post(content, chat, topic, reply_to, None, False)

    def _post(
        self,
        content: Json,
        chat: Where,
        topic: Topic | int | None,
        reply_to: Message | None,
        quote: str | None,
        anonymous: bool,
    ) -> Message:
        world, place = self._world, chat or self.chat
        if place.members.get(self.id, "left") in ("left", "kicked"):
            raise ValueError(f"{self.user.first_name} is not in {place.title!r}")
        if place is self.chat:
            if self.user.blocked:
                raise ValueError(f"{self.user.first_name} has blocked the bot")
            self.user.started = True
        if place.migrated_to is not None:
            raise ValueError(f"{place.title!r} has become {place.migrated_to.id}")
        if topic is None and reply_to is not None and reply_to.is_topic and reply_to.chat is place:
            topic = reply_to.thread
        if quote is not None and reply_to is not None:
            content = content | {"quote": quote_of(reply_to, quote)}
        if reply_to is not None and reply_to.chat is not place:
            content = content | {"external_reply": external_reply(reply_to)}
            reply_to = None
        message = world.post(
            place,
            self.user,
            content,
            reply_to=reply_to,
            thread=thread_id(topic),
            anonymous=anonymous,
        )
        world.tell(message)
        return message


def captioned(caption: str) -> Json:
    """Return the content of a caption as a person types it, with what the server detects in it."""
    typed = said(caption)
    marks = {"caption_entities": typed["entities"]} if "entities" in typed else {}
    return {"caption": caption} | marks


def split(text: str) -> list[str]:
    """Cut a text into parts of at most 4096 UTF-16 units, as an app does with a long paste."""
    if utf16_length(text) <= TEXT_LIMIT:
        return [text]
    parts, part, size = [], "", 0
    for character in text:
        units = 2 if ord(character) > 0xFFFF else 1
        if size + units > TEXT_LIMIT:
            parts.append(part)
            part, size = "", 0
        part += character
        size += units
    return [*parts, part]
