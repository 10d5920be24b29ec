"""The emulator's time: the real time plus what a test adds, or a time that stands still."""

import time
from collections.abc import Callable


class VirtualClock:
    """Seconds since the epoch; a `bot.clock.Clock`, so the bot in the same process can share it.

    Args:
        start: A time to stand still at. None runs with the real time.
    """

    def __init__(self, start: float | None = None) -> None:
        self._still = start is not None
        self._shift = start if start is not None else 0.0
        self._listeners: list[Callable[[], None]] = []

    def __call__(self) -> float:
        return self._shift if self._still else time.time() + self._shift

    def advance(self, seconds: float) -> None:
        """Move forward; whatever was waiting for the passed time wakes up in the loop's next round."""
        self._shift += seconds
        for listener in list(self._listeners):
            listener()

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each `advance`."""
        self._listeners.append(listener)
