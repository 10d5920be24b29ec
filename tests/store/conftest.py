"""The promises of bot/store/base.py are tested over every backend in BACKENDS."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from bot.clock import SettableClock
from bot.store.base import Store
from tests.store.backends import BACKENDS
from tests.store.second_process import SecondProcess

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def open_store(backend: str, tmp_path: Path, clock: SettableClock) -> OpenStore:
    """Open the test's store; again after closing it, it is the same store."""
    return lambda: BACKENDS[backend](tmp_path, clock)


@pytest.fixture
async def store(open_store: OpenStore) -> AsyncIterator[Store]:
    async with open_store() as opened:
        yield opened


@pytest.fixture
def second_process(backend: str, tmp_path: Path) -> SecondProcess:
    """Ask the same store from another process, as a restart would: what it sees was committed."""
    return SecondProcess(backend, tmp_path)
