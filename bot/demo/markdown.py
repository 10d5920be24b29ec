"""`parse_mode=MarkdownV2` and the legacy `Markdown`, with the server's own error texts and byte offsets.

https://core.telegram.org/bots/api#formatting-options; the rules that page leaves out are restated from TDLib
(`parse_markdown_v2`, `parse_markdown`).
"""

from dataclasses import dataclass
from typing import Any

from bot.demo.links import judge_link, mentioned_user
from bot.demo.refusals import Refusal, bad_request

Entity = dict[str, Any]

_RESERVED = frozenset(b"_*[]()~`>#+-=|{}.!\n")
_SPACE = frozenset(b" \t\r\n\v\f\0")
_NAMES = {
    "bold": "Bold",
    "italic": "Italic",
    "underline": "Underline",
    "strikethrough": "Strikethrough",
    "spoiler": "Spoiler",
    "code": "Code",
    "pre": "Pre",
    "precode": "PreCode",
    "text_link": "TextUrl",
    "custom_emoji": "CustomEmoji",
    "blockquote": "BlockQuote",
}


@dataclass(slots=True)
class _Open:
    """A mark that waits for its end: where it began in the source and in the text."""

    kind: str
    language: str
    source: int
    offset: int
    begin: int


def parse_markdown_v2(source: str) -> tuple[str, list[Entity]]:
    """Return the text without marks, and its entities, unsorted; offsets in UTF-16 units.

    Raises:
        Refusal: `can't parse entities: …`.
    """
    return _MarkdownV2(source.encode()).parse()


class _MarkdownV2:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.size = len(source)
        self.at = 0
        self.text = bytearray()
        self.utf16 = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []
        self.in_quote = False
        self.may_quote = True

    def peek(self, ahead: int = 0) -> int:
        """Return a byte of the source, 0 past its end."""
        index = self.at + ahead
        return self.source[index] if index < self.size else 0

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < self.size:
            byte = self.peek()
            if byte == 0x5C and 0 < self.peek(1) <= 126:
                self.at += 1
                self.keep(self.peek())
            elif byte not in self.reserved():
                self.keep(byte)
            elif self.ends_entity(byte):
                self.close(byte)
            else:
                self.begin(byte)
            self.at += 1
        self.close_last_quote()
        if self.open:
            raise self.unclosed()
        return self.text.decode(errors="replace"), self.entities

    def reserved(self) -> frozenset[int]:
        if self.open and self.open[-1].kind in ("code", "pre", "precode"):
            return frozenset(b"`")
        return _RESERVED

    def keep(self, byte: int) -> None:
        self.text.append(byte)
        if byte & 0xC0 != 0x80:
            self.utf16 += 2 if byte >= 0xF0 else 1
            if byte != 0x0D:
                self.may_quote = byte == 0x0A

    def ends_entity(self, byte: int) -> bool:
        if not self.open:
            return False
        if self.in_quote and byte == 0x0A and self.peek(1) != ord(">"):
            return True
        match self.open[-1].kind:
            case "bold":
                return byte == ord("*")
            case "italic":
                return byte == ord("_") and self.peek(1) != ord("_")
            case "underline":
                return byte == ord("_") and self.peek(1) == ord("_")
            case "strikethrough":
                return byte == ord("~")
            case "spoiler":
                return byte == ord("|") and self.peek(1) == ord("|")
            case "code":
                return byte == ord("`")
            case "pre" | "precode":
                return byte == self.peek(1) == self.peek(2) == ord("`")
            case "text_link" | "custom_emoji":
                return byte == ord("]")
        return False

    def begin(self, byte: int) -> None:
        start, kind, language = self.at, "", ""
        match chr(byte):
            case "_" if self.peek(1) == ord("_"):
                kind = "underline"
                self.at += 1
            case "_":
                kind = "italic"
            case "*":
                kind = "bold"
            case "~":
                kind = "strikethrough"
            case "|" if self.peek(1) == ord("|"):
                kind = "spoiler"
                self.at += 1
            case "[":
                kind = "text_link"
            case "!" if self.peek(1) == ord("["):
                kind = "custom_emoji"
                self.at += 1
            case "`" if self.peek(1) == self.peek(2) == ord("`"):
                self.at += 3
                kind, language = self.begin_pre()
            case "`":
                kind = "code"
            case "\n":
                self.keep(byte)
                return
            case ">" if self.may_quote:
                if self.in_quote:
                    return
                kind = "blockquote"
                self.in_quote = True
            case _:
                raise _broken(
                    f"Character '{chr(byte)}' is reserved and must be escaped with the preceding '\\'"
                )
        self.open.append(_Open(kind, language, start, self.utf16, len(self.text)))

    def begin_pre(self) -> tuple[str, str]:
        kind, language = "pre", ""
        end = self.at
        while end < self.size and self.source[end] not in _SPACE and self.source[end] != ord("`"):
            end += 1
        if end not in (self.at, self.size) and self.source[end] != ord("`"):
            kind, language = "precode", self.source[self.at : end].decode(errors="replace")
            self.at = end
        if self.peek() in (0x0A, 0x0D):
            pair = self.peek(1) in (0x0A, 0x0D) and self.peek() != self.peek(1)
            self.at += 2 if pair else 1
        self.at -= 1
        return kind, language

    def close(self, byte: int) -> None:
        mark = self.open[-1]
        kind = mark.kind
        if byte == 0x0A and kind != "blockquote":
            kind = self.close_spoiler_before_newline(mark)
            mark = self.open[-1]
        extra: Entity | None = {}
        match kind:
            case "underline" | "spoiler":
                self.at += 1
            case "pre" | "precode":
                self.at += 2
            case "text_link":
                extra = self.close_link(mark)
            case "custom_emoji":
                extra = self.close_emoji()
            case "blockquote" | "expandable_blockquote":
                self.in_quote = False
                self.text.append(0x0A)
                self.utf16 += 1
                self.may_quote = True
        if extra is not None and self.utf16 > mark.offset:
            self.add(kind, mark, extra)
        self.open.pop()

    def close_spoiler_before_newline(self, mark: _Open) -> str:
        """End the `||` that marks an expandable quote; any other open mark at a quote's end is an error."""
        just_opened = mark.source == self.at - 2 or (mark.source == self.at - 3 and self.text[-1:] == b"\r")
        if mark.kind != "spoiler" or not just_opened:
            raise self.unclosed()
        self.open.pop()
        if self.open[-1].kind != "blockquote":
            raise self.unclosed()
        return "expandable_blockquote"

    def close_link(self, mark: _Open) -> Entity | None:
        shown = self.text[mark.begin :].decode(errors="replace")
        url = self.read_url() if self.peek(1) == ord("(") else shown
        if (user := mentioned_user(url)) is not None:
            return {"type": "text_mention", "user_id": user}
        checked, problem = judge_link(url)
        return None if problem else {"url": checked}

    def close_emoji(self) -> Entity:
        if self.peek(1) != ord("("):
            raise _broken("The entity must contain a tg://emoji or tg://time URL")
        head, _, number = self.read_url().partition("?id=")
        if head.lower() not in ("tg://emoji", "tg:emoji") or not number.isdecimal():
            raise _broken("Invalid tg://emoji or tg://time URL specified")
        return {"custom_emoji_id": number}

    def read_url(self) -> str:
        self.at += 2
        start, url = self.at, bytearray()
        while self.at < self.size and self.peek() != ord(")"):
            if self.peek() == 0x5C and 0 < self.peek(1) <= 126:
                self.at += 1
            url.append(self.peek())
            self.at += 1
        if self.at >= self.size:
            raise _broken(f"Can't find end of a URL at byte offset {start}")
        return url.decode(errors="replace")

    def close_last_quote(self) -> None:
        if not self.in_quote:
            return
        kind = "blockquote"
        if self.open[-1].kind == "spoiler" and self.open[-1].source == self.size - 2:
            self.open.pop()
            kind = "expandable_blockquote"
        if self.open and self.open[-1].kind == "blockquote":
            mark = self.open.pop()
            if self.utf16 > mark.offset:
                self.add(kind, mark, {})

    def add(self, kind: str, mark: _Open, extra: Entity) -> None:
        entity: Entity = {
            "type": "pre" if kind == "precode" else kind,
            "offset": mark.offset,
            "length": self.utf16 - mark.offset,
        }
        if mark.language:
            entity["language"] = mark.language
        self.entities.append(entity | extra)

    def unclosed(self) -> Refusal:
        mark = self.open[-1]
        return _broken(f"Can't find end of {_NAMES[mark.kind]} entity at byte offset {mark.source}")


