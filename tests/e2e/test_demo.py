"""`make demo` as a process: it starts, answers with the guide, comes through its kill button, and stops."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import ClientConnection, connect

from bot.demo import Emulator, serve
from bot.demo.model_server import KEY, ModelServer, Reply, echo, serve_model
from bot.demo.play import ALICE
from tests.e2e.indoors import house

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
ANY = [sys.executable, "-W", "error", "-m", "bot.demo", "--port", "0"]
GUIDE = [*ANY, "--model", "guide", "--env-file", os.devnull]


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
async def visit(*command: str, **environ: str) -> AsyncIterator[Visitor]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, start_new_session=True, env={**os.environ, **environ},
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


async def test_a_model_that_is_set_up_is_named_in_the_first_message_and_answers(tmp_path: Path) -> None:
    model = ModelServer([Reply("Forty-two.")])
    async with serve_model(model) as url:
        (tmp_path / ".env").write_text(
            f"LLM_MODEL=custom:scripted\nCUSTOM_BASE_URL={url}/v1\nCUSTOM_API_KEY={KEY}\n"
        )
        async with visit(*ANY, "--env-file", str(tmp_path / ".env"), LLM_MODEL="") as alice:
            greeting = await alice.until("I am Kai")
            await alice.write("What is the answer?")
            await alice.until("Forty-two.")

    assert "custom:scripted" in greeting["text"]
    assert "model   custom:scripted (set up by LLM_MODEL)" in alice.told


async def test_without_one_an_ollama_on_this_machine_thinks() -> None:
    async def tags(_: Request) -> Response:
        return JSONResponse({"models": [{"name": "scripted"}]})

    model = ModelServer([Reply("Forty-two.")], key=None)
    model.app.routes.append(Route("/api/tags", tags))
    async with (
        serve_model(model) as url,
        visit(*ANY, "--env-file", os.devnull, LLM_MODEL="", OLLAMA_BASE_URL=url) as alice,
    ):
        greeting = await alice.until("I am Kai")
        await alice.write("What is the answer?")
        await alice.until("Forty-two.")

    assert "ollama:scripted" in greeting["text"]
    assert model.requests[-1].shape == "ollama"


async def test_a_model_file_that_is_another_is_refused_and_nothing_of_it_stays(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed; see local.lock")

    async def file(_: Request) -> Response:
        return Response(b"not the model")

    kept = tmp_path / "model.gguf"
    async with serve(Emulator(), app=Starlette(routes=[Route("/model.gguf", file)])) as url:
        code, told = await ended(
            *ANY, "--model", "local", "--env-file", os.devnull,
            LOCAL_MODEL_URL=f"{url}/model.gguf", LOCAL_MODEL_FILE=str(kept),
        )  # fmt: skip

    assert code == 1
    assert "SHA-256" in told
    assert list(tmp_path.iterdir()) == []


async def test_a_taken_port_ends_it_with_what_to_do() -> None:
    async with serve(Emulator()) as url:
        port = url.rpartition(":")[2]
        code, told = await ended(*GUIDE, "--port", port)

    assert code == 1
    assert f"port {port} of 127.0.0.1 can't be had" in told
    assert f"make demo PORT={int(port) + 1}" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("look", "seen", "act", "done"),
    [
        ("How is the server?", " available\n", "Delete old.tmp", "old.tmp is deleted"),
        ("Bagaimana keadaan server?", " tersedia\n", "Hapus old.tmp", "old.tmp sudah dihapus"),
        ("Como está o servidor?", " disponíveis\n", "Apagar old.tmp", "old.tmp foi apagado"),
    ],
    ids=["en", "id", "pt"],
)
async def test_the_guide_looks_by_itself_and_asks_before_it_acts(
    tmp_path: Path, look: str, seen: str, act: str, done: str
) -> None:
    async with house(tmp_path, echo, LLM_MODEL="guide:offline") as here:
        (here.work / "old.tmp").write_text("Nobody needs this.\n")
        here.alice.send(look)
        await here.alice.chat.expect(seen)
        ran = [event for event in await here.kai.store.audit(50) if event.action == "ran"]
        here.alice.send(act)
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect(done)

        assert len(ran) > 1
        assert not (here.work / "old.tmp").exists()
        assert not here.model.requests


async def ended(*command: str, **environ: str) -> tuple[int, str]:
    """Run a demo that can't start; return its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode or 0, told.decode()


async def test_make_demo_answers_survives_its_kill_button_and_ctrl_c_ends_it() -> None:
    # `-o`: what is installed here is what is tested; nothing is fetched.
    here = f"BIN={Path(sys.executable).parent}"
    async with visit("make", "-o", ".venv/.installed", "demo", here, "MODEL=guide", "PORT=0") as alice:
        await alice.until("I am Kai")
        await alice.write("What time is it?")
        await alice.until("on this machine")
        folder = Path(re.findall(r"files\s+(/\S+)/work:", alice.told)[0])

        await alice.do("kill")
        while alice.life.get("running", True):
            await alice.hear()
        await alice.write("Which kernel?")
        await alice.do("start")
        await alice.until("Kernel: ")
        pid = alice.life["pid"]
        os.killpg(alice.process.pid, signal.SIGINT)
        assert alice.process.stdout is not None
        rest = await asyncio.wait_for(alice.process.stdout.read(), 20)

    assert b"stopping" in rest
    assert b"Traceback" not in rest
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
