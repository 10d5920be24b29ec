"""Markdown as Telegram shows it (T3, T6): the four guards of the facts, and nothing lost."""

import subprocess
import sys
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.telegram.render import Rendered, as_document, plain, preformatted, render, utf16_len


def shown(markdown: str) -> str:
    return "".join(part.text for part in render(markdown))


def styles(parts: Iterable[Rendered]) -> list[tuple[str, str, str]]:
    """Every entity as (kind, the text it covers, URL or language), read as the server reads it."""
    found = []
    for part in parts:
        units = part.text.encode("utf-16-le")
        for entity in part.entities:
            covered = units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")
            found.append((str(entity.type), covered, entity.url or entity.language or ""))
    return found


GOLDEN: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "bold, italic, code": (
        "**Disk** is _nearly_ full: `df -h`",
        "Disk is nearly full: df -h",
        [("bold", "Disk", ""), ("italic", "nearly", ""), ("code", "df -h", "")],
    ),
    "heading without an emoji": (
        "# Report\n\nAll well.",
        "Report\n\nAll well.",
        [("underline", "Report", ""), ("bold", "Report", "")],
    ),
    "nested list": (
        "1. one\n   - two\n     - three\n2. four",
        "1. one\n  • two\n    • three\n2. four",
        [],
    ),
    "tasks": ("- [ ] open\n- [x] done", "⬜ open\n✅ done", []),
    "fenced code": ("```py\nx = 1\n```\ndone", "x = 1\ndone", [("pre", "x = 1", "py")]),
    "code in a list item has its own lines": (
        "- item:\n  ```sh\n  ls\n  ```\n  more\n- next",
        "• item:\nls\nmore\n• next",
        [("pre", "ls", "sh")],
    ),
    "code on the line of its fence": (
        "```SELECT 1, 2;\nFROM t\n```",
        "1, 2;\nFROM t",
        [("pre", "1, 2;\nFROM t", "SELECT")],
    ),
    "code on the line of its fence and nothing under it": (
        "Run\n```ls -la\n```\nthen **go**",
        "Run\nls -la\nthen go",
        [("pre", "ls -la", ""), ("bold", "go", "")],
    ),
    "code on the line of its fence and blanks under it": (
        "```ls -la\n    \n```",
        "ls -la",
        [("pre", "ls -la", "")],
    ),
    "attributes of a fence": ("```rust,ignore\nx\n```", "x", [("pre", "x", "rust")]),
    "table": (
        "|name|size|\n|-|-|\n|`a`|10|\n",
        "name | size\n-----+-----\na    | 10",
        [("pre", "name | size\n-----+-----\na    | 10", "")],
    ),
    "link in a table": (
        "|a|\n|-|\n|[x](http://e.org/)|",
        "a                 \n------------------\n[x](http://e.org/)",
        [("pre", "a                 \n------------------\n[x](http://e.org/)", "")],
    ),
    "table that padding would blow up": (
        "a|b\n-|-\n" + "long " * 200 + "|\n" + "c|d\n" * 20,
        ("a|b\n-|-\n" + "long " * 200 + "|\n" + "c|d\n" * 20).strip(),
        [],
    ),
    "quote in a quote": ("> a\n> > b\n\nc", "a\nb\n\nc", [("blockquote", "a\nb", "")]),
    "long quote": ("> " + "x" * 300, "x" * 300, [("expandable_blockquote", "x" * 300, "")]),
    "right to left": (
        "مرحبا **عالم** `كود`",
        "مرحبا عالم كود",
        [("bold", "عالم", ""), ("code", "كود", "")],
    ),
    "emoji before entities": (
        "👨\u200d👩\u200d👧 **👍🏽** [😀 x](https://e.org)",
        "👨\u200d👩\u200d👧 👍🏽 😀 x",
        [("bold", "👍🏽", ""), ("text_link", "😀 x", "https://e.org")],
    ),
    "templates": (
        "std::vector<int> and Map<String, List<Integer>> or **<T>**",
        "std::vector<int> and Map<String, List<Integer>> or <T>",
        [("bold", "<T>", "")],
    ),
    "templates in code": (
        "`vector<int>`\n```c++\nMap<String, List<Integer>> x;\n```",
        "vector<int>\nMap<String, List<Integer>> x;",
        [("code", "vector<int>", ""), ("pre", "Map<String, List<Integer>> x;", "c++")],
    ),
    "html": (
        "<div>\n<b>x</b> <!-- y -->\n</div>\n\n<your-name>@example.com *a*",
        "<div>\n<b>x</b> <!-- y -->\n</div>\n\n<your-name>@example.com a",
        [("italic", "a", "")],
    ),
    "spoiler": ("||secret|| ok", "secret ok", [("spoiler", "secret", "")]),
    "shell operators": ("*a* || b || c, d||e||f", "a || b || c, d||e||f", [("italic", "a", "")]),
    "shell variables": ("*a* $HOME/$PATH, $5 and $6", "a $HOME/$PATH, $5 and $6", [("italic", "a", "")]),
    "formula": (r"$\alpha + \frac{a}{b}$", "α + a/b", [("code", "α + a/b", "")]),
    "formula in brackets": (r"**So** \(\alpha\)", "So α", [("bold", "So", ""), ("code", "α", "")]),
    "backslashes in code": (
        r"`sed 's/\(\alpha\)/x/'`",
        r"sed 's/\(\alpha\)/x/'",
        [("code", r"sed 's/\(\alpha\)/x/'", "")],
    ),
    "stars of globs and sums": (
        "**x** src/**/a.py t/**/b.py 2*3*4 a/*.py b/*.py __init__.py",
        "x src/**/a.py t/**/b.py 2*3*4 a/*.py b/*.py __init__.py",
        [("bold", "x", "")],
    ),
    "definitions": (
        "**x**\n\n[1]: http://e.org\n[^1]: note",
        "x\n\n[1]: http://e.org\n[^1]: note",
        [("bold", "x", "")],
    ),
    "rule": ("a\n\n---\n\nb", "a\n\n————————\n\nb", []),
    "line ends of Windows": ("**a**\r\nb\rc", "a\nb\nc", [("bold", "a", "")]),
    "only markup": ("> > >", "> > >", []),
    "noncharacters": ("\ufdd0 <b> *x* \ue000", "\ufdd0 <b> x \ue000", [("italic", "x", "")]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    markdown, text, entities = GOLDEN[name]

    parts = render(markdown)

    assert [part.text for part in parts] == [text]
    assert styles(parts) == entities


def test_md_local_path_link_is_text_with_its_path() -> None:
    parts = render(
        "[audit](/Users/foo/docs/audit.md), [x](./README.md), [y](#usage), [z](http://localhost:8080/)"
    )

    assert parts == [
        Rendered("audit (/Users/foo/docs/audit.md), x (./README.md), y (#usage), z (http://localhost:8080/)")
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://e.org",
        "HTTP://e.org/a?b=c&d#e",
        "https://e.org:27017/",
        "http://127.0.0.1:8080/",
        "https://münchen.de/",
        "tg://user?id=1",
        "ton://transfer/x",
    ],
)
def test_a_link_that_the_server_takes_stays_a_link(url: str) -> None:
    assert styles(render(f"[x]({url})")) == [("text_link", "x", url)]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:x",
        "ftp://e.org",
        "e.org",
        "//e.org",
        "https://",
        "https://localhost/",
        "https://e.org:99999/",
        "https://e.org:0/",
        "https://e..org/",
        "https://a@b@e.org/",
        "https://[::1/",
        "tg://a.b/",
        "mailto:a@e.org",
    ],
)
def test_a_link_that_the_server_refuses_shows_its_url(url: str) -> None:
    assert render(f"[x]({url})") == [Rendered(f"x ({url})")]


