"""What a person may read of a model's text: for clients whose model writes calls into its answer."""

from collections.abc import Iterable, Sequence

from bot.messages import ToolDefinition
from bot.protocol.events import Call, Hidden, Text
from bot.protocol.neutral import broken_up

MAX_ROUNDS = 8


def strip(text: str, tools: Iterable[ToolDefinition]) -> str:
    """Return the text without calls, failed calls, thinking and results the model made up.

    Nothing else changes, but blank lines on both sides of what was taken out become one. Stripping again
    changes nothing, and what is returned holds no call.
    """
    from bot.protocol.parser import ToolCallParser

    known = tuple(tools)
    for _ in range(MAX_ROUNDS):
        parser = ToolCallParser(known)
        events = [*parser.feed(text), *parser.finish()]
        if not parser.hidden and not any(isinstance(event, Call) for event in events):
            return text
        text = joined(text, parser.hidden)
    # Only text made to defeat this gets here: what was taken out kept making new markup of its sides.
    return broken_up("".join(event.text for event in events if isinstance(event, Text)))


def joined(text: str, gaps: Sequence[Hidden]) -> str:
    """Return what is shown of a text, the blank lines around a gap collapsed into one."""
    pieces: list[str] = []
    at = 0
    for hidden in gaps:
        pieces.append(text[at : hidden.start])
        at = hidden.end
    result = pieces[0] if pieces else ""
    for piece in (*pieces[1:], text[at:]):
        before, after = result.rstrip(" \t\n"), piece.lstrip(" \t\n")
        gap = result[len(before) :] + piece[: len(piece) - len(after)]
        result = before + narrowed(gap) + after
    return result


def narrowed(gap: str) -> str:
    """Return white space with at most one blank line in it."""
    return "\n\n" if gap.count("\n") > 2 else gap
