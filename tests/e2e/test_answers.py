"""Answers from end to end: shown while they are written, finished once, whatever comes between (issue 5)."""

import asyncio
import re
import time
from pathlib import Path

from bot.demo import Emulator
from bot.demo.chats import Chat
from bot.demo.faults import close, hang
from bot.demo.model_server import ModelRequest, Reply
from tests.e2e.harness import Town, puppet, shell, town

WORDS = " ".join(f"word{number}" for number in range(60))
ANSWER = f"**Begin** {WORDS} and `code` end."
PLAIN = ANSWER.replace("*", "").replace("`", "")
MARK = "↻ (may be a repeat: the connection broke while this was being sent)"


def slowly(request: ModelRequest) -> Reply:
    """Say the answer in about six seconds."""
    return Reply(ANSWER, chunk=20, pace=0.25)


def steadily(request: ModelRequest) -> Reply:
    """Say the answer in about three seconds."""
    return Reply(ANSWER, chunk=20, pace=0.12)


def said_by_bot(chat: Chat) -> list[str]:
    return [message.text for message in chat.messages if message.sender.is_bot]


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def no_drafts(here: Town) -> None:
    here.emulator.fail("sendMessageDraft", 400, description="Bad Request: TEXTDRAFT_PEER_INVALID", times=99)


