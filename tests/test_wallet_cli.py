"""`kai-bot wallet`: keys are made and kept, never shown and never overwritten."""

import io
import stat
from pathlib import Path

import pytest
from solders.keypair import Keypair

from bot.__main__ import parser
from bot.errors import ConfigError
from bot.tools.credentials import Credentials
from bot.tools.wallet.keys import load_evm, load_solana
from bot.wallet_cli import WalletFailed, import_key, make_key, run_wallet
from tests.tools.wallet.anvil import RICH, RICH_KEY

FRIEND = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SLIP = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d358"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "credentials"


def run(folder: Path, *arguments: str, **environ: str) -> list[str]:
    said: list[str] = []
    options = parser().parse_args(["wallet", *arguments])
    assert run_wallet(options, environ, said.append, state_dir=folder.parent) == 0
    return said


@pytest.mark.parametrize("kind", ["evm", "solana"])
def test_a_new_key_is_private_and_only_its_address_is_said(folder: Path, kind: str) -> None:
    said = run(folder, "new", kind)

    text = (folder / "wallet.env").read_text()
    credentials = Credentials(folder)
    address = load_evm(credentials).address if kind == "evm" else str(load_solana(credentials).pubkey())
    assert said[-1].split() == [kind, address]
    assert text.strip().partition("=")[2] not in " ".join(said)
    assert stat.S_IMODE((folder / "wallet.env").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_key_is_never_overwritten(folder: Path) -> None:
    run(folder, "new", "evm")
    before = (folder / "wallet.env").read_bytes()

    with pytest.raises(WalletFailed, match="holds EVM_PRIVATE_KEY already"):
        run(folder, "new", "evm")

    assert (folder / "wallet.env").read_bytes() == before


def test_a_try_that_broke_off_is_named_and_not_written_over(folder: Path) -> None:
    run(folder, "new", "solana")
    (folder / "wallet.new").write_text("EVM_PRIVATE_KEY=0x")

    with pytest.raises(WalletFailed, match="wallet.new"):
        run(folder, "new")

    assert (folder / "wallet.new").read_text() == "EVM_PRIVATE_KEY=0x"


def test_a_key_that_is_there_leaves_no_draft(folder: Path) -> None:
    run(folder, "new")

    with pytest.raises(WalletFailed, match="already"):
        run(folder, "new")

    assert [path.name for path in folder.iterdir()] == ["wallet.env"]


def test_the_other_kind_is_added_beside_it(folder: Path) -> None:
    make_key(folder, "evm", lambda line: None)
    before = (folder / "wallet.env").read_text()

    make_key(folder, "solana", lambda line: None)

    assert (folder / "wallet.env").read_text().startswith(before)
    assert [line.split()[0] for line in run(folder, "address")] == ["evm", "solana"]


def test_a_key_is_imported_from_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(RICH_KEY.removeprefix("0x") + "\n"))

    said = run(folder, "import", "evm")

    assert said[-1].split() == ["evm", RICH]
    assert RICH_KEY[2:] not in " ".join(said)


def test_a_solana_key_may_be_a_list_of_numbers(folder: Path) -> None:
    pair = Keypair()

    import_key(folder, "solana", str(list(bytes(pair))), lambda line: None)

    assert load_solana(Credentials(folder)).pubkey() == pair.pubkey()


@pytest.mark.parametrize("kind", ["evm", "solana"])
def test_what_is_no_key_is_not_kept_and_not_repeated(folder: Path, kind: str) -> None:
    with pytest.raises(WalletFailed, match=f"that is no private key for {kind}") as raised:
        import_key(folder, kind, "hunter2hunter2", lambda line: None)

    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert not folder.exists()


def test_the_limits_say_what_is_on_and_which_recipient_is_mistyped(folder: Path) -> None:
    said = run(
        folder,
        "limits",
        WALLET_MAX_TRANSFER="ETH=0.05 USDC=100",
        WALLET_MAX_DAY="ETH=0.1 USDC=300",
        WALLET_RECIPIENTS=f"friend={FRIEND}, slip={SLIP}",
        BASE_RPC_URLS="https://one.example https://two.example",
    )

    assert said[:2] == ["ETH: 0.05 a transfer, 0.1 in 24 hours", "USDC: 100 a transfer, 300 in 24 hours"]
    assert "base: 2 nodes" in said
    assert "ethereum: off (ETHEREUM_RPC_URLS is not set)" in said
    assert [line for line in said if "WRONG CHECKSUM" in line] == [
        f"recipient slip: {SLIP}  WRONG CHECKSUM: not used"
    ]


def test_wrong_settings_are_all_named(folder: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        run(folder, "limits", WALLET_MAX_DAY="ETH=much", BASE_RPC_URLS="nowhere")

    assert len(raised.value.problems) == 2


def test_without_a_wallet_the_file_is_named(folder: Path) -> None:
    with pytest.raises(WalletFailed, match=r"there is no .*wallet\.env"):
        run(folder, "address")
