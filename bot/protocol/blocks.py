"""Blocks whose body is JSON, Python-like calls or Gemma's objects, and everything that may close them."""

import html
import re
from dataclasses import dataclass

from bot.protocol.dialects import CLOSER, FUNCTION, NAME, VALUE, WRAPPER, Dialect
from bot.protocol.json_reader import Scanner, UnreadableError, read
from bot.protocol.machine import MAX_EXCERPT, Machine
from bot.protocol.patterns import pattern
from bot.protocol.schema_types import unescaped
from bot.protocol.shapes import Asked, RefusedError, calls_in, decoded, known
from bot.protocol.source import Wait

MAX_OPENER = 16 * 1024
CLOSE = pattern(CLOSER)
SPACED_CLOSE = pattern(rf"\s{{0,256}}+(?:{CLOSER})")
SURPLUS = pattern(r"\s{0,256}+[}\]]")
INNER_FENCE = pattern(r"\s{0,256}+(?:`{3,8}|~{3,8})")
NEXT_VALUE = pattern(r"\s{0,256}+[,;]?\s{0,256}+(?:\{|\[\s{0,64}+[{\[])")
NEXT_CALL = pattern(rf"\s{{0,256}}+[,;]?\s{{0,256}}+{NAME}\s{{0,8}}\(")
NEXT_GEMMA = pattern(rf"\s{{0,256}}+[,;]?\s{{0,256}}+call:\s{{0,8}}(?P<gemma>{NAME})\s{{0,8}}\{{")
NEXT_ARGS = pattern(
    rf"\s{{0,8}}(?P<named>{NAME}(?::\d{{1,6}})?)\s{{0,8}}(?:\[CALL_ID\][\w\-]{{1,64}}\s{{0,8}})?\[ARGS\]\s{{0,64}}\{{"
)
LINE_END = pattern(r"[ \t]{0,256}+\r?\n")
AFTER_CLOSER = re.compile(r"\s*(?:\n|\Z|<)")
ENTITY = pattern(r"&(?:quot|apos|#34|#39|#x22|#x27);")
ATTRIBUTES = pattern(rf"\s([A-Za-z_][\w:.\-]*)\s*=\s*({VALUE})")
MENTION_END = pattern(rf"(?P<close>{CLOSER})|(?P<open>{WRAPPER}|{FUNCTION})")


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value as it stands in the text.

    Attributes:
        error: Where and why it stopped being one.
        open: The message ended inside it.
    """

    raw: str
    scanner: Scanner
    error: UnreadableError | None
    open: bool


def scan(m: Machine, *, calls: bool = False, tokens: bool = False) -> Wait[Scanned]:
    """Read one value, whose first character is next."""
    source = m.source
    scanner = Scanner(calls=calls, tokens=tokens)
    kept = source.record()
    while True:
        end = scanner.run(source.text, source.at, source.ended)
        source.take(end - source.at)
        if scanner.done or scanner.error or not (yield from source.more()):
            break
    source.steps += scanner.steps
    return Scanned(source.recorded(kept), scanner, scanner.error, not scanner.done and not scanner.error)


def opens_nested(m: Machine) -> Wait[int | None]:
    """Return how many blanks stand before another block's opener, or None if none follows."""
    blank = yield from blanks(m)
    if (yield from m.source.match(m.table.blocks, blank, MAX_OPENER)) is not None:
        return blank
    return None


def blanks(m: Machine, limit: int = 256) -> Wait[int]:
    """Return how many blanks come next."""
    source = m.source
    size = 0
    while size < limit:
        text = source.text
        while size < limit and source.at + size < len(text) and text[source.at + size].isspace():
            size += 1
        if source.at + size < len(text) or not (yield from source.more()):
            break
    return size


