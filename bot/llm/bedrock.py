"""Amazon Bedrock's Converse, streamed.

Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from bot.errors import LLMMalformed, LLMUnavailable
from bot.llm import ids, opaque
from bot.llm.assembler import CUT, read_arguments
from bot.llm.base import LLMResponse, Picture, Prompt
from bot.llm.eventstream import FrameDecoder
from bot.llm.layout import CallPiece, OwnPiece, TextPiece, pieces
from bot.llm.openai_chat import tools_to_send
from bot.llm.sequence import Answered, Arranged, Asked, Said, enveloped
from bot.llm.transport import Event
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, ToolCall, ToolDefinition, Usage

CACHE_POINT = {"cachePoint": {"type": "default"}}
CACHING = re.compile(r"anthropic\.claude")
"""Models that take cache points in tools, system and messages alike."""
STATUS = re.compile(r"anthropic\.claude|amazon\.nova")
"""Models that read `status` of a result; the others may refuse it. All read the mark in its text."""


class Bedrock(WireClient):
    """A model behind `/model/{id}/converse-stream`."""

    id_style = ids.ANTHROPIC
    decoder = FrameDecoder

    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        cached = [CACHE_POINT] if CACHING.search(self.model) else []
        body: dict[str, Any] = {"messages": self._messages(prompt, arranged, cached)}
        if prompt.system.strip():
            body["system"] = [{"text": prompt.system}, *cached]
        if self.max_tokens:
            body["inferenceConfig"] = {"maxTokens": self.max_tokens}
        if tools := tools_to_send(prompt, arranged, self.known_tools):
            body["toolConfig"] = {"tools": [*map(_tool, tools), *cached]}
            # There is no way to forbid tools; auto is the default.
            if prompt.tools:
                body["toolConfig"]["toolChoice"] = {"auto": {}}
        return body

    def _messages(
        self, prompt: Prompt, arranged: Arranged, cached: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        kept = opaque.replayable(self.provider, self.model, arranged.transcript)
        for item in arranged.items:
            match item:
                case Said(text, images):
                    shown = [_image(picture) for picture in prompt.shown(images)]
                    _add(messages, "user", [*shown, {"text": text}])
                case Asked(message, call_ids, index):
                    blocks: list[dict[str, Any]] = []
                    for piece in pieces(message.text, len(message.tool_calls), kept.get(index, ())):
                        match piece:
                            case TextPiece(text):
                                blocks += [{"text": text}] if text.strip() else []
                            case CallPiece(at):
                                blocks.append(_use(message.tool_calls[at], call_ids[at]))
                            case OwnPiece(raw):
                                blocks.append(dict(raw))
                    _add(messages, "assistant", blocks)
                case Answered(calls, results, call_ids, step):
                    told = [
                        {
                            "toolResult": {
                                "toolUseId": call_id,
                                "content": [{"text": enveloped(prompt, step, [(call, result)])}],
                                **self._status(result.is_error),
                            }
                        }
                        for call, result, call_id in zip(calls, results, call_ids, strict=True)
                    ]
                    _add(messages, "user", told)
        for spoken in [wire for wire in messages if wire["role"] == "user"][-2:]:
            spoken["content"] += cached
        return messages

    def _status(self, is_error: bool) -> dict[str, str]:
        return {"status": "error" if is_error else "success"} if STATUS.search(self.model) else {}

    def reply(self) -> "BedrockReply":
        return BedrockReply()


def converse_url(base_url: str, model: str) -> str:
    """Return where a model is asked; its id may hold colons, an ARN slashes too."""
    return f"{base_url.rstrip('/')}/model/{quote(model, safe='')}/converse-stream"


def _image(picture: Picture) -> dict[str, Any]:
    # A blob travels as base64 in JSON.
    return {"image": {"format": picture.format, "source": {"bytes": picture.data}}}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": {"json": tool.parameters}}}


def _use(call: ToolCall, call_id: str) -> dict[str, Any]:
    return {
        "toolUse": {
            "toolUseId": call_id,
            "name": ids.wire_name(call.name),
            "input": dict(call.arguments),
        }
    }


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


@dataclass(slots=True)
class _Block:
    call: Mapping[str, Any] | None = None
    text: list[str] = field(default_factory=list)
    input: list[str] = field(default_factory=list)
    thought: dict[str, str] = field(default_factory=dict)
    redacted: str = ""


@dataclass(slots=True)
class BedrockReply:
    """What has come of one reply so far: content blocks by their index."""

    blocks: dict[int, _Block] = field(default_factory=dict)
    stop: str = ""
    usage: Usage | None = None

    def take(self, event: Event) -> str:
        match event:
            case {"contentBlockDelta": dict(delta)}:
                return self._delta(self._block(delta), delta["delta"])
            case {"contentBlockStart": dict(start)}:
                self._block(start).call = (start.get("start") or {}).get("toolUse")
            case {"messageStop": dict(end)}:
                self.stop = end["stopReason"]
            case {"metadata": dict(told)}:
                if usage := told.get("usage"):
                    self.usage = read_usage(usage)
            case {"output": {"message": dict(message)}, "stopReason": str(stop)}:
                return self._whole(message, stop, event.get("usage"))
            case {"message": str(text)}:
                raise LLMUnavailable(f"bedrock answered with an error: {text[:300]}")
            case {"messageStart": _} | {"contentBlockStop": _}:
                pass
            case _ if len(event) != 1:
                raise KeyError("event type")
        return ""

    def _block(self, event: Mapping[str, Any]) -> _Block:
        return self.blocks.setdefault(event.get("contentBlockIndex") or 0, _Block())

    @staticmethod
    def _delta(block: _Block, delta: Mapping[str, Any]) -> str:
        match delta:
            case {"text": str(text)}:
                block.text.append(text)
                return text
            case {"toolUse": {"input": given}}:
                # Some models send one object instead of its text in pieces.
                block.input.append(given if isinstance(given, str) else _dumps(given))
            case {"reasoningContent": {"text": str(text)}}:
                block.thought["text"] = block.thought.get("text", "") + text
            case {"reasoningContent": {"signature": str(signature)}}:
                block.thought["signature"] = signature
            case {"reasoningContent": {"redactedContent": str(raw)}}:
                block.redacted += raw
        return ""

    def _whole(self, message: Mapping[str, Any], stop: str, usage: Mapping[str, Any] | None) -> str:
        self.stop = stop
        self.usage = read_usage(usage) if usage else None
        for index, part in enumerate(message["content"]):
            block = self.blocks[index] = _Block(call=part.get("toolUse"))
            block.text = [part["text"]] if "text" in part else []
            if block.call:
                block.input = [_dumps(block.call.get("input") or {})]
        return "".join("".join(block.text) for block in self.blocks.values())

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        if not self.stop or self.stop.startswith("malformed"):
            raise LLMMalformed(f"the stream from {provider} ended in {self.stop or 'the middle'}")
        cut = self.stop in ("max_tokens", "model_context_window_exceeded")
        text: list[str] = []
        calls: list[ToolCall] = []
        parts: list[dict[str, object]] = []
        for _, block in sorted(self.blocks.items()):
            if block.call is not None:
                arguments, problem = read_arguments("".join(block.input))
                calls.append(
                    ToolCall(
                        str(block.call["name"]),
                        arguments,
                        provider_id=str(block.call.get("toolUseId") or ""),
                        problem=problem,
                    )
                )
                parts.append({"call": True})
            elif block.thought:
                parts.append({"reasoningContent": {"reasoningText": dict(block.thought)}})
            elif block.redacted:
                parts.append({"reasoningContent": {"redactedContent": block.redacted}})
            else:
                said = "".join(block.text)
                text.append(said)
                parts.append({"text": len(said)})
        if cut and calls:
            last = calls[-1]
            calls[-1] = ToolCall(last.name, {}, id=last.id, provider_id=last.provider_id, problem=CUT)
        stop: Literal["end", "tool_calls", "length", "refusal"] = "end"
        if cut:
            stop = "length"
        elif calls:
            stop = "tool_calls"
        elif self.stop in ("guardrail_intervened", "content_filtered"):
            stop = "refusal"
        worth = any("reasoningContent" in part for part in parts)
        kept = opaque.keep(provider, model, parts, arranged.transcript) if worth and not cut else None
        message = AssistantMessage("".join(text), tuple(calls), kept)
        return LLMResponse(message, self.usage, stop, model)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens of a `usage` object: cached tokens stand beside the input, not in it."""
    read = usage.get("cacheReadInputTokens") or 0
    written = usage.get("cacheWriteInputTokens") or 0
    return Usage(
        input=(usage.get("inputTokens") or 0) + read + written,
        output=usage.get("outputTokens") or 0,
        cache_read=read,
        cache_write=written,
    )
