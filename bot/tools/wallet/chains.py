"""The chains there are, from a table: a new one is a new table in `chains.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bot.errors import ToolError

CHAINS_FILE = Path(__file__).with_name("chains.toml")


@dataclass(frozen=True, slots=True)
class Token:
    """What can be sent.

    Attributes:
        contract: Its contract, on Solana its mint, in canonical spelling; empty for the chain's own coin.
        decimals: Digits after the point.
        known: Whether it is in the table; another's symbol is only what it calls itself.
    """

    symbol: str
    contract: str
    decimals: int
    known: bool = True


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain.

    Attributes:
        id: What a node must say it is: the chain id in decimal, on Solana the genesis hash.
        native: The chain's own coin, which also pays the fees.
        tokens: By symbol, the chain's own coin left out.
        explorer: With `{hash}` where the transaction's goes.
        l1_fee: Whether transactions also pay for their bytes on another chain (OP stack).
    """

    name: str
    kind: Literal["evm", "solana"]
    id: str
    native: Token
    tokens: Mapping[str, Token] = field(default_factory=dict)
    explorer: str = ""
    l1_fee: bool = False

    @property
    def rpc_setting(self) -> str:
        return self.name.upper().replace("-", "_") + "_RPC_URLS"

    def link(self, tx_hash: str) -> str:
        return self.explorer.format(hash=tx_hash)

    def known_token(self, text: str) -> Token | None:
        """Return the token of a symbol (in any case) or of a contract in the table; else None."""
        if not text or text.upper() == self.native.symbol.upper():
            return self.native
        same = text.lower() if self.kind == "evm" else text
        for token in self.tokens.values():
            contract = token.contract.lower() if self.kind == "evm" else token.contract
            if text.upper() == token.symbol.upper() or same == contract:
                return token
        return None


def load_chains(path: Path = CHAINS_FILE) -> dict[str, Chain]:
    """Read a table of chains; reads the file each time.

    Raises:
        OSError, tomllib.TOMLDecodeError, KeyError: The file is not such a table.
    """
    chains = {}
    for name, row in tomllib.loads(path.read_text("utf-8")).items():
        tokens = {
            symbol: Token(symbol, token["contract"], token["decimals"])
            for symbol, token in row.get("tokens", {}).items()
        }
        chains[name] = Chain(
            name=name,
            kind=row["kind"],
            id=row["id"],
            native=Token(row["native"], "", row["decimals"]),
            tokens=tokens,
            explorer=row["explorer"],
            l1_fee=row.get("l1_fee", False),
        )
    return chains


def find_chain(chains: Mapping[str, Chain], name: str) -> Chain:
    """Return a chain by its exact name.

    Raises:
        ToolError: `InvalidArgs`, with the list of chains.
    """
    if chain := chains.get(name.strip().lower()):
        return chain
    raise ToolError(
        "InvalidArgs", f"transfer_wallet: $.chain: unknown chain {name!r}; there are: {', '.join(chains)}"
    )
