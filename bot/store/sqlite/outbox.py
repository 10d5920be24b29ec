"""Effects, from being decided on to having been seen."""

import json
import sqlite3
from collections.abc import Callable, Sequence

from bot.store.base import Effect, StoredEffect, UpdateIds
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.part import Part
from bot.store.sqlite.previews import hand_over

EffectRow = tuple[str, int, int, str, str, float]


class SqliteOutbox(Part):
    async def enqueue(self, effects: Sequence[Effect], *, update_id: UpdateIds = None) -> None:
        at = self._clock()
        rows = effect_rows(effects, at)

        def job(db: sqlite3.Connection) -> None:
            insert_effects(db, rows)
            finish(db, update_id, at)

        await self._db.write(job, effects=True)

    def on_effects(self, listener: Callable[[], None]) -> None:
        self._db.on_effects = listener

    async def unsent(self, after: int = 0) -> list[StoredEffect]:
        rows = await self._db.read(
            "SELECT id, key, chat_id, thread_id, kind, payload, sent, unsure, resent"
            " FROM outbox WHERE done_at IS NULL AND id > ? ORDER BY id",
            (after,),
        )
        return [
            StoredEffect(
                id=effect_id,
                effect=Effect(name, from_key(chat_id, thread_id), kind, json.loads(payload)),
                sent=tuple(json.loads(sent)),
                unsure=bool(unsure),
                resent=bool(resent),
            )
            for effect_id, name, chat_id, thread_id, kind, payload, sent, unsure, resent in rows
        ]

    async def sending(self, effect_id: int, *, resend: bool = False) -> None:
        await self._change("unsure = 1, resent = resent OR ?", resend, effect_id)

    async def part_sent(self, effect_id: int, message_id: int, *, last: bool) -> None:
        # Each part is a message of its own, so the next one may be sent again once as well.
        await self._change(
            "sent = json_insert(sent, '$[#]', ?), unsure = 0, resent = 0, done_at = ?",
            message_id,
            self._clock() if last else None,
            effect_id,
        )

    async def not_sent(self, effect_id: int) -> None:
        await self._change("unsure = 0", effect_id)

    async def give_up(self, effect_id: int, error: str) -> None:
        await self._change("done_at = ?, error = ?", self._clock(), storable(error), effect_id)

    async def outbox_size(self) -> int:
        [(count,)] = await self._db.read("SELECT count(*) FROM outbox WHERE done_at IS NULL")
        return int(count)

    async def _change(self, assignments: str, *values: object) -> None:
        """Change an effect that is not done; its id is the last value."""
        sql = f"UPDATE outbox SET {assignments} WHERE id = ? AND done_at IS NULL"
        await self._db.write(lambda db: db.execute(sql, values).rowcount)


def effect_rows(effects: Sequence[Effect], at: float) -> list[EffectRow]:
    return [
        (
            storable(effect.key),
            *key(effect.conversation),
            storable(effect.kind),
            to_json(dict(effect.payload)),
            at,
        )
        for effect in effects
    ]


def insert_effects(db: sqlite3.Connection, rows: Sequence[EffectRow]) -> None:
    """Store effects; one whose key is known is left out."""
    if rows:
        db.executemany(
            "INSERT INTO outbox (key, chat_id, thread_id, kind, payload, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            rows,
        )
    for name, chat_id, thread_id, kind, payload, _ in rows:
        if kind == "answer" and json.loads(payload).get("preview"):
            hand_over(db, name, chat_id, thread_id)
