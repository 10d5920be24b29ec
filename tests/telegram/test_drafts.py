"""An answer while it is being written: never the answer itself, never in its way (issue 5, section 2)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from telegram import Bot, LinkPreviewOptions

from bot.agent.outcomes import Thinking, ToolStarted, Typing
from bot.demo import Emulator, Person, close, slow
from bot.messages import AssistantMessage, Conversation, ToolCall, UserMessage
from bot.store.base import Effect
from bot.store.sqlite import SqliteStore
from bot.telegram.drafts import Pace, Streams, ready
from bot.telegram.send_gate import SendGate
from tests.telegram.conftest import FAST, HERE, Office, OpenOffice, settle

QUICK = Pace(begin=0.05, draft=0.05, keep_alive=0.3, edit=0.1, settle=0.05)


@pytest.fixture
async def gate() -> AsyncIterator[SendGate]:
    gate = SendGate(FAST)
    yield gate
    await gate.close()


@pytest.fixture
def streams(bot: Bot, gate: SendGate, store: SqliteStore) -> Streams:
    return Streams(bot=bot, gate=gate, store=store, redact=hide, pace=QUICK)


def hide(text: str) -> str:
    return text.replace("hunter2", "[redacted]")


async def nobody() -> None:
    return None


def refuse_drafts(emulator: Emulator, times: int = 9) -> None:
    emulator.fail("sendMessageDraft", 400, description="Bad Request: TEXTDRAFT_PEER_INVALID", times=times)


async def test_a_draft_grows_with_the_text_and_is_formatted(streams: Streams, alice: Person) -> None:
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Thinking())
        stream.watch(Typing("**All** is "))
        drawn = await alice.chat.until(lambda s: s.draft is not None)
        stream.watch(Typing("well here "))
        grown = await alice.chat.until(lambda s: s.draft is not None and "well here" in s.draft.text)

    assert drawn.draft is not None
    assert grown.draft is not None
    assert drawn.draft.text == "All is"
    assert drawn.draft.entities[0]["type"] == "bold"
    assert grown.draft.id == drawn.draft.id
    assert grown.draft.can_stop


async def test_a_new_reply_of_the_model_takes_the_place_of_the_one_before(
    streams: Streams, alice: Person
) -> None:
    async with streams.open(HERE, nobody) as stream:
        for event in (Thinking(), Typing("Let me look. "), Thinking(), Typing("It is full. ")):
            stream.watch(event)
        await alice.chat.until(lambda s: s.draft is not None and s.draft.text == "It is full.")

        assert streams.said(HERE) == "It is full."


async def test_a_turn_without_text_or_over_at_once_shows_nothing(
    streams: Streams, emulator: Emulator
) -> None:
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Thinking())
        await asyncio.sleep(0.1)
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("Quick. "))
    await asyncio.sleep(0.2)

    assert [call.method for call in emulator.calls()] == ["getMe"]


async def test_an_unchanged_draft_is_kept_alive_but_not_while_a_tool_runs(
    streams: Streams, emulator: Emulator, alice: Person
) -> None:
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("Let me look. "))
        await asyncio.sleep(0.9)
        kept = len(emulator.calls("sendMessageDraft"))
        stream.watch(ToolStarted(ToolCall("run_in_terminal", {}), "ls"))
        await asyncio.sleep(0.8)

    assert 2 <= kept <= 4
    assert len(emulator.calls("sendMessageDraft")) == kept


async def test_draft_peer_invalid_is_tried_once_and_remembered(
    streams: Streams, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    for turn in ("one ", "two "):
        async with streams.open(HERE, nobody) as stream:
            stream.watch(Typing(f"This is {turn}"))
            await alice.chat.expect(f"This is {turn}".strip())
        for left in await streams.store.open_previews("answer"):
            await streams.store.end_preview(left.id)

    assert len(emulator.calls("sendMessageDraft")) == 1


async def test_a_network_error_is_no_refusal(streams: Streams, emulator: Emulator, alice: Person) -> None:
    emulator.fail("sendMessageDraft", 502)
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("All is well "))
        await alice.chat.until(lambda s: s.draft is not None)

    assert streams.without_drafts == set()


async def test_off_shows_nothing(bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator) -> None:
    streams = Streams(bot=bot, gate=gate, store=store, redact=hide, on=False, pace=QUICK)
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("All is well "))
        await asyncio.sleep(0.3)

    assert [call.method for call in emulator.calls()] == ["getMe"]


async def test_flood_edit_a_429_is_obeyed_and_costs_only_what_was_shown(
    streams: Streams, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("One "))
        shown = await alice.chat.expect("One")
        emulator.fail("editMessageText", 429, retry_after=1)
        stream.watch(Typing("two "))
        await settle(lambda: [c.status for c in emulator.calls("editMessageText")] == [429])
        stream.watch(Typing("three "))
        await asyncio.sleep(0.5)
        during = len(emulator.calls("editMessageText"))
        await asyncio.sleep(0.6)
        stream.watch(Typing("four "))
        await alice.chat.until(lambda s: "One two three four" in s.text)

    assert during == 1
    assert len(alice.screen().messages) == 1
    assert shown.text == "One two three four"


async def test_settling_waits_for_a_message_on_its_way_and_shows_nothing_more(
    streams: Streams, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    emulator.fail("sendMessage", slow(after=0.4))
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("One "))
        await emulator.expect_call("sendMessageDraft")
        await settle(lambda: bool(alice.screen().messages))
        await streams.settle(HERE)
        [preview] = await store.open_previews("answer")
        stream.watch(Typing("two "))
        await asyncio.sleep(0.3)

    assert preview.message_id == alice.screen().messages[0].id
    assert alice.screen().text == "One"


async def test_what_was_still_to_be_shown_when_the_answer_was_stored_is_not_shown_beside_it(
    streams: Streams, store: SqliteStore, office: Office, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    await store.append(HERE, [UserMessage("how is it?")])
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("All is "))
        await emulator.expect_call("sendMessageDraft")
        await store.append(HERE, [AssistantMessage("All is well.")], effects=[answer("All is well.")])
        await office.done()
        await asyncio.sleep(0.3)

    assert [m.text for m in alice.screen().messages] == ["All is well."]


async def test_a_message_that_may_have_arrived_is_not_sent_again(
    streams: Streams, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    emulator.fail("sendMessage", close(runs=True))
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("One "))
        await settle(lambda: len(emulator.calls("sendMessage")) == 1)
        stream.watch(Typing("two "))
        await asyncio.sleep(0.4)

    assert len(emulator.calls("sendMessage")) == 1
    [preview] = await store.open_previews("answer")
    assert preview.message_id is None


async def test_a_message_that_surely_did_not_arrive_is_forgotten(
    streams: Streams, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    refuse_drafts(emulator)
    alice.block()
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("One "))
        await settle(lambda: [c.status for c in emulator.calls("sendMessage")] == [403])
        await streams.settle(HERE)
        stream.watch(Typing("two "))
        await asyncio.sleep(0.3)

    assert await store.open_previews("answer") == []
    assert len(emulator.calls("sendMessage")) == 1


async def test_the_draft_of_a_stop_press_is_found_by_chat_topic_and_number(streams: Streams) -> None:
    topic = Conversation(7, 3)
    async with streams.open(topic, nobody) as stream:
        assert streams.drawn(7, 3, stream.draft_id) == topic
        assert streams.drawn(7, 4, stream.draft_id) is None
        assert streams.drawn(8, 3, stream.draft_id) is None
        assert streams.drawn(7, 3, stream.draft_id + 1) is None

    assert streams.drawn(7, 3, stream.draft_id) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("half", ""), ("a half", "a "), ("a whole ", "a whole "), ("line\nhal", "line\n")],
)
def test_a_word_is_shown_when_it_is_whole(text: str, shown: str) -> None:
    assert ready(text) == shown


async def test_secrets_are_taken_out_of_what_is_shown_and_kept(streams: Streams, alice: Person) -> None:
    async with streams.open(HERE, nobody) as stream:
        stream.watch(Typing("It is hunter2 "))
        shown = await alice.chat.until(lambda s: s.draft is not None)

        assert shown.draft is not None
        assert shown.draft.text == "It is [redacted]"
        assert streams.said(HERE) == "It is [redacted]"


# ── the answer takes its place ─────────────────────────────────────────────────────────────────────────


def answer(text: str) -> Effect:
    return Effect("a1", HERE, "answer", {"text": text, "preview": True})


async def shown_before(bot: Bot, store: SqliteStore, text: str) -> int:
    sent = await bot.send_message(7, text, link_preview_options=LinkPreviewOptions(is_disabled=True))
    await store.preview_sent((await store.begin_preview(HERE, "answer")).id, sent.message_id)
    return sent.message_id


async def test_an_answer_is_an_edit_of_what_was_shown(
    office: Office, bot: Bot, store: SqliteStore, alice: Person
) -> None:
    shown = await shown_before(bot, store, "All")

    await office.post(answer("**All** is well."))
    await office.done()

    [message] = alice.screen().messages
    assert (message.id, message.text, message.covered("bold")) == (shown, "All is well.", ["All"])


async def test_edit_not_modified_counts_as_arrived_and_the_rest_is_sent(
    office: Office, bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    text = "x" * 3900 + "\n\nThe rest."
    await shown_before(bot, store, "x" * 3900)

    await office.post(answer(text))
    await office.done()

    assert [c.status for c in emulator.calls("editMessageText")] == [400]
    assert [m.text for m in alice.screen().messages] == ["x" * 3900, "The rest."]


async def test_what_was_deleted_meanwhile_is_sent_anew(
    office: Office, bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    message_id = await shown_before(bot, store, "All")
    await bot.delete_message(7, message_id)

    await office.post(answer("All is well."))
    await office.done()

    assert [m.text for m in alice.screen().messages] == ["All is well."]


async def test_a_final_edit_is_repeated_until_it_is_there_through_429_and_a_cut_connection(
    office: Office, bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    await shown_before(bot, store, "All")
    emulator.fail("editMessageText", 429, retry_after=1)
    emulator.fail("editMessageText", close(runs=True))
    emulator.fail("editMessageText", 502)

    await office.post(answer("All is **well**."))
    await office.done(within=10)

    [message] = alice.screen().messages
    assert (message.text, message.covered("bold")) == ("All is well.", ["well"])


async def test_a_process_that_died_while_finishing_is_followed_by_one_that_finishes(
    open_office: OpenOffice, bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    await shown_before(bot, store, "All")
    emulator.fail("editMessageText", slow(after=5))
    async with open_office(bot) as first:
        await first.post(answer("All is well."))
        await settle(lambda: "well" in alice.screen().text)
    async with open_office(bot) as second:
        await second.done()

    assert [m.text for m in alice.screen().messages] == ["All is well."]


async def test_an_answer_after_a_message_that_may_have_arrived_says_so(
    office: Office, store: SqliteStore, alice: Person
) -> None:
    await store.begin_preview(HERE, "answer")

    await office.post(answer("All is well."))
    await office.done()

    assert "may be a repeat" in alice.screen().text


async def test_formatting_that_is_refused_in_an_edit_is_left_out(
    office: Office, bot: Bot, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    await shown_before(bot, store, "All")
    emulator.fail("editMessageText", 400, description="Bad Request: can't parse entities: odd")

    await office.post(answer("All is **well**."))
    await office.done()

    [message] = alice.screen().messages
    assert (message.text, message.entities) == ("All is well.", [])


async def test_other_answers_leave_what_is_shown_alone(
    office: Office, bot: Bot, store: SqliteStore, alice: Person
) -> None:
    await shown_before(bot, store, "All")

    payload: dict[str, Any] = {"text": "A message in between."}
    await office.post(Effect("other", HERE, "answer", payload))
    await office.done()

    assert [m.text for m in alice.screen().messages] == ["All", "A message in between."]
