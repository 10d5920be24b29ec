"""Parse a text in one piece or many, and compare what came of it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.messages import ToolDefinition
from bot.protocol import Call, Event, Hidden, Problem, Text, ToolCallParser

CASES = Path(__file__).parent.parent / "cases"
TOOLS = [ToolDefinition(**tool) for tool in json.loads((CASES / "tools.json").read_text("utf-8"))]
CHUNKS = (1, 2, 3, 5, 8, 16, 64, 1_000_000)


@dataclass(frozen=True)
class Outcome:
    text: str
    calls: tuple[Call, ...]
    problems: tuple[Problem, ...]
    order: tuple[str, ...]
    hidden: tuple[Hidden, ...]
    steps: int

    @property
    def asked(self) -> list[list[object]]:
        return [[call.name, dict(call.arguments)] for call in self.calls]

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.problems]

    @property
    def reasons(self) -> list[str]:
        return [problem.reason for problem in self.problems]

    @property
    def result(self) -> tuple[object, ...]:
        """All but the steps, which may differ with the pieces."""
        return (self.text, self.calls, self.problems, self.order, self.hidden)


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(
    parts: str | Iterable[str],
    *,
    prefilled: bool = False,
    results: Sequence[str] = (),
    families: Iterable[str] | None = None,
    finish_reason: str | None = None,
    tools: Sequence[ToolDefinition] = TOOLS,
) -> Outcome:
    parser = ToolCallParser(
        tools, reasoning_prefilled=prefilled, prior_tool_results=results, families=families
    )
    events: list[Event] = []
    for part in [parts] if isinstance(parts, str) else parts:
        events += parser.feed(part)
    events += parser.finish(finish_reason)
    return Outcome(
        text="".join(event.text for event in events if isinstance(event, Text)),
        calls=tuple(event for event in events if isinstance(event, Call)),
        problems=tuple(event for event in events if isinstance(event, Problem)),
        order=tuple(type(event).__name__ for event in events if not isinstance(event, Text)),
        hidden=tuple(parser.hidden),
        steps=parser.steps,
    )


def shown_by_spans(text: str, hidden: Iterable[Hidden]) -> str:
    """What is left of a text without its hidden stretches, which must not overlap."""
    kept = []
    at = 0
    for span in hidden:
        assert span.start >= at
        kept.append(text[at : span.start])
        at = span.end
    return "".join(kept) + text[at:]
