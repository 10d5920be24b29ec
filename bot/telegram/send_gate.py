"""One gate per chat through which everything sent to it passes, most urgent first.

Telegram's limits are unspecified and differ by bot: about one message a second in a chat with short bursts,
20 a minute in a group (edits count), about 30 a second over all chats; ignoring a 429 lengthens the penalty.
Source: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
"""

import asyncio
import contextlib
import heapq
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import Any, TypeVar

from telegram.error import RetryAfter, TelegramError

log = logging.getLogger(__name__)


class Priority(IntEnum):
    """Lower goes first. Callback answers don't queue at all; see `SendGate.answer`."""

    APPROVAL = 0
    ANSWER = 1
    ERROR = 2
    PROGRESS = 3
    TYPING = 4


class Dropped(Exception):
    """A droppable sending was not made: the chat is being held back."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Sendings a second, and how many may go at once after a pause."""

    private: float = 1.0
    private_burst: int = 3
    group: float = 20 / 60
    group_burst: int = 5
    overall: float = 30.0


@dataclass(slots=True)
class Bucket:
    rate: float
    burst: float
    tokens: float = field(init=False)
    filled_at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def wait(self, now: float, wanted: int = 1) -> float:
        """Return the seconds until so many tokens are there."""
        self.tokens = min(self.burst, self.tokens + (now - self.filled_at) * self.rate)
        self.filled_at = now
        return max(0.0, (wanted - self.tokens) / self.rate)

    def take(self) -> None:
        self.tokens -= 1


@dataclass(slots=True)
class Chat:
    bucket: Bucket
    waiting: list[tuple[int, int, "Sending"]] = field(default_factory=list)
    held_until: float = 0.0
    task: asyncio.Task[None] | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Sending:
    send: Callable[[], Awaitable[Any]]
    done: asyncio.Future[Any]
    droppable: bool
    counts: bool


T = TypeVar("T")


class SendGate:
    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._overall = Bucket(self._rates.overall, max(1.0, self._rates.overall))
        self._chats: dict[int, Chat] = {}
        self._order = itertools.count()
        self._left: set[asyncio.Task[None]] = set()

    async def run(
        self,
        chat_id: int,
        priority: Priority,
        send: Callable[[], Awaitable[T]],
        *,
        droppable: bool = False,
        counts: bool = True,
    ) -> T:
        """Call `send` when the chat may be sent to, and return what it returned.

        A 429 holds back this chat, and only this chat, for as long as Telegram said; `send` is then called
        again, so it must be a function that makes a new request each time.

        Args:
            droppable: Make it at once or not at all; it never takes the last place of a burst.
            counts: Whether it uses up the chat's rate (typing doesn't).

        Raises:
            Dropped: It was droppable and could not be made at once.
            telegram.error.TelegramError: Whatever `send` raised, but RetryAfter.
        """
        chat = self._chat(chat_id)
        sending = Sending(send, asyncio.get_running_loop().create_future(), droppable, counts)
        if droppable and self._delay(chat, sending) > 0:
            raise Dropped
        heapq.heappush(chat.waiting, (priority, next(self._order), sending))
        chat.arrived.set()
        if chat.task is None:
            chat.task = asyncio.create_task(self._work(chat))
        result: T = await sending.done
        return result

    def leave(
        self, chat_id: int, priority: Priority, send: Callable[[], Awaitable[object]], *, counts: bool = True
    ) -> None:
        """Have something sent that nobody waits for; when it fails, only the log says so."""

        async def left() -> None:
            try:
                await self.run(chat_id, priority, send, counts=counts)
            except TelegramError as exc:
                log.info("something nobody waited for was not sent: %s", exc)

        task = asyncio.create_task(left())
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    def answer(self, send: Callable[[], Awaitable[object]]) -> None:
        """Answer a callback query: at once, as good as possible, whatever the state of its chat.

        Nobody waits for it: a slow answer to one press must not hold up the next.
        """

        async def answer() -> None:
            try:
                await send()
            except TelegramError as exc:
                log.info("a callback answer did not arrive: %s", exc)

        task = asyncio.create_task(answer())
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    def held(self) -> int:
        """Count the chats that Telegram holds back now."""
        now = asyncio.get_running_loop().time()
        return sum(chat.held_until > now for chat in self._chats.values())

    async def close(self) -> None:
        """Stop sending; what still waits is cancelled."""
        tasks = [*self._left, *(chat.task for chat in self._chats.values() if chat.task)]
        for chat in self._chats.values():
            for _, _, sending in chat.waiting:
                sending.done.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _chat(self, chat_id: int) -> Chat:
        if chat_id not in self._chats:
            group = chat_id < 0
            rate, burst = (
                (self._rates.group, self._rates.group_burst)
                if group
                else (self._rates.private, self._rates.private_burst)
            )
            self._chats[chat_id] = Chat(Bucket(rate, burst))
        return self._chats[chat_id]

    def _delay(self, chat: Chat, sending: Sending) -> float:
        """Return the seconds until this may be sent."""
        now = asyncio.get_running_loop().time()
        if chat.held_until > now:
            return chat.held_until - now
        if not sending.counts:
            return 0.0
        spare = 2 if sending.droppable else 1
        return max(chat.bucket.wait(now, spare), self._overall.wait(now))

    async def _work(self, chat: Chat) -> None:
        while chat.waiting:
            chat.arrived.clear()
            priority, order, sending = chat.waiting[0]
            if sending.done.done():
                heapq.heappop(chat.waiting)
                continue
            if delay := self._delay(chat, sending):
                if sending.droppable:
                    heapq.heappop(chat.waiting)
                    sending.done.set_exception(Dropped())
                    continue
                with contextlib.suppress(TimeoutError):
                    # Something more urgent may arrive while we wait.
                    await asyncio.wait_for(chat.arrived.wait(), delay)
                continue
            heapq.heappop(chat.waiting)
            if sending.counts:
                chat.bucket.take()
                self._overall.take()
            await self._send(chat, priority, order, sending)
        chat.task = None

    async def _send(self, chat: Chat, priority: int, order: int, sending: Sending) -> None:
        try:
            result = await sending.send()
        except RetryAfter as exc:
            seconds = retry_after(exc)
            chat.held_until = asyncio.get_running_loop().time() + seconds
            log.warning("telegram holds a chat back for %g s", seconds)
            if not sending.droppable:
                heapq.heappush(chat.waiting, (priority, order, sending))
            elif not sending.done.done():
                sending.done.set_exception(Dropped())
        except asyncio.CancelledError:
            sending.done.cancel()
            raise
        except Exception as exc:
            if not sending.done.done():
                sending.done.set_exception(exc)
        else:
            if not sending.done.done():
                sending.done.set_result(result)


def retry_after(exc: RetryAfter) -> float:
    """Return the seconds of a 429."""
    seconds = exc.retry_after
    return seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
