"""The scripted model behind Ollama's own API.

Source: https://docs.ollama.com/api/chat, and the error texts of its server.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.demo.model_images import check_ollama_images, decoded
from bot.demo.model_request import ModelRequest, SeenMessage, SeenResult
from bot.demo.model_rules import Refused, Traits
from bot.demo.model_service import Service
from bot.demo.model_streams import Reply, ScriptedCall, pieces


class OllamaService(Service):
    shape = "ollama"
    paths = ("/api/chat",)
    media_type = "application/x-ndjson"

    def unknown_model(self, model: str) -> Refused:
        return Refused(f"model '{model}' not found", status=404)

    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        if "tool_choice" in body or "max_tokens" in body:
            raise Refused("the api takes options, not these")
        if body.get("tools") and not traits.tools:
            raise Refused(f"registry.ollama.ai/library/{body['model']} does not support tools")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("messages is required")
        for message in messages:
            if message.get("role") not in ("system", "user", "assistant", "tool"):
                raise Refused("invalid role: must be one of [system, user, assistant, tool]")
            if not isinstance(message.get("content"), str):
                raise _unmarshal("content", "string")
            if "images" in message:
                check_ollama_images(message["role"], message["images"], traits)
            for call in message.get("tool_calls", ()):
                if not isinstance(call["function"].get("arguments"), dict):
                    raise _unmarshal("arguments", "api.ToolCallFunctionArguments")
            if message["role"] == "tool" and not message.get("tool_name"):
                raise Refused("tool_name is missing from a tool message")

    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        system: list[str] = []
        messages: list[SeenMessage] = []
        for message in body["messages"]:
            role, text = message["role"], message["content"]
            if role == "system":
                system.append(text)
            elif role == "tool":
                result = SeenResult(message.get("tool_call_id", ""), text, "[ERROR" in text)
                if messages and messages[-1].results:
                    messages[-1] = SeenMessage("user", "", (), (*messages[-1].results, result))
                else:
                    messages.append(SeenMessage("user", "", (), (result,)))
            else:
                calls = tuple(
                    ScriptedCall(c["function"]["name"], c["function"]["arguments"], c.get("id", ""))
                    for c in message.get("tool_calls", ())
                )
                images = tuple(map(decoded, message.get("images", ())))
                messages.append(SeenMessage(role, text, calls, images=images))
        names = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        return ModelRequest(
            self.shape, model, "\n\n".join(system), tuple(messages), names, "auto" if names else "", body
        )

    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        def line(message: Mapping[str, Any], **more: Any) -> bytes:
            said = {"role": "assistant", "content": "", **message}
            return _line({"model": asked.model, "message": said, "done": False, **more})

        lines = [line({"thinking": piece}) for piece in pieces(reply.thinking, reply.chunk)]
        lines += [line({"content": piece}) for piece in pieces(reply.text, reply.chunk)]
        lines += [
            line({"tool_calls": [{"function": {"name": call.name, "arguments": call.arguments}}]})
            for call in reply.calls
        ]
        lines += [line({"content": piece}) for piece in pieces(reply.after, reply.chunk)]
        cut = reply.finish in ("length", "max_tokens")
        counted = {"prompt_eval_count": reply.usage.input, "eval_count": reply.usage.output}
        return [*lines, line({}, done=True, done_reason="length" if cut else "stop", **counted)]

    def error(self, refused: Refused) -> Mapping[str, Any]:
        return {"error": str(refused)}

    def error_event(self, text: str) -> bytes:
        return _line({"error": text})

    def raw(self, events: Sequence[str]) -> list[bytes]:
        return [f"{event}\n".encode() for event in events]


def _unmarshal(name: str, kind: str) -> Refused:
    return Refused(f"json: cannot unmarshal into Go struct field ChatRequest.messages.{name} of type {kind}")


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
