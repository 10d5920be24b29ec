"""A scripted model behind the real APIs, streamed: chat completions, Responses, Anthropic's messages, Gemini,
Ollama, Bedrock and StackSpot.

It thinks nothing, but it is as strict as the services it stands for (`model_rules`), and it can fail in all
the ways they do (`Reply`). Run it by itself:

    python -m bot.demo.model_server --port 8081 --script replies.py

where the script is Python with a function `script(request) -> Reply`, or a JSON list of replies; without one
it repeats what it is told.
"""

import asyncio
import contextlib
import functools
import inspect
import json
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.demo.model_bedrock import BedrockService
from bot.demo.model_gemini import GeminiService
from bot.demo.model_images import check_anthropic_images, check_openai_images
from bot.demo.model_ollama import OllamaService
from bot.demo.model_request import ModelRequest, SeenMessage, SeenResult, read_anthropic, read_openai
from bot.demo.model_responses import ResponsesService
from bot.demo.model_rules import Refused, Traits, check_anthropic, check_openai
from bot.demo.model_service import Service
from bot.demo.model_stackspot import StackSpotService
from bot.demo.model_streams import (
    Reply,
    ScriptedCall,
    anthropic_events,
    call,
    error_event,
    openai_events,
    raw_events,
)
from bot.messages import Usage

__all__ = [
    "ModelRequest",
    "ModelServer",
    "Reply",
    "Script",
    "ScriptedCall",
    "SeenMessage",
    "SeenResult",
    "Traits",
    "call",
    "echo",
    "serve_model",
]

KEY = "test-key"
KEPT_REQUESTS = 2000

MODELS = {
    "scripted": Traits(),
    "scripted-2": Traits(),
    "scripted-text": Traits(tools=False),
    "scripted-blind": Traits(vision=False),
    "scripted-reasoning": Traits(limit_parameter="max_completion_tokens"),
    "scripted-strict": Traits(reasoning_required=True),
    "scripted-auto": Traits(choices=frozenset({"auto"}), refused=frozenset({"stream_options"})),
    "scripted-plain": Traits(reasons=False, caching=False, signatures=False),
    "gpt-5.4-scripted": Traits(),
    "gemini-2.5-scripted": Traits(signatures=False),
    "anthropic.claude-scripted-v1:0": Traits(),
}


Script = Callable[[ModelRequest], Reply | Awaitable[Reply]]


def echo(request: ModelRequest) -> Reply:
    """The script of a server without one."""
    return Reply(f"You said: {request.last_user_text}")


