"""Every storage backend by name; a new one adds a line and must pass the same tests."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bot.clock import Clock
from bot.store.base import Store
from bot.store.sqlite import SqliteStore

Open = Callable[[Path, Clock], AbstractAsyncContextManager[Store]]


def open_sqlite(folder: Path, clock: Clock) -> AbstractAsyncContextManager[Store]:
    return SqliteStore.open(folder / "kai.db", clock=clock)


BACKENDS: Mapping[str, Open] = {"sqlite": open_sqlite}
