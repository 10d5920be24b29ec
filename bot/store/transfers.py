"""What is kept of money sent: a row a call, from the plan a person saw to the receipt.

A backend of `Transfers` promises what `bot.store.base` says of every write.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from bot.messages import Conversation


class TransferState(StrEnum):
    """How far a transfer got. It only moves on; MINED and FAILED are final."""

    PLANNED = "planned"
    """Shown on a card; nothing is signed."""
    SIGNED = "signed"
    """The bytes that pay are kept, and may or may not have left this machine."""
    SENT = "sent"
    """A node has them."""
    UNKNOWN = "unknown"
    """No node answered for them, they were forgotten, or failed but not surely: the money may still move."""
    MINED = "mined"
    """In a block, and it worked."""
    FAILED = "failed"
    """It did not pay and never will: reverted, refused, expired or replaced."""


UNRESOLVED = (TransferState.SIGNED, TransferState.SENT, TransferState.UNKNOWN)
COUNTED = (*UNRESOLVED, TransferState.MINED)
"""What counts against the limit of a day: all that was or may yet be paid."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One transfer, keyed by the tool call that asked for it.

    Attributes:
        chain: A name of `chains.toml`.
        sender: Our address there. `recipient`, `contract` likewise in the chain's canonical spelling.
        contract: The token's; empty for the chain's own coin.
        units: Amount in the smallest unit (wei, lamport); `decimals` of them make one.
        fee_ceiling: The most it may cost in the smallest unit of the chain's coin, as the card said.
        fingerprint: Of what the card said; the same as long as the same would happen.
        raw: The signed bytes; None until SIGNED, then never changed.
        tx_hash: Hash or signature by which explorers know it; empty until SIGNED.
        nonce: On chains that count; unique a sender among what may still pay.
        valid_until: Block height after which the bytes can't pay any more; None when they always can.
        block: Where it was mined.
        fee: What it did cost, in the smallest unit of the chain's coin.
        error: Why it FAILED, or what is known of it while UNKNOWN.
        told: Whether the person was told how it ended.
    """

    call_id: str
    conversation: Conversation
    chain: str
    sender: str
    recipient: str
    symbol: str
    contract: str
    decimals: int
    units: int
    fee_ceiling: int
    fingerprint: str
    planned_at: float
    state: TransferState = TransferState.PLANNED
    raw: bytes | None = None
    tx_hash: str = ""
    nonce: int | None = None
    valid_until: int | None = None
    signed_at: float | None = None
    block: int | None = None
    fee: int | None = None
    error: str = ""
    told: bool = False

    @property
    def amount(self) -> Decimal:
        """The whole coins or tokens, exactly."""
        return Decimal((0, tuple(map(int, str(self.units))), -self.decimals))


@dataclass(frozen=True, slots=True)
class DayLimit:
    """How much of an asset may be paid in a while.

    Attributes:
        symbol: The asset, or empty for the token with `contract`.
        chains: Where payments count.
        most: In whole coins or tokens.
        since: Payments signed after this time count, seconds since the epoch.
    """

    symbol: str
    contract: str
    chains: tuple[str, ...]
    most: Decimal
    since: float


class Transfers(Protocol):
    """Transfers, none paid twice and none above the limit."""

    async def plan(self, transfer: Transfer) -> Transfer:
        """Keep what a card says, in place of an earlier plan of the call; return the row as it stands.

        Once the call's transfer is signed this changes nothing.
        """
        ...

    async def transfer(self, call_id: str) -> Transfer | None: ...

    async def next_nonce(self, chain: str, sender: str) -> int:
        """Return the lowest nonce that nothing which may still pay, or has paid, uses; 0 at the start."""
        ...

    async def sign(
        self,
        call_id: str,
        *,
        raw: bytes,
        tx_hash: str,
        nonce: int | None,
        valid_until: int | None,
        at: float,
        limit: DayLimit,
    ) -> Transfer | None:
        """Keep the signed bytes, once a call, and only while the day's limit holds.

        Returns:
            The row; its `raw` is an earlier one's when the call was signed before. None when the limit would
            be passed: nothing was kept, and the bytes must be forgotten.

        Raises:
            StoreError: The nonce or the hash is another transfer's.
            LookupError: The call has no plan.
        """
        ...

    async def move(
        self,
        call_id: str,
        state: TransferState,
        *,
        error: str = "",
        block: int | None = None,
        fee: int | None = None,
    ) -> Transfer:
        """Note how far it got; a final state stays. Return the row as it stands.

        Raises:
            LookupError: The call has no signed transfer.
        """
        ...

    async def unresolved(self, chain: str = "", sender: str = "") -> list[Transfer]:
        """Return what may still pay, oldest first; everywhere when no chain is named."""
        ...

    async def untold(self) -> list[Transfer]:
        """Return what ended and whose person was not told, oldest first."""
        ...

    async def told(self, call_id: str) -> None: ...

    async def paid(self, limit: DayLimit) -> Decimal:
        """Return how much of a limit is used, in whole coins or tokens."""
        ...

    async def times_paid(self, chain: str, recipient: str) -> int:
        """Count the transfers to an address that were mined."""
        ...

    async def recent(self, count: int, conversation: Conversation | None = None) -> Sequence[Transfer]:
        """Return the newest signed transfers, newest first; of every conversation when None."""
        ...
