"""X10: a slip in an address is noticed wherever it can be."""

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bot.errors import ToolError
from bot.tools.wallet.addresses import ONE_CASE, evm_address, refuse_nobodys, solana_address, solana_key

HEX = "0123456789abcdefABCDEF"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: str(to_checksum_address(raw)))
wallets = st.binary(min_size=32, max_size=32).map(lambda seed: str(Keypair.from_seed(seed).pubkey()))


@pytest.mark.parametrize(
    "address",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_the_examples_of_eip_55_are_addresses(address: str) -> None:
    mixed = address[2:] not in (address[2:].lower(), address[2:].upper())

    assert evm_address(address) == (address, "" if mixed else ONE_CASE)


@given(addresses)
def test_one_case_is_taken_with_a_warning(address: str) -> None:
    lower, upper = "0x" + address[2:].lower(), "0x" + address[2:].upper()
    assume(address not in (lower, upper))

    assert evm_address(lower)[0] == evm_address(upper)[0] == address
    assert evm_address(lower)[1] == evm_address(upper)[1] != ""


@settings(derandomize=True)  # one in thousands of slips makes another valid checksum
@given(addresses, st.integers(2, 41), st.sampled_from(HEX))
def test_one_changed_character_never_passes_the_mixed_case_check(
    address: str, place: int, other: str
) -> None:
    changed = address[:place] + other + address[place + 1 :]
    assume(changed != address and sum(character.isalpha() for character in address) > 10)

    with pytest.raises(ToolError, match="fails its checksum"):
        evm_address(changed)


@given(addresses)
def test_a_wrong_case_never_passes(address: str) -> None:
    letters = [place for place in range(2, 42) if address[place].isalpha()]
    assume(len(letters) > 2)
    place = letters[0]
    changed = address[:place] + address[place].swapcase() + address[place + 1 :]
    assume(changed[2:] not in (changed[2:].lower(), changed[2:].upper()))

    with pytest.raises(ToolError, match="checksum"):
        evm_address(changed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        "0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n",
        " 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0x5aАeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "kai.eth",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        evm_address(text)

    assert raised.value.code == "InvalidArgs"


@given(st.integers(0, 0xFFFF))
def test_nobodys_addresses_are_refused(number: int) -> None:
    with pytest.raises(ToolError, match="nobody's"):
        refuse_nobodys(f"0x{number:040x}")


@given(wallets)
def test_a_wallet_of_solana_is_on_the_curve(address: str) -> None:
    assume(Pubkey.from_string(address) != Pubkey.default())

    assert solana_address(address) == address


@given(st.binary(min_size=1, max_size=32))
def test_a_programs_address_is_off_the_curve(seed: bytes) -> None:
    address, _ = Pubkey.find_program_address([seed], Pubkey.new_unique())

    with pytest.raises(ToolError, match="off the curve"):
        solana_address(str(address))


@given(wallets, st.integers(0, 43), st.sampled_from("0OIl +/"))
def test_characters_outside_of_base58_are_refused(address: str, place: int, other: str) -> None:
    with pytest.raises(ToolError, match="base58"):
        solana_address(address[:place] + other + address[place + 1 :])


@given(st.text(BASE58, max_size=50))
def test_base58_of_another_length_is_refused(text: str) -> None:
    try:
        key = solana_key(text)
    except ToolError:
        return

    assert (key, len(bytes(Pubkey.from_string(key)))) == (text, 32)
