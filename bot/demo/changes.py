"""Something happened: wakes whoever waits, at once and without polling."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


class Changes:
    """A signal that many may wait for. Belongs to one event loop at a time.

    Args:
        parent: Announced too.

    Attributes:
        count: How often it was announced.
    """

    def __init__(self, parent: "Changes | None" = None) -> None:
        self.count = 0
        self._parent = parent
        self._waiting: list[asyncio.Future[None]] = []

    def announce(self) -> None:
        """Wake everybody who waits now."""
        self.count += 1
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        if self._parent is not None:
            self._parent.announce()

    async def until(self, look: Callable[[], _T | None], within: float) -> _T | None:
        """Return the first value of `look` that is not None, looking again after each announcement.

        Returns None when `within` seconds (real ones) have passed.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while True:
            value = look()
            if value is not None:
                return value
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append(future)
            try:
                async with asyncio.timeout_at(deadline):
                    await future
            except TimeoutError:
                return look()
            finally:
                if future in self._waiting:
                    self._waiting.remove(future)
