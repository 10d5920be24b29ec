"""The emulator on a port, and as its own process moved by JSON."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import httpx
import pytest

from bot.demo import Emulator, Person, serve
from tests.demo.bare import BareBot


@pytest.fixture
async def client(emulator: Emulator) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(emulator) as url, httpx.AsyncClient(base_url=url) as http:
        yield http


async def sim(
    client: httpx.AsyncClient, verb: str, expected: int = 200, **asked: object
) -> dict[str, object]:
    response = await client.post(f"/sim/{verb}", json=asked)
    assert response.status_code == expected, response.text
    body: dict[str, object] = response.json()
    return body


async def test_serve_names_its_address_and_stops(emulator: Emulator) -> None:
    async with serve(emulator) as url:
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.get(f"/bot{emulator.token}/getMe")).json()["ok"]
        assert emulator.base_url == url

    async with httpx.AsyncClient(base_url=url) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(f"/bot{emulator.token}/getMe")


async def test_the_world_survives_the_server(emulator: Emulator, alice: Person) -> None:
    async with serve(emulator) as url:
        port = int(url.rpartition(":")[2])
    alice.send("while it was down")

    async with serve(emulator, port) as url, httpx.AsyncClient(base_url=url) as http:
        bot = BareBot(http, emulator.token)
        assert (await bot.updates())[0]["message"]["text"] == "while it was down"


async def test_serving_stops_though_a_poll_waits(emulator: Emulator) -> None:
    async with serve(emulator) as url:
        http = httpx.AsyncClient(base_url=url, timeout=60)
        poll = asyncio.create_task(http.get(f"/bot{emulator.token}/getUpdates?timeout=50"))
        await asyncio.sleep(0.1)

    with pytest.raises(httpx.HTTPError):
        await asyncio.wait_for(poll, 2)
    await http.aclose()


async def test_a_taken_port_is_an_os_error(emulator: Emulator) -> None:
    async with serve(emulator) as url:
        with pytest.raises(OSError, match="in use"):
            async with serve(Emulator(), int(url.rpartition(":")[2])):
                pass


async def test_a_conversation_over_json(client: httpx.AsyncClient, emulator: Emulator) -> None:
    bot = BareBot(client, emulator.token)
    await sim(client, "person", id=7, name="Alice")
    await sim(client, "send", person=7, text="hi")
    markup = {"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]}
    await bot.do("sendMessage", chat_id=7, text="Ready?", reply_markup=markup)

    message = await sim(client, "expect", chat=7, text="Ready")
    pressing = asyncio.create_task(sim(client, "press", person=7, button="Go", message=message["id"]))
    query = (await bot.updates(offset=0, timeout=5))[-1]
    while "callback_query" not in query:
        query = (await bot.updates(timeout=5))[-1]
    await bot.do("answerCallbackQuery", callback_query_id=query["callback_query"]["id"], text="Going")

    assert (await pressing)["text"] == "Going"
    screen = (await client.get("/sim/screen", params={"person": 7})).json()
    assert [shown["text"] for shown in screen["messages"]] == ["hi", "Ready?"]
    calls = (await client.get("/sim/calls", params={"method": "sendMessage"})).json()
    assert calls[0]["params"]["text"] == "Ready?"


async def test_groups_topics_files_and_acts_over_json(client: httpx.AsyncClient, emulator: Emulator) -> None:
    bot = BareBot(client, emulator.token)
    await sim(client, "person", id=7, name="Alice")
    await sim(client, "group", id=-1001000000000, title="Forum", members=[7], forum=True, bot="left")
    await sim(client, "act", person=7, do="add_bot", chat=-1001000000000, admin=True)
    topic = (await sim(client, "act", person=7, do="create_topic", chat=-1001000000000, name="T"))["topic"]
    sent = await sim(client, "send", person=7, text="x", chat=-1001000000000, topic=topic)
    await sim(client, "document", person=7, name="a.txt", data="aGk=", caption="c")
    await sim(client, "send", person=7, text="y", chat=-1001000000000, edit_of=sent["id"])
    await sim(client, "act", person=7, do="delete", chat=-1001000000000, message=sent["id"])
    await sim(client, "act", person=7, do="block")

    updates = await bot.updates()

    kinds = [kind for update in updates for kind in update if kind != "update_id"]
    assert kinds == [
        "my_chat_member", "message", "message", "message", "message", "edited_message", "my_chat_member"
    ]  # fmt: skip
    chats = (await client.get("/sim/chats")).json()
    assert [chat["type"] for chat in chats] == ["private", "supergroup"]


async def test_faults_flood_and_clock_over_json(client: httpx.AsyncClient, emulator: Emulator) -> None:
    bot = BareBot(client, emulator.token)
    await sim(client, "person", id=7, started=True)
    await sim(client, "fault", method="getMe", status=502)
    await sim(client, "flood", block=30, chat=7)
    before = (await sim(client, "clock"))["now"]

    assert await bot.refused("getMe") == "Bad Gateway"
    assert (await bot.answer("sendMessage", chat_id=7, text="x"))["error_code"] == 429
    after = (await sim(client, "clock", advance=100))["now"]
    assert after == before + 100  # type: ignore[operator]
    assert (await bot.answer("sendMessage", chat_id=7, text="x"))["ok"]


@pytest.mark.parametrize(
    ("verb", "asked", "status"),
    [
        ("nothing", {}, 404),
        ("send", {"person": 99, "text": "x"}, 400),
        ("send", {"person": 7}, 400),
        ("press", {"person": 7, "button": "none"}, 400),
        ("expect", {"chat": 7, "text": "never", "within": 0.05}, 408),
        ("fault", {"method": "getMe", "kind": "weird"}, 400),
    ],
)
async def test_wrong_requests_are_told(
    client: httpx.AsyncClient, alice: Person, verb: str, asked: dict[str, object], status: int
) -> None:
    assert "error" in await sim(client, verb, status, **asked)


async def test_changes_are_told_over_a_websocket(emulator: Emulator, alice: Person) -> None:
    from websockets.asyncio.client import connect

    async with serve(emulator) as url, connect(url.replace("http", "ws") + "/sim/changes") as socket:
        alice.send("hi")

        assert json.loads(await asyncio.wait_for(socket.recv(), 5)) == {"chat": 7}


async def test_the_server_runs_as_its_own_process() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-W", "error", "-m", "bot.demo.server"),
        *("--person", "7:Alice", "--token", "123456:AAAbbb"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    line = (await process.stdout.readline()).decode()
    url = line.removeprefix("listening on ").strip()

    async with httpx.AsyncClient(base_url=url) as http:
        bot = BareBot(http, "123456:AAAbbb")
        await bot.do("sendMessage", chat_id=7, text="hello from outside")
        screen = (await http.get("/sim/screen", params={"person": 7})).json()
    process.terminate()

    assert screen["messages"][0]["text"] == "hello from outside"
    assert await asyncio.wait_for(process.wait(), 5) == 0
    assert await process.stderr.read() == b""
