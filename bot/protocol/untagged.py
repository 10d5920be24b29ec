"""Calls without a tag of their own: JSON fences, bare JSON, and the forms that live on lines.

Any text may look like these, so all of a candidate must be calls to known tools, and only blanks and
other calls may follow it; else it is text, unchanged.
"""

import re

from bot.protocol.blocks import accept, recover, refuse, scan, truncated, values
from bot.protocol.dialects import FENCE_WORDS, NAME, Dialect
from bot.protocol.events import Problem
from bot.protocol.json_reader import Scanner, UnreadableError, read
from bot.protocol.machine import MAX_EXCERPT, MAX_HELD, Candidate, Machine, introduces_example
from bot.protocol.patterns import pattern
from bot.protocol.quoting import fence_body
from bot.protocol.shapes import (
    ARGUMENT_KEYS,
    IGNORED,
    LIST_KEYS,
    NAME_KEYS,
    Asked,
    RefusedError,
    call_shaped,
    calls_in,
    decoded,
    known,
)  # fmt: skip
from bot.protocol.source import Wait

FENCE = pattern(
    r"(?P<run>`{3,1000}+|~{3,1000}+)(?P<info>[^\n`]{0,200}+)(?:\n|[^\n`])"
    r"|(?P<run>~{3,1000}+)(?P<info>[^\n]{0,200}+)(?:\n|[^\n])"
)
BARE = pattern(rf"\{{\s{{0,64}}+[\"'“”A-Za-z]|\[\s{{0,64}}+\{{|\[\s{{0,64}}+(?P<python>{NAME})\s{{0,8}}\(")
MORE_JSON = pattern(r"\s{0,256}+[;,]?\s{0,256}+\{")
FIRST_KEY = re.compile(r"\s*\[?\s*\{\s*[\"'“”]?([\w.\-]+)[\"'“”]?\s*:")
NAMED = re.compile(rf"[\"'“”]?(?:{'|'.join(NAME_KEYS)})[\"'“”]?\s*:\s*[\"'“”]([^\"'“”]*)([\"'“”]?)")
KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *IGNORED, *LIST_KEYS))
FENCED_JSON = pattern(r"\s{0,256}+[\[{]")
FENCED_CALL = pattern(rf"\s{{0,256}}+(?P<print>print\(\s{{0,8}}+)?+\[?\s{{0,8}}+(?P<name>{NAME})\s{{0,8}}\(")
PRINT_END = pattern(r"\s{0,8}\)")
FENCE_END = pattern(r"[ \t]{0,64}+\n\s{0,64}+(`{3,1000}+|~{3,1000}+)[ \t]{0,64}+\n")
OBSERVATION = pattern(r"\s{0,256}+(?:Observation|PAUSE):?")


def bare(m: Machine) -> Wait[bool]:
    """Read a JSON value, or a list of Python-like calls, that begins here; False if none does."""
    source = m.source
    if "bare" not in m.families:
        return False
    head = yield from source.match(BARE)
    if head is None:
        return False
    python = head["python"]
    if python and (m.visible or m.names.find(python) is None):
        return False
    start = source.position
    kept = source.record()
    readings: list[tuple[str, object, bool]] = []
    while True:
        raw, error, cut = yield from scan_untagged(m, kept, calls=bool(python))
        if raw is None:
            return True
        if error is not None or cut:
            text = source.recorded(kept)
            if (cut or error_in_call(error)) and begins_call(m, text, bool(python)):
                if cut:
                    truncated(m, start, text)
                elif error is not None:
                    m.problem(
                        "malformed", error.reason, str(error), start + error.offset, text[-MAX_EXCERPT:]
                    )
                    yield from recover(m, start, line=True)
            else:
                m.show(text)
            return True
        try:
            reading = read(raw, calls=bool(python))
        except UnreadableError:
            m.show(source.recorded(kept))
            return True
        readings.append((raw, reading.value, reading.repaired))
        if python or not call_shaped(reading.value):
            break
        if (yield from source.match(MORE_JSON)) is None:
            break
        skipped = re.match(r"\s*[;,]?\s*", source.rest)
        source.take(skipped.end() if skipped else 0)
    text = source.recorded(kept)
    yield from settle(m, text, start, readings, "bare", strict=not python)
    return True


def error_in_call(error: UnreadableError | None) -> bool:
    """Tell whether an error is one a person writing prose would not make."""
    return error is not None and error.reason not in ("no_colon", "positional", "no_key", "after_value")


def scan_untagged(
    m: Machine, kept: list[str], *, calls: bool
) -> Wait[tuple[str | None, UnreadableError | None, bool]]:
    """Read one value, giving up as a candidate when its first key or its size says it is only data.

    Returns:
        The value as written, what is wrong with it, and whether the message ended inside it. The value is
        None when it was data and has been shown already.
    """
    source = m.source
    scanner = Scanner(calls=calls)
    mine = source.record()
    held = True
    size = 0
    while True:
        end = scanner.run(source.text, source.at, source.ended)
        size += end - source.at
        piece = source.take(end - source.at)
        if held and not calls:
            first = FIRST_KEY.match("".join(mine)) if size < 1000 else None
            held = not (first and first.group(1) not in KEYS)
        if held and size > MAX_HELD:
            held = False
        if not held:
            text = source.recorded(kept) if kept else piece
            kept.clear()
            m.show(text)
        if scanner.done or scanner.error or not (yield from source.more()):
            break
    source.steps += scanner.steps
    raw = source.recorded(mine)
    if not held:
        source.recorded(kept)
        return None, None, False
    return raw, scanner.error, not scanner.done and scanner.error is None


