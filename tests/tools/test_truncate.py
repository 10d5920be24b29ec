"""R4: what the model reads of a long text."""

from hypothesis import given
from hypothesis import strategies as st

from bot.tools import truncate

LINES = "".join(f"line {n}\n" for n in range(1000))


def test_what_fits_is_left_alone() -> None:
    assert truncate("x" * 2000, 2000) == "x" * 2000


def test_beginning_and_end_are_kept_in_whole_lines() -> None:
    cut = truncate(LINES, 300).splitlines()

    assert cut[0] == "line 0"
    assert cut[-1] == "line 999"
    assert all(line.startswith(("line ", "[…")) for line in cut)


def test_the_end_gets_more_than_the_beginning() -> None:
    head, _, tail = truncate(LINES, 300).partition("[…")

    assert len(tail) > len(head)


def test_the_total_size_is_stated() -> None:
    assert f"of {len(LINES)} characters left out …]\n" in truncate(LINES, 300)


def test_one_long_line_is_cut_inside() -> None:
    cut = truncate("a" * 500 + "b" * 500, 90)

    assert cut == "a" * 30 + "\n[… 910 of 1000 characters left out …]\n" + "b" * 60


@given(st.text(), st.integers(0, 50))
def test_nothing_but_the_ends_is_shown_and_the_count_is_right(text: str, limit: int) -> None:
    cut = truncate(text, limit)

    if len(text) > limit:
        left_out = int(cut.split("[… ")[-1].split(" ")[0]) if text.count("[… ") == 0 else None
        head, _, tail = cut.rpartition(f" of {len(text)} characters left out …]\n")
        assert text.endswith(tail)
        assert text.startswith(head.rpartition("[… ")[0].removesuffix("\n"))
        assert len(cut) <= limit + 60
        assert left_out is None or left_out >= len(text) - limit
    else:
        assert cut == text
