"""Turns from end to end: what is seen meanwhile, what survives, and what never leaves the house."""

import asyncio
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from bot.demo.faults import close
from bot.demo.model_server import KEY, ModelRequest, Reply
from tests.e2e.harness import Town, puppet, shell, town


async def test_a_slow_tool_shows_a_line_with_its_time_that_goes_away(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run sleep 2.7; echo done")
        began = time.monotonic()

        line = await here.alice.chat.expect("⏳")
        shown_after = time.monotonic() - began
        assert re.fullmatch(r"⏳ sleep 2\.7; echo done · [23] s", line.text)
        assert here.emulator.calls("sendChatAction")
        await here.alice.chat.expect("It came to a result.")
        await here.alice.chat.until(lambda screen: "⏳" not in screen.text)

        assert shown_after > 1.9


async def test_messages_sent_while_a_turn_runs_are_answered_in_order(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("wait 0.5")
        for number in range(3):
            here.alice.send(f"say number {number}")
        await here.alice.chat.until(lambda screen: screen.text.count("number 2") == 2)

        said = [m.text for m in here.alice.chat.messages if m.sender.is_bot]
        assert said == ["waited 0.5", "number 0", "number 1", "number 2"]


async def test_an_update_that_cant_be_read_is_kept_and_skipped(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        await until(lambda: here.emulator.updates.polling)
        number = here.emulator.updates.push("message", {"message_id": "nonsense", "chat": 5})

        here.alice.send("say still here")
        await here.alice.chat.expect("still here")

        with closing(sqlite3.connect(here.database)) as db:
            [(error,)] = db.execute("SELECT error FROM updates WHERE update_id = ?", (number,)).fetchall()
        assert error


async def test_a_model_that_fails_is_explained_and_the_next_message_is_answered(tmp_path: Path) -> None:
    async with town(tmp_path, [Reply(status=401), Reply("Better now.")]) as here:
        here.alice.send("hello?")
        await here.alice.chat.expect("The model's provider refused the key.")

        here.alice.send("hello again")
        await here.alice.chat.expect("Better now.")

        assert here.alice.screen().text.count("refused the key") == 1


# ── ends and beginnings ────────────────────────────────────────────────────────────────────────────────


async def test_what_a_polite_stop_cut_short_or_left_waiting_is_answered_once_after_the_start(
    tmp_path: Path,
) -> None:
    def script(request: ModelRequest) -> Reply:
        if "next" in request.last_user_text:
            return Reply("And here is the next.")
        return Reply("Here I am.", delay=30.0 if len(here.model.requests) == 1 else 0.0)

    async with town(tmp_path, script, start=False) as here:
        await here.start()
        here.alice.send("hello?")
        await until(lambda: len(here.model.requests) == 1)
        here.alice.send("what is next?")
        await here.emulator.expect_all_taken()
        began = time.monotonic()
        exit_code = await here.stop()
        took = time.monotonic() - began
        await here.start()

        await here.alice.chat.expect("And here is the next.", within=10)

        assert exit_code == 0
        assert took < 3
        await here.stop()
        said = [m.text for m in here.alice.chat.messages if m.sender.is_bot]
        assert said == ["Here I am.", "And here is the next."]
        assert here.violations() == []


async def test_a_polite_stop_ends_a_running_command_and_the_person_is_told(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run rm -rf ./old; echo $$ > ./pid; sleep 60; echo woke >> ./ran")
        await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve").answered()
        await until(lambda: (here.work / "pid").exists() and (here.work / "pid").read_text().strip() != "")
        pid = int((here.work / "pid").read_text())
        began = time.monotonic()
        exit_code = await here.stop()
        took = time.monotonic() - began
        alive = Path(f"/proc/{pid}").exists()
        await here.start()

        await here.alice.chat.expect("It will not be repeated", within=10)
        await here.alice.chat.expect("It came to an error.")

        assert exit_code == 0
        assert took < 5
        assert not alive
        await here.stop()
        assert here.violations() == []


# ── secrets (design.md, invariant 11; T7) ──────────────────────────────────────────────────────────────


async def test_token_and_key_are_in_no_log_chat_prompt_or_database(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply(f"The token is {token} and the key {KEY}. Results: {request.results[0].text}")
        return Reply("", [shell("cat note.txt; env")])

    async with town(tmp_path, script, LOG_LEVEL="DEBUG") as here:
        token = here.emulator.token
        (here.work / "note.txt").write_text(f"TELEGRAM={token}\nkey: {KEY}\nhttps://api/bot{token}/getMe\n")
        await until(lambda: here.emulator.updates.polling)
        here.emulator.fail("getUpdates", close(runs=False))
        here.alice.send("what is in the note?")
        card = await here.alice.chat.expect("May I run this?")  # `env` may print keys
        here.emulator.fail("sendMessage", 502)
        await here.alice.press("Approve", card).answered()

        await here.alice.chat.expect("The token is [redacted]", within=20)
        await here.stop()

        secret = token.partition(":")[2]
        for word in (secret, KEY):
            assert not [m.text for m in here.alice.chat.messages if m.sender.is_bot and word in m.text]
            assert not [r for r in here.model.requests if word in str(r.body)]
            assert word not in here.log
            assert files_with(here, word) == []
        assert "getUpdates" in here.log or "telegram" in here.log


def files_with(here: Town, word: str) -> list[str]:
    """Return what the bot keeps that holds a word."""
    state = here.folder / "state"
    return [str(p) for p in state.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for something outside any chat."""
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
