"""Receiving: committed before confirmed, handed out once, every trouble named (T4, T5, design 7)."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from telegram import Bot
from telegram.error import InvalidToken

from bot.clock import SettableClock
from bot.demo import Emulator, Person, VirtualClock, close, hang, refuse, serve
from bot.errors import StoreError
from bot.store.base import StoredUpdate, UpdateIds
from bot.store.sqlite import SqliteStore
from bot.telegram.poller import REFUSALS, Poller
from tests.telegram.conftest import bot_on, end, settle


class Desk:
    """Keeps what the poller hands out."""

    def __init__(self) -> None:
        self.updates: list[StoredUpdate] = []

    async def handle(self, update: StoredUpdate) -> None:
        self.updates.append(update)

    def texts(self) -> list[str]:
        return [json.loads(update.raw)["message"]["text"] for update in self.updates]


@asynccontextmanager
async def polling(
    bot: Bot, store: SqliteStore, desk: Desk, *, timeout: float = 5, grace: float = 5
) -> AsyncIterator[Poller]:
    poller = Poller(bot=bot, inbox=store, handle=desk.handle, timeout=timeout, grace=grace)
    running = asyncio.create_task(poller.run())
    try:
        yield poller
    finally:
        await end(running)


async def test_what_is_said_is_handed_out_in_order(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    alice.send("one")
    async with polling(bot, store, desk):
        alice.send("two")
        await settle(lambda: len(desk.updates) == 2)
        alice.send("three")
        await settle(lambda: len(desk.updates) == 3)

    assert desk.texts() == ["one", "two", "three"]


async def test_the_raw_update_is_kept_as_it_came(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    alice.send("schön 😀")
    async with polling(bot, store, desk):
        await settle(lambda: bool(desk.updates))

    [stored] = await store.unhandled()
    assert stored == desk.updates[0]
    assert json.loads(stored.raw)["message"]["text"] == "schön 😀"


async def test_an_update_is_committed_before_it_is_confirmed(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    class Failing(Inbox):
        async def receive(self, updates: Sequence[StoredUpdate], at: float) -> list[int]:
            self.tried += 1
            raise OSError("disk full")

    inbox, desk = Failing(store), Desk()
    alice.send("precious")
    poller = Poller(bot=bot, inbox=inbox, handle=desk.handle)
    running = asyncio.create_task(poller.run())
    await settle(lambda: inbox.tried > 0)
    await asyncio.sleep(0.1)
    await end(running)

    assert len(emulator.updates.waiting()) == 1
    assert desk.updates == []


async def test_a_store_that_works_again_loses_nothing(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    class FailingOnce(Inbox):
        async def receive(self, updates: Sequence[StoredUpdate], at: float) -> list[int]:
            self.tried += 1
            if self.tried == 1:
                raise OSError("disk full")
            return await store.receive(updates, at)

    inbox, desk = FailingOnce(store), Desk()
    alice.send("precious")
    running = asyncio.create_task(Poller(bot=bot, inbox=inbox, handle=desk.handle).run())
    await settle(lambda: bool(desk.updates))
    await end(running)

    assert desk.texts() == ["precious"]


class Inbox:
    """The real inbox, but for `receive`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.tried = 0

    async def receive(self, updates: Sequence[StoredUpdate], at: float) -> list[int]:
        return await self._store.receive(updates, at)

    async def unhandled(self) -> list[StoredUpdate]:
        return await self._store.unhandled()

    async def finish_update(self, update_id: UpdateIds, error: str = "") -> None:
        await self._store.finish_update(update_id, error)

    async def last_update_id(self) -> int | None:
        return await self._store.last_update_id()

    async def inbox_size(self) -> int:
        return await self._store.inbox_size()


