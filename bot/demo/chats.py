"""Chats as the people in them see them, and waiting for what they will show."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from bot.clock import Clock
from bot.demo.changes import Changes
from bot.demo.messages import Json, Message, User

Status = Literal["creator", "administrator", "member", "restricted", "left", "kicked"]
Kind = Literal["private", "group", "supergroup"]
Pattern = str | re.Pattern[str] | Callable[[Message], bool]

DRAFT_LIFE = 30.0
ACTION_LIFE = 5.0
SHOWN = 30
"""How many messages a printed screen has."""
SCANNED = 200
"""How many of the bot's last changes `expect` looks at."""


@dataclass(slots=True)
class Topic:
    """A forum topic; `id` is what API calls name `message_thread_id`."""

    id: int
    name: str
    closed: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Draft:
    """A streamed preview; gone after 30 s or when a real message comes."""

    id: int
    text: str
    entities: list[Json]
    expires: float
    can_stop: bool = False


@dataclass(slots=True)
class Action:
    """What the bot is shown to be doing, such as `typing`, for five seconds or until it speaks."""

    name: str
    expires: float


@dataclass(frozen=True, slots=True)
class Toast:
    """The answer to a press, as the person who pressed sees it; empty when the spinner just ended."""

    user_id: int
    text: str
    alert: bool
    time: float


@dataclass(frozen=True, slots=True)
class Screen:
    """What a person sees in a chat now.

    Attributes:
        messages: Oldest first, as edited, without the deleted ones.
        action: `typing` or another, while it lasts.
        draft: The streamed preview, while it lasts.
        toasts: The answers to this person's presses, or to everybody's.
    """

    title: str
    messages: tuple[Message, ...]
    action: str | None
    draft: Draft | None
    toasts: tuple[Toast, ...]

    @property
    def text(self) -> str:
        """All texts, one under the other."""
        return "\n".join(message.text for message in self.messages)

    def __str__(self) -> str:
        lines = [f"── {self.title}"]
        for message in self.messages[-SHOWN:]:
            mark = " (edited)" if message.edited is not None and message.text else ""
            lines.append(f"{message.sender.first_name}: {message.text or message.kind}{mark}")
            lines += ["    " + " ".join(f"[{button.text}]" for button in row) for row in message.buttons]
        if self.draft is not None:
            lines.append(f"… {self.draft.text or 'Thinking…'}")
        if self.action is not None:
            lines.append(f"({self.action})")
        lines += [
            f"({'alert' if toast.alert else 'toast'}: {toast.text})" for toast in self.toasts if toast.text
        ]
        return "\n".join(lines)


