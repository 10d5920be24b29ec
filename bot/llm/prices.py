"""What replies cost, as far as it is known."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib import resources
from typing import Any

from bot.messages import Usage

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; None where the page named none.

    Attributes:
        as_of: The day the page said so.
        up_to: Tokens of input of one request above which this price does not hold.
    """

    match: str
    as_of: date
    source: str
    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    up_to: int | None = None


@lru_cache(maxsize=1)
def load_prices() -> Sequence[Price]:
    """Read prices.toml, in its order."""
    rows = tomllib.loads(resources.files("bot.llm").joinpath("prices.toml").read_text(encoding="utf-8"))
    return [_price(row) for row in rows["price"]]


def _price(row: Mapping[str, Any]) -> Price:
    money = ("input", "output", "cache_read", "cache_write")
    fields: dict[str, Any] = {name: Decimal(v) if name in money else v for name, v in row.items()}
    return Price(**fields)


def price_of(model: str) -> Price | None:
    """Return the price of a model by the name its provider gave it; None when it is unknown."""
    return next((price for price in load_prices() if re.fullmatch(price.match, model)), None)


def cost(model: str, usage: Usage) -> Decimal | None:
    """Return what one reply cost in US dollars; None when any part of it has no known price.

    Cached and written tokens are part of `usage.input` and are charged once; reasoning is part of the output.
    """
    price = price_of(model)
    return charge(price, usage) if price else None


def charge(price: Price, usage: Usage) -> Decimal | None:
    """Return what one reply costs at a price; see `cost`."""
    if price.up_to is not None and usage.input > price.up_to:
        return None
    plain = usage.input - usage.cache_read - usage.cache_write
    parts = (
        (plain, price.input),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
        (usage.output, price.output),
    )
    total = Decimal(0)
    for tokens, each in parts:
        if tokens and each is None:
            return None
        total += tokens * (each or 0) / MILLION
    return total
