import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.tools.wallet.anvil import Anvil, run_anvil
from tests.tools.wallet.proxy import Proxy, run_proxy
from tests.tools.wallet.town import Town, open_town, settings_of


@pytest.fixture
async def anvil(tmp_path: Path) -> AsyncIterator[Anvil]:
    folder = tmp_path / "anvil"
    folder.mkdir()
    async with run_anvil(folder) as running:
        yield running


@pytest.fixture
def proxy(anvil: Anvil) -> Iterator[Proxy]:
    with run_proxy(anvil.url) as running:
        yield running


@pytest.fixture
async def town(tmp_path: Path, anvil: Anvil) -> AsyncIterator[Town]:
    async with open_town(tmp_path, settings_of(anvil.url)) as opened:
        yield opened


@pytest.fixture
async def watched(town: Town) -> AsyncIterator[Town]:
    """The same, with its watch running."""
    watching = asyncio.create_task(town.wallet.watch(town.tell))
    yield town
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
