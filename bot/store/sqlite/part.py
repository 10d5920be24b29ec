"""What the parts of the store stand on."""

from bot.clock import Clock
from bot.store.sqlite.database import Database


class Part:
    """One protocol of `bot.store.base` over the shared database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
