"""An emulator that stands still in time, Alice in it, and the bot's bare hands."""

from collections.abc import AsyncIterator

import pytest

from bot.demo import Emulator, Person, VirtualClock
from tests.demo.bare import BareBot

NOON = 1_800_000_000.0


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(clock=VirtualClock(NOON), flood=False, repeats_slow_down=False)


@pytest.fixture
def alice(emulator: Emulator) -> Person:
    return emulator.person(id=7, name="Alice", username="alice", started=True)


@pytest.fixture
def bob(emulator: Emulator) -> Person:
    return emulator.person(id=8, name="Bob", started=True)


@pytest.fixture
async def bot(emulator: Emulator) -> AsyncIterator[BareBot]:
    async with BareBot.of(emulator) as bare:
        yield bare
