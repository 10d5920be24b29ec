"""What a person sees while a turn runs; all of it may be dropped, none of it may stay."""

import asyncio
import time

import pytest
from telegram import Bot

from bot.agent.outcomes import ToolFinished, ToolOutput, ToolStarted
from bot.demo import Emulator, Person, slow
from bot.messages import Conversation, ToolCall, ToolResult
from bot.telegram.progress import Progress
from bot.telegram.send_gate import Priority, SendGate
from tests.telegram.conftest import FAST, HERE, settle

CALL = ToolCall("run_in_terminal", {"command": "make"}, "c1")
STARTED = ToolStarted(CALL, "make")


@pytest.fixture
def gate() -> SendGate:
    return SendGate(FAST)


async def test_a_quick_turn_shows_nothing(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.35)

    assert [call.method for call in emulator.calls()] == ["getMe"]


async def test_a_longer_turn_shows_typing(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE):
        call = await emulator.expect_call("sendChatAction", within=1)

    assert (call["chat_id"], call["action"]) == (7, "typing")


async def test_typing_for_ever_typing_ends_with_the_turn(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE):
        await emulator.expect_call("sendChatAction", within=1)

    tasks = [t for t in asyncio.all_tasks() if "_type" in repr(t) or "_show" in repr(t)]
    assert tasks == []


async def test_a_tool_shows_a_line_with_its_time_after_two_seconds_and_no_sooner(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE) as progress:
        began = time.monotonic()
        progress.watch(STARTED)
        progress.watch(ToolOutput("c1", "compiling x.c"))
        line = await alice.chat.expect("make")

        assert time.monotonic() - began >= 2
        assert line.text == "⏳ make · 2 s\ncompiling x.c"
        assert emulator.calls("sendMessage")[0]["disable_notification"] is True


async def test_the_line_is_taken_away_when_the_turn_ends(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")

    await alice.chat.until(lambda screen: not screen.messages)


async def test_a_finished_tool_shows_no_line(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE, line_after=0.7) as progress:
        progress.watch(STARTED)
        await asyncio.sleep(0.5)
        progress.watch(ToolFinished(CALL, ToolResult("c1", "")))

        await asyncio.sleep(0.6)

    assert emulator.calls("sendMessage") == []


async def test_a_line_on_its_way_when_the_turn_ends_is_taken_away_too(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", slow(after=0.3))
    async with Progress(bot, gate, HERE, line_after=0.1) as progress:
        progress.watch(STARTED)
        await alice.chat.expect("make")

    await settle(lambda: [c.status for c in emulator.calls("deleteMessage")] == [200])
    assert alice.screen().messages == ()


async def test_a_turn_ends_at_once_though_its_chat_is_held_back(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE, line_after=0.1) as progress:
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
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    async with Progress(bot, gate, HERE, line_after=0.1) as progress:
        progress.watch(ToolStarted(CALL, "ls \u202egpj.exe"))

        await alice.chat.expect("⟨U+202E⟩")


async def test_topic_keep_typing_and_line_go_to_the_topic(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    forum = emulator.supergroup(-1001, "Ops", [alice], forum=True)
    topic = alice.create_topic(forum, "Deploys")
    async with Progress(bot, gate, Conversation(forum.id, topic.id), line_after=0.1) as progress:
        progress.watch(STARTED)
        await forum.expect("make", topic=topic.id)

    threads = {call.method: call["message_thread_id"] for call in emulator.calls() if call.method != "getMe"}
    assert threads["sendChatAction"] == threads["sendMessage"] == topic.id


async def test_a_chat_that_refuses_progress_disturbs_no_turn(
    bot: Bot, gate: SendGate, emulator: Emulator, alice: Person
) -> None:
    alice.block()

    async with Progress(bot, gate, HERE):
        call = await emulator.expect_call("sendChatAction", within=1)

    assert call.status == 403
