"""The Bot API over HTTP: `/bot<token>/<method>` and `/file/bot<token>/<path>`.

https://core.telegram.org/bots/api#making-requests: GET and POST; query, form, JSON and multipart;
`{"ok", "result"}` or `{"ok", "error_code", "description", "parameters"}` with the same HTTP status.
"""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from bot.demo.calls import Call
from bot.demo.faults import Fault
from bot.demo.files import UPLOAD_LIMIT
from bot.demo.methods import BY_LOWER_NAME, MAKES_MESSAGES, METHODS
from bot.demo.params import Params, Upload
from bot.demo.refusals import Refusal, bad_request
from bot.demo.world import World, valid_token

FORM_SLACK = 1024 * 1024


class Gone(Exception):
    """The client has left, or was cut off: nobody reads an answer."""


class Api:
    """Answers requests about one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def answer(self, request: Request) -> Response:
        """Answer one API call, or let it meet its scripted fault."""
        world = self._world
        loop = asyncio.get_running_loop()
        started = loop.time()
        name = BY_LOWER_NAME.get(request.path_params["method"].lower(), request.path_params["method"])
        call = Call(name, world.clock(), {})
        fault: Fault | None = None
        try:
            world.calls.add(call)
            params = await read_params(request)
            call.params, call.uploads = params.values, tuple(params.uploads)
            self._check_token(request)
            chat_id = flood_key(params)
            fault = world.faults.take(name.lower(), chat_id)
            if fault is not None:
                await self._suffer_before(request, fault)
            status, body, description = 200, await self._run(request, name, params, chat_id), ""
        except Refusal as refusal:
            status, body, description = refusal.code, refused(refusal), refusal.description
            if fault is not None and fault.body is not None:
                body = fault.body
        except Gone:
            return Response(status_code=499)
        if fault is not None:
            try:
                await self._suffer_after(request, fault)
            except Gone:
                return Response(status_code=499)
        world.calls.finish(call, status, description, loop.time() - started)
        kind = "application/json" if fault is None or fault.body is None else "text/html"
        return Response(body, status, media_type=kind)

    async def download(self, request: Request) -> Response:
        """Serve a file's bytes."""
        try:
            self._check_token(request)
            fault = self._world.faults.take("file", 0)
            if fault is not None:
                await self._suffer_before(request, fault)
                await self._suffer_after(request, fault)
            stored = self._world.files.at(request.path_params["path"])
            if stored is None:
                raise Refusal(404, "Not Found")
        except Refusal as refusal:
            return Response(refused(refusal), refusal.code, media_type="application/json")
        except Gone:
            return Response(status_code=499)
        return Response(stored.data, media_type="application/octet-stream")

    async def lost(self, _: Request) -> Response:
        """Answer a path that is no API path."""
        return Response(refused(Refusal(404, "Not Found")), 404, media_type="application/json")

    async def call(self, method: str, params: Params) -> Any:
        """Run a method that a webhook's answer asks for; what would wait is not waited for.

        Raises:
            Refusal: As over HTTP.
        """
        name = BY_LOWER_NAME.get(method.lower(), method)
        call = Call(name, self._world.clock(), params.values)
        self._world.calls.add(call)
        try:
            result = self._start(name, params, flood_key(params))
        except Refusal as refusal:
            self._world.calls.finish(call, refusal.code, refusal.description, 0.0)
            raise
        if isinstance(result, Coroutine):
            result.close()
        self._world.calls.finish(call, 200, "", 0.0)
        return result

    def _check_token(self, request: Request) -> None:
        token = request.path_params["token"]
        if not valid_token(token):
            raise Refusal(401, "Unauthorized: invalid token specified")
        if token != self._world.token:
            raise Refusal(401, "Unauthorized")

    def _start(self, name: str, params: Params, chat_id: int) -> Any:
        if name not in METHODS:
            raise Refusal(404, "Not Found: method not found")
        world = self._world
        if not name.startswith("get"):
            chat = world.chats.get(chat_id)
            world.flood.check(
                chat_id,
                group=chat is not None and chat.is_group,
                counts=name in MAKES_MESSAGES,
                cost=album_size(params) if name == "sendMediaGroup" else 1,
            )
        return METHODS[name](world, params)

    async def _run(self, request: Request, name: str, params: Params, chat_id: int) -> bytes:
        result = self._start(name, params, chat_id)
        if isinstance(result, Coroutine):
            if "transport" in request.scope.get("state", ()):
                result = await until_disconnected(request, result)
            else:
                result = await result
        if isinstance(result, bytes):
            return b'{"ok":true,"result":' + result + b"}"
        return json.dumps({"ok": True, "result": result}, separators=(",", ":")).encode()

    async def _suffer_before(self, request: Request, fault: Fault) -> None:
        if fault.before:
            await asyncio.sleep(fault.before)
        if fault.runs:
            return
        if fault.action == "refuse":
            raise Refusal(fault.status, fault.description, fault.parameters)
        await lose(request, fault)

    async def _suffer_after(self, request: Request, fault: Fault) -> None:
        if fault.after:
            await asyncio.sleep(fault.after)
        if fault.action in ("close", "hang"):
            await lose(request, fault)


