"""Money and posts through the whole bot, over a real Ethereum node and a strict X (X10–X12, A1–A10)."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.demo.messages import Message
from bot.demo.model_server import ModelRequest, Reply, call
from bot.demo.x_server import KEYS, XServer, serve_x
from tests.e2e.harness import Town, puppet, town
from tests.e2e.indoors import House, house
from tests.tools.wallet.anvil import RICH, RICH_KEY, Anvil, run_anvil
from tests.tools.wallet.proxy import Proxy, run_proxy
from tests.tools.wallet.town import ETH, FRIEND, STRANGER, write_credentials

SEPOLIA = 11155111
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
async def anvil(tmp_path: Path) -> AsyncIterator[Anvil]:
    folder = tmp_path / "anvil"
    folder.mkdir()
    async with run_anvil(folder, SEPOLIA) as running:
        yield running


@pytest.fixture
def proxy(anvil: Anvil) -> Iterator[Proxy]:
    with run_proxy(anvil.url) as running:
        yield running


def wallet_of(folder: Path, url: str) -> dict[str, Any]:
    """Return the settings of a bot with a rich wallet, whose keys are in their folder."""
    write_credentials(folder / "keys", wallet=f"EVM_PRIVATE_KEY={RICH_KEY}\n")
    return {
        "CREDENTIALS_DIR": str(folder / "keys"),
        "SEPOLIA_RPC_URLS": url,
        "WALLET_MAX_TRANSFER": "ETH=1",
        "WALLET_MAX_DAY": "ETH=1.5",
        "WALLET_RECIPIENTS": f"friend={FRIEND}",
    }


def treasurer(request: ModelRequest) -> Reply:
    """A model that does as told: `pay AMOUNT ADDRESS`, `post TEXT`; it tells what came of it."""
    asked = request.last_user_text
    if request.results:
        return Reply("It came to: " + " / ".join(result.text for result in request.results))
    if found := re.search(r"pay (\S+) (\S+)", asked):
        return Reply("", [call("transfer_wallet", to_address=found[2], amount=found[1], chain="sepolia")])
    if found := re.search(r"post (.+?)(?: with (\S+))?$", asked):
        image = {"image_path": found[2]} if found[2] else {}
        return Reply("", [call("post_twitter", text=found[1], **image)])
    return Reply(f"You said: {asked}")


async def card_after(here: House | Town, text: str) -> Message:
    here.alice.send(text)
    return await here.alice.chat.expect("May I do this?", within=15)


async def type_code(here: House | Town, card: Message) -> None:
    await here.alice.chat.until(lambda _: "to run it, write" in card.text)
    found = re.search(r"write ([0-9]{4}) here", card.text)
    assert found
    here.alice.send(found[1])


def covered(card: Message, kind: str) -> list[str]:
    units = card.text.encode("utf-16-le")
    return [
        units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le")
        for e in card.entities
        if e["type"] == kind
    ]


# ── transfers ──────────────────────────────────────────────────────────────────────────────────────────


async def test_the_card_says_what_will_happen_and_a_yes_pays_once(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, proxy.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        asked = card.text
        await asyncio.gather(*(here.alice.press("Approve", card).answered() for _ in range(10)))
        await here.alice.chat.expect("It came to:", within=10)
        receipt = await here.alice.chat.expect("✅ paid: 0.5 ETH")
        await here.alice.chat.until(lambda _: "✅ paid, block 1, 0x" in card.text)

        assert "Chain: sepolia (11155111)" in asked
        assert "Amount: 0.5 ETH" in asked
        assert "Name: friend" in asked
        assert "Fee: at most 0.000" in asked
        assert "Balance after: at least 9999.49" in asked
        assert "Limits: 1 ETH a transfer; after this 1 of 1.5 left in 24 hours" in asked
        assert "Paid before: never" in asked
        assert card.text.startswith("✅ Approved by Alice")
        assert covered(card, "code") == [FRIEND, RICH]
        assert "sepolia.etherscan.io/tx/0x" in receipt.text
        assert await anvil.balance(FRIEND) == ETH // 2
        assert await anvil.nonce(RICH) == 1
        # For the card, for the first press and for the signature: no look comes after the decision.
        assert proxy.asked.count("eth_getBalance") == 3


async def test_a_new_recipient_takes_the_second_step(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.1 {STRANGER}")
        assert "Name: not on your list" in card.text
        assert "Approving takes a code too: the recipient is not on your list" in card.text

        await here.alice.press("Approve", card).answered()
        await here.alice.chat.until(lambda _: "to run it, write" in card.text)
        assert await anvil.balance(STRANGER) == 0
        await type_code(here, card)
        await here.alice.chat.expect("✅ paid: 0.1 ETH", within=10)

        assert await anvil.balance(STRANGER) == ETH // 10


async def test_limits_and_transfers_say_what_was_used(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=10)

        here.alice.send("/limits")
        limits = await here.alice.chat.expect("a transfer,")
        here.alice.send("/transfers")
        chat = here.alice.chat
        await chat.until(lambda _: sum(m.text.startswith("✅ paid: 0.5 ETH") for m in chat.messages) == 2)
        here.bob.send("/limits")
        await here.bob.chat.expect("admins")

        assert "ETH: 1 a transfer, 0.5 of 1.5 used in 24 hours" in limits.text
        assert f"friend {FRIEND}" in limits.text
        assert "https://sepolia.etherscan.io/tx/0x" in chat.messages[-1].text


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (f"pay 2 {FRIEND}", "over the limit of a transfer"),
        (f"pay 0.1 {FRIEND[:-1]}E", "checksum"),
        (f"pay 1e-1 {FRIEND}", "amount"),
    ],
)
async def test_what_can_not_be_paid_is_never_asked(
    tmp_path: Path, anvil: Anvil, asked: str, why: str
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        here.alice.send(asked)
        answer = await here.alice.chat.expect("It came to:", within=10)

        assert why in answer.text
        assert await here.kai.store.pending_approvals() == []
        assert "refused" in [event.action for event in await here.kai.store.audit(5)]
        assert await anvil.nonce(RICH) == 0


async def test_a_balance_that_fell_makes_a_new_card_and_the_old_press_pays_nothing(
    tmp_path: Path, anvil: Anvil
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await anvil.ask("anvil_setBalance", RICH, hex(2 * ETH))

        toast = await here.alice.press("Approve", card).answered()
        new = await here.alice.chat.expect(lambda m: m is not card and "at least 1.49" in m.text)
        await here.alice.chat.until(lambda _: card.text.startswith("🚫"))
        assert "not as the card says" in toast.text
        assert not card.buttons
        assert await anvil.nonce(RICH) == 0
        await here.alice.press("Approve", new).answered()
        await here.alice.chat.expect("It came to:", within=10)
        await here.alice.chat.until(lambda _: "✅ paid, block" in new.text)

        assert await anvil.balance(FRIEND) == ETH // 2
        assert await anvil.nonce(RICH) == 1


async def test_a_balance_that_rose_keeps_the_card(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await anvil.ask("anvil_setBalance", RICH, hex(20_000 * ETH))

        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=10)

        assert await anvil.balance(FRIEND) == ETH // 2


async def test_what_changed_between_press_and_code_pays_nothing_either(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {STRANGER}")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.until(lambda _: "to run it, write" in card.text)
        await anvil.ask("anvil_setBalance", RICH, hex(2 * ETH))

        await type_code(here, card)
        new = await here.alice.chat.expect(lambda m: m is not card and "at least 1.49" in m.text)

        assert "Approving takes a code too" in new.text
        assert await anvil.nonce(RICH) == 0


async def test_a_press_when_it_can_not_be_paid_any_more_ends_the_question(
    tmp_path: Path, anvil: Anvil
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await anvil.ask("anvil_setBalance", RICH, hex(ETH // 10))

        toast = await here.alice.press("Approve", card).answered()
        answer = await here.alice.chat.expect("It came to:", within=10)

        assert "insufficient balance" in toast.text
        assert "could not be done any more" in answer.text
        assert card.text.startswith("🚫 Closed")
        assert await anvil.nonce(RICH) == 0


async def test_a_press_while_no_node_answers_leaves_the_question_open(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, proxy.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        proxy.on["eth_getBalance"] = lambda params, ask: {"error": {"code": -32005, "message": "busy"}}

        toast = await here.alice.press("Approve", card).answered()
        assert "press again in a moment" in toast.text
        async with asyncio.timeout(2):
            while await here.kai.store.unhandled():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
        proxy.on.clear()
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=10)

        assert await anvil.balance(FRIEND) == ETH // 2


@pytest.mark.parametrize("recipient", [FRIEND, STRANGER])
async def test_nobody_waits_for_a_node_that_takes_its_time(
    tmp_path: Path, anvil: Anvil, proxy: Proxy, recipient: str
) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, proxy.url)) as here:
        card = await card_after(here, f"pay 0.5 {recipient}")
        if recipient == STRANGER:
            await here.alice.press("Approve", card).answered()
            await here.alice.chat.until(lambda _: "to run it, write" in card.text)
        looking = proxy.pause("eth_getBalance")
        if recipient == STRANGER:
            await type_code(here, card)
        else:
            here.alice.press("Approve", card)
        assert await asyncio.to_thread(looking.wait, 10)

        here.bob.send("hello")
        await here.bob.chat.expect("You said: hello")
        assert await anvil.balance(recipient) == 0
        proxy.released.set()
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=10)

        assert await anvil.balance(recipient) == ETH // 2


async def test_killed_with_the_card_open_and_while_it_is_pending_it_is_paid_once_and_reported(
    tmp_path: Path, anvil: Anvil
) -> None:
    async with town(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await here.restart()
        await anvil.ask("evm_setAutomine", False)
        here.alice.press("Approve", card)
        for _ in range(1500):
            if (await anvil.ask("txpool_status"))["pending"] != "0x0":
                break
            await asyncio.sleep(0.01)
        await here.restart()
        await here.alice.chat.expect("interrupted", within=15)

        await anvil.ask("evm_mine")
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=15)
        await here.alice.chat.until(lambda _: "✅ paid, block" in card.text)
        await here.stop()

        assert await anvil.balance(FRIEND) == ETH // 2
        assert await anvil.nonce(RICH) == 1
        assert here.violations() == []
        assert RICH_KEY[2:] not in here.log


async def test_the_model_reads_at_its_next_turn_what_became_of_a_transfer(
    tmp_path: Path, anvil: Anvil
) -> None:
    async with town(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        await anvil.ask("evm_setAutomine", False)
        here.alice.press("Approve", card)
        for _ in range(1500):
            if (await anvil.ask("txpool_status"))["pending"] != "0x0":
                break
            await asyncio.sleep(0.01)
        await here.restart()
        await here.alice.chat.expect("It came to:", within=15)
        asked = len(here.model.requests)
        await anvil.ask("evm_mine")
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=15)
        await here.restart()
        here.alice.send("hello")
        await here.alice.chat.expect("You said:", within=15)
        here.alice.send("again")
        await here.alice.chat.until(lambda chat: len(here.model.requests) >= asked + 2)
        await here.stop()

        first, second = list(here.model.requests)[asked:]
        [block] = (await anvil.ask("eth_getBlockByNumber", "latest", False))["transactions"]
        read = first.last_user_text
        assert read.startswith("What became of a transfer you asked for before:\n✅ paid: 0.5 ETH")
        assert block in read
        assert read.endswith("hello")
        assert "What became" not in second.last_user_text
        assert here.violations() == []


async def test_a_kill_while_a_press_is_being_looked_at_does_not_lose_it(
    tmp_path: Path, anvil: Anvil, proxy: Proxy
) -> None:
    async with town(tmp_path, treasurer, **wallet_of(tmp_path, proxy.url)) as here:
        card = await card_after(here, f"pay 0.5 {FRIEND}")
        looking = proxy.hold("eth_getBalance")
        here.alice.press("Approve", card)
        assert await asyncio.to_thread(looking.wait, 10)
        await here.kill()
        proxy.on.clear()

        await here.start()
        await here.alice.chat.expect("✅ paid: 0.5 ETH", within=15)

        assert await anvil.balance(FRIEND) == ETH // 2


# ── posts ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Profile:
    """The X beside the house."""

    x: XServer
    settings: dict[str, Any]


@asynccontextmanager
async def profile(folder: Path) -> AsyncIterator[Profile]:
    x = XServer()
    keys = "".join(f"{name}={value}\n" for name, value in KEYS.items())
    write_credentials(folder / "keys", twitter=keys)
    async with serve_x(x) as url:
        yield Profile(x, {"CREDENTIALS_DIR": str(folder / "keys"), "X_API_URL": url})


async def test_a_post_is_shown_whole_with_its_price_and_posted_once(tmp_path: Path) -> None:
    async with profile(tmp_path) as there, house(tmp_path, treasurer, **there.settings) as here:
        (here.work / "cat.png").write_bytes(PNG)
        card = await card_after(here, "post Hello, 世界 👋 https://example.com with cat.png")
        asked = card.text
        await asyncio.gather(*(here.alice.press("Approve", card).answered() for _ in range(10)))
        answer = await here.alice.chat.expect("It came to:", within=15)

        pictures = [m for m in here.alice.chat.messages if m.kind == "document"]
        assert "Post as: @kai_demo" in asked
        assert covered(card, "blockquote") == ["Hello, 世界 👋 https://example.com"]
        assert "Price: $0.20 (as of " in asked
        assert "⚠️ it holds a link, which makes it dearer" in asked
        assert "Posts left: 100 in 15 minutes" in asked
        assert len(pictures) == 1
        assert "x.com/kai_demo/status/" in answer.text
        assert [(post.text, post.images) for post in there.x.posts] == [
            ("Hello, 世界 👋 https://example.com", (PNG,))
        ]


async def test_another_picture_under_the_same_name_is_asked_about_anew(tmp_path: Path) -> None:
    async with profile(tmp_path) as there, house(tmp_path, treasurer, **there.settings) as here:
        (here.work / "cat.png").write_bytes(PNG)
        card = await card_after(here, "post Look with cat.png")
        (here.work / "cat.png").write_bytes(PNG + b"not what was seen")

        toast = await here.alice.press("Approve", card).answered()
        new = await here.alice.chat.expect(lambda m: m is not card and "May I do this?" in m.text)

        assert "not as the card says" in toast.text
        assert there.x.posts == []
        assert new.find_button("Approve") is not None


async def test_what_is_too_long_goes_back_to_the_model(tmp_path: Path) -> None:
    async with profile(tmp_path) as there, house(tmp_path, treasurer, **there.settings) as here:
        here.alice.send("post " + "x" * 281)
        answer = await here.alice.chat.expect("It came to:", within=10)

        assert "1 too long" in answer.text
        assert await here.kai.store.pending_approvals() == []


# ── around them ────────────────────────────────────────────────────────────────────────────────────────


async def test_without_their_settings_neither_tool_is_offered(tmp_path: Path) -> None:
    async with house(tmp_path, treasurer) as here:
        here.alice.send("hello")
        await here.alice.chat.expect("You said")
        here.alice.send("/limits")
        await here.alice.chat.expect("no wallet here")

        offered = str(here.model.requests[0].body["tools"])
        assert "transfer_wallet" not in offered
        assert "post_twitter" not in offered


async def test_the_model_reads_names_of_credentials_and_no_value(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        here.alice.send(f"my key is {RICH_KEY}, also {RICH_KEY[2:].upper()}")
        answer = await here.alice.chat.expect("You said")

        body = str(here.model.requests[0].body)
        assert "wallet.env: EVM_PRIVATE_KEY" in body
        assert RICH_KEY[2:].lower() not in (body + answer.text).lower()


async def test_keys_in_open_files_new_files_and_addresses_of_nodes_are_redacted(
    tmp_path: Path, anvil: Anvil
) -> None:
    settings = wallet_of(tmp_path, f"{anvil.url}/v3/0123456789abcdef-node-key")
    write_credentials(tmp_path / "keys", open="TOKEN=open-to-everybody")
    (tmp_path / "keys" / "open.env").chmod(0o644)
    new_key = "0x" + "5c" * 32
    async with house(tmp_path, treasurer, **settings) as here:
        write_credentials(tmp_path / "keys", wallet=f"EVM_PRIVATE_KEY={new_key}\n")
        here.alice.send(f"pay 1 {FRIEND}")
        await here.alice.chat.expect("It came to")  # the new key's account has nothing; but it was read
        here.alice.send(f"I know open-to-everybody, 0123456789abcdef-node-key and {new_key}")
        await here.alice.chat.expect("You said: I know")

        body = str(here.model.requests[-1].body)
        assert "I know [redacted], [redacted] and [redacted]" in body


async def test_the_credentials_are_the_bots_own_files_to_the_gate(tmp_path: Path, anvil: Anvil) -> None:
    async with house(tmp_path, treasurer, **wallet_of(tmp_path, anvil.url)) as here:
        here.alice.send(f"/policy cat {tmp_path}/keys/wallet.env")

        await here.alice.chat.expect("reads the bot's own files")


async def test_commands_do_not_see_the_settings_of_money(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"SEPOLIA_RPC_URLS": "http://127.0.0.1:9", "X_API_URL": "http://127.0.0.1:9"}
    async with house(tmp_path, puppet, **settings) as here:
        here.alice.send('run echo "seen: [$SEPOLIA_RPC_URLS$X_API_URL$CREDENTIALS_DIR]"')
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result")

        assert "seen: []" in str(here.model.requests[-1].body)
