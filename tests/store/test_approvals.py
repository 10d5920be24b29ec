"""What was read is what runs, decided once, claimed once (invariants 3 and 4, requirement A5)."""

import asyncio
from dataclasses import replace

import pytest

from bot.messages import Conversation
from bot.store.base import CardLine, Status, Store, StoredUpdate
from tests.store.samples import ANN, ASKED, DIGEST, HERE, TOPIC, card, question
from tests.store.second_process import SecondProcess

BOB = 6


async def effect_keys(store: Store) -> list[str]:
    return [stored.effect.key for stored in await store.unsent()]


async def test_a_question_comes_back_as_it_was_asked(store: Store) -> None:
    asked = question(command="printf '\u202e' \ud83d", conversation=TOPIC, asker_id=None)

    await store.ask([asked], [card()])

    assert await store.approval("a1") == asked
    assert await effect_keys(store) == ["card:a1"]


async def test_what_a_card_says_beyond_the_arguments_comes_back_too(store: Store) -> None:
    asked = question(
        lines=(CardLine("To", "0xA\u202e", code=True), CardLine("", "\ud83d")),
        warnings=("a", "b"),
        fingerprint="f:1",
        image="/srv/cat.png",
    )

    await store.ask([asked], [])

    assert await store.approval("a1") == asked


async def test_an_unknown_question_is_none(store: Store) -> None:
    assert await store.approval("a1") is None


async def test_questions_survive_a_restart(store: Store, second_process: SecondProcess) -> None:
    """L10."""
    await store.ask([question()], [card()])

    assert await second_process.sees("pending_approvals()") == repr([question()])


async def test_a_call_that_has_a_question_keeps_it(store: Store) -> None:
    await store.ask([question("a1", "c1")], [])

    await store.ask([question("a2", "c1"), question("a3", "c3")], [])

    assert await store.approvals_for(["c1", "c3", "c4"]) == {
        "c1": question("a1", "c1"),
        "c3": question("a3", "c3"),
    }


async def test_asking_again_does_not_reopen_a_decided_question(store: Store) -> None:
    await store.ask([question()], [card()])
    await store.decide("a1", Status.DENIED, at=ASKED, by=ANN)

    await store.ask([question()], [card()])

    assert await store.pending_approvals() == []


async def test_pending_questions_come_oldest_first(store: Store) -> None:
    newer = question("a1", "c1", created_at=ASKED + 5)
    older = question("a2", "c2")
    elsewhere = question("a3", "c3", conversation=TOPIC, created_at=ASKED + 9)
    decided = question("a4", "c4")
    await store.ask([newer, older, elsewhere, decided], [])
    await store.decide("a4", Status.CANCELLED, at=ASKED)

    assert await store.pending_approvals() == [older, newer, elsewhere]
    assert await store.pending_approvals(HERE) == [older, newer]
    assert await store.pending_approvals(TOPIC) == [elsewhere]


async def test_questions_of_one_step_stay_in_call_order(store: Store) -> None:
    asked = [question(f"a{9 - n}", f"c{n}") for n in range(5)]

    await store.ask(asked, [])

    assert await store.pending_approvals() == asked


async def test_a_question_is_found_by_any_of_its_cards(store: Store) -> None:
    await store.ask([question()], [])

    await store.card_sent("a1", 900, 8)
    await store.card_sent("a1", 100, 9)
    await store.card_sent("a1", 100, 9)

    found = await store.approval_at(100, 9)
    assert found == replace(question(), cards=((900, 8), (100, 9)))
    assert await store.approval_at(900, 8) == found
    assert await store.approval_at(900, 9) is None


async def test_a_decision_keeps_who_when_and_why(store: Store, second_process: SecondProcess) -> None:
    await store.ask([question()], [])
    await store.card_sent("a1", 100, 9)

    decided = await store.decide("a1", Status.DENIED, at=ASKED + 60, by=BOB, name="Bob", reason="not today")

    assert decided == replace(
        question(),
        status=Status.DENIED,
        decided_by=BOB,
        decided_name="Bob",
        decided_at=ASKED + 60,
        reason="not today",
        cards=((100, 9),),
    )
    assert await second_process.sees("approval('a1')") == repr(decided)


