"""X10 on a real node: what is paid, what the card says, and that nothing is paid twice."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.errors import ToolError
from bot.store.transfers import Transfer, TransferState
from tests.tools.processes import eventually
from tests.tools.wallet.anvil import OTHER, RICH, Anvil
from tests.tools.wallet.proxy import Pass, Proxy, run_proxy, says
from tests.tools.wallet.town import (
    ELSEWHERE,
    ETH,
    FRIEND,
    STRANGER,
    TESTNET,
    Town,
    open_town,
    paying,
    settings_of,
)

TOKEN_CODE = (Path(__file__).with_name("Token.hex")).read_text().strip()


@asynccontextmanager
async def watching(town: Town) -> AsyncIterator[None]:
    task = asyncio.create_task(town.wallet.watch(town.tell))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def soon(condition: Callable[[], bool]) -> bool:
    return await eventually(condition)


async def test_an_approved_transfer_pays_and_gives_its_hash(town: Town, anvil: Anvil) -> None:
    outcome = await town.pay(paying(amount="0.25"))

    row = await town.row(paying())
    assert (outcome.is_error, row.state) == (False, TransferState.MINED)
    assert await anvil.balance(FRIEND) == ETH // 4
    assert outcome.text.startswith(f"✅ paid: 0.25 ETH to {FRIEND} on testnet (friend), block 1, fee 0.0000")
    assert f"hash {row.tx_hash}\nhttps://explorer.example/tx/{row.tx_hash}" in outcome.text


async def test_the_card_says_what_will_happen(town: Town, anvil: Anvil) -> None:
    details = await town.show(paying(amount="0.25"))

    lines = {line.label: line for line in details.lines}
    assert lines["Chain"].text == "testnet (31337)"
    assert lines["Amount"].text == "0.25 ETH"
    assert (lines["To"].text, lines["To"].code) == (FRIEND, True)
    assert (lines["From"].text, lines["Name"].text) == (RICH, "friend")
    assert lines["Fee"].text.startswith("at most 0.0000")
    assert lines["Balance after"].text.startswith("at least 9999.7499")
    assert lines["Dry run"].text == "works"
    assert lines["Limits"].text == "1 ETH a transfer; after this 2.75 of 3 left in 24 hours"
    assert lines["Paid before"].text == "never"
    assert (details.warnings, details.second_step) == ((), "")


async def test_a_recipient_not_on_the_list_needs_the_second_step(town: Town) -> None:
    details = await town.show(paying(STRANGER))

    assert "not on your list" in details.second_step


async def test_an_address_in_one_case_is_paid_but_warned_about(town: Town, anvil: Anvil) -> None:
    call = paying(FRIEND.lower())

    details = await town.show(call)
    await town.run(call)

    assert "checksum" in details.warnings[0]
    assert details.second_step == ""
    assert await anvil.balance(FRIEND) == ETH // 10


async def test_what_was_not_shown_is_not_paid(town: Town, anvil: Anvil) -> None:
    outcome = await town.run(paying())

    assert outcome.code == "not_executed"
    assert await anvil.nonce(RICH) == 0


@pytest.mark.parametrize("change", [{"to": STRANGER}, {"amount": "0.2"}])
async def test_other_arguments_than_those_shown_are_not_paid(
    town: Town, anvil: Anvil, change: dict[str, Any]
) -> None:
    await town.show(paying())

    outcome = await town.run(paying(**change))

    assert outcome.code == "not_executed"
    assert await anvil.nonce(RICH) == 0


async def test_ten_calls_of_one_approval_pay_once(town: Town, anvil: Anvil) -> None:
    await town.show(paying())

    outcomes = await asyncio.gather(*(town.run(paying()) for _ in range(10)))

    assert {outcome.text for outcome in outcomes} == {outcomes[0].text}
    assert (await anvil.balance(FRIEND), await anvil.nonce(RICH)) == (ETH // 10, 1)


async def test_two_chats_at_once_get_a_nonce_each(town: Town, anvil: Anvil) -> None:
    calls = [(paying(call_id="c1"), ELSEWHERE), (paying(STRANGER, "0.2", call_id="c2"), ELSEWHERE)]
    for call, chat in calls:
        await town.show(call, chat)

    outcomes = await asyncio.gather(*(town.run(call, chat) for call, chat in calls))

    assert [outcome.is_error for outcome in outcomes] == [False, False]
    assert {(await town.row(call)).nonce for call, _ in calls} == {0, 1}
    assert (await anvil.balance(FRIEND), await anvil.balance(STRANGER)) == (ETH // 10, ETH // 5)


async def test_a_node_that_lags_gives_no_nonce_away_twice(tmp_path: Path, anvil: Anvil, proxy: Proxy) -> None:
    await anvil.ask("evm_setAutomine", False)
    proxy.on["eth_getTransactionCount"] = lambda params, ask: {"result": "0x0"}
    async with open_town(tmp_path, settings_of(proxy.url), wait=0.1) as town:
        await town.pay(paying())
        await town.pay(paying(STRANGER, call_id="c2"))
        await anvil.ask("evm_mine")

    assert (await anvil.balance(FRIEND), await anvil.balance(STRANGER)) == (ETH // 10, ETH // 10)


async def test_what_a_node_forgot_is_sent_again_as_it_was(tmp_path: Path, anvil: Anvil) -> None:
    await anvil.ask("evm_setAutomine", False)
    async with open_town(tmp_path, settings_of(anvil.url), wait=0.1) as town:
        await town.pay(paying())
        row = await town.row(paying())
        await anvil.ask("anvil_dropTransaction", row.tx_hash)
        async with watching(town):
            for _ in range(200):
                if await anvil.ask("eth_getTransactionByHash", row.tx_hash):
                    break
                await asyncio.sleep(0.01)
            await anvil.ask("evm_mine")
            assert await soon(lambda: town.told != [])

    assert (town.told[0][0].raw, await anvil.balance(FRIEND)) == (row.raw, ETH // 10)


async def test_a_receipt_that_is_late_is_pending_and_told_later(tmp_path: Path, anvil: Anvil) -> None:
    await anvil.ask("evm_setAutomine", False)
    async with open_town(tmp_path, settings_of(anvil.url), wait=0.2) as town, watching(town):
        outcome = await town.pay(paying())
        row = await town.row(paying())
        await anvil.ask("evm_mine")
        assert await soon(lambda: town.told != [])

        assert (outcome.is_error, row.state) == (False, TransferState.SENT)
        assert "⏳ pending" in outcome.text
        assert row.tx_hash in outcome.text
        assert "fail" not in outcome.text
        [(told, text)] = town.told
        assert (told.call_id, told.conversation, told.state) == ("c1", row.conversation, TransferState.MINED)
        assert text.startswith("✅ paid: 0.1 ETH")

        while await town.store.untold():  # noqa: ASYNC110 - the watch has no event for it
            await asyncio.sleep(0.01)
        async with watching(town):
            await asyncio.sleep(0.1)
        assert len(town.told) == 1


@pytest.mark.parametrize("dead", ["", "http://127.0.0.1:9/"])
async def test_a_transfer_replaced_by_another_wallet_is_not_paid(
    tmp_path: Path, anvil: Anvil, dead: str
) -> None:
    await anvil.ask("evm_setAutomine", False)
    async with open_town(tmp_path, settings_of(f"{dead} {anvil.url}"), wait=0.1) as town:
        await town.pay(paying())
        await anvil.ask("anvil_dropTransaction", (await town.row(paying())).tx_hash)
        await anvil.ask("eth_sendTransaction", {"from": RICH, "to": OTHER, "value": "0x1", "nonce": "0x0"})
        await anvil.ask("evm_mine")

        async with watching(town):
            assert await soon(lambda: town.told != [])

        assert "❌ not paid" in town.told[0][1]
        assert "replaced" in town.told[0][1]
        assert await anvil.balance(FRIEND) == 0


async def test_nodes_that_lag_behind_what_was_paid_are_not_believed_at_once(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    await anvil.ask("evm_setAutomine", False)
    async with open_town(tmp_path, settings_of(proxy.url), wait=0.05, doubt=30) as town:
        await town.pay(paying())
        await anvil.ask("evm_mine")
        # One address, many machines behind it: the one that counts has the block, those asked for it don't.
        for method in ("eth_getTransactionReceipt", "eth_getTransactionByHash"):
            proxy.on[method] = lambda params, ask: {"result": None}
        async with watching(town):
            await town.reaches(paying(), TransferState.UNKNOWN, TransferState.FAILED)
            doubted = await town.row(paying())
            proxy.on.clear()
            assert await soon(lambda: town.told != [])

    assert doubted.state is TransferState.UNKNOWN
    assert (town.told[0][0].state, await anvil.balance(FRIEND)) == (TransferState.MINED, ETH // 10)


async def test_a_doubt_begins_anew_when_a_node_knows_it_again(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    await anvil.ask("evm_setAutomine", False)
    hidden = ("eth_getTransactionReceipt", "eth_getTransactionByHash")
    async with open_town(tmp_path, settings_of(proxy.url), wait=0.05, doubt=0.5) as town:
        await town.pay(paying())
        proxy.on["eth_getTransactionCount"] = lambda params, ask: {"result": "0x1"}
        async with watching(town):
            for _ in range(2):
                for method in hidden:
                    proxy.on[method] = lambda params, ask: {"result": None}
                proxy.on["eth_sendRawTransaction"] = says(-32000, "nonce too low")
                await town.reaches(paying(), TransferState.UNKNOWN)
                await asyncio.sleep(0.3)
                for method in (*hidden, "eth_sendRawTransaction"):
                    del proxy.on[method]
                await town.reaches(paying(), TransferState.SENT)

        assert (await town.row(paying())).state is TransferState.SENT


async def test_a_failure_in_a_block_that_was_dropped_is_not_told(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    def reverted(params: list[Any], ask: Pass) -> Any:
        answer = ask()
        return {"result": answer["result"] and {**answer["result"], "status": "0x0"}}

    proxy.on["eth_getTransactionReceipt"] = reverted
    async with open_town(tmp_path, settings_of(proxy.url), wait=0.1, doubt=30) as town:
        outcome = await town.pay(paying())
        async with watching(town):
            del proxy.on["eth_getTransactionReceipt"]
            assert await soon(lambda: town.told != [])

    assert (outcome.code, "reverted" in outcome.text) == ("UnknownError", True)
    assert town.told[0][0].state is TransferState.MINED


async def test_a_telling_that_fails_is_done_again(tmp_path: Path, anvil: Anvil) -> None:
    async with open_town(tmp_path, settings_of(anvil.url)) as town:
        await town.pay(paying())
        troubles = [OSError("no space left")]

        async def tell(transfer: Transfer, text: str) -> None:
            if troubles:
                raise troubles.pop()
            await town.tell(transfer, text)

        watching = asyncio.create_task(town.wallet.watch(tell))
        told = await soon(lambda: town.told != [])
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    assert told


async def test_a_telling_that_always_fails_holds_no_other_up(tmp_path: Path, anvil: Anvil) -> None:
    async with open_town(tmp_path, settings_of(anvil.url)) as town:
        await town.pay(paying())
        await town.pay(paying(STRANGER, call_id="c2"))

        async def tell(transfer: Transfer, text: str) -> None:
            if transfer.call_id == "c1":
                raise OSError("that chat is no more")
            await town.tell(transfer, text)

        watching = asyncio.create_task(town.wallet.watch(tell))
        told = await soon(lambda: town.told != [])
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    assert (told, [transfer.call_id for transfer, _ in town.told]) == (True, ["c2"])


async def test_an_answer_that_makes_no_sense_ends_no_watch_and_no_call(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    proxy.on["eth_getTransactionReceipt"] = lambda params, ask: {"result": {"blockNumber": "0x1"}}
    async with open_town(tmp_path, settings_of(proxy.url), wait=0.1) as town:
        outcome = await town.pay(paying())
        async with watching(town):
            del proxy.on["eth_getTransactionReceipt"]
            assert await soon(lambda: town.told != [])

    assert outcome.text.endswith("reports by itself. Do not send it again.")
    assert town.told[0][0].state is TransferState.MINED


async def test_a_card_for_an_address_that_is_being_paid_says_so(tmp_path: Path, anvil: Anvil) -> None:
    await anvil.ask("evm_setAutomine", False)
    async with open_town(tmp_path, settings_of(anvil.url), wait=0.05) as town:
        await town.pay(paying())

        again = await town.show(paying(call_id="c2"))
        other = await town.show(paying(STRANGER, call_id="c3"))

        row = await town.row(paying())
    assert again.warnings == (f"0.1 ETH to this address is on its way already: {row.tx_hash}",)
    assert other.warnings == ()


async def test_a_stop_after_the_signature_still_sends_and_tells(watched: Town, anvil: Anvil) -> None:
    await watched.show(paying())
    running = asyncio.create_task(watched.run(paying()))
    await watched.reaches(paying(), TransferState.SIGNED, TransferState.SENT, TransferState.MINED)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await soon(lambda: watched.told != [])
    assert await anvil.balance(FRIEND) == ETH // 10


async def test_a_stop_before_the_signature_is_kept_leaves_nothing_half_done(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    async with open_town(tmp_path, settings_of(proxy.url)) as town:
        await town.show(paying())
        waiting = proxy.pause("eth_getTransactionCount")
        running = asyncio.create_task(town.run(paying()))
        assert await asyncio.to_thread(waiting.wait, 5)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        proxy.released.set()

        # Nobody watches: the call itself saw to it.
        await town.reaches(paying(), TransferState.SENT, TransferState.MINED)
    assert await anvil.balance(FRIEND) == ETH // 10


class TestDryRun:
    async def test_more_than_the_wallet_has_is_refused_before_anyone_is_asked(
        self, town: Town, anvil: Anvil
    ) -> None:
        await anvil.ask("anvil_setBalance", RICH, hex(ETH // 100))

        with pytest.raises(ToolError, match="insufficient balance: the wallet has 0.01 ETH"):
            await town.show(paying())

        assert await town.store.transfer("c1") is None

    async def test_the_fee_must_be_there_too(self, town: Town, anvil: Anvil) -> None:
        await anvil.ask("anvil_setBalance", RICH, hex(ETH // 10))

        with pytest.raises(ToolError, match="insufficient funds: with fees up to"):
            await town.show(paying())

    async def test_a_balance_that_went_away_after_the_card_signs_nothing(
        self, town: Town, anvil: Anvil
    ) -> None:
        await town.show(paying())
        await anvil.ask("anvil_setBalance", RICH, hex(ETH // 100))

        outcome = await town.run(paying())

        assert (outcome.code, outcome.is_error) == ("EINVAL", True)
        assert (await town.row(paying())).raw is None

    async def test_nothing_changed_means_the_same_fingerprint(self, town: Town, anvil: Anvil) -> None:
        first = await town.show(paying())
        await anvil.ask("evm_mine")

        again = await town.show(paying())

        assert again.fingerprint == first.fingerprint

    async def test_a_recipient_that_became_a_contract_changes_the_card(
        self, town: Town, anvil: Anvil
    ) -> None:
        shown = await town.show(paying())
        await anvil.ask("anvil_setCode", FRIEND, "0x00")

        outcome = await town.run(paying())
        again = await town.show(paying())

        assert outcome.code == "not_executed"
        assert again.fingerprint != shown.fingerprint
        assert again.warnings == ("the recipient is a contract, not somebody's wallet",)
        assert await anvil.nonce(RICH) == 0

    async def test_less_money_than_the_card_says_changes_it(self, town: Town, anvil: Anvil) -> None:
        shown = await town.show(paying())
        await anvil.ask("anvil_setBalance", RICH, hex(5 * ETH))

        assert (await town.show(paying())).fingerprint != shown.fingerprint

    async def test_more_money_than_the_card_says_changes_nothing(self, town: Town, anvil: Anvil) -> None:
        shown = await town.show(paying())
        await anvil.ask("anvil_setBalance", RICH, hex(20_000 * ETH))

        again = await town.show(paying())

        assert (again.fingerprint, again.lines) == (shown.fingerprint, shown.lines)

    async def test_fees_that_move_a_little_change_nothing(self, town: Town, anvil: Anvil) -> None:
        shown = await town.show(paying())
        block = await anvil.ask("eth_getBlockByNumber", "latest", False)
        await anvil.ask("anvil_setNextBlockBaseFeePerGas", hex(int(block["baseFeePerGas"], 16) * 12 // 10))
        await anvil.ask("evm_mine")

        again = await town.show(paying())

        assert again.fingerprint == shown.fingerprint
        assert not (await town.run(paying())).is_error

    async def test_fees_that_rise_between_the_last_look_and_the_signature(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        looks = iter([False, False, True])

        def block(params: list[Any], ask: Pass) -> Any:
            answer = ask()
            if next(looks):
                answer["result"]["baseFeePerGas"] = hex(900 * 10**9)
            return {"result": answer["result"]}

        proxy.on["eth_getBlockByNumber"] = block
        async with open_town(tmp_path, settings_of(proxy.url)) as town:
            outcome = await town.pay(paying())

            assert (outcome.code, "fees rose" in outcome.text) == ("EINVAL", True)
            assert (await town.row(paying())).raw is None

    async def test_a_wallet_with_code_of_its_own_is_still_a_wallet(self, town: Town, anvil: Anvil) -> None:
        await anvil.ask("anvil_setCode", FRIEND, "0xef0100" + OTHER[2:])

        details = await town.show(paying())

        assert details.warnings == ()

    async def test_fees_above_those_shown_change_the_card_and_sign_nothing(
        self, town: Town, anvil: Anvil
    ) -> None:
        shown = await town.show(paying())
        await anvil.ask("anvil_setNextBlockBaseFeePerGas", hex(500 * 10**9))
        await anvil.ask("evm_mine")

        outcome = await town.run(paying())
        again = await town.show(paying())

        assert (outcome.code, "fees rose" in outcome.text) == ("not_executed", True)
        assert again.fingerprint != shown.fingerprint

    async def test_the_fee_paid_is_never_above_the_one_shown(self, town: Town, anvil: Anvil) -> None:
        await town.pay(paying())

        row = await town.row(paying())
        assert row.fee is not None
        assert 0 < row.fee <= row.fee_ceiling

    async def test_a_fee_for_another_chain_is_in_the_ceiling(self, tmp_path: Path, anvil: Anvil) -> None:
        oracle = "0x420000000000000000000000000000000000000F"
        # PUSH8 0x0de0b6b3a7640000 (one ether), then return it as a word.
        await anvil.ask("anvil_setCode", oracle, "0x670de0b6b3a764000060005260206000f3")
        chain = replace(TESTNET, l1_fee=True)

        async with open_town(tmp_path, settings_of(anvil.url, chain=chain)) as town:
            details = await town.show(paying())

        [fee] = [line.text for line in details.lines if line.label == "Fee"]
        assert fee == "at most 2.1 ETH"


class TestRefused:
    @pytest.mark.parametrize(
        ("to", "why"),
        [
            (RICH, "is the wallet's own"),
            ("0x" + "0" * 40, "nobody's"),
            ("0x" + "0" * 39 + "1", "nobody's"),
            ("0x000000000000000000000000000000000000dEaD", "nobody's"),
            (FRIEND[:-1] + "e", "fails its checksum"),
            (FRIEND[2:], "is not 0x and 40 hex digits"),
            ("vitalik.eth", "is not 0x and 40 hex digits"),
        ],
    )
    async def test_a_recipient_nobody_can_mean(self, town: Town, to: str, why: str) -> None:
        with pytest.raises(ToolError, match=why) as raised:
            await town.show(paying(to))

        assert raised.value.code == "InvalidArgs"

    async def test_an_unknown_chain_is_told_the_list(self, town: Town) -> None:
        with pytest.raises(ToolError, match="unknown chain 'bitcoin'; there are: testnet"):
            await town.show(paying(chain="bitcoin"))

    async def test_an_unknown_token(self, town: Town) -> None:
        with pytest.raises(ToolError, match="unknown token 'DOGE' on testnet; known: ETH, or its contract"):
            await town.show(paying(token="DOGE"))

    async def test_an_address_without_a_token_is_none(self, town: Town) -> None:
        with pytest.raises(ToolError, match="there is no token at"):
            await town.show(paying(token=OTHER))

    async def test_a_node_of_another_chain_signs_nothing(self, tmp_path: Path, anvil: Anvil) -> None:
        chain = replace(TESTNET, id="1")
        async with open_town(tmp_path, settings_of(anvil.url, chain=chain)) as town:
            with pytest.raises(ToolError, match="is of chain 31337, not 1: mend TESTNET_RPC_URLS"):
                await town.show(paying())

    async def test_a_node_that_changed_its_chain_after_the_card(
        self, tmp_path: Path, proxy: Proxy, anvil: Anvil
    ) -> None:
        async with open_town(tmp_path, settings_of(proxy.url)) as town:
            await town.show(paying())
            # Known to be of the chain; only the question before the signature can find out.
            proxy.on["eth_chainId"] = lambda params, ask: {"result": "0x1"}

            outcome = await town.run(paying())

        assert (outcome.code, "is of chain 1" in outcome.text) == ("EINVAL", True)
        assert (proxy.sent, await anvil.nonce(RICH)) == ([], 0)

    async def test_no_key(self, tmp_path: Path, town: Town) -> None:
        (tmp_path / "credentials" / "wallet.env").unlink()

        with pytest.raises(ToolError, match="wallet.env") as raised:
            await town.show(paying())

        assert raised.value.code == "NotConfigured"

    async def test_a_key_others_can_read(self, tmp_path: Path, town: Town) -> None:
        await town.show(paying())
        os.chmod(tmp_path / "credentials" / "wallet.env", 0o640)

        outcome = await town.run(paying())

        assert (outcome.code, "chmod 600" in outcome.text) == ("EACCES", True)


class TestLimits:
    async def test_above_the_limit_of_a_transfer(self, town: Town) -> None:
        with pytest.raises(ToolError, match="over the limit of a transfer, 1") as raised:
            await town.show(paying(amount="1.000000000000000001"))

        assert raised.value.code == "Denied"

    async def test_the_limit_itself_may_be_sent(self, town: Town, anvil: Anvil) -> None:
        await town.pay(paying(amount="1"))

        assert await anvil.balance(FRIEND) == ETH

    async def test_above_what_is_left_of_the_day(self, town: Town) -> None:
        for n in range(3):
            await town.pay(paying(amount="0.9", call_id=f"c{n}"))

        with pytest.raises(ToolError, match="0.4 ETH is over what is left .*, 0.3"):
            await town.show(paying(amount="0.4", call_id="c9"))

    async def test_two_at_once_cannot_both_use_what_is_left(self, tmp_path: Path, anvil: Anvil) -> None:
        settings = settings_of(anvil.url, {"WALLET_MAX_DAY": "ETH=1"})
        async with open_town(tmp_path, settings) as town:
            calls = [paying(amount="0.6", call_id=f"c{n}") for n in range(2)]
            for call in calls:
                await town.show(call)

            outcomes = await asyncio.gather(*map(town.run, calls))

        assert sorted(outcome.code for outcome in outcomes) == ["", "Denied"]
        assert await anvil.balance(FRIEND) == ETH * 6 // 10

    async def test_without_limits_nothing_is_sent(self, tmp_path: Path, anvil: Anvil) -> None:
        settings = settings_of(anvil.url, {"WALLET_MAX_TRANSFER": "", "WALLET_MAX_DAY": ""})
        async with open_town(tmp_path, settings) as town:
            with pytest.raises(ToolError, match="no limits are set for ETH on testnet") as raised:
                await town.show(paying())

        assert raised.value.code == "NotConfigured"

    async def test_the_limits_are_shown_with_what_is_used(self, town: Town) -> None:
        await town.pay(paying())

        assert await town.wallet.limits() == (
            f"ETH: 1 a transfer, 0.1 of 3 used in 24 hours\n\nRecipients on the list:\nfriend {FRIEND}"
        )

    async def test_a_limit_of_one_chain_is_not_shown_as_the_one_of_all(
        self, tmp_path: Path, anvil: Anvil
    ) -> None:
        limits = {"WALLET_MAX_TRANSFER": "ETH=1,ETH@testnet=2", "WALLET_MAX_DAY": "ETH=3,ETH@testnet=4"}
        async with open_town(tmp_path, settings_of(anvil.url, limits)) as town:
            await town.pay(paying())

            said = await town.wallet.limits()

        assert said.splitlines()[:2] == [
            "ETH: 1 a transfer, 0 of 3 used in 24 hours",
            "ETH@testnet: 2 a transfer, 0.1 of 4 used in 24 hours",
        ]


class TestToken:
    @pytest.fixture
    async def contract(self, anvil: Anvil) -> str:
        return await anvil.deploy(RICH, TOKEN_CODE)

    @pytest.fixture
    async def town(self, tmp_path: Path, anvil: Anvil, contract: str) -> AsyncIterator[Town]:
        limit = {"WALLET_MAX_TRANSFER": f"{contract}@testnet=50", "WALLET_MAX_DAY": f"{contract}@testnet=80"}
        async with open_town(tmp_path, settings_of(anvil.url, limit), wait=0.3) as opened:
            yield opened

    async def holds(self, anvil: Anvil, contract: str, owner: str) -> int:
        data = "0x70a08231" + owner[2:].lower().rjust(64, "0")
        return int(await anvil.ask("eth_call", {"to": contract, "data": data}, "latest"), 16)

    async def test_a_token_is_paid_in_its_own_decimals(self, town: Town, anvil: Anvil, contract: str) -> None:
        call = paying(amount="12.5", token=contract)

        details = await town.show(call)
        outcome = await town.run(call)

        lines = {line.label: line for line in details.lines}
        assert (lines["Token"].text.lower(), lines["Token"].code) == (contract, True)
        assert lines["Balance after"].text.startswith("at least 987.5 TST, 9999.")
        assert details.warnings == ("this token is not in Kai's table; it calls itself 'TST'",)
        assert outcome.text.startswith("✅ paid: 12.5 TST")
        assert await self.holds(anvil, contract, FRIEND) == 12_500_000

    async def test_what_was_paid_of_a_token_outside_of_the_table_is_shown_as_used(
        self, town: Town, contract: str
    ) -> None:
        await town.pay(paying(amount="12.5", token=contract))

        said = await town.wallet.limits()

        assert said.startswith(f"{contract}@testnet: 50 a transfer, 12.5 of 80 used in 24 hours")

    async def test_a_limit_by_contract_holds_for_a_token_in_the_table(
        self, tmp_path: Path, anvil: Anvil, contract: str
    ) -> None:
        chain = replace(TESTNET, tokens={"TST": self.known(contract)})
        limits = {
            "WALLET_MAX_TRANSFER": f"TST=50,{contract}@testnet=5",
            "WALLET_MAX_DAY": f"TST=80,{contract}@testnet=9",
        }
        async with open_town(tmp_path, settings_of(anvil.url, limits, chain)) as town:
            with pytest.raises(ToolError, match="over the limit of a transfer, 5;"):
                await town.show(paying(amount="6", token="TST"))

    async def test_a_transfer_the_token_refuses_is_seen_in_the_dry_run(
        self, town: Town, anvil: Anvil, contract: str
    ) -> None:
        await self.bar(anvil, contract)

        with pytest.raises(ToolError, match="the dry run fails: reverted: TST: recipient is barred"):
            await town.show(paying(amount="1", token=contract))

    async def test_a_token_that_only_says_no_is_seen_too(
        self, town: Town, anvil: Anvil, contract: str
    ) -> None:
        # By the size of the question: decimals() is 6, balanceOf() is plenty, transfer() is false.
        await anvil.ask("anvil_setCode", contract, "0x3660441415366004141560281b6006170260005260206000f3")

        with pytest.raises(ToolError, match="the token refuses the transfer"):
            await town.show(paying(amount="1", token=contract))

    async def test_a_revert_in_the_block_is_not_paid(self, town: Town, anvil: Anvil, contract: str) -> None:
        await anvil.ask("evm_setAutomine", False)
        outcome = await town.pay(paying(amount="1", token=contract))
        # The bar costs more, so the block takes it first; its nonce comes after, so it is another's.
        await self.bar(anvil, contract)
        await anvil.ask("evm_mine")

        async with watching(town):
            assert await soon(lambda: town.told != [])

        assert "pending" in outcome.text
        assert town.told[0][1].startswith("❌ not paid: 1 TST")
        assert "reverted" in town.told[0][1]
        assert await self.holds(anvil, contract, FRIEND) == 0

    async def test_more_than_the_wallet_holds(self, town: Town, anvil: Anvil, contract: str) -> None:
        data = "0xa9059cbb" + OTHER[2:].lower().rjust(64, "0") + f"{999_000_000:064x}"
        await anvil.ask("eth_sendTransaction", {"from": RICH, "to": contract, "data": data})

        with pytest.raises(ToolError, match="the wallet has 1 TST, the transfer needs 1.5 TST"):
            await town.show(paying(amount="1.5", token=contract))

    async def test_the_tokens_own_contract_is_no_recipient(self, town: Town, contract: str) -> None:
        with pytest.raises(ToolError, match="is a token's contract"):
            await town.show(paying(contract, amount="1", token=contract))

    async def test_a_known_tokens_contract_is_no_recipient_either(
        self, tmp_path: Path, anvil: Anvil, contract: str
    ) -> None:
        chain = replace(TESTNET, tokens={"TST": self.known(contract)})
        async with open_town(tmp_path, settings_of(anvil.url, chain=chain)) as town:
            with pytest.raises(ToolError, match="is a token's contract"):
                await town.show(paying(contract))

    async def test_a_token_in_the_table_goes_by_its_symbol(
        self, tmp_path: Path, anvil: Anvil, contract: str
    ) -> None:
        chain = replace(TESTNET, tokens={"TST": self.known(contract)})
        limits = {"WALLET_MAX_TRANSFER": "TST=50", "WALLET_MAX_DAY": "TST=80"}
        async with open_town(tmp_path, settings_of(anvil.url, limits, chain)) as town:
            details = await town.show(paying(amount="2", token="tst"))

            assert details.warnings == ()

    async def test_a_table_with_wrong_decimals_sends_nothing(
        self, tmp_path: Path, anvil: Anvil, contract: str
    ) -> None:
        chain = replace(TESTNET, tokens={"TST": replace(self.known(contract), decimals=18)})
        limits = {"WALLET_MAX_TRANSFER": "TST=50", "WALLET_MAX_DAY": "TST=80"}
        async with open_town(tmp_path, settings_of(anvil.url, limits, chain)) as town:
            with pytest.raises(ToolError, match="says it has 6 decimals, not 18"):
                await town.show(paying(amount="2", token="TST"))

    def known(self, contract: str) -> Any:
        from eth_utils.address import to_checksum_address

        from bot.tools.wallet import Token

        return Token("TST", to_checksum_address(contract), 6)

    async def bar(self, anvil: Anvil, contract: str) -> None:
        """Bar the recipient by writing the contract's storage: `barred` is its second slot."""
        from eth_utils.crypto import keccak

        slot = keccak(bytes.fromhex(FRIEND[2:].rjust(64, "0") + f"{1:064x}"))
        await anvil.ask("anvil_setStorageAt", contract, "0x" + slot.hex(), "0x" + "0" * 63 + "1")


