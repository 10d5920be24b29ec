"""How the tables came to be: functions run once each, in order, recorded by name.

A released migration is never edited; a change is a new function at the end of `MIGRATIONS`.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from bot.errors import StoreError

Migration = Callable[[sqlite3.Connection], None]


def migrate(db: sqlite3.Connection, migrations: Sequence[Migration], at: float) -> list[str]:
    """Apply what is missing in one transaction; return the names applied, oldest first.

    Raises:
        StoreError: A newer version of Kai has been here. Nothing was changed.
    """
    known = [migration.__name__ for migration in migrations]
    applied = _applied(db)
    if newer := [name for name in applied if name not in known]:
        raise StoreError(
            f"the database has schema {newer[-1]!r}, newer than {known[-1]!r}, the newest this version knows:"
            " run the version of Kai that made it, or a later one"
        )
    missing = [migration for migration in migrations if migration.__name__ not in applied]
    if not missing:
        return []
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(
            "CREATE TABLE IF NOT EXISTS migrations"
            " (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at REAL NOT NULL)"
        )
        for migration in missing:
            migration(db)
            db.execute("INSERT INTO migrations (name, at) VALUES (?, ?)", (migration.__name__, at))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return [migration.__name__ for migration in missing]


def _applied(db: sqlite3.Connection) -> list[str]:
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchone():
        return []
    return [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY position")]


def m0001_messages_approvals_outbox(db: sqlite3.Connection) -> None:
    """The first tables. `thread_id` 0 is outside of topics."""
    for statement in FIRST_TABLES:
        db.execute(statement)
    protect(db, UNCHANGEABLE)


def protect(db: sqlite3.Connection, unchangeable: Mapping[str, str]) -> None:
    """Have the database refuse to delete rows of these tables, or to change these columns."""
    for table, columns in unchangeable.items():
        db.execute(
            f"CREATE TRIGGER {table}_unchangeable BEFORE UPDATE OF {columns} ON {table}"
            f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )
        db.execute(
            f"CREATE TRIGGER {table}_undeletable BEFORE DELETE ON {table}"
            f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


FIRST_TABLES = (
    """
    CREATE TABLE updates (
        update_id INTEGER PRIMARY KEY,
        raw TEXT,
        received_at REAL NOT NULL,
        finished_at REAL,
        error TEXT NOT NULL DEFAULT '',
        CHECK (raw IS NOT NULL OR finished_at IS NOT NULL),
        CHECK (error = '' OR finished_at IS NOT NULL)
    )""",
    "CREATE INDEX updates_waiting ON updates (update_id) WHERE finished_at IS NULL",
    "CREATE INDEX updates_old ON updates (finished_at) WHERE raw IS NOT NULL AND error = ''",
    """
    CREATE TABLE conversations (
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        nonce TEXT NOT NULL,
        cwd TEXT NOT NULL DEFAULT '',
        reset_after INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (chat_id, thread_id)
    ) WITHOUT ROWID""",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'result', 'notice')),
        call_id TEXT CHECK ((call_id IS NOT NULL) = (kind = 'result')),
        closes INTEGER NOT NULL CHECK (closes IN (0, 1) AND (closes = 0 OR kind = 'assistant')),
        body TEXT NOT NULL
    )""",
    "CREATE INDEX messages_of_conversation ON messages (chat_id, thread_id)",
    "CREATE UNIQUE INDEX messages_one_result_a_call ON messages (call_id) WHERE call_id IS NOT NULL",
    """
    CREATE TABLE approvals (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE CHECK (id <> ''),
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        call_id TEXT NOT NULL UNIQUE,
        digest TEXT NOT NULL CHECK (digest <> ''),
        question TEXT NOT NULL,
        created_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        status TEXT NOT NULL DEFAULT 'pending'
            CHECK (status IN ('pending', 'approved', 'denied', 'expired', 'cancelled')),
        decided_by INTEGER,
        decided_name TEXT NOT NULL DEFAULT '',
        decided_at REAL,
        reason TEXT NOT NULL DEFAULT '',
        outcome TEXT NOT NULL DEFAULT '',
        CHECK ((status = 'pending') = (decided_at IS NULL)),
        CHECK (status <> 'pending' OR (decided_by IS NULL AND decided_name = '' AND reason = '')),
        CHECK (status <> 'approved' OR (decided_by IS NOT NULL AND decided_at < expires_at)),
        CHECK (outcome = '' OR status = 'approved')
    )""",
    "CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending'",
    """
    CREATE TRIGGER approvals_decided_once
    BEFORE UPDATE OF status, decided_by, decided_name, decided_at, reason ON approvals
    WHEN OLD.status <> 'pending'
    BEGIN SELECT RAISE(ABORT, 'an approval is decided once'); END""",
    """
    CREATE TABLE cards (
        id INTEGER PRIMARY KEY,
        approval_id TEXT NOT NULL REFERENCES approvals (id),
        chat_id INTEGER NOT NULL,
        message_id INTEGER NOT NULL,
        UNIQUE (chat_id, message_id)
    )""",
    "CREATE INDEX cards_of_approval ON cards (approval_id)",
    """
    CREATE TABLE claims (
        call_id TEXT PRIMARY KEY,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        digest TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID""",
    """
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        created_at REAL NOT NULL,
        sent TEXT NOT NULL DEFAULT '[]',
        unsure INTEGER NOT NULL DEFAULT 0 CHECK (unsure IN (0, 1)),
        resent INTEGER NOT NULL DEFAULT 0 CHECK (resent IN (0, 1)),
        done_at REAL,
        error TEXT NOT NULL DEFAULT '',
        CHECK (error = '' OR done_at IS NOT NULL)
    )""",
    "CREATE INDEX outbox_unsent ON outbox (id) WHERE done_at IS NULL",
    """
    CREATE TABLE usage (
        id INTEGER PRIMARY KEY,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        model TEXT NOT NULL,
        at REAL NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        reasoning INTEGER NOT NULL
    )""",
    "CREATE INDEX usage_at ON usage (at)",
    """
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        action TEXT NOT NULL,
        chat_id INTEGER,
        thread_id INTEGER,
        user_id INTEGER,
        detail TEXT NOT NULL
    )""",
)

