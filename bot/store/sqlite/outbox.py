"""Effects, from being decided on to having been seen."""

import json
import sqlite3
from collections.abc import Callable, Sequence

from bot.store.base import Effect, StoredEffect, UpdateIds
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.part import Part
from bot.store.sqlite.previews import hand_over, settle_preview, stand_in

EffectRow = tuple[str, int, int, str, str, float]

NO_ID = "telegram took it, but did not answer in time: which message it became is not known"


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
            "SELECT id, key, chat_id, thread_id, kind, payload, sent, unsure, resent,"
            " EXISTS (SELECT 1 FROM previews WHERE effect_key = key)"
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
                previewed=bool(previewed),
            )
            for effect_id, name, chat_id, thread_id, kind, payload, sent, unsure, resent, previewed in rows
        ]

    async def sending(self, effect_id: int, *, resend: bool = False) -> None:
        await self._change("unsure = 1, resent = resent OR ?", resend, effect_id)

    async def part_sent(self, effect_id: int, message_id: int | None, *, last: bool) -> None:
        if message_id is not None and message_id <= 0:
            raise ValueError(f"not an id that telegram gives a message: {message_id!r}")
        done_at = self._clock() if last else None

        def job(db: sqlite3.Connection) -> None:
            # Each part is a message of its own, so the next one may be sent again as well.
            changed = db.execute(
                "UPDATE outbox SET sent = json_insert(sent, '$[#]', ?), unsure = 0, resent = 0"
                " WHERE id = ? AND done_at IS NULL",
                (message_id, effect_id),
            ).rowcount
            if not changed:
                return
            settle_preview(db, effect_id)
            if last:
                db.execute(
                    "UPDATE outbox SET done_at = ?, error = iif("
                    "EXISTS (SELECT 1 FROM json_each(sent) WHERE value IS NULL), ?, '') WHERE id = ?",
                    (done_at, NO_ID, effect_id),
                )

        await self._db.write(job)

    async def not_sent(self, effect_id: int) -> None:
        await self._change("unsure = 0", effect_id)

    async def stand_in(self, effect_id: int, message_id: int) -> None:
        await self._db.write(lambda db: stand_in(db, effect_id, message_id))

    async def give_up(self, effect_id: int, error: str) -> None:
        await self._change("done_at = ?, error = ?", self._clock(), storable(error), effect_id)

    async def finish_effect(self, effect_id: int) -> None:
        await self._change("done_at = ?", self._clock(), effect_id)

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
