"""Amounts of money: exact, and read only when they can be read one way."""

import re
from decimal import Decimal

from bot.errors import ToolError

MOST_UNITS = 2**256 - 1
_AMOUNT = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?", re.ASCII)
LONGEST = 100
"""Characters; 2**256 has 78 digits."""


def read_amount(text: str, decimals: int) -> int:
    """Return an amount in the smallest unit.

    Only `12` and `12.34` are amounts: no sign, exponent, separator, space, leading or lacking digit.

    Raises:
        ToolError: `InvalidArgs`: no such number, zero, or finer or more than the token can hold.
    """
    match = _AMOUNT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise bad_amount(f"{text[:LONGEST]!r} is not a plain decimal number such as '12' or '0.05'")
    whole, fraction = match[1], match[2] or ""
    if len(fraction) > decimals:
        raise bad_amount(f"{text!r} has {len(fraction)} digits after the point; there are only {decimals}")
    units = int(whole + fraction.ljust(decimals, "0"))
    if units == 0:
        raise bad_amount("is zero")
    if units > MOST_UNITS:
        raise bad_amount(f"{text!r} is more than there can be")
    return units


def show_amount(units: int, decimals: int) -> str:
    """Return units as a plain decimal number, without needless zeros; negative ones with a minus."""
    digits = str(abs(units)).rjust(decimals + 1, "0")
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :].rstrip("0")
    return ("-" if units < 0 else "") + whole + (f".{fraction}" if fraction else "")


def plain(amount: Decimal) -> str:
    """Return a number without exponent and needless zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def bad_amount(why: str) -> ToolError:
    return ToolError("InvalidArgs", f"transfer_wallet: $.amount: {why}")
