"""Mends what stands between tool calls and their results, so that no provider refuses a transcript.

The store never writes a transcript that needs it; one that was cut short, or edited by hand, does
(requirement H1). Mending what is whole changes nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

from bot.messages import AssistantMessage, Message, ToolCall, ToolResult, Transcript

MISSING = "no result was recorded; the call may or may not have run"


def repair(transcript: Transcript) -> list[Message]:
    """Return the transcript with every call followed, in call order, by exactly one result.

    A result counts up to the next assistant message: one that came late is put back, one that never came
    becomes an error with the code `missing_result`, one that answers nothing is left out. Of calls with the
    same id in one message, and of results with the same id, the first stands; a call without an id goes.
    """
    mended: list[Message] = []
    for message, follow in _blocks(transcript):
        calls = _distinct(message.tool_calls) if message else ()
        if message is not None:
            mended.append(
                message if len(calls) == len(message.tool_calls) else replace(message, tool_calls=calls)
            )
        results: dict[str, ToolResult] = {}
        for item in follow:
            if isinstance(item, ToolResult):
                results.setdefault(item.call_id, item)
        for call in calls:
            missing = ToolResult(call.id, MISSING, is_error=True, code="missing_result")
            mended.append(results.get(call.id, missing))
        mended += [item for item in follow if not isinstance(item, ToolResult)]
    return mended


def _blocks(transcript: Transcript) -> Iterator[tuple[AssistantMessage | None, list[Message]]]:
    """Yield each assistant message with what follows it; first None with what came before any."""
    message: AssistantMessage | None = None
    follow: list[Message] = []
    for item in transcript:
        if isinstance(item, AssistantMessage):
            yield message, follow
            message, follow = item, []
        else:
            follow.append(item)
    yield message, follow


def _distinct(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    first: dict[str, ToolCall] = {}
    for call in calls:
        if call.id:
            first.setdefault(call.id, call)
    return tuple(first.values())
