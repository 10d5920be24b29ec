"""The chat page: static files and one WebSocket, behind a secret in the address, for this machine only.

Whoever reaches the page acts as every person in it, and so approves commands that really run. So nothing of
it answers without the secret, and `/sim` is not there: another web page can't guess its way in.

From the page: `{"re": 1, "do": "send", "person": 7, …}`, the verbs of `bot.demo.sim` that `VERBS` names and
those of `Bot`; each is answered `{"kind": "answer", "re": 1, "result" | "error": …}`.
To the page: `hello` once, then `chat`, `bot` and `calls`, each whenever it changed, each whole.
"""

import asyncio
import base64
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.demo import sim
from bot.demo.changes import Changes
from bot.demo.chats import Chat
from bot.demo.messages import Json
from bot.demo.refusals import Refusal

if TYPE_CHECKING:
    from bot.demo.emulator import Emulator

SHOWN = 200
"""Messages of a chat that the page is given; the newest."""
CALLS_SHOWN = 30
SETTLE = 0.05
"""Seconds in which changes are gathered before the page is told."""

VERBS = ("send", "document", "press", "act", "fault", "flood")

_STATIC = {
    "": ("index.html", "text/html; charset=utf-8"),
    "style.css": ("style.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_INLINE = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",  # the address holds the secret
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Bot(Protocol):
    """The bot's process, as the page sees and handles it.

    Attributes:
        changes: Announced when `state` is another.
    """

    changes: Changes

    def state(self) -> Json:
        """Return `running` (bool), `pid`, `starts` (how often), `code` (how it last ended, or None)."""
        ...

    async def kill(self) -> None:
        """End it as a power cut would; harmless when it does not run."""
        ...

    async def start(self) -> None:
        """Start it; harmless when it runs."""
        ...


def new_secret() -> str:
    """Return a secret for the page's address."""
    return secrets.token_urlsafe(18)


def page_app(emulator: "Emulator", bot: Bot, secret: str, about: Mapping[str, str]) -> Starlette:
    """Return the page under `/<secret>/`, and the Bot API.

    Args:
        about: Words for the page's head: `model`, and why that one.
    """
    page = Page(emulator, bot, about)
    return Starlette(
        routes=[
            WebSocketRoute(f"/{secret}/socket", page.talk),
            Route(f"/{secret}/file/{{file_id}}", page.file, methods=["GET"]),
            Route(f"/{secret}/{{name}}", page.static, methods=["GET"]),
            Route(f"/{secret}/", page.static, methods=["GET"]),
            *emulator.api_routes,
        ]
    )


class Page:
    """Answers one page, open any number of times."""

    def __init__(self, emulator: "Emulator", bot: Bot, about: Mapping[str, str]) -> None:
        self._emulator = emulator
        self._bot = bot
        self._about = dict(about)

    async def static(self, request: Request) -> Response:
        found = _STATIC.get(request.path_params.get("name", ""))
        if found is None:
            return Response("not found", 404, headers=_HEADERS)
        name, kind = found
        text = resources.files("bot.demo").joinpath("page", name).read_text(encoding="utf-8")
        return Response(text, media_type=kind, headers=_HEADERS)

    async def file(self, request: Request) -> Response:
        stored = self._emulator.world.files.find(request.path_params["file_id"])
        if stored is None:
            return Response("not found", 404, headers=_HEADERS)
        if stored.mime in _INLINE:
            return Response(stored.data, media_type=stored.mime, headers=_HEADERS)
        # Never shown as a page of ours: it would run with the page's rights.
        return Response(
            stored.data,
            media_type="application/octet-stream",
            headers=_HEADERS | {"Content-Disposition": "attachment"},
        )

    async def talk(self, socket: WebSocket) -> None:
        """Serve one open page until it is closed."""
        await socket.accept()
        tasks = {asyncio.create_task(self._listen(socket)), asyncio.create_task(self._tell(socket))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, (WebSocketDisconnect, RuntimeError)):
                raise result

    async def _listen(self, socket: WebSocket) -> None:
        answering: set[asyncio.Task[None]] = set()
        try:
            while True:
                asked = json.loads(await socket.receive_text())
                task = asyncio.create_task(self._answer(socket, asked))
                answering.add(task)
                task.add_done_callback(answering.discard)
        finally:
            for task in answering:
                task.cancel()

    async def _answer(self, socket: WebSocket, asked: Json) -> None:
        said: Json = {"kind": "answer", "re": asked.get("re")}
        try:
            said["result"] = await self._verb(str(asked.get("do")))(self._emulator, asked)
        except (Refusal, LookupError, ValueError, TypeError, AssertionError) as error:
            said["error"] = str(error.args[0] if error.args else error)
        await socket.send_text(json.dumps(said))

    def _verb(self, name: str) -> Callable[["Emulator", Json], Awaitable[Any]]:
        if name in VERBS:
            return sim.VERBS[name]
        match name:
            case "photo":
                return send_photo
            case "kill":
                return lambda _, __: self._bot.kill()
            case "start":
                return lambda _, __: self._bot.start()
        raise ValueError(f"unknown verb {name!r}")

    async def _tell(self, socket: WebSocket) -> None:
        """Tell the page of every change, but no more often than somebody can see."""
        world = self._emulator.world
        await self._say(socket, "hello", self._hello())
        woken = asyncio.Event()
        told_chats: dict[int, int] = {}
        told_bot = told_calls = -1
        sources = (world.changes, self._bot.changes, world.calls.changes)
        watching = [asyncio.create_task(_watch(changes, woken)) for changes in sources]
        try:
            while True:
                woken.clear()
                for chat in list(world.chats.values()):
                    if told_chats.get(chat.id) != chat.changes.count:
                        told_chats[chat.id] = chat.changes.count
                        await self._say(socket, "chat", chat_json(self._emulator, chat))
                if told_bot != self._bot.changes.count:
                    told_bot = self._bot.changes.count
                    await self._say(socket, "bot", self._bot.state())
                if told_calls != world.calls.changes.count:
                    told_calls = world.calls.changes.count
                    await self._say(socket, "calls", {"calls": self._calls()})
                await woken.wait()
                await asyncio.sleep(SETTLE)
        finally:
            for task in watching:
                task.cancel()

    async def _say(self, socket: WebSocket, kind: str, body: Json) -> None:
        await socket.send_text(json.dumps({"kind": kind} | body))

    def _hello(self) -> Json:
        people = [person for person in self._emulator.people() if not person.user.is_bot]
        return {
            "bot": self._emulator.bot.wire(),
            "people": [person.user.wire() for person in people],
            "about": self._about,
        }

    def _calls(self) -> list[Json]:
        calls = self._emulator.calls()[-CALLS_SHOWN:]
        return [
            {
                "method": call.method,
                "status": call.status,
                "description": call.description,
                "took": round(call.took, 3),
                "chat": call["chat_id"],
            }
            for call in calls
        ]


async def _watch(changes: Changes, woken: asyncio.Event) -> None:
    seen = changes.count

    def news() -> int | None:
        return changes.count if changes.count != seen else None

    while True:
        if (found := await changes.until(news, 3600)) is not None:
            seen = found
            woken.set()


def chat_json(emulator: "Emulator", chat: Chat) -> Json:
    """Return a chat as the page needs it: what everybody in it sees, and each one's toasts and commands."""
    now = chat.clock()
    shown = chat.screen()
    members = [
        person
        for person in emulator.people()
        if chat.members.get(person.id, "left") not in ("left", "kicked") and not person.user.is_bot
    ]
    return {
        "id": chat.id,
        "type": chat.type,
        "title": shown.title,
        "forum": chat.forum,
        "people": [person.id for person in members],
        "topics": [asdict(topic) for topic in chat.topics.values() if not topic.deleted],
        "messages": [sim.message_json(message) for message in shown.messages[-SHOWN:]],
        "actions": [
            {"topic": topic, "name": action.name, "left": action.expires - now}
            for topic, action in chat.actions.items()
            if action.expires > now
        ],
        "drafts": [
            asdict(draft) | {"topic": topic, "left": draft.expires - now}
            for topic, draft in chat.drafts.items()
            if draft.expires > now
        ],
        "toasts": [
            {"person": toast.user_id, "text": toast.text, "alert": toast.alert, "age": now - toast.time}
            for toast in chat.toasts[-5:]
            if toast.text
        ],
        "commands": {str(person.id): person.commands(chat) for person in members},
    }


async def send_photo(emulator: "Emulator", asked: Json) -> Any:
    """Send a picture as a photo; `data` is base64."""
    message = sim.find_person(emulator, asked).send_photo(
        base64.b64decode(asked["data"]),
        sim.find_chat(emulator, asked),
        caption=asked.get("caption", ""),
        topic=sim.find_topic(asked),
    )
    return sim.message_json(message)
