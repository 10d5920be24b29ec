"""Tokens used and things done."""

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from bot.messages import Conversation, Usage
from bot.store.base import AuditEvent
from bot.store.codec import key, storable, to_json
from bot.store.sqlite.part import Part

EventRow = tuple[float, str, int | None, int | None, int | None, str]


class SqliteLedger(Part):
    async def record_usage(self, conversation: Conversation, model: str, usage: Usage, at: float) -> None:
        row = (*key(conversation), storable(model), at, *astuple(usage))
        sql = (
            "INSERT INTO usage"
            " (chat_id, thread_id, model, at, input, output, cache_read, cache_write, reasoning)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        await self._db.write(lambda db: db.execute(sql, row).rowcount)

    async def record(self, event: AuditEvent) -> None:
        rows = event_rows([event])
        await self._db.write(lambda db: insert_events(db, rows))

    async def spent(self, conversation: Conversation | None, since: float) -> Usage:
        where, values = "at >= ?", [since]
        if conversation is not None:
            where, values = f"{where} AND chat_id = ? AND thread_id = ?", [since, *key(conversation)]
        [row] = await self._db.read(
            "SELECT total(input), total(output), total(cache_read), total(cache_write), total(reasoning)"
            f" FROM usage WHERE {where}",
            values,
        )
        return Usage(*map(int, row))


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
