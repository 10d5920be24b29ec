"""Open the database file: make it private, look for damage, set a damaged one aside, migrate."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import gmtime, strftime

from bot.errors import StoreError
from bot.store.sqlite.migrations import MIGRATIONS, migrate

BUSY_TIMEOUT = 5.0
CHECK_ALWAYS_BELOW = 16 << 20
"""Bytes. A check takes about 1 ms a megabyte, so a larger file is checked only after a crash."""

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cache_size = -1024",
    "PRAGMA mmap_size = 0",
    "PRAGMA journal_size_limit = 4194304",
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Two connections for threads to come.

    Attributes:
        reader: Can't write, and sees only what is committed.
        quarantined: Where a damaged file was moved; None when there was none.
    """

    writer: sqlite3.Connection
    reader: sqlite3.Connection
    quarantined: Path | None


def open_database(path: Path, now: float, *, timeout: float = BUSY_TIMEOUT) -> Opened:
    """Open the file, or make it.

    Blocks, up to `timeout` seconds when the file is locked. A damaged file is moved, its log beside it,
    and a fresh one begun; it is never emptied.

    Raises:
        StoreError: The path cannot be used, the file is locked, or a newer version wrote it.
    """
    quarantined = None
    try:
        _make_private(path)
        if _damaged(path, timeout):
            quarantined = _quarantine(path, now)
            _make_private(path)
        writer = _open_to_write(path, now, timeout)
        try:
            return Opened(writer, _open_to_read(path, timeout), quarantined)
        except BaseException:
            writer.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot open {str(path)!r}: {error}") from error


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its log and index the mode of the database, so this one line keeps all three private.
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(file, 0o600)
    finally:
        os.close(file)


def _damaged(path: Path, timeout: float) -> bool:
    size = path.stat().st_size
    # A clean close removes the log.
    after_crash = _beside(path, "-wal").exists()
    # Read-only, because closing a connection that may write would fold the log into the damaged file.
    with closing(sqlite3.connect(_read_only(path), uri=True, timeout=timeout)) as db:
        try:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if size < CHECK_ALWAYS_BELOW or after_crash:
                return bool(db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                return True
            raise
    return False


def _quarantine(path: Path, now: float) -> Path:
    stamp = strftime("%Y-%m-%dT%H%M%SZ", gmtime(now))
    target = path.with_name(f"{path.name}.corrupt-{stamp}")
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.corrupt-{stamp}-{count}")
    for suffix in ("-wal", "-shm", ""):
        if _beside(path, suffix).exists():
            _beside(path, suffix).rename(_beside(target, suffix))
    return target


def _open_to_read(path: Path, timeout: float) -> sqlite3.Connection:
    db = sqlite3.connect(
        _read_only(path), uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    for pragma in ("PRAGMA cache_size = -1024", "PRAGMA mmap_size = 0"):
        db.execute(pragma)
    return db


def _open_to_write(path: Path, now: float, timeout: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        for pragma in PRAGMAS:
            db.execute(pragma)
        migrate(db, MIGRATIONS, now)
    except BaseException:
        db.close()
        raise
    return db


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
