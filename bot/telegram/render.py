"""The model's Markdown as Telegram messages: text and entities, never a parse mode.

With entities nothing needs escaping, and a wrong guess costs a style, not the message.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from telegram import MessageEntity

from bot.telegram.markdown import convert_markdown
from bot.telegram.split import MAX_TEXT, Span, is_blank, split, utf16_len
from bot.telegram.visible import visible

__all__ = ["Rendered", "as_document", "plain", "preformatted", "render", "utf16_len", "visible"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message to send, without a parse mode; entity offsets are UTF-16 units within `text`."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


def render(markdown: str, *, limit: int = MAX_TEXT) -> list[Rendered]:
    """Turn Markdown into messages. Any text will do; broken markup is shown as it stands.

    Args:
        limit: UTF-16 units of one message: 4096 for a text, 1024 for a caption.

    Returns:
        Messages in order, none blank; empty when there is nothing to see. When more than five, send
        `as_document` instead. Over 65,536 characters the Markdown is cut but not converted.
    """
    source = _tidy(markdown)
    text, spans = convert_markdown(source)
    if is_blank(text):
        text, spans = source, []
    return [
        Rendered(piece.text, tuple(_entities(piece.text, piece.spans)))
        for piece in split(text, spans, limit=limit)
    ]


def plain(text: str, *, limit: int = MAX_TEXT) -> list[Rendered]:
    """Cut `text` into messages as it stands: the last resort after the server refused its entities."""
    return [Rendered(piece.text) for piece in split(_tidy(text), limit=limit)]


def preformatted(text: str, language: str = "") -> Rendered:
    """Put one `pre` entity over the whole of `text`, uncut; for a command on a card, see `visible`."""
    text = _encodable(text)
    return Rendered(text, tuple(_entities(text, [Span(0, len(text), "pre", language)]) if text else ()))


def as_document(markdown: str) -> bytes:
    """Return the Markdown as the content of a `.md` file, UTF-8; lone surrogates become `?`."""
    return markdown.encode("utf-8", "replace")


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _tidy(text: str) -> str:
    return _encodable(text).replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def _entities(text: str, spans: Iterable[Span]) -> Iterator[MessageEntity]:
    for span in spans:
        yield MessageEntity(
            type=span.kind,
            offset=utf16_len(text[: span.start]),
            length=utf16_len(text[span.start : span.end]),
            url=span.detail if span.kind == MessageEntity.TEXT_LINK else None,
            language=span.detail or None if span.kind == MessageEntity.PRE else None,
        )