def values(
    m: Machine, row: Dialect, start: int, *, name: str = "", fenced: bool = False, calls: bool = False,
    tokens: bool = False, own_end: str = "",
) -> Wait[None]:  # fmt: skip
    """Read the values of a block and what closes it.

    Args:
        name: The tool, when the block gives it outside the value; the value is its arguments.
        fenced: A code fence opened inside the block.
        own_end: A closer only this block has.
    """
    source = m.source
    while True:
        if (yield from blanks(m)) and not calls:
            source.take((yield from blanks(m)))
        begun = source.position
        scanned = yield from scan(m, calls=calls, tokens=tokens)
        closed = False
        error = scanned.error
        raw = scanned.raw
        if error is not None and scanned.raw.strip() in ("{", "[", "[{"):
            escaped = yield from source.match(ENTITY)
            if escaped is not None:
                raw, error = (yield from escaped_value(m, raw)), None
        if error is not None and scanned.scanner.closable and (yield from source.match(CLOSE)):
            closed, error = True, None
        if error is not None:
            yield from source.ahead(MAX_EXCERPT)
            broken(m, error, begun, raw + source.rest[:MAX_EXCERPT])
            yield from recover(m, start, scanned)
            return
        if scanned.open:
            yield from cut_value(m, start, begun, scanned, name)
            return
        if (
            own_end
            and (ended := (yield from source.match(pattern(rf"\s{{0,256}}+(?:{own_end})")))) is not None
        ):
            source.take(len(ended.group()))
            accept(m, raw, begun, row.name, name=name, closed=closed)
            yield from swallow(m)
            m.hide(start, "call")
            return
        state = yield from after(m, fenced, calls, tokens)
        another = None
        if state == "bad" and row.name == "mistral":
            another = yield from source.match(NEXT_ARGS)
        if state == "bad" and another is None:
            yield from refuse(
                m, "trailing", "text follows the value inside the block", source.position, raw, name
            )
            yield from recover(m, start, line=True)
            return
        accept(
            m,
            raw,
            begun,
            row.name,
            name=name,
            calls=calls,
            tokens=tokens,
            closed=closed or state == "surplus",
        )
        if another is not None:
            name = another["named"]
            source.take(len(another.group()) - 1)
            continue
        if state == "cut":
            truncated(m, start, raw, name)
            return
        if state != "next":
            m.hide(start, "call")
            return
        if tokens:
            following = yield from source.match(
                pattern(rf"\s{{0,64}}call:\s{{0,8}}(?P<gemma>{NAME})\s{{0,8}}\{{")
            )
            if following is not None:
                name = following["gemma"]
                source.take(len(following.group()) - 1)


def escaped_value(m: Machine, head: str) -> Wait[str]:
    """Read a value whose quotes are HTML entities, up to a closer or the end; return it decoded."""
    source = m.source
    kept = source.record()
    while True:
        source.steps += 1
        found = CLOSE.search(source.text, source.at, partial=True)
        if found is not None and not found.partial:
            source.take(found.start() - source.at)
            break
        end = found.start() if found and not source.ended else len(source.text)
        source.take(end - source.at)
        if not (yield from source.more()):
            break
    return html.unescape(head + source.recorded(kept)).strip()


def after(m: Machine, fenced: bool, calls: bool, tokens: bool) -> Wait[str]:
    """Read what may follow a value: `end`, `surplus` brackets then the end, `next` value, `cut`, or `bad`."""
    source = m.source
    state = "end"
    while (found := (yield from source.match(SURPLUS))) is not None:
        source.take(len(found.group()))
        state = "surplus"
    if fenced and (found := (yield from source.match(INNER_FENCE))) is not None:
        source.take(len(found.group()))
    if (yield from swallow(m)):
        return state
    if source.ended and source.rest.strip() and cut_closer(m):
        source.take(len(source.rest))
        return state
    following = NEXT_CALL if calls else NEXT_GEMMA if tokens else NEXT_VALUE
    if (found := (yield from source.match(following))) is not None:
        skipped = re.match(r"\s*[,;]?\s*", source.rest)
        source.take(skipped.end() if skipped else 0)
        return "next"
    if source.ended and source.rest.strip() in (",", ";"):
        return "cut"
    if (yield from source.match(LINE_END)) is not None:
        return state
    if source.ended and not source.rest.strip():
        return state
    if (yield from opens_nested(m)) is not None:
        return state
    return "bad"


def cut_closer(m: Machine) -> bool:
    """Tell whether the message ends in the beginning of a closer."""
    found = SPACED_CLOSE.match(m.source.text, m.source.at, partial=True)
    return found is not None


def swallow(m: Machine) -> Wait[bool]:
    """Read the closers that come next, whatever their spelling, also doubled ones."""
    source = m.source
    any_found = False
    while True:
        found = yield from source.match(SPACED_CLOSE)
        if found is None:
            if source.cut and any_found and source.rest.strip():
                source.take(len(source.rest))
            break
        source.take(len(found.group()))
        any_found = True
        m.wrappers = max(0, m.wrappers - 1)
    if m.wrappers and any_found:
        blank = yield from opens_nested(m)
        if blank is None:
            m.wrappers = 0
        else:
            source.take(blank)
    return any_found