def parse_markdown(source: str) -> tuple[str, list[Entity]]:
    """Parse the legacy `Markdown` mode: no nesting, four marks.

    Raises:
        Refusal: `can't parse entities: …`.
    """
    data, text, utf16 = source.encode(), bytearray(), 0
    entities: list[Entity] = []
    at, size = 0, len(data)

    def units(byte: int) -> int:
        return 0 if byte & 0xC0 == 0x80 else 2 if byte >= 0xF0 else 1

    while at < size:
        byte = data[at]
        if byte == 0x5C and at + 1 < size and data[at + 1] in b"_*`[":
            at += 1
            byte = data[at]
        elif byte in b"_*`[":
            start, language = at, ""
            fence = data.startswith(b"```", at)
            end_mark = b"```" if fence else b"]" if byte == ord("[") else bytes([byte])
            at += 3 if fence else 1
            if fence:
                end = at
                while end < size and data[end] not in _SPACE and data[end] != ord("`"):
                    end += 1
                if end not in (at, size) and data[end] != ord("`"):
                    language, at = data[at:end].decode(errors="replace"), end
                if data[at : at + 2] in (b"\r\n", b"\n\r"):
                    at += 2
                elif data[at : at + 1] in (b"\n", b"\r"):
                    at += 1
            end = data.find(end_mark, at)
            if end < 0:
                raise _broken(f"Can't find end of the entity starting at byte offset {start}")
            inner = data[at:end]
            length = sum(map(units, inner))
            entity: Entity = {"offset": utf16, "length": length}
            at = end + len(end_mark)
            match chr(byte):
                case "_":
                    entity["type"] = "italic"
                case "*":
                    entity["type"] = "bold"
                case "`":
                    entity["type"] = "pre" if fence else "code"
                    if language:
                        entity["language"] = language
                case _:
                    url = inner.decode(errors="replace")
                    if data[at : at + 1] == b"(":
                        close = data.find(b")", at)
                        close = size if close < 0 else close
                        url = data[at + 1 : close].decode(errors="replace")
                        at = close + 1
                    checked, problem = judge_link(url)
                    if not problem:
                        entity |= {"type": "text_link", "url": checked}
            if length and "type" in entity:
                entities.append(entity)
            text += inner
            utf16 += length
            continue
        text.append(byte)
        utf16 += units(byte)
        at += 1
    return text.decode(errors="replace"), entities


def _broken(problem: str) -> Refusal:
    return bad_request(f"can't parse entities: {problem}")
