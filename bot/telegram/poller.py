"""Receives updates: the raw JSON is committed, then the offset moves, then they are handled.

python-telegram-bot's own poller confirms before handling and refetches for ever what it can't parse.
Source of the semantics: https://core.telegram.org/bots/api#getupdates
"""

import asyncio
import json
import logging
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from telegram import Bot
from telegram.error import (
    Conflict,
    EndPointNotFound,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot import clock
from bot.store.base import Inbox, StoredUpdate
from bot.telegram.send_gate import retry_after

log = logging.getLogger(__name__)

ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "callback_query",
    "my_chat_member",
    "stopped_message_generation",  # Bot API 10.3; python-telegram-bot has no type for it
)
LIMIT = 100
REFUSALS = 3
"""So often the token may be refused at the start, since a proxy in between may say so too."""
LATER_REFUSALS = 20
"""And so often, over some eight minutes, once it was known: then it is rather the proxy than the token."""
PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Poller:
    """One reader of one bot's updates.

    Args:
        handle: Called once for each new update, in order; returns at once.
        timeout: Seconds that Telegram holds a poll open; at most 50.
        grace: Seconds beyond `timeout` after which a poll that never ended is given up and made anew.

    Attributes:
        last_poll: When a poll last ended well, seconds since the epoch; None before the first.
        trouble: What is wrong now, for `/status`; empty when polling works.
    """

    def __init__(
        self,
        *,
        bot: Bot,
        inbox: Inbox,
        handle: Callable[[StoredUpdate], Awaitable[None]],
        timeout: float = 30.0,
        grace: float = 10.0,
        now: clock.Clock = clock.system,
        elapsed: clock.Clock = time.monotonic,
    ) -> None:
        self._bot = bot
        self._inbox = inbox
        self._handle = handle
        self._timeout = timeout
        self._grace = grace
        self._now = now
        self._elapsed = elapsed  # a wall clock that is set anew is no sign of life, nor of death
        self._offset: int | None = None
        self._last_end = self._elapsed()
        # The library would have us use its own method, which can't leave the JSON as it came.
        warnings.filterwarnings("ignore", message="Please use 'Bot.getUpdates'")
        self.last_poll: float | None = None
        self.trouble = ""

    def is_alive(self) -> bool:
        """Whether polls end, well or not: one that hangs is no network trouble but our own."""
        return self._elapsed() - self._last_end < 3 * (self._timeout + self._grace)

    async def run(self) -> None:
        """Poll until cancelled.

        Raises:
            InvalidToken: Telegram does not know the token; said so `REFUSALS` times in a row, or
                `LATER_REFUSALS` times after a poll that worked.
        """
        failures = refusals = 0
        self._last_end = self._elapsed()
        while True:
            try:
                updates = await self._poll()
            except Exception as exc:
                self._last_end = self._elapsed()
                refusals = refusals + 1 if isinstance(exc, InvalidToken | EndPointNotFound) else 0
                if refusals == (REFUSALS if self.last_poll is None else LATER_REFUSALS):
                    raise InvalidToken from exc
                pause = self._explain(exc, failures)
                failures += 1
                await asyncio.sleep(pause)
                continue
            if self.trouble:
                log.info("polling works again")
            failures, refusals, self.trouble = 0, 0, ""
            self.last_poll, self._last_end = self._now(), self._elapsed()
            await self._take(updates)

    async def _poll(self) -> Sequence[dict[str, Any]]:
        arguments: dict[str, object] = {
            "timeout": int(self._timeout),
            "limit": LIMIT,
            "allowed_updates": json.dumps(ALLOWED_UPDATES),
        }
        if self._offset is not None:
            arguments["offset"] = self._offset
        # A half-open connection never fails by itself: the deadline is ours.
        async with asyncio.timeout(self._timeout + self._grace):
            # By exactly this name the request goes out over connections of its own, past all the sends.
            result = await self._bot.do_api_request(
                "getUpdates", api_kwargs=arguments, read_timeout=self._timeout + self._grace
            )
        found = result if isinstance(result, list) else []
        updates = [u for u in found if isinstance(u, dict) and isinstance(u.get("update_id"), int)]
        if not updates and result != []:
            raise TelegramError("its answer holds no updates")
        return updates

    async def _take(self, updates: Sequence[dict[str, Any]]) -> None:
        if not updates:
            return
        stored = [
            StoredUpdate(int(update["update_id"]), json.dumps(update, ensure_ascii=False))
            for update in updates
        ]
        while True:
            try:
                new = set(await self._inbox.receive(stored, self._now()))
                break
            except Exception:
                # Without the commit the offset must not move, and asking Telegram again would not help.
                log.exception("updates can't be stored; trying again")
                self._last_end = self._elapsed()
                await asyncio.sleep(1.0)
        self._offset = max(update.update_id for update in stored) + 1
        for update in stored:
            if update.update_id in new:
                try:
                    await self._handle(update)
                except Exception:
                    # It is stored, so it is handed out at the next start; the others must not wait for that.
                    log.exception("update %s could not be handed on", update.update_id)

    def _explain(self, exc: Exception, failures: int) -> float:
        """Log what is wrong in words that say what to do; return the pause before the next try."""
        pause = PAUSES[min(failures, len(PAUSES) - 1)]
        match exc:
            case InvalidToken() | EndPointNotFound():
                trouble = (
                    "telegram does not know the token (TELEGRAM_BOT_TOKEN), or something between here and "
                    "TELEGRAM_API_URL does not know telegram"
                )
            case Conflict():
                trouble = (
                    "another program polls with the same token, or a webhook is set: stop it, or revoke the "
                    "token with @BotFather"
                )
                pause = max(pause, 3.0)
            case RetryAfter():
                pause = max(pause, retry_after(exc))
                trouble = f"telegram holds polling back for {pause:g} s"
            case TimeoutError() | TimedOut():
                trouble = "the poll did not end in time; connecting anew"
            case NetworkError():
                trouble = f"telegram can't be reached: {exc}"
            case TelegramError():
                trouble = f"telegram refused to give updates: {exc}"
            case _:
                trouble = f"polling failed: {exc!r}"
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
        return pause
