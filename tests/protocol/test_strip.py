"""Text of clients whose model leaks markup into its answer (P11)."""

import pytest

from bot.protocol import strip
from tests.protocol.reading import TOOLS, read

CALL = '<tool_use>{"name":"list_containers","arguments":{}}</tool_use>'


def test_a_text_without_markup_comes_back_as_it_is() -> None:
    text = '  Halo\n\n\n```json\n{"name": "app"}\n```\n\n a < b  '

    assert strip(text, TOOLS) == text


def test_calls_and_failed_calls_are_taken_out() -> None:
    assert strip(f'a {CALL}b <tool_use>{{"name" 1}}</tool_use>c', TOOLS) == "a b c"


def test_a_quoted_call_stays() -> None:
    text = f"`{CALL}`"

    assert strip(text, TOOLS) == text


def test_the_blank_lines_around_what_was_taken_out_become_one() -> None:
    assert strip(f"a\n\n{CALL}\n\nb\n\n\nc", TOOLS) == "a\n\nb\n\n\nc"


def test_thinking_and_made_up_results_are_taken_out() -> None:
    assert strip("<think>x</think>a<tool_response>y</tool_response>b", TOOLS) == "ab"


@pytest.mark.parametrize("depth", [1, 3, 30])
def test_markup_that_forms_from_its_own_sides_is_taken_out_or_broken(depth: int) -> None:
    text = CALL
    for _ in range(depth):
        text = text.replace("<tool_use>", "<tool_<think>x</think>use>", 1)
        text = text.replace("<think>", "<thi<think>y</think>nk>", 1)

    clean = strip(text, TOOLS)

    assert read(clean).calls == ()
    assert strip(clean, TOOLS) == clean
