"""What the two real model services refuse, in their own words.

Written from what they answered to others, not from our clients: a mistake of ours must fail here as it would
there. Sources: https://platform.openai.com/docs/api-reference/chat, https://docs.claude.com/en/api/errors,
https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use, and the error texts quoted in
the public issues of projects that talk to them.
"""

# ruff: noqa: E501 - the services' own words stay on one line, to be searched for

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
MAX_MARKS = 4


@dataclass(frozen=True, slots=True)
class Traits:
    """How a model on the server behaves.

    Attributes:
        tools: Whether it takes tool definitions.
        vision: Whether it takes pictures.
        limit_parameter: The token limit it takes, in the OpenAI shape; None for either.
        ids: Call ids it takes, in the OpenAI shape.
        alternates: Whether a user message right after a tool result is refused (Mistral).
        reasoning_required: Whether a reply with calls must bring its `reasoning_content` (DeepSeek, Moonshot).
        refused: Fields of the body it does not take.
        choices: Values of `tool_choice` it takes, in the OpenAI shape.
        signatures: Whether calls of the current turn must be signed (Gemini 3).
        reasons: Whether it can give its reasoning encrypted (Responses).
        caching: Whether it takes cache points (Bedrock).
        forced_choice: Whether a tool may be forced (Anthropic before Opus 5.5).
    """

    tools: bool = True
    vision: bool = True
    limit_parameter: str | None = None
    ids: re.Pattern[str] = re.compile(r".{1,40}\Z", re.S)
    alternates: bool = False
    reasoning_required: bool = False
    refused: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset({"auto", "none", "required"})
    signatures: bool = True
    reasons: bool = True
    caching: bool = True
    forced_choice: bool = False


