"""One connection that writes, one that reads, and commits shared by whoever is waiting.

A commit costs an fsync, whether it holds one row or a thousand. So a write is a function that is queued;
while one commit runs, the next writes gather, and they go together in the next one.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from bot.errors import StoreError
from bot.store.sqlite.opening import open_database

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
"""The statements of one write. Run in the connection's thread, in a transaction; twice if that was undone."""

Done = tuple[Any, Exception | None]
_Write = tuple[Job[Any], asyncio.Future[Any], bool]


class Database:
    """Use `open`. Two connections to one file, each with a thread of its own.

    Attributes:
        path: Of the main file; SQLite keeps `-wal` and `-shm` beside it.
        quarantined: Where a damaged file was moved when this one was begun; None when nothing was wrong.
        on_effects: Called after a commit that may have stored effects.
    """

    def __init__(
        self, path: Path, quarantined: Path | None, writer: "_Writer", reader: aiosqlite.Connection
    ) -> None:
        self.path = path
        self.quarantined = quarantined
        self._writer = writer
        self._reader = reader
        self._waiting: list[_Write] = []
        self.on_effects: Callable[[], None] = lambda: None
        self._draining: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, now: float) -> AsyncIterator["Database"]:
        """Open or make the file; on leaving, what is queued is committed first.

        Raises:
            StoreError: See `open_database`.
        """
        # Opened beside aiosqlite: when it fails to open, its thread outlives the loop and dies loudly.
        opened = await asyncio.to_thread(open_database, path, now)
        writer = _Writer(lambda: opened.writer, iter_chunk_size=64)
        reader = aiosqlite.Connection(lambda: opened.reader, iter_chunk_size=64)
        # The reader is closed first: only the last connection that may write folds the log into the file.
        async with writer, reader:
            database = cls(path, opened.quarantined, writer, reader)
            try:
                yield database
            finally:
                await database._drained()

    async def write(self, job: Job[T], *, effects: bool = False) -> T:
        """Run a job in a transaction; it is on disk when this returns, and nothing of it is when this raises.

        With `effects` the job may store some, which are then told of.

        Other jobs may share the transaction; a job that raises spoils none of them. Cancelling the wait does
        not take the job back: it may still be done.

        Raises:
            StoreError: The database refused: full, locked, damaged, or against a constraint.
        """
        if self._closed:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append((job, future, effects))
        if self._draining is None:
            self._draining = loop.create_task(self._drain())
        try:
            return await future
        except sqlite3.Error as error:
            raise StoreError(f"cannot write {str(self.path)!r}: {error}") from error

    async def read(self, sql: str, parameters: Iterable[object] = ()) -> list[Sequence[Any]]:
        """Return the rows of one SELECT over what is committed.

        Raises:
            StoreError: The database could not be read.
        """
        if self._closed:
            raise StoreError("the store is closed")
        try:
            return list(await self._reader.execute_fetchall(sql, parameters))
        except sqlite3.Error as error:
            raise StoreError(f"cannot read {str(self.path)!r}: {error}") from error

    async def _drain(self) -> None:
        batch: list[_Write] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                done = await self._writer.run([job for job, _, _ in batch])
                for (_, future, _), (result, error) in zip(batch, done, strict=True):
                    if future.done():
                        continue
                    if error is None:
                        future.set_result(result)
                    else:
                        future.set_exception(error)
                if any(effects for _, _, effects in batch):
                    # Not called here: what a listener raises must not reach those who wait for a commit.
                    asyncio.get_running_loop().call_soon(self.on_effects)
        finally:
            self._draining = None
            # None of these is left unless this task itself was cancelled.
            for _, future, _ in (*batch, *self._waiting):
                future.cancel()
            self._waiting = []

    async def _drained(self) -> None:
        self._closed = True
        if self._draining is not None:
            await asyncio.shield(self._draining)


class _Writer(aiosqlite.Connection):
    """A connection that runs whole transactions in its thread, one hop each."""

    async def run(self, jobs: Sequence[Job[Any]]) -> list[Done]:
        """Run jobs in one transaction, or each in its own when one of them raises."""
        done: list[Done] = await self._execute(_run, self._conn, jobs)  # type: ignore[no-untyped-call]
        return done


def _run(db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> list[Done]:
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        # Locked: nobody's fault, and waiting once more for each would take minutes.
        return [(None, error)] * len(jobs)
    try:
        results = [job(db) for job in jobs]
        db.execute("COMMIT")
    except Exception as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if len(jobs) == 1:
            return [(None, error)]
        return [done for job in jobs for done in _run(db, [job])]
    return [(result, None) for result in results]
