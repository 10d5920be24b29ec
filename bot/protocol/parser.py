"""The parser of a model's text: one pass, the same result however the text is cut up.

The states are TEXT (here), SPAN, FENCE, QUOTE and HIDDEN (`quoting`), JSON and AFTER-JSON (`blocks`),
ELEMENT and VALUE (`elements`), SECTION (`sections`) and CANDIDATE (`untagged`). Each is a generator that
gives way when it needs more text. `find` and compiled patterns do the looking; no loop walks characters.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from bot.messages import ToolDefinition
from bot.protocol.blocks import MAX_OPENER, truncated
from bot.protocol.dialects import Dialect
from bot.protocol.elements import cline, function, kimi_k3
from bot.protocol.events import Event, Hidden
from bot.protocol.machine import Machine
from bot.protocol.quoting import forged, quote, quoted_line, span, think, thinking
from bot.protocol.sections import HARMONY_END, harmony, plain_harmony, section, section_call
from bot.protocol.source import Wait
from bot.protocol.tagged import block
from bot.protocol.untagged import (
    bare,
    bracket,
    command_r,
    envelope,
    fence,
    functionary,
    functools,
    qwen2,
    react,
)  # fmt: skip

MAX_MESSAGE = 256 * 1024

INTERESTING = re.compile(
    r"[`✿◁\\]|<(?=[A-Za-z/|｜!]|\Z)|\[(?=[A-Za-z/]|\Z)|\](?=<|\Z)"
    r"|\n(?=[ \t]{0,256}(?:[`~>{\[ACacftTEe]|\Z))"
)
INDENT = re.compile(r"[ \t]{0,256}")
LINE_LETTERS = frozenset("ACacftTEe>[")
THINK_END = (
    r"</(?:[\w.\-]{1,32}:)?(?i:think|thinking|thoughts?|reasoning)\s{0,8}>|\[/THINK\]|◁/think▷"
    r"|<\|END_THINKING\|>|<\|close\|>think<\|sep\|>|<channel\|>"
)


def marker(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Drop a token that means nothing to the person."""
    start = m.source.position
    m.source.take(len(opener))
    m.hide(start, "marker")
    yield from ()


READERS: dict[str, Callable[[Machine, Dialect, str], Wait[None]]] = {
    "quote": quote,
    "think": think,
    "marker": marker,
    "forged": forged,
    "envelope": envelope,
    "block": block,
    "function": function,
    "cline": cline,
    "kimi_k3": kimi_k3,
    "section": section,
    "section_call": section_call,
    "harmony": harmony,
    "plain_harmony": plain_harmony,
    "functionary": functionary,
    "functools": functools,
    "react": react,
    "command_r": command_r,
    "bracket": bracket,
    "qwen2": qwen2,
}


class ToolCallParser:
    """Reads one message of a model. Never raises on its text.

    Args:
        tools: What may be called; a call to anything else is a problem.
        reasoning_prefilled: The prompt already opened the thinking, so the message begins inside it.
        prior_tool_results: Texts of recent results; a call copied from one does not run.
        families: Which dialect families to read (`dialects.FAMILIES`); None for all. Tags, thinking and
            quotation are always read.
    """

    def __init__(
        self,
        tools: Iterable[ToolDefinition],
        *,
        reasoning_prefilled: bool = False,
        prior_tool_results: Sequence[str] = (),
        families: Iterable[str] | None = None,
    ) -> None:
        self._machine = Machine(tools, prior_tool_results, families)
        self._running: Wait[None] | None = read_message(self._machine, reasoning_prefilled)
        self._received = 0
        self._finished = False

    @property
    def hidden(self) -> list[Hidden]:
        """Return the stretches of the message that are not shown; complete after `finish`, in order."""
        return sorted(self._machine.hidden, key=lambda hidden: hidden.start)

    @property
    def steps(self) -> int:
        """Return how much work was done, in steps that each look at a bounded stretch of text."""
        return self._machine.source.steps

    def feed(self, text: str) -> list[Event]:
        """Read on and return what is now certain, in order. Text past 256 KB of a message is dropped."""
        room = MAX_MESSAGE - self._received
        self._received += len(text)
        if room > 0 and text:
            self._machine.source.push(text[:room])
            self._resume()
        return self._machine.drain()

    def finish(self, finish_reason: str | None = None) -> list[Event]:
        """End the message and return the rest. A second call returns nothing.

        Args:
            finish_reason: What the provider said; proxies rewrite it, so the structure alone decides.
        """
        if self._finished:
            return []
        self._finished = True
        machine = self._machine
        machine.source.ended = True
        self._resume()
        end = machine.source.position
        if self._received > MAX_MESSAGE:
            machine.problem(
                "truncated", "too_long", f"the message is longer than {MAX_MESSAGE} characters", end, ""
            )
            machine.hide(end, "limit", self._received)
        machine.finish(end)
        return machine.drain()

    def _resume(self) -> None:
        if self._running is None:
            return
        try:
            next(self._running)
        except StopIteration:
            self._running = None


