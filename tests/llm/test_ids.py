"""Requirement N7."""

from hypothesis import given
from hypothesis import strategies as st

from bot.llm.ids import ANTHROPIC, MISTRAL, OPENAI, IdStyle, WireIds, wire_name
from bot.messages import ToolCall

CALLS = st.lists(
    st.builds(
        ToolCall,
        st.just("uptime"),
        st.just({}),
        st.sampled_from(["0123456789abcdef", "call_1", "é", ""]) | st.text(max_size=50),
        st.sampled_from(["call_1", "functions.uptime:0", "", "abcDEF123", "x" * 65]),
    ),
    max_size=8,
)


@given(CALLS, st.sampled_from([ANTHROPIC, OPENAI, MISTRAL]))
def test_ids_fit_the_wire_and_are_unique(calls: list[ToolCall], style: IdStyle) -> None:
    ids = WireIds(style).assign(calls)

    assert all(style.pattern.match(one) for one in ids)
    assert len(set(ids)) == len(calls)


@given(CALLS, CALLS)
def test_later_calls_never_change_earlier_ids(calls: list[ToolCall], later: list[ToolCall]) -> None:
    assert WireIds(OPENAI).assign([*calls, *later])[: len(calls)] == WireIds(OPENAI).assign(calls)


def test_an_id_the_provider_gave_is_the_one_it_gets_back() -> None:
    assert WireIds(ANTHROPIC).assign([ToolCall("uptime", {}, provider_id="toolu_1")]) == ("toolu_1",)


@given(st.text(max_size=100))
def test_names_in_history_are_ones_providers_accept(name: str) -> None:
    wire = wire_name(name)

    assert ANTHROPIC.pattern.match(wire)
    assert name != wire or len(name) <= 64
