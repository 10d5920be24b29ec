"""https://core.telegram.org/bots/api#sendmessagedraft and facts/telegram §1.2."""

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot


async def test_a_draft_shows_and_changes_but_is_no_message(bot: BareBot, alice: Person) -> None:
    for text in ["th", "think"]:
        assert await bot.do("sendMessageDraft", chat_id=7, draft_id=1, text=text) is True

    draft = alice.screen().draft
    assert draft is not None
    assert draft.text == "think"
    assert alice.chat.messages == []


async def test_an_empty_draft_is_thinking(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessageDraft", chat_id=7, draft_id=1)

    assert "Thinking…" in str(alice.screen())


async def test_a_draft_dies_after_30_seconds(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    await bot.do("sendMessageDraft", chat_id=7, draft_id=1, text="x")

    emulator.clock.advance(29)
    assert alice.screen().draft
    emulator.clock.advance(2)
    assert alice.screen().draft is None


async def test_a_real_message_ends_the_draft(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessageDraft", chat_id=7, draft_id=1, text="x")

    await bot.do("sendMessage", chat_id=7, text="done")

    assert alice.screen().draft is None


async def test_drafts_are_for_private_chats(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    emulator.group(-5, "Ops", [alice])

    answer = await bot.refused("sendMessageDraft", chat_id=-5, draft_id=1, text="x")

    assert answer == "Bad Request: TEXTDRAFT_PEER_INVALID"


async def test_a_draft_needs_an_id(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendMessageDraft", chat_id=7, draft_id=0, text="x")

    assert answer == "Bad Request: RANDOM_ID_INVALID"


async def test_a_draft_has_4096_units_at_most(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendMessageDraft", chat_id=7, draft_id=1, text="x" * 4097)

    assert answer == "Bad Request: message is too long"


async def test_stop_tells_the_bot_which_draft(bot: BareBot, alice: Person) -> None:
    await bot.updates(allowed_updates=["message", "stopped_message_generation"])
    await bot.do("sendMessageDraft", chat_id=7, draft_id=42, text="x", can_stop=True)

    alice.stop_draft()

    stopped = (await bot.updates())[0]["stopped_message_generation"]
    assert (stopped["draft_id"], stopped["chat"]["id"]) == (42, 7)
    assert alice.screen().draft is None


async def test_drafts_and_stops_are_per_topic() -> None:
    emulator = Emulator(topics=True)
    alice = emulator.person(7, started=True)
    topic = alice.create_topic(alice.chat, "Session")
    async with BareBot.of(emulator) as bot:
        await bot.updates(offset=-1, allowed_updates=["stopped_message_generation"])
        params = {"chat_id": 7, "message_thread_id": topic.id, "text": "x", "can_stop": True}
        await bot.do("sendMessageDraft", draft_id=5, **params)

        with pytest.raises(LookupError):
            alice.stop_draft()
        alice.stop_draft(topic=topic)

        stopped = (await bot.updates())[-1]["stopped_message_generation"]
        assert (stopped["draft_id"], stopped["message_thread_id"]) == (5, topic.id)


async def test_a_draft_without_stop_has_no_stop(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessageDraft", chat_id=7, draft_id=42, text="x")

    with pytest.raises(LookupError):
        alice.stop_draft()