def begins_call(m: Machine, text: str, python: bool) -> bool:
    """Tell whether an unfinished text was on the way to calling a known tool."""
    if python:
        return True
    named = NAMED.search(text)
    if named is None:
        return False
    written, closed = named.group(1), named.group(2)
    if closed:
        return m.names.find(written) is not None
    return len(written) > 2 and any(name.startswith(written) for name in m.names.tools)


def settle(
    m: Machine, text: str, start: int, readings: list[tuple[str, object, bool]], dialect: str, *,
    strict: bool = True, name: str = "",
) -> Wait[None]:  # fmt: skip
    """Decide whether read values may be calls, and keep them until the end of the message."""
    asked: list[Asked] = []
    problem: Problem | None = None
    repaired = any(mended for _, _, mended in readings)
    try:
        for _, value, _ in readings:
            if name:
                tool = known(m.names, name)
                arguments, _ = decoded(value, tool, m.names)
                asked.append(Asked(tool, arguments))
                continue
            if strict and not call_shaped(value):
                m.show(text)
                return
            asked.extend(calls_in(value, m.names))
    except RefusedError as refused:
        if refused.code != "unknown" and not name:
            m.show(text)
            return
        asked = []
        problem = Problem(refused.code, str(refused), refused.reason, start, text[:MAX_EXCERPT], refused.tool)
    if any(m.echoed(raw, name) for raw, _, _ in readings):
        asked = []
        problem = Problem(
            "malformed", "this call is a copy of text in a tool result, which is data; it did not run",
            "echo", start, text[:MAX_EXCERPT],
        )  # fmt: skip
    m.hold(Candidate(text, start, asked, dialect, repaired, problem))
    yield from ()


def fence(m: Machine) -> Wait[bool]:
    """Read a code fence, which may be a call; False if no fence opens here."""
    source = m.source
    head = yield from source.match(FENCE)
    if head is None:
        if not source.cut:
            return False
        m.show(source.take(len(source.rest)), in_fence=True)
        return True
    run, info = head["run"], head["info"].strip()
    char, ticks = run[0], len(run)
    word, _, rest = info.partition(" ")
    whole = head.group().endswith("\n")
    if "fence" not in m.families or word.lower() not in FENCE_WORDS or not whole:
        m.show(source.take(len(head.group())), in_fence=True)
        yield from fence_body(m, char, ticks)
        return True
    start = source.position
    kept = source.record()
    source.take(len(head.group()))
    named = rest.strip() if word.lower() in ("tool", "tool_call", "tool_use", "function_call") else ""
    python = word.lower() == "tool_code"
    readings = yield from fenced_values(m, python)
    if readings is None:
        text = source.recorded(kept)
        cut = source.ended and not source.rest.strip()
        if cut and word and begins_call(m, text, False) and not named:
            truncated(m, start, text)
            return True
        if cut and named and m.names.find(named):
            truncated(m, start, text, named)
            return True
        m.show(text, in_fence=True)
        yield from fence_body(m, char, ticks)
        return True
    if not (yield from fence_end(m, char, ticks)):
        m.show(source.recorded(kept), in_fence=True)
        yield from fence_body(m, char, ticks)
        return True
    text = source.recorded(kept)
    if introduces_example(m.tail):
        m.show(text, in_fence=True)
        return True
    yield from settle(m, text, start, readings, "fence", strict=not python, name=named)
    return True


def fenced_values(m: Machine, python: bool) -> Wait[list[tuple[str, object, bool]] | None]:
    """Read the values a fence holds; None if it holds anything else."""
    source = m.source
    readings: list[tuple[str, object, bool]] = []
    size = 0
    while True:
        head = yield from source.match(FENCED_CALL if python else FENCED_JSON)
        if head is None:
            return readings or None
        printed = python and head["print"]
        if python:
            source.take((head.end("print") if printed else head.start("name")) - head.start())
        else:
            source.take(len(head.group()) - 1)
        scanned = yield from scan(m, calls=python)
        size += len(scanned.raw)
        if scanned.error is not None or scanned.open or size > MAX_HELD:
            return None
        try:
            reading = read(scanned.raw, calls=python)
        except UnreadableError:
            return None
        readings.append((scanned.raw, reading.value, reading.repaired))
        if printed:
            closed = yield from source.match(PRINT_END)
            if closed is None:
                return None
            source.take(len(closed.group()))
        if not python and (separator := (yield from source.match(MORE_JSON))) is not None:
            source.take(len(separator.group()) - 1)


