"""OpenAI's Responses API, which xAI speaks too. Nothing is kept on the server: reasoning travels encrypted.

Sources: https://platform.openai.com/docs/api-reference/responses,
https://platform.openai.com/docs/api-reference/responses-streaming,
https://platform.openai.com/docs/guides/reasoning, https://docs.x.ai/docs/guides/function-calling,
https://platform.openai.com/docs/guides/images-vision, https://docs.x.ai/docs/guides/image-understanding
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.assembler import CUT, read_arguments
from bot.llm.base import LLMResponse, Picture, Prompt
from bot.llm.layout import CallPiece, OwnPiece, TextPiece, pieces
from bot.llm.openai_chat import tools_to_send
from bot.llm.sequence import Answered, Arranged, Asked, Said, enveloped
from bot.llm.transport import Event
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, ToolCall, Usage

ENDS = ("response.completed", "response.incomplete", "response.done")


class Responses(WireClient):
    """A model behind a `/responses` endpoint."""

    id_style = ids.ANTHROPIC

    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "input": _input(prompt, arranged, self.provider, self.model),
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if prompt.nonce:
            # Sends a conversation's requests to the machine that has its prefix; the nonce itself is ours.
            body["prompt_cache_key"] = hashlib.blake2b(prompt.nonce.encode(), digest_size=12).hexdigest()
        if self.max_tokens:
            body["max_output_tokens"] = self.max_tokens
        if tools := tools_to_send(prompt, arranged, self.known_tools):
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    # Left out it is true here, and refuses optional arguments.
                    "strict": False,
                }
                for tool in tools
            ]
            body["tool_choice"] = "auto" if prompt.tools else "none"
        return body

    def reply(self) -> "ResponsesReply":
        return ResponsesReply()


def _input(prompt: Prompt, arranged: Arranged, provider: str, model: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if prompt.system.strip():
        # A message, not `instructions`: xAI has refused those.
        items.append({"role": "system", "content": prompt.system})
    kept = opaque.replayable(provider, model, arranged.transcript)
    for item in arranged.items:
        match item:
            case Said(text, images):
                items.append({"role": "user", "content": _content(text, prompt.shown(images))})
            case Asked(message, call_ids, index):
                for piece in pieces(message.text, len(message.tool_calls), kept.get(index, ())):
                    match piece:
                        case TextPiece(text, extra):
                            if text.strip():
                                items.append({"role": "assistant", "content": text, **extra})
                        case CallPiece(at):
                            items.append(_call(message.tool_calls[at], call_ids[at]))
                        case OwnPiece(raw):
                            items.append(dict(raw))
            case Answered(calls, results, call_ids, step):
                items += [
                    {
                        "type": "function_call_output",
                        "call_id": call_id,
                        "output": enveloped(prompt, step, [(call, result)]),
                    }
                    for call, result, call_id in zip(calls, results, call_ids, strict=True)
                ]
    return items


def _content(text: str, pictures: Sequence[Picture]) -> str | list[dict[str, Any]]:
    if not pictures:
        return text
    shown = [{"type": "input_image", "image_url": picture.uri} for picture in pictures]
    return [*shown, {"type": "input_text", "text": text}]


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": ids.wire_name(call.name),
        "arguments": arguments,
    }


@dataclass(slots=True)
class _Item:
    kind: str
    raw: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    done: bool = False


@dataclass(slots=True)
class ResponsesReply:
    """What has come of one reply so far: output items by their place."""

    items: dict[int, _Item] = field(default_factory=dict)
    status: str = ""
    reason: str = ""
    usage: Usage | None = None
    model: str = ""

    def take(self, event: Event) -> str:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                self._item(event["output_index"], "message").pieces.append(event["delta"])
                return str(event["delta"])
            case "response.function_call_arguments.delta":
                self._item(event["output_index"], "function_call").pieces.append(event["delta"])
            case "response.output_item.added":
                self._item(event["output_index"], event["item"]["type"]).raw = dict(event["item"])
            case "response.output_item.done":
                return self._whole(event["output_index"], event["item"])
            case kind if kind in ENDS:
                return self._end(event["response"])
            case None if event.get("object") == "response":
                return self._end(event)
            case None:
                raise KeyError("type")
            case kind if not isinstance(kind, str):
                raise TypeError(f"type {kind!r}")
        return ""

    def _item(self, index: int, kind: str) -> _Item:
        if index not in self.items:
            self.items[index] = _Item(kind, {})
        return self.items[index]

    def _whole(self, index: int, raw: Mapping[str, Any]) -> str:
        """Take a finished item; return its text if none of it came before."""
        item = self._item(index, raw["type"])
        item.raw, item.done = dict(raw), True
        if item.kind == "message" and not item.pieces:
            text = "".join(part.get("text") or part.get("refusal") or "" for part in raw["content"])
            item.pieces.append(text)
            return text
        if item.kind == "function_call" and isinstance(raw.get("arguments"), str):
            item.pieces = [raw["arguments"]]
        return ""

    def _end(self, response: Mapping[str, Any]) -> str:
        self.status = response.get("status") or "completed"
        self.reason = (response.get("incomplete_details") or {}).get("reason") or ""
        self.model = response.get("model") or ""
        if usage := response.get("usage"):
            self.usage = read_usage(usage)
        # A server that does not stream, or not item by item, sends them all at the end.
        late = [
            (index, raw)
            for index, raw in enumerate(response.get("output") or ())
            if index not in self.items or not self.items[index].done
        ]
        return "".join(self._whole(index, raw) for index, raw in late)

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        if not self.status:
            raise LLMMalformed(f"the stream from {provider} ended before the reply did")
        cut = self.status == "incomplete" and self.reason != "content_filter"
        text: list[str] = []
        calls: list[ToolCall] = []
        parts: list[dict[str, object]] = []
        for _, item in sorted(self.items.items()):
            match item.kind:
                case "message":
                    said = "".join(item.pieces)
                    text.append(said)
                    phase = {"phase": item.raw["phase"]} if item.raw.get("phase") else {}
                    parts.append({"text": len(said), **phase})
                case "function_call":
                    arguments, problem = read_arguments("".join(item.pieces))
                    calls.append(
                        ToolCall(
                            str(item.raw["name"]),
                            arguments,
                            provider_id=str(item.raw.get("call_id") or ""),
                            problem=problem,
                        )
                    )
                    parts.append({"call": True})
                case "reasoning" if item.done:
                    parts.append({k: v for k, v in item.raw.items() if v is not None and k != "status"})
        if cut and calls:
            last = calls[-1]
            calls[-1] = ToolCall(last.name, {}, id=last.id, provider_id=last.provider_id, problem=CUT)
        stop: Literal["end", "tool_calls", "length", "refusal"] = "end"
        if cut:
            stop = "length"
        elif calls:
            stop = "tool_calls"
        elif self.reason == "content_filter":
            stop = "refusal"
        # A reasoning item must be followed by what it led to, so a reply without either keeps none.
        worth = any("text" not in part and "call" not in part or "phase" in part for part in parts)
        whole = not cut and bool(calls or "".join(text).strip())
        kept = opaque.keep(provider, model, parts, arranged.transcript) if worth and whole else None
        message = AssistantMessage("".join(text), tuple(calls), kept)
        return LLMResponse(message, self.usage, stop, self.model or model)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens of a `usage` object; input already includes the cached ones."""
    taken = usage.get("input_tokens_details") or {}
    given = usage.get("output_tokens_details") or {}
    return Usage(
        input=usage.get("input_tokens") or 0,
        output=usage.get("output_tokens") or 0,
        cache_read=taken.get("cached_tokens") or 0,
        reasoning=given.get("reasoning_tokens") or 0,
    )
