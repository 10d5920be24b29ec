"""Marks on a person's message: received, done. Worth seeing, never worth waiting for.

Allowed emoji: https://core.telegram.org/bots/api#reactiontypeemoji (a check mark is not among them).
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass

from telegram import Bot
from telegram.error import TelegramError

from bot.telegram.send_gate import Dropped, Priority, SendGate

log = logging.getLogger(__name__)

RECEIVED = "👀"
DONE = "👌"
AFTER = 1.0
"""Seconds: an answer that comes sooner is mark enough."""

AT_ONCE = 5
REMEMBERED = 1000


@dataclass(slots=True)
class Marks:
    """How a turn went, for its mark. Attributes: done: It was answered."""

    done: bool = False


class Reactions:
    def __init__(self, bot: Bot, gate: SendGate, *, on: bool = True, after: float = AFTER) -> None:
        self._bot = bot
        self._gate = gate
        self._on = on
        self._after = after
        self._tasks = set[asyncio.Task[None]]()
        self._marked = set[tuple[int, int]]()

    def received(self, chat_id: int, message_id: int) -> None:
        """Mark a message as seen; left out when many come at once."""
        if self._on and (chat_id, message_id) not in self._marked and len(self._tasks) < AT_ONCE:
            if len(self._marked) >= REMEMBERED:
                self._marked.clear()  # of messages that were dropped or never answered
            self._marked.add((chat_id, message_id))
            self._spawn(self._set(chat_id, message_id, RECEIVED))

    @contextlib.asynccontextmanager
    async def turn(self, chat_id: int, asked_in: Callable[[], Awaitable[int | None]]) -> AsyncIterator[Marks]:
        """Mark the message of a turn while it runs, and when it is done; a quick turn is not marked."""
        marks, began = Marks(), asyncio.get_running_loop().time()

        async def seen() -> None:
            if asked := await asked_in():
                self.received(chat_id, asked)

        timer = asyncio.get_running_loop().call_later(self._after, lambda: self._spawn(seen()))
        try:
            yield marks
        finally:
            timer.cancel()
            slow = asyncio.get_running_loop().time() - began >= self._after
            if marks.done and (slow or self._marked) and (asked := await asked_in()):
                if self._on and (slow or (chat_id, asked) in self._marked):
                    self._spawn(self._set(chat_id, asked, DONE))
                self._marked.discard((chat_id, asked))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set(self, chat_id: int, message_id: int, emoji: str) -> None:
        async def react() -> object:
            return await self._bot.set_message_reaction(chat_id, message_id, emoji)

        try:
            await self._gate.run(chat_id, Priority.TYPING, react, droppable=True, counts=False)
        except (Dropped, TelegramError) as exc:
            log.debug("a message was not marked: %r", exc)
