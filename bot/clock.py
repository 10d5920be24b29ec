"""The time, as something a test can set."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns seconds since the epoch, as `time.time` does."""

system: Clock = time.time


class SettableClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