@pytest.mark.parametrize("status", [Status.APPROVED, Status.DENIED, Status.EXPIRED, Status.CANCELLED])
async def test_no_second_decision_changes_the_first(store: Store, status: Status) -> None:
    await store.ask([question()], [])
    first = await store.decide("a1", status, at=ASKED, by=BOB)

    for second in (Status.APPROVED, Status.DENIED, Status.EXPIRED, Status.CANCELLED):
        assert await store.decide("a1", second, at=ASKED + 1, by=ANN) is None

    assert await store.approval("a1") == first


async def test_of_two_decisions_at_once_exactly_one_wins(store: Store) -> None:
    await store.ask([question()], [])

    decisions = await asyncio.gather(
        store.decide("a1", Status.DENIED, at=ASKED, by=ANN),
        store.decide("a1", Status.APPROVED, at=ASKED, by=BOB),
    )

    [winner] = [decision for decision in decisions if decision is not None]
    assert await store.approval("a1") == winner


async def test_approving_after_the_expiry_is_refused(store: Store) -> None:
    await store.ask([question()], [])

    assert await store.decide("a1", Status.APPROVED, at=ASKED + 1800, by=ANN) is None

    assert await store.pending_approvals() == [question()]


async def test_approving_just_before_the_expiry_counts(store: Store) -> None:
    await store.ask([question()], [])

    assert await store.decide("a1", Status.APPROVED, at=ASKED + 1799.9, by=ANN) is not None


async def test_denying_after_the_expiry_counts(store: Store) -> None:
    await store.ask([question()], [])

    assert await store.decide("a1", Status.DENIED, at=ASKED + 1800, by=ANN) is not None


async def test_deciding_an_unknown_question_is_none(store: Store) -> None:
    assert await store.decide("a1", Status.DENIED, at=ASKED, by=ANN) is None


async def test_nobody_cannot_approve(store: Store) -> None:
    """A8."""
    await store.ask([question()], [])

    with pytest.raises(ValueError, match="not a decision"):
        await store.decide("a1", Status.APPROVED, at=ASKED)

    assert await store.pending_approvals() == [question()]


async def test_pending_is_no_decision(store: Store) -> None:
    await store.ask([question()], [])

    with pytest.raises(ValueError, match="not a decision"):
        await store.decide("a1", Status.PENDING, at=ASKED, by=ANN)


async def test_a_decision_stores_a_card_update_and_finishes_the_update(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=ASKED)
    await store.ask([question(conversation=TOPIC)], [card()])

    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN, update_id=10)

    [_, update] = await store.unsent()
    assert update.effect.key == "card_update:a1:approved"
    assert update.effect.kind == "card_update"
    assert update.effect.conversation == TOPIC
    assert update.effect.payload == {"approval_id": "a1"}
    assert await store.inbox_size() == 0


async def test_a_press_that_decides_nothing_still_finishes_its_update(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}"), StoredUpdate(11, "{}")], at=ASKED)
    await store.ask([question()], [])
    await store.decide("a1", Status.DENIED, at=ASKED, by=ANN, update_id=10)

    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN, update_id=11)

    assert await store.inbox_size() == 0
    assert await effect_keys(store) == ["card_update:a1:denied"]


async def test_what_is_past_its_time_expires(store: Store) -> None:
    await store.ask([question("a1", "c1"), question("a2", "c2", expires_at=ASKED + 3600)], [])

    expired = await store.expire(ASKED + 1800)

    assert expired == [replace(question("a1", "c1"), status=Status.EXPIRED, decided_at=ASKED + 1800)]
    assert await store.approval("a1") == expired[0]
    assert [approval.id for approval in await store.pending_approvals()] == ["a2"]
    assert await effect_keys(store) == ["card_update:a1:expired"]


async def test_nothing_expires_before_its_time_or_twice(store: Store) -> None:
    await store.ask([question()], [])

    assert await store.expire(ASKED + 1799.9) == []
    await store.expire(ASKED + 1800)
    assert await store.expire(ASKED + 1801) == []