@pytest.mark.parametrize("markdown", ["[./a.md](./a.md)", "[a@e.org](mailto:a@e.org)"])
def test_a_url_that_is_the_text_already_is_not_said_twice(markdown: str) -> None:
    assert " (" not in shown(markdown)


def test_the_url_shown_is_inside_the_quote_around_it() -> None:
    assert styles(render("> see [x](./y)")) == [("blockquote", "see x (./y)", "")]


def test_a_picture_with_a_link_around_it_keeps_both_urls() -> None:
    parts = render("[![build](https://i.org)](https://l.org)")

    assert styles(parts) == [("text_link", "🖼 build (https://i.org)", "https://l.org")]


def test_a_link_without_a_text_is_shown_as_it_stands() -> None:
    assert shown("![](a.png) *x*") == "![](a.png) x"


def test_md_unbalanced_is_code_to_its_end() -> None:
    parts = render("text with parse_mode, _one and `two\n\n```py\nparse_mode = '`'\n  x = *y")

    assert [part.text for part in parts] == [
        "text with parse_mode, _one and `two\n\nparse_mode = '`'\n  x = *y"
    ]
    assert styles(parts) == [("pre", "parse_mode = '`'\n  x = *y", "py")]


def test_md_url_underscores_stay_byte_for_byte() -> None:
    markdown = "**See** https://e.org/NRR-JaUmg_hm7 and https://e.org/_a_b_c_ or https://e.org/*x*y&amp;z https://e.org/~me/_x_/"

    parts = render(markdown)

    assert parts[0].text == markdown.replace("**", "")
    assert styles(parts) == [("bold", "See", "")]


