"""Tokens used and things done."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

from bot.errors import StoreError
from bot.messages import Conversation, Usage
from bot.store.base import AuditEvent
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.part import Part

EventRow = tuple[float, str, int | None, int | None, int | None, str]


NEWEST = "SELECT at, action, chat_id, thread_id, user_id, detail FROM audit ORDER BY id DESC LIMIT ?"


class SqliteLedger(Part):
    async def record_usage(
        self,
        conversation: Conversation,
        model: str,
        usage: Usage,
        at: float,
        *,
        user_id: int | None = None,
    ) -> None:
        row = (*key(conversation), storable(model), at, *astuple(usage), user_id)
        sql = (
            "INSERT INTO usage"
            " (chat_id, thread_id, model, at, input, output, cache_read, cache_write, reasoning, user_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        await self._db.write(lambda db: db.execute(sql, row).rowcount)

    async def record(self, event: AuditEvent) -> None:
        rows = event_rows([event])
        await self._db.write(lambda db: insert_events(db, rows))

    async def audit(self, limit: int) -> list[AuditEvent]:
        return [_event(row) for row in await self._db.read(NEWEST, (limit,))]

    async def spent(self, conversation: Conversation | None, since: float) -> Usage:
        if conversation is None:
            return await self._sum("at >= ?", since)
        return await self._sum("at >= ? AND chat_id = ? AND thread_id = ?", since, *key(conversation))

    async def spent_in_turn(self, conversation: Conversation) -> Usage:
        return await self._sum(
            "chat_id = ?1 AND thread_id = ?2 AND at >= (SELECT coalesce(max(at), 0) FROM messages"
            " WHERE chat_id = ?1 AND thread_id = ?2 AND kind = 'user')",
            *key(conversation),
        )

    async def _sum(self, where: str, *values: float) -> Usage:
        [row] = await self._db.read(
            "SELECT total(input), total(output), total(cache_read), total(cache_write), total(reasoning)"
            f" FROM usage WHERE {where}",
            values,
        )
        return Usage(*map(int, row))


def read_audit(path: Path, limit: int) -> list[AuditEvent]:
    """Return the last so many lines, newest first, of a file that another process may be writing.

    Raises:
        StoreError: There is no such file, or it can't be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return [_event(row) for row in db.execute(NEWEST, (limit,))]
    except sqlite3.Error as exc:
        raise StoreError(f"cannot read {str(path)!r}: {exc}") from exc


def _event(row: Sequence[Any]) -> AuditEvent:
    at, action, chat_id, thread_id, user_id, detail = row
    where = None if chat_id is None else from_key(chat_id, thread_id)
    return AuditEvent(float(at), action, where, user_id, json.loads(detail))


def event_rows(events: Sequence[AuditEvent]) -> list[EventRow]:
    return [
        (
            event.at,
            storable(event.action),
            *(key(event.conversation) if event.conversation else (None, None)),
            event.user_id,
            to_json(dict(event.detail)),
        )
        for event in events
    ]


def insert_events(db: sqlite3.Connection, rows: Sequence[EventRow]) -> None:
    if rows:
        db.executemany(
            "INSERT INTO audit (at, action, chat_id, thread_id, user_id, detail) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
