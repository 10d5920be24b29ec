"""The whole bot in this process, with a clock the test sets; for what takes a minute or a month outside."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.app import Kai, assemble, serve
from bot.clock import SettableClock
from bot.config import load_settings
from bot.demo import Emulator, Person
from bot.demo import serve as serve_telegram
from bot.demo.model_server import ModelServer, Script, serve_model
from bot.redact import Redactor
from tests.e2e.harness import ADMIN, BOB


@dataclass(slots=True)
class House:
    """A running bot; its work folder is `work`, its clock stands still until it is advanced."""

    kai: Kai
    emulator: Emulator
    model: ModelServer
    clock: SettableClock
    work: Path

    @property
    def alice(self) -> Person:
        return self.emulator.person(ADMIN, "Alice", started=True)

    @property
    def bob(self) -> Person:
        return self.emulator.person(BOB, "Bob", started=True)

    async def later(self, seconds: float) -> None:
        """Let time pass, and let the bot look what is over."""
        self.clock.advance(seconds)
        await self.kai.face.expire()


@asynccontextmanager
async def house(
    folder: Path, script: Script, *, emulator: Emulator | None = None, **settings: str
) -> AsyncIterator[House]:
    emulator = emulator or Emulator(flood=False)
    model = ModelServer(script)
    work = folder / "work"
    work.mkdir(exist_ok=True)
    async with serve_telegram(emulator) as telegram, serve_model(model) as models:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TELEGRAM_BOT_TOKEN": emulator.token,
            "TELEGRAM_API_URL": telegram,
            "ADMIN_IDS": str(ADMIN),
            "ALLOWED_IDS": str(BOB),
            "STATE_DIR": str(folder / "state"),
            "WORK_DIR": str(work),
            "CUSTOM_BASE_URL": f"{models}/v1",
            "CUSTOM_API_KEY": "test-key",
            "LLM_MODEL": "custom:scripted",
            **settings,
        }
        read = load_settings(environ)
        clock = SettableClock(time.time())
        redactor = Redactor(read.secrets)
        async with assemble(read, environ, redactor, folder / ".env", now=clock) as kai:
            stopping = asyncio.Event()
            running = asyncio.create_task(serve(kai, stopping))
            try:
                yield House(kai, emulator, model, clock, work)
            finally:
                stopping.set()
                await running
