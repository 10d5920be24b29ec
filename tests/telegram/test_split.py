"""Cutting texts into messages (T3)."""

import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.telegram.split import MAX_ENTITIES, Piece, Span, is_blank, split, utf16_len

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
GRAPHEMES = ["a", "é", "e\u0301\u0302", "🇮🇩", FAMILY, "👍🏽", "1\ufe0f\u20e3", "क्षि", "\U0001f600", "한", "م"]


def texts(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def graphemes(text: str) -> list[str]:
    return list(regex.findall(r"\X", text))


def test_a_short_text_is_one_piece() -> None:
    assert split("hello", [Span(0, 5, "bold")]) == [Piece("hello", (Span(0, 5, "bold"),))]


@pytest.mark.parametrize("text", ["", "\n\n", " \t", "\u200b\u2060"])
def test_nothing_to_see_is_no_piece(text: str) -> None:
    assert split(text) == []


def test_a_text_of_just_the_limit_is_not_cut() -> None:
    assert texts(split("a" * 4094 + "😀")) == ["a" * 4094 + "😀"]


def test_one_unit_more_is_cut() -> None:
    assert [utf16_len(text) for text in texts(split("a" * 4095 + "😀"))] == [4095, 2]


def test_a_paragraph_end_is_the_best_place() -> None:
    text = "one two\nthree\n\nfour\nfive six seven"

    assert texts(split(text, limit=26)) == ["one two\nthree\n\n", "four\nfive six seven"]


def test_a_line_end_is_better_than_a_space() -> None:
    assert texts(split("one two\nthree four five", limit=14)) == ["one two\n", "three four ", "five"]


def test_a_space_is_better_than_the_middle_of_a_word() -> None:
    assert texts(split("alpha beta gamma", limit=14)) == ["alpha beta ", "gamma"]


def test_an_early_line_end_is_better_than_the_middle_of_a_word() -> None:
    assert texts(split("see\n" + "x" * 12, limit=14)) == ["see\n", "x" * 12]


def test_len_silent_drop_paragraphs_come_in_order_and_whole() -> None:
    paragraph = "All work and no play makes a dull day. " * 7
    text = "\n\n".join(f"{number}. {paragraph.strip()}" for number in range(23))[:6148]

    pieces = texts(split(text))

    assert len(pieces) == 2
    assert "".join(pieces) == text
    assert pieces[0].endswith("\n\n")


def test_len_emoji_never_cuts_a_surrogate_pair() -> None:
    text = "\U0001f600" * 5000

    pieces = texts(split(text))

    assert [utf16_len(piece) for piece in pieces] == [4096, 4096, 1808]
    assert "".join(pieces) == text


@pytest.mark.parametrize("grapheme", GRAPHEMES)
def test_a_grapheme_is_never_torn(grapheme: str) -> None:
    text = grapheme * 100

    pieces = texts(split(text, limit=50))

    assert "".join(pieces) == text
    assert all(set(graphemes(piece)) == {grapheme} for piece in pieces)


@pytest.mark.parametrize("before", ["", "x"])
def test_a_long_run_of_flags_is_cut_between_flags(before: str) -> None:
    pieces = texts(split(before + "🇮🇩" * 3000))

    assert {grapheme for piece in pieces for grapheme in graphemes(piece)} == {"🇮🇩", *before}


def test_a_space_that_carries_a_mark_is_no_place_to_cut() -> None:
    assert texts(split("one two \u0301three four", limit=12)) == ["one ", "two \u0301three ", "four"]


def test_a_grapheme_longer_than_a_piece_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 30

    pieces = texts(split(text, limit=10))

    assert "".join(pieces) == text
    assert max(map(len, pieces)) == 10


def test_a_long_grapheme_is_kept_whole_when_it_fits_in_the_next_piece() -> None:
    grapheme = "e" + "\u0301" * 300

    assert texts(split("a" * 100 + grapheme, limit=380)) == ["a" * 100, grapheme]


def test_a_code_block_that_fits_in_one_piece_stays_whole() -> None:
    text = "intro words\n\n" + "line\n" * 5 + "end"
    block = Span(13, 37, "pre", "py")

    pieces = split(text, [block], limit=30)

    assert texts(pieces) == ["intro words\n\n", "line\n" * 5 + "end"]
    assert pieces[1].spans == (Span(0, 24, "pre", "py"),)


def test_a_cut_before_a_code_block_is_better_than_one_inside() -> None:
    text = "words words\ncode\n\ncode\ntail tail tail tail tail"
    block = Span(12, 22, "pre")

    assert texts(split(text, [block], limit=24)) == [
        "words words\n",
        "code\n\ncode\ntail tail ",
        "tail tail tail",
    ]


def test_a_long_code_block_is_cut_between_lines_and_keeps_its_language() -> None:
    text = "x = 1\n" * 20

    pieces = split(text, [Span(0, 120, "pre", "py")], limit=50)

    assert texts(pieces) == ["x = 1\n" * 8, "x = 1\n" * 8, "x = 1\n" * 4]
    assert [piece.spans for piece in pieces] == [(Span(0, len(piece.text), "pre", "py"),) for piece in pieces]


def test_a_long_code_block_does_not_begin_at_the_foot_of_a_piece() -> None:
    intro = "w" * 35 + "\n"
    text = intro + "x = 1\n" * 20

    pieces = split(text, [Span(36, len(text), "pre")], limit=45)

    assert pieces[0] == Piece(intro)


def test_a_long_code_block_begins_where_there_is_room_for_it() -> None:
    text = "intro\n" + "x = 1\n" * 20

    pieces = split(text, [Span(6, len(text), "pre")], limit=48)

    assert pieces[0] == Piece("intro\n" + "x = 1\n" * 7, (Span(6, 48, "pre"),))


def test_a_span_over_a_cut_goes_on_in_the_next_piece() -> None:
    pieces = split("one two three", [Span(4, 13, "bold")], limit=8)

    assert pieces == [Piece("one two ", (Span(4, 8, "bold"),)), Piece("three", (Span(0, 5, "bold"),))]


def test_a_span_with_nothing_but_blanks_left_is_dropped() -> None:
    assert split("one \ntwo", [Span(3, 8, "bold")], limit=5) == [
        Piece("one \n"),
        Piece("two", (Span(0, 3, "bold"),)),
    ]


def test_more_spans_than_the_server_reads_go_into_a_further_piece() -> None:
    text = "ab " * 200

    pieces = split(text, [Span(at, at + 2, "code") for at in range(0, 600, 3)])

    assert [len(piece.spans) for piece in pieces] == [95, 95, 10]
    assert "".join(texts(pieces)) == text


def test_spans_within_their_own_kind_are_dropped() -> None:
    nested = [Span(0, 9, "blockquote"), Span(2, 5, "expandable_blockquote"), Span(2, 5, "bold")]

    assert split("some text", nested)[0].spans == (nested[0], nested[2])


def test_a_thousand_spans_on_one_word_do_not_stall() -> None:
    pieces = split("word", [Span(0, 4, "bold")] * 1000)

    assert pieces == [Piece("word", (Span(0, 4, "bold"),))]


@pytest.mark.parametrize("part", ["a", "word ", "😀", "🇮🇩", "e\u0301", " \u0301", "\u0301", "\n", "line\n"])
def test_a_quarter_of_a_megabyte_takes_less_than_a_second(part: str) -> None:
    text = (part * 262_144)[:262_144]
    begun = time.perf_counter()

    split(text, [Span(0, len(text), "pre")])

    assert time.perf_counter() - begun < 1


CHUNKS = st.sampled_from([*GRAPHEMES, " ", "\n", "\n\n", "\u200d", "\u0301", "word", "\U0001f1ee", "\ud800"])


@st.composite
def formatted(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = "".join(draw(st.lists(CHUNKS, max_size=120)))
    place = st.integers(0, len(text))
    kinds = st.sampled_from(["bold", "italic", "pre", "code", "blockquote", "text_link"])
    spans = draw(st.lists(st.builds(Span, place, place, kinds), max_size=130))
    return text, spans


@settings(deadline=None)
@given(formatted(), st.integers(8, 60))
def test_every_piece_is_in_bounds_and_nothing_visible_is_lost(
    page: tuple[str, list[Span]], limit: int
) -> None:
    text, spans = page

    pieces = split(text, spans, limit=limit)

    rest = text
    for piece in pieces:
        skipped, _, rest = rest.partition(piece.text)
        assert is_blank(skipped)
        assert not is_blank(piece.text)
        assert utf16_len(piece.text) <= limit
        assert len(piece.spans) <= MAX_ENTITIES
        assert all(0 <= span.start < span.end <= len(piece.text) for span in piece.spans)
    assert is_blank(rest)
