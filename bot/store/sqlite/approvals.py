"""Questions to people, their one decision, and claims of calls."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from bot.messages import Conversation
from bot.store.base import Approval, AuditEvent, CardLine, Code, Effect, Grant, Revert, Reverting, Status
from bot.store.codec import from_key, key, storable, to_json
from bot.store.sqlite.grants import insert_grant
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.outbox import effect_rows, insert_effects
from bot.store.sqlite.part import Part

COLUMNS = """
    id, chat_id, thread_id, call_id, digest, question, created_at, expires_at,
    status, decided_by, decided_name, decided_at, reason, outcome,
    (SELECT json_group_array(json_array(cards.chat_id, cards.message_id))
        FROM cards WHERE cards.approval_id = approvals.id),
    replaces,
    (SELECT json_array(user_id, user_name, digits, expires_at, guarded)
        FROM codes WHERE codes.approval_id = approvals.id AND closed_at IS NULL),
    (SELECT json_array(state, after, due_at, settled_name, outcome)
        FROM reverts WHERE reverts.approval_id = approvals.id)"""


APPROVABLE = """expires_at > :at AND (coalesce(question ->> '$.second_step', '') = '' OR EXISTS
    (SELECT 1 FROM codes WHERE approval_id = :id AND closed_at IS NULL AND user_id = :by
        AND digits = :code AND codes.expires_at > :at))"""

CLAIM = """
    INSERT INTO claims (call_id, chat_id, thread_id, digest, at)
    SELECT :call_id, :chat_id, :thread_id, :digest, :at
    WHERE (:digest = '' OR EXISTS (SELECT 1 FROM approvals WHERE call_id = :call_id AND status = 'approved'
            AND digest = :digest AND chat_id = :chat_id AND thread_id = :thread_id))
        AND (:grant_id = '' OR EXISTS (SELECT 1 FROM grants WHERE id = :grant_id AND ended_at IS NULL
            AND expires_at > :at AND chat_id = :chat_id AND thread_id = :thread_id))
    ON CONFLICT DO NOTHING"""

INSERT = (
    "INSERT INTO approvals"
    " (id, chat_id, thread_id, call_id, digest, question, created_at, expires_at, replaces)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


class SqliteApprovals(Part):
    async def ask(
        self, approvals: Sequence[Approval], effects: Sequence[Effect], audit: Sequence[AuditEvent] = ()
    ) -> None:
        rows = [_row(approval) for approval in approvals]
        effects_stored, events = effect_rows(effects, self._clock()), event_rows(audit)

        def job(db: sqlite3.Connection) -> None:
            db.executemany(INSERT, rows)
            insert_effects(db, effects_stored)
            insert_events(db, events)

        await self._db.write(job, effects=True)

    async def approval(self, approval_id: str) -> Approval | None:
        return await self._one("id = ?", storable(approval_id))

    async def approvals_for(self, call_ids: Sequence[str]) -> dict[str, Approval]:
        ids = to_json(list(call_ids))
        found = await self._all(
            "call_id IN (SELECT value FROM json_each(?))"
            " OR (replaces <> '' AND replaces IN (SELECT value FROM json_each(?)))",
            ids,
            ids,
        )
        return {approval.replaces or approval.call_id: approval for approval in found}

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
        code: str = "",
        grant: Grant | None = None,
        revert_after: float | None = None,
        instead: tuple[Approval, Sequence[Effect]] | None = None,
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
            "code": storable(code),
        }

        def job(db: sqlite3.Connection) -> Approval | None:
            changed = db.execute(
                "UPDATE approvals SET status = :status, decided_at = :at, decided_by = :by,"
                " decided_name = :name, reason = :reason"
                f" WHERE id = :id AND status = 'pending' AND (:status <> 'approved' OR {APPROVABLE})",
                values,
            ).rowcount
            finish(db, update_id, at)
            if not changed:
                return None
            db.execute(
                "UPDATE codes SET closed_at = :at WHERE approval_id = :id AND closed_at IS NULL", values
            )
            if revert_after is not None:
                db.execute(
                    "INSERT INTO reverts (approval_id, after) VALUES (?, ?)", (values["id"], revert_after)
                )
            if grant is not None:
                insert_grant(db, grant)
            if instead is not None:
                db.execute(INSERT, _row(instead[0]))
                insert_effects(db, effect_rows(instead[1], at))
            decided = get(db, approval_id)
            assert decided is not None
            _tell(db, decided, at, grant, instead[0] if instead else None)
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
                insert_effects(db, effect_rows([card_update(_approval(row), "outcome")], at))

        await self._db.write(job, effects=True)

    async def correct_outcome(self, call_id: str, outcome: str) -> None:
        at, values = self._clock(), {"outcome": storable(outcome), "call_id": storable(call_id)}

        def job(db: sqlite3.Connection) -> None:
            row = db.execute(
                "UPDATE approvals SET outcome = :outcome WHERE call_id = :call_id AND status = 'approved'"
                f" AND outcome <> :outcome RETURNING {COLUMNS}",
                values,
            ).fetchone()
            if row is not None:
                insert_effects(db, effect_rows([card_update(_approval(row), f"outcome:{outcome}")], at))

        await self._db.write(job, effects=True)

    async def claim(
        self, conversation: Conversation, call_id: str, at: float, *, digest: str = "", grant_id: str = ""
    ) -> bool:
        chat_id, thread_id = key(conversation)
        values = {
            "call_id": storable(call_id),
            "chat_id": chat_id,
            "thread_id": thread_id,
            "digest": storable(digest),
            "grant_id": storable(grant_id),
            "at": at,
        }

        def job(db: sqlite3.Connection) -> bool:
            if db.execute(CLAIM, values).rowcount != 1:
                return False
            if grant_id:
                db.execute("UPDATE grants SET uses = uses + 1 WHERE id = :grant_id", values)
            db.execute(
                "UPDATE reverts SET state = 'armed', due_at = :at + after WHERE state = 'waiting'"
                " AND approval_id = (SELECT id FROM approvals WHERE call_id = :call_id)",
                values,
            )
            return True

        return await self._db.write(job)

    async def claimed(self, call_ids: Sequence[str]) -> set[str]:
        sql = "SELECT call_id FROM claims WHERE call_id IN (SELECT value FROM json_each(?))"
        return {call_id for (call_id,) in await self._db.read(sql, (to_json(list(call_ids)),))}

    async def _all(self, where: str, *values: object) -> list[Approval]:
        sql = f"SELECT {COLUMNS} FROM approvals WHERE {where} ORDER BY created_at, position"
        return [_approval(row) for row in await self._db.read(sql, values)]

    async def _one(self, where: str, *values: object) -> Approval | None:
        found = await self._all(where, *values)
        return found[0] if found else None


def get(db: sqlite3.Connection, approval_id: str) -> Approval | None:
    row = db.execute(f"SELECT {COLUMNS} FROM approvals WHERE id = ?", (storable(approval_id),)).fetchone()
    return None if row is None else _approval(row)


def _row(approval: Approval) -> tuple[str, int, int, str, str, str, float, float, str]:
    # As JSON, because the person must read and the executor must run exactly what the model wrote.
    question = {
        "tool": approval.tool,
        "command": approval.command,
        "cwd": approval.cwd,
        "reasons": approval.reasons,
        "explanation": approval.explanation,
        "asker_id": approval.asker_id,
        "asker_name": approval.asker_name,
        "changed_by": approval.changed_by,
        "second_step": approval.second_step,
        "grant_key": approval.grant_key,
        "grant_files": approval.grant_files,
        "undo": approval.undo,
        "lines": [[line.label, line.text, line.code] for line in approval.lines],
        "warnings": approval.warnings,
        "fingerprint": approval.fingerprint,
        "image": approval.image,
    }
    return (
        storable(approval.id),
        *key(approval.conversation),
        storable(approval.call_id),
        storable(approval.digest),
        to_json(question),
        approval.created_at,
        approval.expires_at,
        storable(approval.replaces),
    )


def _approval(row: Sequence[Any]) -> Approval:
    approval_id, chat_id, thread_id, call_id, digest, question, created_at, expires_at = row[:8]
    status, decided_by, decided_name, decided_at, reason, outcome, cards, replaces, code, revert = row[8:]
    asked = json.loads(question)
    # A question of an older version lacks what is newer.
    asked |= {name: tuple(asked.get(name, ())) for name in ("reasons", "grant_files", "warnings")}
    asked["lines"] = tuple(CardLine(*line) for line in asked.get("lines", ()))
    return Approval(
        **asked,
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
        replaces=replaces,
        code=None if code is None else _code(json.loads(code)),
        revert=None if revert is None else _revert(json.loads(revert)),
    )


def _code(row: Sequence[Any]) -> Code:
    user_id, user_name, digits, expires_at, guarded = row
    return Code(user_id, user_name, digits, float(expires_at), bool(guarded))


def _revert(row: Sequence[Any]) -> Revert:
    state, after, due_at, name, outcome = row
    return Revert(Reverting(state), float(after), None if due_at is None else float(due_at), name, outcome)


def _tell(
    db: sqlite3.Connection,
    decided: Approval,
    at: float,
    grant: Grant | None = None,
    instead: Approval | None = None,
) -> None:
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
        }
        | ({"grant": grant.id, "lasting": grant.lasting.value} if grant else {})
        | ({"undone_after": decided.revert.after, "undo": decided.undo} if decided.revert else {})
        | ({"second_step": decided.second_step} if decided.second_step else {})
        | ({"instead": instead.id} if instead else {}),
    )
    insert_effects(db, effect_rows([card_update(decided, decided.status.value)], at))
    insert_events(db, event_rows([event]))


def card_update(approval: Approval, change: str) -> Effect:
    """One effect a change: the verdict and the outcome must both be seen."""
    return Effect(
        key=f"card_update:{approval.id}:{change}",
        conversation=approval.conversation,
        kind="card_update",
        payload={"approval_id": approval.id},
    )
