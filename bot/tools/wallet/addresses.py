"""Addresses: read, checked for slips, and written one way."""

import re

from bot.errors import ToolError

_HEX_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
NOBODYS = 0xFFFF
"""Addresses up to this number are precompiles or mistakes: no one has their key."""
BURNT = "0x000000000000000000000000000000000000dead"
ONE_CASE = "the address has no mixed-case checksum, so a typing slip in it can't be noticed: compare it whole"


def evm_address(text: str, argument: str = "to_address") -> tuple[str, str]:
    """Return (address with its EIP-55 checksum, warning or empty).

    A mixed-case address must carry its checksum: it is never repaired. All one case carries none, which is
    the warning. https://eips.ethereum.org/EIPS/eip-55

    Raises:
        ToolError: `InvalidArgs`.
    """
    from eth_utils.address import is_checksum_address, to_checksum_address

    if not _HEX_ADDRESS.fullmatch(text):
        raise bad_address(argument, f"{text[:60]!r} is not 0x and 40 hex digits")
    checked = str(to_checksum_address(text.lower()))
    # Also where the checksum of the right address happens to be of one case: nobody can tell.
    if text[2:] in (text[2:].lower(), text[2:].upper()):
        return checked, ONE_CASE
    if is_checksum_address(text):
        return checked, ""
    raise bad_address(argument, f"{text!r} fails its checksum: a character of it is wrong; ask for it again")


def refuse_nobodys(address: str) -> None:
    """Refuse the zero address, precompiles and the burn address.

    Raises:
        ToolError: `InvalidArgs`.
    """
    if int(address, 16) <= NOBODYS or address.lower() == BURNT:
        raise bad_address("to_address", f"{address!r} is nobody's: what is sent there is lost")


def solana_address(text: str, argument: str = "to_address") -> str:
    """Return the address, which is a key somebody can have: a point on the curve.

    Raises:
        ToolError: `InvalidArgs`; also for program-owned addresses, which are off the curve.
    """
    pubkey = solana_key(text, argument)
    from solders.pubkey import Pubkey

    key = Pubkey.from_string(pubkey)
    if bytes(key) == bytes(32):
        raise bad_address(argument, f"{text!r} is nobody's: what is sent there is lost")
    if not key.is_on_curve():
        raise bad_address(argument, f"{text!r} is off the curve: a program's or token account, not a wallet")
    return pubkey


def solana_key(text: str, argument: str = "token") -> str:
    """Return 32 bytes in base58, whatever they are for.

    Raises:
        ToolError: `InvalidArgs`.
    """
    from solders.pubkey import Pubkey

    if _BASE58.fullmatch(text):
        try:
            return str(Pubkey.from_string(text))
        except ValueError:
            pass  # base58, but not of 32 bytes
    raise bad_address(argument, f"{text[:60]!r} is not 32 bytes in base58")


def bad_address(argument: str, why: str) -> ToolError:
    return ToolError("InvalidArgs", f"transfer_wallet: $.{argument}: {why}")
