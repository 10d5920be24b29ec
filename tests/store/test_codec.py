"""Any message survives the way to JSON and back."""

from dataclasses import dataclass
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import (
    AssistantMessage,
    Conversation,
    Message,
    Notice,
    Opaque,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.store.codec import closes_turn, decode, encode, from_key, key, storable, to_json

text = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates and NUL, too
ids = st.none() | st.integers(-(2**62), 2**62)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(text, json_values, max_size=4)
notices = st.builds(Notice, text, text)
calls = st.builds(ToolCall, text, objects, text, text, st.booleans(), text)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, text, ids, text, ids),
    st.builds(
        AssistantMessage,
        text,
        st.lists(calls, max_size=3).map(tuple),
        st.none() | st.builds(Opaque, text, text, st.lists(objects, max_size=2).map(tuple)),
        st.none() | notices,
    ),
    st.builds(
        ToolResult,
        text,
        text,
        st.booleans(),
        text,
        st.none() | st.integers(-64, 255),
        st.none() | st.floats(0, 1e6),
        st.booleans(),
        text,
    ),
    notices,
)


@given(st.lists(messages, max_size=5))
def test_messages_come_back_as_they_were(sent: list[Message]) -> None:
    assert decode([encode(message) for message in sent]) == sent


@given(messages)
def test_a_body_is_ascii_whatever_the_message_holds(message: Message) -> None:
    _, body = encode(message)

    assert body.isascii()
    assert "\0" not in body


@given(text)
def test_storable_text_is_utf8_and_good_text_is_untouched(any_text: str) -> None:
    stored = storable(any_text)

    assert len(stored) == len(any_text)
    assert storable(stored) == stored.encode().decode() == stored


@given(st.builds(Conversation, st.integers(), st.none() | st.integers(min_value=1)))
def test_a_conversation_comes_back_from_its_key(conversation: Conversation) -> None:
    assert from_key(*key(conversation)) == conversation


def test_fields_that_hold_their_default_are_left_out() -> None:
    assert encode(UserMessage("hi")) == ("user", '{"text":"hi"}')


def test_arguments_may_be_any_mapping() -> None:
    frozen = MappingProxyType({"command": "ls"})

    [message] = decode([encode(AssistantMessage("", (ToolCall("run", frozen, "c1"),)))])

    assert message == AssistantMessage("", (ToolCall("run", {"command": "ls"}, "c1"),))


def test_a_value_that_is_not_json_is_named_but_not_shown() -> None:
    @dataclass
    class Credential:
        text: str

    with pytest.raises(TypeError, match="'Credential'") as caught:
        to_json({"key": Credential("hush")})

    assert "hush" not in str(caught.value)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'riddle'"):
        decode([("riddle", "{}")])


@pytest.mark.parametrize(
    ("message", "closes"),
    [
        (AssistantMessage("done"), True),
        (AssistantMessage("", (ToolCall("run", {}, "c1"),)), False),
        (AssistantMessage("hm", follow_up=Notice("again", "correction")), False),
        (UserMessage("hi"), False),
        (ToolResult("c1", "ok"), False),
        (Notice("sum up", "cap"), False),
    ],
)
def test_only_a_plain_reply_closes_the_turn(message: Message, closes: bool) -> None:
    assert closes_turn(message) is closes
