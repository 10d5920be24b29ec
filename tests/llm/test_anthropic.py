from dataclasses import replace
from typing import Any

import httpx
import pytest

from bot.demo.model_server import ModelServer, Reply, call, serve_model
from bot.llm.anthropic import Anthropic
from bot.llm.providers import build_client
from bot.messages import AssistantMessage, Message, Notice, Opaque, ToolCall, ToolResult, UserMessage
from tests.llm.samples import asking, environ_for, hear, line, one_step


def marks(body: dict[str, Any]) -> list[str]:
    """Return where cache marks stand, in the order the API reads: tools, system, messages."""
    found = [f"tools.{i}" for i, tool in enumerate(body.get("tools", ())) if "cache_control" in tool]
    found += [f"system.{i}" for i, block in enumerate(body["system"]) if "cache_control" in block]
    for i, message in enumerate(body["messages"]):
        found += [f"{i}.{j}" for j, block in enumerate(message["content"]) if "cache_control" in block]
    return found


async def test_tools_system_and_the_last_two_user_messages_are_marked_for_the_cache() -> None:
    """Requirement N9."""
    transcript = [*one_step(), AssistantMessage("Up."), *one_step(), Notice("careful", "loop")]

    async with line("anthropic", [Reply("fine")]) as here:
        await hear(here.client, asking(*transcript))

    assert marks(dict(here.server.requests[0].body)) == ["tools.2", "system.0", "4.0", "6.1"]


@pytest.mark.parametrize(
    ("ttl", "sent"), [("1h", {"type": "ephemeral", "ttl": "1h"}), ("", {"type": "ephemeral"})]
)
async def test_the_cache_is_kept_for_as_long_as_the_operator_wants(ttl: str, sent: dict[str, str]) -> None:
    """Requirement N9."""
    server = ModelServer(lambda request: Reply("Hi."))

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        environ = {**environ_for(url), "ANTHROPIC_CACHE_TTL": ttl}
        await hear(build_client(["anthropic:scripted"], environ, http))

    assert server.requests[0].body["system"][0]["cache_control"] == sent


async def test_all_results_of_a_step_come_first_in_one_user_message() -> None:
    """Requirement N5."""
    calls = (ToolCall("uptime", {}, id="a" * 16), ToolCall("uptime", {}, id="b" * 16))
    transcript: list[Message] = [
        UserMessage("up?"),
        AssistantMessage("", calls),
        *(ToolResult(one.id, "yes") for one in calls),
        Notice("careful", "loop"),
        UserMessage("and now?"),
    ]

    async with line("anthropic", [Reply("fine")]) as here:
        await hear(here.client, asking(*transcript))

    last = here.server.requests[0].body["messages"][-1]
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result", "text"]


async def test_input_is_always_an_object() -> None:
    async with line("anthropic", [Reply(calls=[call("uptime")]), Reply("Up.")]) as here:
        message = (await hear(here.client)).message
        await hear(
            here.client, asking(UserMessage("hello"), message, ToolResult(message.tool_calls[0].id, "yes"))
        )

    assert here.server.requests[-1].body["messages"][1]["content"][0]["input"] == {}


async def thought(*, change: str = "") -> tuple[list[str], list[tuple[int, str]]]:
    """Let a model think, call and think again; return the block types it got back and what was refused."""
    replies = [Reply("Let me see.", [call("uptime")], thinking="hm", chunk=1), Reply("Up.")]
    async with line("anthropic", replies) as here:
        transcript: list[Message] = [UserMessage("is it up?")]
        message = (await hear(here.client, asking(*transcript))).message
        kept = message.opaque
        assert kept is not None
        if change == "text":
            message = replace(message, text="Let me see it.")
        if change == "model":
            message = replace(message, opaque=Opaque("anthropic", "scripted-2", kept.parts))
        if change == "prefix":
            transcript = [UserMessage("is it up now?")]
        transcript += [message, ToolResult(message.tool_calls[0].id, "yes")]
        await hear(here.client, asking(*transcript))
    content = here.server.requests[-1].body["messages"][1]["content"]
    return [block["type"] for block in content], here.server.refusals


async def test_thinking_goes_back_signed_and_in_its_place() -> None:
    """Requirement N6."""
    assert await thought() == (["thinking", "text", "tool_use"], [])


@pytest.mark.parametrize("change", ["text", "model", "prefix"])
async def test_thinking_is_dropped_when_anything_it_is_bound_to_differs(change: str) -> None:
    assert await thought(change=change) == (["text", "tool_use"], [])


async def test_blank_text_of_a_reply_is_not_sent_back() -> None:
    called = ToolCall("uptime", {}, id="a" * 16)

    async with line("anthropic", [Reply("fine")]) as here:
        await hear(
            here.client,
            asking(UserMessage("a"), AssistantMessage("\n", (called,)), ToolResult(called.id, "b")),
        )

    assert here.server.refusals == []


async def test_a_refusal_is_told_from_an_end() -> None:
    async with line("anthropic", [Reply("No.", finish="refusal")]) as here:
        heard = await hear(here.client)

    assert heard.response.stop_reason == "refusal"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "type": "message",
        "model": "m",
        "content": [
            {"type": "text", "text": "Hi."},
            {"type": "tool_use", "id": "t", "name": "uptime", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=whole))

    async with httpx.AsyncClient(transport=transport) as http:
        heard = await hear(Anthropic(http, provider="anthropic", base_url="http://x", key="k", model="m"))

    assert (heard.message.text, [one.name for one in heard.message.tool_calls]) == ("Hi.", ["uptime"])


@pytest.mark.parametrize("base", ["http://x", "http://x/", "http://x/v1", "http://x/v1/"])
async def test_a_base_url_may_end_in_its_version(base: str) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200, json={"type": "message", "content": [], "stop_reason": "end_turn"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        await hear(Anthropic(http, provider="anthropic", base_url=base, key="k", model="m"))

    assert seen == ["http://x/v1/messages"]
