"""The operator's numbers: every mistake named, no limit by accident."""

from decimal import Decimal
from pathlib import Path

import pytest
from eth_utils.address import is_checksum_address

from bot.tools.wallet import WalletSettings, load_chains, setting_names
from bot.tools.wallet.addresses import solana_key
from bot.tools.wallet.chains import Token
from bot.tools.wallet.limits import Limit, find_limit, read_amounts

FRIEND = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
CHAINS = load_chains()


def read(**environ: str) -> tuple[WalletSettings, list[str]]:
    return WalletSettings.read(environ, state_dir=Path("/state"))


def test_the_table_has_the_chains_people_expect() -> None:
    assert list(CHAINS) == ("ethereum base arbitrum optimism polygon bsc sepolia base-sepolia solana".split())


def test_every_contract_in_the_table_is_spelt_right() -> None:
    contracts = [(chain.kind, token.contract) for chain in CHAINS.values() for token in chain.tokens.values()]

    assert len(set(contracts)) == len(contracts) > 10
    assert all(
        is_checksum_address(contract) if kind == "evm" else solana_key(contract) == contract
        for kind, contract in contracts
    )


def test_every_chain_has_its_own_id_and_a_link() -> None:
    assert len({chain.id for chain in CHAINS.values()}) == len(CHAINS)
    assert {chain.link("0xabc").rpartition("/")[2] for chain in CHAINS.values()} == {"0xabc"}


def test_nothing_set_is_a_wallet_that_is_off() -> None:
    settings, problems = read()

    assert (settings.on, problems) == (False, [])
    assert settings.credentials_dir == Path("/state/credentials")
    assert settings.limit_lines() == [
        "no limits are set, so nothing can be sent (WALLET_MAX_TRANSFER, WALLET_MAX_DAY)"
    ]


def test_settings_are_read() -> None:
    settings, problems = read(
        BASE_SEPOLIA_RPC_URLS="https://one.example/v2/0123456789abcdefXYZ, https://two.example",
        WALLET_MAX_TRANSFER="ETH=0.05, eth@sepolia=5 usdc=100",
        WALLET_MAX_DAY="ETH=0.1;ETH@sepolia=9;USDC=300",
        WALLET_RECIPIENTS=f"friend={FRIEND}",
        CREDENTIALS_DIR="/elsewhere",
    )

    assert problems == []
    assert settings.on
    assert settings.rpc_urls["base-sepolia"][1] == "https://two.example"
    assert settings.max_transfer == {
        "ETH": Decimal("0.05"),
        "ETH@sepolia": Decimal(5),
        "USDC": Decimal(100),
    }
    assert settings.recipient_name(CHAINS["base"], FRIEND) == "friend"
    assert settings.recipient_name(CHAINS["base"], FRIEND.lower()) == "friend"
    assert settings.credentials_dir == Path("/elsewhere")


def test_what_may_be_a_key_in_a_nodes_address_is_a_secret_and_is_not_shown() -> None:
    settings, _ = read(
        BASE_RPC_URLS="https://user-name-0123456789:pw-0123456789abc@one.example/v2/0123456789abcdefXYZ?key=zyxwvutsrqponmlkj"
    )

    assert set(settings.secrets) == {
        "0123456789abcdefXYZ",
        "zyxwvutsrqponmlkj",
        "user-name-0123456789",
        "pw-0123456789abc",
    }
    assert "0123456789abcdefXYZ" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"BASE_RPC_URLS": "ftp://x"}, "BASE_RPC_URLS: 1 of its addresses"),
        ({"BASE_RPC_URLS": "https://[x"}, "BASE_RPC_URLS"),
        ({"WALLET_MAX_TRANSFER": "ETH=-1", "WALLET_MAX_DAY": ""}, "WALLET_MAX_TRANSFER: 'ETH=-1'"),
        ({"WALLET_MAX_DAY": "ETH=1e9"}, "WALLET_MAX_DAY: 'ETH=1e9'"),
        ({"WALLET_MAX_DAY": "ETH"}, "is not SYMBOL=AMOUNT"),
        ({"WALLET_MAX_DAY": "ETH@mars=1"}, "unknown chain"),
        ({"WALLET_MAX_DAY": f"{FRIEND}=1"}, "needs a chain"),
        ({"WALLET_MAX_TRANSFER": "ETH=1"}, "WALLET_MAX_DAY: has no ETH"),
        ({"WALLET_MAX_DAY": "ETH=1"}, "WALLET_MAX_TRANSFER: has no ETH"),
        ({"WALLET_MAX_DAY": "ETH=1 eth=2", "WALLET_MAX_TRANSFER": "ETH=1"}, "ETH is given twice"),
        ({"WALLET_RECIPIENTS": "bob"}, "WALLET_RECIPIENTS: 'bob'"),
        ({"WALLET_RECIPIENTS": f"a={FRIEND} b={FRIEND.lower()}"}, "given twice"),
        ({"CREDENTIALS_DIR": "~nobody-of-this-name/x"}, "CREDENTIALS_DIR"),
    ],
)
def test_a_mistake_is_named(environ: dict[str, str], named: str) -> None:
    _, problems = read(**environ)

    assert [problem for problem in problems if named in problem], problems


def test_a_recipient_that_fails_its_checksum_is_not_on_the_list() -> None:
    settings, _ = read(WALLET_RECIPIENTS=f"friend={FRIEND[:-1]}D")

    assert settings.recipient_name(CHAINS["base"], FRIEND) is None


def test_the_names_of_the_settings_are_for_the_scrubbed_environment() -> None:
    assert {"WALLET_RECIPIENTS", "CREDENTIALS_DIR", "BASE_SEPOLIA_RPC_URLS"} <= set(setting_names())


class TestLimits:
    def limit(self, text: str, chain: str, token: Token) -> Limit | None:
        amounts, problems = read_amounts(text, CHAINS)
        assert problems == []
        return find_limit(CHAINS[chain], token, amounts, amounts, tuple(CHAINS))

    def test_a_symbol_counts_on_all_chains_but_those_with_their_own(self) -> None:
        limit = self.limit("ETH=1 ETH@sepolia=5", "base", CHAINS["base"].native)

        assert limit is not None
        assert (limit.name, "sepolia" in limit.chains, "ethereum" in limit.chains) == ("ETH", False, True)

    def test_a_chains_own_limit_goes_first(self) -> None:
        limit = self.limit("ETH=1 ETH@sepolia=5", "sepolia", CHAINS["sepolia"].native)

        assert limit is not None
        assert (limit.name, limit.per_day, limit.chains) == ("ETH@sepolia", Decimal(5), ("sepolia",))

    def test_a_token_that_only_calls_itself_usdc_has_not_the_limit_of_usdc(self) -> None:
        fake = Token("USDC", FRIEND, 6, known=False)

        assert self.limit("USDC=100", "base", fake) is None
        assert self.limit(f"USDC=100 {FRIEND}@base=3", "base", fake) is not None

    def test_a_limit_of_zero_lets_nothing_pass(self) -> None:
        limit = self.limit("ETH=0", "base", CHAINS["base"].native)

        assert limit is not None
        assert limit.per_transfer == 0
