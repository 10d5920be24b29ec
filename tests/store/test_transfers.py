"""Transfers as they are kept: signed once, never changed, never above the day's limit."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from bot.clock import SettableClock
from bot.errors import StoreError
from bot.store.transfers import DayLimit, Transfer, TransferState
from tests.store.samples import ELSEWHERE, HERE, TOPIC
from tests.tools.wallet.town import WalletStore

NOW = 1_700_000_000.0
EVERYTHING = DayLimit("ETH", "", ("base", "sepolia"), Decimal(10**9), NOW - 86_400)
NO_LIMIT = replace(EVERYTHING, most=Decimal(10) ** 70)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[WalletStore]:
    async with WalletStore.open(tmp_path / "kai.db", clock=SettableClock(NOW)) as opened:
        assert isinstance(opened, WalletStore)
        yield opened


def planned(call_id: str = "c1", **changes: object) -> Transfer:
    transfer = Transfer(
        call_id=call_id,
        conversation=TOPIC,
        chain="base",
        sender="0xA",
        recipient="0xB",
        symbol="ETH",
        contract="",
        decimals=18,
        units=2**255,
        fee_ceiling=2**200,
        fingerprint="f:1",
        planned_at=NOW,
    )
    return replace(transfer, **changes)  # type: ignore[arg-type]


async def sign(
    store: WalletStore,
    call_id: str = "c1",
    *,
    nonce: int | None = 0,
    raw: bytes = b"raw",
    limit: DayLimit = NO_LIMIT,
    at: float = NOW,
) -> Transfer | None:
    return await store.sign(
        call_id, raw=raw, tx_hash=f"0x{call_id}", nonce=nonce, valid_until=9, at=at, limit=limit
    )


async def test_a_plan_comes_back_as_it_was(store: WalletStore) -> None:
    assert await store.plan(planned()) == planned()
    assert await store.transfer("c1") == planned()
    assert await store.transfer("c2") is None


async def test_a_later_plan_takes_the_place_of_an_earlier_one(store: WalletStore) -> None:
    await store.plan(planned())

    assert await store.plan(planned(units=5, fingerprint="g:2")) == planned(units=5, fingerprint="g:2")


async def test_what_is_signed_is_no_longer_planned_over(store: WalletStore) -> None:
    await store.plan(planned())
    signed = await sign(store)

    assert await store.plan(planned(units=5)) == signed


async def test_signing_keeps_the_bytes(store: WalletStore) -> None:
    await store.plan(planned())

    signed = await sign(store, nonce=3)

    assert signed == planned(
        state=TransferState.SIGNED, raw=b"raw", tx_hash="0xc1", nonce=3, valid_until=9, signed_at=NOW
    )


async def test_a_second_signature_changes_nothing(store: WalletStore) -> None:
    await store.plan(planned())
    first = await sign(store)

    again = await asyncio.gather(*(sign(store, raw=b"other", nonce=n) for n in range(1, 5)))

    assert again == [first] * 4


async def test_without_a_plan_nothing_is_signed(store: WalletStore) -> None:
    with pytest.raises(LookupError):
        await sign(store)


async def test_one_nonce_is_one_transfers(store: WalletStore) -> None:
    for call_id in ("c1", "c2"):
        await store.plan(planned(call_id))
    await sign(store, "c1", nonce=0)

    with pytest.raises(StoreError, match="nonce"):
        await sign(store, "c2", nonce=0)

    assert await store.next_nonce("base", "0xA") == 1


async def test_what_failed_gives_its_nonce_back(store: WalletStore) -> None:
    for call_id in ("c1", "c2"):
        await store.plan(planned(call_id))
    await sign(store, "c1", nonce=0)
    await store.move("c1", TransferState.FAILED, error="refused")

    assert await store.next_nonce("base", "0xA") == 0
    assert (await sign(store, "c2", nonce=0)) is not None


@pytest.mark.parametrize("column", ["raw", "tx_hash", "nonce", "units", "recipient", "signed_at"])
async def test_nobody_changes_what_is_signed(store: WalletStore, tmp_path: Path, column: str) -> None:
    await store.plan(planned())
    await sign(store)

    with closing(sqlite3.connect(tmp_path / "kai.db")) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute(f"UPDATE transfers SET {column} = '1'")


async def test_nobody_deletes_a_transfer(store: WalletStore, tmp_path: Path) -> None:
    await store.plan(planned())

    with closing(sqlite3.connect(tmp_path / "kai.db")) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute("DELETE FROM transfers")


@pytest.mark.parametrize("end", [TransferState.MINED, TransferState.FAILED])
async def test_an_end_stays(store: WalletStore, end: TransferState) -> None:
    await store.plan(planned())
    await sign(store)
    ended = await store.move("c1", end, block=7, fee=2**80)

    assert (ended.state, ended.block, ended.fee) == (end, 7, 2**80)
    for state in TransferState.SENT, TransferState.UNKNOWN, TransferState.MINED, TransferState.FAILED:
        assert await store.move("c1", state) == ended


async def test_what_is_only_planned_does_not_move(store: WalletStore) -> None:
    await store.plan(planned())

    with pytest.raises(LookupError):
        await store.move("c1", TransferState.SENT)


async def test_what_may_still_pay_is_unresolved_until_it_ends(store: WalletStore) -> None:
    for n, (chain, state) in enumerate(
        [("base", None), ("base", TransferState.SENT), ("sepolia", TransferState.UNKNOWN)]
    ):
        await store.plan(planned(f"c{n}", chain=chain))
        await sign(store, f"c{n}", nonce=n)
        if state:
            await store.move(f"c{n}", state)
    await store.plan(planned("c9"))

    everywhere = [transfer.call_id for transfer in await store.unresolved()]
    await store.move("c0", TransferState.MINED)

    assert everywhere == ["c0", "c1", "c2"]
    assert [transfer.call_id for transfer in await store.unresolved("base", "0xA")] == ["c1"]


async def test_an_end_is_untold_until_told(store: WalletStore) -> None:
    await store.plan(planned())
    await sign(store)
    assert await store.untold() == []
    await store.move("c1", TransferState.MINED)

    before = [transfer.call_id for transfer in await store.untold()]
    await store.told("c1")

    assert (before, await store.untold()) == (["c1"], [])


class TestDay:
    ONE = 10**18

    async def pay(self, store: WalletStore, call_id: str, units: int, **changes: object) -> None:
        await store.plan(planned(call_id, units=units, **changes))
        assert await sign(store, call_id, nonce=None)

    async def test_all_that_was_or_may_be_paid_counts(self, store: WalletStore) -> None:
        for call_id in "abcde":
            await self.pay(store, call_id, self.ONE)
        await store.move("b", TransferState.SENT)
        await store.move("c", TransferState.UNKNOWN)
        await store.move("d", TransferState.MINED)
        await store.move("e", TransferState.FAILED)

        assert await store.paid(EVERYTHING) == 4

    async def test_other_assets_chains_and_days_do_not(self, store: WalletStore) -> None:
        await self.pay(store, "a", self.ONE, symbol="USDC", contract="0xC")
        await self.pay(store, "b", self.ONE, chain="polygon")
        await self.pay(store, "c", self.ONE)

        assert await store.paid(EVERYTHING) == 1
        assert await store.paid(replace(EVERYTHING, since=NOW)) == 0
        assert await store.paid(replace(EVERYTHING, symbol="", contract="0xC")) == 1

    async def test_tokens_of_other_decimals_are_added_as_what_they_are(self, store: WalletStore) -> None:
        await self.pay(store, "a", 5 * 10**17)
        await self.pay(store, "b", 250_000, decimals=6, chain="sepolia")

        assert await store.paid(EVERYTHING) == Decimal("0.75")

    async def test_the_smallest_unit_above_is_not_signed(self, store: WalletStore) -> None:
        limit = replace(EVERYTHING, most=Decimal(3))
        await self.pay(store, "a", 2 * self.ONE)
        await store.plan(planned("b", units=self.ONE + 1))
        await store.plan(planned("c", units=self.ONE))

        assert await sign(store, "b", nonce=None, limit=limit) is None
        assert (await store.transfer("b")) == planned("b", units=self.ONE + 1)
        assert await sign(store, "c", nonce=None, limit=limit) is not None

    async def test_many_at_once_stay_below_it(self, store: WalletStore) -> None:
        limit = replace(EVERYTHING, most=Decimal(3))
        for n in range(8):
            await store.plan(planned(f"c{n}", units=self.ONE))

        signed = await asyncio.gather(*(sign(store, f"c{n}", nonce=None, limit=limit) for n in range(8)))

        assert sum(transfer is not None for transfer in signed) == 3


async def test_the_newest_are_shown_first(store: WalletStore) -> None:
    for n, conversation in enumerate([HERE, ELSEWHERE, HERE]):
        await store.plan(planned(f"c{n}", conversation=conversation))
        await sign(store, f"c{n}", nonce=n, at=NOW + n)
    await store.plan(planned("c9"))

    assert [transfer.call_id for transfer in await store.recent(2)] == ["c2", "c1"]
    assert [transfer.call_id for transfer in await store.recent(9, HERE)] == ["c2", "c0"]


async def test_payments_to_an_address_are_counted(store: WalletStore) -> None:
    for n, state in enumerate([TransferState.MINED, TransferState.FAILED, TransferState.MINED]):
        await store.plan(planned(f"c{n}"))
        await sign(store, f"c{n}", nonce=n)
        await store.move(f"c{n}", state)

    assert await store.times_paid("base", "0xB") == 2
    assert await store.times_paid("base", "0xC") == 0


async def test_a_group_that_migrates_takes_its_transfers_along(store: WalletStore) -> None:
    await store.plan(planned())
    await sign(store)

    await store.migrate_chat(TOPIC.chat_id, -100555)

    moved = await store.transfer("c1")
    assert moved is not None
    assert moved.conversation == replace(TOPIC, chat_id=-100555)