class TestNodes:
    async def test_another_node_is_asked_when_one_does_not_answer(self, tmp_path: Path, anvil: Anvil) -> None:
        async with open_town(tmp_path, settings_of(f"http://127.0.0.1:9/,{anvil.url}")) as town:
            outcome = await town.pay(paying())

        assert not outcome.is_error
        assert await anvil.balance(FRIEND) == ETH // 10

    @pytest.mark.parametrize(
        "trouble",
        [
            429,
            503,
            says(-32005, "limit exceeded"),
            says(429, "over your compute units", status=429),
            says(-32000, "upstream gave up", status=503),
        ],
    )
    async def test_a_node_in_trouble_is_passed_over(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy, trouble: Any
    ) -> None:
        proxy.on["eth_getBalance"] = trouble if callable(trouble) else lambda params, ask: trouble
        async with open_town(tmp_path, settings_of(f"{proxy.url} {anvil.url}")) as town:
            await town.show(paying())

        assert "eth_getBalance" in proxy.asked

    async def test_no_node_at_all_says_so_without_the_address(self, tmp_path: Path) -> None:
        url = "http://127.0.0.1:9/v2/0123456789abcdefSECRET"
        async with open_town(tmp_path, settings_of(url)) as town:
            with pytest.raises(ToolError) as raised:
                await town.show(paying())

        assert raised.value.code == "NetworkError"
        assert "SECRET" not in str(raised.value)
        assert town.wallet.chain_names == ("testnet",)

    async def test_a_lost_answer_to_the_broadcast_is_looked_up(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        def lose(params: list[Any], ask: Pass) -> None:
            ask()

        proxy.on["eth_sendRawTransaction"] = lose
        async with open_town(tmp_path, settings_of(proxy.url)) as town:
            outcome = await town.pay(paying())

        assert outcome.text.startswith("✅ paid")
        assert (await anvil.balance(FRIEND), len(set(proxy.sent))) == (ETH // 10, 1)

    async def test_a_broadcast_nobody_heard_is_unknown_then_sent_again_as_it_was(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        proxy.on["eth_sendRawTransaction"] = lambda params, ask: None
        async with open_town(tmp_path, settings_of(proxy.url), wait=0.2) as town:
            outcome = await town.pay(paying())
            with pytest.raises(ToolError, match="must be cleared up first") as busy:
                await town.show(paying(STRANGER, call_id="c2"))
            proxy.on["eth_sendRawTransaction"] = says(-32000, "the pool is full")
            async with watching(town):
                count = len(proxy.sent)
                assert await soon(lambda: len(proxy.sent) > count + 1)
                # It may have been heard the first time, so that a refusal now proves nothing.
                refused = await town.row(paying())
                del proxy.on["eth_sendRawTransaction"]
                assert await soon(lambda: town.told != [])

        assert refused.state is TransferState.UNKNOWN
        assert (outcome.code, "Do not send it again" in outcome.text) == ("UnknownError", True)
        assert busy.value.code == "EBUSY"
        assert (await anvil.balance(FRIEND), len(set(proxy.sent))) == (ETH // 10, 1)

    @pytest.mark.parametrize("dead", ["", "http://127.0.0.1:9/"])
    async def test_what_every_node_refuses_failed_and_frees_its_nonce(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy, dead: str
    ) -> None:
        proxy.on["eth_sendRawTransaction"] = says(-32000, "tx fee exceeds the configured cap")
        async with open_town(tmp_path, settings_of(f"{proxy.url} {dead}")) as town:
            outcome = await town.pay(paying())
            del proxy.on["eth_sendRawTransaction"]
            again = await town.pay(paying(call_id="c2"))

            rows = [await town.row(paying(call_id=call_id)) for call_id in ("c1", "c2")]

        assert (outcome.code, "exceeds the configured cap" in outcome.text) == ("EIO", True)
        assert not again.is_error
        assert [(row.state, row.nonce) for row in rows] == [("failed", 0), ("mined", 0)]
        assert await anvil.balance(FRIEND) == ETH // 10

    @pytest.mark.parametrize("status", [200, 504])
    async def test_a_vague_refusal_of_bytes_that_left_is_not_taken_for_an_end(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy, status: int
    ) -> None:
        await anvil.ask("evm_setAutomine", False)

        def pass_on_and_fail(params: list[Any], ask: Pass) -> Any:
            ask()
            proxy.on["eth_getTransactionByHash"] = lambda params, ask: {"result": None}
            return says(-32000, "request timed out", status=status)(params, ask)

        proxy.on["eth_sendRawTransaction"] = pass_on_and_fail
        async with open_town(tmp_path, settings_of(proxy.url), wait=0.05) as town:
            outcome = await town.pay(paying())
            proxy.on.clear()
            await anvil.ask("evm_mine")
            async with watching(town):
                assert await soon(lambda: town.told != [])

        assert outcome.code == "UnknownError"
        assert town.told[0][0].state is TransferState.MINED

    async def test_what_went_to_a_node_of_another_chain_by_then_was_never_sent(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        with run_proxy(anvil.url) as second:
            second.on["eth_chainId"] = lambda params, ask: {"result": "0x1"}
            proxy.on["eth_sendRawTransaction"] = says(-32000, "transaction underpriced")
            async with open_town(tmp_path, settings_of(f"{proxy.url} {second.url}"), wait=0.1) as town:
                outcome = await town.pay(paying())

            assert (outcome.code, second.sent) == ("EIO", [])

    async def test_a_kind_of_transaction_a_node_does_not_know_is_refused(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        proxy.on["eth_sendRawTransaction"] = says(
            -32000, "transaction type not supported: unknown transaction type"
        )
        async with open_town(tmp_path, settings_of(proxy.url), wait=0.1) as town:
            outcome = await town.pay(paying())

            assert (outcome.code, (await town.row(paying())).state) == ("EIO", TransferState.FAILED)

    @pytest.mark.parametrize("said", ["nonce too low", "transaction already imported", "already known"])
    async def test_a_node_that_has_it_already_is_asked_for_the_hash(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy, said: str
    ) -> None:
        def refuse(params: list[Any], ask: Pass) -> Any:
            ask()
            return {"error": {"code": -32000, "message": said}}

        proxy.on["eth_sendRawTransaction"] = refuse
        async with open_town(tmp_path, settings_of(proxy.url)) as town:
            outcome = await town.pay(paying())

        assert outcome.text.startswith("✅ paid")
        assert await anvil.balance(FRIEND) == ETH // 10

    async def test_a_node_that_has_it_and_shows_it_to_nobody_is_believed(
        self, tmp_path: Path, anvil: Anvil, proxy: Proxy
    ) -> None:
        await anvil.ask("evm_setAutomine", False)
        proxy.on["eth_sendRawTransaction"] = says(-32000, "already known")
        proxy.on["eth_getTransactionByHash"] = lambda params, ask: {"result": None}
        async with open_town(tmp_path, settings_of(proxy.url), wait=0.05) as town:
            outcome = await town.pay(paying())

        assert (outcome.is_error, "⏳ pending" in outcome.text) == (False, True)
