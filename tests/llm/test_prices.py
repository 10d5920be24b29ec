"""Requirement H4."""

from datetime import date
from decimal import Decimal

import pytest

from bot.llm.prices import Price, charge, cost, load_prices, price_of
from bot.messages import Usage


def test_cached_and_written_tokens_are_charged_once_at_their_own_price() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_read=600_000, cache_write=200_000)

    # 200 000 at 5.00, 600 000 at 0.50, 200 000 at 6.25, 100 000 at 25.00 a million.
    assert cost("claude-opus-4-6-20260205", usage) == Decimal("5.05")


def test_reasoning_is_part_of_the_output() -> None:
    assert cost("gpt-5.4", Usage(0, 1_000_000, reasoning=900_000)) == Decimal("15")


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("somebody-elses-model", Usage(1, 1)),
        ("claude-opus-5-5", Usage(1, 1)),
        ("gpt-5.4-mini", Usage(1, 1)),
        ("gpt-5.4", Usage(272_001, 1)),
    ],
)
def test_an_unknown_price_is_unknown_and_not_nothing(model: str, usage: Usage) -> None:
    assert cost(model, usage) is None


def test_tokens_without_a_price_make_the_whole_cost_unknown() -> None:
    price = Price("m", date(2026, 1, 1), "", input=Decimal(1), output=Decimal(1))

    assert charge(price, Usage(1_000_000)) == Decimal(1)
    assert charge(price, Usage(1_000_000, cache_read=1)) is None


def test_every_price_has_its_day_and_its_source() -> None:
    for price in load_prices():
        assert price.as_of >= date(2025, 1, 1)
        assert price.source.startswith("https://")
        assert price.input is not None
        assert price.output is not None


def test_a_dated_model_has_the_price_of_its_name() -> None:
    assert price_of("gpt-5.4-2026-03-05") is price_of("gpt-5.4") is not None
