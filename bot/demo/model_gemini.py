"""The scripted model behind Gemini's generateContent.

Sources: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures,
and the error texts quoted in public issues.
"""

# ruff: noqa: E501 - the service's own words stay on one line, to be searched for

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from bot.demo.model_images import check_gemini_image, images_in
from bot.demo.model_request import ModelRequest, SeenMessage, SeenResult
from bot.demo.model_rules import Refused, Traits, sign
from bot.demo.model_service import Service
from bot.demo.model_streams import Reply, ScriptedCall, data, pieces

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")
STAND_IN = "skip_thought_signature_validator"
SCHEMA_FIELDS = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
    "default", "items", "minimum", "maximum",
}  # fmt: skip
DATA = ("text", "functionCall", "functionResponse", "inlineData")


class GeminiService(Service):
    shape = "gemini"
    paths = ("/v1beta/models/{model}:streamGenerateContent",)

    def authorise(self, request: Request, content: bytes, key: str | None) -> None:
        if key is not None and request.headers.get("x-goog-api-key") != key:
            raise Refused("API key not valid. Please pass a valid API key.", kind="INVALID_ARGUMENT")
        if request.query_params.get("alt") != "sse":
            raise Refused("this server streams only with alt=sse", kind="INVALID_ARGUMENT")

    def model(self, request: Request, body: Mapping[str, Any]) -> str:
        return str(request.path_params["model"])

    def unknown_model(self, model: str) -> Refused:
        return Refused(
            f"models/{model} is not found for API version v1beta, or is not supported for generateContent.",
            status=404,
            kind="NOT_FOUND",
        )

    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        for name in set(body) - {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}:
            raise _bad(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
        self._check_tools(body, traits)
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            raise _bad("* GenerateContentRequest.contents: contents is not specified")
        before: list[Mapping[str, Any]] = []
        turn = 0
        for index, content in enumerate(contents):
            before = self._check_content(index, content, before, traits)
            if content["role"] == "user" and any("text" in part for part in content["parts"]):
                turn = index
        if before:
            raise _bad(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
            )
        if contents[-1]["role"] != "user":
            raise _bad("Please ensure that multiturn requests end with a user role or a function response.")
        if traits.signatures:
            for index, content in enumerate(contents):
                self._check_signatures(content, needed=index > turn)

    @staticmethod
    def _check_content(
        index: int, content: Mapping[str, Any], before: Sequence[Mapping[str, Any]], traits: Traits
    ) -> list[Mapping[str, Any]]:
        if content.get("role") not in ("user", "model"):
            raise _bad("Please use a valid role: user, model.")
        parts = content.get("parts")
        if not parts:
            raise _bad(f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.")
        for number, part in enumerate(parts):
            given = [name for name in DATA if name in part]
            if len(given) != 1 or (part.get("text") == "" and "thoughtSignature" not in part):
                raise _bad(
                    f"* GenerateContentRequest.contents[{index}].parts[{number}].data: required oneof field 'data' must have one initialized field"
                )
            if "inlineData" in part:
                where = f"contents[{index}].parts[{number}]"
                check_gemini_image(where, content["role"], part["inlineData"], traits)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if answers and not before:
            raise _bad(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        if before and len(answers) != len(before):
            raise _bad(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
            )
        if calls and (content["role"] != "model" or index == 0):
            raise _bad(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        for call, answer in zip(before, answers, strict=False):
            if (call["name"], call.get("id")) != (answer.get("name"), answer.get("id")):
                raise _bad("Function response does not match its function call.")
            if not isinstance(answer.get("response"), dict):
                raise _bad(
                    "Invalid value at 'function_response.response' (type.googleapis.com/google.protobuf.Struct)"
                )
        for call in calls:
            if not isinstance(call.get("args", {}), dict):
                raise _bad(
                    "Invalid value at 'function_call.args' (type.googleapis.com/google.protobuf.Struct)"
                )
            if not NAME.match(call.get("name", "")):
                raise _bad("Invalid function name.")
        return calls

    @staticmethod
    def _check_signatures(content: Mapping[str, Any], *, needed: bool) -> None:
        first = True
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature not in (None, STAND_IN, seal(part)):
                raise _bad("Corrupted thought signature.")
            if "functionCall" in part and first:
                first = False
                if needed and not signature:
                    raise _bad(
                        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance."
                    )

    def _check_tools(self, body: Mapping[str, Any], traits: Traits) -> None:
        for tool in body.get("tools", ()):
            if not traits.tools:
                raise _bad("Function calling is not enabled for this model. tools are not supported")
            for function in tool["functionDeclarations"]:
                if not NAME.match(function.get("name", "")):
                    raise _bad("Invalid function name. Must start with a letter or an underscore.")
                if not function.get("description"):
                    raise _bad("function_declarations[0].description: must not be empty")
                if "parameters" in function:
                    self._check_schema(function["parameters"])

    def _check_schema(self, schema: Mapping[str, Any]) -> None:
        for name in set(schema) - SCHEMA_FIELDS:
            raise _bad(
                f"Invalid JSON payload received. Unknown name \"{name}\" at 'tools[0]': Cannot find field."
            )
        if schema.get("type") == "object" and not schema.get("properties"):
            raise _bad("parameters.properties: should be non-empty for OBJECT type")
        for inner in schema.get("properties", {}).values():
            self._check_schema(inner)
        for inner in [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]:
            self._check_schema(inner)

    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        messages: list[SeenMessage] = []
        for content in body["contents"]:
            parts = content["parts"]
            text = "\n\n".join(part["text"] for part in parts if part.get("text"))
            calls = tuple(
                ScriptedCall(part["functionCall"]["name"], part["functionCall"]["args"])
                for part in parts
                if "functionCall" in part
            )
            results = tuple(
                SeenResult(
                    part["functionResponse"].get("id", ""),
                    str(next(iter(part["functionResponse"]["response"].values()))),
                    "error" in part["functionResponse"]["response"],
                )
                for part in parts
                if "functionResponse" in part
            )
            role = "assistant" if content["role"] == "model" else "user"
            messages.append(SeenMessage(role, text, calls, results, images_in(parts)))
        names = tuple(f["name"] for tool in body.get("tools", ()) for f in tool["functionDeclarations"])
        mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode", "")
        system = "\n\n".join(part["text"] for part in (body.get("systemInstruction") or {}).get("parts", ()))
        return ModelRequest(self.shape, model, system, tuple(messages), names, mode.lower(), body)

    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        if reply.thinking:
            parts.append({"text": reply.thinking, "thought": True})
        parts += [{"text": piece} for piece in pieces(reply.text, reply.chunk)]
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "args": call.arguments, "id": call.id or f"fc{number}x{index}"}
            part: dict[str, Any] = {"functionCall": function}
            if index == 0:
                part["thoughtSignature"] = seal(part)
            parts.append(part)
        parts += [{"text": piece} for piece in pieces(reply.after, reply.chunk)]
        if reply.thinking and not reply.calls:
            parts.append({"text": "", "thoughtSignature": seal({"text": ""})})
        used = reply.usage
        counted = {
            "promptTokenCount": used.input,
            "cachedContentTokenCount": used.cache_read,
            "candidatesTokenCount": used.output - used.reasoning,
            "thoughtsTokenCount": used.reasoning,
        }
        events = [
            data(
                {
                    "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}],
                    "modelVersion": asked.model,
                }
            )
            for part in parts
        ]
        finish = "MAX_TOKENS" if reply.finish in ("length", "max_tokens") else reply.finish or "STOP"
        end = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish}
        return [*events, data({"candidates": [end], "usageMetadata": counted, "modelVersion": asked.model})]

    def error(self, refused: Refused) -> Mapping[str, Any]:
        kinds = {
            401: "UNAUTHENTICATED",
            403: "PERMISSION_DENIED",
            404: "NOT_FOUND",
            429: "RESOURCE_EXHAUSTED",
        }
        kind = refused.kind if refused.kind.isupper() else kinds.get(refused.status, "INVALID_ARGUMENT")
        if refused.status >= 500:
            kind = "UNAVAILABLE"
        return {"error": {"code": refused.status, "message": str(refused), "status": kind}}

    def error_event(self, text: str) -> bytes:
        return data({"error": {"code": 503, "message": text, "status": "UNAVAILABLE"}})


def seal(part: Mapping[str, Any]) -> str:
    """Return the signature this server puts on a part, and demands back on the same one."""
    bare = {name: value for name, value in part.items() if name != "thoughtSignature"}
    return sign(f"gemini{json.dumps(bare, sort_keys=True)}")


def _bad(message: str) -> Refused:
    return Refused(message, kind="INVALID_ARGUMENT")