UNCHANGEABLE = {
    "messages": "id, at, kind, call_id, closes, body",
    "approvals": "id, call_id, digest, question, created_at, expires_at",
    "claims": "call_id, digest, at",
    "usage": "id, chat_id, thread_id, model, at, input, output, cache_read, cache_write, reasoning",
    "audit": "id, at, action, chat_id, thread_id, user_id, detail",
}
"""Table and the columns that never change; what is missing here is where it belongs or how far it got."""


def m0002_transfers_posts(db: sqlite3.Connection) -> None:
    """Money and posts. Signed bytes never change, and what is final stays."""
    for statement in TRANSFERS_AND_POSTS:
        db.execute(statement)


TRANSFERS_AND_POSTS = (
    """
    CREATE TABLE transfers (
        call_id TEXT NOT NULL PRIMARY KEY,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        chain TEXT NOT NULL,
        sender TEXT NOT NULL,
        recipient TEXT NOT NULL,
        symbol TEXT NOT NULL,
        contract TEXT NOT NULL,
        decimals INTEGER NOT NULL,
        units TEXT NOT NULL CHECK (units GLOB '[1-9]*' AND units NOT GLOB '*[^0-9]*'),
        fee_ceiling TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        planned_at REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'planned'
            CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'mined', 'failed')),
        raw BLOB,
        tx_hash TEXT NOT NULL DEFAULT '',
        nonce INTEGER,
        valid_until INTEGER,
        signed_at REAL,
        block INTEGER,
        fee TEXT,
        error TEXT NOT NULL DEFAULT '',
        told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)),
        CHECK ((state = 'planned') = (raw IS NULL)),
        CHECK ((raw IS NULL) = (tx_hash = '')),
        CHECK ((raw IS NULL) = (signed_at IS NULL))
    )""",
    "CREATE UNIQUE INDEX transfers_one_nonce ON transfers (chain, sender, nonce)"
    " WHERE nonce IS NOT NULL AND state <> 'failed'",
    # Asking again for what every node refused gives the same bytes, and they pay once.
    "CREATE UNIQUE INDEX transfers_one_hash ON transfers (chain, tx_hash)"
    " WHERE tx_hash <> '' AND state <> 'failed'",
    "CREATE INDEX transfers_unresolved ON transfers (state) WHERE state IN ('signed', 'sent', 'unknown')",
    "CREATE INDEX transfers_untold ON transfers (told) WHERE state IN ('mined', 'failed') AND told = 0",
    "CREATE INDEX transfers_signed ON transfers (signed_at) WHERE signed_at IS NOT NULL",
    "CREATE TRIGGER transfers_signed_once BEFORE UPDATE OF call_id, chain, sender, recipient, symbol,"
    " contract, decimals, units, fee_ceiling, raw, tx_hash, nonce, valid_until, signed_at ON transfers"
    " WHEN OLD.raw IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a signed transfer never changes'); END",
    "CREATE TRIGGER transfers_final BEFORE UPDATE OF state ON transfers"
    " WHEN OLD.state IN ('mined', 'failed') BEGIN SELECT RAISE(ABORT, 'a transfer ends once'); END",
    "CREATE TRIGGER transfers_undeletable BEFORE DELETE ON transfers"
    " BEGIN SELECT RAISE(ABORT, 'transfers is append-only'); END",
    """
    CREATE TABLE posts (
        call_id TEXT NOT NULL PRIMARY KEY,
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        account TEXT NOT NULL,
        text TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        planned_at REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'planned'
            CHECK (state IN ('planned', 'sending', 'posted', 'failed', 'unknown')),
        post_id TEXT NOT NULL DEFAULT '',
        sent_at REAL,
        error TEXT NOT NULL DEFAULT '',
        CHECK ((state = 'planned') = (sent_at IS NULL))
    )""",
    "CREATE INDEX posts_sent ON posts (sent_at) WHERE sent_at IS NOT NULL",
    "CREATE TRIGGER posts_undeletable BEFORE DELETE ON posts"
    " BEGIN SELECT RAISE(ABORT, 'posts is append-only'); END",
)


