"""A conversation begun on one wire goes on on every other after a failover in its middle (requirement F8)."""

import itertools
from collections.abc import Awaitable

import pytest

from bot.clock import SettableClock
from bot.demo.model_server import ModelRequest, ModelServer, Reply, call, serve_model
from bot.llm.cooldowns import MAX_COOLDOWN
from bot.llm.providers import build_client, open_http
from bot.messages import AssistantMessage, Message, ToolResult, UserMessage
from tests.llm.samples import as_written, asking, environ_for, hear

WIRES = {
    "openai": "deepseek:scripted-strict",
    "anthropic": "anthropic:scripted",
    "responses": "xai:scripted",
    "gemini": "gemini:scripted",
    "ollama": "ollama:scripted",
    "bedrock": "bedrock:anthropic.claude-scripted-v1:0",
    "stackspot": "stackspot:scripted",
    "text": "custom:scripted-text",
}
PAIRS = list(itertools.permutations(WIRES, 2))


class Talk:
    """Thinks and calls twice, then answers; one model breaks off in its second reply and comes back."""

    def __init__(self, breaks: str) -> None:
        self.breaks = breaks
        self.broken = False
        self.asked: list[str] = []

    def __call__(self, request: ModelRequest) -> Reply | Awaitable[Reply]:
        spec = f"{request.shape}:{request.model}"
        self.asked.append(spec)
        done = str(request.body).count("up 3 days")
        whole = Reply("Done." if done > 1 else f"Look no. {done}.", thinking="hm", chunk=4)
        if done < 2:
            whole = Reply(whole.text, [call("uptime"), call("web_search", query="x")], thinking="hm", chunk=4)
        if not request.tools:
            whole = as_written("as text", whole)
        if done == 1 and spec == self.breaks and not self.broken:
            self.broken = True
            return Reply(whole.text, whole.calls, thinking="hm", chunk=4, fault="error")
        return whole


def shape_of(wire: str) -> str:
    name = "openai" if wire == "text" else wire
    return f"{name}:{WIRES[wire].partition(':')[2]}"


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda wire: wire)
async def test_a_conversation_goes_on_on_another_wire(first: str, second: str) -> None:
    now, talk = SettableClock(), Talk(shape_of(first))
    server = ModelServer(talk)
    shown: list[str] = []

    async with serve_model(server) as url, open_http() as http:
        client = build_client([WIRES[first], WIRES[second]], environ_for(url), http, now=now)
        transcript: list[Message] = [UserMessage("is it up?")]
        for turn in range(2):
            while not is_answer(transcript[-1]):
                message = (await hear(client, asking(*transcript))).message
                shown.append(message.text.strip())
                results = [ToolResult(one.id, f"up 3 days ({turn})") for one in message.tool_calls]
                transcript += [message, *results[:1], *(ToolResult(r.call_id, "ok") for r in results[1:])]
            # Rested, the first model takes over what the second has said.
            now.advance(MAX_COOLDOWN)
            transcript.append(UserMessage("and now?"))

    tools_refused = [text for _, text in server.refusals if "does not support tools" in text]
    assert [text for _, text in server.refusals] == tools_refused
    assert shown == ["Look no. 0.", "Look no. 1.", "Done.", "Done."]
    assert talk.asked[:2] == [shape_of(first)] * 2
    assert shape_of(second) in talk.asked
    assert talk.asked[-1] == shape_of(first)


def is_answer(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.tool_calls