def read_message(m: Machine, reasoning_prefilled: bool) -> Wait[None]:
    """TEXT: show what is text and hand over to a reader wherever something opens."""
    source = m.source
    if reasoning_prefilled:
        yield from thinking(m, THINK_END, 0)
    tried = -1
    while True:
        source.steps += 1
        if m.line_start and tried != source.position:
            tried = source.position
            if (yield from line(m)):
                continue
        found = INTERESTING.search(source.text, source.at)
        char = found.group() if found else ""
        end = len(source.text) if found is None else found.end() if char == "\n" else found.start()
        if end > source.at:
            m.show(source.take(end - source.at))
        if found is None:
            if not (yield from source.more()):
                return
            continue
        match char:
            case "\n":
                pass
            case "`":
                if (yield from span(m)):
                    yield from fence(m)
            case "\\":
                following = yield from source.ahead(2)
                m.show(source.take(2 if following in ("\\`", "\\\\") else 1))
            case _:
                yield from opening(m)


def line(m: Machine) -> Wait[bool]:
    """Read what only counts at the start of a line; False if nothing of the kind is there."""
    source = m.source
    while True:
        indent = INDENT.match(source.text, source.at)
        end = indent.end() if indent else source.at
        if end < len(source.text):
            break
        if end - source.at >= 256 or not (yield from source.more()):
            return False
    char = source.text[end]
    if char not in "`~>{[" and char not in LINE_LETTERS:
        return False
    m.show(source.take(end - source.at))
    if char in "`~":
        if (yield from source.ahead(3)) != char * 3:
            return False
        return (yield from fence(m))
    if char in LINE_LETTERS:
        found = yield from source.match(m.table.lines)
        if found is not None:
            row = m.table.rows[found.lastgroup or ""]
            yield from READERS[row.reader](m, row, found.group())
            return True
    if char == ">":
        yield from quoted_line(m)
        return True
    if char in "{[":
        return (yield from bare(m))
    return False


def opening(m: Machine) -> Wait[None]:
    """Read what opens here, or show one character."""
    source = m.source
    found = yield from source.match(m.table.openers, 0, MAX_OPENER)
    if found is not None:
        row = m.table.rows[found.lastgroup or ""]
        yield from READERS[row.reader](m, row, found.group())
        return
    if source.cut and len(source.rest) > 2 and m.table.blocks.fullmatch(source.rest, partial=True):
        truncated(m, source.position, source.rest)
        return
    if m.harmony and (yield from harmony_token(m)):
        return
    m.show(source.take(1))


def harmony_token(m: Machine) -> Wait[bool]:
    """Drop an end token of a harmony message."""
    found = yield from m.source.match(HARMONY_END)
    if found is not None:
        start = m.source.position
        m.source.take(len(found.group()))
        m.hide(start, "marker")
    return found is not None
