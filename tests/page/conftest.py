"""One Chromium and one whole demo for all tests of the page, and a stage without a bot for what it shows."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from selenium.webdriver import Chrome

from bot.demo import Emulator, serve
from bot.demo.changes import Changes
from bot.demo.messages import Json
from bot.demo.play import people
from bot.demo.web import page_app
from tests import lacking
from tests.demo.bare import BareBot
from tests.page.browser import DESKTOP, chromium, resize

T = TypeVar("T")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        lacking.skip("the page is looked at in chromium: apt install chromium chromium-driver")
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as driver:
        yield driver


@pytest.fixture
def driver(browser: Chrome) -> Iterator[Chrome]:
    """Chromium on an empty page; afterwards it must have had nothing to complain of."""
    browser.get("about:blank")
    resize(browser, DESKTOP)
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    yield browser
    complaints = [
        entry
        for entry in browser.get_log("browser")  # type: ignore[no-untyped-call]
        if entry["level"] == "SEVERE" and "socket" not in entry["message"]
    ]
    assert complaints == []


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """The page's address of a demo as `make demo` starts it; the bot is the real one, with the guide."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.demo", "--model", "guide", "--port", "0", "--env-file", os.devnull],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        told = ""
        while (found := re.search(r"open\s+(http://\S+)", told)) is None:
            line = process.stdout.readline()
            assert line, f"the demo ended: {told}"
            told += line
        yield found[1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


class NoBot:
    """A process that is never there."""

    changes = Changes()

    def state(self) -> Json:
        return {"running": True, "pid": 1, "starts": 1, "code": None}

    async def kill(self) -> None:
        """Nothing to end."""

    async def start(self) -> None:
        """Nothing to start."""


@dataclass(slots=True)
class Stage:
    """An emulated Telegram with its page, where the test itself speaks for the bot."""

    url: str
    emulator: Emulator
    loop: asyncio.AbstractEventLoop

    def bot(self, method: str, **params: object) -> Json:
        """Make one Bot API call."""

        async def call() -> Json:
            async with httpx.AsyncClient(base_url=self.emulator.base_url) as http:
                answer = await BareBot(http, self.emulator.token).answer(method, **params)
                assert answer["ok"], answer
                result = answer["result"]
                return result if isinstance(result, dict) else {}

        return self.run(call)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine where the emulator lives."""

        async def running() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(running(), self.loop).result(10)

    def do(self, act: Callable[[], T]) -> T:
        """Let something happen in the emulated world, in its own thread."""

        async def acting() -> T:
            return act()

        return self.run(acting)


@pytest.fixture
def stage() -> Iterator[Stage]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    emulator = Emulator(username="kai_demo_bot", privacy=False, flood=False)
    app = page_app(emulator, NoBot(), "secret", {"model": "none", "why": "the test speaks for the bot"})
    serving = serve(emulator, app=app)

    async def begin() -> str:
        people(emulator)
        emulator.person(1001).user.started = True
        return await serving.__aenter__()

    async def end() -> None:
        await serving.__aexit__(None, None, None)

    url = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    yield Stage(f"{url}/secret/", emulator, loop)
    asyncio.run_coroutine_threadsafe(end(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: docs/ when `KEEP_PICTURES` is set, else nowhere that stays."""
    if os.environ.get("KEEP_PICTURES"):
        return Path(__file__).parents[2] / "docs"
    return tmp_path_factory.mktemp("pictures")
