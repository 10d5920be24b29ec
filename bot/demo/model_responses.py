"""The scripted model behind OpenAI's Responses API.

Sources: https://platform.openai.com/docs/api-reference/responses,
https://platform.openai.com/docs/guides/reasoning, and the error texts quoted in public issues.
"""

# ruff: noqa: E501 - the service's own words stay on one line, to be searched for

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.demo.model_images import check_responses_images, images_in
from bot.demo.model_request import ModelRequest, SeenMessage, SeenResult, plain
from bot.demo.model_rules import OPENAI_NAME, Refused, Traits, sign
from bot.demo.model_service import Service
from bot.demo.model_streams import Reply, ScriptedCall, data, event, pieces, spelt

ROLES = ("user", "assistant", "system", "developer")


class ResponsesService(Service):
    shape = "responses"
    paths = ("/v1/responses", "/responses")

    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        for moved, other in (
            ("max_tokens", "max_output_tokens"),
            ("max_completion_tokens", "max_output_tokens"),
            ("messages", "input"),
            ("reasoning_effort", "reasoning.effort"),
        ):
            if moved in body:
                raise Refused(
                    f"Unsupported parameter: '{moved}'. In the Responses API, this parameter has moved to '{other}'.",
                    param=moved,
                    code="unsupported_parameter",
                )
        if "reasoning.encrypted_content" in (body.get("include") or ()) and not traits.reasons:
            raise Refused("Encrypted content is not supported with this model.", param="include")
        self._check_tools(body, traits)
        items = body.get("input")
        if not isinstance(items, list) or not items:
            raise Refused("Missing required parameter: 'input'.", param="input")
        check_responses_images(body, traits)
        open_calls: list[str] = []
        for index, item in enumerate(items):
            self._check_item(index, item, open_calls)
            if item.get("type") == "reasoning":
                self._check_reasoning(index, item, items[index + 1 :])
        if open_calls:
            raise Refused(f"No tool output found for function call {open_calls[0]}.", param="input")

    @staticmethod
    def _check_item(index: int, item: Mapping[str, Any], open_calls: list[str]) -> None:
        where = f"input[{index}]"
        for name, value in item.items():
            if value is None:
                raise Refused(
                    f"Invalid type for '{where}.{name}': expected a value, but got null instead.",
                    param=f"{where}.{name}",
                    code="invalid_type",
                )
        match item.get("type", "message"):
            case "function_call":
                called = item.get("name")
                if not isinstance(called, str) or not OPENAI_NAME.match(called) or len(called) > 64:
                    raise Refused(
                        f"Invalid '{where}.name': string does not match pattern.", param=f"{where}.name"
                    )
                if not isinstance(item.get("arguments"), str):
                    raise Refused(f"Invalid type for '{where}.arguments': expected a string.")
                if not isinstance(item.get("call_id"), str) or not 1 <= len(item["call_id"]) <= 64:
                    raise Refused(f"Invalid '{where}.call_id': string too long.", param=f"{where}.call_id")
                open_calls.append(item["call_id"])
            case "function_call_output":
                if item.get("call_id") not in open_calls:
                    raise Refused(
                        f"No tool call found for function call output with call_id {item.get('call_id')}.",
                        param="input",
                    )
                open_calls.remove(item["call_id"])
                if not isinstance(item.get("output"), str | list):
                    raise Refused(f"Missing required parameter: '{where}.output'.", param=f"{where}.output")
            case "message":
                if item.get("role") not in ROLES:
                    raise Refused(f"Invalid value: '{item.get('role')}'.", param=f"{where}.role")
                if not isinstance(item.get("content"), str | list):
                    raise Refused(f"Missing required parameter: '{where}.content'.")
                if open_calls and item["role"] == "user":
                    raise Refused(f"No tool output found for function call {open_calls[0]}.", param="input")
            case "reasoning":
                pass
            case other:
                raise Refused(f"Invalid value: '{other}'.", param=f"{where}.type", code="invalid_value")

    @staticmethod
    def _check_reasoning(index: int, item: Mapping[str, Any], after: Sequence[Mapping[str, Any]]) -> None:
        if not isinstance(item.get("id"), str) or not isinstance(item.get("summary"), list):
            raise Refused(f"Missing required parameter: 'input[{index}].summary'.")
        following = after[0] if after else {}
        if following.get("type", "message") not in ("function_call", "reasoning") and (
            following.get("role") != "assistant"
        ):
            raise Refused(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                param="input",
            )
        if item.get("encrypted_content") != sign(item["id"]):
            raise Refused(
                f"The encrypted content for item {item['id']} could not be verified.",
                code="invalid_encrypted_content",
            )

    @staticmethod
    def _check_tools(body: Mapping[str, Any], traits: Traits) -> None:
        if "tools" not in body:
            if body.get("tool_choice", "auto") not in ("auto", "none"):
                raise Refused("Tool choice must be specified with 'tools'.", param="tool_choice")
            return
        if not traits.tools:
            raise Refused(f"The model {body.get('model')} does not support tools", param="tools")
        for index, tool in enumerate(body["tools"]):
            name = tool.get("name")
            if not isinstance(name, str):
                raise Refused(
                    f"Missing required parameter: 'tools[{index}].name'.", param=f"tools[{index}].name"
                )
            if not OPENAI_NAME.match(name):
                raise Refused(f"Invalid 'tools[{index}].name': string does not match pattern.")
            schema = tool.get("parameters") or {}
            loose = schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(
                schema.get("properties", ())
            )
            if tool.get("strict", True) and loose:
                raise Refused(
                    f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and to be false.",
                    param=f"tools[{index}].parameters",
                    code="invalid_function_parameters",
                )

    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        system: list[str] = []
        messages: list[SeenMessage] = []
        for item in body["input"]:
            match item.get("type", "message"):
                case "message" if item["role"] in ("system", "developer"):
                    system.append(plain(item["content"]))
                case "message":
                    said = SeenMessage(
                        item["role"], plain(item["content"]), images=images_in(item["content"])
                    )
                    messages.append(said)
                case "function_call":
                    call = ScriptedCall(item["name"], json.loads(item["arguments"]), item["call_id"])
                    last = messages[-1] if messages else None
                    if last and last.role == "assistant":
                        messages[-1] = SeenMessage("assistant", last.text, (*last.calls, call))
                    else:
                        messages.append(SeenMessage("assistant", "", (call,)))
                case "function_call_output":
                    text = plain(item["output"])
                    result = SeenResult(item["call_id"], text, "[ERROR" in text)
                    if messages and messages[-1].results:
                        messages[-1] = SeenMessage("user", "", (), (*messages[-1].results, result))
                    else:
                        messages.append(SeenMessage("user", "", (), (result,)))
        return ModelRequest(
            self.shape,
            model,
            "\n\n".join(system),
            tuple(messages),
            tuple(tool["name"] for tool in body.get("tools", ())),
            str(body.get("tool_choice", "")),
            body,
        )

    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        base = {"id": f"resp_{number}", "object": "response", "model": asked.model, "error": None}
        events = [
            event({"type": "response.created", "response": {**base, "status": "in_progress", "output": []}})
        ]
        output: list[dict[str, Any]] = []
        if reply.thinking:
            reasoning: dict[str, Any] = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
            if "reasoning.encrypted_content" in (asked.body.get("include") or ()):
                reasoning["encrypted_content"] = sign(reasoning["id"])
            # As sent; as input the nulls are refused.
            reasoning |= {"status": None, "content": None}
            events += _item(len(output), reasoning, [])
            output.append(reasoning)
        for text in (reply.text, None, reply.after):
            if text is None:
                for index, call in enumerate(reply.calls):
                    function: dict[str, Any] = {
                        "type": "function_call",
                        "id": f"fc_{number}_{index}",
                        "call_id": call.id or f"call_{number}_{index}",
                        "name": call.name,
                        "arguments": spelt(call),
                    }
                    at = len(output)
                    deltas = [
                        {"type": "response.function_call_arguments.delta", "output_index": at, "delta": piece}
                        for piece in pieces(function["arguments"], reply.chunk)
                    ]
                    events += _item(at, {**function, "arguments": ""}, deltas, done=function)
                    output.append(function)
            elif text:
                message: dict[str, Any] = {
                    "type": "message",
                    "id": f"msg_{number}_{len(output)}",
                    "role": "assistant",
                    "content": [],
                }
                at = len(output)
                deltas = [
                    {
                        "type": "response.output_text.delta",
                        "output_index": at,
                        "content_index": 0,
                        "delta": piece,
                    }
                    for piece in pieces(text, reply.chunk)
                ]
                whole = {**message, "content": [{"type": "output_text", "text": text, "annotations": []}]}
                events += _item(at, message, deltas, done=whole)
                output.append(whole)
        cut = reply.finish in ("length", "max_tokens", "max_output_tokens")
        used = reply.usage
        end = {
            **base,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": output,
            "usage": {
                "input_tokens": used.input,
                "input_tokens_details": {"cached_tokens": used.cache_read},
                "output_tokens": used.output,
                "output_tokens_details": {"reasoning_tokens": used.reasoning},
            },
        }
        kind = "response.incomplete" if cut else "response.completed"
        return [*events, event({"type": kind, "response": end})]

    def error(self, refused: Refused) -> Mapping[str, Any]:
        return refused.openai()

    def error_event(self, text: str) -> bytes:
        return data({"type": "error", "code": "server_error", "message": text, "param": None})


def _item(
    index: int,
    item: Mapping[str, Any],
    deltas: Sequence[Mapping[str, Any]],
    *,
    done: Mapping[str, Any] | None = None,
) -> list[bytes]:
    return [
        event({"type": "response.output_item.added", "output_index": index, "item": item}),
        *(event(delta) for delta in deltas),
        event({"type": "response.output_item.done", "output_index": index, "item": done or item}),
    ]
