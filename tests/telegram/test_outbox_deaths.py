"""A process that sends an answer dies at each moment there is, again and again (issue 5, 2; design 8).

What must hold in the end, whatever came between: the answer is in the chat, formatted, in a message whose id
Telegram gave; at most twice, and then one of the two says that it may be a repeat.
"""

import asyncio
import itertools
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import httpx
import pytest
from telegram import Bot

from bot.demo import Emulator, Person
from bot.messages import Conversation
from bot.store.base import Effect, Store
from bot.store.sqlite import SqliteStore
from bot.telegram.outbox import Outbox
from bot.telegram.send_gate import SendGate
from tests.store.check import check
from tests.telegram.conftest import FAST, bot_on

TEXT = "**All** is well."
FINAL = "All is well."
MARK = "↻ (may be a repeat"
WRITES = ("sending", "not_sent", "part_sent", "stand_in", "give_up")

Before = Literal["nothing shown", "shown", "shown, but not known", "lost, but not known"]
"""What a process that is dead already has shown of the answer while it was being written."""
BEFORE: Sequence[Before] = ("nothing shown", "shown", "shown, but not known", "lost, but not known")


@dataclass(slots=True)
class Life:
    """A process: each moment is one at which it may die; from then on it does nothing more.

    Attributes:
        dies_at: The number of a moment, from 0; None when it lives on.
    """

    dies_at: int | None
    moments: Iterator[int] = field(default_factory=itertools.count)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def moment(self) -> None:
        if next(self.moments) == self.dies_at:
            self.over.set()
        if self.over.is_set():
            await asyncio.Event().wait()


class MortalStore:
    """A store in one life: it may end before or after each commit."""

    def __init__(self, store: SqliteStore, life: Life) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Awaitable[object]] = getattr(self._store, name)
        if name not in WRITES:
            return method

        async def write(*args: object, **more: object) -> object:
            await self._life.moment()
            written = await method(*args, **more)
            await self._life.moment()
            return written

        return write


class MortalTransport(httpx.AsyncBaseTransport):
    """The way to Telegram in one life: it may end before a request leaves or before its answer is there."""

    def __init__(self, emulator: Emulator, life: Life) -> None:
        self._inner = emulator.transport()
        self._life = life

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("getMe"):
            return await self._inner.handle_async_request(request)
        await self._life.moment()
        response = await self._inner.handle_async_request(request)
        await self._life.moment()
        return response


@dataclass(slots=True)
class Street:
    """One store and one Telegram; each story has a person of its own."""

    store: SqliteStore
    emulator: Emulator
    path: Path
    bot: Bot
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(100))

    async def tell(self, before: Before, deaths: Sequence[int], text: str = TEXT) -> "Story":
        """Answer a new person through as many deaths as there are, and then one life to the end."""
        person = self.emulator.person(next(self.numbers), "Somebody", started=True)
        where = Conversation(person.id)
        await self.show(before, where)
        effect = Effect(f"answer:{person.id}", where, "answer", {"text": text, "preview": True})
        await self.store.enqueue([effect])
        died = 0
        for dies_at in (*deaths, None):
            died += await self.live(Life(dies_at))
            if not await self.store.outbox_size():
                break
        return Story(person, died, self.row(effect.key))

    async def show(self, before: Before, where: Conversation) -> None:
        if before == "nothing shown":
            return
        preview = await self.store.begin_preview(where, "answer")
        if before != "lost, but not known":
            sent = await self.bot.send_message(where.chat_id, "All")
            if before == "shown":
                await self.store.preview_sent(preview.id, sent.message_id)

    async def live(self, life: Life) -> bool:
        """Run one process until it dies or everything is sent; return whether it died."""
        transport = MortalTransport(self.emulator, life)
        async with bot_on("http://telegram.test", self.emulator.token, transport=transport) as bot:
            gate = SendGate(FAST)
            outbox = Outbox(
                bot=bot,
                store=cast(Store, MortalStore(self.store, life)),
                gate=gate,
                language="en",
                redact=str,
                undeliverable=nobody,
                migrated=moved,
                card_shown=lambda _: None,
            )
            running = asyncio.create_task(outbox.run())
            dying = asyncio.create_task(life.over.wait())
            done = asyncio.create_task(self.empty())
            await asyncio.wait([dying, done], return_when=asyncio.FIRST_COMPLETED, timeout=5)
            for task in (running, dying, done):
                task.cancel()
            await asyncio.gather(running, dying, done, return_exceptions=True)
            await gate.close()
        return life.over.is_set()

    async def empty(self) -> None:
        while await self.store.outbox_size():  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.001)

    def row(self, key: str) -> tuple[str, str, bool]:
        """Return what the file says of an effect: its message ids, its error, and whether it is done."""
        with closing(sqlite3.connect(self.path)) as db:
            sql = "SELECT sent, error, done_at IS NOT NULL FROM outbox WHERE key = ?"
            [(sent, error, done)] = db.execute(sql, (key,)).fetchall()
        return sent, error, bool(done)


