"""What `/usage` says of money (requirement H4): and unknown where it is unknown."""

from decimal import Decimal

import pytest

from bot.messages import Usage
from bot.store.base import Spending
from bot.telegram.commands.bill import MOST_ROWS, bill, dollars, money, prices_from

PRICED = Spending("gpt-5.4", 7, (Usage(100_000, 10_000), Usage(100_000)))
OTHER = Spending("deepseek-v4-flash", 8, (Usage(1_000_000),))
UNPRICED = Spending("somebody-elses-model", 8, (Usage(100, 10),))


def test_a_cost_is_the_sum_of_what_its_calls_cost() -> None:
    usages = Usage(1_000_000, 100_000, cache_read=600_000, cache_write=200_000), Usage(200_000)

    # 5.05 (see the tests of prices), and 200,000 at 5.00 a million.
    assert money(Spending("claude-opus-4-6", 7, usages)) == Decimal("6.05")


def test_many_short_requests_are_not_taken_for_a_long_one() -> None:
    assert money(Spending("gpt-5.4", 7, (Usage(200_000),) * 2)) == Decimal("1.00")


@pytest.mark.parametrize(
    "row",
    [
        UNPRICED,
        Spending("gpt-5.4", 7, (Usage(1, 1), Usage(272_001, 1))),
        Spending("gpt-5.4", 7, (Usage(1, 1), Usage())),
        Spending("", None, (Usage(5, 5),)),
    ],
    ids=["no price", "above what the price is for", "nobody counted", "no name"],
)
def test_what_has_no_known_price_is_unknown(row: Spending) -> None:
    assert money(row) is None


def test_each_line_says_what_it_cost_and_the_first_what_all_did() -> None:
    assert bill("en", [PRICED, OTHER], {7: "Alice"}) == [
        "Cost: $0.7900",
        "• gpt-5.4 · Alice: 200,000 + 10,000 (2×), $0.6500",
        "• deepseek-v4-flash · 8: 1,000,000 + 0 (1×), $0.1400",
    ]


@pytest.mark.parametrize(
    ("language", "partly", "wholly", "none"),
    [
        ("en", "Cost: $0.6500, without what has no known price", "Cost: unknown", "price unknown"),
        (
            "id",
            "Biaya: $0.6500, tanpa yang harganya tidak diketahui",
            "Biaya: tidak diketahui",
            "harga tidak diketahui",
        ),
        (
            "pt",
            "Custo: $0.6500, sem o que não tem preço conhecido",
            "Custo: desconhecido",
            "preço desconhecido",
        ),
    ],
)
def test_what_is_not_known_is_said_to_be_missing(language: str, partly: str, wholly: str, none: str) -> None:
    mixed, unknown = bill(language, [PRICED, UNPRICED], {}), bill(language, [UNPRICED], {})

    assert mixed[0] == partly
    assert unknown == [wholly, f"• somebody-elses-model · 8: 100 + 10 (1×), {none}"]


def test_where_nothing_was_used_nothing_is_said_of_money() -> None:
    assert bill("en", [], {}) == []
    assert prices_from("en", []) == ""


def test_a_long_bill_is_cut_but_all_of_it_is_in_the_sum() -> None:
    lines = bill("en", [PRICED] * (MOST_ROWS + 1), {})

    assert len(lines) == 1 + MOST_ROWS + 1
    assert lines[-1] == "…"
    assert lines[0] == f"Cost: {dollars(Decimal('0.65') * (MOST_ROWS + 1))}"


def test_it_says_of_which_days_the_prices_are() -> None:
    one, several = prices_from("en", [PRICED, UNPRICED]), prices_from("en", [OTHER, PRICED])

    assert one == "Prices of 2026-03-05; they may have changed."
    assert several == "Prices of 2026-03-05 – 2026-04-30; they may have changed."
    assert prices_from("en", [UNPRICED]) == ""


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "$0.0000"),
        ("0.00005", "$0.0001"),
        ("0.65", "$0.6500"),
        ("1.005", "$1.01"),
        ("12345", "$12,345.00"),
    ],
)
def test_dollars_are_for_people(amount: str, words: str) -> None:
    assert dollars(Decimal(amount)) == words
