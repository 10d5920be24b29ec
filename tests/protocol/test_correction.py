"""What the model is told about a call that did not run (P10)."""

import pytest

from bot.protocol import MAX_ATTEMPTS, correction
from bot.protocol.describe import FRAME
from tests.protocol.more_cases import EVERY
from tests.protocol.reading import TOOLS, read

BROKEN = read('<tool_use>{"name":"run_in_terminal","arguments":{"command":"echo "a""}}</tool_use>').problems[
    0
]
UNKNOWN = read('<tool_use>{"name":"exec","arguments":{}}</tool_use>').problems[0]
CUT = read('<tool_use>{"name":"run_in_terminal","arguments":{"command":"rm').problems[0]
NEEDS = read('<tool_use>{"name":"run_in_terminal","arguments":["ls"]}</tool_use>').problems[0]


def test_p10_it_gives_reason_place_text_form_and_attempt() -> None:
    text = correction(BROKEN, attempt=2, tools=TOOLS)

    assert f"attempt 2 of {MAX_ATTEMPTS}" in text
    assert 'must be written \\"' in text
    assert f"(character {BROKEN.position})" in text
    assert 'echo "a' in text
    assert f"`{FRAME}`" in text


def test_the_schema_of_the_tool_that_was_meant_is_given() -> None:
    assert "The arguments of run_in_terminal: `{" in correction(NEEDS, attempt=1, tools=TOOLS)


def test_an_unknown_tool_gets_the_list_of_tools() -> None:
    text = correction(UNKNOWN, attempt=1, tools=TOOLS)

    assert "there is no tool 'exec'" in text
    assert "The tools: list_containers," in text


def test_a_cut_call_is_to_be_sent_shorter() -> None:
    assert "shorter" in correction(CUT, attempt=1, tools=TOOLS)


def test_calls_that_ran_are_named_so_that_they_are_not_sent_again() -> None:
    text = correction(CUT, attempt=1, tools=TOOLS, ran=["read_file path=a"])

    assert "must not be sent again: read_file path=a." in text
    assert "Nothing in that message was run." not in text


def test_without_calls_it_says_that_nothing_ran() -> None:
    assert "Nothing in that message was run." in correction(CUT, attempt=1, tools=TOOLS)


@pytest.mark.parametrize("row", [row for row in EVERY if row[4]], ids=[row[0] for row in EVERY if row[4]])
def test_a_correction_repeated_by_the_model_is_no_call(row: tuple[str, str, object, object, str]) -> None:
    text = correction(read(row[1]).problems[0], attempt=1, tools=TOOLS)

    outcome = read(text)

    assert outcome.calls == ()
    assert outcome.codes == []


def test_the_excerpt_is_at_most_sixty_characters() -> None:
    for row in EVERY:
        assert all(len(problem.excerpt) <= 60 for problem in read(row[1]).problems)
