"""Every sentence the code asks for exists, in every language, with the same placeholders."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import bot
from bot.texts import LANGUAGES, TEXTS, say

SOURCES = sorted(Path(bot.__file__).parent.rglob("*.py"))
BUILT = ("card_", "toast_", "status_", "help_", "llm_")
"""Beginnings of keys that the code puts together."""


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def said() -> Iterator[tuple[str, str, int, set[str] | None]]:
    """Yield (key, file, line, names of the values given) for each `say` with a literal key."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"):
                continue
            key = node.args[1] if len(node.args) > 1 else None
            keys = [key.body, key.orelse] if isinstance(key, ast.IfExp) else [key]
            given = {keyword.arg for keyword in node.keywords if keyword.arg}
            dynamic = any(keyword.arg is None for keyword in node.keywords)
            for one in keys:
                if isinstance(one, ast.Constant):
                    yield str(one.value), path.name, node.lineno, None if dynamic else given


SAID = list(said())
LITERALS = {
    node.value
    for path in SOURCES
    if path.name != "texts.py"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}


def test_the_scan_finds_what_the_code_says() -> None:
    assert len(SAID) > 20


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_every_row_has_english_and_no_unknown_language(key: str) -> None:
    assert "en" in TEXTS[key]
    assert set(TEXTS[key]) <= set(LANGUAGES)


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_all_languages_have_the_same_placeholders(key: str) -> None:
    row = TEXTS[key]

    assert {language: placeholders(text) for language, text in row.items()} == dict.fromkeys(
        row, placeholders(row["en"])
    )


def test_what_people_read_is_in_every_language() -> None:
    for_the_model = ("result_", "notice_", "stopped_by_person", "failed_inside", "turn_ended")

    missing = [
        k for k, row in TEXTS.items() if set(row) != set(LANGUAGES) and not k.startswith(for_the_model)
    ]

    assert missing == []


@pytest.mark.parametrize(("key", "file", "line", "given"), SAID)
def test_every_sentence_the_code_says_exists_and_gets_its_values(
    key: str, file: str, line: int, given: set[str] | None
) -> None:
    assert key in TEXTS, f"{file}:{line}"
    if given is not None:
        assert placeholders(TEXTS[key]["en"]) <= given, f"{file}:{line}"


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_no_sentence_is_left_over(key: str) -> None:
    assert key in LITERALS or key.startswith(BUILT)


def test_a_language_without_a_translation_falls_back_to_english() -> None:
    assert say("id", "notice_empty") == TEXTS["notice_empty"]["en"]
    assert say("xx", "stopped") == "Stopped."


def test_a_sentence_is_said_in_the_language_asked_for() -> None:
    assert say("pt", "result_denied", name="Ana") == "Not run: Ana said no."
    assert say("pt", "stopped") == "Parado."


def test_braces_in_a_value_are_no_placeholders() -> None:
    assert say("en", "dropped", messages="{x}").endswith("{x}")


def test_an_unknown_sentence_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("en", "no_such_sentence")


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("en", "dropped")
