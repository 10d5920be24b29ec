"""The checker finds each impossible story, and nothing in a possible one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.messages import AssistantMessage, Message, Notice, ToolResult, UserMessage
from bot.store.base import AuditEvent, Grant, Lasting, Status, StoredUpdate
from bot.store.sqlite import SqliteStore
from tests.store.check import check
from tests.store.samples import ANN, ASKED, DIGEST, HERE, TOPIC, answer, calling, question

TURN: list[Message] = [
    UserMessage("go"),
    calling("c1", "c2"),
    ToolResult("c1", "one"),
    ToolResult("c2", "two"),
    Notice("sum up", "cap"),
    AssistantMessage("done"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kai.db"


async def keep(path: Path, *messages: Message) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(HERE, messages)


async def test_a_possible_story_has_no_violations(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.receive([StoredUpdate(10, "{}"), StoredUpdate(11, "{}")], at=ASKED)
        await store.append(HERE, TURN, update_id=10)
        await store.append(TOPIC, [UserMessage("go"), calling("c4", "c3")])
        await store.ask([question("a3", "c3"), question("a4", "c4")], [])
        await store.decide("a4", Status.APPROVED, at=ASKED, by=ANN, update_id=11)
        await store.claim(HERE, "c4", at=ASKED, digest=DIGEST)
        await store.append(TOPIC, [ToolResult("c4", "ok")])

        assert check(path) == []


async def test_a_conversation_begun_again_is_read_on(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(HERE, TURN)
        await store.reset(HERE)
        await store.append(HERE, [UserMessage("again"), AssistantMessage("hello")])

    assert check(path) == []


@pytest.mark.parametrize(
    ("messages", "violation"),
    [
        ([UserMessage("go"), calling("c1"), UserMessage("and?")], "calls without a result: ['c1']"),
        ([UserMessage("go"), calling("c1")], "calls without a result: ['c1']"),
        ([UserMessage("go"), ToolResult("c1", "")], "message 2 is a result of no open call: 'c1'"),
        (
            [UserMessage("go"), calling("c1", "c1"), ToolResult("c1", "")],
            "message 2 has two calls of one id: ['c1', 'c1']",
        ),
        ([AssistantMessage("hello")], "message 1 of the assistant answers nothing"),
        (
            [UserMessage("go"), AssistantMessage("yes"), AssistantMessage("yes?")],
            "message 3 of the assistant answers nothing",
        ),
    ],
)
async def test_an_impossible_transcript_is_found(path: Path, messages: list[Message], violation: str) -> None:
    await keep(path, *messages)

    assert f"in (42, 0): {violation}" in check(path)


async def test_a_waiting_question_excuses_only_its_own_conversation(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(HERE, [UserMessage("go"), calling("c1")])
        await store.append(TOPIC, [UserMessage("go"), calling("c2")])
        await store.ask([question("a2", "c2", conversation=TOPIC)], [])

    assert check(path) == ["in (42, 0): calls without a result: ['c1']"]


async def test_an_unfinished_update_is_found(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.receive([StoredUpdate(10, "{}")], at=ASKED)

    assert check(path) == ["update 10 was not finished"]


async def test_a_claim_against_the_decision_is_found(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.ask([question()], [])
        await store.decide("a1", Status.DENIED, at=ASKED, by=ANN)
        await store.claim(HERE, "c1", at=ASKED)

    assert check(path) == ["claimed though not approved: 'c1'"]


@pytest.mark.parametrize(
    ("forgery", "violation"),
    [
        ("INSERT INTO audit SELECT 9, at, action, 1, 1, 1, detail FROM audit", "decided twice: 'a1'"),
        (
            "DROP TRIGGER approvals_decided_once; UPDATE approvals SET status = 'approved'",
            "decided without a line in the audit: 'a1'",
        ),
        (
            "ALTER TABLE claims RENAME TO kept; CREATE TABLE claims AS SELECT * FROM kept, (VALUES (1), (2))",
            "claimed twice: 'c1'",
        ),
        (
            "DROP INDEX messages_one_result_a_call; INSERT INTO messages SELECT 9, chat_id, thread_id, at,"
            " kind, call_id, closes, body FROM messages WHERE kind = 'result'",
            "claimed, with more than one result: 'c1'",
        ),
    ],
)
async def test_a_file_changed_by_hand_is_found(path: Path, forgery: str, violation: str) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(HERE, [UserMessage("go"), calling("c1"), ToolResult("c1", "ok")])
        await store.claim(HERE, "c1", at=ASKED)
        await store.ask([question()], [])
        await store.decide("a1", Status.DENIED, at=ASKED, by=ANN)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(forgery)

    assert violation in check(path)


async def test_the_worst_approved_without_a_code_is_found(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.ask([question(second_step="restarts the machine")], [])
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE approvals SET status = 'approved', decided_by = 5, decided_at = 1, outcome = ''")
        decision = '{"approval_id": "a1"}'
        db.execute("INSERT INTO audit (at, action, detail) VALUES (1, 'approval_approved', ?)", (decision,))
        db.commit()

    assert check(path) == ["of the worst class and approved without a code: 'a1'"]


async def test_an_undoing_done_twice_is_found(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        for at in (1.0, 2.0):
            await store.record(AuditEvent(at, "undone", HERE, None, {"approval_id": "a1"}))

    assert check(path) == ["undone twice: 'a1'"]


async def test_a_run_under_a_grant_that_was_not_counted_is_found(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.ask([question()], [])
        given = Grant(
            "g1", Lasting.ALWAYS, HERE, ANN, "k", "rm x", "/srv", "this", ANN, "Ann", ASKED, ASKED + 9
        )
        await store.decide("a1", Status.APPROVED, at=ASKED, by=ANN, grant=given)
        await store.record(AuditEvent(ASKED, "ran", HERE, ANN, {"grant": "g1", "call_id": "c9"}))

    assert check(path) == ["ran under a grant more often than it was used: 'c9'"]


@pytest.mark.parametrize(
    ("forgery", "violation"),
    [
        ("sent = '[31, 0]'", "sent as a message with an id that telegram never gave: 'k1'"),
        ("sent = '[]'", "closed as sent without the id of a message: 'k1'"),
        ("sent = '[31, null]'", "closed as sent without the id of a message: 'k1'"),
    ],
)
async def test_an_answer_closed_without_being_a_message_is_found(
    path: Path, forgery: str, violation: str
) -> None:
    async with SqliteStore.open(path) as store:
        await store.enqueue([answer("k1"), answer("k2"), answer("k3")])
        for stored in await store.unsent():
            await store.part_sent(stored.id, 31, last=False)
            await store.part_sent(stored.id, None if stored.effect.key == "k2" else 32, last=True)
        assert check(path) == []
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"UPDATE outbox SET {forgery} WHERE key = 'k1'")

    assert check(path) == [violation]


async def test_a_persons_command_may_wait_in_the_place_of_a_call(path: Path) -> None:
    await keep(path, UserMessage("go"), calling("c1"))
    async with SqliteStore.open(path) as store:
        await store.ask([question()], [])
        new = question("a2", "c1.x", replaces="c1")
        await store.decide("a1", Status.CANCELLED, at=ASKED, by=ANN, instead=(new, []))

    assert check(path) == []
