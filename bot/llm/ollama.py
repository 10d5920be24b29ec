"""Ollama's own chat API: the one that takes a context size.

Sources: https://docs.ollama.com/api/chat, https://docs.ollama.com/capabilities/tool-calling,
https://docs.ollama.com/capabilities/thinking, https://docs.ollama.com/capabilities/vision
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.assembler import CallAssembler
from bot.llm.base import LLMResponse, Prompt
from bot.llm.ndjson import LineDecoder
from bot.llm.openai_chat import tools_to_send
from bot.llm.sequence import Answered, Arranged, Asked, Said, enveloped
from bot.llm.transport import Event
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, ToolCall, Usage


class Ollama(WireClient):
    """A model behind `/api/chat`.

    Attributes:
        num_ctx: Tokens of context the server reserves; left to itself it takes few and forgets the rest
            without a word.
    """

    id_style = ids.OPENAI
    decoder = LineDecoder
    num_ctx: int | None = None

    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        options = {"num_ctx": self.num_ctx, "num_predict": self.max_tokens}
        body: dict[str, Any] = {
            "model": self.model,
            "messages": _messages(prompt, arranged, self.provider, self.model),
            "stream": True,
        }
        if chosen := {name: value for name, value in options.items() if value}:
            body["options"] = chosen
        # There is no way to offer tools and forbid them; without the offer none are written.
        if prompt.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in tools_to_send(prompt, arranged, ())
            ]
        return body

    def reply(self) -> "OllamaReply":
        return OllamaReply()


def _messages(prompt: Prompt, arranged: Arranged, provider: str, model: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if prompt.system.strip():
        messages.append({"role": "system", "content": prompt.system})
    kept = opaque.replayable(provider, model, arranged.transcript)
    for item in arranged.items:
        match item:
            case Said(text, images):
                shown = [picture.data for picture in prompt.shown(images)]
                messages.append({"role": "user", "content": text, **({"images": shown} if shown else {})})
            case Asked(message, call_ids, index):
                wire: dict[str, Any] = {"role": "assistant", "content": message.text}
                if message.tool_calls:
                    wire["tool_calls"] = [
                        _call(call, call_id)
                        for call, call_id in zip(message.tool_calls, call_ids, strict=True)
                    ]
                for part in kept.get(index, ()):
                    wire.update(part)
                messages.append(wire)
            case Answered(calls, results, call_ids, step):
                messages += [
                    {
                        "role": "tool",
                        "tool_name": ids.wire_name(call.name),
                        "tool_call_id": call_id,
                        "content": enveloped(prompt, step, [(call, result)]),
                    }
                    for call, result, call_id in zip(calls, results, call_ids, strict=True)
                ]
    return messages


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    return {
        "id": call_id,
        "function": {"name": ids.wire_name(call.name), "arguments": dict(call.arguments)},
    }


@dataclass(slots=True)
class OllamaReply:
    """What has come of one reply so far."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: CallAssembler = field(default_factory=CallAssembler)
    count: int = 0
    finish: str = ""
    usage: Usage | None = None
    model: str = ""

    def take(self, event: Event) -> str:
        message: Mapping[str, Any] = event["message"]
        if event.get("done"):
            self.finish = event.get("done_reason") or "stop"
            self.model = event.get("model") or ""
            if "prompt_eval_count" in event or "eval_count" in event:
                self.usage = Usage(event.get("prompt_eval_count") or 0, event.get("eval_count") or 0)
        if thought := message.get("thinking"):
            self.thinking.append(thought)
        for call in message.get("tool_calls") or ():
            # A call always comes whole; ids and indexes are there or not, by the server's version.
            self.calls.add(
                index=self.count,
                call_id=call.get("id"),
                name=call["function"]["name"],
                arguments=call["function"].get("arguments"),
            )
            self.count += 1
        text: str = message.get("content") or ""
        if text:
            self.text.append(text)
        return text

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        if not self.finish:
            raise LLMMalformed(f"the stream from {provider} ended before the reply did")
        cut = self.finish == "length"
        calls = self.calls.calls(cut=cut)
        stop: Literal["end", "tool_calls", "length", "refusal"] = "tool_calls" if calls else "end"
        if cut:
            stop = "length"
        parts = [{"thinking": "".join(self.thinking)}] if self.thinking else []
        kept = opaque.keep(provider, model, parts, arranged.transcript)
        return LLMResponse(
            AssistantMessage("".join(self.text), calls, kept), self.usage, stop, self.model or model
        )