async def test_alone_with_the_bot_an_answer_grows_as_a_draft_and_comes_once_as_a_message(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        here.alice.send("tell me")
        drafted = await here.alice.chat.until(
            lambda s: s.draft is not None and "word9" in s.draft.text, within=15
        )
        early = said_by_bot(here.alice.chat)
        final = await here.alice.chat.expect("end.", within=15)
        await asyncio.sleep(1)

        assert drafted.draft is not None
        assert PLAIN.startswith(drafted.draft.text.strip())
        assert {e["type"] for e in drafted.draft.entities} == {"bold"}
        assert early == []
        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert final.covered("code") == ["code"]
        assert here.alice.screen().draft is None
        times = [call.time for call in here.emulator.calls("sendMessageDraft")]
        assert len(times) > 3
        assert min(b - a for a, b in zip(times, times[1:], strict=False)) >= 0.3


async def test_draft_peer_invalid(tmp_path: Path) -> None:
    async with town(tmp_path, steadily) as here:
        await no_drafts(here)
        here.alice.send("tell me")
        shown = await here.alice.chat.expect("Begin", within=15)
        first = shown.text
        final = await here.alice.chat.expect("end.", within=15)

        assert len(here.emulator.calls("sendMessageDraft")) == 1
        assert final is shown
        assert "end." not in first
        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert final.covered("bold") == ["Begin"]
        here.alice.send("again")
        await here.alice.chat.until(lambda s: s.text.count("end.") == 2, within=15)
        assert len(here.emulator.calls("sendMessageDraft")) == 1


async def test_in_a_group_an_answer_is_one_message_edited_at_least_three_seconds_apart(
    tmp_path: Path,
) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, slowly, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        question = here.alice.send("@kai_test_bot tell us", group)
        final = await group.expect("end.", within=15)

        assert said_by_bot(group) == [PLAIN]
        assert final.reply_to is question
        assert not here.emulator.calls("sendMessageDraft")
        edits = [c for c in here.emulator.calls("editMessageText") if c["chat_id"] == group.id]
        texts = [c["text"] for c in edits]
        assert len(texts) == len(set(texts)) >= 2
        shown = [c.time for c in here.emulator.calls("sendMessage") if c["chat_id"] == group.id]
        times = [*shown, *(c.time for c in edits[:-1])]  # the last one is the answer, which does not wait
        assert min(b - a for a, b in zip(times, times[1:], strict=False)) >= 2.9


async def test_stream_off_shows_nothing_before_the_answer(tmp_path: Path) -> None:
    async with town(tmp_path, steadily, STREAM="off") as here:
        here.alice.send("tell me")
        await here.alice.chat.expect("end.", within=15)

        assert not here.emulator.calls("sendMessageDraft")
        assert not here.emulator.calls("editMessageText")
        assert said_by_bot(here.alice.chat) == [PLAIN]


async def test_flood_edit_while_streaming(tmp_path: Path) -> None:
    async with town(tmp_path, slowly) as here:
        await no_drafts(here)
        here.emulator.fail("editMessageText", 429, retry_after=4, chat=here.alice.chat)
        here.alice.send("tell me")
        await here.emulator.expect_call("editMessageText", within=15)
        held = time.monotonic()
        calls = len([c for c in here.emulator.calls() if c["chat_id"] == here.alice.id])
        here.bob.send("hello")
        await here.emulator.expect_call(
            "sendMessageDraft", within=3, where=lambda c: c["chat_id"] == here.bob.id
        )
        await asyncio.sleep(max(0.0, 3.3 - (time.monotonic() - held)))
        quiet = len([c for c in here.emulator.calls() if c["chat_id"] == here.alice.id])
        final = await here.alice.chat.expect("end.", within=15)

        assert quiet == calls
        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert final.covered("code") == ["code"]


async def test_edit_not_modified(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "x" * 60 for number in range(70))

    def script(request: ModelRequest) -> Reply:
        return Reply(long + "\n\nThe very end.", chunk=450, pace=0.5)

    async with town(tmp_path, script) as here:
        await no_drafts(here)
        here.alice.send("tell me")
        await here.alice.chat.expect("The very end.", within=20)

        statuses = [call.status for call in here.emulator.calls("editMessageText")]
        assert statuses[-1] == 400
        assert statuses.count(400) == 1
        messages = said_by_bot(here.alice.chat)
        assert len(messages) == 2
        assert re.findall(r"Paragraph (\d+)\.", " ".join(messages)) == [str(n) for n in range(70)]


async def test_killed_while_an_answer_is_being_written_it_is_finished_in_the_same_message(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        await no_drafts(here)
        here.alice.send("tell me")
        shown = await here.alice.chat.expect("Begin", within=15)
        await asyncio.sleep(0.3)  # until its id is stored; without it the answer would say "may be a repeat"
        await here.restart()
        final = await here.alice.chat.expect("end.", within=20)
        await here.stop()

        assert final is shown
        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert here.violations() == []


async def test_killed_while_the_answer_takes_the_place_of_what_was_shown_it_is_there_once(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        await no_drafts(here)
        here.alice.send("tell me")
        shown = await here.alice.chat.expect("Begin", within=15)
        here.emulator.fail("editMessageText", close(runs=True), times=50)  # arrives, and nobody learns of it
        await here.alice.chat.expect("end.", within=20)
        await here.kill()
        here.emulator.faults.clear()
        await here.start()
        await until(lambda: outbox_empty(here))

        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert shown.text == PLAIN


def read_by_telegram(here: Town) -> list[str]:
    return [call["text"] for call in here.emulator.calls("sendMessage") if call["text"]]


def outbox_empty(here: Town) -> bool:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(here.database)) as db:
        return not db.execute("SELECT 1 FROM outbox WHERE done_at IS NULL").fetchall()


async def test_killed_twice_while_the_answer_of_a_draft_is_on_its_way_it_comes_once_and_says_so(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        here.emulator.fail("sendMessage", hang(runs=False), times=2)
        here.alice.send("tell me")
        for tries in (1, 2):
            await until(lambda tries=tries: len(read_by_telegram(here)) == tries, within=20)
            await here.restart()
        final = await here.alice.chat.expect("end.", within=20)
        await until(lambda: outbox_empty(here))
        await here.stop()

        assert said_by_bot(here.alice.chat) == [f"{MARK}\n{PLAIN}"]
        assert (final.covered("bold"), final.covered("code")) == (["Begin"], ["code"])
        assert here.violations() == []


async def test_killed_again_and_again_while_the_answer_of_a_draft_arrives_there_is_no_third_copy(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        here.emulator.fail("sendMessage", hang(runs=True), times=3)
        here.alice.send("tell me")
        for arrived in (1, 2, 3):
            await until(lambda arrived=arrived: len(said_by_bot(here.alice.chat)) == arrived, within=20)
            await here.restart()
        await here.alice.chat.until(lambda screen: screen.text.count("end.") == 2, within=20)
        await until(lambda: outbox_empty(here))
        await here.stop()

        assert said_by_bot(here.alice.chat) == [PLAIN, MARK, MARK, f"{MARK}\n{PLAIN}"]
        assert here.violations() == []


async def test_the_answer_of_a_draft_waits_out_a_429_and_comes_once_and_formatted(tmp_path: Path) -> None:
    async with town(tmp_path, steadily) as here:
        here.emulator.fail("sendMessage", 429, retry_after=2)
        here.alice.send("tell me")
        final = await here.alice.chat.expect("end.", within=20)
        await until(lambda: outbox_empty(here))

        assert said_by_bot(here.alice.chat) == [PLAIN]
        assert (final.covered("bold"), final.covered("code")) == (["Begin"], ["code"])
        assert [call.status for call in here.emulator.calls("sendMessage")] == [429, 200]
        assert here.alice.screen().draft is None


async def test_the_answer_of_a_draft_whose_connection_is_cut_is_there_at_most_twice_and_says_so(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, steadily) as here:
        here.emulator.fail("sendMessage", close(runs=True))
        here.emulator.fail("editMessageText", close(runs=True), times=2)
        here.alice.send("tell me")
        await here.alice.chat.until(lambda screen: screen.text.count("end.") == 2, within=20)
        await until(lambda: outbox_empty(here))

        assert said_by_bot(here.alice.chat) == [PLAIN, f"{MARK}\n{PLAIN}"]
        copies = [message for message in here.alice.chat.messages if message.sender.is_bot]
        assert [message.covered("code") for message in copies] == [["code"], ["code"]]


async def test_a_next_question_is_not_answered_in_an_older_message(tmp_path: Path) -> None:
    async with town(tmp_path, steadily) as here:
        await no_drafts(here)
        here.alice.send("tell me")
        shown = await here.alice.chat.expect("Begin", within=15)
        here.alice.send("/stop")
        await here.alice.chat.expect("Stopped")
        kept = shown.text
        here.alice.send("tell me again")
        await here.alice.chat.expect("end.", within=20)

        assert shown.text == kept
        assert "end." not in kept


async def test_draft_stop_button(tmp_path: Path) -> None:
    async with town(tmp_path, steadily) as here:
        here.alice.send("tell me")
        await here.alice.chat.until(lambda s: s.draft is not None and "word9" in s.draft.text, within=15)
        here.alice.stop_draft()
        kept = await here.alice.chat.expect("word9")
        await asyncio.wait_for(here.model.hung_up.wait(), 2)
        await here.alice.chat.expect_nothing(1)

        assert PLAIN.startswith(kept.text)
        assert kept.covered("bold") == ["Begin"]
        here.alice.send("and now?")
        await here.alice.chat.expect("end.", within=15)
        said = [m.text for m in here.model.requests[-1].messages if m.role == "assistant"]
        assert "word9" in said[0]
        assert "stopped" in said[0]


async def test_what_the_model_said_comes_before_the_card_and_stays(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("All gone.")
        return Reply("**First** I clear the old folder.", [shell("rm -rf ./old")], chunk=8, pace=0.4)

    async with town(tmp_path, script) as here:
        here.alice.send("clear it")
        await here.alice.chat.expect("May I run this?", within=10)
        said = said_by_bot(here.alice.chat)
        await here.alice.press("Approve").answered()
        await here.alice.chat.expect("All gone.")

        assert said[0] == "First I clear the old folder."
        assert "May I run this?" in said[1]
        assert here.alice.screen().draft is None


async def test_a_secret_is_not_seen_even_half_in_a_draft(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        token = here.emulator.token
        return Reply(f"The token you asked for is {token} as far as I know.", chunk=6, pace=0.2)

    async with town(tmp_path, script, start=False) as here:
        await here.start()
        here.alice.send("token?")
        await here.alice.chat.expect("[redacted]", within=10)

        secret = here.emulator.token.partition(":")[2]
        drafts = [call["text"] for call in here.emulator.calls("sendMessageDraft")]
        assert drafts
        assert not [text for text in drafts if secret[:3] in text]


async def test_a_short_answer_shows_no_draft(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say hello there")
        await here.alice.chat.expect("hello there")

        assert not here.emulator.calls("sendMessageDraft")


# ── the steps of a turn ────────────────────────────────────────────────────────────────────────────────


def several(request: ModelRequest) -> Reply:
    """Three steps, the second of which takes a while; then the answer."""
    commands = ["echo one", "sleep 2.8; false", "echo three"]
    if request.step < len(commands):
        return Reply("", [shell(commands[request.step])])
    return Reply("That is all.")


async def test_the_steps_of_a_turn_are_one_message_that_folds_when_the_answer_is_there(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, several) as here:
        here.alice.send("go")
        shown = await here.alice.chat.expect("⏳ sleep 2.8", within=15)
        running = shown.text
        button = shown.find_button("Stop")
        await here.alice.chat.expect("That is all.", within=15)
        await here.alice.chat.until(lambda screen: "Steps: 3" in screen.text)

        assert re.match(r"✓ echo one · 0\.\d s · exit 0\n⏳ sleep 2\.8; false · 2 s", running)
        assert button is not None
        assert [re.sub(r"\d\.\d s", "T", quote) for quote in shown.covered("expandable_blockquote")] == [
            "✓ echo one · T · exit 0\n✗ sleep 2.8; false · T · exit 1\n✓ echo three · T · exit 0"
        ]
        assert shown.buttons == []
        assert len(said_by_bot(here.alice.chat)) == 2


async def test_the_stop_button_is_for_the_asker_and_admins_and_only_for_its_own_turn(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        carol = emulator.person(9, "Carol", started=True)
        group = emulator.group(-500, "Ops", [here.alice, here.bob, carol])
        here.bob.send("@kai_test_bot run sleep 60", group)
        shown = await group.expect("⏳ sleep", within=15)
        stop = shown.find_button("Stop")
        assert stop is not None

        refused = await carol.press("Stop", shown).answered()
        stopped = await here.bob.press("Stop", shown).answered(within=3)
        await group.until(lambda screen: "⏳" not in screen.text)
        here.bob.send("@kai_test_bot run sleep 61", group)
        await group.expect("⏳ sleep 61", within=10)
        late = await here.alice.press_stale(stop, shown).answered()

        assert "Only who asked" in refused.text
        assert stopped.text == "Stopped"
        assert late.text == "Nothing is running."
        assert "⏳" in group.screen().text


async def test_killed_in_the_middle_the_next_process_goes_on_in_the_message_of_steps(tmp_path: Path) -> None:
    async with town(tmp_path, several) as here:
        here.alice.send("go")
        shown = await here.alice.chat.expect("⏳ sleep 2.8", within=15)
        await asyncio.sleep(0.3)
        await here.restart()
        await here.alice.chat.expect("That is all.", within=15)
        await until(lambda: "⏳" not in here.alice.screen().text)

        assert not [m for m in here.alice.chat.messages if m.sender.is_bot and m.buttons]
        assert shown.deleted or "Steps" in shown.text
