"""The wallet's settings, read from a mapping, every mistake named."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import ToolError
from bot.tools.wallet.addresses import evm_address
from bot.tools.wallet.amounts import plain
from bot.tools.wallet.chains import Chain, load_chains
from bot.tools.wallet.limits import read_amounts

SETTINGS = ("CREDENTIALS_DIR", "WALLET_MAX_TRANSFER", "WALLET_MAX_DAY", "WALLET_RECIPIENTS")
_EVM = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_SOLANA = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)


def setting_names(chains: Mapping[str, Chain] | None = None) -> tuple[str, ...]:
    """Return every setting read here; commands must see none: a node's address may hold a key."""
    chains = load_chains() if chains is None else chains
    return (*SETTINGS, *(chain.rpc_setting for chain in chains.values()))


@dataclass(frozen=True, slots=True)
class WalletSettings:
    """What the operator chose about money.

    Attributes:
        credentials_dir: Absolute; need not exist.
        chains: Every chain there is, by name.
        rpc_urls: By chain name, in the order to try; a chain without is not set up.
        max_transfer: By limit name, in whole coins or tokens; `max_day` likewise.
        recipients: (name, address as written) by address, EVM ones in lower case; a name may be empty. The
            checksum of what is written is not yet looked at.
        secrets: Parts of the nodes' addresses that may be keys.
    """

    credentials_dir: Path
    chains: Mapping[str, Chain]
    rpc_urls: Mapping[str, tuple[str, ...]] = field(repr=False)
    max_transfer: Mapping[str, Decimal]
    max_day: Mapping[str, Decimal]
    recipients: Mapping[str, tuple[str, str]]
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def on(self) -> bool:
        """Whether any chain can be reached: without, the tool need not be offered."""
        return bool(self.rpc_urls)

    @classmethod
    def read(
        cls,
        environ: Mapping[str, str],
        *,
        state_dir: Path | None = None,
        chains: Mapping[str, Chain] | None = None,
    ) -> tuple["WalletSettings", list[str]]:
        """Return the settings and one sentence a mistake; never a node's address, which may hold a key.

        Args:
            environ: Names and values; an empty value counts as absent.
            state_dir: Where the `credentials` folder is unless CREDENTIALS_DIR names another.
            chains: Instead of the table's.
        """
        chains = load_chains() if chains is None else chains
        problems: list[str] = []
        given = {name: value.strip() for name, value in environ.items() if value.strip()}

        urls: dict[str, tuple[str, ...]] = {}
        for chain in chains.values():
            listed = re.split(r"[\s,]+", given.get(chain.rpc_setting, ""))
            good = tuple(url for url in listed if url and _is_url(url))
            if bad := sum(1 for url in listed if url) - len(good):
                problems.append(f"{chain.rpc_setting}: {bad} of its addresses are no http or https address")
            if good:
                urls[chain.name] = good

        amounts: dict[str, dict[str, Decimal]] = {}
        for name in ("WALLET_MAX_TRANSFER", "WALLET_MAX_DAY"):
            amounts[name], wrong = read_amounts(given.get(name, ""), chains)
            problems += [f"{name}: {problem}" for problem in wrong]
        for name, other in (
            ("WALLET_MAX_TRANSFER", "WALLET_MAX_DAY"),
            ("WALLET_MAX_DAY", "WALLET_MAX_TRANSFER"),
        ):
            for asset in amounts[name].keys() - amounts[other].keys():
                problems.append(f"{other}: has no {asset}, but {name} has; both are needed")

        recipients, wrong = read_recipients(given.get("WALLET_RECIPIENTS", ""))
        problems += [f"WALLET_RECIPIENTS: {problem}" for problem in wrong]

        folder = Path(given.get("CREDENTIALS_DIR") or (state_dir or Path.cwd()) / "credentials")
        try:
            folder = folder.expanduser().absolute()
        except RuntimeError:
            problems.append(f"CREDENTIALS_DIR: {str(folder)!r} names a home folder that does not exist")
        settings = cls(
            credentials_dir=folder,
            chains=chains,
            rpc_urls=urls,
            max_transfer=amounts["WALLET_MAX_TRANSFER"],
            max_day=amounts["WALLET_MAX_DAY"],
            recipients=recipients,
            secrets=tuple(sorted({s for group in urls.values() for url in group for s in _secrets_of(url)})),
        )
        return settings, problems

    def limit_lines(self) -> list[str]:
        """Return what may be sent, one line an asset, for `/limits` and the command line."""
        lines = []
        for name in sorted(self.max_transfer.keys() & self.max_day.keys()):
            each, day = plain(self.max_transfer[name]), plain(self.max_day[name])
            lines.append(f"{name}: {each} a transfer, {day} in 24 hours")
        return lines or ["no limits are set, so nothing can be sent (WALLET_MAX_TRANSFER, WALLET_MAX_DAY)"]

    def recipient_name(self, chain: Chain, address: str) -> str | None:
        """Return the name an address has on the list, perhaps empty; None when it is not on it.

        An entry that fails its own checksum is not on the list: it may be a slip away from somebody else.
        """
        name, written = self.recipients.get(address.lower() if chain.kind == "evm" else address, (None, ""))
        if name is not None and chain.kind == "evm":
            try:
                evm_address(written)
            except ToolError:
                return None
        return name


def read_recipients(text: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Read `alice=0x…, shop=9xQe…, 0x…`; return (name, as written) by address, and what is wrong."""
    recipients: dict[str, tuple[str, str]] = {}
    problems: list[str] = []
    for entry in re.split(r"[\s,;]+", text.strip()):
        if not entry:
            continue
        name, _, written = entry.rpartition("=")
        address = written
        if _EVM.fullmatch(address):
            address = address.lower()
        elif not _SOLANA.fullmatch(address):
            problems.append(f"{entry[:80]!r} is not NAME=ADDRESS or ADDRESS")
            continue
        if address in recipients:
            problems.append(f"{address} is given twice")
        recipients[address] = (name, written)
    return recipients, problems


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _secrets_of(url: str) -> set[str]:
    """Return what of a node's address may be a key: providers put it in the path, the query or the login."""
    parts = urlsplit(url)
    pieces = re.split(r"[/&=]", f"{parts.path}/{parts.query}/{parts.password or ''}/{parts.username or ''}")
    return {piece for piece in pieces if len(piece) >= 16}


__all__ = ["WalletSettings", "read_recipients", "setting_names"]