class ModelServer:
    """The services' front door; `app` is an ASGI application.

    Attributes:
        requests: What was asked and accepted, oldest first; the last `KEPT_REQUESTS`.
        refusals: What was refused: status and message, oldest first.
        disconnects: How often a client hung up before its reply was whole; `hung_up` is set the first time.
        connections: How many connections requests came over.
    """

    def __init__(
        self,
        script: Script | Sequence[Reply] = echo,
        *,
        key: str | None = KEY,
        models: Mapping[str, Traits] = MODELS,
    ) -> None:
        """Set up a server.

        Args:
            script: A function, or replies given one after another.
            key: The one key accepted; None for any.
        """
        self._script: Script = script if callable(script) else _in_turn(script)
        self._key = key
        self._models = models
        self._number = 0
        self.requests: deque[ModelRequest] = deque(maxlen=KEPT_REQUESTS)
        self.refusals: list[tuple[int, str]] = []
        self.disconnects = 0
        self.hung_up = asyncio.Event()
        self._peers: set[tuple[str, int]] = set()
        self.stackspot = StackSpotService()
        services: list[Service] = [
            ResponsesService(), GeminiService(), OllamaService(), BedrockService(), self.stackspot,
        ]  # fmt: skip
        self.app = Starlette(
            routes=[
                *(
                    Route(path, functools.partial(self._serve, service), methods=["POST"])
                    for service in services
                    for path in service.paths
                ),
                Route("/{realm}/oidc/oauth/token", self._token, methods=["POST"]),
                Route("/v1/chat/completions", self._openai, methods=["POST"]),
                Route("/chat/completions", self._openai, methods=["POST"]),
                Route("/v1/messages", self._anthropic, methods=["POST"]),
                Route("/anthropic/v1/messages", self._anthropic, methods=["POST"]),
            ]
        )

    @property
    def connections(self) -> int:
        return len(self._peers)

    async def _openai(self, request: Request) -> Response:
        try:
            body = await self._body(request)
            given = request.headers.get("authorization", "")
            if self._key is not None and given != f"Bearer {self._key}":
                raise Refused(
                    f"Incorrect API key provided: {given.removeprefix('Bearer ')[:7]}***. You can find your"
                    " API key at https://platform.openai.com/account/api-keys.",
                    status=401,
                    code="invalid_api_key",
                )
            traits = self._models.get(str(body.get("model")))
            if traits is None:
                raise Refused(
                    f"The model `{body.get('model')}` does not exist or you do not have access to it.",
                    status=404,
                    code="model_not_found",
                )
            check_openai(body, traits)
            check_openai_images(body, traits)
        except Refused as refused:
            self.refusals.append((refused.status, str(refused)))
            return JSONResponse(refused.openai(), refused.status)
        return await self._answer(read_openai(body))

    async def _anthropic(self, request: Request) -> Response:
        try:
            body = await self._body(request)
            bearer = request.headers.get("authorization") == f"Bearer {self._key}"
            if self._key is not None and request.headers.get("x-api-key") != self._key and not bearer:
                raise Refused("invalid x-api-key", status=401, kind="authentication_error")
            if not request.headers.get("anthropic-version"):
                raise Refused("anthropic-version: header is required")
            traits = self._models.get(str(body.get("model")))
            if traits is None:
                raise Refused(f"model: {body.get('model')}", status=404, kind="not_found_error")
            check_anthropic(body, traits)
            check_anthropic_images(body, traits)
        except Refused as refused:
            self.refusals.append((refused.status, str(refused)))
            return JSONResponse(refused.anthropic(), refused.status)
        return await self._answer(read_anthropic(body))

    async def _token(self, request: Request) -> Response:
        return await self.stackspot.token(request, self._key)

    async def _serve(self, service: Service, request: Request) -> Response:
        try:
            body = await self._body(request)
            service.authorise(request, await request.body(), self._key)
            model = service.model(request, body)
            traits = self._models.get(model)
            if traits is None:
                raise service.unknown_model(model)
            service.check(body, traits)
        except Refused as refused:
            self.refusals.append((refused.status, str(refused)))
            return JSONResponse(service.error(refused), refused.status)
        return await self._answer(service.read(body, model), service)

    async def _body(self, request: Request) -> dict[str, Any]:
        if request.client is not None:
            self._peers.add((request.client.host, request.client.port))
        try:
            body = json.loads(await request.body())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Refused("We could not parse the JSON body of your request.")
        return body

    async def _answer(self, asked: ModelRequest, service: Service | None = None) -> Response:
        self.requests.append(asked)
        reply = self._script(asked)
        if inspect.isawaitable(reply):
            reply = await reply
        self._number += 1
        if reply.status != 200 or reply.fault == "error_body":
            if reply.delay:
                await asyncio.sleep(reply.delay)
            return _error(asked.shape, reply, service)
        if reply.events:
            events = service.raw(reply.events) if service else raw_events(reply.events)
        elif service:
            events = service.events(reply, asked, self._number)
        elif asked.shape == "anthropic":
            events = anthropic_events(reply, asked.model, self._number)
        else:
            wants_usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))
            events = openai_events(reply, asked.model, self._number, usage=wants_usage)
        if reply.fault == "error":
            text = reply.error or "Overloaded"
            failed = service.error_event(text) if service else error_event(asked.shape, reply)
            events = [*events[: len(events) // 2], failed]
        media_type = service.media_type if service else Service.media_type
        return _Stream(reply, _writes(events, reply), self._hung_up, media_type)

    def _hung_up(self) -> None:
        self.disconnects += 1
        self.hung_up.set()


class _Stream(Response):
    """Sends the writes with the pauses and the fault of the reply; without a task group a request."""

    def __init__(
        self, reply: Reply, writes: Sequence[bytes], hung_up: Callable[[], None], media_type: str
    ) -> None:
        super().__init__(headers={"content-type": media_type})
        del self.headers["content-length"]
        self._reply = reply
        self._writes = writes
        self._hung_up = hung_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply, writes = self._reply, self._writes
        if await _gone(receive, reply.delay):
            return self._hung_up()
        if reply.fault == "cut_before":
            # Returning without an answer makes the server drop the connection.
            return None
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if reply.fault == "cut":
            writes = [b"".join(writes)[: sum(map(len, writes)) // 2]]
        last = len(writes) - 1
        for index, piece in enumerate(writes):
            done = index == last and reply.fault != "cut"
            await send({"type": "http.response.body", "body": piece, "more_body": not done})
            if not done and await _gone(receive, reply.pace):
                return self._hung_up()
        return None


async def _gone(receive: Receive, seconds: float) -> bool:
    """Wait; say whether the client hung up meanwhile."""
    if not seconds:
        return False
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


def _writes(events: Sequence[bytes], reply: Reply) -> list[bytes]:
    if reply.write:
        stream = b"".join(events)
        return [stream[at : at + reply.write] for at in range(0, len(stream), reply.write)]
    return list(events) if reply.pace else [b"".join(events)]


def _error(shape: str, reply: Reply, service: Service | None) -> Response:
    kinds = {
        401: "authentication_error",
        404: "not_found_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    status = 529 if reply.status == 200 else reply.status
    kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
    refused = Refused(reply.error or "scripted failure", status=status, kind=kind)
    headers = {} if reply.retry_after is None else {"retry-after": f"{reply.retry_after:g}"}
    body = refused.anthropic() if shape == "anthropic" else refused.openai()
    if service:
        body = dict(service.error(refused))
    return JSONResponse(body, reply.status, headers)


def _in_turn(replies: Sequence[Reply]) -> Script:
    left = deque(replies)

    def script(_: ModelRequest) -> Reply:
        return left.popleft() if left else Reply(status=500, error="the script has no more replies")

    return script


@contextlib.asynccontextmanager
async def serve_model(server: ModelServer, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve until the block ends; yield the base URL, without a path.

    Each API is under the path it has in life: `/v1/chat/completions`, `/v1/messages`, `/api/chat`, ….
    """
    import uvicorn

    # Named as TCP, or asyncio leaves Nagle's algorithm on and every reply waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(1024)
    config = uvicorn.Config(
        server.app, lifespan="off", log_level="critical", access_log=False, ws="none", loop="asyncio",
        date_header=False, server_header=False, timeout_keep_alive=75,
    )  # fmt: skip
    # Without uvicorn's own loop: it takes over the signals, and a tenth of a second to end.
    config.load()
    web = uvicorn.Server(config)
    web.lifespan = config.lifespan_class(config)
    await web.startup(sockets=[listener])
    try:
        yield f"http://{host}:{listener.getsockname()[1]}"
    finally:
        for accepting in web.servers:
            accepting.close()
        for connection in list(web.server_state.connections):
            transport: Any = connection.transport
            transport.abort()
        for task in list(web.server_state.tasks):
            task.cancel()
        await asyncio.gather(*web.server_state.tasks, return_exceptions=True)
        listener.close()


def load_script(path: Path) -> Script | Sequence[Reply]:
    """Read a script: Python with a function `script`, or a JSON list whose entries are fields of Reply."""
    if path.suffix == ".json":
        return [_reply(fields) for fields in json.loads(path.read_text(encoding="utf-8"))]
    import runpy

    script: Script = runpy.run_path(str(path))["script"]
    return script


def _reply(fields: Mapping[str, Any]) -> Reply:
    given = dict(fields)
    given["calls"] = [ScriptedCall(**asked) for asked in fields.get("calls", ())]
    if "usage" in fields:
        given["usage"] = Usage(**fields["usage"])
    return Reply(**given)


async def _main(arguments: Sequence[str]) -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m bot.demo.model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--key", default=KEY)
    options = parser.parse_args(arguments)
    server = ModelServer(load_script(options.script) if options.script else echo, key=options.key)
    async with serve_model(server, port=options.port) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(sys.argv[1:]))
