"""The transcript is the state (invariant 1): what is appended is what a restart reads."""

import asyncio

import pytest

from bot.errors import StoreError
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
from bot.store.base import AuditEvent, Store, StoredUpdate
from tests.store.samples import ANN, ELSEWHERE, HERE, TOPIC, answer, calling, card, question
from tests.store.second_process import SecondProcess

EVERY_KIND: list[Message] = [
    UserMessage("list the files", ANN, "Ann", 3),
    AssistantMessage(
        "One moment.",
        (
            ToolCall("run_in_terminal", {"command": "ls", "risk": "low"}, "c1", "toolu_1"),
            ToolCall("run_in_terminal", {}, "c2", repaired=True, problem="not an object"),
        ),
        Opaque("anthropic", "m-1", ({"type": "thinking", "thinking": "hm", "signature": "xyz="},)),
        Notice("the second call could not be read", "correction"),
    ),
    ToolResult("c1", "a\nb", exit_code=0, duration=0.25, truncated=True, file="/state/outputs/1.txt"),
    ToolResult("c2", "", is_error=True, code="InvalidArgs"),
    Notice("the second call could not be read", "correction"),
    AssistantMessage("Two files: a and b."),
]


async def test_a_new_conversation_is_empty(store: Store) -> None:
    assert list(await store.load(HERE)) == []


async def test_messages_come_back_as_they_were_oldest_first(store: Store) -> None:
    await store.append(HERE, EVERY_KIND[:2])
    await store.append(HERE, EVERY_KIND[2:])

    assert list(await store.load(HERE)) == EVERY_KIND


async def test_messages_survive_a_restart(store: Store, second_process: SecondProcess) -> None:
    """L10."""
    await store.append(HERE, EVERY_KIND)

    assert await second_process.sees(f"load({HERE!r})") == repr(EVERY_KIND)


async def test_conversations_and_topics_are_kept_apart(store: Store) -> None:
    """H3."""
    await store.append(HERE, [UserMessage("chat")])
    await store.append(TOPIC, [UserMessage("topic")])

    assert list(await store.load(HERE)) == [UserMessage("chat")]
    assert list(await store.load(TOPIC)) == [UserMessage("topic")]
    assert list(await store.load(ELSEWHERE)) == []


async def test_text_that_is_not_unicode_comes_back_as_it_was(store: Store) -> None:
    odd = UserMessage("lone \ud83d, nul \0, bidi \u202e, emoji \U0001f469\u200d\U0001f4bb")

    await store.append(HERE, [odd])

    assert list(await store.load(HERE)) == [odd]


async def test_a_second_result_of_one_call_is_refused(store: Store) -> None:
    """Invariant 6: exactly one result a call."""
    await store.append(HERE, [UserMessage("go"), calling("c1"), ToolResult("c1", "first")])

    with pytest.raises(StoreError):
        await store.append(HERE, [UserMessage("lost with it"), ToolResult("c1", "second")])

    assert list(await store.load(HERE))[-1] == ToolResult("c1", "first")


async def test_a_refused_append_stores_nothing_of_itself(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=1.0)
    await store.append(HERE, [ToolResult("c1", "first")])

    with pytest.raises(StoreError):
        await store.append(HERE, [ToolResult("c1", "again")], effects=[answer()], update_id=10, cwd="/srv")

    assert await store.unsent() == []
    assert await store.inbox_size() == 1
    assert (await store.conversation_state(HERE))[0] == ""


async def test_append_stores_effects_finishes_the_update_and_keeps_the_cwd(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=1.0)

    await store.append(HERE, [AssistantMessage("done")], effects=[answer()], update_id=10, cwd="/srv")

    assert [stored.effect for stored in await store.unsent()] == [answer()]
    assert await store.inbox_size() == 0
    assert (await store.conversation_state(HERE))[0] == "/srv"


async def test_append_without_a_cwd_keeps_the_last_one(store: Store) -> None:
    await store.append(HERE, [UserMessage("one")], cwd="/srv")

    await store.append(HERE, [UserMessage("two")])

    assert (await store.conversation_state(HERE))[0] == "/srv"


async def test_append_without_messages_stores_what_comes_with_them(store: Store) -> None:
    event = AuditEvent(1.0, "stopped", HERE, ANN)

    await store.append(HERE, [], effects=[answer()], cwd="/srv", audit=[event])

    assert list(await store.load(HERE)) == []
    assert len(await store.unsent()) == 1
    assert (await store.conversation_state(HERE))[0] == "/srv"


async def test_load_gives_nothing_older_than_the_reset(store: Store) -> None:
    await store.append(HERE, [UserMessage("old"), AssistantMessage("old too")])
    await store.append(TOPIC, [UserMessage("of the topic")])

    await store.reset(HERE)
    await store.append(HERE, [UserMessage("new")])

    assert list(await store.load(HERE)) == [UserMessage("new")]
    assert list(await store.load(TOPIC)) == [UserMessage("of the topic")]


async def test_reset_finishes_its_update(store: Store) -> None:
    await store.receive([StoredUpdate(10, "{}")], at=1.0)

    await store.reset(HERE, update_id=10)

    assert await store.inbox_size() == 0


async def test_reset_keeps_the_cwd_and_the_nonce(store: Store) -> None:
    await store.append(HERE, [UserMessage("one")], cwd="/srv")
    before = await store.conversation_state(HERE)

    await store.reset(HERE)

    assert await store.conversation_state(HERE) == before


