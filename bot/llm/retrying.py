"""The one layer that asks again."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from bot import clock
from bot.errors import LLMMalformed, LLMUnavailable
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[object]]


class Retrying:
    """Asks again when the provider was unavailable or its stream broke, as long as nothing was shown.

    What was shown can't be taken back, and another try would say it again: then the error goes up at once.
    """

    def __init__(
        self,
        inner: LLMClient,
        *,
        attempts: int = 3,
        pause: float = 0.5,
        deadline: float = 60.0,
        sleep: Sleep = asyncio.sleep,
        now: clock.Clock = clock.system,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Wrap a client.

        Args:
            attempts: Requests in all.
            pause: Seconds before the second attempt, doubled for each after it; up to half of it is left to
                chance, so that many turns don't come back at once. A longer wish of the provider's counts.
            deadline: Seconds after the first request beyond which no wait reaches.
        """
        self._inner = inner
        self._attempts = attempts
        self._pause = pause
        self._deadline = deadline
        self._sleep = sleep
        self._now = now
        self._jitter = jitter

    @property
    def supports_native_tools(self) -> bool:
        return self._inner.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        started, shown = self._now(), False
        for attempt in range(1, self._attempts + 1):
            try:
                async with aclosing(self._inner.stream(prompt)) as events:  # type: ignore[type-var]
                    async for event in events:
                        shown = shown or isinstance(event, TextDelta)
                        yield event
                return
            except (LLMUnavailable, LLMMalformed) as exc:
                wait = self._wait(attempt, exc)
                over = self._now() - started + wait > self._deadline
                if shown or attempt == self._attempts or over:
                    raise
                log.info("asking the model again in %.1f s: %s", wait, exc)
            await self._sleep(wait)

    def _wait(self, attempt: int, exc: LLMUnavailable | LLMMalformed) -> float:
        pause: float = self._pause * 2 ** (attempt - 1) * (1 - self._jitter() / 2)
        asked = exc.retry_after if isinstance(exc, LLMUnavailable) else None
        return max(pause, asked or 0.0)
