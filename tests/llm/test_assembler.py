"""Requirements N10 and N11, one fault of a real server a test."""

import json

import pytest

from bot.llm.assembler import CallAssembler, read_arguments

Fragment = dict[str, object]


def put_together(*fragments: Fragment, cut: bool = False) -> list[tuple[str, str, object, bool]]:
    assembler = CallAssembler()
    for fragment in fragments:
        assembler.add(
            index=fragment.get("index"),
            call_id=fragment.get("id"),
            name=fragment.get("name"),
            arguments=fragment.get("arguments"),
        )
    calls = assembler.calls(cut=cut)
    return [(call.provider_id, call.name, dict(call.arguments), bool(call.problem)) for call in calls]


A = ("a", "uptime", {"x": 1}, False)
B = ("b", "uptime", {"y": 2}, False)


def test_arguments_are_joined_across_fragments() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": ""},
        {"index": 0, "arguments": '{"x"'},
        {"index": 0, "arguments": ":1}"},
    )

    assert calls == [A]


def test_interleaved_calls_are_told_apart_by_index() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime"},
        {"index": 1, "id": "b", "name": "uptime"},
        {"index": 0, "arguments": '{"x":'},
        {"index": 1, "arguments": '{"y":'},
        {"index": 0, "arguments": "1}"},
        {"index": 1, "arguments": "2}"},
    )

    assert calls == [A, B]


@pytest.mark.parametrize("index", [{}, {"index": None}])
def test_without_index_a_new_id_begins_a_call(index: Fragment) -> None:
    calls = put_together(
        {**index, "id": "a", "name": "uptime", "arguments": '{"x":1}'},
        {**index, "id": "b", "name": "uptime", "arguments": '{"y":'},
        {**index, "arguments": "2}"},
    )

    assert calls == [A, B]


@pytest.mark.parametrize("tail", [0, 1])
def test_a_reused_index_with_a_new_id_begins_a_call_whatever_index_its_tail_has(tail: int) -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": '{"x":1}'},
        {"index": 0, "id": "b", "name": "uptime", "arguments": '{"y"'},
        {"index": tail, "arguments": ":2}"},
    )

    assert calls == [A, B]


def test_a_head_that_reused_an_index_keeps_the_tail_it_should_have_had_for_itself() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": '{"x":1}'},
        {"index": 0, "id": "b", "name": "uptime", "arguments": '{"y"'},
        {"index": 2, "id": "c", "name": "uptime", "arguments": "{}"},
        {"index": 1, "arguments": ":2}"},
    )

    assert calls == [A, B, ("c", "uptime", {}, False)]


def test_a_known_id_wins_over_the_index() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": '{"x":'},
        {"index": 1, "id": "b", "name": "uptime", "arguments": '{"y":2}'},
        {"index": 1, "id": "a", "arguments": "1}"},
    )

    assert calls == [A, B]


def test_an_id_on_every_fragment_is_one_call() -> None:
    calls = put_together(
        {"id": "a", "name": "uptime", "arguments": '{"x"'},
        {"id": "a", "name": "uptime", "arguments": ":1}"},
    )

    assert calls == [A]


def test_a_late_id_and_a_late_name_belong_to_the_call_begun() -> None:
    calls = put_together(
        {"index": 0, "arguments": '{"x":'},
        {"index": 0, "name": "uptime"},
        {"index": 0, "id": "a", "arguments": "1}"},
    )

    assert calls == [A]


def test_a_name_is_set_once() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": '{"x":'},
        {"index": 0, "name": "time", "arguments": "1}"},
    )

    assert calls == [A]


def test_without_ids_a_named_fragment_after_whole_arguments_is_the_next_call() -> None:
    calls = put_together(
        {"name": "uptime", "arguments": '{"x":1}'}, {"name": "uptime", "arguments": '{"y":2}'}
    )

    assert calls == [("", "uptime", {"x": 1}, False), ("", "uptime", {"y": 2}, False)]


def test_without_ids_indexes_tell_calls_apart() -> None:
    calls = put_together(
        {"index": 0, "name": "uptime", "arguments": '{"x":1}'},
        {"index": 1, "name": "uptime", "arguments": '{"y":2}'},
    )

    assert [arguments for _, _, arguments, _ in calls] == [{"x": 1}, {"y": 2}]


def test_arguments_may_be_an_object() -> None:
    calls = put_together({"index": 0, "id": "a", "name": "uptime", "arguments": {"x": 1}})

    assert calls == [A]


def test_a_whole_object_replaces_the_pieces_before_it() -> None:
    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime", "arguments": '{"x'}, {"index": 0, "arguments": {"x": 1}}
    )

    assert calls == [A]


@pytest.mark.parametrize(
    "pieces", [["{}", '{"x":', "1}"], ['{"x":1}', '{"x":1}'], ["", '{"x":1}'], [None, '{"x":1}']]
)
def test_placeholders_and_repetitions_add_nothing(pieces: list[str | None]) -> None:
    fragments: list[Fragment] = [{"index": 0, "arguments": piece} for piece in pieces]

    calls = put_together({"index": 0, "id": "a", "name": "uptime"}, *fragments)

    assert calls == [A]


def test_two_different_whole_objects_for_one_call_are_refused() -> None:
    calls = put_together(
        {"id": "a", "name": "uptime", "arguments": '{"x":1}'}, {"id": "a", "arguments": '{"x":2}'}
    )

    assert calls == [("a", "uptime", {}, True)]


@pytest.mark.parametrize("arguments", ["", "  ", "null", None, "{}"])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    calls = put_together({"id": "a", "name": "uptime", "arguments": arguments})

    assert calls == [("a", "uptime", {}, False)]


@pytest.mark.parametrize(
    "text",
    [
        '{"x":',
        "[1]",
        '"x"',
        "7",
        "{'x':1}",
        '{"x":1}}',
        '{"x":1,"x":2}',
        '{"x":NaN}',
        '{"x":"\\ud800"}',
        "[" * 5000,
    ],
)
def test_arguments_that_are_no_strict_json_object_are_a_problem(text: str) -> None:
    arguments, problem = read_arguments(text)

    assert arguments == {}
    assert problem


def test_the_last_call_of_a_cut_reply_never_runs_even_if_it_looks_whole() -> None:
    calls = put_together(
        {"id": "a", "name": "uptime", "arguments": '{"x":1}'},
        {"id": "b", "name": "uptime", "arguments": '{"y":2}'},
        cut=True,
    )

    assert calls == [A, ("b", "uptime", {}, True)]


def test_fragments_of_nothing_are_no_call() -> None:
    calls = put_together({"index": 0, "id": "", "name": None, "arguments": ""})

    assert calls == []


def test_many_small_fragments_cost_linear_time() -> None:
    text = json.dumps({"x": "{" * 100_000})

    calls = put_together(
        {"index": 0, "id": "a", "name": "uptime"}, *({"index": 0, "arguments": c} for c in text)
    )

    assert calls == [("a", "uptime", {"x": "{" * 100_000}, False)]
