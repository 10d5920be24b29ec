"""HTML: https://core.telegram.org/bots/api#html-style, errors of facts/telegram §3.1."""

import pytest

from bot.demo.html import parse_html
from bot.demo.refusals import Refusal
from tests.demo.test_markdown import spans


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("<b>b</b><strong>s</strong>", "bs", [("bold", "b"), ("bold", "s")]),
        ("<I>x</i>", "x", [("italic", "x")]),
        ("<i>a<u>b</u></i>", "ab", [("underline", "b"), ("italic", "ab")]),
        (
            '<tg-spoiler>a</tg-spoiler><span class="tg-spoiler">b</span>',
            "ab",
            [("spoiler", "a"), ("spoiler", "b")],
        ),
        ("a &lt; b &amp;&#33; &nbsp;", "a < b &! &nbsp;", []),
        ("<code>x</code>", "x", [("code", "x")]),
        ('<pre><code class="language-py">x</code></pre>', "x", [("pre", "x")]),
        ('<a href="http://a.io/?a=1&amp;b=2">t</a>', "t", [("text_link", "t")]),
        ('<a href="./x">t</a>', "t", []),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", "q")]),
        ("😀<b>b</b>", "😀b", [("bold", "b")]),
        ("<b></b>", "", []),
    ],
)
def test_html_gives_text_and_entities(source: str, text: str, found: object) -> None:
    parsed, entities = parse_html(source)

    assert (parsed, spans(parsed, entities)) == (text, found)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("é <x>", 'Unsupported start tag "x" at byte offset 3'),
        ("a <T>b", 'Unsupported start tag "t" at byte offset 2'),
        ("1 < 2", 'Unsupported start tag "" at byte offset 2'),
        ("vector<int", "Unclosed start tag at byte offset 6"),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<b>x</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ("<a href=x!y>t</a>", "Unexpected end of name token at byte offset 8"),
        ("<a =x>t</a>", 'Empty attribute name in the tag "a" at byte offset 0'),
        ("<a href", 'Unclosed start tag "a" at byte offset 0'),
        ("<a href ", 'Unclosed start tag "a" at byte offset 0'),
        ("<a href=", 'Unclosed start tag "a" at byte offset 0'),
        ('<tg-emoji emoji-id="x">y</tg-emoji>', "Invalid custom emoji identifier specified"),
        ('<a href="x', "Unclosed start tag at byte offset 0"),
    ],
)
def test_html_errors_have_the_servers_words(source: str, problem: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_html(source)

    assert caught.value.description == f"Bad Request: can't parse entities: {problem}"


def test_html_keeps_the_language_of_code() -> None:
    _, entities = parse_html('<pre><code class="language-py">x</code></pre>')

    assert entities == [{"type": "pre", "offset": 0, "length": 1, "language": "py"}]


def test_html_keeps_a_custom_emojis_id() -> None:
    _, entities = parse_html('<tg-emoji emoji-id="12">👍</tg-emoji>')

    assert entities == [{"type": "custom_emoji", "offset": 0, "length": 2, "custom_emoji_id": "12"}]


def test_half_a_surrogate_pair_by_reference_is_refused() -> None:
    with pytest.raises(Refusal, match="invalid Unicode characters after decoding HTML entities"):
        parse_html("&#xd83d;")
