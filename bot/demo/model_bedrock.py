"""The scripted model behind Amazon Bedrock's ConverseStream.

Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html,
and the error texts quoted in public issues.
"""

# ruff: noqa: E501 - the service's own words stay on one line, to be searched for

import hashlib
import hmac
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from bot.demo.model_images import BEDROCK_COUNT, check_bedrock_image, images_in
from bot.demo.model_request import ModelRequest, SeenMessage, SeenResult
from bot.demo.model_rules import MAX_MARKS, Refused, Traits, sign
from bot.demo.model_service import Service
from bot.demo.model_streams import Reply, ScriptedCall, pieces, spelt

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
ACCESS_KEY, SECRET_KEY, REGION = "AKIDSCRIPTED", "scripted-secret-key", "eu-north-1"
"""The one identity whose signatures this server takes."""


class BedrockService(Service):
    shape = "bedrock"
    paths = ("/model/{model}/converse-stream",)
    media_type = "application/vnd.amazon.eventstream"

    def authorise(self, request: Request, content: bytes, key: str | None) -> None:
        given = request.headers.get("authorization", "")
        if key is None or given == f"Bearer {key}":
            return
        if not given.startswith("AWS4-HMAC-SHA256"):
            raise Refused("The security token included in the request is invalid.", status=403)
        _check_signature(request, content, given)

    def model(self, request: Request, body: Mapping[str, Any]) -> str:
        return str(request.path_params["model"])

    def unknown_model(self, model: str) -> Refused:
        return Refused(
            "Could not resolve the foundation model from the provided model identifier.", status=404
        )

    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        for name in set(body) - {
            "messages",
            "system",
            "inferenceConfig",
            "toolConfig",
            "additionalModelRequestFields",
        }:
            raise Refused(f"extraneous key [{name}] is not permitted")
        marks = sum("cachePoint" in block for block in _blocks(body))
        if marks > (MAX_MARKS if traits.caching else 0):
            raise Refused(
                "You invoked an unsupported model or your request did not allow prompt caching."
                if not traits.caching
                else f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."
            )
        self._check_tools(body, traits)
        messages = body.get("messages")
        if not messages:
            raise Refused("The messages field is required")
        owed: list[str] = []
        before = "assistant"
        for index, message in enumerate(messages):
            role, blocks = message.get("role"), message.get("content")
            if role == before:
                raise Refused(
                    "A conversation must start with a user message. Try again with a conversation that starts with a user message."
                    if index == 0
                    else "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
                )
            before = role
            if not blocks:
                raise Refused(f"The content field in the Message object at messages.{index} is empty.")
            given = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
            if set(owed) - set(given):
                raise Refused(
                    f"Expected toolResult blocks at messages.{index}.content for the following Ids: {', '.join(owed)}"
                )
            if sorted(given) != sorted(owed):
                raise Refused(
                    f"The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
                )
            for number, block in enumerate(blocks):
                self._check_block(f"messages.{index}.content.{number}", role, block, traits)
            owed = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
            if len(owed) != len(set(owed)):
                raise Refused(
                    f"The toolUse blocks at messages.{index}.content contain duplicate Ids: {owed[0]}"
                )
        if owed:
            raise Refused(f"Expected toolResult blocks for the following Ids: {', '.join(owed)}")
        if (count := sum("image" in block for m in messages for block in m["content"])) > BEDROCK_COUNT:
            raise Refused(f"Too many images in the request: {count} > {BEDROCK_COUNT}")
        used = any("toolUse" in block or "toolResult" in block for m in messages for block in m["content"])
        if used and not body.get("toolConfig"):
            raise Refused(
                "The toolConfig field must be defined when using toolUse and toolResult content blocks."
            )

    @staticmethod
    def _check_block(where: str, role: str, block: Mapping[str, Any], traits: Traits) -> None:
        match block:
            case {"text": str(text)}:
                if not text.strip():
                    raise Refused(
                        f"The text field in the ContentBlock object at {where} is blank. Add text to the text field, and try again."
                    )
            case {"toolUse": use}:
                if not ID.match(use.get("toolUseId", "")):
                    raise Refused(
                        f"Value at '{where}.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
                    )
                if not isinstance(use.get("input"), dict):
                    raise Refused(
                        f"The format of the value at {where}.toolUse.input is invalid. Provide a json object for the field and try again."
                    )
                if not ID.match(use.get("name", "")):
                    raise Refused(f"Value at '{where}.toolUse.name' failed to satisfy constraint")
            case {"toolResult": result}:
                if not isinstance(result.get("content"), list) or not result["content"]:
                    raise Refused(f"The content field at {where}.toolResult is empty.")
            case {"reasoningContent": {"reasoningText": thought}}:
                if thought.get("signature") != sign(thought.get("text", "")):
                    raise Refused(f"{where}: Invalid `signature` in `thinking` block")
            case {"cachePoint": {"type": "default"}}:
                pass
            case {"image": image}:
                check_bedrock_image(where, role, image, traits)
            case _:
                raise Refused(f"The content block at {where} is of no known type.")

    @staticmethod
    def _check_tools(body: Mapping[str, Any], traits: Traits) -> None:
        config = body.get("toolConfig")
        if config is None:
            return
        if not traits.tools:
            raise Refused("This model doesn't support tool use.")
        specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
        if not specs:
            raise Refused("The provided request is not valid: toolConfig.tools must have a tool")
        for spec in specs:
            if not ID.match(spec.get("name", "")):
                raise Refused(
                    "Value at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint"
                )
            if spec.get("description") == "":
                raise Refused(
                    "Invalid length for parameter toolConfig.tools[0].toolSpec.description, value: 0, valid min length: 1"
                )
            if spec["inputSchema"]["json"].get("type") != "object":
                raise Refused(
                    "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."
                )
        if set(config.get("toolChoice", {"auto": {}})) != {"auto"}:
            raise Refused(
                "This model doesn't support the toolConfig.toolChoice.any field. Remove it and try again."
            )

    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        messages = []
        for message in body["messages"]:
            blocks = message["content"]
            calls = tuple(
                ScriptedCall(b["toolUse"]["name"], b["toolUse"]["input"], b["toolUse"]["toolUseId"])
                for b in blocks
                if "toolUse" in b
            )
            results = tuple(
                SeenResult(
                    b["toolResult"]["toolUseId"],
                    "\n\n".join(part["text"] for part in b["toolResult"]["content"]),
                    b["toolResult"].get("status") == "error",
                )
                for b in blocks
                if "toolResult" in b
            )
            text = "\n\n".join(b["text"] for b in blocks if "text" in b)
            messages.append(SeenMessage(message["role"], text, calls, results, images_in(blocks)))
        config = body.get("toolConfig") or {}
        names = tuple(tool["toolSpec"]["name"] for tool in config.get("tools", ()) if "toolSpec" in tool)
        choice = next(iter(config.get("toolChoice", {})), "none" if names else "")
        system = "\n\n".join(block["text"] for block in body.get("system", ()) if "text" in block)
        return ModelRequest(self.shape, model, system, tuple(messages), names, choice, body)

    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        frames = [frame("messageStart", {"role": "assistant"})]
        for index, (start, deltas) in enumerate(_content(reply, number)):
            at = {"contentBlockIndex": index}
            if start:
                frames.append(frame("contentBlockStart", {**at, "start": start}))
            frames += [frame("contentBlockDelta", {**at, "delta": delta}) for delta in deltas]
            frames.append(frame("contentBlockStop", at))
        cut = reply.finish in ("length", "max_tokens")
        stop = "max_tokens" if cut else "tool_use" if reply.calls else "end_turn"
        frames.append(frame("messageStop", {"stopReason": stop}))
        used = reply.usage
        counted = {
            "inputTokens": used.input - used.cache_read - used.cache_write,
            "outputTokens": used.output,
            "totalTokens": used.input + used.output,
            "cacheReadInputTokens": used.cache_read,
            "cacheWriteInputTokens": used.cache_write,
        }
        return [*frames, frame("metadata", {"usage": counted, "metrics": {"latencyMs": 1}})]

    def error(self, refused: Refused) -> Mapping[str, Any]:
        return {"message": str(refused)}

    def error_event(self, text: str) -> bytes:
        return frame("serviceUnavailableException", {"message": text}, exception=True)

    def raw(self, events: Sequence[str]) -> list[bytes]:
        frames = []
        for event in events:
            try:
                [(kind, payload)] = json.loads(event).items()
            except (ValueError, AttributeError):
                frames.append(_frame({":message-type": "event", ":event-type": "x"}, event.encode()))
            else:
                frames.append(frame(kind, payload))
        return frames


