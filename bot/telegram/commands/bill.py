"""What `/usage` says of a stretch of time: tokens and money, by model and person."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from bot.llm.prices import cost, price_of
from bot.store.base import Spending
from bot.texts import say

MOST_ROWS = 20


def bill(language: str, rows: Sequence[Spending], names: dict[int, str]) -> list[str]:
    """Return the lines: what all of it cost, then one for each model and person."""
    lines = [total(language, rows)] if rows else []
    for row in rows[:MOST_ROWS]:
        who = names.get(row.user_id or 0) or row.user_id or "–"
        lines.append(
            f"• {row.model or '?'} · {who}: {row.input:,} + {row.output:,} ({row.calls}×), "
            + price(language, row)
        )
    return [*lines, "…"] if len(rows) > MOST_ROWS else lines


def total(language: str, rows: Iterable[Spending]) -> str:
    """Return what all of it cost; what has no known price is said to be missing, it is not nothing."""
    known = [money(row) for row in rows]
    amount = dollars(sum((one for one in known if one is not None), Decimal(0)))
    if None not in known:
        return say(language, "usage_cost", money=amount)
    if any(one is not None for one in known):
        return say(language, "usage_cost_part", money=amount)
    return say(language, "usage_cost_unknown")


def price(language: str, row: Spending) -> str:
    amount = money(row)
    return say(language, "usage_no_price") if amount is None else dollars(amount)


def money(row: Spending) -> Decimal | None:
    """Return what it cost; None when the price of any call is unknown, or nobody counted its tokens."""
    costs = [cost(row.model, usage) if usage.input + usage.output else None for usage in row.usages]
    known = [one for one in costs if one is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def prices_from(language: str, rows: Iterable[Spending]) -> str:
    """Return of which days the prices are; empty where none was used."""
    days = sorted(price.as_of for row in rows if money(row) is not None and (price := price_of(row.model)))
    if not days:
        return ""
    first, last = days[0].isoformat(), days[-1].isoformat()
    return say(language, "usage_prices", days=first if first == last else f"{first} – {last}")


def dollars(amount: Decimal) -> str:
    """Return US dollars, to the nearest: in cents, below one dollar in hundredths of a cent."""
    step = Decimal("0.01") if amount >= 1 else Decimal("0.0001")
    return f"${amount.quantize(step, ROUND_HALF_UP):,}"
