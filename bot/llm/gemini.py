"""Gemini's generateContent.

Sources: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/function-calling,
https://ai.google.dev/gemini-api/docs/thought-signatures,
https://ai.google.dev/gemini-api/docs/image-understanding
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.assembler import CUT, read_arguments
from bot.llm.base import LLMResponse, Picture, Prompt
from bot.llm.layout import CallPiece, OwnPiece, TextPiece, pieces
from bot.llm.openai_chat import tools_to_send
from bot.llm.schema_subset import schema_subset
from bot.llm.sequence import Answered, Arranged, Asked, Said, enveloped
from bot.llm.transport import Event
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, ToolCall, ToolDefinition, Usage

NO_SIGNATURE = "skip_thought_signature_validator"
"""Stands where a call of another model, or of a changed history, has none; documented for just that."""

REFUSALS = {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"}
BROKEN = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"}
UNSIGNED_MODELS = re.compile(r"(models/)?(gemini-[12]|gemma)")


class Gemini(WireClient):
    """A model behind `:streamGenerateContent`."""

    id_style = ids.ANTHROPIC

    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        kept = opaque.replayable(self.provider, self.model, arranged.transcript)
        stand_in = "" if UNSIGNED_MODELS.match(self.model) else NO_SIGNATURE
        body: dict[str, Any] = {"contents": _contents(prompt, arranged, kept, stand_in)}
        if prompt.system.strip():
            body["systemInstruction"] = {"parts": [{"text": prompt.system}]}
        if self.max_tokens:
            body["generationConfig"] = {"maxOutputTokens": self.max_tokens}
        if tools := tools_to_send(prompt, arranged, self.known_tools):
            body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in tools]}]
            mode = "AUTO" if prompt.tools else "NONE"
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
        return body

    def reply(self) -> "GeminiReply":
        return GeminiReply()


def _declaration(tool: ToolDefinition) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": tool.name, "description": tool.description or tool.name}
    # An object without properties is refused; no parameters at all means the same.
    if tool.parameters.get("properties"):
        declaration["parameters"] = schema_subset(tool.parameters)
    return declaration


def _contents(
    prompt: Prompt, arranged: Arranged, kept: Mapping[int, opaque.Parts], stand_in: str
) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    given: Sequence[str] = ()
    for item in arranged.items:
        match item:
            case Said(text, images):
                shown = [_image(picture) for picture in prompt.shown(images)]
                _add(contents, "user", [*shown, {"text": text}])
            case Asked(message, _, index):
                parts, given = _model(message, kept.get(index, ()), stand_in)
                _add(contents, "model", parts)
            case Answered(calls, results, _, step):
                answers = [
                    {
                        "functionResponse": {
                            **({"id": call_id} if call_id else {}),
                            "name": ids.wire_name(call.name),
                            "response": {
                                "error" if result.is_error else "output": enveloped(
                                    prompt, step, [(call, result)]
                                )
                            },
                        }
                    }
                    for call, result, call_id in zip(calls, results, given, strict=True)
                ]
                # Words in the same content would count as one more response part.
                contents.append({"role": "user", "parts": answers})
    return contents


def _image(picture: Picture) -> dict[str, Any]:
    return {"inlineData": {"mimeType": picture.media_type, "data": picture.data}}


def _add(contents: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    contents.append({"role": role, "parts": parts})


def _model(
    message: AssistantMessage, kept: opaque.Parts, stand_in: str
) -> tuple[list[dict[str, Any]], Sequence[str]]:
    """Return the parts of a reply and the id of each call; empty for a call that Gemini gave none."""
    parts: list[dict[str, Any]] = []
    given: list[str] = []
    signed = False
    for piece in pieces(message.text, len(message.tool_calls), kept):
        match piece:
            case TextPiece(text, extra):
                if text.strip() or extra:
                    parts.append({"text": text, **extra})
            case CallPiece(index, extra):
                call = message.tool_calls[index]
                own = dict(extra)
                call_id = str(own.pop("id", ""))
                given.append(call_id)
                function = {"name": ids.wire_name(call.name), "args": dict(call.arguments)}
                if call_id:
                    function = {"id": call_id, **function}
                signature = own.get("thoughtSignature") or ("" if signed else stand_in)
                signed = True
                parts.append(
                    {"functionCall": function, **({"thoughtSignature": signature} if signature else {})}
                )
            case OwnPiece(raw):
                parts.append(dict(raw))
    return parts, given


@dataclass(slots=True)
class GeminiReply:
    """What has come of one reply so far.

    Attributes:
        layout: See `bot.llm.layout`.
    """

    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    layout: list[dict[str, Any]] = field(default_factory=list)
    finish: str = ""
    usage: Usage | None = None
    model: str = ""

    def take(self, event: Event) -> str:
        if event.get("modelVersion"):
            self.model = event["modelVersion"]
        if usage := event.get("usageMetadata"):
            self.usage = read_usage(usage)
        if reason := (event.get("promptFeedback") or {}).get("blockReason"):
            self.finish = "SAFETY" if reason not in REFUSALS else reason
        said = ""
        for candidate in event.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                said += self._part(part)
            self.finish = candidate.get("finishReason") or self.finish
        return said

    def _part(self, part: Mapping[str, Any]) -> str:
        signature = part.get("thoughtSignature")
        extra = {"thoughtSignature": signature} if signature else {}
        if function := part.get("functionCall"):
            arguments, problem = _arguments(function.get("args"))
            given = function.get("id") or ""
            self.calls.append(ToolCall(function["name"], arguments, provider_id=given, problem=problem))
            self.layout.append({"call": True, **extra, **({"id": given} if given else {})})
            return ""
        if part.get("thought"):
            return ""
        text: str = part.get("text") or ""
        self.text.append(text)
        last = self.layout[-1] if self.layout else {}
        if "text" in last and "thoughtSignature" not in last and not extra:
            last["text"] += len(text)
        elif text or extra:
            self.layout.append({"text": len(text), **extra})
        return text

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        if not self.finish or self.finish in BROKEN:
            raise LLMMalformed(f"the stream from {provider} ended in {self.finish or 'the middle'}")
        cut = self.finish == "MAX_TOKENS"
        calls = list(self.calls)
        if cut and calls:
            last = calls[-1]
            calls[-1] = ToolCall(last.name, {}, id=last.id, provider_id=last.provider_id, problem=CUT)
        stop: Literal["end", "tool_calls", "length", "refusal"] = "end"
        if cut:
            stop = "length"
        elif calls:
            stop = "tool_calls"
        elif self.finish in REFUSALS:
            stop = "refusal"
        worth = any("thoughtSignature" in part or "id" in part for part in self.layout)
        kept = opaque.keep(provider, model, self.layout, arranged.transcript) if worth and not cut else None
        message = AssistantMessage("".join(self.text), tuple(calls), kept)
        return LLMResponse(message, self.usage, stop, self.model or model)


def _arguments(args: object) -> tuple[Mapping[str, object], str]:
    if args is None:
        return {}, ""
    if isinstance(args, Mapping):
        return args, ""
    return read_arguments(args) if isinstance(args, str) else ({}, "the arguments are not an object")


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens of a `usageMetadata`: thoughts stand beside the candidates, cached in the prompt."""
    thoughts = usage.get("thoughtsTokenCount") or 0
    return Usage(
        input=(usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0),
        output=(usage.get("candidatesTokenCount") or 0) + thoughts,
        cache_read=usage.get("cachedContentTokenCount") or 0,
        reasoning=thoughts,
    )