async def test_the_offset_moves_after_the_commit(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    alice.send("one")
    async with polling(bot, store, desk):
        await settle(lambda: emulator.updates.waiting() == [])

    polls = emulator.calls("getUpdates")
    assert polls[0]["offset"] is None
    assert polls[1]["offset"] == desk.updates[0].update_id + 1


async def test_upd_replay_what_telegram_gives_again_is_handed_out_once(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    before = Desk()
    message = alice.send("once")
    async with polling(bot, store, before):
        await settle(lambda: bool(before.updates))
    emulator.updates.next_id = before.updates[0].update_id
    emulator.updates.push("message", message.wire())
    after = Desk()

    async with polling(bot, store, after):
        alice.send("new")
        await settle(lambda: bool(after.updates))

    assert after.texts() == ["new"]


async def test_an_update_that_cant_be_handed_on_keeps_nobody_else_waiting(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    alice.send("one")
    alice.send("two")
    handed_on = []

    async def handle(update: StoredUpdate) -> None:
        handed_on.append(update.update_id)
        if len(handed_on) == 1:
            raise StoreError("disk full")

    poller = Poller(bot=bot, inbox=store, handle=handle, timeout=5)
    running = asyncio.create_task(poller.run())
    await settle(lambda: len(handed_on) == 2)
    await end(running)

    assert [update.update_id for update in await store.unhandled()] == handed_on
    assert "disk full" in caplog.text


async def test_upd_drop_pending_what_was_said_while_the_bot_was_down_is_handled(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    alice.send("one")
    alice.send("two")
    desk = Desk()

    async with polling(bot, store, desk):
        await settle(lambda: len(desk.updates) == 2)

    assert desk.texts() == ["one", "two"]


async def test_edits_and_presses_are_asked_for(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    async with polling(bot, store, desk):
        await settle(lambda: emulator.updates.polling)
        alice.edit(alice.send("invite Bob"), "invite Rob")
        await settle(lambda: len(desk.updates) == 2)

    assert {"message", "edited_message", "callback_query", "my_chat_member"} <= (
        emulator.updates.allowed or frozenset()
    )


@pytest.mark.parametrize("kind", ["poller", "webhook"])
async def test_both_kinds_of_409_say_what_to_do(
    bot: Bot, store: SqliteStore, emulator: Emulator, kind: str
) -> None:
    async with polling(bot, store, Desk()) as poller:
        await settle(lambda: emulator.updates.polling)
        if kind == "webhook":
            await bot.set_webhook("https://example.org/hook")
        else:
            await bot.get_updates(timeout=0, offset=-1)
            other = asyncio.create_task(bot.get_updates(timeout=5))

        await settle(lambda: bool(poller.trouble))
        if kind == "poller":
            await end(other)

        assert "another program polls with the same token, or a webhook is set" in poller.trouble
        assert "revoke the token" in poller.trouble


async def test_after_a_409_it_goes_on_when_the_other_has_stopped(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    emulator.fail("getUpdates", refuse(409, "Conflict: terminated by other getUpdates request"))
    async with polling(bot, store, desk) as poller:
        alice.send("still here")
        await settle(lambda: bool(desk.updates))

        assert poller.trouble == ""


@pytest.mark.parametrize("status", [401, 404])
async def test_a_token_telegram_does_not_know_ends_it(
    bot: Bot, store: SqliteStore, emulator: Emulator, status: int
) -> None:
    emulator.fail("getUpdates", refuse(status), times=REFUSALS)

    with pytest.raises(InvalidToken):
        await Poller(bot=bot, inbox=store, handle=Desk().handle).run()


async def test_a_single_refusal_of_the_token_may_be_a_proxys(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    emulator.fail("getUpdates", refuse(401), times=REFUSALS - 1)
    alice.send("hello")

    async with polling(bot, store, desk):
        await settle(lambda: bool(desk.updates))

    assert desk.texts() == ["hello"]


async def test_once_the_token_was_known_a_proxy_may_deny_it_for_a_while(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    async with polling(bot, store, desk) as poller:
        await settle(lambda: emulator.updates.polling)
        emulator.fail("getUpdates", refuse(404), times=REFUSALS)  # from the next on
        alice.send("before")
        await settle(lambda: "TELEGRAM_API_URL" in poller.trouble)
        alice.send("after")
        await settle(lambda: len(desk.updates) == 2, within=8)

    assert desk.texts() == ["before", "after"]


@pytest.mark.parametrize(
    "fault",
    [
        refuse(502, body=b"<html>bad gateway</html>"),
        refuse(200, body=b"<html>a captive portal</html>"),
        refuse(200, body=b'{"ok":true,"result":[{"no_update_id":1}]}'),
        refuse(200, body=b'{"ok":true,"result":["not an update"]}'),
        refuse(200, body=b'{"ok":true}'),
        refuse(500),
        close(runs=False),
    ],
    ids=["html", "html with 200", "no id", "no object", "no result", "500", "cut"],
)
async def test_it_outlives(
    bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person, fault: object
) -> None:
    desk = Desk()
    emulator.fail("getUpdates", fault)  # type: ignore[arg-type]
    async with polling(bot, store, desk):
        alice.send("hello")
        await settle(lambda: bool(desk.updates))

    assert desk.texts() == ["hello"]


async def test_a_429_is_waited_for(bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person) -> None:
    desk = Desk()
    emulator.fail("getUpdates", 429, retry_after=1)
    alice.send("hello")
    async with polling(bot, store, desk) as poller:
        await settle(lambda: "holds polling back for 1 s" in poller.trouble)
        await settle(lambda: bool(desk.updates))

    first, second = emulator.calls("getUpdates")[:2]
    assert second.time - first.time >= 1


async def test_net_half_open_a_poll_that_never_ends_is_given_up_and_made_anew(
    store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    emulator.fail("getUpdates", hang())
    alice.send("hello")
    async with (
        serve(emulator) as url,
        bot_on(url, emulator.token) as bot,
        polling(bot, store, desk, timeout=1, grace=0.2) as poller,
    ):
        await settle(lambda: "the poll did not end in time" in poller.trouble)
        await settle(lambda: bool(desk.updates))

    assert desk.texts() == ["hello"]


async def test_net_getupdates_pool_a_cut_connection_is_no_lasting_trouble(
    store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    emulator.fail("getUpdates", close(runs=False), times=2)
    async with (
        serve(emulator) as url,
        bot_on(url, emulator.token) as bot,
        polling(bot, store, desk) as poller,
    ):
        alice.send("hello")
        await settle(lambda: bool(desk.updates))

        assert poller.trouble == ""


async def test_a_long_poll_is_not_cut_by_the_read_timeout_of_other_calls(
    store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    desk = Desk()
    async with (
        serve(emulator) as url,
        bot_on(url, emulator.token, read_timeout=0.2) as bot,
        polling(bot, store, desk, timeout=1, grace=1) as poller,
    ):
        await settle(lambda: poller.last_poll is not None)

    assert poller.trouble == ""
    assert len(emulator.calls("getUpdates")) <= 2


def test_it_is_alive_as_long_as_polls_end() -> None:
    now = SettableClock()
    emulator = Emulator(clock=VirtualClock(0))
    poller = Poller(
        bot=Bot(emulator.token), inbox=Inbox.__new__(Inbox), handle=Desk().handle,
        timeout=30, grace=10, elapsed=now,
    )  # fmt: skip

    now.advance(119)
    assert poller.is_alive()
    now.advance(1)
    assert not poller.is_alive()


async def test_a_poll_that_failed_is_a_sign_of_life_too(
    bot: Bot, store: SqliteStore, emulator: Emulator
) -> None:
    now = SettableClock()
    poller = Poller(bot=bot, inbox=store, handle=Desk().handle, elapsed=now)
    emulator.fail("getUpdates", refuse(502), times=9)
    running = asyncio.create_task(poller.run())
    await settle(lambda: bool(poller.trouble))
    now.advance(1000)
    assert not poller.is_alive()

    await settle(poller.is_alive)

    assert poller.last_poll is None
    await end(running)
