"""Effects are seen once: stored before they are sent, closed when they arrived (invariant 8)."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import pytest

from bot.messages import UserMessage
from bot.store.base import Effect, Status, Store, StoredEffect, StoredUpdate
from tests.store.samples import ANN, ASKED, HERE, TOPIC, answer, card, question
from tests.store.second_process import SecondProcess


async def only(store: Store) -> StoredEffect:
    [stored] = await store.unsent()
    return stored


async def test_effects_wait_oldest_first(store: Store) -> None:
    odd = Effect("k2", TOPIC, "file", {"path": "/tmp/\ud83d", "parts": [1, {"a": None}]})

    await store.enqueue([answer("k1"), odd])
    await store.enqueue([answer("k0")])

    assert [stored.effect for stored in await store.unsent()] == [answer("k1"), odd, answer("k0")]
    assert await store.outbox_size() == 3


async def test_effects_survive_a_restart(store: Store, second_process: SecondProcess) -> None:
    await store.enqueue([answer()])
    waiting = await store.unsent()

    assert await second_process.sees("unsent()") == repr(waiting)


async def test_a_second_effect_of_one_key_does_nothing(store: Store) -> None:
    await store.enqueue([answer("k1", "first")])

    await store.enqueue([answer("k1", "second"), answer("k2")])

    assert [stored.effect for stored in await store.unsent()] == [answer("k1", "first"), answer("k2")]


async def test_a_key_is_taken_for_ever(store: Store) -> None:
    await store.enqueue([answer("k1")])
    await store.part_sent((await only(store)).id, 5, last=True)

    await store.enqueue([answer("k1")])

    assert await store.unsent() == []


async def test_enqueue_finishes_its_update(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=1.0)

    await store.enqueue([answer()], update_id=10)

    assert await store.inbox_size() == 0


async def test_the_listener_hears_of_effects_once_they_can_be_read(store: Store) -> None:
    heard = asyncio.Event()
    store.on_effects(heard.set)

    async def hears(write: Awaitable[object]) -> bool:
        heard.clear()
        await write
        with suppress(TimeoutError):
            await asyncio.wait_for(heard.wait(), timeout=0.2)
        return heard.is_set()

    assert await hears(store.enqueue([answer("k1")]))
    assert await hears(store.append(HERE, [UserMessage("go")], effects=[answer("k2")]))
    assert await hears(store.ask([question("a1", "c1"), question("a2", "c2")], [card("a1"), card("a2")]))
    assert await hears(store.decide("a1", Status.APPROVED, at=ASKED, by=ANN))
    assert await hears(store.finish_approval("c1", "exit 0"))
    assert await hears(store.expire(ASKED + 1800))
    assert not await hears(store.append(HERE, [UserMessage("go on")]))


async def test_unsent_after_an_id_gives_only_the_newer(store: Store) -> None:
    await store.enqueue([answer("k1"), answer("k2")])
    first, second = await store.unsent()

    assert await store.unsent(after=first.id) == [second]
    assert await store.unsent(after=second.id) == []


async def test_parts_are_kept_in_order_until_the_last(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id

    await store.part_sent(effect_id, 31, last=False)
    await store.part_sent(effect_id, 30, last=False)

    assert (await only(store)).sent == (31, 30)
    await store.part_sent(effect_id, 32, last=True)
    assert await store.unsent() == []
    assert await store.outbox_size() == 0


async def test_a_part_is_unsure_from_being_handed_over_until_it_arrived(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id

    await store.sending(effect_id)

    assert (await only(store)).unsure
    await store.part_sent(effect_id, 31, last=False)
    assert not (await only(store)).unsure


async def test_a_part_that_was_being_sent_is_unsure_after_a_restart(
    store: Store, second_process: SecondProcess
) -> None:
    await store.enqueue([answer()])
    stored = await only(store)

    await store.sending(stored.id)

    expected = StoredEffect(stored.id, stored.effect, unsure=True)
    assert await second_process.sees("unsent()") == repr([expected])


async def test_a_part_that_surely_did_not_arrive_is_not_unsure(store: Store) -> None:
    await store.enqueue([answer()])
    stored = await only(store)
    await store.sending(stored.id)

    await store.not_sent(stored.id)

    assert await only(store) == stored


async def test_that_a_part_was_sent_again_is_not_forgotten(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id
    await store.sending(effect_id)

    await store.sending(effect_id, resend=True)
    await store.not_sent(effect_id)
    await store.sending(effect_id)

    assert (await only(store)).resent


async def test_the_part_after_one_that_was_sent_again_may_be_sent_again_too(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id
    await store.sending(effect_id, resend=True)

    await store.part_sent(effect_id, 31, last=False)

    assert not (await only(store)).resent


async def test_an_effect_given_up_waits_no_more_and_is_not_opened_again(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id

    await store.give_up(effect_id, "chat not found")
    await store.sending(effect_id)
    await store.part_sent(effect_id, 31, last=False)

    assert await store.unsent() == []
    assert await store.outbox_size() == 0


@pytest.mark.parametrize("message_id", [0, -1])
async def test_what_is_no_message_id_is_refused(store: Store, message_id: int) -> None:
    await store.enqueue([answer()])
    stored = await only(store)

    with pytest.raises(ValueError, match="not an id that telegram gives"):
        await store.part_sent(stored.id, message_id, last=True)

    assert await only(store) == stored


async def test_a_part_whose_id_is_not_known_counts_as_sent_and_the_next_ones_follow(store: Store) -> None:
    await store.enqueue([answer()])
    effect_id = (await only(store)).id

    await store.part_sent(effect_id, None, last=False)

    assert (await only(store)).sent == (None,)
    await store.part_sent(effect_id, 32, last=True)
    assert await store.unsent() == []


async def test_an_effect_without_a_message_is_done_when_it_is_finished(store: Store) -> None:
    await store.enqueue([answer("k1"), answer("k2")])
    first, second = await store.unsent()

    await store.finish_effect(first.id)

    assert await store.unsent() == [second]


async def test_one_effect_changes_alone(store: Store) -> None:
    await store.enqueue([Effect("k1", HERE, "answer"), Effect("k2", HERE, "answer")])
    first, second = await store.unsent()

    await store.sending(first.id)
    await store.part_sent(first.id, 31, last=True)

    assert await store.unsent() == [second]
