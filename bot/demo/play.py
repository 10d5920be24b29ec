"""`make demo`: an emulated Telegram with a chat page, and the real bot as its own process.

What the bot does there is real: its commands run on this machine, as whoever started the demo. The chats and
what the bot remembers live as long as the demo does.
"""

import argparse
import asyncio
import contextlib
import os
import secrets
import signal
import string
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config import SETTINGS
from bot.demo.changes import Changes
from bot.demo.choice import Choice, choose
from bot.demo.messages import Json
from bot.errors import ConfigError
from bot.tools.settings import tool_setting_names

if TYPE_CHECKING:
    from bot.demo.emulator import Emulator

PORT = 7788
READY_WITHIN = 50.0
"""Seconds until a bot that does not ask for updates is taken for broken."""
STOP_WITHIN = 10.0
LOG_SHOWN = 15
"""Lines of the bot's log shown when it could not start."""

ALICE, BOB = 1001, 1002
GROUP, FORUM = -1_001_000_000_001, -1_001_000_000_002

Say = Callable[[str], None]


class DemoError(Exception):
    """The demo can't run; the text says what to do."""


@dataclass(slots=True)
class BotProcess:
    """The bot, as `bot.demo.web.Bot` asks.

    Attributes:
        environ: Of the process, whole.
        log: Gets everything it prints, all starts one after the other.
        starts: How often it was started.
        code: Exit code of the last process; negative for a signal; None while none has ended.
    """

    environ: Mapping[str, str]
    env_file: str
    log: Path
    changes: Changes = field(default_factory=Changes)
    starts: int = 0
    code: int | None = None
    _process: asyncio.subprocess.Process | None = None
    _watching: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def state(self) -> Json:
        pid = self._process.pid if self._process is not None else None
        return {"running": self.running, "pid": pid, "starts": self.starts, "code": self.code}

    async def start(self) -> None:
        if self.running:
            return
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "--env-file", self.env_file, "run",
                env=dict(self.environ), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,  # a Ctrl-C is for us; we end the bot in good order
            )  # fmt: skip
        self.starts += 1
        self._watching = asyncio.create_task(self._watch(self._process))
        self.changes.announce()

    async def kill(self) -> None:
        await self._end(signal.SIGKILL, None)

    async def stop(self) -> None:
        """Ask it to end, and end it when it does not."""
        await self._end(signal.SIGTERM, STOP_WITHIN)

    async def _end(self, how: signal.Signals, patience: float | None) -> None:
        if self._process is None or self._watching is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        try:
            await asyncio.wait_for(asyncio.shield(self._watching), patience)
        except TimeoutError:
            self._process.kill()
            await self._watching

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        self.code = await process.wait()
        self.changes.announce()


@dataclass(frozen=True, slots=True)
class Demo:
    """What runs: `url` is the page's, with its secret."""

    url: str
    emulator: "Emulator"
    bot: BotProcess
    work: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the demo until Ctrl-C; return the exit code."""
    options = read_options(arguments)
    try:
        asyncio.run(run(options, say))
    except DemoError as error:
        sys.stderr.write(f"demo: {error}\n")
        return 1
    except ConfigError as error:
        sys.stderr.write("demo: these settings of the model need mending:\n")
        sys.stderr.writelines(f"  - {problem}\n" for problem in error.problems)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bot.demo", description="Kai in a chat page, no account.")
    parser.add_argument(
        "--model",
        default="",
        metavar="MODEL",
        help="local, guide or provider:model; left out: what is configured, else Ollama, else guide",
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"0 takes a free one (default: {PORT})")
    parser.add_argument(
        "--env-file", type=Path, default=Path(".env"), help="where a model may be set up (default: .env)"
    )
    return parser.parse_args(arguments)


async def run(options: argparse.Namespace, say: Say) -> None:
    """Run the demo until SIGINT, SIGTERM or SIGHUP.

    Raises:
        DemoError: It can't start.
        ConfigError: The model asked for can't be used as it is set up.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    work = asyncio.create_task(_choose_and_play(options, say, stopping))
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not work.done():  # stopped by a person: while it ran it leaves by itself, while it starts it is cut
        await asyncio.wait({work}, timeout=STOP_WITHIN + 5)
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work


