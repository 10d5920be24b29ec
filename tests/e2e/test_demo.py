"""`make demo` as a process: it starts, answers with the guide, comes through its kill button, and stops."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from bot.demo.play import ALICE

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
GUIDE = [sys.executable, "-W", "error", "-m", "bot.demo", "--model", "guide"]
GUIDE += ["--port", "0", "--env-file", os.devnull]


@dataclass(slots=True)
class Visitor:
    """Somebody with the page open, without a browser: Alice's chat as it is told over the socket."""

    process: asyncio.subprocess.Process
    told: str
    socket: ClientConnection
    messages: list[Json] = field(default_factory=list)
    life: Json = field(default_factory=dict)
    asked: int = 0

    async def do(self, verb: str, **values: object) -> None:
        self.asked += 1
        await self.socket.send(json.dumps({"re": self.asked, "do": verb} | values))

    async def write(self, text: str) -> None:
        await self.do("send", person=ALICE, chat=ALICE, text=text)

    async def press(self, label: str, card: Json) -> None:
        data = next(b["data"] for row in card["buttons"] for b in row if b["text"] == label)
        await self.do("press", person=ALICE, chat=ALICE, message=card["id"], button=data, within=0)

    async def until(self, text: str, within: float = 20) -> Json:
        """Wait until a message of the bot shows this text; return it."""
        try:
            async with asyncio.timeout(within):
                while True:
                    for message in reversed(self.messages):
                        if message["bot"] and text in message["text"]:
                            return message
                    await self.hear()
        except TimeoutError:
            shown = "\n".join(message["text"] for message in self.messages)
            log = Path(re.findall(r"log\s+(\S+)", self.told)[0]).read_text()
            raise AssertionError(f"no {text!r} within {within} s; the chat: {shown}\nlog: {log}") from None

    async def hear(self) -> None:
        said = json.loads(await self.socket.recv())
        if said["kind"] == "chat" and said["id"] == ALICE:
            self.messages = said["messages"]
        elif said["kind"] == "bot":
            self.life = said


@asynccontextmanager
async def visit(*command: str) -> AsyncIterator[Visitor]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, start_new_session=True,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        told = ""
        while "Ctrl-C" not in told:
            line = (await asyncio.wait_for(process.stdout.readline(), 50)).decode()
            assert line, f"it ended: {told}"
            told += line
        url = re.search(r"http://(\S+)", told)
        assert url is not None
        async with connect(f"ws://{url[1]}socket", max_size=None) as socket:
            yield Visitor(process, told, socket)
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), 20)


async def test_it_answers_survives_its_kill_button_and_stops_cleanly() -> None:
    async with visit(*GUIDE) as alice:
        greeting = await alice.until("I am Kai")
        await alice.write("How much memory is used?")
        answer = await alice.until("is available")
        await alice.write("Delete old.tmp")
        card = await alice.until("rm -r -- old.tmp")

        await alice.do("kill")
        while alice.life.get("running", True):
            await alice.hear()
        assert alice.life["code"] == -signal.SIGKILL
        await alice.press("Approve", card)
        await alice.do("start")
        await alice.until("old.tmp is deleted")

        decided = next(message for message in alice.messages if message["id"] == card["id"])
        folder = Path(re.findall(r"files\s+(/\S+)/work:", alice.told)[0])
        pid = alice.life["pid"]
        assert "guide:offline" in greeting["text"]
        assert re.search(r"\d\S* of \d\S* memory is used", answer["text"])
        assert "exit 0" in decided["text"]
        assert not (folder / "work" / "old.tmp").exists()
        assert len([m for m in alice.messages if "old.tmp is deleted" in m["text"]]) == 1

        alice.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(alice.process.wait(), 20) == 0

    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_only_this_machine_reaches_it() -> None:
    async with visit(*GUIDE) as alice:
        port = int(re.findall(r":(\d+)/", alice.told)[0])
        listening = [
            line.split()[1]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
        ]

    assert listening == [f"0100007F:{port:04X}"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
async def test_make_demo_starts_it_and_ctrl_c_ends_it() -> None:
    # `-o`: what is installed here is what is tested; nothing is fetched.
    here = f"BIN={Path(sys.executable).parent}"
    async with visit("make", "-o", ".venv/.installed", "demo", here, "MODEL=guide", "PORT=0") as alice:
        await alice.until("I am Kai")
        folder = Path(re.findall(r"files\s+(/\S+)/work:", alice.told)[0])

        os.killpg(alice.process.pid, signal.SIGINT)
        assert alice.process.stdout is not None
        rest = await asyncio.wait_for(alice.process.stdout.read(), 20)

    assert b"stopping" in rest
    assert b"Traceback" not in rest
    assert not folder.exists()
