"""Where nothing counts: code, quotations, thinking and results the model made up."""

import re

from bot.protocol.dialects import Dialect
from bot.protocol.machine import HINT, MAX_HELD, Machine
from bot.protocol.patterns import Pattern, pattern
from bot.protocol.source import Source, Wait

MAX_SPAN = 2000
RUN = pattern(r"`{1,2000}+[^`]")
TICKS_OR_LINE = re.compile(r"`+|\n")
CLOSING_RUN = pattern(r"[ \t]{0,64}(`{3,1000}+|~{3,1000}+)[ \t]{0,64}\n")
LINE_OF = {char: re.compile(rf"\n(?=[ \t]{{0,64}}(?:[{char}]|\Z))") for char in "`~"}
FENCE_IN_LINE = pattern(r"`{3,1000}+[\w+\-]{0,30}+[ \t]{0,16}\n")


def looks_like_call(text: str) -> bool:
    """Tell whether a text holds what would be a call outside of quotation."""
    return HINT.search(text) is not None


def until(source: Source, closer: Pattern, pieces: list[str]) -> Wait[str | None]:
    """Read up to and past `closer`, putting what comes before it into `pieces`.

    Returns:
        The closer as written; None when the message ended first.
    """
    while True:
        source.steps += 1
        found = closer.search(source.text, source.at, partial=True)
        end = found.start() if found else len(source.text)
        if found is not None and not found.partial:
            pieces.append(source.take(end - source.at))
            return source.take(found.end() - found.start())
        if source.ended:
            end = len(source.text)
        pieces.append(source.take(end - source.at))
        if not (yield from source.more()):
            return None


def quote(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Show a quotation as it is; one that never ends quotes the rest of the message."""
    m.show(m.source.take(len(opener)))
    kept: list[str] = []
    size = 0
    closer = pattern(row.closer)
    while True:
        m.source.steps += 1
        found = closer.search(m.source.text, m.source.at, partial=True)
        whole = found is not None and not found.partial
        end = found.start() if found and not m.source.ended else len(m.source.text)
        end = found.end() if found and whole else end
        piece = m.source.take(end - m.source.at)
        m.show(piece)
        if whole:
            return
        if size < MAX_HELD:
            kept.append(piece)
            size += len(piece)
        if not (yield from m.source.more()):
            if looks_like_call("".join(kept)[:MAX_HELD]):
                m.hinted.add("open_quote")
            return


def think(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Hide thinking; a closer in backticks is part of it."""
    start = m.source.position
    m.source.take(len(opener))
    yield from thinking(m, row.closer, start)


def thinking(m: Machine, closer: str, start: int) -> Wait[None]:
    """Hide thinking up to its closer."""
    pieces: list[str] = []
    while True:
        closed = yield from until(m.source, pattern(closer), pieces)
        if closed is None:
            break
        quoted = any(pieces) and next(piece for piece in reversed(pieces) if piece).endswith("`")
        if not quoted or (yield from m.source.ahead(1)) != "`":
            break
        pieces.append(closed)
    m.hide(start, "thinking")
    if looks_like_call("".join(pieces)):
        m.hinted.add("thinking")
    if closed is None:
        m.problem("truncated", "thinking_open", "the reply ended while still thinking", start, "")


def forged(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Hide a tool result the model wrote itself; it ends the part of the message that may run."""
    start = m.source.position
    m.problem(
        "malformed", "forged_result", "a tool result is never yours to write; wait for the real one", start,
        opener,
    )  # fmt: skip
    m.source.take(len(opener))
    yield from until(m.source, pattern(row.closer), [])
    m.hide(start, "forged")


def span(m: Machine) -> Wait[bool]:
    """Show inline code, or a backtick that quotes nothing; True if a fence opens here instead."""
    source = m.source
    text, at = source.text, source.at
    if len(text) > at + 1 and text[at + 1] != "`":
        ticks = 1
    else:
        run = yield from source.match(RUN)
        if run is None:
            size = len(source.rest) if source.cut else MAX_SPAN
            m.show(source.take(size))
            return False
        ticks = len(run.group()) - 1
    if ticks >= 3 and (yield from source.match(FENCE_IN_LINE)):
        return True
    offset = ticks
    while True:
        source.steps += 1
        found = TICKS_OR_LINE.search(source.text, source.at + offset, source.at + MAX_SPAN)
        if found is None:
            offset = min(len(source.text) - source.at, MAX_SPAN)
            if offset >= MAX_SPAN or not (yield from source.more()):
                break
            continue
        if found.group() == "\n":
            break
        if found.end() == len(source.text) and not source.ended:
            yield from source.more()
            continue
        offset = found.end() - source.at
        if len(found.group()) == ticks:
            m.show(source.take(offset))
            return False
    m.show(source.take(ticks))
    return False


def fence_body(m: Machine, char: str, ticks: int) -> Wait[None]:
    """Show a fence from inside it up to and past its closing line; without one, to the end."""
    source = m.source
    kept: list[str] = []
    size = 0
    at_line = m.line_start
    while True:
        source.steps += 1
        if at_line:
            closing = yield from source.match(CLOSING_RUN)
            if closing is None and source.cut and source.rest.strip():
                run = source.rest.strip()
                if set(run) == {char} and len(run) >= ticks:
                    m.show(source.take(len(source.rest)), in_fence=True)
                    break
            if closing is not None and closing.group(1)[0] == char and len(closing.group(1)) >= ticks:
                m.show(source.take(len(closing.group()) - 1), in_fence=True)
                break
        found = LINE_OF[char].search(source.text, source.at)
        end = found.end() if found else len(source.text)
        piece = source.take(end - source.at)
        m.show(piece, in_fence=True)
        at_line = found is not None
        if size < MAX_HELD:
            kept.append(piece)
            size += len(piece)
        if found is None and not (yield from source.more()):
            if looks_like_call("".join(kept)[:MAX_HELD]):
                m.hinted.add("open_fence")
            return
    if looks_like_call("".join(kept)[:MAX_HELD]):
        m.hinted.add("fence")


def quoted_line(m: Machine) -> Wait[None]:
    """Show one line of a blockquote."""
    while True:
        m.source.steps += 1
        end = m.source.text.find("\n", m.source.at)
        m.show(m.source.take((len(m.source.text) if end < 0 else end) - m.source.at))
        if end >= 0 or not (yield from m.source.more()):
            return
