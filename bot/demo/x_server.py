"""X on this machine: it checks signatures for real and refuses what X refuses.

Shapes: https://docs.x.com/x-api/posts/create-post, https://docs.x.com/x-api/media/upload-media,
https://docs.x.com/x-api/fundamentals/rate-limits; signatures by https://datatracker.ietf.org/doc/html/rfc5849
"""

import asyncio
import base64
import hashlib
import hmac
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

WINDOW, POSTS_A_WINDOW = 900, 100
SKEW = 300
"""Seconds that a request's clock may be off."""
LARGEST_IMAGE = 5_000_000

KEYS = {
    "X_API_KEY": "demo-consumer-key",
    "X_API_SECRET": "demo-consumer-secret",
    "X_ACCESS_TOKEN": "42-demo-access-token",
    "X_ACCESS_SECRET": "demo-access-secret",
}


@dataclass(frozen=True, slots=True)
class Posted:
    """What the profile shows. `images` are their bytes."""

    id: str
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(slots=True)
class XServer:
    """One account.

    Attributes:
        keys: The only ones accepted; names as in `twitter.env`.
        posts: What the profile shows, oldest first.
        silent: Take the next posts and never answer.
        broken: Take the next posts and answer 503.
        left: Posts that the window still takes.
        asked: Paths of every request, signed or not.
    """

    keys: Mapping[str, str] = field(default_factory=lambda: dict(KEYS))
    username: str = "kai_demo"
    posts: list[Posted] = field(default_factory=list)
    silent: bool = False
    broken: bool = False
    left: int = POSTS_A_WINDOW
    reset: int = field(default_factory=lambda: int(time.time()) + WINDOW)
    asked: list[str] = field(default_factory=list)
    app: Starlette = field(init=False)
    _nonces: set[str] = field(default_factory=set)
    _media: dict[str, bytes] = field(default_factory=dict)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.app = Starlette(
            routes=[
                Route("/2/users/me", self._me, methods=["GET"]),
                Route("/2/tweets", self._post, methods=["POST"]),
                Route("/2/media/upload", self._upload, methods=["POST"]),
            ]
        )

    async def _me(self, request: Request) -> Response:
        if refusal := self._unsigned(request):
            return refusal
        return JSONResponse({"data": {"id": "42", "name": "Kai", "username": self.username}})

    async def _upload(self, request: Request) -> Response:
        if refusal := self._unsigned(request):
            return refusal
        async with request.form() as form:
            media, category = form.get("media"), form.get("media_category")
            if media is None or isinstance(media, str) or category != "tweet_image":
                return self._problem(400, "Invalid Request", "media and media_category are required")
            data = await media.read()
        if not data.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or len(data) > LARGEST_IMAGE:
            return self._problem(400, "Invalid Request", "media type unrecognized.")
        media_id = str(1_900_000_000_000_000_000 + len(self._media))
        self._media[media_id] = data
        return JSONResponse({"data": {"id": media_id, "media_key": f"3_{media_id}", "size": len(data)}})

    async def _post(self, request: Request) -> Response:
        if refusal := self._unsigned(request):
            return refusal
        if self.left < 1:
            return self._problem(429, "Too Many Requests", "Too Many Requests")
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return self._problem(400, "Invalid Request", "the body must be JSON")
        try:
            body: Any = json.loads(await request.body())
            text = body["text"]
            media_ids = body.get("media", {}).get("media_ids", [])
            images = tuple(self._media[media_id] for media_id in media_ids)
        except (ValueError, KeyError, TypeError, AttributeError):
            return self._problem(
                400, "Invalid Request", "One or more parameters to your request was invalid."
            )
        if not isinstance(text, str) or not text.strip():
            return self._problem(400, "Invalid Request", "text is missing")
        if any(post.text == text for post in self.posts):
            return self._problem(
                403, "Forbidden", "You are not allowed to create a Tweet with duplicate content."
            )
        if len(re.sub(r"https?://\S+", "x" * 23, text)) > 280:
            return self._problem(403, "Forbidden", "Your Tweet text is too long.")
        self.left -= 1
        post = Posted(str(1_800_000_000_000_000_000 + len(self.posts)), text, images)
        self.posts.append(post)
        if self.silent:
            await self._stopped.wait()
        if self.broken:
            return self._problem(503, "Service Unavailable", "Service Unavailable")
        return JSONResponse({"data": {"id": post.id, "text": text}}, 201, self._limits())

    def _unsigned(self, request: Request) -> Response | None:
        """Return a refusal unless the signature is right, fresh and new."""
        self.asked.append(request.url.path)
        if self._signed(request):
            return None
        return self._problem(401, "Unauthorized", "Unauthorized")

    def _signed(self, request: Request) -> bool:
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        given = {unquote(name): unquote(value) for name, value in re.findall(r'([\w.~%-]+)="([^"]*)"', rest)}
        signature = given.pop("oauth_signature", "")
        given.pop("realm", None)
        if scheme != "OAuth" or given.get("oauth_signature_method") != "HMAC-SHA1":
            return False
        known = (given.get("oauth_consumer_key"), given.get("oauth_token"))
        if known != (self.keys["X_API_KEY"], self.keys["X_ACCESS_TOKEN"]):
            return False
        stamp, nonce = given.get("oauth_timestamp", ""), given.get("oauth_nonce", "")
        if not stamp.isdigit() or abs(time.time() - int(stamp)) > SKEW or not nonce or nonce in self._nonces:
            return False
        parameters = sorted(
            (_quote(name), _quote(value))
            for name, value in [*given.items(), *request.query_params.multi_items()]
        )
        url = str(request.url.replace(query="", fragment=""))
        base = "&".join(
            (
                request.method,
                _quote(url),
                _quote("&".join(f"{name}={value}" for name, value in parameters)),
            )
        )
        key = f"{_quote(self.keys['X_API_SECRET'])}&{_quote(self.keys['X_ACCESS_SECRET'])}"
        made = hmac.new(key.encode(), base.encode(), hashlib.sha1).digest()
        if not hmac.compare_digest(base64.b64encode(made).decode(), signature):
            return False
        self._nonces.add(nonce)
        return True

    def _limits(self) -> dict[str, str]:
        return {
            "x-rate-limit-limit": str(POSTS_A_WINDOW),
            "x-rate-limit-remaining": str(self.left),
            "x-rate-limit-reset": str(self.reset),
        }

    def _problem(self, status: int, title: str, detail: str) -> Response:
        body = {"title": title, "detail": detail, "type": "about:blank", "status": status}
        return JSONResponse(body, status, self._limits())

    def stop(self) -> None:
        """Let go of the requests that wait for ever."""
        self._stopped.set()


@asynccontextmanager
async def serve_x(server: XServer, port: int = 0) -> AsyncIterator[str]:
    """Serve on 127.0.0.1 in the running loop; yields the base URL. 0 takes a free port."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        config = uvicorn.Config(server.app, lifespan="off", log_config=None, log_level="critical", ws="none")
        config.load()
        running = uvicorn.Server(config)
        running.lifespan = config.lifespan_class(config)
        await running.startup(sockets=[listener])
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop()
            for accepting in running.servers:
                accepting.close()
            await asyncio.sleep(0)
            for connection in list(running.server_state.connections):
                transport: Any = connection.transport
                transport.abort()
            if answering := list(running.server_state.tasks):
                await asyncio.wait(answering, timeout=1)


def _quote(text: str) -> str:
    return quote(text, safe="~-._")
