"""X12: credentials are read only when nobody else can read them, and only their names are shown."""

import os
from pathlib import Path

import pytest

from bot.errors import ToolError
from bot.redact import MASK, Redactor
from bot.tools.credentials import Credentials
from tests.tools.wallet.anvil import RICH_KEY
from tests.tools.wallet.town import write_credentials


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "credentials"


def test_a_file_gives_its_values(folder: Path) -> None:
    credentials = write_credentials(folder, x="# a note\nKEY=one two\nQUOTED='a b'\nEMPTY=\n")

    assert credentials.read("x.env", "KEY") == {"KEY": "one two", "QUOTED": "a b"}


def test_a_missing_file_is_named_with_the_keys_it_wants(folder: Path) -> None:
    with pytest.raises(ToolError, match=r"there is no .*x\.env'; it needs A, B") as raised:
        Credentials(folder).read("x.env", "A", "B")

    assert raised.value.code == "NotConfigured"


def test_missing_keys_are_named_and_values_are_not(folder: Path) -> None:
    credentials = write_credentials(folder, x="A=sekrit\n")

    with pytest.raises(ToolError, match="lacks B") as raised:
        credentials.read("x.env", "A", "B")

    assert raised.value.code == "NotConfigured"
    assert "sekrit" not in str(raised.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660])
def test_a_file_others_can_reach_is_not_used(folder: Path, mode: int) -> None:
    credentials = write_credentials(folder, x="A=1\n")
    (folder / "x.env").chmod(mode)

    with pytest.raises(ToolError, match="not used until: chmod 600") as raised:
        credentials.read("x.env")

    assert raised.value.code == "EACCES"


def test_a_folder_others_can_reach_is_not_used(folder: Path) -> None:
    credentials = write_credentials(folder, x="A=1\n")
    folder.chmod(0o750)

    with pytest.raises(ToolError, match="chmod 700"):
        credentials.read("x.env")


def test_systemds_stricter_modes_are_fine(folder: Path) -> None:
    credentials = write_credentials(folder, x="A=1\n")
    (folder / "x.env").chmod(0o400)
    folder.chmod(0o500)

    assert credentials.read("x.env") == {"A": "1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_not_used(folder: Path) -> None:
    credentials = write_credentials(folder, x="A=1\n")
    os.chown(folder / "x.env", 65534, 65534)

    with pytest.raises(ToolError, match="belongs to another user"):
        credentials.read("x.env")


def test_text_that_is_none_is_told_without_its_bytes(folder: Path) -> None:
    credentials = write_credentials(folder, x="")
    (folder / "x.env").write_bytes(b"A=\xffsekrit")

    with pytest.raises(ToolError, match="not UTF-8") as raised:
        credentials.read("x.env")

    assert raised.value.__cause__ is None


def test_the_prompt_gets_names_only(folder: Path) -> None:
    credentials = write_credentials(folder, wallet="B=sekrit\nA=sekrit\n", broken="C=sekrit\n")
    (folder / "broken.env").chmod(0o644)
    (folder / "notes.txt").write_text("sekrit")

    assert credentials.names() == ["broken.env", "wallet.env: A, B"]
    assert credentials.problems() != []


def test_no_folder_is_no_credentials(folder: Path) -> None:
    credentials = Credentials(folder)

    assert (credentials.names(), credentials.values(), credentials.problems()) == ([], [], [])


def test_every_value_is_hidden_however_a_key_is_written(folder: Path) -> None:
    credentials = write_credentials(folder, wallet=f"EVM_PRIVATE_KEY={RICH_KEY}\n", x="TOKEN=open-sesame\n")
    (folder / "x.env").chmod(0o644)  # unusable, but no less secret
    redactor = Redactor(credentials.values())
    tx_hash = "0x" + "ab" * 32

    text = f"{RICH_KEY} {RICH_KEY[2:].upper()} open-sesame {tx_hash}"

    assert redactor.redact(text) == f"{MASK} {MASK} {MASK} {tx_hash}"


@pytest.mark.parametrize("shown", ["[1,2,33,4]", "[1, 2, 33, 4]", "[1,2, 33,4]"])
def test_a_key_in_numbers_is_hidden_however_they_are_spaced(folder: Path, shown: str) -> None:
    credentials = write_credentials(folder, wallet="SOLANA_PRIVATE_KEY=[1,2, 33,4]\n")

    assert Redactor(credentials.values()).redact(f"it is {shown}") == f"it is {MASK}"


def test_what_is_read_is_learnt_by_the_redactor_also_when_the_file_is_new(folder: Path) -> None:
    redactor = Redactor()
    credentials = Credentials(folder, learn=redactor.add)
    write_credentials(folder, wallet=f"EVM_PRIVATE_KEY={RICH_KEY}\n")

    credentials.read("wallet.env")

    assert redactor.redact(f"it is {RICH_KEY[2:].upper()}") == f"it is {MASK}"
