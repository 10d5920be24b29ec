"""Keeps markup out of sight when a model with tool use of its own writes a call as text all the same."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.parsed import ParsedText
from bot.llm.text_tools import recent_results
from bot.protocol import FAMILIES

UNTAGGED = {"fence", "bare"}
"""Such JSON is most likely meant to be read when the model has a field of its own for calls."""

QUOTED = {"in_code", "only_in_thinking"}


class LeakFree:
    """Runs the text of a native client through the text protocol's parser.

    A call found there counts when the reply has no native one: the model, or the server's template, lost the
    way. Beside native calls it is left out: most often it is the same call twice.
    """

    def __init__(self, inner: LLMClient) -> None:
        self._inner = inner

    @property
    def supports_native_tools(self) -> bool:
        return self._inner.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        parsed = ParsedText(
            prompt.tools, prior_tool_results=recent_results(prompt), families=FAMILIES - UNTAGGED
        )
        async with aclosing(self._inner.stream(prompt)) as events:  # type: ignore[type-var]
            async for event in events:
                match event:
                    case TextDelta(text):
                        for delta in parsed.feed(text):
                            yield delta
                    case LLMResponse():
                        for delta in parsed.finish(cut=event.stop_reason == "length"):
                            yield delta
                        yield _response(event, parsed)


def _response(event: LLMResponse, parsed: ParsedText) -> LLMResponse:
    message = replace(event.message, text=parsed.text)
    if message.tool_calls:
        return replace(event, message=message)
    if parsed.calls:
        message = replace(message, tool_calls=tuple(parsed.calls))
        stop = "tool_calls" if event.stop_reason == "end" else event.stop_reason
        return replace(event, message=message, stop_reason=stop, problem=parsed.problem)
    problem = parsed.problem
    if problem is not None and problem.reason in QUOTED:
        problem = None
    return replace(event, message=message, problem=problem)