async def _choose_and_play(options: argparse.Namespace, say: Say, stopping: asyncio.Event) -> None:
    choosing = asyncio.create_task(choose(options.model, options.env_file, os.environ, say))
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait({choosing, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not choosing.done():
        choosing.cancel()
        await asyncio.gather(choosing, return_exceptions=True)
        return
    choice = choosing.result()
    async with play(choice, port=options.port, base=os.environ) as demo:
        say(f"open    {demo.url}")
        say(f"model   {choice.model} ({choice.why})")
        say(f"files   {demo.work}: commands start here and really run on this machine")
        say(f"log     {demo.bot.log}")
        say("Ctrl-C ends it and forgets the chats.")
        await stopping.wait()
        say("stopping")


@asynccontextmanager
async def play(choice: Choice, *, port: int = 0, base: Mapping[str, str]) -> AsyncIterator[Demo]:
    """Start the emulated Telegram, its page and the bot; on leaving all of it has ended.

    Args:
        base: The environment the bot's is made from; bot settings in it count only when they belong to the
            model.

    Raises:
        DemoError: The port is taken, a package is missing, or the bot does not come up.
    """
    try:
        from bot.demo.emulator import Emulator
        from bot.demo.loopback import serve
        from bot.demo.web import new_secret, page_app
    except ModuleNotFoundError as error:
        raise DemoError(
            f"the package {error.name!r} is missing; get what the demo needs: pip install 'kai-bot[demo]'"
        ) from None
    with tempfile.TemporaryDirectory(prefix="kai-demo-", ignore_cleanup_errors=True) as folder:
        emulator = Emulator(new_token(), username="kai_demo_bot", privacy=False)
        people(emulator)
        work = Path(folder) / "work"
        furnish(work)
        bot = BotProcess({}, choice.env_file, Path(folder) / "bot.log")
        secret = new_secret()
        app = page_app(emulator, bot, secret, {"model": choice.model, "why": choice.why})
        async with contextlib.AsyncExitStack() as stack:
            try:
                url = await stack.enter_async_context(serve(emulator, port, app=app))
            except OSError as error:
                raise DemoError(
                    f"port {port} of 127.0.0.1 can't be had: {error.strerror}; another demo may have it. "
                    f"Choose another: make demo PORT={port + 1 if port < 65535 else 0}"
                ) from None
            bot.environ = bot_environ(base, choice, emulator.token, url, Path(folder), work)
            await bot.start()
            stack.push_async_callback(bot.stop)
            await came_up(emulator, bot)
            emulator.person(ALICE).start()
            yield Demo(f"{url}/{secret}/", emulator, bot, work)


def new_token() -> str:
    """Return a bot token of the right shape that nobody can guess."""
    letters = string.ascii_letters + string.digits
    return "4242424242:" + "".join(secrets.choice(letters) for _ in range(35))


def people(emulator: "Emulator") -> None:
    """Let Alice, who may approve, and Bob, who may not, meet the bot: alone, in a group and in a forum."""
    alice = emulator.person(ALICE, "Alice", username="alice")
    bob = emulator.person(BOB, "Bob", username="bob", started=True)
    emulator.supergroup(GROUP, "Ops", [alice, bob])
    forum = emulator.supergroup(FORUM, "Team with topics", [alice, bob], forum=True)
    for name in ("Servers", "Backups"):
        alice.create_topic(forum, name)


def furnish(work: Path) -> None:
    """Put a few files where commands start, so that there is something to look at and to delete."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    files = {
        "notes.txt": "Things to look at:\n- disk space\n- failed services\n- updates\n",
        "old.tmp": "Nobody needs this file.\n",
        "logs/demo.log": f"{now} INFO the demo was started\n{now} WARNING this file is small\n",
        "site/index.html": "<!doctype html>\n<title>Hello</title>\n<p>Hello.\n",
    }
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, encoding="utf-8")


def bot_environ(
    base: Mapping[str, str], choice: Choice, token: str, url: str, folder: Path, work: Path
) -> dict[str, str]:
    """Return the bot's environment: whatever is around, its own settings replaced."""
    # A demo must not spend: the wallet is a setting too.
    own = {*SETTINGS, *tool_setting_names()} - {"LANGUAGE"}
    kept = {name: value for name, value in base.items() if name not in own}
    kept |= dict(choice.environ) | {
        "TELEGRAM_BOT_TOKEN": token,
        "TELEGRAM_API_URL": url,
        "ADMIN_IDS": str(ALICE),
        "ALLOWED_IDS": f"{BOB},{GROUP},{FORUM}",
        "LLM_MODEL": choice.model,
        "STATE_DIR": str(folder / "state"),
        "WORK_DIR": str(work),
        "PYTHONUNBUFFERED": "1",
    }
    for name in ("CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
        if name != "CREDENTIALS_DIRECTORY" or not choice.configured:
            kept.pop(name, None)
    return kept


async def came_up(emulator: "Emulator", bot: BotProcess) -> None:
    """Wait until the bot asks for updates.

    Raises:
        DemoError: It ended before, or takes too long.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + READY_WITHIN
    while loop.time() < deadline and bot.running:
        with contextlib.suppress(AssertionError):
            await emulator.expect_poll(0.3)
            return
    lines = bot.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_SHOWN:]
    how = f"ended with code {bot.code}" if not bot.running else f"did not come up within {READY_WITHIN:g} s"
    raise DemoError("\n  ".join([f"the bot {how}; the end of its log:", *lines]))
