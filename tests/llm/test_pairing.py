"""Requirement H1."""

from hypothesis import given
from hypothesis import strategies as st

from bot.llm.pairing import repair
from bot.messages import AssistantMessage, Message, Notice, ToolCall, ToolResult, UserMessage

IDS = st.sampled_from(["", "a", "b", "c"])
CALLS = st.lists(IDS, max_size=4).map(lambda ids: tuple(ToolCall("uptime", {}, id=i) for i in ids))
MESSAGES = st.one_of(
    st.just(UserMessage("hi")),
    st.just(Notice("careful", "loop")),
    st.builds(AssistantMessage, st.sampled_from(["", "so"]), CALLS),
    st.builds(ToolResult, IDS, st.sampled_from(["one", "two"])),
)


@given(st.lists(MESSAGES, max_size=12))
def test_every_call_is_followed_by_its_one_result_in_order(transcript: list[Message]) -> None:
    mended = repair(transcript)

    owed: list[str] = []
    for message in mended:
        if isinstance(message, ToolResult):
            assert message.call_id == owed.pop(0)
        else:
            assert not owed
        if isinstance(message, AssistantMessage):
            owed = [call.id for call in message.tool_calls]
            assert len(set(owed)) == len(owed)
            assert "" not in owed
    assert not owed


@given(st.lists(MESSAGES, max_size=12))
def test_mending_twice_changes_nothing(transcript: list[Message]) -> None:
    mended = repair(transcript)

    assert repair(mended) == mended


@given(st.lists(MESSAGES, max_size=12))
def test_nothing_that_was_said_is_lost(transcript: list[Message]) -> None:
    mended = repair(transcript)

    def said(messages: list[Message]) -> list[tuple[type, str]]:
        return [(type(m), m.text) for m in messages if not isinstance(m, ToolResult)]

    assert said(mended) == said(transcript)


@given(st.lists(st.lists(IDS.filter(bool), max_size=3, unique=True), max_size=5))
def test_a_whole_transcript_stays_as_it_is_though_ids_come_again_in_later_turns(
    turns: list[list[str]],
) -> None:
    transcript: list[Message] = []
    for ids in turns:
        transcript += [
            UserMessage("hi"),
            AssistantMessage("so", tuple(ToolCall("uptime", {}, id=i) for i in ids)),
        ]
        transcript += [ToolResult(i, "one") for i in ids]

    assert repair(transcript) == transcript


def test_a_missing_result_becomes_an_error_that_says_so() -> None:
    mended = repair([AssistantMessage("", (ToolCall("uptime", {}, id="a"),)), UserMessage("hi")])

    assert isinstance(result := mended[1], ToolResult)
    assert (result.call_id, result.is_error, result.code) == ("a", True, "missing_result")


def test_a_late_result_is_put_back_to_its_call() -> None:
    late = ToolResult("a", "late")

    mended = repair([AssistantMessage("", (ToolCall("uptime", {}, id="a"),)), UserMessage("hi"), late])

    assert mended[1:] == [late, UserMessage("hi")]


def test_a_result_after_the_next_reply_is_not_claimed() -> None:
    call = ToolCall("uptime", {}, id="a")

    mended = repair([AssistantMessage("", (call,)), AssistantMessage("so"), ToolResult("a", "late")])

    assert isinstance(result := mended[1], ToolResult)
    assert (result.code, len(mended)) == ("missing_result", 3)
