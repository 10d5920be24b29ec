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

from bot.demo.clock import VirtualClock
from bot.demo.emulator import Emulator
from bot.demo.faults import close, hang, refuse, slow
from bot.demo.loopback import serve
from bot.demo.people import Person

__all__ = ["Emulator", "Person", "VirtualClock", "close", "hang", "refuse", "serve", "slow"]
