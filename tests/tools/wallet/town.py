"""A wallet with everything around it: a node, credentials, limits, a store."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bot.clock import Clock, system
from bot.messages import Conversation, ToolCall
from bot.store.sqlite import SqliteStore
from bot.store.transfers import Transfer, TransferState
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.card import CardDetails
from bot.tools.credentials import Credentials
from bot.tools.transfer_wallet import transfer_wallet
from bot.tools.wallet import Chain, Token, Wallet, WalletSettings
from tests.tools.wallet.anvil import RICH_KEY

HERE = Conversation(7, 3)
ELSEWHERE = Conversation(8)
FRIEND = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
"""On the list. From the examples of https://eips.ethereum.org/EIPS/eip-55, as is the next."""
STRANGER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"

TESTNET = Chain(
    name="testnet",
    kind="evm",
    id="31337",
    native=Token("ETH", "", 18),
    explorer="https://explorer.example/tx/{hash}",
)
ETH = 10**18


WalletStore = SqliteStore


@dataclass(slots=True)
class Town:
    """A wallet as the bot runs it, and what it said by itself."""

    wallet: Wallet
    store: WalletStore
    tools: Tools
    folder: Path
    told: list[tuple[Transfer, str]] = field(default_factory=list)

    async def show(self, call: ToolCall, conversation: Conversation = HERE) -> CardDetails:
        """Do what makes a card."""
        assert self.tools.check(call) is None
        return await self.wallet.preview(call, conversation, self.folder)

    async def run(self, call: ToolCall, conversation: Conversation = HERE) -> ToolOutcome:
        """Do what a yes does."""
        context = ToolContext(conversation, call.id, self.folder, self.folder, self.folder)
        return await self.tools.run(call, context)

    async def pay(self, call: ToolCall, conversation: Conversation = HERE) -> ToolOutcome:
        await self.show(call, conversation)
        return await self.run(call, conversation)

    async def row(self, call: ToolCall) -> Transfer:
        found = await self.store.transfer(call.id)
        assert found is not None
        return found

    async def reaches(self, call: ToolCall, *states: TransferState) -> None:
        """Wait until a transfer is in one of the states."""
        for _ in range(5000):
            if (await self.row(call)).state in states:
                return
            await asyncio.sleep(0.001)
        raise AssertionError(f"{call.id} never got to {states}")

    async def tell(self, transfer: Transfer, text: str) -> None:
        self.told.append((transfer, text))


def paying(
    to: str = FRIEND, amount: str = "0.1", *, chain: str = "testnet", token: str = "", call_id: str = "c1"
) -> ToolCall:
    arguments = {"to_address": to, "amount": amount, "chain": chain} | ({"token": token} if token else {})
    return ToolCall("transfer_wallet", arguments, call_id)


def write_credentials(folder: Path, **files: str) -> Credentials:
    """Write `<name>.env` files as an operator should."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / f"{name}.env"
        path.write_text(text)
        path.chmod(0o600)
    return Credentials(folder)


def settings_of(urls: str, changes: Mapping[str, str] = {}, chain: Chain = TESTNET) -> WalletSettings:
    environ = {
        chain.rpc_setting: urls,
        "WALLET_MAX_TRANSFER": "ETH=1",
        "WALLET_MAX_DAY": "ETH=3",
        "WALLET_RECIPIENTS": f"friend={FRIEND}",
        "CREDENTIALS_DIR": "/nowhere",
        **changes,
    }
    settings, problems = WalletSettings.read(environ, chains={chain.name: chain})
    assert problems == []
    return settings


@asynccontextmanager
async def open_town(
    folder: Path,
    settings: WalletSettings,
    *,
    credentials: Credentials | None = None,
    http: httpx.AsyncClient | None = None,
    now: Clock = system,
    wait: float = 5.0,
    doubt: float = 0.1,
) -> AsyncIterator[Town]:
    credentials = credentials or write_credentials(
        folder / "credentials", wallet=f"EVM_PRIVATE_KEY={RICH_KEY}\n"
    )
    async with (
        WalletStore.open(folder / "kai.db", clock=now) as opened,
        http or httpx.AsyncClient(trust_env=False) as client,
    ):
        assert isinstance(opened, WalletStore)
        wallet = Wallet(
            settings=settings,
            store=opened,
            http=client,
            credentials=credentials,
            now=now,
            wait=wait,
            poll=0.02,
            doubt=doubt,
        )
        yield Town(wallet, opened, Tools([transfer_wallet(wallet)]), folder)