@pytest.mark.parametrize("around", ["**{}**", "({})", "_see {}_", "{}.", "~~{}~~", '"{}"', "|{}|"])
def test_markup_around_a_url_is_not_part_of_it(around: str) -> None:
    url = "https://en.wikipedia.org/wiki/_A_(b)_c"
    markdown = around.format(url)

    text = shown(markdown)

    assert text == markdown.strip("*~_" if "(" not in around else "")


def test_a_url_in_angle_brackets_is_a_link() -> None:
    assert styles(render("<https://e.org/a_b_c_>")) == [
        ("text_link", "https://e.org/a_b_c_", "https://e.org/a_b_c_")
    ]


def test_lone_surrogates_become_question_marks() -> None:
    assert shown("\ud800 **x** \udfff") == "? x ?"
    assert plain("\ud800")[0].text == "?"
    assert preformatted("\ud800").text == "?"
    assert as_document("\ud800é") == b"?\xc3\xa9"


def test_len_emoji_in_one_grapheme_after_another() -> None:
    text = "\U0001f600" * 5000

    parts = render(text)

    assert all(utf16_len(part.text) <= 4096 for part in parts)
    assert "".join(part.text for part in parts) == text


def test_len_silent_drop_keeps_every_paragraph() -> None:
    paragraphs = [f"**{number}** " + "All work and no play. " * 12 for number in range(23)]

    parts = render("\n\n".join(paragraphs))

    assert len(parts) == 2
    assert parts[0].text.endswith("\n\n")
    assert "".join(part.text for part in parts).split("\n\n") == [
        paragraph.replace("**", "").strip() for paragraph in paragraphs
    ]


def test_a_long_code_block_is_code_in_every_part() -> None:
    code = "\n".join(f"line_{number} = '{number}'" for number in range(600))

    parts = render(f"Here:\n\n```py\n{code}\n```\nThat's it.")

    assert len(parts) > 2
    assert "".join(part.text for part in parts) == f"Here:\n\n{code}\nThat's it."
    assert all(("py" in {entity.language for entity in part.entities}) for part in parts)
    assert "".join(text for kind, text, _ in styles(parts) if kind == "pre") == code


def test_more_entities_than_the_server_reads_go_into_further_parts() -> None:
    parts = render(" ".join(f"`{number}`" for number in range(200)))

    assert [len(part.entities) for part in parts] == [95, 95, 10]


def test_only_so_many_formulas_are_converted() -> None:
    assert shown(r"$\alpha$ " * 70) == ("α " * 64 + r"$\alpha$ " * 6).rstrip()
    assert shown(r"\(\alpha\) " * 65) == (r"(\alpha) " * 65).rstrip()


def test_a_caption_is_cut_at_its_own_limit() -> None:
    assert max(utf16_len(part.text) for part in render("**x** " + "word " * 900, limit=1024)) <= 1024


@pytest.mark.parametrize("markdown", ["", " \n", "\u200b"])
def test_nothing_to_see_is_no_message(markdown: str) -> None:
    assert render(markdown) == []


def test_plain_text_keeps_its_spaces() -> None:
    assert shown("a  b\n   c\n\n\n\nd") == "a  b\n   c\n\n\n\nd"


def test_line_ends_are_the_same_everywhere() -> None:
    assert shown("\r\na\r\nb\rc\r\n") == "a\nb\nc"
    assert plain("\r\na\r\nb\rc\r\n") == [Rendered("a\nb\nc")]


def test_plain_keeps_the_markup() -> None:
    assert plain("**x** `y\n") == [Rendered("**x** `y")]


def test_preformatted_is_one_block() -> None:
    assert styles([preformatted("echo 😀\n", "bash")]) == [("pre", "echo 😀\n", "bash")]


