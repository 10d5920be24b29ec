"""Everything kept, in one SQLite file over aiosqlite."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.clock import Clock, system
from bot.store.sqlite.approvals import SqliteApprovals
from bot.store.sqlite.database import Database
from bot.store.sqlite.grants import SqliteGrants
from bot.store.sqlite.inbox import SqliteInbox
from bot.store.sqlite.ledger import SqliteLedger
from bot.store.sqlite.outbox import SqliteOutbox
from bot.store.sqlite.posts import SqlitePosts
from bot.store.sqlite.previews import SqlitePreviews
from bot.store.sqlite.records import SqliteRecords
from bot.store.sqlite.reverts import SqliteReverts
from bot.store.sqlite.second_steps import SqliteSecondSteps
from bot.store.sqlite.transcripts import SqliteTranscripts
from bot.store.sqlite.transfers import SqliteTransfers


class SqliteStore(
    SqliteInbox,
    SqliteTranscripts,
    SqliteApprovals,
    SqliteSecondSteps,
    SqliteGrants,
    SqliteReverts,
    SqliteOutbox,
    SqlitePreviews,
    SqliteLedger,
    SqliteRecords,
    SqliteTransfers,
    SqlitePosts,
):
    """A `bot.store.base.Store`, with transfers and posts; use `open`.

    Its methods raise StoreError when the database refuses.
    """

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, clock: Clock = system) -> AsyncIterator["SqliteStore"]:
        """Open or make the file, its folder too; both are private to this user when made.

        Args:
            path: Of the database. Its folder is left as it is when it exists.
            clock: Dates what is stored without a time of its own.

        Raises:
            StoreError: The path can't be used, the file is locked, or a newer version wrote it. A damaged
                file doesn't raise: see `quarantined`.
        """
        async with Database.open(path, clock()) as database:
            yield cls(database, clock)

    @property
    def quarantined(self) -> Path | None:
        """Where a damaged file was moved at `open`, for a person to be told; None when all was well."""
        return self._db.quarantined

    async def size(self) -> int:
        return _bytes_of(self._db.path)


def _bytes_of(path: Path) -> int:
    total = 0
    for suffix in ("", "-wal", "-shm"):
        try:
            total += os.stat(f"{path}{suffix}").st_size
        except FileNotFoundError:
            continue
    return total


__all__ = ["SqliteStore"]