@dataclass(frozen=True, slots=True)
class Story:
    person: Person
    died: int
    row: tuple[str, str, bool]

    def wrong(self, before: Before) -> list[str]:
        """Return what must not be."""
        messages = [message for message in self.person.chat.messages if message.sender.is_bot]
        copies = [message for message in messages if FINAL in message.text]
        fresh = [message for message in copies if MARK not in message.text]
        told = {
            "never there": not copies,
            "three times there": len(copies) > 2,
            "twice there without a mark": len(fresh) > 1,
            "not formatted": any(message.covered("bold") != ["All"] for message in copies),
            "closed without its id": self.row != (f"[{copies[-1].id if copies else '?'}]", "", True),
            "beside what was shown": before == "shown" and len(messages) > 1,
            "marked though nobody died": not self.died and "known" not in before and copies != fresh,
        }
        return [wrong for wrong, is_so in told.items() if is_so]


async def nobody(_: str) -> None:
    raise AssertionError("there are no cards here")


async def moved(old: int, new: int) -> None:
    raise AssertionError("no chat moves here")


@asynccontextmanager
async def street_in(folder: Path) -> AsyncIterator[Street]:
    emulator = Emulator(flood=False, repeats_slow_down=False)
    path = folder / "kai.db"
    transport = emulator.transport()
    async with (
        SqliteStore.open(path) as store,
        bot_on("http://telegram.test", emulator.token, transport=transport) as bot,
    ):
        yield Street(store, emulator, path, bot)


@pytest.mark.parametrize("before", BEFORE)
async def test_dying_at_any_moment_and_then_at_any_moment_loses_no_answer_and_shows_no_third(
    before: Before, tmp_path: Path
) -> None:
    wrong = {}
    async with street_in(tmp_path) as street:
        for first in itertools.count():
            second_death = False
            for second in itertools.count():
                story = await street.tell(before, [first, second])
                wrong[first, second] = story.wrong(before)
                second_death |= story.died == 2
                if story.died < 2:
                    break
            if not second_death and story.died == 0:
                break

    assert len(wrong) > 15
    assert {deaths: what for deaths, what in wrong.items() if what} == {}
    assert check(tmp_path / "kai.db") == []


async def test_dying_many_times_in_a_row_loses_no_answer_and_shows_no_third(tmp_path: Path) -> None:
    dice = random.Random(8)
    wrong = []
    async with street_in(tmp_path) as street:
        for _ in range(60):
            before, deaths = dice.choice(BEFORE), [dice.randrange(8) for _ in range(dice.randint(3, 7))]
            story = await street.tell(before, deaths)
            wrong += [(before, deaths, what) for what in story.wrong(before)]

    assert wrong == []


async def test_each_part_of_a_long_answer_is_there_through_deaths_in_the_middle_of_it(
    tmp_path: Path,
) -> None:
    parts = ["one " * 900, "two " * 900]
    wrong = []
    async with street_in(tmp_path) as street:
        for deaths in itertools.product(range(0, 18, 3), range(1, 18, 3)):
            story = await street.tell("nothing shown", deaths, "\n\n".join(parts))
            texts = [message.text for message in story.person.chat.messages]
            for word in ("one one", "two two"):
                copies = [text for text in texts if word in text]
                if not 1 <= len(copies) <= 2 or sum(MARK not in text for text in copies) > 1:
                    wrong.append((deaths, word, len(copies)))

    assert wrong == []
    assert check(tmp_path / "kai.db") == []
