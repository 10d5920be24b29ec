"""The wallet's keys: loaded for one signature or one look at the address, kept nowhere."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.errors import ToolError
from bot.tools.credentials import Credentials

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount
    from solders.keypair import Keypair

FILE = "wallet.env"
EVM_KEY = "EVM_PRIVATE_KEY"
EVM_KEYSTORE = "EVM_KEYSTORE"
EVM_PASSPHRASE = "EVM_KEYSTORE_PASSPHRASE"  # noqa: S105 - a name
SOLANA_KEY = "SOLANA_PRIVATE_KEY"


def evm_address_of(credentials: Credentials) -> str:
    """Return the checksummed address; of a keystore without decrypting it.

    Raises:
        ToolError: `NotConfigured` or `EACCES`.
    """
    values = _wallet(credentials, EVM_KEY, EVM_KEYSTORE)
    if EVM_KEY not in values:
        from eth_utils.address import is_address, to_checksum_address

        address = str(_keystore(values, credentials.folder).get("address", ""))
        if is_address(address):
            return str(to_checksum_address(address))
    return str(load_evm(credentials).address)


def load_evm(credentials: Credentials) -> "LocalAccount":
    """Return the account that signs. A keystore takes 0.7 s: call this in a thread.

    Raises:
        ToolError: `NotConfigured` or `EACCES`; never holding the key.
    """
    from eth_account import Account

    values = _wallet(credentials, EVM_KEY, EVM_KEYSTORE)
    key: Any = values.get(EVM_KEY)
    try:
        if key is None:
            key = Account.decrypt(dict(_keystore(values, credentials.folder)), values.get(EVM_PASSPHRASE, ""))
        account: LocalAccount = Account.from_key(key)
    except ToolError:
        raise
    except Exception as error:
        # Whatever the library says may hold the key.
        which = EVM_KEY if EVM_KEY in values else f"{EVM_KEYSTORE} or {EVM_PASSPHRASE}"
        raise ToolError("NotConfigured", f"{FILE}: {which} can't be used ({type(error).__name__})") from None
    return account


def load_solana(credentials: Credentials) -> "Keypair":
    """Return the key that signs, from base58 or a list of 64 numbers.

    Raises:
        ToolError: `NotConfigured` or `EACCES`; never holding the key.
    """
    text = _wallet(credentials, SOLANA_KEY)[SOLANA_KEY]
    try:
        return read_solana(text)
    except Exception as error:
        raise ToolError(
            "NotConfigured", f"{FILE}: {SOLANA_KEY} can't be used ({type(error).__name__})"
        ) from None


def read_solana(text: str) -> "Keypair":
    """Return the key of base58 or of a list of 64 numbers.

    Raises:
        ValueError: It is neither.
    """
    from solders.keypair import Keypair

    if text.lstrip().startswith("["):
        return Keypair.from_bytes(bytes(json.loads(text)))
    return Keypair.from_base58_string(text.strip())


def _wallet(credentials: Credentials, *any_of: str) -> Mapping[str, str]:
    values = credentials.read(FILE) if len(any_of) > 1 else credentials.read(FILE, *any_of)
    if not any(name in values for name in any_of):
        raise ToolError(
            "NotConfigured", f"{str(credentials.folder / FILE)!r} has none of {', '.join(any_of)}"
        )
    return values


def _keystore(values: Mapping[str, str], folder: Path) -> Mapping[str, Any]:
    path = folder / values[EVM_KEYSTORE]
    try:
        if path.stat().st_mode & 0o077:
            raise ToolError("EACCES", f"{str(path)!r} can be read by others; run: chmod 600 {path}")
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ToolError("NotConfigured", f"{EVM_KEYSTORE} {str(path)!r}: {error.strerror}") from error
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ToolError("NotConfigured", f"{EVM_KEYSTORE} {str(path)!r} is no keystore")
    return found
