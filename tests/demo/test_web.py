"""The page's door: what it tells, what it takes, and who gets in at all."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from bot.demo import Emulator, Person, serve
from bot.demo.changes import Changes
from bot.demo.web import chat_json, new_secret, page_app
from tests.demo.bare import BareBot

Json = dict[str, Any]


@dataclass(slots=True)
class StillBot:
    """A bot's process that only remembers what was done to it."""

    changes: Changes = field(default_factory=Changes)
    done: list[str] = field(default_factory=list)

    def state(self) -> Json:
        running = self.done[-1:] != ["kill"]
        return {"running": running, "pid": 42, "starts": 1, "code": None if running else -9}

    async def kill(self) -> None:
        self.done.append("kill")
        self.changes.announce()

    async def start(self) -> None:
        self.done.append("start")
        self.changes.announce()


@dataclass(slots=True)
class Line:
    """One open page."""

    socket: ClientConnection
    heard: list[Json] = field(default_factory=list)

    async def until(self, kind: str, **wanted: Any) -> Json:
        """Read on until such a message comes."""
        async with asyncio.timeout(5):
            while True:
                said: Json = json.loads(await self.socket.recv())
                self.heard.append(said)
                if said["kind"] == kind and all(said.get(key) == value for key, value in wanted.items()):
                    return said

    async def do(self, verb: str, **asked: Any) -> Json:
        number = len(self.heard) + 1000
        await self.socket.send(json.dumps({"re": number, "do": verb} | asked))
        return await self.until("answer", re=number)


@dataclass(slots=True)
class Stage:
    emulator: Emulator
    process: StillBot
    url: str
    bot: BareBot

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Line]:
        async with connect(self.url.replace("http", "ws") + "socket", max_size=None) as socket:
            yield Line(socket)


@pytest.fixture
async def stage(emulator: Emulator, alice: Person, bob: Person) -> AsyncIterator[Stage]:
    emulator.supergroup(-1001, "Ops", [alice, bob])
    process, secret = StillBot(), new_secret()
    app = page_app(emulator, process, secret, {"model": "guide:offline", "why": "asked for"})
    async with serve(emulator, app=app) as url, httpx.AsyncClient(base_url=url) as http:
        yield Stage(emulator, process, f"{url}/{secret}/", BareBot(http, emulator.token))


async def test_the_page_and_its_parts_are_served(stage: Stage) -> None:
    async with httpx.AsyncClient(base_url=stage.url) as http:
        parts = {name: await http.get(name) for name in ("", "style.css", "page.js")}

    assert [answer.status_code for answer in parts.values()] == [200, 200, 200]
    assert "<title>Kai" in parts[""].text
    policy = parts[""].headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert parts[""].headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/index.html", "/page.js", "/wrong/", "/wrong/page.js", "/sim/chats"])
async def test_without_the_secret_nothing_of_it_answers(stage: Stage, path: str) -> None:
    base = stage.emulator.base_url
    async with httpx.AsyncClient(base_url=base) as http:
        answer = await http.get(path)
        posted = await http.post("/sim/send", json={"person": 7, "text": "run rm -rf /"})

    assert (answer.status_code, posted.status_code) == (404, 404)
    with pytest.raises(InvalidStatus):
        async with connect(base.replace("http", "ws") + "/wrong/socket"):
            pass


def test_a_secret_can_not_be_guessed() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert len(new_secret()) >= 24


async def test_the_bots_own_api_is_still_there(stage: Stage) -> None:
    assert (await stage.bot.do("getMe"))["username"] == "kai_test_bot"


async def test_it_first_says_who_is_there_and_what_they_see(stage: Stage) -> None:
    async with stage.page() as page:
        hello = await page.until("hello")
        await page.until("calls")

    assert [person["first_name"] for person in hello["people"]] == ["Alice", "Bob"]
    assert hello["about"] == {"model": "guide:offline", "why": "asked for"}
    assert [said["id"] for said in page.heard if said["kind"] == "chat"] == [7, 8, -1001]


async def test_what_a_person_writes_reaches_the_bot_and_the_page(stage: Stage) -> None:
    async with stage.page() as page:
        answer = await page.do("send", person=7, chat=7, text="hi")
        chat = await page.until("chat", id=7)

    assert answer["result"]["text"] == "hi"
    assert chat["messages"][-1]["text"] == "hi"
    assert (await stage.bot.updates())[-1]["message"]["text"] == "hi"


