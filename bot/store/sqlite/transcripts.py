"""Messages by conversation, and what else is known of one."""

import sqlite3
from collections.abc import Sequence

from bot.messages import Conversation, Message, ToolResult, Transcript, UserMessage
from bot.store.base import AuditEvent, ConversationState, Effect, UpdateIds
from bot.store.codec import closes_turn, decode, encode, from_key, key, storable
from bot.store.sqlite.grants import end_task
from bot.store.sqlite.inbox import finish
from bot.store.sqlite.ledger import event_rows, insert_events
from bot.store.sqlite.outbox import effect_rows, insert_effects
from bot.store.sqlite.part import Part, know
from bot.store.sqlite.previews import forget_previews

WINDOW = 400
"""Messages that `load` gives at most, when they hold a whole turn: more than any model is shown."""

SINCE_RESET = """
    FROM messages WHERE chat_id = :chat_id AND thread_id = :thread_id AND id > coalesce(
        (SELECT reset_after FROM conversations WHERE chat_id = :chat_id AND thread_id = :thread_id), 0)"""


class SqliteTranscripts(Part):
    async def load(self, conversation: Conversation) -> Transcript:
        """Return the messages since the last `reset`, oldest first; may be empty.

        When there are more than `WINDOW`, the newest ones beginning at a user message; more than `WINDOW`
        only if the last turn alone is longer.
        """
        where = _where(conversation) | {"window": WINDOW}
        rows = await self._db.read(
            f"SELECT kind, body {SINCE_RESET} ORDER BY id DESC LIMIT :window + 1", where
        )
        rows.reverse()
        if len(rows) <= WINDOW:
            return decode(rows)
        for start in range(1, len(rows)):
            if rows[start][0] == "user":
                return decode(rows[start:])
        # One turn fills the window. A turn is never cut: the calls and results in it belong together.
        return decode(
            await self._db.read(
                f"SELECT kind, body {SINCE_RESET} AND id >= coalesce((SELECT id {SINCE_RESET}"
                " AND kind = 'user' ORDER BY id DESC LIMIT 1), 0) ORDER BY id",
                where,
            )
        )

    async def append(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        *,
        effects: Sequence[Effect] = (),
        update_id: UpdateIds = None,
        cwd: str | None = None,
        audit: Sequence[AuditEvent] = (),
    ) -> None:
        at = self._clock()
        row = self._row(conversation, cwd)
        message_rows = [_message_row(conversation, message, at) for message in messages]
        effects_stored, events = effect_rows(effects, at), event_rows(audit)
        begins = any(isinstance(message, UserMessage) for message in messages)

        def job(db: sqlite3.Connection) -> None:
            if begins:
                end_task(db, conversation, at)
                forget_previews(db, conversation)
            if message_rows or cwd is not None:
                know(db, row, cwd is not None)
            db.executemany(
                "INSERT INTO messages (chat_id, thread_id, at, kind, call_id, closes, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                message_rows,
            )
            insert_effects(db, effects_stored)
            insert_events(db, events)
            finish(db, update_id, at)

        await self._db.write(job, effects=bool(effects_stored))
        if message_rows or cwd is not None:
            self._known(conversation)

    async def reset(self, conversation: Conversation, update_id: int | None = None) -> None:
        at = self._clock()
        row = self._row(conversation)

        def job(db: sqlite3.Connection) -> None:
            know(db, row)
            end_task(db, conversation, at)
            db.execute(
                "UPDATE conversations SET reset_after = coalesce((SELECT max(id) FROM messages"
                " WHERE chat_id = :chat_id AND thread_id = :thread_id), 0)"
                " WHERE chat_id = :chat_id AND thread_id = :thread_id",
                row,
            )
            finish(db, update_id, at)

        await self._db.write(job)
        self._known(conversation)

    async def open_conversations(self) -> list[Conversation]:
        # The last message is asked for each conversation, so no flag can say otherwise.
        rows = await self._db.read(
            "SELECT chat_id, thread_id FROM conversations c WHERE 0 = (SELECT closes FROM messages m"
            " WHERE m.chat_id = c.chat_id AND m.thread_id = c.thread_id AND m.id > c.reset_after"
            " ORDER BY m.id DESC LIMIT 1) ORDER BY chat_id, thread_id"
        )
        return [from_key(*row) for row in rows]

    async def conversation_state(self, conversation: Conversation) -> ConversationState:
        row = self._row(conversation)
        stored = await self._db.read(
            "SELECT cwd, nonce, model FROM conversations WHERE chat_id = :chat_id AND thread_id = :thread_id",
            row,
        )
        if not stored:
            return ConversationState("", str(row["nonce"]))
        self._known(conversation)
        return ConversationState(*stored[0])

    async def migrate_chat(self, old: int, new: int) -> None:
        chats = {"old": old, "new": new}

        def job(db: sqlite3.Connection) -> None:
            # The new chat may have begun before this came: what it has is kept.
            db.execute(
                "INSERT INTO conversations (chat_id, thread_id, nonce, cwd, reset_after, model)"
                " SELECT :new, thread_id, nonce, cwd, reset_after, model FROM conversations"
                " WHERE chat_id = :old"
                " ON CONFLICT (chat_id, thread_id) DO UPDATE SET cwd = iif(cwd = '', excluded.cwd, cwd),"
                " reset_after = max(reset_after, excluded.reset_after),"
                " nonce = excluded.nonce",  # approvals are bound to it
                chats,
            )
            db.execute("DELETE FROM conversations WHERE chat_id = :old", chats)
            for table in ("messages", "approvals", "claims", "grants", "codes", "transfers", "posts"):
                db.execute(f"UPDATE {table} SET chat_id = :new WHERE chat_id = :old", chats)
            db.execute("INSERT OR REPLACE INTO moves (old_id, new_id) VALUES (:old, :new)", chats)
            # Message ids begin anew in the new chat: an old card's is somebody else's there.
            db.execute("DELETE FROM cards WHERE chat_id = :old", chats)
            db.execute("DELETE FROM previews WHERE chat_id = :old", chats)
            db.execute("UPDATE outbox SET chat_id = :new WHERE chat_id = :old AND done_at IS NULL", chats)

        for chat_id, thread_id in [where for where in self._nonces if where[0] == old]:
            self._nonces.setdefault((new, thread_id), self._nonces.pop((chat_id, thread_id)))
        await self._db.write(job)

    async def moved_chats(self) -> dict[int, int]:
        rows = await self._db.read("SELECT old_id, new_id FROM moves")
        return {old: new for old, new in rows}  # noqa: C416 - `dict` would lose the types


def _message_row(
    conversation: Conversation, message: Message, at: float
) -> tuple[int, int, float, str, str | None, bool, str]:
    kind, body = encode(message)
    call_id = storable(message.call_id) if isinstance(message, ToolResult) else None
    return (*key(conversation), at, kind, call_id, closes_turn(message), body)


def _where(conversation: Conversation) -> dict[str, object]:
    chat_id, thread_id = key(conversation)
    return {"chat_id": chat_id, "thread_id": thread_id}
