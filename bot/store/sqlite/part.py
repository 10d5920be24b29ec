"""What the parts of the store stand on."""

import secrets
import sqlite3

from bot.clock import Clock
from bot.messages import Conversation
from bot.store.codec import key, storable
from bot.store.sqlite.database import Database


class Part:
    """One protocol of `bot.store.base` over the shared database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._nonces: dict[tuple[int, int], str] = {}
        """Of conversations that were asked for and have no row yet: a commit less at the first word."""

    def _row(self, conversation: Conversation, cwd: str | None = None) -> dict[str, object]:
        """Return the conversation's row as `know` stores it, if it has none."""
        chat_id, thread_id = where = key(conversation)
        nonce = self._nonces.setdefault(where, secrets.token_hex(8))
        return {"chat_id": chat_id, "thread_id": thread_id, "nonce": nonce, "cwd": storable(cwd or "")}

    def _known(self, conversation: Conversation) -> None:
        """The row is on disk."""
        self._nonces.pop(key(conversation), None)


def know(db: sqlite3.Connection, row: dict[str, object], set_cwd: bool = False) -> None:
    """Make sure that the conversation has its row, whose nonce then stays."""
    db.execute(
        "INSERT INTO conversations (chat_id, thread_id, nonce, cwd)"
        " VALUES (:chat_id, :thread_id, :nonce, :cwd)"
        f" ON CONFLICT DO {'UPDATE SET cwd = :cwd' if set_cwd else 'NOTHING'}",
        row,
    )
