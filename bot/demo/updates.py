"""The queue of updates: ids, offsets, how long each lives, the long poll and its conflicts.

https://core.telegram.org/bots/api#getting-updates; times and conflicts as the server's source has them.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bot.demo.changes import Changes
from bot.demo.clock import VirtualClock
from bot.demo.refusals import Refusal, conflict

LIFE = 24 * 3600.0
CALLBACK_LIFE = 150.0
INLINE_LIFE = 30.0
LONGEST_POLL = 50
CONFLICT_DELAY = 3.0
NOT_BY_DEFAULT = frozenset(["chat_member", "message_reaction", "message_reaction_count"])

_LIVES = {"callback_query": CALLBACK_LIFE, "inline_query": INLINE_LIFE}
_TERMINATED = "terminated by other getUpdates request; make sure that only one bot instance is running"
_WEBHOOK_ACTIVE = (
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """An update that waits to be fetched.

    Attributes:
        body: The whole update as JSON, as it was when it happened.
        key: What order is kept for: updates of one key reach a webhook one after another.
    """

    id: int
    kind: str
    expires: float
    body: bytes
    key: int


@dataclass(slots=True, eq=False)
class _Poll:
    woken: asyncio.Future[Refusal | None]
    deaf: bool = False


@dataclass(slots=True)
class Updates:
    """One bot's queue.

    Attributes:
        repeats_slow_down: As the server does, a poll that repeats the last offset within 3 s waits at least
            3 s for news, and within 0.5 s gets one update only.
        allowed: The kinds asked for; None is the default set.
        taken: Announced when updates are confirmed or delivered.
        polled: Announced when a getUpdates begins to wait.
    """

    clock: VirtualClock
    next_id: int = 810_000_001
    repeats_slow_down: bool = True
    allowed: frozenset[str] | None = None
    taken: Changes = field(default_factory=Changes)
    polled: Changes = field(default_factory=Changes)
    _queue: deque[Pending] = field(default_factory=deque)
    _poll: _Poll | None = None
    _listeners: list[Callable[[], None]] = field(default_factory=list)
    _last_offset: int | None = None
    _last_start: float = 0.0
    _next_conflict: float = 0.0
    _deafened: int = 0
    _webhook: bool = False
    _webhook_listeners: list[Callable[[], None]] = field(default_factory=list)

    @property
    def webhook(self) -> bool:
        """Whether a webhook is set; getUpdates is refused then."""
        return self._webhook

    @webhook.setter
    def webhook(self, value: bool) -> None:
        self._webhook = value
        for listener in self._webhook_listeners:
            listener()

    def on_webhook(self, listener: Callable[[], None]) -> None:
        """Call `listener` after a webhook is set or deleted."""
        self._webhook_listeners.append(listener)

    def push(self, kind: str, payload: Any, key: int = 0) -> int | None:
        """Queue an update of a kind such as `message`; returns its id, None if it is unwanted."""
        if not self.wants(kind):
            return None
        number, self.next_id = self.next_id, self.next_id + 1
        body = json.dumps({"update_id": number, kind: payload}, ensure_ascii=False).encode()
        expires = self.clock() + _LIVES.get(kind, LIFE)
        self._queue.append(Pending(number, kind, expires, body, key))
        self._wake()
        for listener in self._listeners:
            listener()
        return number

    def on_push(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each queued update."""
        self._listeners.append(listener)

    def wants(self, kind: str) -> bool:
        """Return whether updates of this kind are queued."""
        if self.allowed is None:
            return kind not in NOT_BY_DEFAULT
        return kind in self.allowed

    def allow(self, kinds: Iterable[str] | None) -> None:
        """Remember allowed_updates: None leaves them as they are, none at all means the default set."""
        if kinds is not None:
            self.allowed = frozenset(map(str.lower, kinds)) or None

    def waiting(self) -> list[Pending]:
        """Return the unconfirmed updates that still live, oldest first."""
        self._expire()
        return list(self._queue)

    def confirm(self, offset: int) -> None:
        """Delete what is older than `offset`; a negative one keeps only so many of the newest."""
        if offset < 0:
            while len(self._queue) > -offset:
                self._queue.popleft()
        while self._queue and offset > 0 and self._queue[0].id < offset:
            self._queue.popleft()
        self.taken.announce()

    def remove(self, update: Pending) -> None:
        """Delete one update, wherever it stands: a webhook took it."""
        if update in self._queue:
            self._queue.remove(update)
        self.taken.announce()

    def drop(self) -> None:
        """Delete everything: drop_pending_updates."""
        self._queue.clear()

    async def fetch(self, offset: int, limit: int, timeout: int) -> bytes:
        """Answer getUpdates with a JSON array, waiting up to `timeout` seconds for news.

        Ends at once when an update comes; a younger call ends an older one that still waits.

        Raises:
            Refusal: 409.
        """
        if self.webhook:
            raise await self._conflicted(conflict(_WEBHOOK_ACTIVE))
        now = self.clock()
        limit, timeout = min(max(limit or 100, 1), 100), min(max(timeout, 0), LONGEST_POLL)
        if self.repeats_slow_down and offset == self._last_offset:
            if timeout < 3 and now < self._last_start + 3.0:
                timeout = 3
            if now < self._last_start + 0.5:
                limit = 1
        self._last_offset, self._last_start = offset, now
        self.confirm(offset)
        if not (found := self._find(offset, limit)) and timeout:
            found = await self._wait(offset, limit, timeout)
        return b"[" + b",".join(update.body for update in found) + b"]"

    def deafen(self, polls: int = 1) -> None:
        """Let the waiting poll, or else the next ones, hang for ever, as on a half-open connection."""
        if self._poll is not None:
            self._poll.deaf = True
            self._poll = None
            polls -= 1
        self._deafened += polls

    @property
    def polling(self) -> bool:
        """Whether a getUpdates waits now."""
        return self._poll is not None

    def end_poll(self, refusal: Refusal | None = None) -> None:
        """End the waiting poll, with an error or with nothing found."""
        poll, self._poll = self._poll, None
        if poll is not None and not poll.woken.done():
            poll.woken.set_result(refusal)

    async def _wait(self, offset: int, limit: int, timeout: int) -> list[Pending]:
        self.end_poll(conflict(_TERMINATED))
        loop = asyncio.get_running_loop()
        poll = _Poll(loop.create_future())
        if self._deafened:
            self._deafened -= 1
            poll.deaf = True
        else:
            self._poll = poll
            self.polled.announce()
        virtual_end, real_end = self.clock() + timeout, loop.time() + timeout
        try:
            while True:
                async with asyncio.timeout_at(None if poll.deaf else real_end):
                    refusal = await poll.woken
                if refusal is not None:
                    raise await self._conflicted(refusal)
                found = self._find(offset, limit)
                if found or self._poll is not poll or self.clock() >= virtual_end:
                    return found
                poll.woken = loop.create_future()
        except TimeoutError:
            if poll.deaf:
                await loop.create_future()
            return self._find(offset, limit)
        finally:
            if self._poll is poll:
                self._poll = None

    async def _conflicted(self, refusal: Refusal) -> Refusal:
        """Return the refusal; the second and later ones only after a delay."""
        now = self.clock()
        if now < self._next_conflict:
            await asyncio.sleep(CONFLICT_DELAY)
        else:
            self._next_conflict = now + CONFLICT_DELAY
        return refusal

    def _wake(self) -> None:
        if self._poll is not None and not self._poll.woken.done():
            self._poll.woken.set_result(None)

    def on_time_passed(self) -> None:
        """Look again whether a poll's time is up; the clock calls this."""
        self._wake()

    def _expire(self) -> None:
        now = self.clock()
        if any(update.expires <= now for update in self._queue):
            self._queue = deque(update for update in self._queue if update.expires > now)

    def _find(self, offset: int, limit: int) -> list[Pending]:
        self._expire()
        wanted = (update for update in self._queue if offset <= 0 or update.id >= offset)
        return list(islice(wanted, limit))
