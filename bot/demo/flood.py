"""Flood control: token buckets per chat and for the whole bot, and a penalty that grows when it is ignored.

Telegram publishes no exact limits; https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
names one message a second per chat (short bursts pass), 20 a minute per group, about 30 a second in all.
"""

import math
from dataclasses import dataclass, field

from bot.clock import Clock
from bot.demo.refusals import too_many

LONGEST = 3600.0


@dataclass(slots=True)
class Bucket:
    """Holds up to `burst` tokens and gains `rate` of them a second."""

    rate: float
    burst: float
    tokens: float
    filled: float

    def wait(self, now: float, cost: float) -> float:
        """Return the seconds until `cost` tokens are there; 0 when they are. Takes nothing."""
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        return max(0.0, (min(cost, self.burst) - self.tokens) / self.rate)


@dataclass(slots=True)
class Penalty:
    """No call passes before `until`; each call that tries makes it longer."""

    until: float = 0.0
    strikes: int = 0


@dataclass(slots=True)
class Flood:
    """Refuses what comes too fast.

    Attributes:
        enabled: Whether the buckets count. `block` works either way.
    """

    clock: Clock
    enabled: bool = True
    chat_rate: float = 1.0
    chat_burst: float = 3.0
    group_rate: float = 20 / 60
    group_burst: float = 20.0
    bot_rate: float = 30.0
    bot_burst: float = 30.0
    _buckets: dict[tuple[str, int], Bucket] = field(default_factory=dict)
    _penalties: dict[int, Penalty] = field(default_factory=dict)

    def check(self, chat_id: int, *, group: bool, counts: bool, cost: int = 1) -> None:
        """Let a call to a chat pass.

        Args:
            chat_id: Where it goes; 0 when it goes to no chat.
            group: Whether that is a group.
            counts: Whether it makes or changes a message; typing and the like fill no bucket.
            cost: Messages it makes.

        Raises:
            Refusal: 429 with `retry_after`, which doubles each time it is ignored.
        """
        now = self.clock()
        for key in dict.fromkeys([chat_id, 0]):
            if (penalty := self._penalties.get(key)) is None:
                continue
            if now < penalty.until:
                penalty.strikes += 1
                left = penalty.until - now
                self._refuse(penalty, now, min(LONGEST, max(left, 1.0) * 2))
            elif now >= penalty.until + 60:
                del self._penalties[key]
        if not self.enabled or not counts:
            return
        buckets = [("bot", 0, self.bot_rate, self.bot_burst)]
        buckets.append(("chat", chat_id, self.chat_rate, self.chat_burst))
        if group:
            buckets.append(("group", chat_id, self.group_rate, self.group_burst))
        taken: list[Bucket] = []
        for kind, key, rate, burst in buckets:
            bucket = self._buckets.get((kind, key))
            if bucket is None:
                bucket = self._buckets[kind, key] = Bucket(rate, burst, burst, now)
            if wait := bucket.wait(now, cost):
                penalty = self._penalties.setdefault(key, Penalty())
                self._refuse(penalty, now, wait * 2**penalty.strikes)
            taken.append(bucket)
        for bucket in taken:
            bucket.tokens -= cost

    def block(self, seconds: float, chat_id: int = 0) -> None:
        """Answer 429 to every call to one chat, or to all, for so long; longer if it is ignored."""
        self._penalties[chat_id] = Penalty(self.clock() + seconds)

    def _refuse(self, penalty: Penalty, now: float, wait: float) -> None:
        seconds = math.ceil(wait)
        penalty.until = now + seconds
        raise too_many(seconds)
