"""Strict first, then structure only; strings are never mended, nothing is ever guessed (P2, P6, P7)."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.protocol.json_reader import Scanner, UnreadableError, read

MENDED = [
    ('{"a": 1,}', {"a": 1}),
    ('{"a": [1, 2,]}', {"a": [1, 2]}),
    ("{'a': 'x'}", {"a": "x"}),
    ('{“a”: “x "y” }', {"a": 'x "y'}),
    ('{a: "x", b_c: 1}', {"a": "x", "b_c": 1}),
    ('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}),
    ('{"a": 1 // one\n, "b": /* two */ 2}', {"a": 1, "b": 2}),
    ('{"a": "x\ty\nz"}', {"a": "x\ty\nz"}),
    ('{"a": "\\$HOME \\d+"}', {"a": "\\$HOME \\d+"}),
    ('{"a": "it\\\'s"}', {"a": "it's"}),
    ("{'a': 'True \\\\n None'}", {"a": "True \\n None"}),
    ("{'a': '\\u00e9\\ud83d\\ude80'}", {"a": "é🚀"}),
]


@pytest.mark.parametrize(("text", "value"), MENDED, ids=[text for text, _ in MENDED])
def test_structure_is_mended_and_flagged(text: str, value: object) -> None:
    reading = read(text)

    assert reading.value == value
    assert reading.repaired


REFUSED = [
    ('{"a": 1, "a": 2}', "duplicate_key"),
    ('{"x": {"a": 1, "a": 2}}', "duplicate_key"),
    ("{'a': 1, \"a\": 2}", "duplicate_key"),
    ('{"a": NaN}', "not_a_number"),
    ('{"a": -Infinity}', "not_a_number"),
    ('{"a": 1e999}', "not_a_number"),
    ('{"a": "\\ud83d"}', "bad_escape"),
    ('{"a": "\\u12"}', "bad_escape"),
    ('{"a" 1}', "no_colon"),
    ('{"a"=1}', "no_colon"),
    ('{"a": }', "no_value"),
    ('{"a": "x" "y"}', "after_value"),
    ('{"a": "echo "hi""}', "after_value"),
    ('{"a": ls}', "unquoted"),
    ('{"a": 01}', "unquoted"),
    ('{"a": +1}', "unquoted"),
    ("{,}", "no_key"),
    ("[1,,2]", "unquoted"),
    ('{"a": [1}', "after_value"),
    ('{"a": "x', "string_open"),
    ('{"a": 1', "incomplete"),
    ('{"a": 1} x', "trailing"),
    ('{"a": 1 /* x', "unquoted"),
    ("", "incomplete"),
    ("[" * 129 + "]" * 129, "too_deep"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text[:30] for text, _ in REFUSED])
def test_what_would_take_a_guess_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(text)

    assert caught.value.reason == reason


def test_the_place_of_the_fault_is_given() -> None:
    with pytest.raises(UnreadableError) as caught:
        read('{"a": 1, "b" 2}')

    assert caught.value.offset == 13


def test_missing_brackets_are_added_only_where_the_block_is_closed() -> None:
    text = '{"a": {"b": ["x"'

    reading = read(text, closed=True)

    assert reading.value == {"a": {"b": ["x"]}}
    assert reading.repaired
    with pytest.raises(UnreadableError):
        read(text)


def test_an_open_string_is_never_closed() -> None:
    with pytest.raises(UnreadableError):
        read('{"a": "rm -rf /var', closed=True)


def test_an_integer_of_any_size_stays_exact() -> None:
    assert read('{"a": -1009007199254740993}').value == {"a": -1009007199254740993}
    assert read("{'a': 1009007199254740993}").value == {"a": 1009007199254740993}


def test_calls_are_read_as_name_and_arguments() -> None:
    reading = read("[f(a='x, (y]', b=[1, {'c': None}]), g()]", calls=True)

    assert reading.value == [
        {"name": "f", "arguments": {"a": "x, (y]", "b": [1, {"c": None}]}},
        {"name": "g", "arguments": {}},
    ]
    assert not reading.repaired


@pytest.mark.parametrize(
    "text", ["f(a=g())", "f(1)", "f('x')", "f(a=__import__('os'))", "f(a=1, a=2)", "f(a=x)", "f(a=1"]
)
def test_code_is_not_evaluated(text: str) -> None:
    with pytest.raises(UnreadableError):
        read(text, calls=True)


def test_quote_tokens_hold_anything_but_themselves() -> None:
    reading = read('{a:<|"|>x } "y" \\n<|"|>,n:5,l:[true,<|"|><|"|>]}', tokens=True)

    assert reading.value == {"a": 'x } "y" \\n', "n": 5, "l": [True, ""]}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(values, st.booleans())
def test_valid_json_is_read_as_json_reads_it(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)

    reading = read(text)

    assert reading.value == json.loads(text)
    assert not reading.repaired


@settings(deadline=None)
@given(values)
def test_the_repair_reads_valid_json_the_same(value: object) -> None:
    text = json.dumps(value)
    scanner = Scanner(build=True)

    end = scanner.run(text, 0, True)

    assert scanner.done
    assert end == len(text.rstrip())
    assert scanner.value == json.loads(text)


@settings(deadline=None)
@given(values, st.integers(1, 5))
def test_the_end_of_a_value_is_found_in_pieces(value: object, size: int) -> None:
    text = json.dumps([value]) + " tail"
    scanner = Scanner()
    held = ""
    used = 0

    for at in range(0, len(text), size):
        held += text[at : at + size]
        end = scanner.run(held, 0, False)
        used += end
        held = held[end:]
        if scanner.done:
            break

    assert scanner.done
    assert used == len(text) - len(" tail")


@settings(deadline=None)
@given(st.text(alphabet="{}[]():,\"'“”\\/ntu01eNaI.-+ \n<|>*#", max_size=40), st.booleans(), st.booleans())
def test_any_text_is_a_value_or_is_refused(text: str, calls: bool, closed: bool) -> None:
    try:
        reading = read(text, calls=calls, closed=closed)
    except UnreadableError as error:
        refused = error.reason
    else:
        refused = ""
        assert not (isinstance(reading.value, float) and math.isinf(reading.value))

    assert refused == "" or refused.isidentifier()
