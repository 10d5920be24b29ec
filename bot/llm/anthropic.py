"""Anthropic's Messages API.

Sources: https://docs.claude.com/en/api/messages, https://docs.claude.com/en/api/messages-streaming,
https://docs.claude.com/en/docs/build-with-claude/prompt-caching,
https://platform.claude.com/docs/en/build-with-claude/vision (pictures stand before the words about them)
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.assembler import CUT, read_arguments
from bot.llm.auth import Auth
from bot.llm.base import LLMResponse, Picture, Prompt, TextDelta
from bot.llm.openai_chat import tools_to_send
from bot.llm.refusals import LimitTooHigh, OpaqueRefused
from bot.llm.sequence import Answered, Arranged, Asked, Said, arrange, enveloped
from bot.llm.transport import READ_TIMEOUT, Event, post
from bot.messages import AssistantMessage, ToolCall, ToolDefinition, Usage

VERSION = "2023-06-01"
HIDDEN = ("thinking", "redacted_thinking")


class Anthropic:
    """A Claude model, or one behind an endpoint of the same shape."""

    supports_native_tools = True

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        provider: str,
        base_url: str,
        key: str,
        model: str,
        max_tokens: int = 8192,
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        read_timeout: float = READ_TIMEOUT,
        cache_ttl: str = "",
    ) -> None:
        """Set up a client.

        Args:
            cache_ttl: `5m` or `1h`; empty for the API's own five minutes.
        """
        self._http = http
        self._provider = provider
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._key = key
        self._model = model
        self._max_tokens = max_tokens
        self._headers = {"content-type": "application/json", "anthropic-version": VERSION, **(headers or {})}
        if headers is None:
            self._headers["x-api-key"] = key
        self._auth = auth
        self._read_timeout = read_timeout
        self._cache_ttl = cache_ttl
        self._tools: Sequence[ToolDefinition] = ()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        if prompt.tools:
            self._tools = prompt.tools
        arranged = arrange(prompt, ids.ANTHROPIC)
        reply = _Reply()
        async with aclosing(self._events(prompt, arranged)) as events:
            async for event in events:
                try:
                    text = reply.take(event)
                except (AttributeError, KeyError, TypeError) as exc:
                    raise LLMMalformed(f"unreadable event from {self._provider}: {exc!r}") from None
                if text:
                    yield TextDelta(text)
        yield reply.response(self._provider, self._model, arranged)

    async def _events(self, prompt: Prompt, arranged: Arranged) -> AsyncGenerator[Event, None]:
        sent = self._max_tokens
        try:
            async with aclosing(self._post(prompt, arranged)) as events:
                async for event in events:
                    yield event
            return
        except LimitTooHigh as exc:
            lower = exc.below(sent)
            if lower is None:
                raise
            self._max_tokens = lower
        except OpaqueRefused:
            prompt = replace(prompt, transcript=opaque.forget(prompt.transcript))
            arranged = arrange(prompt, ids.ANTHROPIC)
        async with aclosing(self._post(prompt, arranged)) as events:
            async for event in events:
                yield event

    def _post(self, prompt: Prompt, arranged: Arranged) -> AsyncGenerator[Event, None]:
        body = request_body(
            prompt,
            arranged,
            provider=self._provider,
            model=self._model,
            max_tokens=self._max_tokens,
            known_tools=self._tools,
            cache_ttl=self._cache_ttl,
        )
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


def request_body(
    prompt: Prompt,
    arranged: Arranged,
    *,
    provider: str,
    model: str,
    max_tokens: int,
    known_tools: Sequence[ToolDefinition] = (),
    cache_ttl: str = "",
) -> dict[str, Any]:
    """Return the body of a request.

    At most four blocks are marked for the cache: the last tool, the system text, and the last two user
    messages: the newer writes, the older is where the request before wrote, so it is found however many
    blocks a step added (a look-back is 20).

    Args:
        known_tools: Definitions to send when the prompt has none but the history has calls.
    """
    cached = {"cache_control": {"type": "ephemeral", **({"ttl": cache_ttl} if cache_ttl else {})}}
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": max_tokens,
        "messages": _messages(prompt, arranged, provider, model, cached),
        "stream": True,
    }
    if prompt.system.strip():
        body["system"] = [{"type": "text", "text": prompt.system, **cached}]
    if tools := tools_to_send(prompt, arranged, known_tools):
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in tools
        ]
        body["tools"][-1].update(cached)
        body["tool_choice"] = {"type": "auto" if prompt.tools else "none"}
    return body


def _messages(
    prompt: Prompt, arranged: Arranged, provider: str, model: str, cached: Mapping[str, Any]
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    kept = opaque.replayable(provider, model, arranged.transcript)
    for item in arranged.items:
        match item:
            case Said(text, images):
                shown = [_image(picture) for picture in prompt.shown(images)]
                _add(messages, "user", [*shown, {"type": "text", "text": text}])
            case Asked(message, call_ids, index):
                _add(messages, "assistant", _assistant(message, call_ids, kept.get(index, ())))
            case Answered(calls, results, call_ids, step):
                blocks = [
                    {
                        "type": "tool_result",
                        "tool_use_id": call_id,
                        "content": enveloped(prompt, step, [(call, result)]),
                        **({"is_error": True} if result.is_error else {}),
                    }
                    for call, result, call_id in zip(calls, results, call_ids, strict=True)
                ]
                _add(messages, "user", blocks)
    for spoken in [wire for wire in messages if wire["role"] == "user"][-2:]:
        spoken["content"][-1].update(cached)
    return messages


def _image(picture: Picture) -> dict[str, Any]:
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
    return {"type": "image", "source": source}


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _assistant(
    message: AssistantMessage, call_ids: Sequence[str], kept: opaque.Parts
) -> list[dict[str, Any]]:
    uses = [
        {"type": "tool_use", "id": call_id, "name": ids.wire_name(call.name), "input": dict(call.arguments)}
        for call, call_id in zip(message.tool_calls, call_ids, strict=True)
    ]
    if kept and (blocks := _in_old_order(message.text, uses, kept)):
        return blocks
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return [*text, *uses]


def _in_old_order(text: str, uses: list[dict[str, Any]], kept: opaque.Parts) -> list[dict[str, Any]]:
    """Return the blocks as they first stood; empty if what was said has changed since."""
    blocks: list[dict[str, Any]] = []
    at, used = 0, 0
    for part in kept:
        match part:
            case {"text": int(length)}:
                if (said := text[at : at + length]).strip():
                    blocks.append({"type": "text", "text": said})
                at += length
            case {"call": True}:
                blocks += uses[used : used + 1]
                used += 1
            case _:
                blocks.append(dict(part))
    return blocks if (at, used) == (len(text), len(uses)) else []


@dataclass(slots=True)
class _Block:
    kind: str
    raw: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    closed: bool = False


@dataclass(slots=True)
class _Reply:
    """What has come of one reply so far."""

    blocks: dict[int, _Block] = field(default_factory=dict)
    stop: str = ""
    ended: bool = False
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""

    def take(self, event: Event) -> str:
        """Take one event in and return the text it adds. Events of unknown type change nothing."""
        match event["type"]:
            case "content_block_delta":
                return self._delta(event["index"], event["delta"])
            case "content_block_start":
                raw = event["content_block"]
                block = self.blocks[event["index"]] = _Block(raw["type"], dict(raw))
                if block.kind == "text" and raw.get("text"):
                    block.pieces.append(raw["text"])
                    return str(raw["text"])
            case "content_block_stop":
                self.blocks[event["index"]].closed = True
            case "message_start":
                self.model = event["message"].get("model") or ""
                self._count(event["message"].get("usage"))
            case "message_delta":
                self.stop = event["delta"].get("stop_reason") or self.stop
                self._count(event.get("usage"))
            case "message_stop":
                self.ended = True
            case "message":
                return self._whole(event)
        return ""

    def _delta(self, index: int, delta: Mapping[str, Any]) -> str:
        block = self.blocks[index]
        match delta["type"]:
            case "text_delta":
                block.pieces.append(delta["text"])
                return str(delta["text"])
            case "input_json_delta":
                block.pieces.append(delta["partial_json"])
            case "thinking_delta":
                block.raw["thinking"] = block.raw.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block.raw["signature"] = delta["signature"]
        return ""

    def _whole(self, event: Event) -> str:
        """A server that does not stream answers with the finished message."""
        for index, raw in enumerate(event["content"]):
            self.blocks[index] = _Block(
                raw["type"], dict(raw), [raw["text"]] if raw["type"] == "text" else [], True
            )
        self.model, self.stop, self.ended = event.get("model") or "", event.get("stop_reason") or "", True
        self._count(event.get("usage"))
        return "".join(raw["text"] for raw in event["content"] if raw["type"] == "text")

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        # Counts in later events are cumulative: the last one stands.
        for name, value in (usage or {}).items():
            if isinstance(value, int):
                self.tokens[name] = value

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        """Return the whole reply.

        Raises:
            LLMMalformed: The stream ended before the reply did; calls begun are void.
        """
        if not (self.ended or self.stop):
            raise LLMMalformed(f"the stream from {provider} ended before the reply did")
        cut = self.stop in ("max_tokens", "model_context_window_exceeded")
        text: list[str] = []
        calls: list[ToolCall] = []
        parts: list[dict[str, object]] = []
        for _, block in sorted(self.blocks.items()):
            match block.kind:
                case "text":
                    said = "".join(block.pieces)
                    text.append(said)
                    parts.append({"text": len(said)})
                case "tool_use":
                    calls.append(_read_call(block))
                    parts.append({"call": True})
                case _ if block.kind in HIDDEN:
                    parts.append(block.raw)
        if cut and calls:
            last = calls[-1]
            calls[-1] = ToolCall(last.name, {}, id=last.id, provider_id=last.provider_id, problem=CUT)
        stop: Literal["end", "tool_calls", "length", "refusal"] = "end"
        if cut:
            stop = "length"
        elif calls:
            stop = "tool_calls"
        elif self.stop == "refusal":
            stop = "refusal"
        hidden = any(block.kind in HIDDEN for block in self.blocks.values())
        kept = opaque.keep(provider, model, parts, arranged.transcript) if hidden and not cut else None
        message = AssistantMessage("".join(text), tuple(calls), kept)
        return LLMResponse(message, self._usage(), stop, self.model or model)

    def _usage(self) -> Usage | None:
        if not self.tokens:
            return None
        read = self.tokens.get("cache_read_input_tokens", 0)
        written = self.tokens.get("cache_creation_input_tokens", 0)
        # Anthropic counts cached tokens beside the input, not in it.
        return Usage(
            input=self.tokens.get("input_tokens", 0) + read + written,
            output=self.tokens.get("output_tokens", 0),
            cache_read=read,
            cache_write=written,
        )


def _read_call(block: _Block) -> ToolCall:
    given = block.raw.get("input")
    if block.pieces or not isinstance(given, dict):
        arguments, problem = read_arguments("".join(block.pieces))
    else:
        arguments, problem = given, ""
    return ToolCall(block.raw["name"], arguments, provider_id=block.raw.get("id") or "", problem=problem)
