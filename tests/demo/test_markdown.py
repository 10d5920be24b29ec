"""https://core.telegram.org/bots/api#markdownv2-style, with the errors of facts/telegram §3.1."""

from typing import Any

import pytest

from bot.demo.markdown import parse_markdown, parse_markdown_v2
from bot.demo.refusals import Refusal


def spans(text: str, entities: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (
            e["type"],
            text.encode("utf-16-le")[e["offset"] * 2 : (e["offset"] + e["length"]) * 2].decode("utf-16-le"),
        )
        for e in entities
    ]


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("*bold*", "bold", [("bold", "bold")]),
        ("_it_ __un__ ~st~ ||sp||", "it un st sp", None),
        (
            "*bold _italic bold_*",
            "bold italic bold",
            [("italic", "italic bold"), ("bold", "bold italic bold")],
        ),
        ("`a*b_c`", "a*b_c", [("code", "a*b_c")]),
        ("```python\nx = 1\n```", "x = 1\n", [("pre", "x = 1\n")]),
        ("😀 *b*", "😀 b", [("bold", "b")]),
        (r"1\. a\-b \\ \_", "1. a-b \\ _", []),
        ("[t](https://a.io/x_y)", "t", [("text_link", "t")]),
        ("[t](./local.md)", "t", []),
        (">quote\n>more\nafter", "quote\nmore\nafter", [("blockquote", "quote\nmore\n")]),
        (">long||", "long", [("expandable_blockquote", "long")]),
        ("**", "", []),
    ],
)
def test_markdown_v2_gives_text_and_entities(
    source: str, text: str, found: list[tuple[str, str]] | None
) -> None:
    parsed, entities = parse_markdown_v2(source)

    assert parsed == text
    if found is not None:
        assert spans(parsed, entities) == found


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("a.b", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("a-b", "Character '-' is reserved and must be escaped with the preceding '\\'"),
        ("a!", "Character '!' is reserved and must be escaped with the preceding '\\'"),
        ("a | b", "Character '|' is reserved and must be escaped with the preceding '\\'"),
        ("a > b", "Character '>' is reserved and must be escaped with the preceding '\\'"),
        ("é *bold", "Can't find end of Bold entity at byte offset 3"),
        ("_it", "Can't find end of Italic entity at byte offset 0"),
        ("x `code", "Can't find end of Code entity at byte offset 2"),
        ("```py\nx", "Can't find end of PreCode entity at byte offset 0"),
        ("```\nx", "Can't find end of Pre entity at byte offset 0"),
        ("||sp", "Can't find end of Spoiler entity at byte offset 0"),
        ("[t", "Can't find end of TextUrl entity at byte offset 0"),
        ("[t](http://a", "Can't find end of a URL at byte offset 4"),
        ("*a _b* c_", "Can't find end of Italic entity at byte offset 8"),
        (">a *b\nc*", "Can't find end of Bold entity at byte offset 3"),
        ("![x](http://a.io)", "Invalid tg://emoji or tg://time URL specified"),
        (">*a||\nb", "Can't find end of Bold entity at byte offset 1"),
        ("![x]", "The entity must contain a tg://emoji or tg://time URL"),
    ],
)
def test_markdown_v2_errors_have_the_servers_words(source: str, problem: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_markdown_v2(source)

    assert caught.value.description == f"Bad Request: can't parse entities: {problem}"


def test_markdown_v2_keeps_the_language_of_code() -> None:
    _, entities = parse_markdown_v2("```rust\nfn\n```")

    assert entities[0]["language"] == "rust"


def test_markdown_v2_keeps_a_custom_emojis_id() -> None:
    _, entities = parse_markdown_v2("![👍](tg://emoji?id=12)")

    assert entities == [{"type": "custom_emoji", "offset": 0, "length": 2, "custom_emoji_id": "12"}]


def test_markdown_v2_names_a_user_by_a_link() -> None:
    _, entities = parse_markdown_v2("[Al](tg://user?id=7)")

    assert entities == [{"type": "text_mention", "offset": 0, "length": 2, "user_id": 7}]


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("*b* _i_ `c`", "b i c", [("bold", "b"), ("italic", "i"), ("code", "c")]),
        ("[t](http://a.io)", "t", [("text_link", "t")]),
        (r"a\_b", "a_b", []),
        ("```py\nx```", "x", [("pre", "x")]),
        ("a.b-c!", "a.b-c!", []),
    ],
)
def test_legacy_markdown_gives_text_and_entities(source: str, text: str, found: object) -> None:
    parsed, entities = parse_markdown(source)

    assert (parsed, spans(parsed, entities)) == (text, found)


def test_legacy_markdown_names_the_byte_of_an_open_mark() -> None:
    with pytest.raises(Refusal, match="Can't find end of the entity starting at byte offset 3"):
        parse_markdown("é _x")
