"""What only the SQLite backend promises: private files, shared commits, damage set aside."""

import asyncio
import os
import sqlite3
import stat
import struct
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.clock import SettableClock
from bot.errors import StoreError
from bot.messages import Conversation, ToolResult, Usage, UserMessage
from bot.store.base import AuditEvent, Status, StoredUpdate
from bot.store.sqlite import SqliteStore
from bot.store.sqlite.opening import CHECK_ALWAYS_BELOW, open_database
from tests.store.samples import ANN, ASKED, HERE, answer, question

DAY = 86400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kai.db"


@pytest.fixture
async def store(path: Path, clock: SettableClock) -> AsyncIterator[SqliteStore]:
    async with SqliteStore.open(path, clock=clock) as opened:
        yield opened


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def commits(path: Path) -> int:
    """Count the commit frames of the log: https://sqlite.org/fileformat2.html#the_write_ahead_log"""
    log = Path(f"{path}-wal").read_bytes()
    page = struct.unpack(">I", log[8:12])[0]
    frames = [log[at : at + 24] for at in range(32, len(log), page + 24)]
    salt = log[16:24]
    return sum(frame[8:16] == salt and frame[4:8] != bytes(4) for frame in frames)


async def test_the_folder_and_the_files_are_private(store: SqliteStore, path: Path) -> None:
    await store.append(HERE, [UserMessage("hi")])

    assert mode(path.parent) == 0o700
    files = {file.name: mode(file) for file in path.parent.iterdir()}
    assert files == {"kai.db": 0o600, "kai.db-wal": 0o600, "kai.db-shm": 0o600}


async def test_a_file_that_others_could_read_is_made_private(path: Path) -> None:
    async with SqliteStore.open(path):
        pass
    path.chmod(0o644)

    async with SqliteStore.open(path):
        assert mode(path) == 0o600


async def test_a_commit_waits_for_the_disk(store: SqliteStore) -> None:
    """H3: synchronous 2 is FULL."""
    pragmas = [
        await store._db.write(lambda db, name=name: db.execute(f"PRAGMA {name}").fetchone()[0])  # type: ignore[misc]
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "mmap_size")
    ]

    assert pragmas == ["wal", 2, 1, 5000, 0]


async def test_concurrent_writes_share_commits(store: SqliteStore, path: Path) -> None:
    before = commits(path)

    await asyncio.gather(*(store.append(Conversation(n), [UserMessage("hi")]) for n in range(200)))

    assert commits(path) - before <= 3
    assert len(await store.open_conversations()) == 200


async def test_two_hundred_concurrent_appends_take_well_under_a_second(store: SqliteStore) -> None:
    started = time.perf_counter()

    await asyncio.gather(*(store.append(Conversation(n), [UserMessage("hi")]) for n in range(200)))

    assert time.perf_counter() - started < 0.5


async def test_one_append_is_one_commit(store: SqliteStore, path: Path) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=1.0)
    before = commits(path)

    await store.append(HERE, [UserMessage("a"), UserMessage("b")], effects=[answer()], update_id=10, cwd="/")

    assert commits(path) - before == 1


async def test_a_write_that_changes_nothing_costs_no_commit(store: SqliteStore, path: Path) -> None:
    before = commits(path)

    await store.expire(ASKED)
    await store.finish_update(99)

    assert commits(path) == before


async def test_a_faulty_write_spoils_none_that_share_its_commit(store: SqliteStore) -> None:
    await store.append(HERE, [ToolResult("c0", "first")])

    ended = await asyncio.gather(
        store.append(HERE, [UserMessage("before")]),
        store.append(HERE, [UserMessage("with it"), ToolResult("c0", "again")]),
        store.append(HERE, [UserMessage("after")]),
        return_exceptions=True,
    )

    assert [type(end) for end in ended] == [type(None), StoreError, type(None)]
    assert list(await store.load(HERE))[1:] == [UserMessage("before"), UserMessage("after")]


