"""What an adapter costs a request: build a 200-message history, parse a 4,000-chunk stream; no network.

The official SDKs do the same beside it, on the same bytes.
Wanted are ≤ 0.5 of their CPU and ≤ 0.2 of their import. "With the look" is the client as the bot wires it:
all text goes through the parser too, which no SDK does.
"""

import asyncio
import importlib
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx

from bot.demo.model_server import Reply
from bot.demo.model_streams import anthropic_events, openai_events
from bot.llm import ids
from bot.llm.anthropic import Anthropic
from bot.llm.anthropic import request_body as anthropic_body
from bot.llm.base import LLMClient, Prompt
from bot.llm.openai_chat import OpenAIChat
from bot.llm.openai_chat import request_body as openai_body
from bot.llm.providers import with_tools
from bot.llm.sequence import arrange
from bot.messages import AssistantMessage, Message, ToolCall, ToolDefinition, ToolResult, UserMessage

MESSAGES = 200
CHUNKS = 4000
ROUNDS = 7
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [ToolDefinition(f"tool_{number}", "Does something.", SCHEMA) for number in range(8)]


def history() -> list[Message]:
    """Return turns of a question, a call, its result and an answer."""
    messages: list[Message] = []
    for number in range(MESSAGES // 4):
        call = ToolCall(
            "tool_1", {"command": f"echo {number}"}, id=f"{number:016x}", provider_id=f"call_{number}"
        )
        messages += [
            UserMessage(f"question {number} " + "word " * 40),
            AssistantMessage("Let me look.", (call,)),
            ToolResult(call.id, "line of output\n" * 30),
            AssistantMessage("It is so. " + "word " * 60),
        ]
    return [*messages, UserMessage("and now?")]


PROMPT = Prompt("You are Kai. " + "rule " * 400, history(), TOOLS, nonce="n0nce")
REPLY = Reply("abcde" * CHUNKS, chunk=5)


def http(events: list[bytes], library: Any = httpx) -> Any:
    """Return a client that is answered with these events, in pieces as a network gives them."""

    class Stream(library.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for event in events:
                yield event

    def answer(request: object) -> Any:
        return library.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream())

    return library.AsyncClient(transport=library.MockTransport(answer))


def sdk(name: str, events: list[bytes]) -> Any:
    """Return an SDK's client over the same bytes; None when it is not installed."""
    if not importlib.util.find_spec(name):
        return None
    # The SDKs of late 2026 bring an HTTP library of their own, of the same shape.
    library = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
    kind = getattr(importlib.import_module(name), {"openai": "AsyncOpenAI"}.get(name, "AsyncAnthropic"))
    return kind(api_key="k", base_url="http://x/v1", http_client=http(events, library), max_retries=0)


async def drain(client: LLMClient) -> None:
    async for _ in client.stream(PROMPT):
        pass


async def cpu(work: Callable[[], Awaitable[object]]) -> float:
    """Return the median milliseconds of CPU of one request."""
    await work()
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        await work()
        times.append(time.process_time() - started)
    return statistics.median(times) * 1000


async def openai() -> None:
    events = openai_events(REPLY, "scripted", 1, usage=True)
    client = OpenAIChat(http(events), provider="openai", base_url="http://x/v1", key="k", model="scripted")
    ours = await cpu(lambda: drain(client))
    wired = await cpu(lambda: drain(with_tools(client, "auto")))
    body = openai_body(PROMPT, arrange(PROMPT, ids.OPENAI), provider="openai", model="scripted")
    theirs = sdk("openai", events)

    async def ask() -> None:
        async for _ in await theirs.chat.completions.create(**body):
            pass

    show("openai", ours, wired, await cpu(ask) if theirs else None)


async def anthropic() -> None:
    events = anthropic_events(REPLY, "scripted", 1)
    client = Anthropic(http(events), provider="anthropic", base_url="http://x", key="k", model="scripted")
    ours = await cpu(lambda: drain(client))
    wired = await cpu(lambda: drain(with_tools(client, "auto")))
    body = anthropic_body(
        PROMPT, arrange(PROMPT, ids.ANTHROPIC), provider="anthropic", model="scripted", max_tokens=100
    )
    theirs = sdk("anthropic", events)

    async def ask() -> None:
        async for _ in await theirs.messages.create(**body):
            pass

    show("anthropic", ours, wired, await cpu(ask) if theirs else None)


async def build() -> None:
    """Measure the part of a request that comes before the network."""

    async def both() -> None:
        openai_body(PROMPT, arrange(PROMPT, ids.OPENAI), provider="openai", model="scripted")

    print(f"{'build':10} {await cpu(both):8.2f} ms for a body of {MESSAGES} messages")


def show(name: str, ours: float, wired: float, theirs: float | None) -> None:
    beside = f"SDK {theirs:8.1f} ms" if theirs else "the SDK is not installed"
    for what, cost in (("a request", ours), ("with the look", wired)):
        times = f"   ×{cost / theirs:.2f}" if theirs else ""
        print(f"{name:10} {cost:8.1f} ms of CPU {what:14} {beside}{times}")


def import_time(module: str) -> float:
    """Return milliseconds of CPU that importing costs a fresh interpreter, httpx left out."""
    code = f"import httpx, time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    times = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append(float(done.stdout) * 1000)
    return min(times)


def main() -> None:
    asyncio.run(build())
    asyncio.run(openai())
    asyncio.run(anthropic())
    for ours, sdk in (("bot.llm.openai_chat", "openai"), ("bot.llm.anthropic", "anthropic")):
        mine = import_time(ours)
        if importlib.util.find_spec(sdk):
            theirs = import_time(sdk)
            print(f"import {ours}: {mine:.0f} ms, {sdk}: {theirs:.0f} ms   ×{mine / theirs:.2f}")
        else:
            print(f"import {ours}: {mine:.0f} ms; {sdk} is not installed")


if __name__ == "__main__":
    main()
