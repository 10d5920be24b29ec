"""Requirement N6."""

from bot.llm.opaque import keep, replayable
from bot.messages import AssistantMessage, Message, Notice, ToolCall, ToolResult, UserMessage

PARTS = ({"type": "thinking", "thinking": "hm"},)
BEFORE: list[Message] = [
    UserMessage("one"),
    AssistantMessage("two", (ToolCall("uptime", {}, id="a"),)),
    ToolResult("a", "three"),
    Notice("four", "loop"),
]


def reply(before: list[Message], provider: str = "acme", model: str = "m") -> AssistantMessage:
    return AssistantMessage("five", opaque=keep(provider, model, PARTS, before))


def test_parts_go_back_raw_to_where_they_came_from() -> None:
    transcript = [*BEFORE, reply(BEFORE), UserMessage("six")]

    assert replayable("acme", "m", transcript) == {4: [*PARTS]}


def test_parts_of_several_replies_go_back_each_to_its_own() -> None:
    longer = [*BEFORE, reply(BEFORE), UserMessage("six")]

    assert sorted(replayable("acme", "m", [*longer, reply(longer)])) == [4, 6]


def test_parts_stay_away_from_other_providers_and_models() -> None:
    transcript = [*BEFORE, reply(BEFORE)]

    assert replayable("other", "m", transcript) == {}
    assert replayable("acme", "n", transcript) == {}


def test_parts_are_dropped_when_anything_before_them_changed() -> None:
    for index in range(len(BEFORE)):
        changed = [*BEFORE]
        changed[index] = UserMessage("changed")
        assert replayable("acme", "m", [*changed, reply(BEFORE)]) == {}
        del changed[index]
        assert replayable("acme", "m", [*changed, reply(BEFORE)]) == {}


def test_words_moved_from_one_message_to_the_next_are_a_change() -> None:
    said = [UserMessage("ab"), UserMessage("c")]
    moved = [UserMessage("a"), UserMessage("bc")]

    assert replayable("acme", "m", [*moved, reply([*said])]) == {}


def test_no_parts_are_kept_as_nothing() -> None:
    assert keep("acme", "m", (), BEFORE) is None
