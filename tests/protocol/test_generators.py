"""Inputs made to be slow: the work grows no faster than the text (P5)."""

import pytest

from bench.protocol import GENERATORS
from bench.protocol import TOOLS as BENCH_TOOLS
from tests.protocol.reading import pieces, read, shown_by_spans

SMALL, LARGE = 16 * 1024, 64 * 1024


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("chunk", [7, 4096])
def test_four_times_the_text_is_less_than_six_times_the_steps(name: str, chunk: int) -> None:
    small, large = (
        read(pieces(GENERATORS[name](size), chunk), tools=BENCH_TOOLS).steps for size in (SMALL, LARGE)
    )

    assert large / small < 6


@pytest.mark.parametrize("name", GENERATORS)
def test_the_steps_are_fewer_than_a_few_a_character(name: str) -> None:
    steps = read(pieces(GENERATORS[name](LARGE), 4096), tools=BENCH_TOOLS).steps

    assert steps < 4 * LARGE


@pytest.mark.parametrize("name", GENERATORS)
def test_a_hostile_text_is_read_the_same_in_pieces(name: str) -> None:
    text = GENERATORS[name](4 * 1024)

    whole = read(text, tools=BENCH_TOOLS)

    assert read(pieces(text, 5), tools=BENCH_TOOLS).result == whole.result
    assert shown_by_spans(text, whole.hidden) == whole.text


def test_only_the_generators_of_real_calls_make_calls() -> None:
    called = {name for name, make in GENERATORS.items() if read(make(SMALL), tools=BENCH_TOOLS).calls}

    assert called == {"small_calls", "one_big_call"}