def fence_end(m: Machine, char: str, ticks: int) -> Wait[bool]:
    """Read a fence's closing line but not its line break; the end of the message closes it too."""
    source = m.source
    found = yield from source.match(FENCE_END)
    if found is not None:
        run = found.group(1)
        if run[0] != char or len(run) < ticks:
            return False
        source.take(len(found.group()) - 1)
        return True
    if not source.ended:
        return False
    rest = source.rest.strip()
    if rest and (set(rest) != {char} or (len(rest) < ticks and "\n" in rest)):
        return False
    source.take(len(source.rest))
    return True


def react(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `Action: NAME` and `Action Input: {…}`; an observation after it is made up."""
    source = m.source
    name = row_name(opener, r"Action:[ \t]*([\w.\-]+)")
    yield from line_call(m, "react", opener, name)
    seen = yield from source.match(OBSERVATION)
    if seen is not None:
        start = source.position
        while True:
            source.take(len(source.rest))
            if not (yield from source.more()):
                break
        m.hide(start, "forged")


def functionary(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `>>>NAME` and its arguments on the next line; `>>>all` is text."""
    source = m.source
    name = row_name(opener, r">>>([\w.\-]+)")
    start = source.position
    if name == "all":
        source.take(len(opener))
        m.hide(start, "marker")
        m.line_start = True
        return
    if (yield from source.match(pattern(r"\s{0,64}+\{"), len(opener))) is None or not m.names.find(name):
        if source.cut and m.names.find(name):
            source.take(len(opener))
            truncated(m, start, opener, name)
            return
        m.show(source.take(len(opener)))
        return
    source.take(len(opener))
    yield from values(m, row, start, name=name)


def functools(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `functools[{…}]`."""
    source = m.source
    start = source.position
    if (yield from source.match(pattern(r"\s{0,64}+[\]{]"), len(opener))) is None and not source.cut:
        m.show(source.take(len(opener)))
        return
    source.take(len(opener) - 1)
    yield from values(m, row, start)


def command_r(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `Action:` and a JSON fence with a list of calls."""
    start = m.source.position
    kept = m.source.record()
    m.source.take(len(opener) - 1)
    readings = yield from fenced_values(m, False)
    if readings is None or not (yield from fence_end(m, "`", 3)):
        text = m.source.recorded(kept)
        if m.source.ended and not m.source.rest and begins_call(m, text, False):
            truncated(m, start, text)
            return
        m.show(text, in_fence=True)
        yield from fence_body(m, "`", 3)
        return
    yield from settle(m, m.source.recorded(kept), start, readings, row.name)


def bracket(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `[tool: NAME {…}]` and `[Calling tool: NAME({…})]`."""
    source = m.source
    start = source.position
    name = row_name(opener, rf":\s*({NAME})")
    if m.names.find(name) is None:
        m.show(source.take(len(opener)))
        return
    source.take(len(opener) - 1)
    begun = source.position
    scanned = yield from scan(m)
    if scanned.open:
        truncated(m, start, scanned.raw, name)
        return
    closed = yield from source.match(pattern(r"\s{0,8}+\)?\s{0,8}+\]"))
    if scanned.error is not None or (closed is None and not source.cut):
        yield from refuse(
            m, "wrong_close", "the arguments must be one JSON object and then ']'", source.position,
            scanned.raw, name,
        )  # fmt: skip
        yield from recover(m, start, line=True)
        return
    source.take(len(closed.group()) if closed else len(source.rest))
    accept(m, scanned.raw, begun, row.name, name=name)
    m.hide(start, "call")


def qwen2(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `✿FUNCTION✿: NAME` and `✿ARGS✿: {…}`."""
    start = m.source.position
    name = row_name(opener, rf"FUNCTION✿\s*:?\s*({NAME})")
    m.source.take(len(opener) - 1)
    yield from values(m, row, start, name=name)


def line_call(m: Machine, dialect: str, opener: str, name: str) -> Wait[None]:
    """Read the arguments that follow a name on lines; a call only if it ends the message."""
    source = m.source
    start = source.position
    kept = source.record()
    source.take(len(opener) - 1)
    scanned = yield from scan(m)
    text = source.recorded(kept)
    if scanned.open:
        if m.names.find(name):
            truncated(m, start, text, name)
        else:
            m.show(text)
        return
    fenced = yield from source.match(pattern(r"\s{0,64}+```"))
    if "```" in opener and fenced is not None:
        text += source.take(len(fenced.group()))
    try:
        reading = None if scanned.error else read(scanned.raw)
    except UnreadableError:
        reading = None
    if reading is None or not m.names.find(name):
        m.show(text)
        return
    yield from settle(m, text, start, [(scanned.raw, reading.value, reading.repaired)], dialect, name=name)


def envelope(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Hide a whole made-up result message; nothing after it is the model's to say."""
    source = m.source
    start = source.position
    m.problem(
        "malformed",
        "forged_result",
        "a tool result is never yours to write; wait for the real one",
        start,
        opener,
    )
    while True:
        source.take(len(source.rest))
        if not (yield from source.more()):
            break
    m.hide(start, "forged")


def row_name(opener: str, source: str) -> str:
    """Return the name an opener gives."""
    found = pattern(source).search(opener)
    return found.group(1) if found else ""
