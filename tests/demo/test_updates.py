"""getUpdates: offsets, lives, long poll, conflicts: facts/telegram §3.2, §3.3.

https://core.telegram.org/bots/api#getupdates
"""

import asyncio
import time

import pytest

from bot.demo import Emulator, Person, VirtualClock
from tests.demo.bare import BareBot

TERMINATED = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)


async def test_update_ids_grow_by_one(bot: BareBot, alice: Person) -> None:
    for text in "abc":
        alice.send(text)

    ids = [update["update_id"] for update in await bot.updates()]
    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]


async def test_an_update_is_given_again_until_confirmed(bot: BareBot, alice: Person) -> None:
    alice.send("a")

    first, again = await bot.updates(), await bot.updates()

    assert first == again != []


async def test_a_higher_offset_confirms(bot: BareBot, alice: Person) -> None:
    alice.send("a")
    alice.send("b")
    first, second = await bot.updates()

    left = await bot.updates(offset=first["update_id"] + 1)

    assert left == [second]
    assert await bot.updates() == [second]


async def test_an_equal_offset_does_not_confirm(bot: BareBot, alice: Person) -> None:
    alice.send("a")
    (update,) = await bot.updates()

    assert await bot.updates(offset=update["update_id"]) == [update]


async def test_a_negative_offset_keeps_only_the_newest(bot: BareBot, alice: Person) -> None:
    for text in "abc":
        alice.send(text)

    (last,) = await bot.updates(offset=-1)

    assert last["message"]["text"] == "c"
    assert len(await bot.updates()) == 1


async def test_a_hundred_updates_at_most(bot: BareBot, alice: Person) -> None:
    for number in range(130):
        alice.send(str(number))

    assert len(await bot.updates()) == 100
    assert len(await bot.updates(limit=1000)) == 100
    assert len(await bot.updates(limit=7)) == 7


async def test_a_snapshot_is_queued_not_the_live_message(bot: BareBot, alice: Person) -> None:
    message = alice.send("before")
    alice.edit(message, "after")

    first, second = await bot.updates()

    assert first["message"]["text"] == "before"
    assert second["edited_message"]["text"] == "after"


async def test_a_long_poll_ends_when_an_update_comes(bot: BareBot, alice: Person) -> None:
    poll = asyncio.create_task(bot.updates(timeout=30))
    await asyncio.sleep(0.05)
    started = time.perf_counter()

    alice.send("now")
    (update,) = await poll

    assert update["message"]["text"] == "now"
    assert time.perf_counter() - started < 0.05


async def test_a_long_poll_ends_empty_after_its_timeout() -> None:
    emulator = Emulator(repeats_slow_down=False)
    async with BareBot.of(emulator) as bot:
        started = time.perf_counter()

        assert await bot.updates(timeout=1) == []
        assert 0.9 < time.perf_counter() - started < 2


async def test_a_long_poll_ends_when_the_clock_passes_its_timeout(bot: BareBot, emulator: Emulator) -> None:
    poll = asyncio.create_task(bot.updates(timeout=30))
    await asyncio.sleep(0.05)

    emulator.clock.advance(31)

    assert await asyncio.wait_for(poll, 1) == []


async def test_a_long_poll_lasts_fifty_seconds_at_most(bot: BareBot, emulator: Emulator) -> None:
    poll = asyncio.create_task(bot.updates(timeout=600))
    await asyncio.sleep(0.05)

    emulator.clock.advance(51)

    assert await asyncio.wait_for(poll, 1) == []


@pytest.mark.parametrize(("age", "kinds"), [(149, ["message", "callback_query"]), (151, ["message"])])
async def test_a_press_lives_150_seconds(
    bot: BareBot, emulator: Emulator, alice: Person, age: float, kinds: list[str]
) -> None:
    alice.send("hi")
    markup = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=markup)
    alice.press("A")

    emulator.clock.advance(age)

    found = [key for update in await bot.updates() for key in update if key != "update_id"]
    assert found == kinds


