"""Updates as Telegram sent them."""

import sqlite3
from collections.abc import Sequence

from bot.store.base import StoredUpdate, UpdateIds
from bot.store.codec import storable
from bot.store.sqlite.part import Part


class SqliteInbox(Part):
    async def receive(self, updates: Sequence[StoredUpdate], at: float) -> list[int]:
        rows = [(update.update_id, storable(update.raw), at) for update in updates]

        def job(db: sqlite3.Connection) -> list[int]:
            sql = "INSERT INTO updates (update_id, raw, received_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            return [row[0] for row in rows if db.execute(sql, row).rowcount == 1]

        return await self._db.write(job) if rows else []

    async def unhandled(self) -> list[StoredUpdate]:
        sql = "SELECT update_id, raw FROM updates WHERE finished_at IS NULL ORDER BY update_id"
        return [StoredUpdate(update_id, raw) for update_id, raw in await self._db.read(sql)]

    async def finish_update(self, update_id: UpdateIds, error: str = "") -> None:
        at, error = self._clock(), storable(error)
        await self._db.write(lambda db: finish(db, update_id, at, error))

    async def last_update_id(self) -> int | None:
        [(highest,)] = await self._db.read("SELECT max(update_id) FROM updates")
        return None if highest is None else int(highest)

    async def inbox_size(self) -> int:
        [(count,)] = await self._db.read("SELECT count(*) FROM updates WHERE finished_at IS NULL")
        return int(count)


def finish(db: sqlite3.Connection, update_id: UpdateIds, at: float, error: str = "") -> None:
    """Mark an update as handled unless it is already, or there is none.

    Its JSON is forgotten with that, since it may hold what nobody redacted; that of poison is kept.
    """
    for one in () if update_id is None else (update_id,) if isinstance(update_id, int) else update_id:
        db.execute(
            "UPDATE updates SET finished_at = ?1, error = ?2, raw = iif(?2 = '', NULL, raw)"
            " WHERE update_id = ?3 AND finished_at IS NULL",
            (at, error, one),
        )
