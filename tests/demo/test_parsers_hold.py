"""The parsers answer every input with a text in bounds or a refusal, never with a crash."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.entities import detect, settle, utf16_length
from bot.demo.html import parse_html
from bot.demo.markdown import parse_markdown, parse_markdown_v2
from bot.demo.refusals import Refusal

MARKED = st.text(st.sampled_from(list("ab *_`[]()~|>!\\\n\r</bi>&#;=\"'é😀")), max_size=60)
KINDS = ["bold", "italic", "code", "pre", "spoiler", "blockquote", "underline"]
ENTITY = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS), "offset": st.integers(-1, 20), "length": st.integers(-1, 20)}
)


def in_bounds(text: str, entities: list[dict[str, Any]]) -> bool:
    size = utf16_length(text)
    return all(e["offset"] >= 0 and e["length"] > 0 and e["offset"] + e["length"] <= size for e in entities)


@pytest.mark.parametrize("parse", [parse_markdown_v2, parse_markdown, parse_html])
@given(source=MARKED)
def test_marked_text_parses_or_is_refused(
    parse: Callable[[str], tuple[str, list[dict[str, Any]]]], source: str
) -> None:
    try:
        text, entities = parse(source)
    except Refusal:
        return

    settled, kept = settle(text, entities)
    assert in_bounds(text, entities)
    assert in_bounds(settled, detect(settled, kept))


@given(
    text=st.text(st.sampled_from(list("ab \n\r\t😀é")), max_size=20), entities=st.lists(ENTITY, max_size=6)
)
def test_entities_settle_in_bounds_and_in_order_or_are_refused(
    text: str, entities: list[dict[str, Any]]
) -> None:
    try:
        settled, kept = settle(text, entities)
    except Refusal:
        return

    assert in_bounds(settled, kept)
    assert settled == settled.strip(" \n") or any(e["offset"] == 0 for e in kept)
    assert [e["offset"] for e in kept] == sorted(e["offset"] for e in kept)


@given(text=st.text(st.sampled_from(list("ab \n😀")), max_size=20), entities=st.lists(ENTITY, max_size=6))
def test_settling_twice_changes_nothing(text: str, entities: list[dict[str, Any]]) -> None:
    try:
        once = settle(text, entities)
    except Refusal:
        return

    assert settle(*once) == once
