"""What has been said about a message so far, and what may still be said.

Every event leaves through `Machine`: here the prefix rule, the limits and the "last in the message" rule
of untagged calls are kept, whichever dialect the call was written in.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bot.messages import ToolDefinition
from bot.protocol.dialects import FAMILIES, NS, WORD, table
from bot.protocol.events import Call, Event, Hidden, Problem, Text
from bot.protocol.names import Names
from bot.protocol.patterns import pattern
from bot.protocol.shapes import Asked
from bot.protocol.source import Source

MAX_CALLS = 32
MAX_HELD = 64 * 1024
MAX_EXCERPT = 60
MAX_TAIL = 300
NAME_BEFORE = 200
WORD_JOINER = "\u2060"

HINT = pattern(
    rf"<{NS}{WORD}\b[^>]{{0,400}}>\s{{0,64}}(?:[{{\[]|<[a-z])|<{NS}(?:function\s?=|invoke\s)\s?[\w\"']"
    r"|\[TOOL_CALLS\]\s?[\w\[{]|<[|｜](?:tool|START_ACTION|python_tag)"
)


@dataclass(slots=True)
class Candidate:
    """Text that is a call if nothing but blanks and calls follows it, and plain text otherwise."""

    raw: str
    start: int
    asked: Sequence[Asked]
    dialect: str
    repaired: bool = False
    problem: Problem | None = None


@dataclass(slots=True)
class Held:
    """Events that wait behind a candidate."""

    items: list[Candidate | Event] = field(default_factory=list)
    size: int = 0


class Machine:
    """The state of one message.

    Attributes:
        line_start: Only blanks were shown since the last line break.
        visible: Something other than blanks was shown.
        wrappers: Blocks that opened around the one being read.
        hinted: What looked like a call where none counts: `fence`, `open_fence`, `open_quote`, `thinking`.
        harmony: A harmony header was seen, so its end tokens are markers.
    """

    def __init__(
        self,
        tools: Iterable[ToolDefinition],
        prior_tool_results: Sequence[str] = (),
        families: Iterable[str] | None = None,
    ) -> None:
        self.source = Source()
        self.names = Names(tools)
        self.families = FAMILIES if families is None else frozenset(families)
        self.table = table(self.families, tuple(self.names.tools))
        self.hidden: list[Hidden] = []
        self.line_start = True
        self.visible = False
        self._tail = ""
        self.wrappers = 0
        self.hinted: set[str] = set()
        self.harmony = False
        self.outside_fence = False
        self._echoes = [result.replace(WORD_JOINER, "") for result in prior_tool_results]
        self._out: list[Event | str] = []
        self._held: Held | None = None
        self._stopped = False
        self._calls = 0
        self._codes: set[str] = set()

    @property
    def silent(self) -> bool:
        """Tell whether nothing has come of the message: no call and no problem."""
        return not self._calls and not self._codes

    @property
    def tail(self) -> str:
        """Return the end of what was shown, to find the line a fence follows."""
        return self._tail[-MAX_TAIL:]

    def drain(self) -> list[Event]:
        """Return what is certain since the last time, neighbouring texts joined."""
        out: list[Event] = []
        pieces: list[str] = []
        for event in self._out:
            if isinstance(event, str):
                pieces.append(event)
                continue
            if pieces:
                out.append(Text("".join(pieces)))
                pieces = []
            out.append(event)
        if pieces:
            out.append(Text("".join(pieces)))
        self._out = []
        return out

    def show(self, piece: str, *, in_fence: bool = False) -> None:
        """Let the person read a piece."""
        if not piece:
            return
        blank = piece.isspace()
        at = piece.rfind("\n")
        if at >= 0:
            self.line_start = at == len(piece) - 1 or piece[at + 1 :].isspace()
        elif not blank:
            self.line_start = False
        if not blank:
            self.visible = True
            if not in_fence:
                self.outside_fence = True
        self._tail += piece
        if len(self._tail) > 4 * MAX_TAIL:
            self._tail = self._tail[-MAX_TAIL:]
        if self._held is None:
            self._out.append(piece)
        else:
            self._emit(Text(piece), len(piece), blank)

    def hide(self, start: int, reason: str, end: int | None = None) -> None:
        """Note that what was read since `start` is not shown."""
        end = self.source.position if end is None else end
        if end > start:
            self.hidden.append(Hidden(start, end, reason))

    def hold(self, candidate: Candidate) -> None:
        """Keep an untagged call until it is clear whether it ends the message."""
        if self._held is None:
            self._held = Held()
        self._held.items.append(candidate)
        self._held.size += len(candidate.raw)
        if self._held.size > MAX_HELD:
            self._release(as_calls=False)

    def call(self, asked: Asked, start: int, dialect: str, repaired: bool) -> None:
        """Give a call out, unless something before it went wrong."""
        call = Call(
            asked.name, asked.arguments, repaired or asked.repaired, dialect, start, self.source.position
        )
        self._emit(call, 0, True)

    def problem(
        self, code: str, reason: str, message: str, position: int, excerpt: str, tool: str = ""
    ) -> None:
        """Say why a call will not run."""
        excerpt = excerpt.strip("\n")[:MAX_EXCERPT]
        self._emit(Problem(code, message, reason, position, excerpt, tool), 0, True)

    def echoed(self, raw: str, name: str = "") -> bool:
        """Tell whether a call stands, letter for letter, in a recent tool result.

        Args:
            name: The tool, if `raw` is only its arguments; it must stand shortly before them.
        """
        plain = raw.replace(WORD_JOINER, "").strip()
        if not plain:
            return False
        for echo in self._echoes:
            at = echo.find(plain)
            while at >= 0:
                if not name or name in echo[max(0, at - NAME_BEFORE) : at]:
                    return True
                at = echo.find(plain, at + len(plain))
        return False

    def finish(self, end: int) -> None:
        """Decide everything that waited for the end of the message."""
        self._release(as_calls=True)
        if not self.silent:
            return
        if "thinking" in self.hinted and not self.visible:
            self.problem(
                "malformed", "only_in_thinking", "the call stands only inside the thinking; send it after it",
                end, "",
            )  # fmt: skip
        elif self.hinted & {"open_fence", "open_quote"} or (
            "fence" in self.hinted and not self.outside_fence
        ):
            self.problem(
                "malformed", "in_code", "the call stands inside a code block; send it outside of one",
                end, "",
            )  # fmt: skip

    def _emit(self, event: Event, size: int, blank: bool) -> None:
        if self._held is None:
            self._give(event)
            return
        if not blank:
            self._release(as_calls=False)
            self._give(event)
            return
        self._held.items.append(event)
        self._held.size += size
        if self._held.size > MAX_HELD:
            self._release(as_calls=False)

    def _release(self, *, as_calls: bool) -> None:
        held, self._held = self._held, None
        for item in held.items if held else ():
            if not isinstance(item, Candidate):
                self._give(item)
            elif not as_calls:
                self.visible = self.outside_fence = True
                self._give(Text(item.raw))
            else:
                end = item.start + len(item.raw)
                self.hide(item.start, "problem" if item.problem else "call", end)
                if item.problem:
                    self._give(item.problem)
                for asked in item.asked:
                    repaired = item.repaired or asked.repaired
                    self._give(Call(asked.name, asked.arguments, repaired, item.dialect, item.start, end))

    def _give(self, event: Event) -> None:
        match event:
            case Text(text=text):
                self._out.append(text)
            case Problem(code=code):
                self._stopped = True
                if code not in self._codes:
                    self._codes.add(code)
                    self._out.append(event)
            case Call() if not self._stopped:
                if self._calls < MAX_CALLS:
                    self._calls += 1
                    self._out.append(event)
                else:
                    self._give(
                        Problem(
                            "truncated",
                            f"more than {MAX_CALLS} calls in one message",
                            "too_many_calls",
                            event.start,
                            "",
                            event.name,
                        )  # fmt: skip
                    )


LAST_LINE = re.compile(r"([^\n]*\S)\s*\Z")
EXAMPLE = re.compile(
    r"\b(?:contoh\w*|misal\w*|example|exemplo|ejemplo|sample|template|e\.g|for instance|format\w*"
    r"|seperti ini|kayak gini|like this)\b",
    re.IGNORECASE,
)


def introduces_example(tail: str) -> bool:
    """Tell whether the line before a fence ends in a colon and names an example."""
    line = LAST_LINE.search(tail)
    return bool(line and line.group(1).endswith(":") and EXAMPLE.search(line.group(1)))
