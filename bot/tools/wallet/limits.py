"""How much may be sent: the operator's numbers, which no model can change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bot.store.transfers import DayLimit
from bot.tools.wallet.chains import Chain, Token

DAY = 86_400.0
"""Seconds of the window that a day's limit looks at; it slides."""

_ENTRY = re.compile(r"([^\s=@]+)(?:@([a-z0-9-]+))?=([0-9]+(?:\.[0-9]+)?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be sent of one asset.

    Attributes:
        name: As the operator wrote it: `ETH`, `ETH@sepolia` or `0x…@base`.
        per_transfer: In whole coins or tokens, as `per_day`.
        chains: Where the day's payments count together.
    """

    name: str
    per_transfer: Decimal
    per_day: Decimal
    chains: tuple[str, ...]

    def of_day(self, token: Token, now: float) -> DayLimit:
        """Return what the store has to count."""
        return DayLimit(
            symbol=token.symbol if token.known else "",
            contract="" if token.known else token.contract,
            chains=self.chains,
            most=self.per_day,
            since=now - DAY,
        )


def read_amounts(text: str, chains: Mapping[str, Chain]) -> tuple[dict[str, Decimal], list[str]]:
    """Read `ETH=0.05, ETH@sepolia=5, USDC=100`; return the numbers by name, and what is wrong."""
    amounts: dict[str, Decimal] = {}
    problems: list[str] = []
    for entry in re.split(r"[\s,;]+", text.strip()):
        if not entry:
            continue
        match = _ENTRY.fullmatch(entry)
        if match is None:
            problems.append(f"{entry!r} is not SYMBOL=AMOUNT or SYMBOL@chain=AMOUNT")
            continue
        asset, chain, amount = match.groups()
        if chain and chain not in chains:
            problems.append(f"{entry!r} names an unknown chain; there are: {', '.join(chains)}")
            continue
        if not chain and len(asset) > 20:
            problems.append(f"{entry!r} needs a chain: a contract means nothing without (0x…@base=5)")
            continue
        if chain and (known := chains[chain].known_token(asset)):
            asset = known.symbol  # by its contract, which is how it may be written too
        name = limit_name(asset, chain or "")
        if name in amounts:
            problems.append(f"{name} is given twice")
        amounts[name] = Decimal(amount)
    return amounts, problems


def find_limit(
    chain: Chain,
    token: Token,
    per_transfer: Mapping[str, Decimal],
    per_day: Mapping[str, Decimal],
    chains: Sequence[str],
) -> Limit | None:
    """Return the limit that holds for a token on a chain; None when the operator gave none.

    One for the chain alone goes before one for the symbol, which is for all chains without one of their own.
    A token that is not in the table has a limit by its contract only: its symbol is its own word.
    """
    asset = token.symbol if token.known else token.contract
    alone = limit_name(asset, chain.name)
    for name in (alone, limit_name(asset)) if token.known else (alone,):
        if name in per_transfer and name in per_day:
            return limit_named(name, per_transfer, per_day, chains)
    return None


def limit_named(
    name: str, per_transfer: Mapping[str, Decimal], per_day: Mapping[str, Decimal], chains: Sequence[str]
) -> Limit:
    """Return a limit by the operator's name for it. Raises KeyError."""
    asset, _, chain = name.partition("@")
    others = [other for other in chains if limit_name(asset, other) not in per_transfer]
    return Limit(name, per_transfer[name], per_day[name], (chain,) if chain else tuple(others))


def limit_name(asset: str, chain: str = "") -> str:
    if len(asset) <= 20:
        asset = asset.upper()
    elif asset.startswith("0x"):
        asset = asset.lower()
    return f"{asset}@{chain}" if chain else asset
