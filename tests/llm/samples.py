"""What the tests of models share: tools, prompts, and a client for each way a call can travel."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace

import httpx

from bot.demo.model_server import KEY, ModelServer, Reply, Script, serve_model
from bot.llm.anthropic import Anthropic
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.connect import connect as connect_row
from bot.llm.openai_chat import OpenAIChat
from bot.llm.seeing import Seeing
from bot.llm.table import Sight, find, load_providers
from bot.llm.text_tools import TextTools
from bot.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UserMessage,
)

NATIVE = ["openai", "anthropic", "responses", "gemini", "ollama", "bedrock"]
ALL = [*NATIVE, "openai as text", "anthropic as text", "stackspot as text"]
ROWS = {"responses": "xai"}
"""The row of the table that stands for a wire format, where none has its name."""

SHELL = ToolDefinition(
    "run_in_terminal",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
SEARCH = ToolDefinition(
    "web_search",
    "Search the web.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
UPTIME = ToolDefinition("uptime", "Say how long the server is up.", {"type": "object", "properties": {}})
TOOLS = (SHELL, UPTIME, SEARCH)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(256))
GIF = b"GIF89a" + bytes(300)
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(300)
"""Pictures as far as services look at them before a model does."""


def asking(
    *messages: Message, tools: Sequence[ToolDefinition] = TOOLS, system: str = "You are Kai."
) -> Prompt:
    return Prompt(system, messages or (UserMessage("hello"),), tools, nonce="n0nce")


def one_step(*, is_error: bool = False, code: str = "") -> list[Message]:
    """Return a turn in which one command ran."""
    called = ToolCall("run_in_terminal", {"command": "uptime"}, id="0123456789abcdef", provider_id="call_a")
    return [
        UserMessage("is it up?"),
        AssistantMessage("Looking.", (called,)),
        ToolResult(called.id, "up 3 days", is_error=is_error, code=code),
    ]


def as_written(kind: str, reply: Reply) -> Reply:
    """Return the reply as a model of that kind gives it: without tool use of its own, calls are text."""
    if "as text" not in kind or not (reply.calls or reply.after):
        return reply
    frames = [
        f'<tool_use>{{"name": {json.dumps(asked.name)}, "arguments": '
        f"{asked.arguments if isinstance(asked.arguments, str) else json.dumps(asked.arguments)}}}</tool_use>"
        for asked in reply.calls
    ]
    return replace(reply, text="\n".join([reply.text, *frames, reply.after]).strip("\n"), calls=(), after="")


@dataclass(frozen=True, slots=True)
class Line:
    """A client with the server it talks to."""

    client: LLMClient
    server: ModelServer


@asynccontextmanager
async def line(
    kind: str,
    script: Script | Sequence[Reply],
    *,
    key: str = KEY,
    model: str = "scripted",
    max_tokens: int = 8192,
) -> AsyncIterator[Line]:
    """Serve a script and connect a client of a kind to it."""
    if not callable(script):
        script = [as_written(kind, reply) for reply in script]
    server = ModelServer(script)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_model(server))
        http = await stack.enter_async_context(httpx.AsyncClient())
        yield Line(connect(kind, http, url, key=key, model=model, max_tokens=max_tokens), server)


def connect(
    kind: str,
    http: httpx.AsyncClient,
    url: str,
    *,
    key: str = KEY,
    model: str = "scripted",
    max_tokens: int = 8192,
) -> LLMClient:
    client: LLMClient
    if kind.startswith("openai"):
        client = OpenAIChat(
            http, provider="openai", base_url=f"{url}/v1", key=key, model=model, max_tokens=max_tokens
        )
    elif kind.startswith("anthropic"):
        client = Anthropic(
            http, provider="anthropic", base_url=url, key=key, model=model, max_tokens=max_tokens
        )
    else:
        wire = kind.removesuffix(" as text")
        name = ROWS.get(wire, wire)
        row, _ = find(f"{name}:{model}", environ := environ_for(url, key=key))
        client = connect_row(replace(row, max_tokens=max_tokens), model, key, environ, http)
    if kind.startswith(("openai", "anthropic")):
        client = Seeing(client, Sight())
    return TextTools(client) if "as text" in kind else client


def environ_for(url: str, *, key: str = KEY) -> dict[str, str]:
    """Return settings that lead every provider to the scripted server."""
    environ = {"STACKSPOT_CLIENT_ID": "client-id", "STACKSPOT_REALM": "acme", "BEDROCK_REGION": "eu-north-1",
               "COPILOT_ENABLED": "1", "STACKSPOT_TOKEN_URL": f"{url}/acme/oidc/oauth/token"}  # fmt: skip
    for row in load_providers().values():
        path = {"anthropic": "", "bedrock": "", "stackspot": "", "ollama": "", "gemini": "/v1beta"}
        environ[row.url_name] = url + path.get(row.api, "/v1")
        environ[row.key_names[0]] = key
    return environ


@dataclass(frozen=True, slots=True)
class Heard:
    """A whole reply and the deltas that led to it."""

    deltas: list[str]
    response: LLMResponse

    @property
    def message(self) -> AssistantMessage:
        return self.response.message


async def hear(client: LLMClient, prompt: Prompt | None = None) -> Heard:
    """Ask a client and check what every stream promises: deltas that add up, one response, at the end."""
    deltas: list[str] = []
    responses: list[LLMResponse] = []
    async with aclosing(client.stream(prompt or asking())) as events:  # type: ignore[type-var]
        async for event in events:
            assert not responses
            if isinstance(event, TextDelta):
                assert event.text
                deltas.append(event.text)
            else:
                responses.append(event)
    [response] = responses
    assert "".join(deltas) == response.message.text
    return Heard(deltas, response)


class Scripted:
    """A client that plays tries: each a list of deltas, then an error or nothing for a whole reply."""

    def __init__(self, *tries: Sequence[str | Exception], native: bool = True) -> None:
        self.supports_native_tools = native
        self._tries = list(tries)
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        self.prompts.append(prompt)
        said = ""
        for event in self._tries.pop(0):
            if isinstance(event, Exception):
                raise event
            said += event
            yield TextDelta(event)
        yield LLMResponse(AssistantMessage(said), Usage(1, 2), model="scripted")