@dataclass(slots=True, eq=False)
class Chat:
    """A private chat, group or supergroup, as the people in it see it.

    Attributes:
        title: Of a group; empty in private.
        members: Everybody's status, our bot's too.
        reads_all: Whether the bot gets every message here; settled when it joined.
        migrated_to: The supergroup a group became.
        last_id: Of the last message of a supergroup, which counts its own; General is 1 in a forum.
        last_bot: Which bot wrote last, for the privacy filter; 0 when none did.
    """

    id: int
    type: Kind
    clock: Clock
    changes: Changes
    title: str = ""
    username: str = ""
    user: User | None = None
    forum: bool = False
    bot_id: int = 0
    members: dict[int, Status] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    reads_all: bool = False
    migrated_to: "Chat | None" = None
    last_bot: int = 0
    pinned: list[Message] = field(default_factory=list)
    drafts: dict[int | None, Draft] = field(default_factory=dict)
    actions: dict[int | None, Action] = field(default_factory=dict)
    toasts: list[Toast] = field(default_factory=list)
    history: dict[int, Message] = field(default_factory=dict)
    revisions: list[tuple[Message, int]] = field(default_factory=list)
    last_id: int = 0
    _seen: dict[tuple[object, int | None], int] = field(default_factory=dict)

    @property
    def is_group(self) -> bool:
        return self.type != "private"

    @property
    def bot_status(self) -> Status:
        return self.members.get(self.bot_id, "left")

    def wire(self) -> Json:
        fields: Json = {"id": self.id, "type": self.type}
        if self.user is not None:
            fields["first_name"] = self.user.first_name
            if self.user.username:
                fields["username"] = self.user.username
            return fields
        fields["title"] = self.title
        if self.username:
            fields["username"] = self.username
        if self.forum:
            fields["is_forum"] = True
        return fields

    def live(self) -> Iterator[Message]:
        """Yield the messages that are not deleted, oldest first."""
        return (message for message in self.history.values() if not message.deleted)

    def find(self, message_id: int) -> Message | None:
        """Return a message unless it is deleted."""
        message = self.history.get(message_id)
        return None if message is None or message.deleted else message

    def changed(self, message: Message) -> None:
        """Note that a person sees something new in `message`."""
        message.revision += 1
        if message.sender.id == self.bot_id:
            self.revisions.append((message, message.revision))
        self.changes.announce()

    @property
    def messages(self) -> list[Message]:
        """What is in the chat now, oldest first; deleted messages are gone, edited ones as edited."""
        return list(self.live())

    def screen(self, user_id: int | None = None, topic: "Topic | int | None" = None) -> Screen:
        """Return what a person sees now: in one topic, or everything; with one person's toasts, or all."""
        now = self.clock()
        thread = thread_id(topic)
        shown = [message for message in self.live() if thread in (None, message.thread)]
        actions = [a.name for t, a in self.actions.items() if a.expires > now and thread in (None, t)]
        drafts = [d for t, d in self.drafts.items() if d.expires > now and thread in (None, t)]
        return Screen(
            self.title or (self.user.first_name if self.user else ""),
            tuple(shown),
            actions[-1] if actions else None,
            drafts[-1] if drafts else None,
            tuple(toast for toast in self.toasts if user_id in (None, toast.user_id)),
        )

    async def expect(
        self, pattern: Pattern, within: float = 5.0, *, topic: "Topic | int | None" = None
    ) -> Message:
        """Wait for a message of the bot, new or edited, that shows the pattern.

        Each state of a message is matched once by the same pattern, so expecting the same words twice needs
        two messages, or an edit. A state that was edited away or deleted before it was looked at is missed,
        as a person would miss it.

        Args:
            pattern: A part of the text, a compiled expression to search, or a predicate of the message.
            within: Real seconds.
            topic: Only in this topic.

        Raises:
            AssertionError: It did not come; the text shows the screen.
        """
        found = await self.changes.until(lambda: self._next(pattern, topic), within)
        if found is None:
            wanted = pattern if isinstance(pattern, str) else getattr(pattern, "pattern", "a message")
            raise AssertionError(f"no {wanted!r} within {within} s; the chat shows:\n{self.screen()}")
        return found

    async def expect_nothing(self, within: float = 0.3) -> None:
        """Check that the bot writes or edits nothing for so many real seconds.

        Raises:
            AssertionError: It did.
        """
        before = len(self.revisions)
        moved = await self.changes.until(lambda: len(self.revisions) > before or None, within)
        if moved:
            raise AssertionError(f"expected silence, got {self.revisions[-1][0]!r}")

    async def until(self, look: Callable[[Screen], bool], within: float = 5.0) -> Screen:
        """Wait until the screen is as wished; looks after every change.

        Raises:
            AssertionError: It did not become so.
        """

        def looked() -> Screen | None:
            screen = self.screen()
            return screen if look(screen) else None

        found = await self.changes.until(looked, within)
        if found is None:
            raise AssertionError(f"not within {within} s; the chat shows:\n{self.screen()}")
        return found

    def _next(self, pattern: Pattern, topic: "Topic | int | None") -> Message | None:
        thread = thread_id(topic)
        key = (pattern, thread)
        at = max(self._seen.get(key, 0), len(self.revisions) - SCANNED)
        while at < len(self.revisions):
            message, revision = self.revisions[at]
            at += 1
            current = not message.deleted and message.revision == revision
            if current and thread in (None, message.thread) and shows(message, pattern):
                self._seen[key] = at
                return message
        self._seen[key] = at
        return None


def shows(message: Message, pattern: Pattern) -> bool:
    """Return whether a message shows a pattern."""
    if isinstance(pattern, str):
        return pattern in message.text
    if isinstance(pattern, re.Pattern):
        return pattern.search(message.text) is not None
    return pattern(message)


def thread_id(topic: Topic | int | None) -> int | None:
    """Return a topic's id."""
    return topic.id if isinstance(topic, Topic) else topic