def test_preformatted_nothing_has_no_entity() -> None:
    assert preformatted("") == Rendered("")


def test_a_document_is_the_markdown_itself() -> None:
    assert as_document("**x**\n") == b"**x**\n"


def test_the_converter_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys; from bot.telegram.render import render; render('Hello, all is well.');"
        "print('telegramify_markdown' in sys.modules, 'regex' in sys.modules)"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed == "False False\n"


def test_the_converter_s_shared_settings_stay_as_they_were() -> None:
    from telegramify_markdown.config import get_runtime_config

    render("# x")

    assert get_runtime_config().markdown_symbol.heading_level_1 == "📌"


NASTY = [
    "1. ",
    "* 1. ",
    "> ",
    ">",
    "- ",
    "[a](",
    "![",
    "`a",
    "`a` ",
    "*a* ",
    "_a",
    "||a",
    "$1 ",
    "$$\\alpha ",
    "~a~ ",
]
NASTY += [
    "\\(",
    "\\[ \\alpha ",
    "<a",
    "&lt;",
    "https://a.b/(_",
    "[a]: b\n",
    "**",
    "```\na\n```\n",
    "|-|\n",
    "\ud800",
]
TALL_TABLE = "a" * 30_000 + "|b\n-|-\n" + "c|\n" * 11_000
DEEP_FORMULA = r"\(" + r"\frac{" * 10_000 + r"\)"


@pytest.mark.parametrize("length", [65_000, 262_144])
@pytest.mark.parametrize(
    "part", [*NASTY, TALL_TABLE, DEEP_FORMULA, "Some **bold** words and `code`.\n\n- a\n- b\n\n"]
)
def test_the_worst_answers_do_not_hold_up_the_bot(part: str, length: int) -> None:
    markdown = (part * (length // len(part) + 1))[:length]
    begun = time.process_time()

    parts = render(markdown)

    assert time.process_time() - begun < 1.5
    assert sum(len(part.text) for part in parts) < 5 * length


MARKUP = [
    "**",
    "*",
    "_",
    "__",
    "`",
    "``",
    "```",
    "\n```\n",
    "\n```py\n",
    "\n~~~",
    "~~",
    "~",
    "||",
    "|",
    "\n|-|-|\n",
]
MARKUP += [
    "[",
    "]",
    "](",
    "](http://a.b/",
    ")",
    "![",
    "]:",
    "<",
    ">",
    "</b>",
    "<b>",
    "<!--",
    "\n",
    "\n\n",
    "\n- ",
    "\n  - ",
]
MARKUP += [
    "\n1. ",
    "\n> ",
    "\n# ",
    "\n---\n",
    "\n    ",
    "\t",
    " ",
    "\\",
    "$",
    "$$",
    "\\alpha",
    "\\(",
    "\\)",
    "&",
    "&lt;",
]
MARKUP += ["https://x.y/", "!", "{", "}", "😀", "\u0301", "\u200d", "أ", "\r", "\x00", "\ufdd0", "\ue000"]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.none() | st.sampled_from(MARKUP), max_size=60), st.sampled_from([30, 4096]))
def test_no_word_is_lost_and_every_part_is_in_bounds(tokens: list[str | None], limit: int) -> None:
    words = iter(f"w{number}w" for number in range(99))
    tokens_with_words = [token or next(words) for token in tokens]

    parts = render("".join(tokens_with_words), limit=4096)
    cut = render("".join(tokens_with_words), limit=limit)

    whole = "".join(
        part.text + " ".join(f"{entity.url} {entity.language}" for entity in part.entities) for part in parts
    )
    assert [token for token in tokens_with_words if token.startswith("w") and token not in whole] == []
    assert_in_bounds(cut, limit)


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec=None) | st.sampled_from("*_`~[]()<>#|$\\&!-\n "), max_size=300))
def test_any_text_at_all_can_be_rendered(text: str) -> None:
    assert_in_bounds(render(text), 4096)
    assert_in_bounds(plain(text), 4096)


def assert_in_bounds(parts: list[Rendered], limit: int) -> None:
    for part in parts:
        assert part.text.strip()
        assert utf16_len(part.text) <= limit
        assert len(part.entities) <= 95
    for _, covered, _ in styles(parts):  # decoding fails on half a surrogate pair
        assert covered.strip()
