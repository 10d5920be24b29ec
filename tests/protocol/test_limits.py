"""The caps of a message: characters, calls, depth, and what is held back (P5)."""

import json

from bot.protocol import ToolCallParser
from bot.protocol.events import Text
from bot.protocol.json_reader import MAX_DEPTH
from bot.protocol.machine import MAX_CALLS, MAX_HELD
from bot.protocol.parser import MAX_MESSAGE
from tests.protocol.reading import TOOLS, pieces, read, shown_by_spans

CALL = '<tool_use>{"name":"list_containers","arguments":{}}</tool_use>'


def test_a_message_past_the_limit_is_cut_there_and_reported() -> None:
    text = "a" * MAX_MESSAGE + CALL

    outcome = read(text)

    assert (outcome.calls, outcome.reasons) == ((), ["too_long"])
    assert len(outcome.text) == MAX_MESSAGE
    assert shown_by_spans(text, outcome.hidden) == outcome.text


def test_a_message_as_long_as_the_limit_is_whole() -> None:
    text = "a" * (MAX_MESSAGE - len(CALL)) + CALL

    outcome = read(text)

    assert len(outcome.calls) == 1
    assert outcome.codes == []


def test_calls_past_the_limit_do_not_run_and_are_reported() -> None:
    outcome = read(CALL * (MAX_CALLS + 1))

    assert len(outcome.calls) == MAX_CALLS
    assert outcome.reasons == ["too_many_calls"]


def nested(levels: int) -> str:
    arguments = '{"name":"x","tags":' + "[" * levels + "]" * levels + "}"
    return f'<tool_use>{{"name":"service_status","arguments":{arguments}}}</tool_use>ya'


def test_nesting_up_to_the_limit_is_read() -> None:
    outcome = read(nested(MAX_DEPTH - 2))

    assert len(outcome.calls) == 1


def test_nesting_past_the_limit_is_refused_and_the_text_goes_on() -> None:
    outcome = read(nested(MAX_DEPTH - 1))

    assert (outcome.calls, outcome.reasons, outcome.text) == ((), ["too_deep"], "ya")


def test_bare_json_too_large_to_hold_is_shown_and_what_it_quotes_never_runs() -> None:
    text = json.dumps({"name": "read_file", "arguments": {"path": "a" * MAX_HELD + CALL}})

    outcome = read(text)

    assert (outcome.calls, outcome.text) == ((), text)


def test_data_is_released_before_it_ends() -> None:
    parser = ToolCallParser(TOOLS)

    events = parser.feed('{"nginx": {"status": "active", ')

    assert events == [Text('{"nginx": {"status": "active", ')]


def test_only_what_may_become_a_marker_is_held_back() -> None:
    parser = ToolCallParser(TOOLS)

    events = parser.feed("a < b dan <tool_u")

    assert events == [Text("a < b dan ")]


def test_a_call_is_given_out_before_the_message_ends() -> None:
    parser = ToolCallParser(TOOLS)

    events = parser.feed(CALL + " ya")

    assert [type(event).__name__ for event in events] == ["Call", "Text"]


def test_finishing_twice_says_nothing_twice() -> None:
    parser = ToolCallParser(TOOLS)
    parser.feed("<tool_use>{")

    first, second = parser.finish(), parser.finish()

    assert len(first) == 1
    assert second == []


def test_a_large_call_in_small_pieces_is_the_call_in_one_piece() -> None:
    text = "<tool_use>" + json.dumps(
        {"name": "write_file", "arguments": {"path": "a", "content": 'x "</tool_use>" \\\n' * 3000}}
    )

    outcome = read(pieces(text, 3))

    assert outcome.calls == read(text).calls
    assert len(outcome.calls) == 1
