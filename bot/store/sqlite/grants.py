"""Approvals that stay."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from bot.messages import Conversation
from bot.store.base import AuditEvent, Grant, Lasting
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.part import Part

COLUMNS = (
    "id, lasting, chat_id, thread_id, user_id, key, question, given_by, given_name, created_at, expires_at,"
    " uses, ended_at"
)
IN_FORCE = "ended_at IS NULL AND expires_at > :at"


class SqliteGrants(Part):
    async def grant_for(self, conversation: Conversation, user_id: int, key: str, at: float) -> Grant | None:
        values = {**where(conversation), "user_id": user_id, "key": key, "at": at}
        rows = await self._db.read(
            f"SELECT {COLUMNS} FROM grants WHERE {IN_FORCE} AND key = :key AND user_id = :user_id"
            " AND chat_id = :chat_id AND thread_id = :thread_id ORDER BY expires_at DESC LIMIT 1",
            values,
        )
        return _grant(rows[0]) if rows else None

    async def grants(self, at: float) -> list[Grant]:
        sql = f"SELECT {COLUMNS} FROM grants WHERE {IN_FORCE} ORDER BY position"
        return [_grant(row) for row in await self._db.read(sql, {"at": at})]

    async def revoke(
        self, grant_id: str, *, at: float, by: int | None, update_id: int | None = None
    ) -> Grant | None:
        values = {"id": storable(grant_id), "at": at, "by": by}

        def job(db: sqlite3.Connection) -> Grant | None:
            row = db.execute(
                f"UPDATE grants SET ended_at = :at, ended_by = :by WHERE id = :id AND {IN_FORCE}"
                f" RETURNING {COLUMNS}",
                values,
            ).fetchone()
            finish(db, update_id, at)
            if row is None:
                return None
            grant = _grant(row)
            detail = {"grant": grant.id, "given_by": grant.given_by, "uses": grant.uses}
            insert_events(db, event_rows([AuditEvent(at, "grant_revoked", grant.conversation, by, detail)]))
            return grant

        return await self._db.write(job)


def insert_grant(db: sqlite3.Connection, grant: Grant) -> None:
    db.execute(
        "INSERT INTO grants (id, lasting, chat_id, thread_id, user_id, key, question, given_by, given_name,"
        " created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            storable(grant.id),
            grant.lasting.value,
            *key(grant.conversation),
            grant.user_id,
            grant.key,
            # As JSON, for the command must come back as the model wrote it.
            to_json({"command": grant.command, "cwd": grant.cwd, "rule": grant.rule}),
            grant.given_by,
            storable(grant.given_name),
            grant.created_at,
            grant.expires_at,
        ),
    )


def end_task(db: sqlite3.Connection, conversation: Conversation, at: float) -> None:
    """A person said something new: what was granted for the task before is over."""
    db.execute(
        "UPDATE grants SET ended_at = :at WHERE lasting = 'task' AND ended_at IS NULL"
        " AND chat_id = :chat_id AND thread_id = :thread_id",
        where(conversation) | {"at": at},
    )


def where(conversation: Conversation) -> dict[str, object]:
    chat_id, thread_id = key(conversation)
    return {"chat_id": chat_id, "thread_id": thread_id}


def _grant(row: Sequence[Any]) -> Grant:
    grant_id, lasting, chat_id, thread_id, user_id, digest, question, *rest = row
    given_by, given_name, created_at, expires_at, uses, ended_at = rest
    return Grant(
        **json.loads(question),
        id=grant_id,
        lasting=Lasting(lasting),
        conversation=from_key(chat_id, thread_id),
        user_id=user_id,
        key=digest,
        given_by=given_by,
        given_name=given_name,
        created_at=float(created_at),
        expires_at=float(expires_at),
        uses=uses,
        ended_at=None if ended_at is None else float(ended_at),
    )