def accept(
    m: Machine, raw: str, start: int, dialect: str, *, name: str = "", calls: bool = False,
    tokens: bool = False, closed: bool = False,
) -> None:  # fmt: skip
    """Give out the calls of one value, or the problem with it."""
    if m.echoed(raw, name):
        echo(m, start, raw)
        return
    try:
        reading = read(raw, calls=calls, tokens=tokens, closed=True)
        if name:
            tool = known(m.names, name)
            value = reading.value
            if isinstance(value, dict) and value.keys() == {"name", "arguments"} and value["name"] == name:
                value = value["arguments"]
            arguments, mended = decoded(value, tool, m.names)
            m.call(Asked(tool, arguments), start, dialect, reading.repaired or mended or closed)
            return
        for asked in calls_in(reading.value, m.names):
            m.call(asked, start, dialect, reading.repaired or closed)
    except UnreadableError as error:
        broken(m, error, start, raw)
    except RefusedError as refused:
        m.problem(refused.code, refused.reason, str(refused), start, raw, refused.tool or name)


def echo(m: Machine, start: int, raw: str) -> None:
    """Refuse a call that was copied from a tool result."""
    m.problem(
        "malformed", "echo", "this call is a copy of text in a tool result, which is data; it did not run",
        start, raw,
    )  # fmt: skip


def broken(m: Machine, error: UnreadableError, start: int, raw: str) -> None:
    """Say why a value can't be read."""
    message = str(error)
    if error.reason in ("after_value", "no_colon") and '"' in raw:
        message += '; a double quote inside a string must be written \\"'
    begin = max(0, error.offset - MAX_EXCERPT // 2)
    m.problem("malformed", error.reason, message, start + error.offset, raw[begin:])


def refuse(m: Machine, reason: str, message: str, position: int, before: str, tool: str = "") -> Wait[None]:
    """Say that a call is malformed here, with what stands around the place."""
    following = yield from m.source.ahead(MAX_EXCERPT // 2)
    m.problem("malformed", reason, message, position, before[-MAX_EXCERPT // 2 :] + following, tool)


def cut_value(m: Machine, start: int, begun: int, scanned: Scanned, name: str) -> Wait[None]:
    """The message ended inside a value: cut short, or a string that was never closed."""
    if scanned.scanner.in_string:
        tail = scanned.raw[scanned.scanner.string_start :]
        closer = CLOSE.search(tail)
        if closer is not None and AFTER_CLOSER.match(tail, closer.end()):
            m.problem(
                "malformed", "string_open", "a string never ends: its closing quote is missing",
                begun + scanned.scanner.string_start, tail, name,
            )  # fmt: skip
            m.source.put_back(tail[closer.end() :])
            yield from swallow(m)
            m.hide(start, "problem")
            return
    truncated(m, start, scanned.raw, name)


def truncated(m: Machine, start: int, raw: str, name: str = "") -> None:
    """The message ended inside a call: hide it and say so."""
    m.source.take(len(m.source.rest))
    m.hide(start, "problem")
    m.problem(
        "truncated", "cut", "the message ended inside the call; it did not run. Send it shorter, or in parts",
        m.source.position, raw[-MAX_EXCERPT:], name,
    )  # fmt: skip


def recover(m: Machine, start: int, scanned: Scanned | None = None, *, line: bool = False) -> Wait[None]:
    """Hide the rest of a broken block: up to its closer, the next opener, or the end of the line."""
    source = m.source
    if scanned is not None:
        tail = scanned.raw[scanned.scanner.string_start :]
        closer = CLOSE.search(tail)
        if closer is not None and AFTER_CLOSER.match(tail, closer.end()) and closer.end() < len(tail):
            source.put_back(tail[closer.end() :])
            yield from swallow(m)
            m.hide(start, "problem")
            return
    while True:
        source.steps += 1
        found = MENTION_END.search(source.text, source.at, partial=True)
        end = found.start() if found and not (found.partial and source.ended) else len(source.text)
        newline = source.text.find("\n", source.at, end) if line else -1
        if newline >= 0:
            source.take(newline - source.at)
            break
        source.take(end - source.at)
        if found is not None and not found.partial:
            if found["close"] is not None:
                source.take(len(found.group()))
                yield from swallow(m)
            break
        if not (yield from source.more()):
            break
    m.hide(start, "problem")


def attributes_of(opener: str) -> dict[str, str]:
    """Return the attributes of a tag, entities decoded; the tool's name under the empty key."""
    found: dict[str, str] = {}
    if "=" not in opener:
        return found
    for match in ATTRIBUTES.finditer(opener):
        key, value = match.group(1), match.group(2)[1:-1]
        if "" not in found and key.lower() in ("name", "tool", "tool_name", "function"):
            found[""] = unescaped(value)
        else:
            found[key] = value
    return found
