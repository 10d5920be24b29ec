"""Codes that a presser must type before a question of the worst class is approved."""

import sqlite3

from bot.store.base import Approval, AuditEvent, Code, Status
from bot.store.codec import storable
from bot.store.sqlite.approvals import card_update, get
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.outbox import effect_rows, insert_effects
from bot.store.sqlite.part import Part


class SqliteSecondSteps(Part):
    async def ask_code(
        self,
        approval_id: str,
        code: Code,
        *,
        chat_id: int,
        at: float,
        update_id: int | None = None,
    ) -> Approval | None:
        row = (
            storable(approval_id),
            code.user_id,
            storable(code.user_name),
            chat_id,
            code.digits,
            code.guarded,
            at,
            code.expires_at,
        )

        def job(db: sqlite3.Connection) -> Approval | None:
            finish(db, update_id, at)
            before = get(db, approval_id)
            if before is None or before.status is not Status.PENDING or before.expires_at <= at:
                return None
            if not before.second_step or (
                before.code and before.code.user_id != code.user_id and before.code.expires_at > at
            ):
                return None
            db.execute(
                "UPDATE codes SET closed_at = ? WHERE approval_id = ? AND closed_at IS NULL", (at, row[0])
            )
            code_id = db.execute(
                "INSERT INTO codes (approval_id, user_id, user_name, chat_id, digits, guarded, asked_at,"
                " expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
            asked = get(db, approval_id)
            assert asked is not None
            insert_effects(db, effect_rows([card_update(asked, f"code:{code_id}")], at))
            _note(db, asked, at, "code_asked", code.user_id)
            return asked

        return await self._db.write(job, effects=True)

    async def code_asked(self, user_id: int, chat_id: int) -> Approval | None:
        def job(db: sqlite3.Connection) -> Approval | None:
            row = db.execute(
                "SELECT approval_id FROM codes JOIN approvals ON approvals.id = approval_id"
                " WHERE user_id = ? AND codes.chat_id = ? AND status = 'pending'"
                " ORDER BY codes.id DESC LIMIT 1",
                (user_id, chat_id),
            ).fetchone()
            return None if row is None else get(db, row[0])

        return await self._db.write(job)

    async def void_code(self, approval_id: str, *, at: float, why: str, update_id: int | None = None) -> None:
        def job(db: sqlite3.Connection) -> None:
            finish(db, update_id, at)
            _void(db, "approval_id = :id", {"id": storable(approval_id), "at": at}, at, why)

        await self._db.write(job, effects=True)

    async def void_old_codes(self, now: float) -> None:
        [(count,)] = await self._db.read(
            "SELECT count(*) FROM codes WHERE closed_at IS NULL AND expires_at <= ?", (now,)
        )
        if count:
            await self._db.write(
                lambda db: _void(db, "expires_at <= :at", {"at": now}, now, "late"), effects=True
            )


def _void(db: sqlite3.Connection, condition: str, values: dict[str, object], at: float, why: str) -> None:
    rows = db.execute(
        f"UPDATE codes SET closed_at = :at WHERE closed_at IS NULL AND {condition}"
        " RETURNING id, approval_id, user_id",
        values,
    ).fetchall()
    for code_id, approval_id, user_id in rows:
        approval = get(db, approval_id)
        assert approval is not None
        insert_effects(db, effect_rows([card_update(approval, f"code:{code_id}:void")], at))
        _note(db, approval, at, f"code_{why}", user_id)


def _note(db: sqlite3.Connection, approval: Approval, at: float, action: str, user_id: int) -> None:
    detail = {"approval_id": approval.id, "call_id": approval.call_id}
    insert_events(db, event_rows([AuditEvent(at, action, approval.conversation, user_id, detail)]))