def m0003_grants_codes_reverts(db: sqlite3.Connection) -> None:
    """Grants, the codes of second steps, undoings; and questions that take the place of another."""
    for statement in GRANT_TABLES:
        db.execute(statement)
    protect(db, GRANTS_UNCHANGEABLE)


GRANT_TABLES = (
    "ALTER TABLE approvals ADD COLUMN replaces TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX approvals_replaces ON approvals (replaces) WHERE replaces <> ''",
    """
    CREATE TRIGGER approvals_replaces_unchangeable BEFORE UPDATE OF replaces ON approvals
    BEGIN SELECT RAISE(ABORT, 'approvals is append-only'); END""",
    """
    CREATE TABLE grants (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE CHECK (id <> ''),
        lasting TEXT NOT NULL CHECK (lasting IN ('task', 'minutes', 'always')),
        chat_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL,
        user_id INTEGER NOT NULL,
        key TEXT NOT NULL CHECK (key <> ''),
        question TEXT NOT NULL,
        given_by INTEGER NOT NULL,
        given_name TEXT NOT NULL,
        created_at REAL NOT NULL,
        expires_at REAL NOT NULL CHECK (expires_at > created_at),
        uses INTEGER NOT NULL DEFAULT 0,
        ended_at REAL,
        ended_by INTEGER
    )""",
    "CREATE INDEX grants_in_force ON grants (key) WHERE ended_at IS NULL",
    """
    CREATE TRIGGER grants_end_once BEFORE UPDATE OF ended_at, ended_by, uses ON grants
    WHEN OLD.ended_at IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a grant ends once'); END""",
    """
    CREATE TABLE codes (
        id INTEGER PRIMARY KEY,
        approval_id TEXT NOT NULL REFERENCES approvals (id),
        user_id INTEGER NOT NULL,
        user_name TEXT NOT NULL,
        chat_id INTEGER NOT NULL,
        digits TEXT NOT NULL CHECK (digits <> ''),
        guarded INTEGER NOT NULL CHECK (guarded IN (0, 1)),
        asked_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        closed_at REAL
    )""",
    "CREATE UNIQUE INDEX codes_one_open ON codes (approval_id) WHERE closed_at IS NULL",
    "CREATE INDEX codes_of_people ON codes (user_id, chat_id)",
    """
    CREATE TABLE reverts (
        approval_id TEXT PRIMARY KEY REFERENCES approvals (id),
        state TEXT NOT NULL DEFAULT 'waiting'
            CHECK (state IN ('waiting', 'armed', 'kept', 'disarmed', 'undoing', 'undone')),
        after REAL NOT NULL CHECK (after > 0),
        due_at REAL,
        settled_by INTEGER,
        settled_name TEXT NOT NULL DEFAULT '',
        settled_at REAL,
        outcome TEXT NOT NULL DEFAULT '',
        CHECK ((state = 'waiting') = (due_at IS NULL)),
        CHECK ((state IN ('waiting', 'armed')) = (settled_at IS NULL)),
        CHECK (outcome = '' OR state = 'undone')
    ) WITHOUT ROWID""",
    "CREATE INDEX reverts_armed ON reverts (due_at) WHERE state = 'armed'",
    """
    CREATE TRIGGER reverts_settled_once BEFORE UPDATE ON reverts
    WHEN OLD.state IN ('kept', 'disarmed', 'undone') OR (OLD.state = 'undoing' AND NEW.state <> 'undone')
    BEGIN SELECT RAISE(ABORT, 'an undoing is settled once'); END""",
)

