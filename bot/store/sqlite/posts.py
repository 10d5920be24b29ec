"""Posts, from being planned to having an id."""

from collections.abc import Sequence
from typing import Any

from bot.store.codec import from_key, key, storable
from bot.store.posts import Post, PostState
from bot.store.sqlite.part import Part

COLUMNS = (
    "call_id, chat_id, thread_id, account, text, fingerprint, planned_at, state, post_id, sent_at, error"
)


class SqlitePosts(Part):
    async def plan_post(self, post: Post) -> Post:
        row = (
            storable(post.call_id),
            *key(post.conversation),
            storable(post.account),
            storable(post.text),
            post.fingerprint,
            post.planned_at,
        )
        sql = (
            "INSERT INTO posts (call_id, chat_id, thread_id, account, text, fingerprint, planned_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (call_id) DO UPDATE SET account = excluded.account,"
            " text = excluded.text, fingerprint = excluded.fingerprint, planned_at = excluded.planned_at"
            " WHERE state = 'planned'"
        )
        await self._db.write(lambda db: db.execute(sql, row).rowcount)
        kept = await self.post(post.call_id)
        assert kept is not None
        return kept

    async def post(self, call_id: str) -> Post | None:
        rows = await self._db.read(f"SELECT {COLUMNS} FROM posts WHERE call_id = ?", (storable(call_id),))
        return _post(rows[0]) if rows else None

    async def sending_post(self, call_id: str, at: float) -> bool:
        sql = "UPDATE posts SET state = 'sending', sent_at = ? WHERE call_id = ? AND state = 'planned'"
        return await self._db.write(lambda db: db.execute(sql, (at, storable(call_id))).rowcount == 1)

    async def finish_post(
        self, call_id: str, state: PostState, *, post_id: str = "", error: str = ""
    ) -> None:
        values = (state.value, storable(post_id), storable(error), storable(call_id))
        sql = "UPDATE posts SET state = ?, post_id = ?, error = ? WHERE call_id = ? AND state <> 'posted'"
        await self._db.write(lambda db: db.execute(sql, values).rowcount)

    async def posts_since(self, since: float) -> list[Post]:
        rows = await self._db.read(
            f"SELECT {COLUMNS} FROM posts WHERE sent_at > ? AND state <> 'failed' ORDER BY sent_at, rowid",
            (since,),
        )
        return [_post(row) for row in rows]


def _post(row: Sequence[Any]) -> Post:
    call_id, chat_id, thread_id, account, text, fingerprint, planned_at, state, post_id, sent_at, error = row
    return Post(
        call_id=call_id,
        conversation=from_key(chat_id, thread_id),
        account=account,
        text=text,
        fingerprint=fingerprint,
        planned_at=float(planned_at),
        state=PostState(state),
        post_id=post_id,
        sent_at=None if sent_at is None else float(sent_at),
        error=error,
    )
