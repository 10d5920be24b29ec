"""Questions to people, their one decision, and claims of calls."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from bot.messages import Conversation
from bot.store.base import Approval, AuditEvent, Effect, Status
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.outbox import effect_rows, insert_effects
from bot.store.sqlite.part import Part

COLUMNS = """
    id, chat_id, thread_id, call_id, digest, question, created_at, expires_at,
    status, decided_by, decided_name, decided_at, reason, outcome,
    (SELECT json_group_array(json_array(cards.chat_id, cards.message_id))
        FROM cards WHERE cards.approval_id = approvals.id)"""


class SqliteApprovals(Part):
    async def ask(self, approvals: Sequence[Approval], effects: Sequence[Effect]) -> None:
        rows = [_row(approval) for approval in approvals]
        effects_stored = effect_rows(effects, self._clock())

        def job(db: sqlite3.Connection) -> None:
            db.executemany(
                "INSERT INTO approvals"
                " (id, chat_id, thread_id, call_id, digest, question, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                rows,
            )
            insert_effects(db, effects_stored)

        await self._db.write(job, effects=True)

    async def approval(self, approval_id: str) -> Approval | None:
        return await self._one("id = ?", storable(approval_id))

    async def approvals_for(self, call_ids: Sequence[str]) -> dict[str, Approval]:
        found = await self._all("call_id IN (SELECT value FROM json_each(?))", to_json(list(call_ids)))
        return {approval.call_id: approval for approval in found}

    async def approval_at(self, chat_id: int, message_id: int) -> Approval | None:
        return await self._one(
            "id = (SELECT approval_id FROM cards WHERE chat_id = ? AND message_id = ?)", chat_id, message_id
        )

    async def pending_approvals(self, conversation: Conversation | None = None) -> list[Approval]:
        if conversation is None:
            return await self._all("status = 'pending'")
        return await self._all("status = 'pending' AND chat_id = ? AND thread_id = ?", *key(conversation))

    async def decide(
        self,
        approval_id: str,
        status: Status,
        *,
        at: float,
        by: int | None = None,
        name: str = "",
        reason: str = "",
        update_id: int | None = None,
    ) -> Approval | None:
        """Give the first and only decision; see `bot.store.base`.

        Raises:
            ValueError: PENDING is no decision, and nobody can't approve. Nothing was stored.
        """
        if status is Status.PENDING or (status is Status.APPROVED and by is None):
            raise ValueError(f"not a decision: {status.value!r} by {by!r}")
        values = {
            "id": storable(approval_id),
            "status": status.value,
            "at": at,
            "by": by,
            "name": storable(name),
            "reason": storable(reason),
        }

        def job(db: sqlite3.Connection) -> Approval | None:
            row = db.execute(
                "UPDATE approvals SET status = :status, decided_at = :at, decided_by = :by,"
                " decided_name = :name, reason = :reason"
                " WHERE id = :id AND status = 'pending' AND (:status <> 'approved' OR expires_at > :at)"
                f" RETURNING {COLUMNS}",
                values,
            ).fetchone()
            finish(db, update_id, at)
            if row is None:
                return None
            decided = _approval(row)
            _tell(db, decided, at)
            return decided

        return await self._db.write(job, effects=True)

    async def expire(self, now: float) -> list[Approval]:
        def job(db: sqlite3.Connection) -> list[Approval]:
            rows = db.execute(
                "UPDATE approvals SET status = 'expired', decided_at = :now"
                f" WHERE status = 'pending' AND expires_at <= :now RETURNING {COLUMNS}",
                {"now": now},
            ).fetchall()
            expired = [_approval(row) for row in rows]
            for approval in expired:
                _tell(db, approval, now)
            return expired

        return await self._db.write(job, effects=True)

    async def card_sent(self, approval_id: str, chat_id: int, message_id: int) -> None:
        row = (storable(approval_id), chat_id, message_id)
        sql = "INSERT INTO cards (approval_id, chat_id, message_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._db.write(lambda db: db.execute(sql, row).rowcount)

    async def finish_approval(self, call_id: str, outcome: str) -> None:
        at, values = self._clock(), (storable(outcome), storable(call_id))

        def job(db: sqlite3.Connection) -> None:
            row = db.execute(
                "UPDATE approvals SET outcome = ? WHERE call_id = ? AND status = 'approved' AND outcome = ''"
                f" RETURNING {COLUMNS}",
                values,
            ).fetchone()
            if row is not None:
                insert_effects(db, effect_rows([_card_update(_approval(row), "outcome")], at))

        await self._db.write(job, effects=True)

    async def claim(self, conversation: Conversation, call_id: str, at: float, *, digest: str = "") -> bool:
        chat_id, thread_id = key(conversation)
        values = {
            "call_id": storable(call_id),
            "chat_id": chat_id,
            "thread_id": thread_id,
            "digest": storable(digest),
            "at": at,
        }
        sql = (
            "INSERT INTO claims (call_id, chat_id, thread_id, digest, at)"
            " SELECT :call_id, :chat_id, :thread_id, :digest, :at WHERE :digest = '' OR EXISTS"
            " (SELECT 1 FROM approvals WHERE call_id = :call_id AND status = 'approved' AND digest = :digest"
            " AND chat_id = :chat_id AND thread_id = :thread_id)"
            " ON CONFLICT DO NOTHING"
        )
        return await self._db.write(lambda db: db.execute(sql, values).rowcount == 1)

    async def claimed(self, call_ids: Sequence[str]) -> set[str]:
        sql = "SELECT call_id FROM claims WHERE call_id IN (SELECT value FROM json_each(?))"
        return {call_id for (call_id,) in await self._db.read(sql, (to_json(list(call_ids)),))}

    async def _all(self, where: str, *values: object) -> list[Approval]:
        sql = f"SELECT {COLUMNS} FROM approvals WHERE {where} ORDER BY created_at, position"
        return [_approval(row) for row in await self._db.read(sql, values)]

    async def _one(self, where: str, *values: object) -> Approval | None:
        found = await self._all(where, *values)
        return found[0] if found else None


def _row(approval: Approval) -> tuple[str, int, int, str, str, str, float, float]:
    # As JSON, because the person must read and the executor must run exactly what the model wrote.
    question = {
        "tool": approval.tool,
        "command": approval.command,
        "cwd": approval.cwd,
        "reasons": approval.reasons,
        "explanation": approval.explanation,
        "asker_id": approval.asker_id,
        "asker_name": approval.asker_name,
    }
    return (
        storable(approval.id),
        *key(approval.conversation),
        storable(approval.call_id),
        storable(approval.digest),
        to_json(question),
        approval.created_at,
        approval.expires_at,
    )


def _approval(row: Sequence[Any]) -> Approval:
    approval_id, chat_id, thread_id, call_id, digest, question, created_at, expires_at = row[:8]
    status, decided_by, decided_name, decided_at, reason, outcome, cards = row[8:]
    asked = json.loads(question)
    return Approval(
        **asked | {"reasons": tuple(asked["reasons"])},
        id=approval_id,
        conversation=from_key(chat_id, thread_id),
        call_id=call_id,
        digest=digest,
        # RETURNING gives a whole number of seconds as an int.
        created_at=float(created_at),
        expires_at=float(expires_at),
        status=Status(status),
        decided_by=decided_by,
        decided_name=decided_name,
        decided_at=None if decided_at is None else float(decided_at),
        reason=reason,
        outcome=outcome,
        cards=tuple((card[0], card[1]) for card in json.loads(cards)),
    )


def _tell(db: sqlite3.Connection, decided: Approval, at: float) -> None:
    """Store what follows from a decision: the card says so, and the audit."""
    event = AuditEvent(
        at=at,
        action=f"approval_{decided.status.value}",
        conversation=decided.conversation,
        user_id=decided.decided_by,
        detail={
            "approval_id": decided.id,
            "call_id": decided.call_id,
            "tool": decided.tool,
            "digest": decided.digest,
            "name": decided.decided_name,
            "reason": decided.reason,
        },
    )
    insert_effects(db, effect_rows([_card_update(decided, decided.status.value)], at))
    insert_events(db, event_rows([event]))


def _card_update(approval: Approval, change: str) -> Effect:
    """One effect a change: the verdict and the outcome must both be seen."""
    return Effect(
        key=f"card_update:{approval.id}:{change}",
        conversation=approval.conversation,
        kind="card_update",
        payload={"approval_id": approval.id},
    )
