"""`kai-bot wallet new|import|address|limits`: the operator's side of the wallet. No key is ever printed."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bot.errors import ConfigError, KaiError, ToolError
from bot.tools.credentials import Credentials
from bot.tools.wallet import WalletSettings
from bot.tools.wallet.addresses import evm_address
from bot.tools.wallet.keys import (
    EVM_KEY,
    EVM_KEYSTORE,
    FILE,
    SOLANA_KEY,
    evm_address_of,
    load_solana,
    read_solana,
)

Say = Callable[[str], None]
KINDS = {"evm": (EVM_KEY, EVM_KEYSTORE), "solana": (SOLANA_KEY,)}


class WalletFailed(KaiError):
    """The command could not do what was asked; nothing was written."""


def run_wallet(options: argparse.Namespace, environ: Mapping[str, str], say: Say, *, state_dir: Path) -> int:
    """Run one command; return the exit code.

    Args:
        say: Prints a line.
        state_dir: Holds the credentials folder unless CREDENTIALS_DIR names another.

    Raises:
        ConfigError: The wallet's settings are wrong.
        WalletFailed: There is a key already, or what was typed is none. Nothing was changed.
    """
    settings, problems = WalletSettings.read(environ, state_dir=state_dir)
    if problems:
        raise ConfigError(*problems)
    try:
        match options.wallet_command:
            case "new":
                make_key(settings.credentials_dir, options.kind, say)
            case "import":
                import_key(settings.credentials_dir, options.kind, type_secret(), say)
            case "address":
                show_addresses(settings.credentials_dir, say)
            case _:
                show_limits(settings, say)
    except ToolError as error:
        raise WalletFailed(str(error)) from error
    return 0


def make_key(folder: Path, kind: str, say: Say) -> None:
    """Make a key of a kind, keep it, and say its address.

    Raises:
        WalletFailed: There is one already: a key that is overwritten is money lost.
    """
    if kind == "evm":
        from eth_account import Account

        keep(folder, kind, "0x" + bytes(Account.create().key).hex())
    else:
        from solders.keypair import Keypair

        keep(folder, kind, str(Keypair()))
    say(f"kept in {folder / FILE}; back that file up: who has it has the money")
    show_addresses(folder, say)


def import_key(folder: Path, kind: str, secret: str, say: Say) -> None:
    """Keep a key somebody has: hex for EVM; base58 or a list of 64 numbers for Solana.

    Raises:
        WalletFailed: It is no such key, or there is one already.
    """
    secret = secret.strip()
    try:
        if kind == "evm":
            from eth_account import Account

            secret = "0x" + bytes(Account.from_key(secret).key).hex()
        else:
            secret = str(read_solana(secret))
    except Exception:
        # Not chained: what the library says may hold the key.
        raise WalletFailed(f"that is no private key for {kind}") from None
    keep(folder, kind, secret)
    say(f"kept in {folder / FILE}")
    show_addresses(folder, say)


def show_addresses(folder: Path, say: Say) -> None:
    credentials = Credentials(folder)
    held = credentials.read(FILE)
    if any(name in held for name in KINDS["evm"]):
        say(f"evm     {evm_address_of(credentials)}")
    if SOLANA_KEY in held:
        say(f"solana  {load_solana(credentials).pubkey()}")


def show_limits(settings: WalletSettings, say: Say) -> None:
    for line in settings.limit_lines():
        say(line)
    for name, written in settings.recipients.values():
        wrong = ""
        if written.startswith("0x"):
            try:
                evm_address(written)
            except ToolError:
                wrong = "  WRONG CHECKSUM: not used"
        say(f"recipient {name or '(no name)'}: {written}{wrong}")
    for chain in settings.chains.values():
        count = len(settings.rpc_urls.get(chain.name, ()))
        say(
            f"{chain.name}: {count} nodes" if count else f"{chain.name}: off ({chain.rpc_setting} is not set)"
        )


def keep(folder: Path, kind: str, secret: str) -> None:
    """Add a key to `wallet.env`, private to this user, whole or not at all.

    Raises:
        WalletFailed: It holds one of this kind.
    """
    path = folder / FILE
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    try:
        # Made before the file is looked at: of two commands at once only one may add to what it saw.
        file = os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
    except FileExistsError:
        raise WalletFailed(
            f"{str(draft)!r} is there: another command runs, or one broke off; then look at it and remove it"
        ) from None
    try:
        with file:
            file.write(f"{what_is_kept(folder, kind)}{KINDS[kind][0]}={secret}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The name too: an address is told next, and money sent to it.
    named = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(named)
    finally:
        os.close(named)


def what_is_kept(folder: Path, kind: str) -> str:
    """Return the lines of `wallet.env`, which may be none.

    Raises:
        WalletFailed: They hold a key of this kind.
    """
    path = folder / FILE
    if not path.exists():
        return ""
    held = Credentials(folder).read(FILE)
    if taken := [name for name in KINDS[kind] if name in held]:
        raise WalletFailed(f"{str(path)!r} holds {taken[0]} already; move it away first")
    lines = path.read_text("utf-8")
    return lines if lines.endswith("\n") or not lines else f"{lines}\n"


def type_secret() -> str:
    """Return a secret from the terminal without showing it, or the first line piped in."""
    if sys.stdin.isatty():
        return getpass.getpass("private key: ")
    return sys.stdin.readline()
