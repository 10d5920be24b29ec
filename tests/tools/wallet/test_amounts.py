"""X10: amounts are exact, or they are refused."""

from decimal import Context, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.errors import ToolError
from bot.tools.wallet.amounts import MOST_UNITS, plain, read_amount, show_amount

decimals = st.integers(0, 30)


@pytest.mark.parametrize(
    ("text", "places", "units"),
    [
        ("1", 18, 10**18),
        ("0.05", 18, 5 * 10**16),
        ("0.000001", 6, 1),
        ("12.500000", 6, 12_500_000),
        ("7", 0, 7),
        ("0.1", 1, 1),
    ],
)
def test_an_amount_is_read_exactly(text: str, places: int, units: int) -> None:
    assert read_amount(text, places) == units


@pytest.mark.parametrize(
    "text",
    "NaN nan Infinity inf 1e3 1E3 -1 +1 1,5 1_000 01 00.5 .5 5. 0x10 1.2.3 ١ １ 1/2 0 0.0 $5".split()
    + ["", " 1", "1 ", "1\n", "1 000", "9" * 101, "1.0000001", str(2**256)],
)
def test_what_can_be_read_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        read_amount(text, 6)

    assert raised.value.code == "InvalidArgs"


@given(st.integers(1, MOST_UNITS), decimals)
def test_what_is_shown_is_read_back(units: int, places: int) -> None:
    assert read_amount(show_amount(units, places), places) == units


@given(st.integers(1, MOST_UNITS), decimals)
def test_what_is_shown_is_the_number(units: int, places: int) -> None:
    assert Decimal(show_amount(units, places)) == Decimal((0, tuple(map(int, str(units))), -places))


@example("1" + "0" * 27 + "1", 0)
@given(st.text(max_size=30), st.integers(0, 18))
def test_a_text_is_an_amount_only_if_it_is_that_number(text: str, places: int) -> None:
    try:
        units = read_amount(text, places)
    except ToolError:
        return

    assert Decimal(text).scaleb(places, Context(prec=60)) == units > 0


@given(st.decimals(min_value=0, max_value=10**9, places=6, allow_nan=False))
def test_more_digits_than_the_token_has_are_refused(amount: Decimal) -> None:
    with pytest.raises(ToolError, match="digits after the point"):
        read_amount(f"{amount:f}1", 6)


def test_a_negative_difference_is_shown_as_one() -> None:
    assert show_amount(-5, 2) == "-0.05"


@pytest.mark.parametrize(
    ("amount", "text"), [("2.7500", "2.75"), ("100", "100"), ("1E+3", "1000"), ("0.0", "0")]
)
def test_a_number_is_plain(amount: str, text: str) -> None:
    assert plain(Decimal(amount)) == text
