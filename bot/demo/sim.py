"""The people's side over HTTP: `/sim/<verb>` with JSON in and out, for other processes and the demo page.

    POST /sim/person    {"id": 7, "name": "Alice", "started": true}
    POST /sim/group     {"id": -500, "title": "Ops", "members": [7], "forum": false}; -100… is a supergroup
    POST /sim/send      {"person": 7, "text": "hi", "chat": -500, "topic": 3, "reply_to": 12, "quote": "…",
                         "edit_of": 11}
    POST /sim/document  {"person": 7, "name": "a.txt", "data": base64, "caption": "…", "chat": …}
    POST /sim/press     {"person": 7, "button": "Approve", "message": 12, "within": 5}; waits for the answer
    POST /sim/act       {"person": 7, "do": "block" | "unblock" | "start" | "add_bot" | "remove_bot" | "react"
                         | "stop_draft" | "delete" | "create_topic", "chat": …, "message": …, "emoji": …}
    POST /sim/expect    {"chat": 7, "text": "Hello", "within": 5}   408 when it does not come
    POST /sim/migrate   {"chat": -500, "to": -1001557912345, "announce": true}
    POST /sim/fault     {"method": "sendMessage", "kind": "refuse" | "slow" | "close" | "hang"
                         | "half_open" | "clear", "times": 1, …}
    POST /sim/flood     {"enabled": false} or {"block": 30, "chat": 7}
    POST /sim/clock     {"advance": 31}
    GET  /sim/screen?chat=7&person=7&topic=3
    GET  /sim/calls?method=sendMessage&after=0
    GET  /sim/chats
    WS   /sim/changes   one JSON text per change: {"chat": 7}

A wrong request answers 400 with `{"error": …}`. It is for this machine only: there is no password.
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from bot.demo.chats import Chat, Screen
from bot.demo.faults import Fault, close, hang, refuse, slow
from bot.demo.messages import Json, Message
from bot.demo.people import Person
from bot.demo.refusals import Refusal

if TYPE_CHECKING:
    from bot.demo.emulator import Emulator

Verb = Callable[["Emulator", Json], Awaitable[Any]]


def sim_routes(emulator: "Emulator") -> list[BaseRoute]:
    """Return the routes under `/sim` for one emulator."""

    async def answer(request: Request) -> Response:
        verb = VERBS.get(request.path_params["verb"])
        if verb is None:
            return JSONResponse({"error": f"unknown verb; one of {', '.join(VERBS)}"}, 404)
        try:
            asked: Json = dict(request.query_params)
            if request.method == "POST":
                asked |= json.loads(await request.body() or b"{}")
            return JSONResponse(await verb(emulator, asked))
        except AssertionError as error:
            return JSONResponse({"error": str(error)}, 408)
        except (Refusal, LookupError, ValueError, TypeError) as error:
            return JSONResponse({"error": f"{type(error).__name__}: {error}"}, 400)

    async def changes(socket: WebSocket) -> None:
        await socket.accept()
        told: dict[int, int] = {}

        def news() -> list[int] | None:
            chats = list(emulator.world.chats.values())
            return [chat.id for chat in chats if told.get(chat.id, 0) != chat.changes.count] or None

        gone = asyncio.ensure_future(socket.receive())
        try:
            while not gone.done():
                waiting = asyncio.ensure_future(emulator.world.changes.until(news, 60))
                await asyncio.wait([waiting, gone], return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                for chat_id in news() or [] if not gone.done() else []:
                    told[chat_id] = emulator.world.chats[chat_id].changes.count
                    await socket.send_text(json.dumps({"chat": chat_id}))
        finally:
            gone.cancel()

    return [
        WebSocketRoute("/sim/changes", changes),
        Route("/sim/{verb}", answer, methods=["GET", "POST"]),
    ]


def message_json(message: Message) -> Json:
    """Return a message as a page needs it."""
    return {
        "id": message.id,
        "chat": message.chat.id,
        "from": message.sender.wire(),
        "bot": message.sender.id == message.chat.bot_id,
        "date": message.date,
        "edited": message.edited is not None,
        "kind": message.kind,
        "text": message.text,
        "entities": message.entities,
        "file": message.media,
        "buttons": [[asdict(button) for button in row] for row in message.buttons],
        "reply_to": None if message.reply_to is None else message.reply_to.id,
        "topic": message.thread if message.is_topic else None,
        "reactions": {str(user_id): reaction for user_id, reaction in message.reactions.items() if reaction},
    }


def screen_json(screen: Screen) -> Json:
    """Return a screen as a page needs it."""
    return {
        "title": screen.title,
        "messages": [message_json(message) for message in screen.messages],
        "action": screen.action,
        "draft": None if screen.draft is None else asdict(screen.draft),
        "toasts": [asdict(toast) for toast in screen.toasts],
    }


def find_chat(emulator: "Emulator", asked: Json) -> Chat | None:
    """Return the chat a request names; None when it names none."""
    return emulator.chat(int(asked["chat"])) if asked.get("chat") not in (None, "") else None


def find_person(emulator: "Emulator", asked: Json) -> Person:
    """Return the person a request names.

    Raises:
        KeyError: There is none.
    """
    number = int(asked["person"])
    for person in emulator.people():
        if person.id == number:
            return person
    raise KeyError(f"person {number}")


def find_message(emulator: "Emulator", asked: Json, field: str) -> Message | None:
    """Return the message a request names in `field`; None when it names none.

    Raises:
        KeyError: There is none with this id in the chat.
    """
    if asked.get(field) in (None, ""):
        return None
    chat = find_chat(emulator, asked) or find_person(emulator, asked).chat
    return chat.history[int(asked[field])]


def find_topic(asked: Json) -> int | None:
    """Return the topic a request names."""
    return int(asked["topic"]) if asked.get("topic") not in (None, "") else None


async def add_person(emulator: "Emulator", asked: Json) -> Any:
    person = emulator.person(
        int(asked["id"]),
        asked.get("name", "Alice"),
        username=asked.get("username", ""),
        language=asked.get("language", ""),
        started=bool(asked.get("started", False)),
    )
    return person.user.wire()


async def add_group(emulator: "Emulator", asked: Json) -> Any:
    number, title = int(asked["id"]), asked.get("title", "Group")
    members = [find_person(emulator, {"person": member}) for member in asked.get("members", [])]
    bot = asked.get("bot", "member")
    if asked.get("forum") or number < -1_000_000_000_000:
        forum = bool(asked.get("forum", False))
        return emulator.supergroup(number, title, members, forum=forum, bot=bot).wire()
    return emulator.group(number, title, members, bot=bot).wire()


async def send(emulator: "Emulator", asked: Json) -> Any:
    message = find_person(emulator, asked).send(
        asked["text"],
        find_chat(emulator, asked),
        topic=find_topic(asked),
        reply_to=find_message(emulator, asked, "reply_to"),
        edit_of=find_message(emulator, asked, "edit_of"),
        quote=asked.get("quote"),
    )
    return message_json(message)


async def send_document(emulator: "Emulator", asked: Json) -> Any:
    message = find_person(emulator, asked).send_document(
        asked["name"],
        base64.b64decode(asked.get("data", "")),
        find_chat(emulator, asked),
        caption=asked.get("caption", ""),
        mime=asked.get("mime", ""),
        size=asked.get("size"),
        topic=find_topic(asked),
        reply_to=find_message(emulator, asked, "reply_to"),
    )
    return message_json(message)


async def press(emulator: "Emulator", asked: Json) -> Any:
    pressed = find_person(emulator, asked).press(
        asked["button"], find_message(emulator, asked, "message"), chat=find_chat(emulator, asked)
    )
    within = float(asked.get("within", 5))
    return asdict(await pressed.answered(within)) if within else {"id": pressed.id}


async def act(emulator: "Emulator", asked: Json) -> Any:
    person, chat = find_person(emulator, asked), find_chat(emulator, asked)
    message = find_message(emulator, asked, "message")
    match asked.get("do"):
        case "block":
            person.block()
        case "unblock":
            person.unblock()
        case "start":
            person.start(asked.get("payload", ""))
        case "stop_draft":
            person.stop_draft(chat, topic=find_topic(asked))
        case "create_topic":
            return {"topic": person.create_topic(chat or person.chat, asked["name"]).id}
        case "add_bot" if chat is not None:
            person.add_bot(chat, admin=bool(asked.get("admin", False)))
        case "remove_bot" if chat is not None:
            person.remove_bot(chat)
        case "react" if message is not None:
            person.react(message, asked.get("emoji"))
        case "delete" if message is not None:
            person.delete(message)
        case other:
            raise ValueError(f"cannot do {other!r} with what was given")
    return {}


async def expect(emulator: "Emulator", asked: Json) -> Any:
    chat = emulator.chat(int(asked["chat"]))
    within = float(asked.get("within", 5))
    return message_json(await chat.expect(asked["text"], within, topic=find_topic(asked)))


async def migrate(emulator: "Emulator", asked: Json) -> Any:
    group = emulator.chat(int(asked["chat"]))
    return emulator.migrate(group, int(asked["to"]), announce=asked.get("announce", True)).wire()


async def fault(emulator: "Emulator", asked: Json) -> Any:
    made: Fault
    match asked.get("kind", "refuse"):
        case "refuse":
            body = asked.get("body")
            made = refuse(
                int(asked.get("status", 500)),
                asked.get("description", ""),
                retry_after=asked.get("retry_after"),
                body=None if body is None else body.encode(),
            )
        case "slow":
            made = slow(before=float(asked.get("before", 0)), after=float(asked.get("after", 0)))
        case "close":
            made = close(runs=bool(asked.get("runs", False)))
        case "hang":
            made = hang(runs=bool(asked.get("runs", False)))
        case "clear":
            emulator.faults.clear()
            return {}
        case "half_open":
            emulator.updates.deafen()
            return {}
        case other:
            raise ValueError(f"unknown kind of fault {other!r}")
    emulator.fail(asked["method"], made, times=int(asked.get("times", 1)), chat=find_chat(emulator, asked))
    return {}


async def flood(emulator: "Emulator", asked: Json) -> Any:
    if "enabled" in asked:
        emulator.flood.enabled = bool(asked["enabled"])
    if "block" in asked:
        emulator.flood.block(float(asked["block"]), int(asked.get("chat", 0)))
    return {"enabled": emulator.flood.enabled}


async def clock(emulator: "Emulator", asked: Json) -> Any:
    if "advance" in asked:
        emulator.clock.advance(float(asked["advance"]))
    return {"now": emulator.clock()}


async def screen(emulator: "Emulator", asked: Json) -> Any:
    person = find_person(emulator, asked) if asked.get("person") else None
    chat = find_chat(emulator, asked) or (person.chat if person else None)
    if chat is None:
        raise ValueError("name a chat or a person")
    return screen_json(chat.screen(person.id if person else None, find_topic(asked)))


async def calls(emulator: "Emulator", asked: Json) -> Any:
    found = emulator.calls(asked.get("method") or None)
    return [asdict(call) for call in found[int(asked.get("after", 0)) :]]


async def chats(emulator: "Emulator", _: Json) -> Any:
    return [
        chat.wire() | {"topics": [asdict(topic) for topic in chat.topics.values()]}
        for chat in emulator.world.chats.values()
    ]


VERBS: dict[str, Verb] = {
    "person": add_person,
    "group": add_group,
    "send": send,
    "document": send_document,
    "press": press,
    "act": act,
    "expect": expect,
    "migrate": migrate,
    "fault": fault,
    "flood": flood,
    "clock": clock,
    "screen": screen,
    "calls": calls,
    "chats": chats,
}
