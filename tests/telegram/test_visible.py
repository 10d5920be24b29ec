"""What a person reads on a card is what will run."""

import string

import pytest

from bot.telegram.render import visible


def test_plain_characters_and_line_breaks_stay() -> None:
    text = string.ascii_letters + string.digits + string.punctuation + " \n" + "é漢한ي😀"

    assert visible(text) == text


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        ("\x00", "␀"),
        ("\x1b", "␛"),
        ("\r", "␍"),
        ("\t", "␉"),
        ("\x7f", "␡"),
        ("\x85", "⟨U+0085⟩"),
        ("\u202e", "⟨U+202E⟩"),
        ("\u2066", "⟨U+2066⟩"),
        ("\u200b", "⟨U+200B⟩"),
        ("\u200d", "⟨U+200D⟩"),
        ("\ufeff", "⟨U+FEFF⟩"),
        ("\u00ad", "⟨U+00AD⟩"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("\u3000", "⟨U+3000⟩"),
        ("\u2028", "⟨U+2028⟩"),
        ("\u3164", "⟨U+3164⟩"),
        ("\u2800", "⟨U+2800⟩"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("\U000e0101", "⟨U+E0101⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\ue000", "⟨U+E000⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_what_cannot_be_seen_is_shown(char: str, shown: str) -> None:
    assert visible(f"rm{char}x") == f"rm{shown}x"


@pytest.mark.parametrize("mark", ["␛", "⟨", "⟩"])
def test_a_mark_that_was_in_the_text_is_told_from_ours(mark: str) -> None:
    assert visible(mark) == f"⟨U+{ord(mark):04X}⟩"


def test_a_long_run_of_blanks_cannot_push_the_tail_away() -> None:
    assert visible("ls" + " " * 300 + "; rm") == "ls⟨300 spaces⟩; rm"
    assert visible("ls" + "\n" * 40 + "rm") == "ls\n⟨40 line breaks⟩\nrm"


def test_indentation_stays() -> None:
    assert visible("if x:\n        y\n\n\nz") == "if x:\n        y\n\n\nz"
