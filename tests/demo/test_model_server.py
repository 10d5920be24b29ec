"""The scripted model refuses what the real services refuse; told by raw requests, not by our clients."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.model_server import ModelServer, Reply, ScriptedCall, Traits, call, load_script, serve_model
from bot.messages import Usage

OPENAI, ANTHROPIC = "/v1/chat/completions", "/v1/messages"
KEYS = {
    OPENAI: {"authorization": "Bearer test-key"},
    ANTHROPIC: {"x-api-key": "test-key", "anthropic-version": "2023-06-01"},
}
USER = {"role": "user", "content": "hi"}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    server = ModelServer(lambda request: Reply("Hi."), models={"m": Traits(), "text": Traits(tools=False)})
    transport = httpx.ASGITransport(server.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        yield client


async def ask(http: httpx.AsyncClient, path: str, **body: object) -> httpx.Response:
    base: dict[str, object] = {"model": "m", "stream": True, "messages": [USER]}
    if path == ANTHROPIC:
        base["max_tokens"] = 100
    return await http.post(path, json={**base, **body}, headers=KEYS[path])


def used(*ids: str, name: str = "uptime") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "tool_calls": calls}


def told(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "3 days"}


def tool(name: object = "uptime", **schema: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": []}, "empty array"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "Invalid value: 'robot'"),
        ({"messages": [{"role": "user", "content": None}]}, "expected a string, got null"),
        ({"messages": [USER, {"role": "assistant"}]}, "expected a string, got null"),
        ({"messages": [USER, {"role": "assistant", "content": "x", "tool_calls": []}]}, "empty array"),
        ({"messages": [USER, used("a")]}, "did not have response messages: a"),
        ({"messages": [USER, used("a", "b"), told("a"), USER]}, "did not have response messages: b"),
        ({"messages": [USER, used("a"), USER, told("a")]}, "did not have response messages: a"),
        ({"messages": [USER, told("a")]}, "must be a response to a preceeding message"),
        ({"messages": [USER, used("a"), told("z")]}, "'tool_call_id' of 'z' not found"),
        ({"messages": [USER, used("a"), told("a"), told("a")]}, "Duplicate value for 'tool_call_id'"),
        ({"messages": [USER, used("a", "a"), told("a")]}, "Duplicate value for 'tool_call_id'"),
        ({"messages": [USER, used(""), told("")]}, "tool_calls[0].id"),
        ({"messages": [USER, used("x" * 41), told("x" * 41)]}, "tool_calls[0].id"),
        ({"messages": [USER, used("a", name="no such"), told("a")]}, "does not match pattern"),
        ({"tools": []}, "Invalid 'tools': empty array"),
        ({"tools": [tool("bad name")]}, "Invalid 'tools[0].function.name'"),
        ({"tools": [tool("x" * 65)]}, "string too long"),
        ({"tools": [tool(type="array")]}, "Invalid schema for function"),
        ({"tool_choice": "auto"}, "only allowed when 'tools' are specified"),
        ({"stream": False, "stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
        ({"model": "text", "tools": [tool()]}, "does not support tools"),
    ],
)
async def test_chat_completions_refuse(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    answer = await ask(http, OPENAI, **body)

    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


async def test_chat_completions_want_arguments_as_valid_json(http: httpx.AsyncClient) -> None:
    broken = used("a")
    broken["tool_calls"][0]["function"]["arguments"] = "{"

    assert (await ask(http, OPENAI, messages=[USER, broken, told("a")])).status_code == 400


@pytest.mark.parametrize(("model", "status"), [("nope", 404), ("m", 200)])
@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_an_unknown_model_is_404(http: httpx.AsyncClient, path: str, model: str, status: int) -> None:
    assert (await ask(http, path, model=model)).status_code == status


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_a_wrong_key_is_401(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.post(path, json={}, headers={"authorization": "Bearer x", "x-api-key": "x"})

    assert answer.status_code == 401


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_a_body_that_is_no_json_is_400(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.post(path, content=b"{", headers=KEYS[path])).status_code == 400


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_parameters_it_does_not_know_are_left_alone(http: httpx.AsyncClient, path: str) -> None:
    assert (await ask(http, path, temperature=0.3, mood="good")).status_code == 200


def use(*ids: str, name: str = "uptime", given: object = None) -> dict[str, Any]:
    blocks = [
        {"type": "tool_use", "id": i, "name": name, "input": {} if given is None else given} for i in ids
    ]
    return {"role": "assistant", "content": blocks}


def results(*ids: str, text: str = "", first: bool = False) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in ids]
    words = [{"type": "text", "text": text}] if text else []
    return {"role": "user", "content": [*words, *blocks] if first else [*blocks, *words]}


UPTIME = {"name": "uptime", "input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": []}, "at least one message is required"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 'first message must use the "user" role'),
        ({"messages": [USER, USER]}, "roles must alternate"),
        ({"messages": [{"role": "system", "content": "x"}]}, 'Unexpected role "system"'),
        ({"messages": [{"role": "user", "content": ""}]}, "must have non-empty content"),
        ({"messages": [{"role": "user", "content": []}]}, "must have non-empty content"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "must be non-empty"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}, "non-whitespace"),
        (
            {"messages": [USER, {"role": "assistant", "content": "x"}]},
            "does not support assistant message prefill",
        ),
        ({"messages": [USER, use("a"), USER]}, "messages.1: `tool_use` ids were found without"),
        ({"messages": [USER, use("a")]}, "ids were found without `tool_result` blocks immediately after: a"),
        ({"messages": [USER, use("a", "b"), results("a")]}, "immediately after: b"),
        ({"messages": [USER, use("a"), results("a", text="so", first=True)]}, "immediately after: a"),
        ({"messages": [results("a")]}, "unexpected `tool_use_id` found in `tool_result` blocks: a"),
        ({"messages": [USER, use("a"), results("a", "z")]}, "unexpected `tool_use_id`"),
        ({"messages": [USER, use("a"), results("a", "a")]}, "must have a single result"),
        ({"messages": [USER, use("a", "a"), results("a")]}, "ids must be unique"),
        ({"messages": [USER, use("call:1"), results("call:1")]}, "'^[a-zA-Z0-9_-]+$'"),
        ({"messages": [USER, use(""), results("")]}, "'^[a-zA-Z0-9_-]+$'"),
        ({"messages": [USER, use("a", name="no such"), results("a")]}, "'^[a-zA-Z0-9_-]{1,128}$'"),
        ({"messages": [USER, use("a", given="{}"), results("a")]}, "should be a valid dictionary"),
        ({"messages": [USER, use("a"), results("a")], "tools": None}, "must define tools"),
        ({"tools": [{"name": "bad name", "input_schema": {}}]}, "tools.0.custom.name"),
        ({"tools": [UPTIME, UPTIME]}, "Tool names must be unique"),
        ({"tools": [{"name": "uptime"}]}, "input_schema: Field required"),
        ({"tools": None, "tool_choice": {"type": "auto"}}, "only be specified while providing tools"),
        ({"model": "text"}, "does not support tools"),
        (
            {"system": [{"type": "text", "text": "x", **MARK}] * 5},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        ({"system": [{"type": "text", "text": ""}]}, "system.0: text content blocks must be non-empty"),
    ],
)
async def test_messages_refuse(http: httpx.AsyncClient, body: dict[str, Any], words: str) -> None:
    body = {"tools": [UPTIME], **body}
    answer = await ask(
        http, ANTHROPIC, **{k: v for k, v in body.items() if v is not None or k == "max_tokens"}
    )

    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


async def test_messages_want_thinking_back_as_it_was_signed(http: httpx.AsyncClient) -> None:
    forged = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]}

    answer = await ask(http, ANTHROPIC, messages=[USER, forged, USER])

    assert "Invalid `signature`" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "messages"),
    [
        (OPENAI, [USER, used("a", "b"), told("b"), told("a"), USER, used("a"), told("a")]),
        (ANTHROPIC, [USER, use("a", "b"), results("b", "a", text="so"), use("c"), results("c")]),
    ],
)
async def test_what_is_right_is_taken(http: httpx.AsyncClient, path: str, messages: list[Any]) -> None:
    tools = [UPTIME] if path == ANTHROPIC else [tool()]

    assert (await ask(http, path, messages=messages, tools=tools)).status_code == 200


async def test_a_script_sees_the_same_request_whichever_shape_it_came_in() -> None:
    server = ModelServer(lambda request: Reply("Hi."), models={"m": Traits()})
    transport = httpx.ASGITransport(server.app)

    async with httpx.AsyncClient(transport=transport, base_url="http://model") as http:
        await ask(
            http,
            OPENAI,
            messages=[{"role": "system", "content": "s"}, USER, used("a"), told("a")],
            tools=[tool()],
        )
        await ask(http, ANTHROPIC, system="s", messages=[USER, use("a"), results("a")], tools=[UPTIME])

    one, two = server.requests
    assert (one.system, one.tools, one.step, one.last_user_text) == ("s", ("uptime",), 1, "hi")
    assert (two.system, two.tools, two.step, two.last_user_text) == ("s", ("uptime",), 1, "hi")
    assert [m.calls for m in one.messages] == [m.calls for m in two.messages]
    assert [result.call_id for result in (*one.results, *two.results)] == ["a", "a"]


async def test_a_list_of_replies_is_played_in_order_and_then_fails() -> None:
    server = ModelServer([Reply("one"), Reply("two")], models={"m": Traits()})

    async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://model") as http:
        answers = [await ask(http, OPENAI) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 500]
    assert ["one" in answers[0].text, "two" in answers[1].text] == [True, True]


async def test_a_failure_has_its_status_its_wait_and_its_words() -> None:
    reply = Reply(status=429, error="slow down", retry_after=3)
    server = ModelServer(lambda request: reply, models={"m": Traits()})

    async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://model") as http:
        answer = await ask(http, ANTHROPIC)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    assert answer.json()["error"] == {"type": "rate_limit_error", "message": "slow down"}


async def test_writes_are_cut_where_the_script_wants() -> None:
    server = ModelServer(lambda request: Reply("é" * 20, write=3, pace=0.001), models={"m": Traits()})

    async with serve_model(server) as url, httpx.AsyncClient(base_url=url) as http:
        body = {"model": "m", "messages": [USER], "stream": True}
        async with http.stream("POST", OPENAI, json=body, headers=KEYS[OPENAI]) as answer:
            pieces = [piece async for piece in answer.aiter_raw()]

    assert len(pieces) > 20
    assert "é" * 20 in b"".join(pieces).decode()


def test_a_script_may_be_a_json_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.json"
    path.write_text(
        json.dumps(
            [
                {"text": "a", "calls": [{"name": "uptime", "arguments": {}}]},
                {"status": 500, "usage": {"input": 1}},
            ]
        )
    )

    script = load_script(path)

    assert script == [Reply("a", [call("uptime")]), Reply(status=500, calls=[], usage=Usage(1))]


def test_a_script_may_be_python(tmp_path: Path) -> None:
    path = tmp_path / "replies.py"
    path.write_text("from bot.demo.model_server import Reply\ndef script(request): return Reply('a')\n")

    script = load_script(path)

    assert callable(script)


async def test_it_runs_by_itself() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.demo.model_server", "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(base_url=url) as http:
            answer = await ask(http, OPENAI, model="scripted")
    finally:
        process.terminate()
        await process.wait()

    assert "You said: hi" in answer.text


def test_a_call_is_written_the_short_way() -> None:
    assert call("uptime", a=1) == ScriptedCall("uptime", {"a": 1})
