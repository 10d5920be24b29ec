"""Messages that belong together but come as several updates: photos of an album, parts of a long paste.

An album's share a `media_group_id`; the parts of a paste, which apps cut at 4096 characters, share nothing:
after a message of nearly that length the next one is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from telegram import Message

from bot.messages import Conversation
from bot.telegram.inbound import conversation_of
from bot.telegram.split import utf16_len

LONG = 4000
"""UTF-16 units from which on a message may be one of several."""
CUT = 4096
WAIT = 1.0


@dataclass(frozen=True, slots=True)
class Received:
    """A message and the update it came in.

    Attributes:
        at: When it came, by our own clock: Telegram's may go otherwise.
    """

    update_id: int
    message: Message
    at: float


@dataclass(slots=True)
class Pile:
    parts: list[Received] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Gathering:
    """Holds back what may be followed by more of the same, for at most a second after the last.

    Args:
        deliver: Given messages that belong together, in order; one call after the other for each person.
    """

    def __init__(
        self, deliver: Callable[[Sequence[Received]], Awaitable[None]], *, wait: float = WAIT
    ) -> None:
        self._deliver = deliver
        self._wait = wait
        self._piles: dict[tuple[Conversation, int], Pile] = {}
        self._tasks = set[asyncio.Task[None]]()

    def expects(self, message: Message) -> bool:
        """Whether it is more of an album that was begun: in a group, only its first photo names us."""
        pile = self._piles.get(_key(message))
        return bool(pile and message.media_group_id) and (
            pile is not None and pile.parts[-1].message.media_group_id == message.media_group_id
        )

    async def take(self, received: Received) -> None:
        """Deliver a message, or hold it back for what may follow."""
        message = received.message
        key = _key(message)
        pile = self._piles.get(key)
        if pile and not belongs(pile.parts[-1].message, message):
            await self._flush(key)
            pile = None
        if pile is None and not may_go_on(message):
            await self._deliver([received])
            return
        pile = self._piles.setdefault(key, Pile())
        pile.parts.append(received)
        if pile.timer:
            pile.timer.cancel()
        if may_go_on(message):
            pile.timer = asyncio.get_running_loop().call_later(self._wait, self._flush_later, key)
        else:
            await self._flush(key)

    def take_away(self, conversation: Conversation) -> list[Sequence[Received]]:
        """Return what is held back there, what belongs together at a time: it will not be delivered."""
        keys = [key for key in self._piles if key[0] == conversation]
        piles = [self._piles.pop(key) for key in keys]
        for pile in piles:
            if pile.timer:
                pile.timer.cancel()
        return [pile.parts for pile in piles]

    def _flush_later(self, key: tuple[Conversation, int]) -> None:
        task = asyncio.create_task(self._flush(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _flush(self, key: tuple[Conversation, int]) -> None:
        if pile := self._piles.pop(key, None):
            if pile.timer:
                pile.timer.cancel()
            await self._deliver(pile.parts)


def _key(message: Message) -> tuple[Conversation, int]:
    return conversation_of(message), message.from_user.id if message.from_user else 0


def may_go_on(message: Message) -> bool:
    """Whether more of the same may follow."""
    return bool(message.media_group_id) or utf16_len(message.text or "") >= LONG


def belongs(before: Message, after: Message) -> bool:
    """Whether a message is the continuation of the one before it."""
    if before.media_group_id or after.media_group_id:
        return before.media_group_id == after.media_group_id
    return bool(after.text) and after.reply_to_message is None


def join(texts: Sequence[str], *, whole: Sequence[int]) -> str:
    """Join the parts of a paste; `whole` are their lengths as they came, before anything was taken off."""
    joined = ""
    for index, text in enumerate(texts):
        # Cut at the limit it was cut anywhere; a shorter part ended at a line.
        between = "" if index == 0 or whole[index - 1] >= CUT else "\n"
        joined += between + text
    return joined
