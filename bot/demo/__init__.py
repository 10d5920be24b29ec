"""A Telegram of our own: the Bot API with its checks and limits, and the people who use it.

    emulator = Emulator()
    alice = emulator.person(id=7, name="Alice")
    async with serve(emulator) as base_url:            # TELEGRAM_API_URL, with emulator.token as the token
        alice.send("/start")
        await alice.chat.expect("Hello")               # waits for the bot's message, without polling
        alice.send("restart nginx")
        card = await alice.chat.expect("Run this?")
        emulator.fail("editMessageText", 429, retry_after=3)
        toast = await alice.press("Approve", card).answered()
        assert emulator.calls("sendMessage")[0]["chat_id"] == 7
        print(alice.screen())                          # what Alice sees now

In one process, without sockets: `HTTPXRequest(httpx_kwargs={"transport": emulator.transport()})`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.demo.clock import VirtualClock
    from bot.demo.emulator import Emulator
    from bot.demo.faults import close, hang, refuse, slow
    from bot.demo.loopback import serve
    from bot.demo.people import Person

__all__ = ["Emulator", "Person", "VirtualClock", "close", "hang", "refuse", "serve", "slow"]

_HOMES = {
    "Emulator": "emulator",
    "Person": "people",
    "VirtualClock": "clock",
    "close": "faults",
    "hang": "faults",
    "refuse": "faults",
    "serve": "loopback",
    "slow": "faults",
}


def __getattr__(name: str) -> object:
    # Imported when first used: `python -m bot.demo` must come far enough to say which package is missing.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"bot.demo.{_HOMES[name]}"), name)
