"""What a text may not hold."""

import pytest

from bot.safety import Risk, classify
from bot.safety.prescreen import screen


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ls \x00", "hidden control characters"),
        ("ls\r", "hidden control characters"),
        ("ls \x1b[2K", "hidden control characters"),
        ("ls \x7f", "hidden control characters"),
        ("ls\u200b", "hidden or look-alike characters"),
        ("ls \u202e", "hidden or look-alike characters"),
        ("ls\u00a0-la", "hidden or look-alike characters"),
        ("ls \u3164", "hidden or look-alike characters"),
        ("ls \ud800", "the text is not valid Unicode"),
        ("r\\\nm x", "a word is broken over two lines"),
        ("find . -ex\\\nec id", "a word is broken over two lines"),
        ("echo `a\\`b", "back-quotes together with backslashes can't be read for certain"),
        ("cat <<A\n`id`\nA", "back-quotes together with a here-document can't be read for certain"),
        ("ls" + " " * 100 + "x", "text hidden behind a long gap"),
        ("ls" + "\n" * 40 + "x", "text hidden behind a long gap"),
        ("x" * 4097, "the command is too long to be read on a card"),
    ],
)
def test_a_text_that_hides_something_is_refused(text: str, sentence: str) -> None:
    assert sentence in [found for found, _ in screen(text)]


@pytest.mark.parametrize(
    "text",
    [
        "echo 'olá, мир, 你好'",
        "docker ps \\\n  --all",
        "a &&\\\nb",
        "echo done ✅",
        "cat <<EOF\n" + "line\n" * 1000 + "EOF",
        "echo a\tb",
    ],
)
def test_an_ordinary_text_passes(text: str) -> None:
    assert list(screen(text)) == []


@pytest.mark.parametrize(
    "command",
    [
        "z=${y:+a}\\\nls rm -rf /srv",
        "z=$(id)\\\nls rm -rf /srv",
        "ls &\\\n& rm x",
        "cat >\\\n(rm x)",
        "ls {a,\\\nb}",
    ],
)
def test_a_line_that_goes_on_within_a_word_is_high(command: str) -> None:
    assert classify(command).risk is Risk.HIGH


@pytest.mark.parametrize(
    "command", ["ls |\\\nwc", "ls &&\\\n  wc", "ls \\\n-l", "(ls)\\\n && wc", "wc <\\\n x"]
)
def test_a_line_that_goes_on_between_words_is_not(command: str) -> None:
    assert classify(command).risk is Risk.LOW
