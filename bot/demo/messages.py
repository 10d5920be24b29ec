"""Who speaks and what was said, as it is now."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.demo.entities import cut_utf16

if TYPE_CHECKING:
    from bot.demo.chats import Chat

Json = dict[str, Any]

_MEDIA = ("photo", "animation", "document", "voice", "audio", "video", "sticker")


@dataclass(slots=True, eq=False)
class User:
    """A person or a bot. https://core.telegram.org/bots/api#user

    Attributes:
        started: Whether the private chat with our bot is open: a bot cannot write first.
        blocked: Whether they stopped our bot.
        deactivated: Whether the account is gone.
    """

    id: int
    first_name: str
    username: str = ""
    last_name: str = ""
    language: str = ""
    is_bot: bool = False
    started: bool = False
    blocked: bool = False
    deactivated: bool = False

    def wire(self) -> Json:
        fields: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        if self.last_name:
            fields["last_name"] = self.last_name
        if self.username:
            fields["username"] = self.username
        if self.language:
            fields["language_code"] = self.language
        return fields


@dataclass(frozen=True, slots=True)
class Button:
    """An inline button as a person sees it; `data` is empty unless pressing it calls the bot."""

    text: str
    data: str = ""
    url: str = ""
    copy_text: str = ""
    style: str = ""


@dataclass(slots=True, eq=False)
class Message:
    """A message as it is now. https://core.telegram.org/bots/api#message

    Attributes:
        content: The wire's own fields: `text` and `entities`, or media with `caption`, or a service event.
        markup: The keyboard below it.
        thread: `message_thread_id`; None in General and where there are no topics.
        revision: Grows with each visible change.
        reactions: Of each user id, what they reacted with.
    """

    chat: "Chat"
    id: int
    sender: User
    date: float
    content: Json
    markup: Json | None = None
    reply_to: "Message | None" = None
    thread: int | None = None
    is_topic: bool = False
    edited: float | None = None
    deleted: bool = False
    revision: int = 0
    sender_chat: "Chat | None" = None
    reactions: dict[int, list[Json]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text or the caption; empty when there is none."""
        return str(self.content.get("text") or self.content.get("caption") or "")

    @property
    def entities(self) -> list[Json]:
        """The marks of `text`, offsets in UTF-16 units."""
        found: list[Json] = self.content.get("entities") or self.content.get("caption_entities") or []
        return found

    @property
    def kind(self) -> str:
        """`text`, `document`, `photo`, … or the name of a service event."""
        for kind in ("text", *_MEDIA):
            if kind in self.content:
                return kind
        return next(iter(self.content), "")

    @property
    def media(self) -> Json | None:
        """The file's own fields (`file_id`, `file_name`, `file_size`, …); of a photo, the largest size."""
        for kind in _MEDIA:
            if kind in self.content:
                value = self.content[kind]
                found: Json = value[-1] if isinstance(value, list) else value
                return found
        return None

    @property
    def buttons(self) -> list[list[Button]]:
        """The inline buttons, row by row."""
        return [
            [
                Button(
                    button["text"],
                    button.get("callback_data", ""),
                    button.get("url", ""),
                    (button.get("copy_text") or {}).get("text", ""),
                    button.get("style", ""),
                )
                for button in row
            ]
            for row in (self.markup or {}).get("inline_keyboard", [])
        ]

    def covered(self, kind: str) -> list[str]:
        """Return the parts of the text that entities of a type cover, such as `pre` or `bold`."""
        return [
            cut_utf16(self.text, entity["offset"], entity["length"])
            for entity in self.entities
            if entity["type"] == kind
        ]

    def find_button(self, label: str) -> Button | None:
        """Return the button with this text or callback data."""
        for row in self.buttons:
            for button in row:
                if label in (button.text, button.data):
                    return button
        return None

    def wire(self, *, replies: bool = True) -> Json:
        """Return the Bot API's Message; the message replied to is given without its own reply."""
        fields: Json = {
            "message_id": self.id,
            "from": self.sender.wire(),
            "chat": self.chat.wire(),
            "date": int(self.date),
        }
        if self.sender_chat is not None:
            fields["sender_chat"] = self.sender_chat.wire()
        if self.thread is not None:
            fields["message_thread_id"] = self.thread
            if self.is_topic:
                fields["is_topic_message"] = True
        if self.edited is not None:
            fields["edit_date"] = int(self.edited)
        if replies and self.reply_to is not None:
            fields["reply_to_message"] = self.reply_to.wire(replies=False)
        fields |= self.content
        if self.markup and "inline_keyboard" in self.markup:
            fields["reply_markup"] = self.markup
        return fields

    def __repr__(self) -> str:
        said = self.text or self.kind
        labels = "".join(f" [{button.text}]" for row in self.buttons for button in row)
        return f"<{self.sender.first_name} #{self.id}: {said!r}{labels}>"
