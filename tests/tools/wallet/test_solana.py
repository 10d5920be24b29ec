"""X10 on Solana's virtual machine: paid once, in the coin and in tokens."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bot.errors import ToolError
from bot.store.transfers import TransferState
from bot.tools.wallet import Chain, Token
from bot.tools.wallet.solana import FEE
from tests.tools.processes import eventually
from tests.tools.wallet.svm import GENESIS, SolanaNode
from tests.tools.wallet.town import Town, open_town, paying, settings_of, write_credentials

SOL = 10**9
OURS = Keypair.from_seed(bytes([1] * 32))
FRIEND = str(Keypair.from_seed(bytes([2] * 32)).pubkey())
MINT = Keypair.from_seed(bytes([3] * 32)).pubkey()
TESTNET = Chain(
    name="solana",
    kind="solana",
    id=GENESIS,
    native=Token("SOL", "", 9),
    tokens={"USDC": Token("USDC", str(MINT), 6)},
    explorer="https://explorer.example/tx/{hash}",
)
LIMITS = {
    "WALLET_MAX_TRANSFER": "SOL=2 USDC=100",
    "WALLET_MAX_DAY": "SOL=5 USDC=500",
    "WALLET_RECIPIENTS": f"friend={FRIEND}",
}


@pytest.fixture
def node() -> SolanaNode:
    node = SolanaNode()
    node.svm.airdrop(OURS.pubkey(), 10 * SOL)
    return node


@pytest.fixture
async def town(tmp_path: Path, node: SolanaNode) -> AsyncIterator[Town]:
    credentials = write_credentials(tmp_path / "credentials", wallet=f"SOLANA_PRIVATE_KEY={OURS}\n")
    settings = settings_of("https://node.example", LIMITS, TESTNET)
    async with open_town(tmp_path, settings, credentials=credentials, http=node.client(), wait=0.1) as opened:
        yield opened


@pytest.fixture
async def watched(town: Town) -> AsyncIterator[Town]:
    watching = asyncio.create_task(town.wallet.watch(town.tell))
    yield town
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_an_approved_transfer_pays(town: Town, node: SolanaNode) -> None:
    call = paying(FRIEND, "1.5", chain="solana")

    details = await town.show(call)
    outcome = await town.run(call)

    row = await town.row(call)
    lines = {line.label: line.text for line in details.lines}
    assert (lines["Amount"], lines["To"], lines["Name"]) == ("1.5 SOL", FRIEND, "friend")
    assert row.state is TransferState.MINED
    assert outcome.text.startswith(f"✅ paid: 1.5 SOL to {FRIEND} on solana (friend)")
    assert node.lamports(FRIEND) == 3 * SOL // 2
    assert row.fee == 10 * SOL - node.lamports(FRIEND) - node.lamports(str(OURS.pubkey()))
    assert row.fee <= row.fee_ceiling == FEE


async def test_two_equal_transfers_under_one_blockhash_pay_twice(town: Town, node: SolanaNode) -> None:
    calls = [paying(FRIEND, "1", chain="solana", call_id=f"c{n}") for n in range(2)]
    for call in calls:
        await town.show(call)

    await asyncio.gather(*map(town.run, calls))

    assert node.lamports(FRIEND) == 2 * SOL


async def test_ten_calls_of_one_approval_pay_once(town: Town, node: SolanaNode) -> None:
    call = paying(FRIEND, "1", chain="solana")
    await town.show(call)

    outcomes = await asyncio.gather(*(town.run(call) for _ in range(10)))

    assert {outcome.is_error for outcome in outcomes} == {False}
    assert node.lamports(FRIEND) == SOL


async def test_the_stored_bytes_sent_again_pay_nothing_more(town: Town, node: SolanaNode) -> None:
    call = paying(FRIEND, "1", chain="solana")
    await town.pay(call)
    row = await town.row(call)

    fate = await town.wallet.network("solana").broadcast(row, first=False)

    assert fate.state is TransferState.MINED
    assert node.lamports(FRIEND) == SOL


async def test_a_token_opens_the_recipients_account_and_says_so(town: Town, node: SolanaNode) -> None:
    node.make_mint(MINT, 6)
    node.give(str(OURS.pubkey()), str(MINT), 50_000_000)
    call = paying(FRIEND, "12.5", chain="solana", token="USDC")

    details = await town.show(call)
    outcome = await town.run(call)

    assert details.warnings == (
        "the recipient has no account for this token yet; the wallet pays to open it",
    )
    assert outcome.text.startswith("✅ paid: 12.5 USDC")
    assert node.tokens(FRIEND, str(MINT)) == 12_500_000
    assert node.tokens(str(OURS.pubkey()), str(MINT)) == 37_500_000


async def test_more_tokens_than_there_are(town: Town, node: SolanaNode) -> None:
    node.make_mint(MINT, 6)
    node.give(str(OURS.pubkey()), str(MINT), 1_000_000)

    with pytest.raises(ToolError, match="the wallet has 1 USDC, the transfer needs 2 USDC"):
        await town.show(paying(FRIEND, "2", chain="solana", token="USDC"))


async def test_more_than_the_wallet_has(town: Town, node: SolanaNode) -> None:
    node.take(str(OURS.pubkey()), 9 * SOL)

    with pytest.raises(ToolError, match="the wallet has 1 SOL, the transfer needs 2 SOL"):
        await town.show(paying(FRIEND, "2", chain="solana"))
    with pytest.raises(ToolError, match="insufficient funds: with fees it takes 1.00000"):
        await town.show(paying(FRIEND, "1", chain="solana"))


async def test_an_amount_too_small_to_open_a_wallet_is_seen_before(town: Town) -> None:
    with pytest.raises(ToolError, match="the recipient is new: the first transfer must be at least 0.0008"):
        await town.show(paying(FRIEND, "0.000001", chain="solana"))


async def test_what_the_programs_refuse_is_seen_in_the_dry_run(town: Town, node: SolanaNode) -> None:
    node.make_mint(MINT, 6)
    node.give(str(OURS.pubkey()), str(MINT), 5_000_000)
    node.freeze(str(OURS.pubkey()), str(MINT))

    with pytest.raises(ToolError, match="the dry run fails: .*frozen"):
        await town.show(paying(FRIEND, "1", chain="solana", token="USDC"))


@pytest.mark.parametrize("lax", [False, True])
async def test_a_transfer_that_expires_is_not_paid_and_says_so(
    watched: Town, node: SolanaNode, lax: bool
) -> None:
    node.holding, node.lax = True, lax
    call = paying(FRIEND, "1", chain="solana")

    outcome = await watched.pay(call)
    node.expire()
    node.holding = False

    assert await eventually(lambda: watched.told != [])
    assert "⏳ pending" in outcome.text
    assert "❌ not paid: 1 SOL" in watched.told[0][1]
    assert "expired" in watched.told[0][1]
    assert node.lamports(FRIEND) == 0


async def test_a_failure_that_a_fork_may_undo_is_no_end(watched: Town, node: SolanaNode) -> None:
    node.holding = node.forked = True
    call = paying(FRIEND, "1", chain="solana")

    outcome = await watched.pay(call)
    seen = (await watched.row(call)).state
    node.forked = False
    node.mine()

    assert await eventually(lambda: watched.told != [])
    assert ("⏳ pending" in outcome.text, seen) == (True, TransferState.SENT)
    assert (watched.told[0][0].state, node.lamports(FRIEND)) == (TransferState.MINED, SOL)


async def test_what_was_processed_is_no_refusal_though_no_node_shows_it(
    watched: Town, node: SolanaNode
) -> None:
    node.blind = node.twice = True
    call = paying(FRIEND, "1", chain="solana")

    await watched.pay(call)
    seen = (await watched.row(call)).state
    node.blind = False

    assert await eventually(lambda: watched.told != [])
    assert seen is TransferState.SENT
    assert (watched.told[0][0].state, node.lamports(FRIEND)) == (TransferState.MINED, SOL)


async def test_a_held_transfer_is_told_when_it_is_done(watched: Town, node: SolanaNode) -> None:
    node.holding = True

    await watched.pay(paying(FRIEND, "1", chain="solana"))
    node.mine()

    assert await eventually(lambda: watched.told != [])
    assert watched.told[0][0].state is TransferState.MINED
    assert node.lamports(FRIEND) == SOL


async def test_a_broadcast_nobody_heard_is_sent_again_as_it_was(watched: Town, node: SolanaNode) -> None:
    node.lose = True

    outcome = await watched.pay(paying(FRIEND, "1", chain="solana"))
    node.lose = False

    assert outcome.code == "UnknownError"
    assert await eventually(lambda: watched.told != [])
    assert (node.lamports(FRIEND), len(set(node.sent))) == (SOL, 1)


@pytest.mark.parametrize(
    ("to", "why"),
    [
        (str(OURS.pubkey()), "is the wallet's own"),
        ("1" * 32, "nobody's"),
        (str(Pubkey.find_program_address([b"x"], MINT)[0]), "off the curve"),
        (str(MINT), "is a token's contract"),
        (FRIEND[:-1] + "0", "is not 32 bytes in base58"),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "is not 32 bytes in base58"),
    ],
)
async def test_a_recipient_nobody_can_mean(town: Town, node: SolanaNode, to: str, why: str) -> None:
    with pytest.raises(ToolError, match=why) as raised:
        await town.show(paying(to, "1", chain="solana"))

    assert raised.value.code == "InvalidArgs"


async def test_a_recipient_that_a_program_owns(town: Town, node: SolanaNode) -> None:
    held = Keypair.from_seed(bytes([4] * 32)).pubkey()
    node.make_mint(held, 6)

    with pytest.raises(ToolError, match="a program's account, not a wallet"):
        await town.show(paying(str(held), "1", chain="solana"))


async def test_a_node_of_another_chain(tmp_path: Path, node: SolanaNode) -> None:
    credentials = write_credentials(tmp_path / "credentials", wallet=f"SOLANA_PRIVATE_KEY={OURS}\n")
    settings = settings_of("https://node.example", LIMITS, replace(TESTNET, id="Mainnet"))
    async with open_town(tmp_path, settings, credentials=credentials, http=node.client()) as town:
        with pytest.raises(ToolError, match="is of chain LiteSVM"):
            await town.show(paying(FRIEND, "1", chain="solana"))
