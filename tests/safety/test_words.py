"""Words as far as they are known."""

import pytest

from bot.safety import words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        (r"a\ b", "a b"),
        (r"\*", "*"),
        ("*.py", words.STAR + ".py"),
        ("a?", "a" + words.MARK),
    ],
)
def test_unquoted_text_loses_its_escapes_and_marks_its_globs(text: str, value: str) -> None:
    assert words.read_unquoted(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\x72\155", "rm"),
        (r"\u0041\n", "A\n"),
        (r"\'", "'"),
        (r"\cA", "\x01"),
        (r"\q", r"\q"),
    ],
)
def test_ansi_c_text_is_read_like_bash_does(text: str, value: str) -> None:
    assert words.read_ansi_c(text) == value


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{a,b}", ["a", "b"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{a,{b,c}}", ["a", "b", "c"]),
        ("{a}", ["{a}"]),
        ("{}", ["{}"]),
        ("f{1..3}", ["f" + words.NUM]),
        ("a,b", ["a,b"]),
    ],
)
def test_braces_become_words(text: str, expanded: list[str]) -> None:
    found = words.expand_braces(words.read_unquoted(text))

    assert set(found) == set(expanded)


def test_braces_that_make_a_million_words_are_not_tried_out() -> None:
    word = words.read_unquoted("{a,b}" * 30)

    assert words.expand_braces(word) == [words.SPLIT]


def test_braces_that_make_too_many_words_become_unknown() -> None:
    assert words.SPLIT in words.expand_braces(words.read_unquoted("{a,b}" * 10))


def test_what_is_not_known_shows_as_dots() -> None:
    assert words.show(words.HOME + "/" + words.ANY + words.STAR) == "~/…*"


def test_a_quoted_unknown_first_letter_may_be_an_option() -> None:
    assert words.may_be_option(words.ANY)
    assert words.may_be_option("x" + words.SPLIT)
    assert not words.may_be_option("x" + words.ANY)
    assert not words.may_be_option(words.PATH)
