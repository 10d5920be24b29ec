"""What the parser makes of a text, for a person who wants to see why."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from bot.messages import ToolDefinition
from bot.protocol.events import Call, Hidden, Problem, Text


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of parsing one whole message."""

    calls: tuple[Call, ...]
    text: str
    problems: tuple[Problem, ...]
    hidden: tuple[Hidden, ...]


def report(text: str, tools: Iterable[ToolDefinition]) -> Report:
    """Parse a whole message."""
    from bot.protocol.parser import ToolCallParser

    parser = ToolCallParser(tools)
    events = [*parser.feed(text), *parser.finish()]
    return Report(
        calls=tuple(event for event in events if isinstance(event, Call)),
        text="".join(event.text for event in events if isinstance(event, Text)),
        problems=tuple(event for event in events if isinstance(event, Problem)),
        hidden=tuple(parser.hidden),
    )


def as_json(found: Report) -> str:
    """Return a report as one JSON object with the keys calls, text, problems and hidden."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def as_text(found: Report) -> str:
    """Return a report for reading in a terminal."""
    lines = [f"calls: {len(found.calls)}"]
    for call in found.calls:
        flag = "  (repaired)" if call.repaired else ""
        lines.append(f"  {call.name} {json.dumps(call.arguments, ensure_ascii=False)}{flag}")
        lines.append(f"    {call.dialect}, characters {call.start}-{call.end}")
    lines.append(f"problems: {len(found.problems)}")
    for problem in found.problems:
        lines.append(f"  {problem.code} ({problem.reason}) at {problem.position}: {problem.message}")
        if problem.excerpt:
            lines.append(f"    {problem.excerpt!r}")
    lines.append(f"hidden: {len(found.hidden)}")
    lines.extend(f"  {hidden.reason}, characters {hidden.start}-{hidden.end}" for hidden in found.hidden)
    lines.append("text:")
    lines.append(found.text)
    return "\n".join(lines)
