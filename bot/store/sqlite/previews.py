"""Messages that show something unfinished: which they are, and which effect will finish them."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from bot.messages import Conversation
from bot.store.base import Preview
from bot.store.codec import from_key, key, storable
from bot.store.sqlite.part import Part

COLUMNS = "SELECT id, chat_id, thread_id, kind, message_id FROM previews"


class SqlitePreviews(Part):
    async def begin_preview(self, conversation: Conversation, kind: str) -> Preview:
        return await self._db.write(lambda db: _begin(db, key(conversation), storable(kind)))

    async def begin_answer(self, conversation: Conversation) -> Preview | None:
        where = key(conversation)

        def job(db: sqlite3.Connection) -> Preview | None:
            return None if _answered(db, where) else _begin(db, where, "answer")

        return await self._db.write(job)

    async def preview_sent(self, preview_id: int, message_id: int) -> None:
        sql = "UPDATE previews SET message_id = ? WHERE id = ?"
        await self._db.write(lambda db: db.execute(sql, (message_id, preview_id)).rowcount)

    async def end_preview(self, preview_id: int) -> None:
        await self._db.write(
            lambda db: db.execute("DELETE FROM previews WHERE id = ?", (preview_id,)).rowcount
        )

    async def open_previews(self, kind: str, conversation: Conversation | None = None) -> list[Preview]:
        sql, values = f"{COLUMNS} WHERE kind = ? AND effect_key = ''", [storable(kind)]
        where = () if conversation is None else key(conversation)
        if where:
            sql += " AND chat_id = ? AND thread_id = ?"
        return [_preview(row) for row in await self._db.read(f"{sql} ORDER BY id", (*values, *where))]

    async def preview_of(self, effect_key: str) -> Preview | None:
        rows = await self._db.read(f"{COLUMNS} WHERE effect_key = ?", (storable(effect_key),))
        return _preview(rows[0]) if rows else None


def _begin(db: sqlite3.Connection, where: tuple[int, int], kind: str) -> Preview:
    """Return what of this kind stands open in a conversation, begun now if nothing does."""
    row = (*where, kind)
    db.execute(
        "INSERT INTO previews (chat_id, thread_id, kind) VALUES (?, ?, ?)"
        " ON CONFLICT (chat_id, thread_id, kind) WHERE effect_key = '' DO NOTHING",
        row,
    )
    sql = f"{COLUMNS} WHERE chat_id = ? AND thread_id = ? AND kind = ? AND effect_key = ''"
    return _preview(db.execute(sql, row).fetchone())


def _preview(row: Sequence[Any]) -> Preview:
    preview_id, chat_id, thread_id, kind, message_id = row
    return Preview(preview_id, from_key(chat_id, thread_id), kind, message_id)


def _answered(db: sqlite3.Connection, where: tuple[int, int]) -> bool:
    """Whether nothing was said since the newest answer was stored: it has taken over what it will finish."""
    answered = db.execute(
        "SELECT created_at FROM outbox WHERE chat_id = ? AND thread_id = ? AND kind = 'answer'"
        " AND payload ->> 'preview' ORDER BY id DESC LIMIT 1",
        where,
    ).fetchone()
    said = db.execute(
        "SELECT kind, at FROM messages WHERE chat_id = ? AND thread_id = ? ORDER BY id DESC LIMIT 1", where
    ).fetchone()
    return bool(answered and said and said[0] != "user" and answered[0] >= said[1])


def forget_previews(db: sqlite3.Connection, conversation: Conversation) -> None:
    """What still stands open belongs to an older turn: it stays as it is."""
    db.execute(
        "DELETE FROM previews WHERE chat_id = ? AND thread_id = ? AND effect_key = ''", key(conversation)
    )


def hand_over(db: sqlite3.Connection, effect_key: str, chat_id: int, thread_id: int) -> None:
    """Have an effect finish what was shown of it so far."""
    db.execute(
        "UPDATE previews SET effect_key = ?"
        " WHERE chat_id = ? AND thread_id = ? AND kind = 'answer' AND effect_key = ''",
        (effect_key, chat_id, thread_id),
    )


def stand_in(db: sqlite3.Connection, effect_id: int, message_id: int) -> None:
    """Have an effect that is not done finish this message next."""
    settle_preview(db, effect_id)
    db.execute(
        "INSERT INTO previews (chat_id, thread_id, kind, message_id, effect_key)"
        " SELECT chat_id, thread_id, 'answer', ?, key FROM outbox WHERE id = ? AND done_at IS NULL",
        (message_id, effect_id),
    )


def settle_preview(db: sqlite3.Connection, effect_id: int) -> None:
    """What an effect was to finish is finished, or another takes its place."""
    db.execute("DELETE FROM previews WHERE effect_key = (SELECT key FROM outbox WHERE id = ?)", (effect_id,))