async def test_cancelling_a_wait_does_not_break_the_commit(store: SqliteStore) -> None:
    writes = [asyncio.create_task(store.append(HERE, [UserMessage(str(n))])) for n in range(20)]
    await asyncio.sleep(0)

    for write in writes[::2]:
        write.cancel()
    ended = await asyncio.gather(*writes, return_exceptions=True)
    await store.append(HERE, [UserMessage("last")])

    assert [end for end in ended if not isinstance(end, asyncio.CancelledError)] == [None] * 10
    texts = [message.text for message in await store.load(HERE)]
    assert set(texts) >= {str(n) for n in range(1, 20, 2)}
    assert texts[-1] == "last"


async def test_what_is_queued_at_the_end_is_still_committed(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        slow = asyncio.create_task(store._db.write(lambda db: time.sleep(0.2)))
        await asyncio.sleep(0.05)
        queued = asyncio.create_task(store.append(HERE, [UserMessage("in the next commit")]))
        await asyncio.sleep(0)

    await asyncio.gather(slow, queued)
    assert rows(path, "SELECT count(*) FROM messages") == [(1,)]


async def test_a_closed_store_says_so(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        pass

    with pytest.raises(StoreError, match="closed"):
        await store.append(HERE, [UserMessage("late")])
    with pytest.raises(StoreError, match="closed"):
        await store.load(HERE)


async def test_closing_leaves_one_file(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(HERE, [UserMessage("hi")])

    assert [file.name for file in path.parent.iterdir()] == ["kai.db"]


async def test_reads_do_not_wait_for_a_write(store: SqliteStore, path: Path) -> None:
    await store.append(HERE, [UserMessage("seen")])

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE conversations SET cwd = '/unseen'")
        state, transcript = await store.conversation_state(HERE), await store.load(HERE)

    assert state[0] == ""
    assert list(transcript) == [UserMessage("seen")]


async def test_a_write_waits_for_another_process(store: SqliteStore, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.append(HERE, [UserMessage("patient")]))
        await asyncio.sleep(0.1)
        waited = not write.done()
        other.execute("COMMIT")
        await write

    assert waited
    assert list(await store.load(HERE)) == [UserMessage("patient")]


async def test_writes_that_waited_too_long_fail_together_and_the_next_succeeds(
    store: SqliteStore, path: Path
) -> None:
    await store._db.write(lambda db: db.execute("PRAGMA busy_timeout = 50").fetchone())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        ended = await asyncio.gather(
            *(store.append(HERE, [UserMessage(str(n))]) for n in range(20)), return_exceptions=True
        )

    assert {str(end) for end in ended} == {f"cannot write {str(path)!r}: database is locked"}
    await store.append(HERE, [UserMessage("after")])
    assert list(await store.load(HERE)) == [UserMessage("after")]


async def test_a_listener_that_raises_spoils_no_write(store: SqliteStore) -> None:
    loop = asyncio.get_running_loop()
    heard: list[object] = []
    loop.set_exception_handler(lambda _, context: heard.append(context["exception"]))
    store.on_effects(lambda: [].pop())

    slow = asyncio.create_task(store._db.write(lambda db: time.sleep(0.1), effects=True))
    await asyncio.sleep(0.05)
    await asyncio.gather(slow, store.append(HERE, [UserMessage("in the next commit")]))

    assert [type(error) for error in heard] == [IndexError]
    assert list(await store.load(HERE)) == [UserMessage("in the next commit")]


async def test_a_file_that_is_no_database_is_set_aside_whole(path: Path, clock: SettableClock) -> None:
    """H3."""
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 500)

    async with SqliteStore.open(path, clock=clock) as store:
        await store.append(HERE, [UserMessage("afresh")])

        assert store.quarantined == path.with_name("kai.db.corrupt-2023-11-14T221320Z")
        assert store.quarantined.read_bytes() == b"not a database at all" * 500
        assert list(await store.load(HERE)) == [UserMessage("afresh")]


async def test_a_damaged_page_is_found_when_the_file_is_small(path: Path) -> None:
    await fill(path, megabytes=1)
    damage(path)

    async with SqliteStore.open(path) as store:
        assert store.quarantined is not None


async def test_a_damaged_page_is_found_after_a_crash_whatever_the_size(path: Path) -> None:
    await fill(path, megabytes=(CHECK_ALWAYS_BELOW >> 20) + 1)
    damage(path)
    Path(f"{path}-wal").touch()

    async with SqliteStore.open(path) as store:
        assert store.quarantined is not None


async def test_a_second_damaged_file_does_not_replace_the_first(path: Path, clock: SettableClock) -> None:
    path.parent.mkdir()
    aside = []
    for content in (b"first" * 1000, b"second" * 1000):
        path.write_bytes(content)
        async with SqliteStore.open(path, clock=clock) as store:
            assert store.quarantined is not None
            aside.append(store.quarantined.read_bytes())

    assert aside == [b"first" * 1000, b"second" * 1000]
    assert len(list(path.parent.glob("*.corrupt-*"))) == 2


async def test_the_log_of_a_damaged_file_is_set_aside_with_it(path: Path, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed" / "kai.db"
    crashed.parent.mkdir()
    await fill(path, megabytes=1)
    async with SqliteStore.open(path) as store:
        await store.append(HERE, [UserMessage("in the log only")])
        log = Path(f"{path}-wal").read_bytes()
        crashed.write_bytes(path.read_bytes())
    Path(f"{crashed}-wal").write_bytes(log)
    damage(crashed)

    async with SqliteStore.open(crashed) as store:
        assert store.quarantined is not None
        assert Path(f"{store.quarantined}-wal").read_bytes() == log


async def test_a_sound_file_is_not_set_aside(path: Path) -> None:
    await fill(path, megabytes=1)

    async with SqliteStore.open(path) as store:
        assert store.quarantined is None
        assert len(await store.load(HERE)) > 0


async def test_a_path_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"cannot open '.*/file/kai\.db'"):
        async with SqliteStore.open(tmp_path / "file" / "kai.db"):
            pass


async def test_odd_characters_in_the_path_are_no_options(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory#%41" / "kai.db"

    async with SqliteStore.open(path) as store:
        await store.append(HERE, [UserMessage("hi")])

    assert rows(path, "SELECT count(*) FROM messages") == [(1,)]


async def test_the_json_of_an_update_is_forgotten_when_it_is_handled_and_kept_when_it_is_poison(
    store: SqliteStore, path: Path
) -> None:
    await store.receive([StoredUpdate(n, f"raw {n}") for n in (1, 2, 3)], at=1.0)

    await store.finish_update(1)
    await store.finish_update(2, error="poison")

    assert rows(path, "SELECT update_id, raw FROM updates") == [(1, None), (2, "raw 2"), (3, "raw 3")]
    assert await store.receive([StoredUpdate(1, "raw 1")], at=2.0) == []


async def test_a_migrated_chat_keeps_what_was_already_sent_where_it_was_sent(
    store: SqliteStore, path: Path
) -> None:
    await store.enqueue([answer("k1"), answer("k2")])
    [first, _] = await store.unsent()
    await store.part_sent(first.id, 9, last=True)
    await store.claim(HERE, "c1", at=ASKED)

    await store.migrate_chat(HERE.chat_id, -100555)

    assert rows(path, "SELECT key, chat_id FROM outbox") == [("k1", HERE.chat_id), ("k2", -100555)]
    assert rows(path, "SELECT chat_id FROM claims") == [(-100555,)]


async def test_how_an_update_ended_first_stands(store: SqliteStore, path: Path) -> None:
    await store.receive([StoredUpdate(1, "{}")], at=ASKED)
    await store.finish_update(1, error="poison")

    await store.finish_update(1)

    assert rows(path, "SELECT error FROM updates") == [("poison",)]


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("audit", "UPDATE audit SET action = 'nothing'"),
        ("audit", "DELETE FROM audit"),
        ("messages", "UPDATE messages SET body = '{}'"),
        ("messages", "DELETE FROM messages"),
        ("usage", "UPDATE usage SET input = 0"),
        ("usage", "DELETE FROM usage"),
        ("claims", "DELETE FROM claims"),
        ("claims", "UPDATE claims SET call_id = 'c9'"),
        ("approvals", "DELETE FROM approvals"),
        ("approvals", "UPDATE approvals SET digest = 'other'"),
        ("approvals", "UPDATE approvals SET question = '{}'"),
        ("approvals", "UPDATE approvals SET expires_at = 9e9"),
    ],
)
async def test_what_is_append_only_cannot_be_changed(
    store: SqliteStore, path: Path, name: str, statement: str
) -> None:
    """A9."""
    await keep_one_of_each(store)

    with pytest.raises(sqlite3.IntegrityError, match=f"{name} is append-only"):
        change(path, statement)


@pytest.mark.parametrize(
    "assignments",
    [
        "status = 'maybe', decided_at = 1",
        "status = 'denied'",
        "decided_at = 1",
        "decided_by = 5",
        "reason = 'because'",
        "outcome = 'exit 0'",
        "status = 'approved', decided_at = 1",
        "status = 'approved', decided_at = 9e9, decided_by = 5",
        "status = 'denied', decided_at = 1, decided_by = 5, outcome = 'exit 0'",
    ],
)
async def test_an_impossible_approval_cannot_be_stored(
    store: SqliteStore, path: Path, assignments: str
) -> None:
    await store.ask([question()], [])

    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        change(path, f"UPDATE approvals SET {assignments}")


async def test_a_decided_approval_cannot_be_decided_by_hand(store: SqliteStore, path: Path) -> None:
    await store.ask([question()], [])
    await store.decide("a1", Status.DENIED, at=ASKED, by=ANN)

    with pytest.raises(sqlite3.IntegrityError, match="decided once"):
        change(path, "UPDATE approvals SET status = 'approved', decided_at = 1, decided_by = 5")


async def test_decisions_and_events_reach_the_audit(store: SqliteStore, path: Path) -> None:
    """A9."""
    await store.ask([question("a1", "c1"), question("a2", "c2"), question("a3", "c3")], [])

    await store.decide("a1", Status.APPROVED, at=ASKED + 1, by=ANN, name="Ann")
    await store.decide("a1", Status.DENIED, at=ASKED + 2, by=6)
    await store.expire(ASKED + 1800)
    await store.record(AuditEvent(ASKED + 1900, "started"))
    await store.append(HERE, [], audit=[AuditEvent(ASKED + 1901, "stopped", HERE, ANN, {"why": "asked"})])

    sql = "SELECT at - 1700000000, action, chat_id, user_id, detail ->> 'approval_id' FROM audit ORDER BY id"
    assert rows(path, sql) == [
        (1.0, "approval_approved", HERE.chat_id, ANN, "a1"),
        (1800.0, "approval_expired", HERE.chat_id, None, "a2"),
        (1800.0, "approval_expired", HERE.chat_id, None, "a3"),
        (1900.0, "started", None, None, None),
        (1901.0, "stopped", HERE.chat_id, ANN, None),
    ]


def test_a_locked_file_is_an_error_and_not_damage(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(StoreError, match="locked"):
            open_database(path, ASKED, timeout=0.05)

    assert [file.name for file in path.parent.glob("*corrupt*")] == []


async def keep_one_of_each(store: SqliteStore) -> None:
    await store.append(HERE, [UserMessage("hi")])
    await store.ask([question()], [])
    await store.claim(HERE, "c1", at=ASKED)
    await store.record_usage(HERE, "m-1", Usage(1), at=ASKED)
    await store.record(AuditEvent(ASKED, "started"))


async def fill(path: Path, megabytes: int) -> None:
    async with SqliteStore.open(path) as store:
        for _ in range(megabytes):
            await store.append(HERE, [UserMessage("x" * 1000) for _ in range(1000)])


def damage(path: Path) -> None:
    """Overwrite pages in the middle, past the schema."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(os.urandom(4096 * 8))
