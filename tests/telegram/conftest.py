"""The emulator with Alice and Bob, a real Bot on it, a real store, and the parts in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from telegram import Bot
from telegram.request import HTTPXRequest

from bot.demo import Emulator, Person
from bot.messages import Conversation
from bot.store.base import Approval, Effect
from bot.store.sqlite import SqliteStore
from bot.telegram.outbox import Outbox
from bot.telegram.send_gate import Rates, SendGate

HERE = Conversation(7)
FAST = Rates(private=1000, private_burst=1000, group=1000, group_burst=1000, overall=10_000)


def question(approval_id: str = "a1", **changes: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": approval_id,
        "conversation": HERE,
        "call_id": f"call-{approval_id}",
        "digest": "0123456789abcdef" * 4,
        "tool": "run_in_terminal",
        "command": "rm -rf build",
        "cwd": "/srv",
        "reasons": ("deletes files",),
        "explanation": "to build afresh",
        "asker_id": 7,
        "asker_name": "Alice",
        "created_at": 1_700_000_000.0,
        "expires_at": 4_000_000_000.0,
    }
    return Approval(**fields | changes)


def card_of(approval: Approval, where: Conversation = HERE) -> Effect:
    return Effect(f"card:{approval.id}:{where.chat_id}", where, "card", {"approval_id": approval.id})


def saying(text: str, where: Conversation = HERE, key: str = "", **more: object) -> Effect:
    return Effect(key or f"answer:{text[:60]}:{where}", where, "answer", {"text": text, **more})


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(flood=False, repeats_slow_down=False)


@pytest.fixture
def alice(emulator: Emulator) -> Person:
    return emulator.person(id=7, name="Alice", username="alice", started=True)


@pytest.fixture
def bob(emulator: Emulator) -> Person:
    return emulator.person(id=8, name="Bob", started=True)


@asynccontextmanager
async def bot_on(
    base_url: str,
    token: str,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    read_timeout: float = 5.0,
    initialize: bool = True,
) -> AsyncIterator[Bot]:
    requests = [
        HTTPXRequest(read_timeout=read_timeout, httpx_kwargs={"transport": transport} if transport else {})
        for _ in range(2)
    ]
    bot = Bot(
        token,
        base_url=f"{base_url}/bot",
        base_file_url=f"{base_url}/file/bot",
        request=requests[0],
        get_updates_request=requests[1],
    )
    if not initialize:
        for request in requests:
            await request.initialize()
    try:
        if initialize:
            await bot.initialize()
        yield bot
    finally:
        await bot.shutdown()
        for request in requests:
            await request.shutdown()


@pytest.fixture
async def bot(emulator: Emulator) -> AsyncIterator[Bot]:
    """In this process, without sockets: see `bot_on` for real ones."""
    async with bot_on("http://telegram.test", emulator.token, transport=emulator.transport()) as opened:
        yield opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore.open(tmp_path / "kai.db") as opened:
        yield opened


@dataclass(slots=True)
class Office:
    """An outbox at work, and what it told its owner."""

    outbox: Outbox
    store: SqliteStore
    gate: SendGate
    undeliverable: list[str] = field(default_factory=list)
    migrations: list[tuple[int, int]] = field(default_factory=list)
    shown: list[Conversation] = field(default_factory=list)

    async def post(self, *effects: Effect) -> None:
        await self.store.enqueue(effects)

    async def ask(self, approval: Approval, *where: Conversation) -> None:
        await self.store.ask([approval], [card_of(approval, place) for place in where or (HERE,)])

    async def done(self, within: float = 5.0) -> None:
        """Wait until nothing is left to send."""
        async with asyncio.timeout(within):
            while await self.store.outbox_size():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)


OpenOffice = Callable[[Bot], AbstractAsyncContextManager[Office]]


@pytest.fixture
def open_office(store: SqliteStore) -> OpenOffice:
    """Start an outbox on the test's store; leaving it is how a process ends."""

    @asynccontextmanager
    async def opened(bot: Bot) -> AsyncIterator[Office]:
        async def undeliverable(approval_id: str) -> None:
            at_work.undeliverable.append(approval_id)

        async def migrated(old: int, new: int) -> None:
            at_work.migrations.append((old, new))
            await store.migrate_chat(old, new)

        gate = SendGate(FAST)
        outbox = Outbox(
            bot=bot,
            store=store,
            gate=gate,
            language="en",
            redact=lambda text: text,
            undeliverable=undeliverable,
            migrated=migrated,
            card_shown=lambda conversation: at_work.shown.append(conversation),
        )
        at_work = Office(outbox, store, gate)
        running = asyncio.create_task(outbox.run())
        try:
            yield at_work
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await gate.close()

    return opened


@pytest.fixture
async def office(open_office: OpenOffice, bot: Bot, alice: Person) -> AsyncIterator[Office]:
    async with open_office(bot) as opened:
        yield opened


async def settle(condition: Callable[[], bool], within: float = 5.0) -> None:
    """Wait until something has become true."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - whatever is waited for tells nobody
            await asyncio.sleep(0.005)


async def end(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


__all__ = ["Awaitable", "Office", "OpenOffice", "bot_on", "card_of", "end", "question", "saying", "settle"]
