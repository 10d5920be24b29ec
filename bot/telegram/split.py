"""Cut a formatted text into messages, without tearing what a reader sees as one thing.

Positions here are code points; only the limit is counted as Telegram counts it, in UTF-16 units.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from unicodedata import category

# https://core.telegram.org/bots/api#sendmessage
MAX_TEXT = 4096
# The server ignores every entity after the hundredth, and finds links and mentions itself besides.
MAX_ENTITIES = 95
LONG_GRAPHEME = 256
# Categories of what may belong to the character before it: marks, joiners, skin tones, voicing marks.
STICKY = frozenset({"Mn", "Mc", "Me", "Cf", "Sk", "Lm"})


@dataclass(frozen=True, slots=True)
class Span:
    """A formatted stretch of a text, `start` to `end` in code points.

    Attributes:
        kind: A `telegram.MessageEntity` type.
        detail: The URL of a `text_link`, the language of a `pre`; else empty.
    """

    start: int
    end: int
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One message's share of a text; its spans count from its own start."""

    text: str
    spans: tuple[Span, ...] = ()


def utf16_len(text: str) -> int:
    """Count UTF-16 units, the measure of Telegram's limits and entity offsets."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_blank(text: str) -> bool:
    """Whether a person would see nothing; the server refuses such a message."""
    return all(char.isspace() or category(char) in ("Cc", "Cf") for char in text)


def split(text: str, spans: Iterable[Span] = (), *, limit: int = MAX_TEXT) -> list[Piece]:
    """Cut `text` at a paragraph, else a line, else a space, else between two graphemes.

    A `pre` span that fits in one piece stays whole. A longer one is cut between its lines, and each part
    keeps the span and its language.

    Args:
        limit: UTF-16 units of one piece, at least 2. A longer grapheme is torn, between code points.

    Returns:
        Pieces in order, each of at most `limit` units and `MAX_ENTITIES` spans. Their texts joined are
        `text`, but for pieces in which nothing is visible: those are left out.
    """
    spans = _flattened(spans)
    page = _Page(text, limit, [span for span in spans if span.kind == "pre"])
    pieces: list[Piece] = []
    open_spans: list[Span] = []
    upcoming = start = 0
    while start < len(text):
        end = page.reach(start)
        overflow = upcoming + MAX_ENTITIES - len(open_spans)
        if overflow < len(spans):
            end = min(end, max(start + 1, spans[overflow].start))
        end = page.cut(start, end)
        while upcoming < len(spans) and spans[upcoming].start < end:
            open_spans.append(spans[upcoming])
            upcoming += 1
        if not is_blank(text[start:end]):
            pieces.append(Piece(text[start:end], tuple(_clipped(text, open_spans, start, end))))
        open_spans = [span for span in open_spans if span.end > end]
        start = end
    return pieces


def _flattened(spans: Iterable[Span]) -> list[Span]:
    # Bold in bold and quotes in quotes mean nothing to Telegram. Without them only a handful of spans can
    # cover one character, so a cut at a span's start always leaves room for those still open.
    kept: list[Span] = []
    ends: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        family = span.kind.removeprefix("expandable_")
        if span.start < span.end and span.end > ends.get(family, 0):
            start = max(span.start, ends.get(family, 0))
            kept.append(span if start == span.start else replace(span, start=start))
            ends[family] = span.end
    return sorted(kept, key=lambda span: (span.start, -span.end))


def _clipped(text: str, spans: Sequence[Span], start: int, end: int) -> Iterable[Span]:
    for span in spans:
        left, right = max(span.start, start), min(span.end, end)
        if not text[left:right].isspace():
            yield replace(span, start=left - start, end=right - start)


class _Page:
    def __init__(self, text: str, limit: int, blocks: Sequence[Span]) -> None:
        self._text = text
        self._limit = limit
        self._blocks = blocks
        self._block_starts = [block.start for block in blocks]
        self._astral = [] if text.isascii() else [i for i, char in enumerate(text) if char > "\uffff"]

    def width(self, start: int, end: int) -> int:
        return end - start + bisect_left(self._astral, end) - bisect_left(self._astral, start)

    def reach(self, start: int) -> int:
        end = min(len(self._text), start + self._limit)
        # A code point is one or two units, so this many must go at least: it never gives up too much.
        while (excess := self.width(start, end) - self._limit) > 0 and end > start + 1:
            end -= (excess + 1) // 2
        return max(end, start + 1)

    def block_around(self, position: int) -> Span | None:
        index = bisect_right(self._block_starts, position) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        return block if block.start < position < block.end else None

    def cut(self, start: int, end: int) -> int:
        if end == len(self._text):
            return end
        torn = self.block_around(end)
        if torn and torn.start > start:
            fits = self.width(torn.start, torn.end) <= self._limit
            # A long block is cut anyway, but not after its first few lines only.
            if fits or self.width(torn.start, end) < self._limit // 4:
                return torn.start
        halfway = start + max(1, (end - start) // 2)
        for separator, floor in (
            ("\n\n", halfway),
            ("\n", halfway),
            (" ", halfway),
            ("\n", start + 1),
            (" ", start + 1),
        ):
            if found := self.last(separator, floor, end, torn):
                return found
        found = self.grapheme_start(start, end)
        return found if found > start else end

    def last(self, separator: str, floor: int, end: int, torn: Span | None) -> int | None:
        while (found := self._text.rfind(separator, max(0, floor - len(separator)), end)) >= 0:
            cut = found + len(separator)
            block = self.block_around(cut)
            if block and block != torn:
                return block.start if block.start >= floor else None
            if separator != " " or category(self._text[cut]) not in STICKY:
                return cut
            end = cut - 1
        return None

    def grapheme_start(self, start: int, end: int) -> int:
        import regex  # most texts never need it

        # Near the end is enough, but pairs of flag letters are counted from the first of a run.
        near = run = max(start, end - LONG_GRAPHEME)
        while run > start and "\U0001f1e6" <= self._text[run - 1] <= "\U0001f1ff":
            run -= 1
        near -= (near - run) % 2
        for origin in (near, start):
            # One code point beyond `end` tells whether a grapheme begins there. A slice, because the
            # module looks back for flags as far as the text goes.
            window = self._text[origin : end + 1]
            found: int = origin + max(match.start() for match in regex.finditer(r"\X", window))
            if found > origin:
                return found
        return start
