"""OpenAI's chat completions, and the many servers that speak the same.

Sources: https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/guides/images-vision
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.assembler import CallAssembler
from bot.llm.auth import Auth
from bot.llm.base import LLMResponse, Picture, Prompt, TextDelta
from bot.llm.refusals import LimitTooHigh, OpaqueRefused, UnsupportedParameter
from bot.llm.sequence import Answered, Arranged, Asked, Said, arrange, enveloped
from bot.llm.transport import READ_TIMEOUT, Event, post
from bot.messages import AssistantMessage, ToolCall, ToolDefinition, Usage

StopReason = Literal["end", "tool_calls", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class ChatQuirks:
    """How a server differs from OpenAI.

    Attributes:
        limit_parameter: Field of the token limit.
        stream_options: Whether usage must be asked for, and may be.
        user_after_tool: Whether a user message may follow a tool result; else a word of the assistant's is
            put between (Mistral, and templates that check roles).
        reasoning_required: Whether `reasoning_content` must stand on every reply with calls, even empty
            (DeepSeek, Moonshot).
        choice_none: Whether `tool_choice: none` is taken (Z.ai knows only auto, which is the default).
        id_style: Spelling of call ids.
        extra: Fields added to every body; `tool_stream` only beside tools.
    """

    limit_parameter: str = "max_tokens"
    stream_options: bool = True
    user_after_tool: bool = True
    reasoning_required: bool = False
    choice_none: bool = True
    id_style: ids.IdStyle = ids.OPENAI
    extra: Mapping[str, Any] = field(default_factory=dict)


class OpenAIChat:
    """A model behind a `/chat/completions` endpoint."""

    supports_native_tools = True

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        provider: str,
        base_url: str,
        key: str,
        model: str,
        max_tokens: int | None = None,
        quirks: ChatQuirks = ChatQuirks(),
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        self._http = http
        self._provider = provider
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._key = key
        self._model = model
        self._max_tokens = max_tokens
        self._quirks = quirks
        self._headers = {"content-type": "application/json", **(headers or {})}
        if key and headers is None:
            self._headers["authorization"] = f"Bearer {key}"
        self._auth = auth
        self._read_timeout = read_timeout
        self._limit_parameter = quirks.limit_parameter
        self._left_out: set[str] = set() if quirks.stream_options else {"stream_options"}
        self._effort = ""
        self._tools: Sequence[ToolDefinition] = ()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        if prompt.tools:
            self._tools = prompt.tools
        arranged = arrange(prompt, self._quirks.id_style)
        reply = _Reply()
        async with aclosing(self._events(prompt, arranged)) as events:
            async for event in events:
                try:
                    text = reply.take(event)
                except (AttributeError, KeyError, TypeError, IndexError) as exc:
                    raise LLMMalformed(f"unreadable event from {self._provider}: {exc!r}") from None
                if text:
                    yield TextDelta(text)
        yield reply.response(self._provider, self._model, arranged)

    async def _events(self, prompt: Prompt, arranged: Arranged) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(self._post(prompt, arranged)) as events:
                async for event in events:
                    yield event
            return
        except (UnsupportedParameter, LimitTooHigh) as exc:
            if not self._correct(exc):
                raise
        except OpaqueRefused:
            prompt = replace(prompt, transcript=opaque.forget(prompt.transcript))
            arranged = arrange(prompt, self._quirks.id_style)
        async with aclosing(self._post(prompt, arranged)) as events:
            async for event in events:
                yield event

    def _post(self, prompt: Prompt, arranged: Arranged) -> AsyncGenerator[Event, None]:
        body = request_body(
            prompt,
            arranged,
            provider=self._provider,
            model=self._model,
            quirks=self._quirks,
            known_tools=self._tools,
        )
        if self._max_tokens:
            body[self._limit_parameter] = self._max_tokens
        if self._effort:
            body["reasoning_effort"] = self._effort
        for name in self._left_out:
            body.pop(name, None)
        return post(
            self._http,
            self._url,
            body,
            headers=self._headers,
            provider=self._provider,
            key=self._key,
            auth=self._auth,
            read_timeout=self._read_timeout,
        )

    def _correct(self, refused: UnsupportedParameter | LimitTooHigh) -> bool:
        """Remember what the model does not take; a turn beside this one may have found out already.

        Returns:
            Whether the next request differs from the one refused.
        """
        if isinstance(refused, LimitTooHigh):
            lower = refused.below(self._max_tokens or 0)
            self._max_tokens = lower or self._max_tokens
            return lower is not None
        parameter = refused.parameter
        if parameter == "reasoning_effort":
            self._effort = "none"
            return True
        if parameter == self._limit_parameter:
            other = "max_tokens" if parameter == "max_completion_tokens" else "max_completion_tokens"
            if other in self._left_out:
                self._max_tokens = None
            self._limit_parameter = other
        self._left_out.add(parameter)
        return True


def request_body(
    prompt: Prompt,
    arranged: Arranged,
    *,
    provider: str,
    model: str,
    quirks: ChatQuirks = ChatQuirks(),
    known_tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        known_tools: Definitions to send when the prompt has none but the history has calls.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(prompt, arranged, provider, model, quirks),
        "stream": True,
        "stream_options": {"include_usage": True},
        **quirks.extra,
    }
    if tools := tools_to_send(prompt, arranged, known_tools):
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
        if prompt.tools or quirks.choice_none:
            body["tool_choice"] = "auto" if prompt.tools else "none"
    else:
        body.pop("tool_stream", None)
    return body


def tools_to_send(
    prompt: Prompt, arranged: Arranged, known: Sequence[ToolDefinition]
) -> list[ToolDefinition]:
    """Return the definitions of a request, sorted by name.

    Without tools in the prompt the history may still hold calls, and providers refuse those without
    definitions (requirement N4): then the ones last known, or else bare ones for the names called.
    """
    tools: Sequence[ToolDefinition] = prompt.tools
    if not tools and arranged.has_calls:
        tools = known
        if not tools:
            names = {
                ids.wire_name(call.name)
                for item in arranged.items
                if isinstance(item, Answered)
                for call in item.calls
            }
            tools = [ToolDefinition(name, "", {"type": "object", "properties": {}}) for name in names]
    return sorted(tools, key=lambda tool: tool.name)


def _content(text: str, pictures: Sequence[Picture]) -> str | list[dict[str, Any]]:
    """Return parts only where there are pictures: not every server takes parts."""
    if not pictures:
        return text
    shown = [{"type": "image_url", "image_url": {"url": picture.uri}} for picture in pictures]
    return [*shown, {"type": "text", "text": text}]


def _messages(
    prompt: Prompt, arranged: Arranged, provider: str, model: str, quirks: ChatQuirks
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if prompt.system.strip():
        messages.append({"role": "system", "content": prompt.system})
    kept = opaque.replayable(provider, model, arranged.transcript)
    for item in arranged.items:
        match item:
            case Said(text, images):
                if not quirks.user_after_tool and messages and messages[-1]["role"] == "tool":
                    messages.append({"role": "assistant", "content": "Noted."})
                messages.append({"role": "user", "content": _content(text, prompt.shown(images))})
            case Asked(message, call_ids, index):
                messages.append(_assistant(message, call_ids, kept.get(index, ()), quirks))
            case Answered(calls, results, call_ids, step):
                messages += [
                    {
                        "role": "tool",
                        "tool_call_id": call_id,
                        "content": enveloped(prompt, step, [(call, result)]),
                    }
                    for call, result, call_id in zip(calls, results, call_ids, strict=True)
                ]
    return messages


def _assistant(
    message: AssistantMessage, call_ids: Sequence[str], kept: opaque.Parts, quirks: ChatQuirks
) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant"}
    if message.text.strip():
        wire["content"] = message.text
    if message.tool_calls:
        wire["tool_calls"] = [
            _call(call, call_id) for call, call_id in zip(message.tool_calls, call_ids, strict=True)
        ]
        if quirks.reasoning_required:
            wire["reasoning_content"] = ""
    for part in kept:
        wire.update(part)
    return wire


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": ids.wire_name(call.name), "arguments": arguments},
    }


@dataclass(slots=True)
class _Reply:
    """What has come of one reply so far."""

    text: list[str] = field(default_factory=list)
    calls: CallAssembler = field(default_factory=CallAssembler)
    reasoning: list[str] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)
    finish: str = ""
    done: bool = False
    usage: Usage | None = None
    model: str = ""

    def take(self, event: Event) -> str:
        """Take one event in and return the text it adds."""
        if event.get("done") is True:
            self.done = True
            return ""
        if usage := event.get("usage"):
            self.usage = read_usage(usage)
        choices = event.get("choices")
        if not choices:
            return ""
        if not self.model:
            self.model = event.get("model") or ""
        choice = choices[0]
        if finish := choice.get("finish_reason"):
            self.finish = finish
        # A server that does not stream answers with the whole `message`.
        delta = choice.get("delta") or choice.get("message")
        if not delta:
            return ""
        reasoning = delta.get("reasoning_content")
        if reasoning or (reasoning == "" and not self.reasoning):
            self.reasoning.append(reasoning)
        if details := delta.get("reasoning_details"):
            add_details(self.details, details)
        for fragment in delta.get("tool_calls") or ():
            function = fragment.get("function") or {}
            self.calls.add(
                index=fragment.get("index"),
                call_id=fragment.get("id"),
                name=function.get("name"),
                arguments=function.get("arguments"),
            )
        text = delta.get("content") or delta.get("refusal") or ""
        if isinstance(text, list):
            text = "".join(part.get("text", "") for part in text if part.get("type") == "text")
        if text:
            self.text.append(text)
        return text

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        """Return the whole reply.

        Raises:
            LLMMalformed: The stream ended before the reply did; calls begun are void.
        """
        if not (self.finish or self.done):
            raise LLMMalformed(f"the stream from {provider} ended before the reply did")
        calls = self.calls.calls(cut=self.finish == "length")
        stop: StopReason = "end"
        if self.finish == "length":
            stop = "length"
        elif calls:
            stop = "tool_calls"
        elif self.finish == "content_filter":
            stop = "refusal"
        parts: list[dict[str, object]] = []
        if self.reasoning:
            parts.append({"reasoning_content": "".join(self.reasoning)})
        if self.details:
            parts.append({"reasoning_details": self.details})
        message = AssistantMessage(
            "".join(self.text), calls, opaque.keep(provider, model, parts, arranged.transcript)
        )
        return LLMResponse(message, self.usage, stop, self.model or model)


def add_details(details: list[dict[str, Any]], fragments: Sequence[Mapping[str, Any]]) -> None:
    """Add OpenRouter's streamed `reasoning_details`: pieces of one entry share type and index.

    Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
    """
    for fragment in fragments:
        last = details[-1] if details else None
        if last is None or (last.get("type"), last.get("index")) != (
            fragment.get("type"),
            fragment.get("index"),
        ):
            details.append(dict(fragment))
            continue
        for name, value in fragment.items():
            if name in ("text", "summary", "data") and isinstance(value, str):
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens of a `usage` object; prompt tokens already include the cached ones."""
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return Usage(
        input=usage.get("prompt_tokens") or 0,
        output=usage.get("completion_tokens") or 0,
        cache_read=prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
        reasoning=completion.get("reasoning_tokens") or 0,
    )
