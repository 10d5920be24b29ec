"""What a person sees while a turn runs; all of it may be dropped, none of it may stay."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from telegram import Bot

from bot.agent.outcomes import ToolFinished, ToolOutput, ToolStarted
from bot.demo import Emulator, Person, slow
from bot.messages import AssistantMessage, Conversation, ToolCall, ToolResult, UserMessage
from bot.store.sqlite import SqliteStore
from bot.telegram.progress import Progress, read_press
from bot.telegram.send_gate import Priority, SendGate
from tests.telegram.conftest import FAST, HERE, settle

CALL = ToolCall("run_in_terminal", {"command": "make"}, "c1")
STARTED = ToolStarted(CALL, "make")


@pytest.fixture
async def gate(store: SqliteStore) -> AsyncIterator[SendGate]:
    gate = SendGate(FAST)
    yield gate
    await gate.close()  # before the store


def watching(
    bot: Bot, gate: SendGate, store: SqliteStore, where: Conversation = HERE, **more: Any
) -> Progress:
    async def asked_in() -> int:
        return 55

    return Progress(bot, gate, where, store, language="en", asked_in=asked_in, **more)


async def test_a_quick_turn_shows_nothing(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.35)

    assert [call.method for call in emulator.calls()] == ["getMe"]


async def test_a_longer_turn_shows_typing(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store):
        call = await emulator.expect_call("sendChatAction", within=2)

    assert (call["chat_id"], call["action"]) == (7, "typing")


async def test_typing_for_ever_typing_ends_with_the_turn(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store):
        await emulator.expect_call("sendChatAction", within=2)

    tasks = [t for t in asyncio.all_tasks() if "_type" in repr(t) or "_show" in repr(t)]
    assert tasks == []


async def test_a_tool_shows_a_line_with_its_time_after_two_seconds_and_no_sooner(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store) as progress:
        began = time.monotonic()
        progress.watch(STARTED)
        progress.watch(ToolOutput("c1", "compiling x.c"))
        line = await alice.chat.expect("make")

        assert time.monotonic() - began >= 2
        assert line.text == "⏳ make · 2 s\ncompiling x.c"
        assert emulator.calls("sendMessage")[0]["disable_notification"] is True


async def test_the_line_is_taken_away_when_the_turn_ends(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")

    await alice.chat.until(lambda screen: not screen.messages)


async def test_a_finished_tool_shows_no_line(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.7) as progress:
        progress.watch(STARTED)
        await asyncio.sleep(0.5)
        progress.watch(ToolFinished(CALL, ToolResult("c1", "")))

        await asyncio.sleep(0.6)

    assert emulator.calls("sendMessage") == []


async def test_a_line_on_its_way_when_the_turn_ends_is_taken_away_too(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", slow(after=0.3))
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")

    await settle(lambda: [c.status for c in emulator.calls("deleteMessage")] == [200])
    assert alice.screen().messages == ()


async def test_a_turn_ends_at_once_though_its_chat_is_held_back(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")
        emulator.fail("sendMessage", 429, retry_after=1)
        gate.leave(HERE.chat_id, Priority.ANSWER, lambda: bot.send_message(HERE.chat_id, "answer"))
        await settle(lambda: gate.held() == 1)
        ending = time.monotonic()

    assert time.monotonic() - ending < 0.5
    await alice.chat.until(lambda screen: [m.text for m in screen.messages] == ["answer"])
    await gate.close()


async def test_control_characters_of_a_command_are_shown_as_such(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(ToolStarted(CALL, "ls \u202egpj.exe"))

        await alice.chat.expect("⟨U+202E⟩")


async def test_topic_keep_typing_and_line_go_to_the_topic(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    forum = emulator.supergroup(-1001, "Ops", [alice], forum=True)
    topic = alice.create_topic(forum, "Deploys")
    async with watching(bot, gate, store, Conversation(forum.id, topic.id), line_after=0.1) as progress:
        progress.watch(STARTED)
        await forum.expect("make", topic=topic.id)

    threads = {call.method: call["message_thread_id"] for call in emulator.calls() if call.method != "getMe"}
    assert threads["sendChatAction"] == threads["sendMessage"] == topic.id


async def test_a_chat_that_refuses_progress_disturbs_no_turn(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    alice.block()

    async with watching(bot, gate, store):
        call = await emulator.expect_call("sendChatAction", within=2)

    assert call.status == 403


# ── several steps ──────────────────────────────────────────────────────────────────────────────────────


def ran(call_id: str, command: str, **result: Any) -> tuple[ToolStarted, ToolFinished]:
    call = ToolCall("run_in_terminal", {"command": command}, call_id)
    return ToolStarted(call, command), ToolFinished(call, ToolResult(call_id, "", **result))


async def test_steps_stand_under_each_other_with_time_and_exit_code_and_a_stop_button(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        for event in ran("c0", "false", is_error=True, exit_code=1, duration=0.26, code="ExitCode:1"):
            progress.watch(event)
        progress.watch(STARTED)
        shown = await alice.chat.expect("make")

    assert shown.text.splitlines()[0] == "✗ false · 0.3 s · exit 1"
    assert shown.text.splitlines()[1].startswith("⏳ make · ")
    call = emulator.calls("sendMessage")[0]
    [[button]] = call["reply_markup"]["inline_keyboard"]
    assert (button["text"], read_press(button["callback_data"])) == ("Stop", 55)


async def test_several_steps_are_folded_into_a_quote_when_the_turn_ends(
    bot: Bot, gate: SendGate, store: SqliteStore, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        for event in ran("c0", "ls 🗂", exit_code=0, duration=0.2):
            progress.watch(event)
        progress.watch(STARTED)
        shown = await alice.chat.expect("make")
        progress.watch(ToolFinished(CALL, ToolResult("c1", "", exit_code=0, duration=3.0)))

    await alice.chat.until(lambda screen: "Steps: 2, 3 s" in screen.text)
    assert shown.covered("expandable_blockquote") == ["✓ ls 🗂 · 0.2 s · exit 0\n✓ make · 3.0 s · exit 0"]
    assert shown.buttons == []
    await settle_empty(store)


async def settle_empty(store: SqliteStore) -> None:
    async with asyncio.timeout(5):
        while await store.open_previews("progress"):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.01)


async def test_a_single_long_step_is_kept(
    bot: Bot, gate: SendGate, store: SqliteStore, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")
        progress.watch(ToolFinished(CALL, ToolResult("c1", "", exit_code=0, duration=30.0)))

    await alice.chat.until(lambda screen: "Steps: 1, 30 s" in screen.text)


async def test_the_next_process_goes_on_in_the_same_message(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    before = await bot.send_message(7, "⏳ ls · 4 s")
    await store.preview_sent((await store.begin_preview(HERE, "progress")).id, before.message_id)
    call = ToolCall("run_in_terminal", {"command": "ls"}, "c0")

    async def past() -> list[Any]:
        return [
            UserMessage("hi"),
            AssistantMessage("", (call,)),
            ToolResult("c0", "", exit_code=0, duration=4.0),
        ]

    async with watching(bot, gate, store, past=past, line_after=0.1) as progress:
        progress.watch(STARTED)
        shown = await alice.chat.expect("make")

    assert shown.id == before.message_id
    assert shown.text.startswith("✓ ls · 4.0 s · exit 0\n⏳ make")
    await alice.chat.until(lambda screen: "Steps: 2" in screen.text)
    assert len(emulator.calls("sendMessage")) == 1


async def test_a_paused_turn_keeps_its_message_for_later(
    bot: Bot, gate: SendGate, store: SqliteStore, alice: Person
) -> None:
    async with watching(bot, gate, store, line_after=0.1) as progress:
        for event in ran("c0", "ls", exit_code=0, duration=0.2):
            progress.watch(event)
        progress.watch(STARTED)
        shown = await alice.chat.expect("make")
        progress.paused = True

    await alice.chat.until(lambda screen: "Steps: 2" in screen.text)
    assert [left.message_id for left in await store.open_previews("progress")] == [shown.id]


async def test_flood_a_429_drops_what_is_shown_and_the_turn_goes_on(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", 429, retry_after=60)
    async with watching(bot, gate, store, line_after=0.1) as progress:
        progress.watch(STARTED)
        await emulator.expect_call("sendMessage", within=3)
        ending = time.monotonic()

    assert time.monotonic() - ending < 0.5
    await settle_empty(store)
    assert alice.screen().messages == ()


async def test_no_typing_where_a_draft_is_seen(
    bot: Bot, gate: SendGate, store: SqliteStore, emulator: Emulator, alice: Person
) -> None:
    async with watching(bot, gate, store, quiet=lambda: True):
        await asyncio.sleep(1)

    assert emulator.calls("sendChatAction") == []


@pytest.mark.parametrize("data", [None, "", "s:", "s:x", "a:1:2", "s:-1"])
def test_another_button_is_no_stop_button(data: str | None) -> None:
    assert read_press(data) is None