async def test_a_long_transcript_is_cut_before_a_user_message(store: Store) -> None:
    turns: list[Message] = []
    for turn in range(300):
        turns += [UserMessage(f"question {turn}"), Notice("hm", "loop"), AssistantMessage(f"answer {turn}")]
    await store.append(HERE, turns)

    loaded = list(await store.load(HERE))

    assert loaded == turns[-len(loaded) :]
    assert isinstance(loaded[0], UserMessage)
    assert 390 <= len(loaded) <= 400


async def test_a_turn_longer_than_the_window_is_loaded_whole(store: Store) -> None:
    turn: list[Message] = [UserMessage("count")]
    for step in range(300):
        turn += [calling(f"c{step}"), ToolResult(f"c{step}", str(step))]
    await store.append(HERE, [UserMessage("before"), AssistantMessage("yes"), *turn])

    assert list(await store.load(HERE)) == turn


@pytest.mark.parametrize(
    ("last", "is_open"),
    [
        ([UserMessage("go")], True),
        ([calling("c1")], True),
        ([calling("c1"), ToolResult("c1", "")], True),
        ([AssistantMessage("done")], False),
        ([AssistantMessage("done"), Notice("you promised", "promise")], True),
        ([AssistantMessage("hm", follow_up=Notice("write it again", "correction"))], True),
    ],
)
async def test_a_conversation_is_open_until_the_assistant_has_the_last_word(
    store: Store, last: list[Message], is_open: bool
) -> None:
    await store.append(HERE, [UserMessage("go"), *last])
    await store.append(TOPIC, [UserMessage("hello"), AssistantMessage("hello")])

    assert await store.open_conversations() == ([HERE] if is_open else [])


async def test_a_reset_conversation_is_not_open(store: Store) -> None:
    await store.append(HERE, [UserMessage("go")])

    await store.reset(HERE)

    assert await store.open_conversations() == []


async def test_a_conversation_of_which_only_the_state_is_known_is_not_open(store: Store) -> None:
    await store.conversation_state(HERE)

    assert await store.open_conversations() == []


async def test_open_conversations_survive_a_restart(store: Store, second_process: SecondProcess) -> None:
    await store.append(TOPIC, [UserMessage("go")])

    assert await second_process.sees("open_conversations()") == repr([TOPIC])


async def test_the_nonce_is_made_once_and_kept(store: Store, second_process: SecondProcess) -> None:
    """R5."""
    begun = await store.conversation_state(HERE)
    await store.append(HERE, [UserMessage("one")], cwd="/srv")

    assert begun.cwd == ""
    assert len(begun.nonce) >= 16
    assert await store.conversation_state(HERE) == ("/srv", begun.nonce, "")
    assert begun.nonce in await second_process.sees(f"conversation_state({HERE!r})")


async def test_group_migrate_a_nonce_moves_before_anything_is_stored(store: Store) -> None:
    begun = await store.conversation_state(HERE)

    await store.migrate_chat(HERE.chat_id, -1001)

    assert (await store.conversation_state(Conversation(-1001, HERE.thread_id))).nonce == begun.nonce


async def test_conversations_asked_for_at_once_get_one_nonce_each(store: Store) -> None:
    first, second, other = await asyncio.gather(
        store.conversation_state(HERE), store.conversation_state(HERE), store.conversation_state(TOPIC)
    )

    assert first == second
    assert other != first


async def test_a_migrated_chat_takes_everything_along(store: Store) -> None:
    new = Conversation(-100555)
    await store.append(HERE, [UserMessage("go"), calling("c1")], effects=[answer()], cwd="/srv")
    await store.append(TOPIC, [UserMessage("topic")])
    state = await store.conversation_state(HERE)
    await store.ask([question()], [])
    await store.card_sent("a1", HERE.chat_id, 77)

    await store.migrate_chat(HERE.chat_id, new.chat_id)

    moved = await store.approval("a1")
    assert moved is not None
    assert moved.conversation == new
    assert moved.cards == ()
    assert list(await store.load(new)) == [UserMessage("go"), calling("c1")]
    assert list(await store.load(Conversation(new.chat_id, 7))) == [UserMessage("topic")]
    assert list(await store.load(HERE)) == []
    assert await store.conversation_state(new) == state
    assert [stored.effect.conversation for stored in await store.unsent()] == [new]
    assert await store.open_conversations() == [new, Conversation(new.chat_id, 7)]


async def test_a_chat_that_migrates_into_one_already_talked_in_loses_nothing(store: Store) -> None:
    new = Conversation(-100555)
    await store.append(HERE, [UserMessage("hidden")], cwd="/srv")
    await store.reset(HERE)
    await store.append(HERE, [UserMessage("before")])
    await store.append(new, [UserMessage("after")])

    await store.migrate_chat(HERE.chat_id, new.chat_id)

    assert list(await store.load(new)) == [UserMessage("before"), UserMessage("after")]
    assert (await store.conversation_state(new))[0] == "/srv"


async def test_a_card_of_the_old_chat_does_not_hide_one_of_the_new(store: Store) -> None:
    await store.ask([question("a1", "c1"), question("a2", "c2")], [card("a1"), card("a2")])
    await store.card_sent("a1", HERE.chat_id, 77)
    await store.card_sent("a2", -100555, 77)

    await store.migrate_chat(HERE.chat_id, -100555)

    found = await store.approval_at(-100555, 77)
    assert found is not None
    assert found.id == "a2"
