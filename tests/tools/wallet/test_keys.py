"""Keys: read from where only this user reads, and in no error."""

import json
from pathlib import Path

import pytest
from eth_account import Account

from bot.errors import ToolError
from bot.tools.credentials import Credentials
from bot.tools.wallet.keys import evm_address_of, load_evm, load_solana
from tests.tools.wallet.anvil import RICH, RICH_KEY
from tests.tools.wallet.town import write_credentials


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "credentials"


def with_keystore(folder: Path, passphrase: str = "open", **changes: object) -> Credentials:
    credentials = write_credentials(
        folder, wallet=f"EVM_KEYSTORE=key.json\nEVM_KEYSTORE_PASSPHRASE={passphrase}\n"
    )
    keystore = (
        dict(Account.encrypt(bytes.fromhex(RICH_KEY[2:]), "open", kdf="scrypt", iterations=4096)) | changes
    )
    (folder / "key.json").write_text(json.dumps(keystore))
    (folder / "key.json").chmod(0o600)
    return credentials


def test_a_keystore_signs_with_its_passphrase(folder: Path) -> None:
    credentials = with_keystore(folder)

    assert load_evm(credentials).address == RICH
    assert evm_address_of(credentials) == RICH


def test_the_address_of_a_keystore_needs_no_passphrase(folder: Path) -> None:
    assert evm_address_of(with_keystore(folder, passphrase="wrong")) == RICH


def test_a_wrong_passphrase_is_told_without_it(folder: Path) -> None:
    with pytest.raises(ToolError, match="EVM_KEYSTORE_PASSPHRASE can't be used") as raised:
        load_evm(with_keystore(folder, passphrase="sesame-sesame"))

    assert raised.value.code == "NotConfigured"
    assert "sesame" not in str(raised.value)


def test_a_keystore_others_can_read_is_not_used(folder: Path) -> None:
    credentials = with_keystore(folder)
    (folder / "key.json").chmod(0o644)

    with pytest.raises(ToolError, match="can be read by others"):
        load_evm(credentials)


@pytest.mark.parametrize("text", ["[]", "{", ""])
def test_what_is_no_keystore(folder: Path, text: str) -> None:
    credentials = with_keystore(folder)
    (folder / "key.json").write_text(text)

    with pytest.raises(ToolError, match="is no keystore"):
        load_evm(credentials)


def test_a_keystore_that_is_not_there(folder: Path) -> None:
    credentials = with_keystore(folder)
    (folder / "key.json").unlink()

    with pytest.raises(ToolError, match="No such file"):
        evm_address_of(credentials)


@pytest.mark.parametrize(
    ("line", "load"),
    [
        (f"EVM_PRIVATE_KEY={RICH_KEY}ff", load_evm),
        ("EVM_PRIVATE_KEY=correct horse battery", load_evm),
        ("SOLANA_PRIVATE_KEY=correct horse battery", load_solana),
        ("SOLANA_PRIVATE_KEY=[1,2,3]", load_solana),
    ],
)
def test_a_key_that_is_none_is_in_no_error(folder: Path, line: str, load: object) -> None:
    credentials = write_credentials(folder, wallet=line + "\n")

    with pytest.raises(ToolError, match="PRIVATE_KEY can't be used") as raised:
        load(credentials)  # type: ignore[operator]

    secret = line.partition("=")[2]
    assert secret not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_wallet_without_a_key_names_what_it_could_hold(folder: Path) -> None:
    with pytest.raises(ToolError, match="has none of EVM_PRIVATE_KEY, EVM_KEYSTORE"):
        evm_address_of(write_credentials(folder, wallet="OTHER=1\n"))