async def read_params(request: Request) -> Params:
    """Read a request's parameters from wherever they are.

    Raises:
        Refusal: Too large, no JSON, or not UTF-8.
    """
    values: dict[str, Any] = dict(request.query_params)
    if request.method == "GET":
        return Params(values)
    if int(request.headers.get("content-length", 0)) > UPLOAD_LIMIT + FORM_SLACK:
        async for _ in request.stream():
            pass
        raise Refusal(413, "Request Entity Too Large")
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return await read_multipart(request, values)
    body = await request.body()
    if kind.startswith("application/json"):
        try:
            sent = json.loads(body or b"{}")
        except ValueError:
            raise bad_request("can't parse JSON object") from None
        return Params(values | (sent if isinstance(sent, dict) else {}))
    try:
        return Params(values | dict(parse_qsl(body.decode("ascii"), True, errors="strict")))
    except UnicodeDecodeError:
        raise bad_request("Strings must be encoded in UTF-8") from None


async def read_multipart(request: Request, values: dict[str, Any]) -> Params:
    """Read a multipart body: parts with a file name are uploads.

    Raises:
        Refusal: A file is over 50 MB.
    """
    uploads: dict[str, Upload] = {}
    async with request.form(max_part_size=16 * 1024 * 1024) as form:
        for name, part in form.multi_items():
            if isinstance(part, UploadFile):
                if (part.size or 0) > UPLOAD_LIMIT:
                    raise Refusal(413, "Request Entity Too Large")
                uploads[name] = Upload(part.filename or name, part.content_type or "", await part.read())
            else:
                values[name] = part
    return Params(values, uploads)


def refused(refusal: Refusal) -> bytes:
    """Return the JSON of an error."""
    body: dict[str, Any] = {
        "ok": False,
        "error_code": refusal.code,
        "description": refusal.description,
    }
    if refusal.parameters:
        body["parameters"] = dict(refusal.parameters)
    return json.dumps(body).encode()


def flood_key(params: Params) -> int:
    """Return the chat a call goes to; 0 when it goes to none."""
    return params.integer("chat_id")


def album_size(params: Params) -> int:
    """Return how many messages an album makes."""
    try:
        items = params.json("media", "media")
    except Refusal:
        return 1
    return len(items) if isinstance(items, list) else 1


async def until_disconnected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Await `work`, but stop it when the client has gone.

    Raises:
        Gone: It has.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(wait_for_disconnect(request))
    try:
        await asyncio.wait([working, gone], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Gone
        return await working
    finally:
        working.cancel()
        gone.cancel()


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client has gone; for ever when it never goes."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def lose(request: Request, fault: Fault) -> None:
    """Leave the client without an answer: cut the connection, or keep it open until the client goes.

    Raises:
        Gone: Always, in the end.
        httpx.RemoteProtocolError: In-process, where there is no connection to cut.
    """
    if fault.action == "close":
        transport = request.scope.get("state", {}).get("transport")
        if transport is None:
            import httpx

            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        transport.abort()
    await wait_for_disconnect(request)
    raise Gone
