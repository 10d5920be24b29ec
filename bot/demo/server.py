"""`python -m bot.demo.server`: the emulator as its own process, moved through `/sim` (see `bot.demo.sim`)."""

import argparse
import asyncio
import signal
import sys

from bot.demo.emulator import TOKEN, Emulator
from bot.demo.loopback import serve


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; prints one line, `listening on URL`, when it is ready."""
    options = read_options(arguments)
    asyncio.run(run(options))


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bot.demo.server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--token", default=TOKEN, help="the only token accepted")
    parser.add_argument("--username", default="kai_test_bot", help="the bot's, without @")
    parser.add_argument("--no-flood", action="store_true", help="never answer 429 by itself")
    parser.add_argument("--no-privacy", action="store_true", help="the bot reads everything in groups")
    parser.add_argument("--topics", action="store_true", help="topics in private chats")
    parser.add_argument("--calls-kept", type=int, default=10_000, help="how many calls are remembered")
    parser.add_argument(
        "--person",
        action="append",
        default=[],
        metavar="ID:NAME",
        help="somebody who has started the bot; may be repeated",
    )
    return parser.parse_args(arguments)


async def run(options: argparse.Namespace) -> None:
    """Serve with the given options until a signal comes."""
    emulator = Emulator(
        options.token,
        username=options.username,
        flood=not options.no_flood,
        privacy=not options.no_privacy,
        topics=options.topics,
        calls_kept=options.calls_kept,
    )
    for person in options.person:
        number, _, name = person.partition(":")
        emulator.person(int(number), name or "Alice", started=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with serve(emulator, options.port) as url:
        sys.stdout.write(f"listening on {url}\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    main()
