"""Updates received: none is lost, none is handled twice (invariant 7)."""

from bot.store.base import Store, StoredUpdate
from tests.store.second_process import SecondProcess


def update(update_id: int) -> StoredUpdate:
    return StoredUpdate(update_id, f'{{"update_id":{update_id}}}')


async def test_receive_returns_the_new_ids_in_the_order_given(store: Store) -> None:
    await store.receive([update(11)], at=1.0)

    new = await store.receive([update(12), update(11), update(10)], at=2.0)

    assert new == [12, 10]


async def test_receiving_nothing_is_no_error(store: Store) -> None:
    assert await store.receive([], at=1.0) == []


async def test_what_was_received_waits_in_order_of_id(store: Store) -> None:
    await store.receive([update(12), update(10), update(11)], at=1.0)

    assert await store.unhandled() == [update(10), update(11), update(12)]
    assert await store.inbox_size() == 3


async def test_an_update_received_again_keeps_its_first_form(store: Store) -> None:
    await store.receive([update(10)], at=1.0)

    await store.receive([StoredUpdate(10, "{}")], at=2.0)

    assert await store.unhandled() == [update(10)]


async def test_an_update_received_again_after_it_was_handled_does_not_wait(store: Store) -> None:
    await store.receive([update(10)], at=1.0)
    await store.finish_update(10)

    new = await store.receive([update(10)], at=2.0)

    assert new == []
    assert await store.unhandled() == []


async def test_a_handled_update_waits_no_more(store: Store) -> None:
    await store.receive([update(10), update(11)], at=1.0)

    await store.finish_update(10)
    await store.finish_update(10)

    assert await store.unhandled() == [update(11)]
    assert await store.inbox_size() == 1


async def test_a_poisonous_update_is_never_handed_out_again(store: Store) -> None:
    await store.receive([update(10)], at=1.0)

    await store.finish_update(10, error="KeyError: 'message'")

    assert await store.unhandled() == []
    assert await store.receive([update(10)], at=2.0) == []


async def test_finishing_an_unknown_update_does_nothing(store: Store) -> None:
    await store.finish_update(99)

    assert await store.inbox_size() == 0


async def test_the_last_update_id_is_the_highest_ever_received(store: Store) -> None:
    await store.receive([update(12), update(10)], at=1.0)
    await store.finish_update(12)

    assert await store.last_update_id() == 12


async def test_at_the_very_start_there_is_no_last_update_id(store: Store) -> None:
    assert await store.last_update_id() is None


async def test_an_update_with_a_lone_surrogate_is_stored(store: Store) -> None:
    await store.receive([StoredUpdate(10, '"\ud83d"')], at=1.0)

    assert await store.unhandled() == [StoredUpdate(10, '"?"')]


async def test_received_updates_survive_a_restart(store: Store, second_process: SecondProcess) -> None:
    await store.receive([update(10), update(11)], at=1.0)
    await store.finish_update(10)

    assert await second_process.sees("unhandled()") == repr([update(11)])
