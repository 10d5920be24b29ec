"""What a model is told about a call that did not run, so that the next attempt is right."""

from collections.abc import Iterable, Sequence

from bot.messages import ToolDefinition
from bot.protocol.describe import FRAME, schema_of
from bot.protocol.events import Problem
from bot.protocol.names import Names
from bot.protocol.neutral import neutralise

MAX_ATTEMPTS = 3

ADVICE = {
    "malformed": "Send the call again, corrected.",
    "truncated": "Send it again, shorter, or split it into several calls.",
    "unknown": "Use one of the tools that exist, or answer without a tool.",
}


def correction(
    problem: Problem, *, attempt: int, tools: Iterable[ToolDefinition], ran: Sequence[str] = ()
) -> str:
    """Return one message to the model: the reason, where, the text, the frame, the schema.

    Args:
        problem: The first problem of the message.
        attempt: Which of the three attempts comes next, counted from 1.
        ran: What the message's earlier calls were, one short text each; they must not be sent again.
    """
    names = Names(tools)
    lines = [
        f"[format correction, attempt {attempt} of {MAX_ATTEMPTS}]",
        f"Your call was not run: {neutralise(problem.message)} (character {problem.position}).",
    ]
    if problem.excerpt.strip():
        lines.append(f"There it says: {neutralise(problem.excerpt)!r}")
    if ran:
        lines.append(f"These ran and must not be sent again: {'; '.join(neutralise(item) for item in ran)}.")
    else:
        lines.append("Nothing in that message was run.")
    lines.append(
        f"{ADVICE.get(problem.code, ADVICE['malformed'])} The exact form, outside of any code block:"
    )
    lines.append(f"`{FRAME}`")
    tool = names.tools.get(names.find(problem.tool) or "") if problem.tool else None
    if tool is not None:
        lines.append(f"The arguments of {tool.name}: `{schema_of(tool)}`")
    else:
        lines.append(f"The tools: {', '.join(sorted(names.tools)) or 'none'}.")
    return "\n".join(lines)
