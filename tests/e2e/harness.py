"""The whole bot as its own process, between an emulated Telegram and a scripted model, over real HTTP."""

import asyncio
import inspect
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.demo import Emulator, Person, serve
from bot.demo.model_server import (
    ModelRequest,
    ModelServer,
    Reply,
    Script,
    ScriptedCall,
    SeenMessage,
    SeenResult,
    call,
    serve_model,
)
from tests.store.check import check

ADMIN, BOB = 7, 8
ENVELOPE = "Tool execution finished"
WIRES: Mapping[str, Mapping[str, str]] = {
    "openai": {"LLM_MODEL": "custom:scripted"},
    "anthropic": {"LLM_MODEL": "anthropic:scripted"},
    "text": {"LLM_MODEL": "custom:scripted-text", "LLM_TOOLS": "text"},
}
"""Settings for each way a tool call can travel."""


def shell(command: str, *, risk: str = "low", explanation: str = "") -> ScriptedCall:
    """Return a call of the shell tool."""
    return call("run_in_terminal", command=command, risk=risk, explanation=explanation)


@dataclass(slots=True)
class Town:
    """Everything around the bot, and the bot itself as a process that can be killed and started again.

    Attributes:
        alice: An admin. bob: Allowed to talk, but no admin.
        settings: Of the next start.
    """

    emulator: Emulator
    model: ModelServer
    folder: Path
    settings: dict[str, str]
    process: asyncio.subprocess.Process | None = None
    logs: list[Path] = field(default_factory=list)

    @property
    def alice(self) -> Person:
        return self.emulator.person(ADMIN, "Alice", started=True)

    @property
    def bob(self) -> Person:
        return self.emulator.person(BOB, "Bob", started=True)

    @property
    def database(self) -> Path:
        return self.folder / "state" / "kai.db"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def log(self) -> str:
        return "\n".join(path.read_text() for path in self.logs)

    async def start(self) -> None:
        """Start the bot; returns at once."""
        self.logs.append(self.folder / f"bot-{len(self.logs)}.log")
        with self.logs[-1].open("w") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "--env-file", os.devnull, "run",
                env=self.settings, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    async def kill(self) -> None:
        """End the bot as a power cut would."""
        assert self.process is not None
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> int:
        """Ask the bot to end; return its exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 15)

    async def restart(self) -> None:
        await self.kill()
        await self.start()

    def violations(self) -> list[str]:
        """Return what the database says that it must not say; the bot should be stopped."""
        return check(self.database)


@asynccontextmanager
async def town(
    folder: Path,
    script: Script | Sequence[Reply],
    *,
    wire: str = "openai",
    emulator: Emulator | None = None,
    start: bool = True,
    **settings: str,
) -> AsyncIterator[Town]:
    """Build the town around a bot and start it; at the end nothing of it runs any more."""
    emulator = emulator or Emulator(flood=False)
    if callable(script) and wire == "text":
        script = in_text(script)
    model = ModelServer(script)
    (folder / "work").mkdir(exist_ok=True)
    async with serve(emulator) as telegram, serve_model(model) as models:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TELEGRAM_BOT_TOKEN": emulator.token,
            "TELEGRAM_API_URL": telegram,
            "ADMIN_IDS": str(ADMIN),
            "ALLOWED_IDS": str(BOB),
            "STATE_DIR": str(folder / "state"),
            "WORK_DIR": str(folder / "work"),
            "CUSTOM_BASE_URL": f"{models}/v1",
            "CUSTOM_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": models,
            "ANTHROPIC_API_KEY": "test-key",
            "LOG_LEVEL": "INFO",
            **WIRES[wire],
            **settings,
        }
        here = Town(emulator, model, folder, environment)
        if start:
            await here.start()
        try:
            yield here
        finally:
            if here.process is not None:
                await here.kill()


def replies(*turns: Sequence[Reply]) -> Script:
    """Return a script of several turns: each is a list of replies, chosen by how often a person has spoken.

    Unlike a plain list it gives the same answer when the same is asked again, as after a restart.
    """

    def script(request: ModelRequest) -> Reply:
        spoken = sum(m.role == "user" and not m.results for m in request.messages)
        return turns[min(spoken, len(turns)) - 1][request.step]

    return script


def in_text(script: Script) -> Script:
    """Let a scripted model write its calls as text and read their results so, as a model without tools."""

    async def written(request: ModelRequest) -> Reply:
        messages = []
        for message in request.messages:
            if message.role == "user" and message.text.startswith(ENVELOPE):
                result = SeenResult("", message.text, "[ERROR" in message.text)
                messages.append(SeenMessage("user", "", (), (result,)))
            elif message.role == "assistant" and "<tool_use>" in message.text:
                messages.append(SeenMessage("assistant", message.text, (ScriptedCall("?", {}),)))
            else:
                messages.append(message)
        reply = script(replace(request, messages=tuple(messages)))
        reply = await reply if inspect.isawaitable(reply) else reply
        calls = [{"name": asked.name, "arguments": asked.arguments} for asked in reply.calls]
        text = [reply.text, *(f"<tool_use>{json.dumps(asked)}</tool_use>" for asked in calls)]
        return replace(reply, text="\n".join(filter(None, text)), calls=())

    return written


def puppet(request: ModelRequest) -> Reply:
    """A model that does what it is told: `run COMMAND`, `say TEXT`, `wait SECONDS`; it tells what came out.

    Several commands of one step are separated by ` || then || `.
    """
    asked = request.last_user_text
    if request.results:
        states = ["an error" if result.is_error else "a result" for result in request.results]
        return Reply(f"It came to {' and '.join(states)}.")
    if found := re.search(r"\brun (.+)", asked, re.DOTALL):
        return Reply("", [shell(command) for command in found[1].split(" || then || ")])
    if found := re.search(r"\bsay (.+)", asked, re.DOTALL):
        return Reply(found[1])
    if found := re.search(r"\bwait ([0-9.]+)", asked):
        return Reply(f"waited {found[1]}", delay=float(found[1]))
    return Reply(f"You said: {asked}")
