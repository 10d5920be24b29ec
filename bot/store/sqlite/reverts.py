"""Undoings that wait for a person to keep what was done."""

import sqlite3
from collections.abc import Sequence

from bot.store.base import Approval, AuditEvent, Effect, Reverting
from bot.store.codec import storable
from bot.store.sqlite.approvals import card_update, get
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.outbox import effect_rows, insert_effects
from bot.store.sqlite.part import Part


class SqliteReverts(Part):
    async def due_reverts(self, now: float) -> list[Approval]:
        return await self._reverts("state = 'armed' AND due_at <= ? ORDER BY due_at", now)

    async def broken_reverts(self) -> list[Approval]:
        return await self._reverts("state = 'undoing' ORDER BY due_at")

    async def _reverts(self, condition: str, *values: object) -> list[Approval]:
        rows = await self._db.read(f"SELECT approval_id FROM reverts WHERE {condition}", values)
        if not rows:
            return []

        def job(db: sqlite3.Connection) -> list[Approval]:
            found = [get(db, approval_id) for (approval_id,) in rows]
            return [approval for approval in found if approval is not None]

        return await self._db.write(job)

    async def settle_revert(
        self,
        approval_id: str,
        state: Reverting,
        *,
        at: float,
        by: int | None = None,
        name: str = "",
        update_id: int | None = None,
    ) -> Approval | None:
        values = (state.value, at, by, storable(name), storable(approval_id))

        def job(db: sqlite3.Connection) -> Approval | None:
            finish(db, update_id, at)
            changed = db.execute(
                "UPDATE reverts SET state = ?, settled_at = ?, settled_by = ?, settled_name = ?"
                " WHERE approval_id = ? AND state = 'armed'",
                values,
            ).rowcount
            approval = get(db, approval_id)
            if not changed or approval is None:
                return None
            detail = {"approval_id": approval.id, "call_id": approval.call_id, "undo": approval.undo}
            event = AuditEvent(at, f"revert_{state.value}", approval.conversation, by, detail)
            insert_events(db, event_rows([event]))
            insert_effects(db, effect_rows([card_update(approval, f"revert:{state.value}")], at))
            return approval

        return await self._db.write(job, effects=True)

    async def finish_revert(
        self,
        approval_id: str,
        outcome: str,
        *,
        effects: Sequence[Effect] = (),
        audit: Sequence[AuditEvent] = (),
    ) -> None:
        at = self._clock()
        effects_stored, events = effect_rows(effects, at), event_rows(audit)
        values = (storable(outcome), storable(approval_id))

        def job(db: sqlite3.Connection) -> None:
            changed = db.execute(
                "UPDATE reverts SET state = 'undone', outcome = ?"
                " WHERE approval_id = ? AND state = 'undoing'",
                values,
            ).rowcount
            approval = get(db, approval_id)
            if changed and approval is not None:
                insert_effects(
                    db, [*effects_stored, *effect_rows([card_update(approval, "revert:undone")], at)]
                )
                insert_events(db, events)

        await self._db.write(job, effects=True)