GRANTS_UNCHANGEABLE = {
    "grants": "id, lasting, user_id, key, question, given_by, given_name, created_at, expires_at",
    "codes": "id, approval_id, user_id, user_name, digits, guarded, asked_at, expires_at",
    "reverts": "approval_id, after",
}


def m0004_moves(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE moves (old_id INTEGER PRIMARY KEY, new_id INTEGER NOT NULL) WITHOUT ROWID")


def m0005_previews(db: sqlite3.Connection) -> None:
    """Messages that show something unfinished; `effect_key` is empty while one stands open."""
    db.execute(
        "CREATE TABLE previews (id INTEGER PRIMARY KEY, chat_id INTEGER NOT NULL, thread_id INTEGER NOT NULL,"
        " kind TEXT NOT NULL CHECK (kind IN ('answer', 'progress')), message_id INTEGER,"
        " effect_key TEXT NOT NULL DEFAULT '')"
    )
    db.execute(
        "CREATE UNIQUE INDEX previews_one_open ON previews (chat_id, thread_id, kind) WHERE effect_key = ''"
    )
    db.execute("CREATE INDEX previews_effect ON previews (effect_key) WHERE effect_key <> ''")


def m0006_records(db: sqlite3.Connection) -> None:
    """Whose tokens, which model where, and an index of words that holds no text itself."""
    db.execute("ALTER TABLE usage ADD COLUMN user_id INTEGER")
    db.execute("ALTER TABLE conversations ADD COLUMN model TEXT NOT NULL DEFAULT ''")
    db.execute(
        "CREATE VIRTUAL TABLE message_words USING fts5 (text, content='',"
        " tokenize='unicode61 remove_diacritics 2')"
    )


MIGRATIONS: tuple[Migration, ...] = (
    m0001_messages_approvals_outbox,
    m0002_transfers_posts,
    m0003_grants_codes_reverts,
    m0004_moves,
    m0005_previews,
    m0006_records,
)
