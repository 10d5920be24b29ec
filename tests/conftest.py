"""Fixtures of every test."""

import os

import pytest

# As the bot sets it: without, python-telegram-bot warns at every 429, and here a warning is an error.
os.environ.setdefault("PTB_TIMEDELTA", "1")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