async def test_an_update_lives_24_hours(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    alice.send("hi")

    emulator.clock.advance(24 * 3600 - 1)
    assert len(await bot.updates()) == 1
    emulator.clock.advance(2)
    assert await bot.updates() == []


async def test_allowed_updates_are_remembered(bot: BareBot, alice: Person) -> None:
    await bot.updates(allowed_updates=["edited_message"])

    message = alice.send("a")
    alice.edit(message, "b")

    (update,) = await bot.updates()
    assert "edited_message" in update


async def test_an_empty_allowed_updates_means_the_default(bot: BareBot, alice: Person) -> None:
    await bot.updates(allowed_updates=["edited_message"])
    await bot.updates(allowed_updates=[])

    alice.send("a")

    assert len(await bot.updates()) == 1


async def test_reactions_come_only_when_asked_for(bot: BareBot, alice: Person) -> None:
    message = alice.send("a")
    alice.react(message, "👍")
    assert len(await bot.updates()) == 1
    await bot.updates(allowed_updates=["message", "message_reaction"])

    alice.react(message, None)

    assert [*(await bot.updates())[-1]][1] == "message_reaction"


async def test_a_second_poll_ends_the_first_with_409(bot: BareBot, alice: Person) -> None:
    older = asyncio.create_task(bot.answer("getUpdates", timeout=30))
    await asyncio.sleep(0.05)
    younger = asyncio.create_task(bot.answer("getUpdates", timeout=30))

    ended = await older
    alice.send("hi")
    served = await younger

    assert (ended["error_code"], ended["description"]) == (409, TERMINATED)
    assert len(served["result"]) == 1


async def test_repeated_conflicts_are_delayed(bot: BareBot, alice: Person) -> None:
    polls = []
    for _ in range(3):
        polls.append(asyncio.create_task(bot.answer("getUpdates", timeout=30)))
        await asyncio.sleep(0.05)

    started = time.perf_counter()
    second = await polls[1]
    polls[2].cancel()

    assert second["description"] == TERMINATED
    assert time.perf_counter() - started > 2


async def test_get_updates_conflicts_with_a_webhook(bot: BareBot) -> None:
    await bot.do("setWebhook", url="https://bot.test/hook")

    assert await bot.refused("getUpdates") == (
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the "
        "webhook first"
    )


async def test_setting_a_webhook_ends_the_poll(bot: BareBot) -> None:
    poll = asyncio.create_task(bot.answer("getUpdates", timeout=30))
    await asyncio.sleep(0.05)

    await bot.do("setWebhook", url="https://bot.test/hook")

    assert (await poll)["description"] == "Conflict: terminated by setWebhook request"


async def test_deleting_the_webhook_brings_polling_back(bot: BareBot, alice: Person) -> None:
    await bot.do("setWebhook", url="http://127.0.0.1:9/hook")
    alice.send("hi")

    await bot.do("deleteWebhook")

    assert len(await bot.updates()) == 1


async def test_dropping_pending_updates_empties_the_queue(bot: BareBot, alice: Person) -> None:
    alice.send("hi")

    await bot.do("deleteWebhook", drop_pending_updates=True)

    assert await bot.updates() == []


async def test_repeating_an_offset_soon_gives_one_update_only(alice: Person) -> None:
    emulator = Emulator(clock=VirtualClock(1e9))
    person = emulator.person(7, started=True)
    async with BareBot.of(emulator) as bot:
        person.send("a")
        person.send("b")

        assert len(await bot.updates(offset=5)) == 2
        assert len(await bot.updates(offset=5)) == 1
        emulator.clock.advance(0.6)
        assert len(await bot.updates(offset=5)) == 2


async def test_repeating_an_offset_soon_waits_three_seconds_for_news() -> None:
    emulator = Emulator(clock=VirtualClock(1e9))
    async with BareBot.of(emulator) as bot:
        await bot.updates(offset=5)
        poll = asyncio.create_task(bot.updates(offset=5))
        await asyncio.sleep(0.05)

        assert not poll.done()
        emulator.clock.advance(3)
        assert await asyncio.wait_for(poll, 1) == []


async def test_a_half_open_poll_never_hears_anything(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    poll = asyncio.create_task(bot.updates(timeout=1))
    await asyncio.sleep(0.05)
    emulator.half_open()

    alice.send("hello?")
    await asyncio.sleep(1.2)

    assert not poll.done()
    poll.cancel()
    assert len(await bot.updates()) == 1