async def test_a_press_goes_to_the_bot_and_its_answer_comes_back(stage: Stage) -> None:
    markup = {"inline_keyboard": [[{"text": "Go", "callback_data": "go", "style": "success"}]]}
    sent = await stage.bot.do("sendMessage", chat_id=7, text="Ready?", reply_markup=markup)
    async with stage.page() as page:
        await page.do("press", person=7, chat=7, message=sent["message_id"], button="go", within=0)
        query = (await stage.bot.updates())[-1]["callback_query"]
        await stage.bot.do("answerCallbackQuery", callback_query_id=query["id"], text="Going")
        while not (chat := await page.until("chat", id=7))["toasts"]:
            pass

    assert chat["messages"][-1]["buttons"][0][0]["style"] == "success"
    assert chat["toasts"][-1]["person"] == 7
    assert chat["toasts"][-1]["text"] == "Going"


async def test_a_draft_and_typing_are_told_with_the_time_they_have_left(stage: Stage) -> None:
    await stage.bot.do("sendMessageDraft", chat_id=7, draft_id=5, text="Thin", can_stop=True)
    await stage.bot.do("sendChatAction", chat_id=7, action="typing")

    told = chat_json(stage.emulator, stage.emulator.chat(7))

    assert (told["drafts"][0]["text"], told["drafts"][0]["left"], told["drafts"][0]["can_stop"]) == (
        "Thin", 30, True,
    )  # fmt: skip
    assert (told["actions"][0]["name"], told["actions"][0]["left"]) == ("typing", 5)
    stage.emulator.clock.advance(31)
    assert chat_json(stage.emulator, stage.emulator.chat(7))["drafts"] == []


async def test_what_is_wrong_is_answered_and_the_line_stays(stage: Stage) -> None:
    async with stage.page() as page:
        wrong = [await page.do("send", person=99, text="x"), await page.do("nothing"), await page.do("clock")]
        right = await page.do("send", person=7, text="still here")

    assert all("error" in answer for answer in wrong)
    assert right["result"]["text"] == "still here"


async def test_the_process_is_killed_and_started_from_the_page(stage: Stage) -> None:
    async with stage.page() as page:
        await page.do("kill")
        dead = await page.until("bot", running=False)
        await page.do("start")
        await page.until("bot", running=True)

    assert dead["code"] == -9
    assert stage.process.done == ["kill", "start"]


async def test_trouble_is_made_and_seen(stage: Stage) -> None:
    async with stage.page() as page:
        await page.do("fault", method="*", kind="refuse", status=429, retry_after=5)
        await stage.bot.answer("sendMessage", chat_id=7, text="x")
        while not (calls := (await page.until("calls"))["calls"]) or calls[-1]["status"] is None:
            pass

    assert calls[-1]["method"] == "sendMessage"
    assert (calls[-1]["status"], calls[-1]["description"]) == (429, "Too Many Requests: retry after 5")


async def test_files_go_both_ways_and_never_run_as_a_page(stage: Stage) -> None:
    async with stage.page() as page:
        sent = await page.do("document", person=7, chat=7, name="a.html", mime="text/html", data="PGI+")
        photo = await page.do("photo", person=7, chat=7, data="iVBORw0=", caption="look")
    async with httpx.AsyncClient(base_url=stage.url) as http:
        got = await http.get(f"file/{sent['result']['file']['file_id']}")
        image = await http.get(f"file/{photo['result']['file']['file_id']}")
        none = await http.get("file/none")

    assert got.content == b"<b>"
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"] == "attachment"
    assert image.headers["content-type"] == "image/jpeg"
    assert none.status_code == 404


async def test_as_large_a_file_as_telegram_gives_a_bot_goes_through(stage: Stage) -> None:
    data = base64.b64encode(bytes(20_000_000)).decode()
    async with stage.page() as page:
        sent = await page.do("document", person=7, chat=7, name="big.bin", data=data)

    assert sent["result"]["file"]["file_size"] == 20_000_000


async def test_a_page_that_goes_away_ends_what_served_it(stage: Stage) -> None:
    before = len(asyncio.all_tasks())

    async with stage.page() as page:
        await page.until("calls")

    for _ in range(500):
        if len(asyncio.all_tasks()) <= before:
            break
        await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) <= before
