"""Run one question against a store in a process of its own."""

import asyncio
import sys
from pathlib import Path

import bot.messages
import bot.store.base
from bot.clock import SettableClock
from tests.store.backends import BACKENDS

ROOT = Path(__file__).parents[2]


class SecondProcess:
    def __init__(self, backend: str, folder: Path) -> None:
        self._arguments = ("-m", __name__, backend, str(folder))

    async def sees(self, question: str) -> str:
        """Return the repr of what `store.<question>` returns there."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, *self._arguments, question, stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode()


async def answer(backend: str, folder: Path, question: str) -> object:
    async with BACKENDS[backend](folder, SettableClock()) as store:
        names = vars(bot.messages) | vars(bot.store.base) | {"store": store}
        return await eval(f"store.{question}", names)


if __name__ == "__main__":
    sys.stdout.write(repr(asyncio.run(answer(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))))
