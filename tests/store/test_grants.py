"""Grants, codes of second steps and undoings, as every backend keeps them (A5, A7, A9)."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from bot.messages import AssistantMessage, Conversation, UserMessage
from bot.store.base import Approval, AuditEvent, Code, Grant, Lasting, Revert, Reverting, Status, Store
from tests.store.samples import ANN, ASKED, DIGEST, ELSEWHERE, HERE, TOPIC, answer, card, question

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]
BOB = 6
KEY = "f00d" * 16


def grant(grant_id: str = "g1", **changes: Any) -> Grant:
    fields: dict[str, Any] = {
        "id": grant_id,
        "lasting": Lasting.ALWAYS,
        "conversation": HERE,
        "user_id": ANN,
        "key": KEY,
        "command": "rm -rf build",
        "cwd": "/srv",
        "rule": "exactly this",
        "given_by": BOB,
        "given_name": "Bob",
        "created_at": ASKED,
        "expires_at": ASKED + 1000,
    }
    return Grant(**fields | changes)


def worst(**changes: Any) -> Approval:
    return question(second_step="restarts the machine", **changes)


def code(user_id: int = BOB, digits: str = "0042", **changes: Any) -> Code:
    return Code(user_id, "Bob", digits, **{"expires_at": ASKED + 60, **changes})


async def give(store: Store, given: Grant, approval_id: str = "a1") -> None:
    await store.ask([question(approval_id, call_id=f"c-{approval_id}")], [])
    await store.decide(approval_id, Status.APPROVED, at=ASKED, by=BOB, name="Bob", grant=given)


async def actions(store: Store) -> list[str]:
    return [event.action for event in reversed(await store.audit(100))]


# ── questions keep what the card offers ────────────────────────────────────────────────────────────────


async def test_a_question_keeps_what_its_card_offers_and_demands(store: Store) -> None:
    asked = question(
        second_step="restarts", grant_key=KEY, grant_files=("/srv/x",), undo="ufw disable", changed_by="Ann"
    )

    await store.ask([asked], [], [AuditEvent(ASKED, "asked", HERE, ANN, {"rules": ["x"]})])

    assert await store.approval("a1") == asked
    assert await actions(store) == ["asked"]


# ── grants ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_grant_is_kept_with_the_decision_that_gave_it(store: Store) -> None:
    await give(store, grant(command="rm \ud800", rule="r\0"))

    assert await store.grants(ASKED) == [grant(command="rm \ud800", rule="r\0")]
    assert (await store.audit(1))[0].detail["grant"] == "g1"


async def test_a_decision_that_comes_too_late_gives_no_grant(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.DENIED, at=ASKED, by=BOB)

    decided = await store.decide("a1", Status.APPROVED, at=ASKED, by=BOB, grant=grant())

    assert decided is None
    assert await store.grants(ASKED) == []


async def test_a_grant_covers_only_its_conversation_person_and_key(store: Store) -> None:
    await give(store, grant())

    assert await store.grant_for(HERE, ANN, KEY, ASKED) == grant()
    assert await store.grant_for(TOPIC, ANN, KEY, ASKED) is None
    assert await store.grant_for(ELSEWHERE, ANN, KEY, ASKED) is None
    assert await store.grant_for(HERE, BOB, KEY, ASKED) is None
    assert await store.grant_for(HERE, ANN, DIGEST, ASKED) is None


async def test_a_grant_ends_at_its_time(store: Store) -> None:
    await give(store, grant())

    assert await store.grant_for(HERE, ANN, KEY, ASKED + 999)
    assert await store.grant_for(HERE, ANN, KEY, ASKED + 1000) is None
    assert await store.grants(ASKED + 1000) == []
    assert not await store.claim(HERE, "c9", ASKED + 1000, grant_id="g1")


async def test_of_two_grants_the_one_that_lasts_longer_is_found(store: Store) -> None:
    await give(store, grant("short", expires_at=ASKED + 10, lasting=Lasting.MINUTES))
    await give(store, grant("long"), "a2")

    found = await store.grant_for(HERE, ANN, KEY, ASKED)

    assert found is not None
    assert found.id == "long"


async def test_a_claim_under_a_grant_counts_its_use_once(store: Store) -> None:
    await give(store, grant())

    assert await store.claim(HERE, "c9", ASKED, grant_id="g1")
    assert not await store.claim(HERE, "c9", ASKED, grant_id="g1")

    [held] = await store.grants(ASKED)
    assert held.uses == 1


async def test_no_claim_under_a_grant_of_another_conversation_or_none(store: Store) -> None:
    await give(store, grant())

    assert not await store.claim(ELSEWHERE, "c9", ASKED, grant_id="g1")
    assert not await store.claim(HERE, "c9", ASKED, grant_id="g2")


async def test_a_revoked_grant_covers_nothing_more_and_is_revoked_once(store: Store) -> None:
    await give(store, grant())

    revoked = await store.revoke("g1", at=ASKED + 1, by=BOB)

    assert revoked == replace(grant(), ended_at=ASKED + 1)
    assert await store.revoke("g1", at=ASKED + 2, by=BOB) is None
    assert await store.grants(ASKED) == []
    assert await store.grant_for(HERE, ANN, KEY, ASKED) is None
    assert not await store.claim(HERE, "c9", ASKED + 2, grant_id="g1")
    assert (await store.audit(1))[0].action == "grant_revoked"


async def test_a_grant_for_a_task_ends_with_the_next_message_of_a_person(store: Store) -> None:
    await give(store, grant(lasting=Lasting.TASK))
    await store.append(HERE, [AssistantMessage("working")])
    await store.append(TOPIC, [UserMessage("elsewhere", ANN)])
    assert await store.grants(ASKED)

    await store.append(HERE, [UserMessage("now this", ANN)])

    assert await store.grants(ASKED) == []


async def test_a_grant_for_a_task_ends_with_new(store: Store) -> None:
    await give(store, grant(lasting=Lasting.TASK))

    await store.reset(HERE)

    assert await store.grants(ASKED) == []


async def test_other_grants_outlive_the_task(store: Store) -> None:
    await give(store, grant(lasting=Lasting.MINUTES))
    await give(store, grant("g2"), "a2")

    await store.append(HERE, [UserMessage("now this", ANN)])
    await store.reset(HERE)

    assert [held.id for held in await store.grants(ASKED)] == ["g1", "g2"]


async def test_grants_move_along_when_a_group_becomes_a_supergroup(store: Store) -> None:
    await give(store, grant())

    await store.migrate_chat(HERE.chat_id, -1005)

    assert await store.grant_for(Conversation(-1005), ANN, KEY, ASKED)


# ── second steps ───────────────────────────────────────────────────────────────────────────────────────


async def test_a7_the_worst_is_not_approved_by_a_press(store: Store) -> None:
    await store.ask([worst()], [])

    assert await store.decide("a1", Status.APPROVED, at=ASKED, by=BOB) is None
    assert await store.decide("a1", Status.APPROVED, at=ASKED, by=BOB, code="0042") is None


async def test_the_code_approves_once_for_whom_it_was_asked(store: Store) -> None:
    await store.ask([worst()], [])
    asked = await store.ask_code("a1", code(), chat_id=42, at=ASKED)

    assert asked is not None
    assert asked.code == code()
    assert await store.code_asked(BOB, 42) == asked
    assert await store.code_asked(BOB, 43) is None
    assert await store.code_asked(ANN, 42) is None
    assert await store.decide("a1", Status.APPROVED, at=ASKED + 1, by=ANN, code="0042") is None
    assert await store.decide("a1", Status.APPROVED, at=ASKED + 1, by=BOB, code="0043") is None
    decided = await store.decide("a1", Status.APPROVED, at=ASKED + 1, by=BOB, code="0042")
    assert decided is not None
    assert decided.code is None
    assert await store.code_asked(BOB, 42) is None


async def test_a_code_that_came_late_approves_nothing(store: Store) -> None:
    await store.ask([worst()], [])
    await store.ask_code("a1", code(), chat_id=42, at=ASKED)

    assert await store.decide("a1", Status.APPROVED, at=ASKED + 60, by=BOB, code="0042") is None


async def test_an_old_code_is_void_once_a_new_one_was_asked(store: Store) -> None:
    await store.ask([worst()], [])
    await store.ask_code("a1", code(), chat_id=42, at=ASKED)
    await store.ask_code("a1", code(digits="7777"), chat_id=42, at=ASKED + 1)

    assert await store.decide("a1", Status.APPROVED, at=ASKED + 2, by=BOB, code="0042") is None
    assert await store.decide("a1", Status.APPROVED, at=ASKED + 2, by=BOB, code="7777")


async def test_nobody_takes_another_admins_code_away_while_it_lives(store: Store) -> None:
    await store.ask([worst()], [])
    await store.ask_code("a1", code(), chat_id=42, at=ASKED)

    assert await store.ask_code("a1", code(ANN), chat_id=42, at=ASKED + 59) is None
    assert await store.ask_code("a1", code(ANN, expires_at=ASKED + 120), chat_id=42, at=ASKED + 60)


async def test_a_voided_code_leaves_the_question_open(store: Store) -> None:
    await store.ask([worst()], [])
    await store.ask_code("a1", code(), chat_id=42, at=ASKED)

    await store.void_code("a1", at=ASKED + 1, why="wrong")

    known = await store.approval("a1")
    assert known is not None
    assert (known.status, known.code) == (Status.PENDING, None)
    assert await store.decide("a1", Status.APPROVED, at=ASKED + 2, by=BOB, code="0042") is None
    assert await store.code_asked(BOB, 42) == known
    assert await actions(store) == ["code_asked", "code_wrong"]


async def test_codes_whose_time_is_over_are_closed_and_the_cards_told(store: Store) -> None:
    await store.ask([worst()], [])
    await store.ask_code("a1", code(), chat_id=42, at=ASKED)
    told = await store.outbox_size()

    await store.void_old_codes(ASKED + 59)
    assert await store.outbox_size() == told
    await store.void_old_codes(ASKED + 60)
    await store.void_old_codes(ASKED + 61)

    known = await store.approval("a1")
    assert known is not None
    assert known.code is None
    assert await store.outbox_size() == told + 1


async def test_no_code_is_asked_for_what_is_decided_expired_or_needs_none(store: Store) -> None:
    await store.ask([worst(), question("a2", "c2"), worst(approval_id="a3", call_id="c3")], [])
    await store.decide("a3", Status.DENIED, at=ASKED, by=BOB)

    assert await store.ask_code("a1", code(), chat_id=42, at=ASKED + 1800) is None
    assert await store.ask_code("a2", code(), chat_id=42, at=ASKED) is None
    assert await store.ask_code("a3", code(), chat_id=42, at=ASKED) is None
    assert await store.ask_code("a4", code(), chat_id=42, at=ASKED) is None


async def test_a_code_outlives_a_restart(open_store: OpenStore) -> None:
    async with open_store() as before:
        await before.ask([worst()], [])
        await before.ask_code("a1", code(guarded=True), chat_id=42, at=ASKED)

    async with open_store() as after:
        known = await after.code_asked(BOB, 42)

    assert known is not None
    assert known.code == code(guarded=True)


async def test_the_worst_may_be_denied_without_a_code(store: Store) -> None:
    await store.ask([worst()], [])

    assert await store.decide("a1", Status.DENIED, at=ASKED, by=BOB)


# ── a person's command instead ─────────────────────────────────────────────────────────────────────────


async def test_a_question_that_takes_anothers_place_is_found_by_the_models_call(store: Store) -> None:
    await store.ask([question()], [])
    new = question("a2", "c1.x", command="ls", replaces="c1", changed_by="Bob")

    voided = await store.decide("a1", Status.CANCELLED, at=ASKED, by=BOB, instead=(new, [card("a2")]))

    assert voided is not None
    assert await store.approvals_for(["c1"]) == {"c1": new}
    assert await store.pending_approvals(HERE) == [new]
    assert "card:a2" in [stored.effect.key for stored in await store.unsent()]


async def test_a_question_changed_twice_stands_as_changed_last(store: Store) -> None:
    await store.ask([question()], [])
    for number in (2, 3):
        new = question(f"a{number}", f"c1.{number}", replaces="c1")
        await store.decide(f"a{number - 1}", Status.CANCELLED, at=ASKED, by=BOB, instead=(new, []))

    found = await store.approvals_for(["c1"])

    assert found["c1"].id == "a3"


async def test_what_was_decided_before_is_not_changed(store: Store) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=BOB)
    new = question("a2", "c1.x", replaces="c1")

    voided = await store.decide("a1", Status.CANCELLED, at=ASKED, by=BOB, instead=(new, [answer()]))

    assert voided is None
    assert await store.approval("a2") is None
    assert (await store.approvals_for(["c1"]))["c1"].id == "a1"


# ── undoings ───────────────────────────────────────────────────────────────────────────────────────────


async def guarded(store: Store) -> None:
    await store.ask([question(undo="ufw disable")], [])
    await store.decide("a1", Status.APPROVED, at=ASKED, by=BOB, revert_after=300)


async def revert(store: Store) -> Revert | None:
    known = await store.approval("a1")
    assert known is not None
    return known.revert


async def test_an_undoing_is_armed_by_the_claim_and_due_after_its_time(store: Store) -> None:
    await guarded(store)
    assert await revert(store) == Revert(Reverting.WAITING, 300)
    assert await store.due_reverts(ASKED + 10_000) == []

    await store.claim(HERE, "c1", ASKED + 5, digest=DIGEST)

    assert await revert(store) == Revert(Reverting.ARMED, 300, ASKED + 305)
    assert await store.due_reverts(ASKED + 304) == []
    assert [due.id for due in await store.due_reverts(ASKED + 305)] == ["a1"]


async def test_a_claim_that_fails_arms_nothing(store: Store) -> None:
    await guarded(store)

    assert not await store.claim(HERE, "c1", ASKED, digest="other")

    assert await revert(store) == Revert(Reverting.WAITING, 300)


async def test_an_undoing_is_settled_once(store: Store) -> None:
    await guarded(store)
    assert await store.settle_revert("a1", Reverting.KEPT, at=ASKED) is None
    await store.claim(HERE, "c1", ASKED, digest=DIGEST)

    assert await store.settle_revert("a1", Reverting.KEPT, at=ASKED, by=BOB, name="Bob")
    assert await store.settle_revert("a1", Reverting.UNDOING, at=ASKED) is None

    assert await store.due_reverts(ASKED + 10_000) == []
    assert await revert(store) == Revert(Reverting.KEPT, 300, ASKED + 300, "Bob")


async def test_an_undoing_that_never_ended_is_found_after_a_restart_and_ends_once(
    open_store: OpenStore,
) -> None:
    async with open_store() as before:
        await guarded(before)
        await before.claim(HERE, "c1", ASKED, digest=DIGEST)
        await before.settle_revert("a1", Reverting.UNDOING, at=ASKED + 300)

    async with open_store() as after:
        broken = [approval.id for approval in await after.broken_reverts()]
        due = await after.due_reverts(ASKED + 10_000)
        await after.finish_revert("a1", "exit 0", effects=[answer()])
        await after.finish_revert("a1", "exit 1", effects=[answer("answer:2")])

        assert (broken, due) == (["a1"], [])
        assert await after.broken_reverts() == []
        assert await revert(after) == Revert(Reverting.UNDONE, 300, ASKED + 300, "", "exit 0")
        assert "answer:2" not in [stored.effect.key for stored in await after.unsent()]


# ── the audit ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a9_the_audit_is_read_newest_first(store: Store) -> None:
    for number in range(3):
        await store.record(
            AuditEvent(float(number), f"did {number}", TOPIC if number else None, ANN, {"n": number})
        )

    last = await store.audit(2)

    assert last == [
        AuditEvent(2.0, "did 2", TOPIC, ANN, {"n": 2}),
        AuditEvent(1.0, "did 1", TOPIC, ANN, {"n": 1}),
    ]
