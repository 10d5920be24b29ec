"""Migrations run once each, and a file from the future is left alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.store.sqlite import SqliteStore
from bot.store.sqlite.migrations import MIGRATIONS, migrate


def m1_notes(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE notes (text TEXT)")


def m2_dates(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE notes ADD COLUMN at REAL")


def m2_broken(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE half (done TEXT)")
    db.execute("ALTER TABLE missing ADD COLUMN at REAL")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "kai.db", isolation_level=None)) as connection:
        yield connection


def recorded(db: sqlite3.Connection) -> list[tuple[str, float]]:
    return db.execute("SELECT name, at FROM migrations ORDER BY position").fetchall()


def test_migrations_run_once_and_are_recorded(db: sqlite3.Connection) -> None:
    assert migrate(db, [m1_notes, m2_dates], at=1.0) == ["m1_notes", "m2_dates"]

    assert migrate(db, [m1_notes, m2_dates], at=2.0) == []
    assert recorded(db) == [("m1_notes", 1.0), ("m2_dates", 1.0)]


def test_an_old_file_gets_only_what_it_lacks_and_keeps_its_rows(db: sqlite3.Connection) -> None:
    migrate(db, [m1_notes], at=1.0)
    db.execute("INSERT INTO notes VALUES ('kept')")

    assert migrate(db, [m1_notes, m2_dates], at=2.0) == ["m2_dates"]

    assert db.execute("SELECT text, at FROM notes").fetchall() == [("kept", None)]


def test_a_migration_that_fails_leaves_the_file_as_it_was(db: sqlite3.Connection) -> None:
    migrate(db, [m1_notes], at=1.0)

    with pytest.raises(sqlite3.OperationalError, match="missing"):
        migrate(db, [m1_notes, m2_broken], at=2.0)

    assert recorded(db) == [("m1_notes", 1.0)]
    assert db.execute("SELECT name FROM sqlite_schema WHERE name = 'half'").fetchall() == []
    assert migrate(db, [m1_notes, m2_dates], at=3.0) == ["m2_dates"]


def test_a_newer_schema_is_refused_by_name(db: sqlite3.Connection) -> None:
    migrate(db, [m1_notes, m2_dates], at=1.0)

    with pytest.raises(StoreError, match="'m2_dates', newer than 'm1_notes'"):
        migrate(db, [m1_notes], at=2.0)


async def test_a_store_of_a_newer_version_is_not_opened_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "kai.db"
    async with SqliteStore.open(path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO migrations (name, at) VALUES ('m9999_future', 1)")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="m9999_future"):
        async with SqliteStore.open(path):
            pass

    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["kai.db"]


async def test_a_store_is_migrated_to_the_newest_schema(tmp_path: Path) -> None:
    path = tmp_path / "kai.db"

    async with SqliteStore.open(path):
        pass

    with closing(sqlite3.connect(path)) as db:
        assert [name for name, _ in recorded(db)] == [migration.__name__ for migration in MIGRATIONS]