async def test_the_outcome_of_an_approved_call_is_kept_and_shown_beside_the_verdict(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)

    await store.finish_approval("c1", "exit 0, 1.2 s")
    await store.finish_approval("c1", "exit 1, 9 s")

    finished = await store.approval("a1")
    assert finished is not None
    assert finished.outcome == "exit 0, 1.2 s"
    assert await effect_keys(store) == ["card_update:a1:approved", "card_update:a1:outcome"]


async def test_a_call_without_an_approval_has_no_outcome_to_keep(store: Store) -> None:
    await store.ask([question()], [])

    await store.finish_approval("c1", "exit 0")
    await store.finish_approval("c2", "exit 0")

    assert await store.approval("a1") == question()
    assert await effect_keys(store) == []


async def test_a_call_is_claimed_once_ever(store: Store, second_process: SecondProcess) -> None:
    """Invariant 3; L10."""
    assert await store.claim(HERE, "c1", at=ASKED)

    assert not await store.claim(HERE, "c1", at=ASKED + 1)
    assert not await store.claim(TOPIC, "c1", at=ASKED + 1)
    assert await second_process.sees(f"claim({HERE!r}, 'c1', 9.0)") == "False"


async def test_of_many_claims_at_once_one_wins(store: Store) -> None:
    claims = await asyncio.gather(*(store.claim(HERE, "c1", at=ASKED) for _ in range(20)))

    assert claims.count(True) == 1


async def test_claimed_tells_which_calls_were_claimed(store: Store) -> None:
    await store.claim(HERE, "c1", at=ASKED)
    await store.claim(HERE, "c3", at=ASKED)

    assert await store.claimed(["c1", "c2", "c3"]) == {"c1", "c3"}
    assert await store.claimed([]) == set()


async def test_an_approved_call_of_the_same_digest_is_claimed_once(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)

    assert await store.claim(HERE, "c1", at=ASKED, digest=DIGEST)
    assert not await store.claim(HERE, "c1", at=ASKED, digest=DIGEST)


@pytest.mark.parametrize("status", [None, Status.DENIED, Status.EXPIRED, Status.CANCELLED])
async def test_a_call_whose_question_is_not_approved_is_not_claimed(
    store: Store, status: Status | None
) -> None:
    await store.ask([question()], [])
    if status:
        await store.decide("a1", status, at=ASKED, by=ANN)

    assert not await store.claim(HERE, "c1", at=ASKED, digest=DIGEST)
    assert await store.claimed(["c1"]) == set()


async def test_a_digest_other_than_the_approved_one_is_not_claimed(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)

    assert not await store.claim(HERE, "c1", at=ASKED, digest="0" * 64)
    assert await store.claimed(["c1"]) == set()


async def test_an_approval_of_another_call_or_conversation_does_not_count(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)

    assert not await store.claim(HERE, "c2", at=ASKED, digest=DIGEST)
    assert not await store.claim(Conversation(99), "c1", at=ASKED, digest=DIGEST)


async def test_an_outcome_is_corrected_and_a_later_first_one_changes_nothing(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)

    await store.correct_outcome("c1", "paid")
    await store.correct_outcome("c1", "paid")
    await store.finish_approval("c1", "ok, 1.2 s")

    known = await store.approval("a1")
    assert known is not None
    assert known.outcome == "paid"
    updates = [key for key in await effect_keys(store) if ":outcome" in key]
    assert updates == ["card_update:a1:outcome:paid"]


async def test_an_outcome_that_is_corrected_is_shown_again(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN)
    await store.finish_approval("c1", "interrupted")

    await store.correct_outcome("c1", "paid")

    assert [key for key in await effect_keys(store) if ":outcome" in key] == [
        "card_update:a1:outcome",
        "card_update:a1:outcome:paid",
    ]


async def test_what_was_not_approved_has_no_outcome_to_correct(store: Store) -> None:
    await store.ask([question()], [])

    await store.correct_outcome("c1", "paid")

    known = await store.approval("a1")
    assert known is not None
    assert known.outcome == ""
