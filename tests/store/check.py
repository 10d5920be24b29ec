"""Look whether a store's SQLite file tells a possible story.

Reads the file alone, with none of the bot's code, so that a mistake there can't hide itself. For end-to-end
tests: run it when everything was answered or while approvals wait, and expect no violations. By hand:
`python -m tests.store.check FILE`.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

Message = tuple[int, str, dict[str, Any]]
"""Row id, kind and body."""


def check(path: Path) -> list[str]:
    """Return one sentence a violation; empty when all is well.

    Calls without a result are fine only at the end of a conversation, while one of them waits for a person.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        [(integrity,)] = db.execute("PRAGMA integrity_check(1)").fetchall()
        violations = [] if integrity == "ok" else [f"the file is damaged: {integrity}"]
        # A person's command waits in the place of the model's call.
        waiting = {
            call_id
            for (call_id,) in db.execute(
                "SELECT iif(replaces <> '', replaces, call_id) FROM approvals WHERE status = 'pending'"
            )
        }
        rows = db.execute("SELECT chat_id, thread_id, id, kind, body FROM messages ORDER BY 1, 2, 3")
        for conversation, group in groupby(rows, key=itemgetter(0, 1)):
            transcript = [(row_id, kind, json.loads(body)) for _, _, row_id, kind, body in group]
            found = (*_pairing(transcript, waiting), *_roles(transcript))
            violations += [f"in {conversation}: {violation}" for violation in found]
        return [*violations, *_once(db), *_updates(db)]


def _pairing(transcript: list[Message], waiting: set[str]) -> Iterator[str]:
    """Every call has exactly one result before anyone else speaks; in any order, as they came."""
    asked: list[str] = []
    answered: list[str] = []

    def settle() -> Iterator[str]:
        if missing := [call_id for call_id in asked if call_id not in answered]:
            yield f"calls without a result: {missing}"

    for row_id, kind, body in transcript:
        match kind:
            case "result" if body["call_id"] not in asked:
                yield f"message {row_id} is a result of no open call: {body['call_id']!r}"
            case "result" if body["call_id"] in answered:
                yield f"message {row_id} is a second result of call {body['call_id']!r}"
            case "result":
                answered.append(body["call_id"])
            case _:
                yield from settle()
                asked = [call["id"] for call in body.get("tool_calls", ())]
                answered = []
                if len(set(asked)) < len(asked):
                    yield f"message {row_id} has two calls of one id: {asked}"
    if not waiting & set(asked) - set(answered):
        yield from settle()


def _roles(transcript: list[Message]) -> Iterator[str]:
    """A person begins; the model never speaks twice in a row."""
    before = ""
    for row_id, kind, _ in transcript:
        if kind == "assistant" and before in ("", "assistant"):
            yield f"message {row_id} of the assistant answers nothing"
        before = kind


def _once(db: sqlite3.Connection) -> Iterator[str]:
    for sql, violation in ONCE:
        for (thing,) in db.execute(sql):
            yield f"{violation}: {thing!r}"


ONCE = (
    ("SELECT call_id FROM claims GROUP BY call_id HAVING count(*) > 1", "claimed twice"),
    (
        "SELECT detail ->> 'approval_id' FROM audit WHERE action IN"
        " ('approval_approved', 'approval_denied', 'approval_expired', 'approval_cancelled')"
        " GROUP BY 1 HAVING count(*) > 1",
        "decided twice",
    ),
    (
        "SELECT id FROM approvals WHERE status <> 'pending' AND 1 <> (SELECT count(*) FROM audit"
        " WHERE action = 'approval_' || status AND detail ->> 'approval_id' = approvals.id)",
        "decided without a line in the audit",
    ),
    (
        "SELECT call_id FROM claims JOIN messages USING (call_id) GROUP BY call_id HAVING count(*) > 1",
        "claimed, with more than one result",
    ),
    (
        "SELECT call_id FROM claims JOIN approvals USING (call_id) WHERE status <> 'approved'",
        "claimed though not approved",
    ),
    (
        "SELECT id FROM approvals WHERE status = 'approved' AND question ->> 'second_step' <> ''"
        " AND NOT EXISTS (SELECT 1 FROM codes WHERE approval_id = approvals.id AND user_id = decided_by"
        " AND asked_at <= decided_at AND codes.expires_at > decided_at)",
        "of the worst class and approved without a code",
    ),
    (
        "SELECT detail ->> 'approval_id' FROM audit WHERE action = 'undone' GROUP BY 1 HAVING count(*) > 1",
        "undone twice",
    ),
    (
        "SELECT outbox.key FROM outbox, json_each(sent) AS part WHERE part.value <= 0 GROUP BY 1",
        "sent as a message with an id that telegram never gave",
    ),
    (
        "SELECT key FROM outbox WHERE done_at IS NOT NULL AND error = '' AND kind <> 'card_update'"
        " AND (sent = '[]' OR EXISTS (SELECT 1 FROM json_each(sent) WHERE value IS NULL))",
        "closed as sent without the id of a message",
    ),
    (
        "SELECT detail ->> 'call_id' FROM audit JOIN grants ON grants.id = detail ->> 'grant'"
        " WHERE action = 'ran' AND ended_at IS NULL AND audit.at > 0"
        " GROUP BY grants.id HAVING count(*) > uses",
        "ran under a grant more often than it was used",
    ),
)


def _updates(db: sqlite3.Connection) -> Iterator[str]:
    for (update_id,) in db.execute("SELECT update_id FROM updates WHERE finished_at IS NULL"):
        yield f"update {update_id} was not finished"


if __name__ == "__main__":
    sys.exit("\n".join(check(Path(sys.argv[1]))) or None)
