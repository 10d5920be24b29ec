"""What every kind of chain can do, as the wallet sees it."""

from dataclasses import dataclass
from typing import Protocol

from bot.store.transfers import Transfer, TransferState
from bot.tools.wallet.chains import Chain, Token


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be paid, `units` of the smallest unit; all checked and in canonical spelling."""

    chain: Chain
    token: Token
    units: int
    sender: str
    recipient: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """What paying would do now; found out by a dry run that worked.

    Attributes:
        balance: Of what is sent, before; `coins` likewise of the chain's own coin. Smallest units.
        fee_needed: What the fee may come to as things are now.
        fee_ceiling: The same with room for the fees to rise while a person reads.
        facts: What else must stay so between card and press; part of the fingerprint.
        warnings: For the person; may be empty.
    """

    balance: int
    coins: int
    fee_needed: int
    fee_ceiling: int
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signed:
    """Bytes that pay as soon as anybody sends them. `nonce` and `valid_until` as in `Transfer`."""

    raw: bytes
    tx_hash: str
    nonce: int | None = None
    valid_until: int | None = None


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of signed bytes, as far as nodes say.

    Attributes:
        fee: In the smallest unit of the chain's coin.
        doubtful: FAILED as far as nodes say now, but said of what is paid as well by one that lags (nobody
            has it, and its place or time is gone) or of a block that is dropped (it reverted): to be believed
            once it was said for a while.
    """

    state: TransferState
    error: str = ""
    block: int | None = None
    fee: int | None = None
    doubtful: bool = False


class Network(Protocol):
    """A chain that can be asked and paid on."""

    chain: Chain

    async def sender(self) -> str:
        """Return our address. Raises ToolError `NotConfigured` without a key."""
        ...

    async def token(self, text: str) -> Token:
        """Return a token by symbol or contract, its decimals as the chain says. Raises ToolError."""
        ...

    def address(self, text: str) -> tuple[str, str]:
        """Return (address in canonical spelling, warning or empty). Raises ToolError `InvalidArgs`."""
        ...

    async def simulate(self, order: Order) -> Simulation:
        """Dry-run the order. Raises ToolError saying why it would fail."""
        ...

    async def sign(self, order: Order, *, fee_ceiling: int, first_nonce: int, salt: str) -> Signed:
        """Sign the order for a fee of at most `fee_ceiling`, after asking the node again what chain it is.

        Args:
            first_nonce: Lower ones are taken.
            salt: Makes two equal orders different bytes, where a chain has no nonces.

        Raises:
            ToolError: The fee does not suffice, the dry run fails now, or the node is of another chain.
        """
        ...

    async def broadcast(self, transfer: Transfer, *, first: bool) -> Fate:
        """Hand the stored bytes to the nodes; any number of times. SENT, UNKNOWN, or how it ended.

        Args:
            first: They surely never left this machine, so that a refusal by every node, in words that leave
                no doubt, means FAILED.
        """
        ...

    async def look_up(self, transfer: Transfer) -> Fate:
        """Ask what became of the stored bytes. SENT while a node knows them, UNKNOWN when none does."""
        ...
