"""A process killed at any moment of a transfer, and the next one: paid once, and told (X10, L10)."""

import asyncio
import signal
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.tools.wallet.anvil import RICH, Anvil
from tests.tools.wallet.proxy import Proxy
from tests.tools.wallet.town import ETH, FRIEND

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def child(what: str, folder: Path, url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process; on leaving, kill it with -9."""
    command = [sys.executable, "-m", "tests.tools.wallet.paying_child", what, str(folder), url]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        assert await process.wait() == -signal.SIGKILL


async def reached(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 20)


def row(folder: Path) -> tuple[str, bytes | None]:
    with closing(sqlite3.connect(folder / "kai.db")) as db:
        [found] = db.execute("SELECT state, raw FROM transfers").fetchall()
    return found[0], found[1]


async def resume(folder: Path, url: str) -> str:
    """Return what the next process tells first."""
    async with child("resume", folder, url) as process:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            return (await process.stdout.readline()).decode()


async def test_killed_before_the_bytes_left(tmp_path: Path, anvil: Anvil, proxy: Proxy) -> None:
    waiting = proxy.hold("eth_sendRawTransaction")
    async with child("pay", tmp_path, proxy.url):
        await reached(waiting)
    state, raw = row(tmp_path)

    told = await resume(tmp_path, anvil.url)

    assert (state, told.split()[:2]) == ("signed", ["c1", "mined"])
    assert row(tmp_path) == ("mined", raw)
    assert (await anvil.balance(FRIEND), await anvil.nonce(RICH)) == (ETH // 10, 1)


async def test_killed_after_the_bytes_left_and_before_that_was_noted(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    waiting = proxy.hold_answer("eth_sendRawTransaction")
    async with child("pay", tmp_path, proxy.url):
        await reached(waiting)
    state, raw = row(tmp_path)

    told = await resume(tmp_path, anvil.url)

    assert (state, told.split()[:2]) == ("signed", ["c1", "mined"])
    assert row(tmp_path) == ("mined", raw)
    assert (await anvil.balance(FRIEND), await anvil.nonce(RICH)) == (ETH // 10, 1)


@pytest.mark.parametrize("mined", [False, True])
async def test_killed_while_no_block_has_it(tmp_path: Path, anvil: Anvil, proxy: Proxy, mined: bool) -> None:
    await anvil.ask("evm_setAutomine", False)
    waiting = proxy.hold("eth_getTransactionReceipt")
    async with child("pay", tmp_path, proxy.url):
        await reached(waiting)
    state, raw = row(tmp_path)
    if mined:
        await anvil.ask("evm_mine")
    else:
        await anvil.ask("evm_setIntervalMining", 1)

    told = await resume(tmp_path, anvil.url)

    assert (state, told.split()[:2]) == ("sent", ["c1", "mined"])
    assert row(tmp_path) == ("mined", raw)
    assert (await anvil.balance(FRIEND), await anvil.nonce(RICH)) == (ETH // 10, 1)


async def test_killed_before_the_signature_pays_nothing(tmp_path: Path, anvil: Anvil, proxy: Proxy) -> None:
    waiting = proxy.hold("eth_getTransactionCount")
    async with child("pay", tmp_path, proxy.url):
        await reached(waiting)
    async with child("resume", tmp_path, anvil.url):
        await asyncio.sleep(1.5)

    assert row(tmp_path) == ("planned", None)
    assert await anvil.balance(FRIEND) == 0
