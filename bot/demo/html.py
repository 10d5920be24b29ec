"""`parse_mode=HTML`, with the server's own error texts and byte offsets.

https://core.telegram.org/bots/api#html-style; the rules that page leaves out are restated from TDLib
(`parse_html`).
"""

from dataclasses import dataclass
from typing import Any

from bot.demo.links import judge_link, mentioned_user
from bot.demo.refusals import Refusal, bad_request

Entity = dict[str, Any]

_TYPES = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
}
_TAGS = frozenset([*_TYPES, "a", "code", "pre", "blockquote", "tg-emoji", "tg-time"])
_SPACE = frozenset(b" \t\r\n\v\f\0")
_NAMED = {b"lt": "<", b"gt": ">", b"amp": "&", b"quot": '"'}
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TOKEN = _LETTERS | frozenset(b"0123456789.-")


@dataclass(slots=True)
class _Open:
    """A start tag that waits for its end tag."""

    tag: str
    argument: str
    offset: int
    begin: int


def parse_html(source: str) -> tuple[str, list[Entity]]:
    """Return the text without tags, and its entities, unsorted; offsets in UTF-16 units.

    Raises:
        Refusal: `can't parse entities: …`.
    """
    return _Html(source.encode()).parse()


class _Html:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.at = 0
        self.text = bytearray()
        self.utf16 = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    def peek(self) -> int:
        """Return the byte at hand, 0 past the end; 0 counts as a space, as in the server."""
        return self.source[self.at] if self.at < len(self.source) else 0

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            byte = self.peek()
            if byte == ord("&") and (decoded := self.read_reference()):
                self.text += decoded.encode(errors="surrogatepass")
                self.utf16 += 2 if ord(decoded) > 0xFFFF else 1
            elif byte == ord("<"):
                begin = self.at
                self.at += 1
                if self.peek() == ord("/"):
                    self.read_end_tag(begin)
                else:
                    self.read_start_tag(begin)
            else:
                self.text.append(byte)
                if byte & 0xC0 != 0x80:
                    self.utf16 += 2 if byte >= 0xF0 else 1
                self.at += 1
        if self.open:
            raise _broken(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        for entity in self.entities:
            if entity["type"] == "code":
                entity.pop("language", None)
        try:
            return self.text.decode(), self.entities
        except UnicodeDecodeError:
            raise _broken(
                "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched "
                "surrogate code units"
            ) from None

    def read_reference(self) -> str:
        """Return the character of an `&…;` and move past it; empty, without moving, if it is none."""
        source, end = self.source, self.at + 1
        if source[end : end + 1] == b"#":
            end += 1
            base, digits = 10, b"0123456789"
            if source[end : end + 1] == b"x":
                end += 1
                base, digits = 16, b"0123456789abcdefABCDEF"
            start = end
            while end < len(source) and source[end] in digits:
                end += 1
            code = int(source[start:end] or b"0", base)
            if not 0 < code < 0x10FFFF or end - self.at >= 10:
                return ""
            character = chr(code)
        else:
            start = end
            while end < len(source) and source[end] in _LETTERS:
                end += 1
            character = _NAMED.get(source[start:end], "")
            if not character:
                return ""
        self.at = end + 1 if source[end : end + 1] == b";" else end
        return character

    def skip_spaces(self) -> None:
        while self.at < len(self.source) and self.peek() in _SPACE:
            self.at += 1

    def read_name(self) -> str:
        start = self.at
        while self.peek() not in _SPACE and self.peek() != ord(">"):
            self.at += 1
        return self.source[start : self.at].decode(errors="replace").lower()

    def read_start_tag(self, begin: int) -> None:
        tag = self.read_name()
        if self.at >= len(self.source):
            raise _broken(f"Unclosed start tag at byte offset {begin}")
        if tag not in _TAGS:
            raise _broken(f'Unsupported start tag "{tag}" at byte offset {begin}')
        argument = ""
        while self.peek() != ord(">"):
            self.skip_spaces()
            if self.peek() == ord(">"):
                break
            name, value = self.read_attribute(tag, begin)
            match tag, name:
                case ("a", "href") | ("tg-emoji", "emoji-id"):
                    argument = value or ""
                case ("code", "class") if (value or "").startswith("language-"):
                    argument = (value or "")[9:]
                case ("span", "class") if (value or "").startswith("tg-"):
                    argument = (value or "")[3:]
                case ("blockquote", "expandable"):
                    argument = "1"
        if tag == "span" and argument != "spoiler":
            raise _broken(f'Tag "span" must have class "tg-spoiler" at byte offset {begin}')
        self.at += 1
        self.open.append(_Open(tag, argument, self.utf16, len(self.text)))

    def read_attribute(self, tag: str, begin: int) -> tuple[str, str | None]:
        """Return an attribute's name and value; None as the value of a bare name."""
        unclosed = f'Unclosed start tag "{tag}" at byte offset {begin}'
        start = self.at
        while self.peek() not in _SPACE and self.peek() not in b"=>/\"'":
            self.at += 1
        name = self.source[start : self.at].decode(errors="replace")
        if not name:
            raise _broken(f'Empty attribute name in the tag "{tag}" at byte offset {begin}')
        self.skip_spaces()
        if self.at >= len(self.source):
            raise _broken(unclosed)
        if self.peek() != ord("="):
            return name, None
        self.at += 1
        self.skip_spaces()
        if self.at >= len(self.source):
            raise _broken(unclosed)
        quote = self.peek()
        if quote in b"\"'":
            self.at += 1
            value = bytearray()
            while self.at < len(self.source) and self.peek() != quote:
                if self.peek() == ord("&") and (decoded := self.read_reference()):
                    value += decoded.encode(errors="replace")
                    continue
                value.append(self.peek())
                self.at += 1
            self.at += 1
            text = value.decode(errors="replace")
        else:
            start = self.at
            while self.peek() in _TOKEN:
                self.at += 1
            text = self.source[start : self.at].decode().lower()
            if self.peek() not in _SPACE and self.peek() != ord(">"):
                raise _broken(f"Unexpected end of name token at byte offset {start}")
        if self.at >= len(self.source):
            raise _broken(f"Unclosed start tag at byte offset {begin}")
        return name, text

    def read_end_tag(self, begin: int) -> None:
        if not self.open:
            raise _broken(f"Unexpected end tag at byte offset {begin}")
        self.at += 1
        name = self.read_name()
        self.skip_spaces()
        if self.peek() != ord(">"):
            raise _broken(f"Unclosed end tag at byte offset {begin}")
        self.at += 1
        mark = self.open[-1]
        if name and name != mark.tag:
            raise _broken(
                f'Unmatched end tag at byte offset {begin}, expected "</{mark.tag}>", found "</{name}>"'
            )
        if self.utf16 > mark.offset:
            self.add(mark)
        self.open.pop()

    def add(self, mark: _Open) -> None:
        entity: Entity = {"offset": mark.offset, "length": self.utf16 - mark.offset}
        last = self.entities[-1] if self.entities else {}
        same = last.get("offset") == mark.offset and last.get("length") == entity["length"]
        match mark.tag:
            case "a":
                url = mark.argument or self.text[mark.begin :].decode(errors="replace")
                if (user := mentioned_user(url)) is not None:
                    entity |= {"type": "text_mention", "user_id": user}
                else:
                    checked, problem = judge_link(url)
                    if problem:
                        return
                    entity |= {"type": "text_link", "url": checked}
            case "tg-emoji":
                if not mark.argument.isdecimal():
                    raise _broken("Invalid custom emoji identifier specified")
                entity |= {"type": "custom_emoji", "custom_emoji_id": mark.argument}
            case "tg-time":
                return
            case "pre":
                if same and last["type"] == "code" and last.get("language"):
                    last["type"] = "pre"
                    return
                entity["type"] = "pre"
            case "code":
                if same and last["type"] == "pre" and mark.argument:
                    last["language"] = mark.argument
                    return
                entity["type"] = "code"
                if mark.argument:
                    entity["language"] = mark.argument
            case "blockquote":
                entity["type"] = "expandable_blockquote" if mark.argument else "blockquote"
            case tag:
                entity["type"] = _TYPES[tag]
        self.entities.append(entity)


def _broken(problem: str) -> Refusal:
    return bad_request(f"can't parse entities: {problem}")
