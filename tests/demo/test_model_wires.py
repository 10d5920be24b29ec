"""The scripted model refuses on its newer wires what the services refuse; told by raw requests."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from bot.demo.model_bedrock import frame
from bot.demo.model_gemini import STAND_IN
from bot.demo.model_server import ModelServer, Reply, Traits

KEYS = {"authorization": "Bearer test-key", "x-goog-api-key": "test-key"}
RESPONSES, OLLAMA = "/v1/responses", "/api/chat"
GEMINI = "/v1beta/models/m:streamGenerateContent?alt=sse"
BEDROCK = "/model/m/converse-stream"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    models = {"m": Traits(), "text": Traits(tools=False), "plain": Traits(reasons=False, caching=False)}
    server = ModelServer(lambda request: Reply("Hi."), models=models)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(server.app), base_url="http://model", headers=KEYS
    ) as client:
        yield client


async def refusal(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> str:
    answer = await http.post(path, json=body)
    return "" if answer.status_code == 200 else answer.text.replace('\\"', '"')


USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "a", "name": "uptime", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "3 days"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "forged"}
ENCRYPTED = ["reasoning.encrypted_content"]
TOOL = {"type": "function", "name": "uptime", "parameters": {"type": "object"}, "strict": False}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"input": [USER, CALL, OUTPUT], "tools": [TOOL]}, ""),
        ({"input": []}, "Missing required parameter: 'input'"),
        ({"input": [USER], "max_tokens": 1}, "has moved to 'max_output_tokens'"),
        ({"input": [USER, CALL]}, "No tool output found for function call a"),
        ({"input": [USER, CALL, USER, OUTPUT]}, "No tool output found for function call a"),
        ({"input": [USER, OUTPUT]}, "No tool call found for function call output with call_id a"),
        ({"input": [USER, {**CALL, "call_id": "x" * 65}]}, "call_id"),
        ({"input": [USER, {**CALL, "name": "no such"}]}, "does not match pattern"),
        ({"input": [USER, {**CALL, "status": None}]}, "got null instead"),
        ({"input": [USER, THOUGHT, USER]}, "without its required following item"),
        ({"input": [USER, THOUGHT]}, "without its required following item"),
        ({"input": [USER, THOUGHT, CALL, OUTPUT]}, "could not be verified"),
        ({"input": [USER], "tools": [{**TOOL, "strict": True}]}, "'additionalProperties' is required"),
        ({"input": [USER], "tools": [{"type": "function", "function": TOOL}]}, "'tools[0].name'"),
        ({"input": [USER], "tool_choice": "required"}, "must be specified with 'tools'"),
        ({"model": "text", "input": [USER], "tools": [TOOL]}, "does not support tools"),
        (
            {"model": "plain", "input": [USER], "include": ["reasoning.encrypted_content"]},
            "Encrypted content",
        ),
    ],
)
async def test_responses_refuse(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    said = await refusal(http, RESPONSES, {"model": "m", **body})

    assert words in said
    assert bool(said) is bool(words)


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts) or [{"text": "hi"}]}


def asks(*names: str, signature: str = STAND_IN) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"functionCall": {"name": name, "args": {}}} for name in names]
    if signature:
        parts[0]["thoughtSignature"] = signature
    return {"role": "model", "parts": parts}


def answers(*names: str, response: object = None) -> dict[str, Any]:
    given = {"output": "x"} if response is None else response
    return user(*({"functionResponse": {"name": name, "response": given}} for name in names))


def declared(**function: Any) -> list[dict[str, Any]]:
    return [{"functionDeclarations": [{"name": "uptime", "description": "d", **function}]}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"contents": [user(), asks("a", "b"), answers("a", "b")]}, ""),
        ({"contents": [user(), asks("a", signature=""), answers("a"), user()]}, ""),
        ({"contents": []}, "contents is not specified"),
        ({"contents": [user()], "messages": []}, 'Unknown name "messages"'),
        ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "valid role"),
        ({"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
        ({"contents": [user({"text": ""})]}, "must have one initialized field"),
        ({"contents": [user(), {"role": "model", "parts": [{"text": "x"}]}]}, "end with a user role"),
        ({"contents": [user(), answers("a")]}, "immediately after a function call turn"),
        ({"contents": [user(), asks("a", "b"), answers("a")]}, "number of function response parts"),
        ({"contents": [user(), asks("a"), user()]}, "number of function response parts"),
        ({"contents": [asks("a"), answers("a")]}, "immediately after a user turn"),
        ({"contents": [user(), asks("a"), answers("b")]}, "does not match"),
        ({"contents": [user(), asks("a"), answers("a", response="x")]}, "protobuf.Struct"),
        ({"contents": [user(), asks("a", signature=""), answers("a")]}, "missing a thought_signature"),
        ({"contents": [user(), asks("a", signature="x"), answers("a")]}, "Corrupted thought signature"),
        ({"contents": [user()], "tools": declared(name="1 2")}, "Invalid function name"),
        ({"contents": [user()], "tools": declared(description="")}, "must not be empty"),
        ({"contents": [user()], "tools": declared(parameters={"type": "object"})}, "non-empty for OBJECT"),
        ({"contents": [user()], "tools": declared(parameters={"$ref": "x"})}, 'Unknown name "$ref"'),
    ],
)
async def test_gemini_refuses(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    said = await refusal(http, GEMINI, body)

    assert words in said
    assert bool(said) is bool(words)


def called(arguments: object) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "a", "arguments": arguments}}],
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": [USER, called({}), {"role": "tool", "tool_name": "a", "content": "x"}]}, ""),
        ({"messages": []}, "messages is required"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "invalid role"),
        ({"messages": [{"role": "user", "content": None}]}, "cannot unmarshal"),
        ({"messages": [USER, called("{}")]}, "ToolCallFunctionArguments"),
        ({"messages": [USER, called({}), {"role": "tool", "content": "x"}]}, "tool_name is missing"),
        ({"messages": [USER], "tool_choice": "auto"}, "options"),
        ({"model": "text", "messages": [USER], "tools": [TOOL]}, "does not support tools"),
    ],
)
async def test_ollama_refuses(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    said = await refusal(http, OLLAMA, {"model": "m", **body})

    assert words in said
    assert bool(said) is bool(words)


def uses(*ids: str, given: object = None) -> dict[str, Any]:
    block = {"name": "uptime", "input": {} if given is None else given}
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, **block}} for i in ids]}


def told(*ids: str) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": i, "content": [{"text": "x"}]}} for i in ids],
    }


def said(text: str = "hi", role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


CONFIG = {"tools": [{"toolSpec": {"name": "uptime", "inputSchema": {"json": {"type": "object"}}}}]}
POINT = {"cachePoint": {"type": "default"}}
FORGED = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "x"}}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": [said(), uses("a", "b"), told("b", "a")], "toolConfig": CONFIG}, ""),
        ({"messages": []}, "messages field is required"),
        ({"messages": [said(role="assistant")]}, "must start with a user message"),
        ({"messages": [said(), said()]}, "must alternate"),
        ({"messages": [said(" ")]}, "is blank"),
        ({"messages": [{"role": "user", "content": []}]}, "is empty"),
        ({"messages": [said(), uses("a"), told("a")]}, "toolConfig field must be defined"),
        ({"messages": [said(), uses("a"), said()], "toolConfig": CONFIG}, "for the following Ids: a"),
        (
            {"messages": [said(), uses("a"), told("a", "b")], "toolConfig": CONFIG},
            "exceeds the number",
        ),
        (
            {"messages": [said(), uses("a:1"), told("a:1")], "toolConfig": CONFIG},
            "regular expression",
        ),
        ({"messages": [said(), uses("a", given="{}"), told("a")], "toolConfig": CONFIG}, "json object"),
        ({"messages": [said(), uses("a", "a"), told("a", "a")], "toolConfig": CONFIG}, "duplicate Ids"),
        ({"messages": [said()], "system": [{"text": "s"}, *[POINT] * 5]}, "A maximum of 4"),
        ({"messages": [said()], "toolConfig": {**CONFIG, "toolChoice": {"any": {}}}}, "toolChoice.any"),
        ({"messages": [said(), {"role": "assistant", "content": [FORGED]}, said()]}, "Invalid `signature`"),
        ({"messages": [said()], "max_tokens": 1}, "extraneous key"),
    ],
)
async def test_bedrock_refuses(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    answer = await refusal(http, BEDROCK, body)

    assert words in answer
    assert bool(answer) is bool(words)


async def test_bedrock_takes_cache_points_only_for_models_that_cache(http: httpx.AsyncClient) -> None:
    body = {"messages": [said()], "system": [{"text": "s"}, POINT]}

    assert "caching" in await refusal(http, "/model/plain/converse-stream", body)


@pytest.mark.parametrize("path", [RESPONSES, GEMINI, OLLAMA, BEDROCK, "/v1/agent/m/chat"])
async def test_a_wrong_key_is_refused(http: httpx.AsyncClient, path: str) -> None:
    body = {"model": "m", "contents": [user()], "input": [USER], "messages": [USER], "user_prompt": "x"}

    answer = await http.post(path, json=body, headers={"authorization": "Bearer x", "x-goog-api-key": "x"})

    assert answer.status_code in (400, 401, 403)


@pytest.mark.parametrize("form", [{}, {"client_id": "client-id", "client_secret": "x"}])
async def test_a_token_is_not_given_to_strangers(http: httpx.AsyncClient, form: dict[str, str]) -> None:
    form = {"grant_type": "client_credentials", **form}

    assert (await http.post("/acme/oidc/oauth/token", data=form)).status_code == 401


def test_a_frame_is_what_the_documentation_shows() -> None:
    """The documentation's own example has no headers and no payload; ours is checked by its lengths."""
    made = frame("x", {})

    assert int.from_bytes(made[:4], "big") == len(made)
    assert made[12 + int.from_bytes(made[4:8], "big") : -4] == b"{}"