def _content(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.thinking:
        thoughts = [{"reasoningContent": {"text": piece}} for piece in pieces(reply.thinking, reply.chunk)]
        yield {}, [*thoughts, {"reasoningContent": {"signature": sign(reply.thinking)}}]
    if reply.text:
        yield {}, [{"text": piece} for piece in pieces(reply.text, reply.chunk)]
    for index, call in enumerate(reply.calls):
        start = {"toolUse": {"toolUseId": call.id or f"tooluse_{number}_{index}", "name": call.name}}
        text = spelt(call)
        # Claude sends nothing at all for a call without arguments.
        given = [] if text == "{}" else [*pieces(text, reply.chunk)]
        yield start, [{"toolUse": {"input": piece}} for piece in given]
    if reply.after:
        yield {}, [{"text": piece} for piece in pieces(reply.after, reply.chunk)]


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (body.get("toolConfig") or {}).get("tools", ())
    yield from body.get("system", ())
    for message in body.get("messages", ()):
        yield from message.get("content", ())


def frame(kind: str, payload: object, *, exception: bool = False) -> bytes:
    """Return one event as a binary frame."""
    name = "exception" if exception else "event"
    headers = {
        f":{name}-type": kind,
        ":content-type": "application/json",
        ":message-type": name,
    }
    return _frame(headers, json.dumps(payload, ensure_ascii=False).encode())


def _frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    packed = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + packed + payload
    return body + struct.pack("!I", zlib.crc32(body))


def _check_signature(request: Request, content: bytes, given: str) -> None:
    fields = dict(part.strip().split("=", 1) for part in given.removeprefix("AWS4-HMAC-SHA256").split(","))
    access, date, region, service, _ = fields["Credential"].split("/")
    names = fields["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            request.method,
            quote(request.scope["raw_path"].decode(), safe="/-_.~"),
            request.url.query,
            *(f"{name}:{request.headers.get(name, '').strip()}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(content).hexdigest(),
        ]
    )
    scope = f"{date}/{region}/{service}/aws4_request"
    to_sign = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            request.headers.get("x-amz-date", ""),
            scope,
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (date, REGION, "bedrock", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    if (
        access != ACCESS_KEY
        or fields["Signature"] != hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    ):
        raise Refused(
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
            status=403,
        )
