"""The wallet in a process of its own, to be killed: `pay` plans and pays, `resume` only watches.

Prints a line for whatever is told.
"""

import asyncio
import os
import sys
from pathlib import Path

from bot.store.transfers import Transfer
from tests.tools.wallet.town import open_town, paying, settings_of


async def main(what: str, folder: Path, url: str) -> None:
    async with open_town(folder, settings_of(url)) as town:

        async def tell(transfer: Transfer, text: str) -> None:
            os.write(1, f"{transfer.call_id} {transfer.state} {transfer.tx_hash}\n".encode())

        if what == "resume":
            await town.wallet.watch(tell)
        await town.pay(paying())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
