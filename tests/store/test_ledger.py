"""Tokens used, summed over time."""

from bot.clock import SettableClock
from bot.messages import Notice, Usage, UserMessage
from bot.store.base import Store
from tests.store.samples import HERE, TOPIC


async def test_spent_sums_what_was_used_since_a_time(store: Store) -> None:
    await store.record_usage(HERE, "m-1", Usage(100, 10, 1, 2, 3), at=5.0)
    await store.record_usage(HERE, "m-1", Usage(200, 20, 10, 20, 30), at=10.0)
    await store.record_usage(TOPIC, "m-2", Usage(1000), at=11.0)

    assert await store.spent(HERE, since=0.0) == Usage(300, 30, 11, 22, 33)
    assert await store.spent(HERE, since=10.0) == Usage(200, 20, 10, 20, 30)
    assert await store.spent(TOPIC, since=0.0) == Usage(1000)


async def test_spent_without_a_conversation_sums_all(store: Store) -> None:
    await store.record_usage(HERE, "m-1", Usage(100, 10), at=5.0)
    await store.record_usage(TOPIC, "m-2", Usage(1000, 1), at=11.0)

    assert await store.spent(None, since=0.0) == Usage(1100, 11)


async def test_what_a_turn_spent_begins_with_what_a_person_last_said(
    store: Store, clock: SettableClock
) -> None:
    await store.append(HERE, [UserMessage("before")])
    await store.record_usage(HERE, "m-1", Usage(100, 10), at=5.0)
    await store.append(HERE, [UserMessage("go"), Notice("a hint", "cap")])
    now = clock() + 1
    await store.record_usage(HERE, "m-1", Usage(200, 20), at=now)
    await store.record_usage(HERE, "m-1", Usage(1, 2), at=now)
    await store.record_usage(TOPIC, "m-1", Usage(1000), at=now)

    assert await store.spent_in_turn(HERE) == Usage(201, 22)
    assert await store.spent_in_turn(TOPIC) == Usage(1000)


async def test_nothing_used_is_nothing_spent(store: Store) -> None:
    assert await store.spent(None, since=0.0) == Usage()
    assert await store.spent(HERE, since=0.0) == Usage()


async def test_the_size_grows_with_what_is_kept(store: Store) -> None:
    before = await store.size()

    await store.record_usage(HERE, "m" * 20_000, Usage(), at=5.0)

    assert await store.size() >= before + 20_000