class Refused(Exception):
    """The service answers with this status and error instead of a reply."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code

    def openai(self) -> dict[str, Any]:
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}}

    def anthropic(self) -> dict[str, Any]:
        return {
            "type": "error",
            "error": {"type": self.kind, "message": str(self)},
            "request_id": "req_scripted",
        }


def check_openai(body: Mapping[str, Any], traits: Traits) -> None:
    """Raise Refused where chat completions would."""
    for name in sorted(traits.refused & set(body)):
        raise Refused(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
    _check_openai_tools(body, traits)
    if body.get("tool_choice", "auto") not in traits.choices:
        raise Refused(f"tool_choice {body['tool_choice']!r} is not accepted", param="tool_choice")
    if body.get("stream_options") and not body.get("stream"):
        raise Refused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
        )
    for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if traits.limit_parameter not in (None, name) and name in body:
            raise Refused(
                f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead.",
                param=name,
                code="unsupported_parameter",
            )
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise Refused(
            "Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter"
        )
    if not messages:
        raise Refused(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param="messages",
            code="empty_array",
        )
    open_ids: list[str] = []
    asked: set[str] = set()
    answered: set[str] = set()
    asked_at = 0
    before = ""
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            _check_openai_result(index, message, asked, answered)
            open_ids.remove(message["tool_call_id"])
            answered.add(message["tool_call_id"])
        else:
            if open_ids:
                raise _unanswered(asked_at + 1, open_ids)
            if role == "user" and before == "tool" and traits.alternates:
                raise Refused("Unexpected role 'user' after role 'tool'", param=None, code="3230")
            _check_openai_message(index, message)
            open_ids = _check_openai_calls(index, message, traits) if role == "assistant" else []
            if open_ids and traits.reasoning_required and "reasoning_content" not in message:
                raise Refused(
                    "thinking is enabled but reasoning_content is missing in assistant tool call message"
                    f" at index {index}"
                )
            asked, answered, asked_at = set(open_ids), set(), index
        before = role
    if open_ids:
        raise _unanswered(asked_at + 1, open_ids)


def _unanswered(index: int, ids: Sequence[str]) -> Refused:
    return Refused(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        f" The following tool_call_ids did not have response messages: {', '.join(ids)}",
        param=f"messages.[{index}].role",
    )


def _check_openai_result(index: int, message: Mapping[str, Any], asked: set[str], answered: set[str]) -> None:
    if not asked:
        raise Refused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            param=f"messages.[{index}].role",
        )
    call_id = message.get("tool_call_id")
    if call_id in answered:
        raise Refused(f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{index}].")
    if call_id not in asked:
        raise Refused(
            f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message.",
            param=f"messages.[{index}].tool_call_id",
        )
    if not isinstance(message.get("content"), str | list):
        raise _no_content(index)


def _check_openai_message(index: int, message: Mapping[str, Any]) -> None:
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant"):
        raise Refused(
            f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool',"
            " and 'developer'.",
            param=f"messages[{index}].role",
            code="invalid_value",
        )
    content = message.get("content")
    if role == "assistant" and message.get("tool_calls") and content is None:
        return
    if not isinstance(content, str | list) or content == []:
        raise _no_content(index)


def _no_content(index: int) -> Refused:
    return Refused(
        "Invalid value for 'content': expected a string, got null.", param=f"messages.[{index}].content"
    )


def _check_openai_calls(index: int, message: Mapping[str, Any], traits: Traits) -> list[str]:
    if "tool_calls" not in message:
        return []
    calls = message["tool_calls"]
    where = f"messages[{index}].tool_calls"
    if not isinstance(calls, list) or not calls:
        raise Refused(
            f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param=where,
            code="empty_array",
        )
    ids: list[str] = []
    for number, call in enumerate(calls):
        at = f"{where}[{number}]"
        call_id, function = call.get("id"), call.get("function") or {}
        if not isinstance(call_id, str) or not traits.ids.match(call_id):
            raise Refused(
                f"Invalid '{at}.id': string does not match pattern.", param=f"{at}.id", code="invalid_value"
            )
        if call_id in ids:
            raise Refused(f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{index}].")
        if call.get("type") != "function":
            raise Refused(f"Missing required parameter: '{at}.type'.", param=f"{at}.type")
        _check_openai_name(f"{at}.function.name", function.get("name"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            raise Refused(
                f"Invalid type for '{at}.function.arguments': expected a string, but got an object instead.",
                param=f"{at}.function.arguments",
                code="invalid_type",
            )
        try:
            json.loads(arguments)
        except ValueError:
            # DashScope's and Mistral's refusal; OpenAI lets it pass and the model reads nonsense.
            raise Refused(
                'The "function.arguments" parameter of the code model must be in JSON format.'
            ) from None
        ids.append(call_id)
    return ids


def _check_openai_name(where: str, name: object) -> None:
    if not isinstance(name, str) or not OPENAI_NAME.match(name):
        raise Refused(
            f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'.",
            param=where,
            code="invalid_value",
        )
    if len(name) > 64:
        raise Refused(
            f"Invalid '{where}': string too long. Expected a string with maximum length 64, but got a string with"
            f" length {len(name)} instead.",
            param=where,
            code="string_above_max_length",
        )


def _check_openai_tools(body: Mapping[str, Any], traits: Traits) -> None:
    if "tools" not in body:
        if "tool_choice" in body:
            raise Refused(
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
                param="tool_choice",
            )
        return
    if not traits.tools:
        raise Refused(
            f"registry.ollama.ai/library/{body.get('model')} does not support tools", kind="api_error"
        )
    if not isinstance(body["tools"], list) or not body["tools"]:
        raise Refused(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param="tools",
            code="empty_array",
        )
    for number, tool in enumerate(body["tools"]):
        function = tool.get("function") or {}
        name = function.get("name")
        _check_openai_name(f"tools[{number}].function.name", name)
        schema = function.get("parameters", {"type": "object"})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            given = schema.get("type") if isinstance(schema, dict) else None
            raise Refused(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got"
                f" 'type: \"{given}\"'.",
                param=f"tools[{number}].function.parameters",
                code="invalid_function_parameters",
            )


def check_anthropic(body: Mapping[str, Any], traits: Traits) -> None:
    """Raise Refused where the Messages API would."""
    if not isinstance(body.get("max_tokens"), int):
        raise Refused("max_tokens: Field required")
    _check_anthropic_tools(body, traits)
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool") and not traits.forced_choice:
        raise Refused("tool_choice: forcing tool use is not supported by this model")
    system = body.get("system", "")
    if isinstance(system, list):
        for index, block in enumerate(system):
            if not block.get("text"):
                raise Refused(f"system.{index}: text content blocks must be non-empty")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("messages: at least one message is required")
    marks = sum("cache_control" in block for block in _blocks(body))
    if marks > MAX_MARKS:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    _check_anthropic_order(messages)
    seen: set[str] = set()
    owed: list[str] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if not content:
            raise Refused(
                f"messages.{index}: all messages must have non-empty content except for the optional final"
                " assistant message"
            )
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        _check_anthropic_results(index, message["role"], blocks, owed)
        owed = []
        for number, block in enumerate(blocks):
            _check_anthropic_block(f"messages.{index}.content.{number}", block)
            if block["type"] == "tool_use":
                if message["role"] != "assistant":
                    raise Refused(
                        f"messages.{index}.content.{number}: `tool_use` blocks can only be in `assistant` messages"
                    )
                if block["id"] in seen:
                    raise Refused(f"messages.{index}.content.{number}: `tool_use` ids must be unique")
                seen.add(block["id"])
                owed.append(block["id"])
    if owed:
        raise _not_answered(len(messages) - 1, owed)
    if messages[-1]["role"] == "assistant":
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    if seen and not body.get("tools"):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from body.get("tools") or ()
    for content in [body.get("system"), *(message.get("content") for message in body["messages"])]:
        if isinstance(content, list):
            yield from content


def _check_anthropic_order(messages: Sequence[Mapping[str, Any]]) -> None:
    before = "assistant"
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "system":
            raise Refused(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not'
                ' "system" as an input message role.'
            )
        if role not in ("user", "assistant"):
            raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
        if index == 0 and role != "user":
            raise Refused('messages: first message must use the "user" role')
        if role == before:
            raise Refused(
                'messages: roles must alternate between "user" and "assistant", but found multiple'
                f' "{role}" roles in a row'
            )
        before = role


def _check_anthropic_results(
    index: int, role: str, blocks: Sequence[Mapping[str, Any]], owed: Sequence[str]
) -> None:
    given: list[str] = []
    first = True
    for number, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            first = False
            continue
        call_id = block.get("tool_use_id")
        if call_id in given:
            raise Refused(
                f"messages.{index}.content.{number}: each tool_use must have a single result. Found multiple"
                f" `tool_result` blocks with id: {call_id}"
            )
        if call_id not in owed or role != "user":
            raise Refused(
                f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}."
                " Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if first:
            given.append(str(call_id))
    if missing := [call_id for call_id in owed if call_id not in given]:
        raise _not_answered(index - 1, missing)


def _not_answered(index: int, ids: Sequence[str]) -> Refused:
    return Refused(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}."
        " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _check_anthropic_block(where: str, block: Mapping[str, Any]) -> None:
    match block.get("type"):
        case "text":
            text = block.get("text")
            if not text:
                raise Refused("messages: text content blocks must be non-empty")
            if not text.strip():
                raise Refused("messages: text content blocks must contain non-whitespace text")
        case "tool_use":
            if not isinstance(block.get("id"), str) or not ANTHROPIC_ID.match(block["id"]):
                raise Refused(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if not isinstance(block.get("name"), str) or not ANTHROPIC_NAME.match(block["name"]):
                raise Refused(
                    f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
                )
            if not isinstance(block.get("input"), dict):
                raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
        case "tool_result":
            if not isinstance(block.get("content", ""), str | list):
                raise Refused(f"{where}.tool_result.content: Input should be a valid string")
        case "image":
            pass  # see model_images
        case "thinking":
            if "cache_control" in block:
                raise Refused(f"{where}.thinking.cache_control: Extra inputs are not permitted")
            if block.get("signature") != sign(block.get("thinking", "")):
                raise Refused(f"{where}: Invalid `signature` in `thinking` block")
        case other:
            raise Refused(
                f"{where}: Input tag '{other}' found using 'type' does not match any of the expected tags"
            )


def sign(thinking: str) -> str:
    """Return the signature this server puts on its thinking, and demands back."""
    return hashlib.sha256(f"scripted{thinking}".encode()).hexdigest()


def _check_anthropic_tools(body: Mapping[str, Any], traits: Traits) -> None:
    if "tools" not in body:
        if "tool_choice" in body:
            raise Refused("tool_choice: may only be specified while providing tools")
        return
    if not traits.tools:
        raise Refused(f"{body.get('model')} does not support tools")
    names: set[str] = set()
    for index, tool in enumerate(body["tools"]):
        name = tool.get("name")
        if not isinstance(name, str) or not ANTHROPIC_NAME.match(name):
            raise Refused(
                f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )
        if name in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise Refused(f"tools.{index}.custom.input_schema: Field required")
        if schema.get("type") != "object":
            raise Refused(f"tools.{index}.custom.input_schema.type: Input should be 'object'")
