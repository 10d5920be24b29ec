"""Looking back: words said, tokens by model and person, everything of a conversation, a copy of it all."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from bot.errors import StoreError
from bot.messages import Conversation, Message, Usage
from bot.store.base import Said, Spending
from bot.store.codec import decode, from_key, key, storable
from bot.store.sqlite.part import Part, know


class SqliteRecords(Part):
    async def find_said(self, chat_id: int, words: Sequence[str], limit: int) -> list[Said]:
        # A word of FTS5's query language can't hold a quote; quoted, nothing else has a meaning.
        query = " ".join(
            f'"{word}"*' for word in (storable(w).replace('"', " ").strip() for w in words) if word
        )

        def job(db: sqlite3.Connection) -> list[Said]:
            # Indexed when somebody looks, so that nothing is slower for those who don't.
            db.execute(
                "INSERT INTO message_words (rowid, text) SELECT id, json_extract(body, '$.text')"
                " FROM messages WHERE kind IN ('user', 'assistant') AND id > coalesce("
                "(SELECT rowid FROM message_words ORDER BY rowid DESC LIMIT 1), 0) ORDER BY id"
            )
            rows = db.execute(
                "SELECT m.at, m.chat_id, m.thread_id, m.kind, m.body FROM message_words w"
                " JOIN messages m ON m.id = w.rowid WHERE message_words MATCH ? AND m.chat_id = ?"
                " ORDER BY m.id DESC LIMIT ?",
                (query, chat_id, limit),
            ).fetchall()
            return [
                Said(at, from_key(chat, thread), decode([(kind, body)])[0])
                for at, chat, thread, kind, body in rows
            ]

        return await self._db.write(job) if query else []

    async def everything(self, conversation: Conversation) -> list[tuple[float, Message]]:
        rows = await self._db.read(
            "SELECT at, kind, body FROM messages WHERE chat_id = ? AND thread_id = ? ORDER BY id",
            key(conversation),
        )
        messages = decode([(kind, body) for _, kind, body in rows])
        return [(at, message) for (at, _, _), message in zip(rows, messages, strict=True)]

    async def spending(self, since: float) -> list[Spending]:
        rows = await self._db.read(
            "SELECT model, user_id, input, output, cache_read, cache_write, reasoning FROM usage"
            " WHERE at >= ? ORDER BY id",
            (since,),
        )
        found: dict[tuple[str, int | None], list[Usage]] = {}
        for model, user_id, *tokens in rows:
            found.setdefault((model, user_id), []).append(Usage(*tokens))
        spent = [Spending(model, user_id, tuple(usages)) for (model, user_id), usages in found.items()]
        return sorted(spent, key=lambda one: -(one.input + one.output))

    async def spent_by_day(self, since: float, days: int) -> list[int]:
        rows = await self._db.read(
            "SELECT CAST((at - ?1) / 86400 AS INTEGER), sum(input + output) FROM usage"
            " WHERE at >= ?1 GROUP BY 1",
            (since,),
        )
        found = {int(day): int(tokens) for day, tokens in rows}
        return [found.get(day, 0) for day in range(days)]

    async def names(self) -> dict[int, str]:
        rows = await self._db.read(
            "SELECT body FROM messages WHERE id IN (SELECT max(id) FROM messages WHERE kind = 'user'"
            " GROUP BY json_extract(body, '$.sender_id'))"
        )
        bodies = [json.loads(body) for (body,) in rows]
        return {body["sender_id"]: body.get("sender_name", "") for body in bodies if body.get("sender_id")}

    async def choose_model(self, conversation: Conversation, model: str) -> None:
        row = self._row(conversation) | {"model": storable(model)}

        def job(db: sqlite3.Connection) -> None:
            know(db, row)
            db.execute(
                "UPDATE conversations SET model = :model WHERE chat_id = :chat_id AND thread_id = :thread_id",
                row,
            )

        await self._db.write(job)
        self._known(conversation)

    async def backup(self, target: Path) -> None:
        await asyncio.to_thread(_copy, self._db.path, target)


def _copy(source: Path, target: Path) -> None:
    """Write what is committed into a new file that stands by itself.

    Raises:
        StoreError: It can't be written; nothing is left of it.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)  # SQLite writes into an empty file
        # Its own connection: VACUUM can't be part of a transaction, and must not hold up the writer.
        with closing(sqlite3.connect(source, isolation_level=None, timeout=30)) as db:
            db.execute("VACUUM INTO ?", (str(part),))
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreError(f"cannot back up to {str(target)!r}: {error}") from error
