"""Tools for models that have no tool use of their own: listed in the prompt, called and answered in text."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

from bot.llm import ids
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.parsed import ParsedText
from bot.llm.sequence import Answered, Asked, Said, arrange, enveloped
from bot.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from bot.protocol import describe

MAX_ECHOES = 16


class TextTools:
    """Gives any client tools, by the text protocol of `bot.protocol`.

    What is shown is what the parser releases: never a call or a piece of its markup, nor prose after one.
    """

    supports_native_tools = False

    def __init__(self, inner: LLMClient) -> None:
        self._inner = inner

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        parsed = ParsedText(prompt.tools, prior_tool_results=recent_results(prompt))
        async with aclosing(self._inner.stream(as_text(prompt))) as events:  # type: ignore[type-var]
            async for event in events:
                match event:
                    case TextDelta(text):
                        for delta in parsed.feed(text):
                            yield delta
                    case LLMResponse():
                        for delta in parsed.finish(cut=event.stop_reason == "length"):
                            yield delta
                        yield _response(event, parsed)


def as_text(prompt: Prompt) -> Prompt:
    """Return the same prompt without tools: definitions in the system text, calls and results as words."""
    described = describe(prompt.tools, prompt.language)
    system = "\n\n".join(part for part in (prompt.system, described) if part)
    transcript: list[Message] = []
    for item in arrange(prompt, ids.OPENAI).items:
        match item:
            case Said(text, images):
                transcript.append(UserMessage(text, images=images))
            case Asked(message):
                frames = [frame(call) for call in message.tool_calls]
                text = "\n\n".join([message.text, *frames] if message.text.strip() else frames)
                transcript.append(AssistantMessage(text, opaque=message.opaque))
            case Answered(calls, results, _, step):
                answered = list(zip(calls, results, strict=True))
                transcript.append(UserMessage(enveloped(prompt, step, answered)))
    return replace(prompt, system=system, transcript=transcript, tools=())


def frame(call: ToolCall) -> str:
    """Return a call as the model is taught to write it."""
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_use>\n{body}\n</tool_use>"


def recent_results(prompt: Prompt) -> Sequence[str]:
    """Return the bodies of the newest results: a call that only repeats one of them is an echo."""
    bodies = [message.text for message in prompt.transcript if isinstance(message, ToolResult)]
    return bodies[-MAX_ECHOES:]


def _response(event: LLMResponse, parsed: ParsedText) -> LLMResponse:
    stop: Literal["end", "tool_calls", "length", "refusal"] = event.stop_reason
    if parsed.calls and stop == "end":
        stop = "tool_calls"
    message = AssistantMessage(parsed.text, tuple(parsed.calls), event.message.opaque)
    return replace(event, message=message, stop_reason=stop, problem=parsed.problem)
