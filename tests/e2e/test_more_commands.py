"""The commands people expect (issue 5, section 3), each from the message to what comes back."""

import gzip
import json
import re
import sqlite3
import struct
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from bot.demo import Emulator
from bot.demo.model_server import ModelRequest, Reply
from bot.messages import Conversation, Usage
from tests.e2e.harness import ADMIN, puppet, shell, town
from tests.e2e.indoors import house


def a_document(ending: str):  # type: ignore[no-untyped-def]
    return lambda message: bool(message.media and str(message.media.get("file_name", "")).endswith(ending))


async def test_retry_asks_the_last_question_again(tmp_path: Path) -> None:
    async with town(tmp_path, [Reply(status=401), Reply("Better now.")]) as here:
        here.alice.send("/retry")
        await here.alice.chat.expect("nothing to ask again", within=15)
        here.alice.send("how full is the disk?")
        await here.alice.chat.expect("refused the key")

        here.alice.send("/retry")
        await here.alice.chat.expect("Better now.")

        assert here.model.requests[-1].last_user_text == "how full is the disk?"


async def test_model_is_chosen_by_a_button_for_one_conversation(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, LLM_FALLBACKS="anthropic:scripted") as here:
        here.alice.send("/model")
        shown = await here.alice.chat.expect("custom:scripted answers here", within=15)
        labels = [button.text for row in shown.buttons for button in row]
        toast = await here.alice.press("anthropic:scripted", shown).answered()
        await here.alice.chat.until(lambda s: "anthropic:scripted answers here from now on" in s.text)
        here.alice.send("hello")
        here.bob.send("hello")
        await here.alice.chat.expect("You said")
        await here.bob.chat.expect("You said")
        await here.restart()
        here.alice.send("still?")
        await here.alice.chat.expect("still?", within=15)

        assert labels == ["✓ custom:scripted", "anthropic:scripted"]
        assert "from now on" in toast.text
        asked = {r.last_user_text + str(i): r.shape for i, r in enumerate(here.model.requests)}
        assert sorted(asked.values()) == ["anthropic", "anthropic", "openai"]
        assert here.model.requests[-1].shape == "anthropic"


async def test_model_by_name_is_for_admins_and_needs_a_key(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send("/model anthropic:scripted")
        await here.bob.chat.expect("Only an admin", within=15)
        here.alice.send("/model groq:llama")
        await here.alice.chat.expect("GROQ_API_KEY")
        here.alice.send("/model anthropic:scripted")
        await here.alice.chat.expect("answers here from now on")
        here.alice.send("hello")
        await here.alice.chat.expect("You said")

        assert here.model.requests[-1].shape == "anthropic"


async def test_tools_names_what_the_model_may_use(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send("/tools")
        said = await here.bob.chat.expect("run_in_terminal – ", within=15)

        assert "web_search – " in said.text


async def test_usage_counts_by_model_and_person_and_draws_a_chart(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("hello")
        await here.alice.chat.expect("You said", within=15)
        here.bob.send("hello")
        await here.bob.chat.expect("You said")
        here.bob.send("hello again")
        await here.bob.chat.expect("hello again")

        here.alice.send("/usage")
        said = await here.alice.chat.expect("Today: 330 tokens")
        chart = await here.alice.chat.expect(lambda message: message.kind == "photo")

        assert "• scripted · Bob: 200 + 20 (2×)" in said.text
        assert "• scripted · Alice: 100 + 10 (1×)" in said.text
        assert "This month: 330 tokens" in said.text
        picture = here.alice.download(chart)
        assert picture.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", picture[16:24]) == (720, 240)
        assert "330 tokens" in chart.text


async def test_usage_says_what_it_cost_today_and_this_month_and_what_is_unknown(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        noon = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
        here.clock.advance(noon - here.clock())
        here.alice.send("hello")  # by a model without a price
        await here.alice.chat.expect("You said")
        store, where = here.kai.store, Conversation(ADMIN)
        await store.record_usage(
            where, "gpt-5.4", Usage(100_000, 10_000, cache_read=40_000), noon, user_id=ADMIN
        )
        await store.record_usage(where, "gpt-5.4", Usage(100_000), noon - 5 * 86_400, user_id=ADMIN)
        await store.record_usage(where, "gpt-5.4", Usage(100_000), noon - 30 * 86_400, user_id=ADMIN)

        here.alice.send("/usage")
        said = (await here.alice.chat.expect("Today: 110,110 tokens")).text

        today, month, prices = said.split("\n\n")
        assert today.splitlines()[1:] == [
            "Cost: $0.3100, without what has no known price",
            "• gpt-5.4 · Alice: 100,000 + 10,000 (1×), $0.3100",
            "• scripted · Alice: 100 + 10 (1×), price unknown",
        ]
        assert month.splitlines()[1] == "Cost: $0.5600, without what has no known price"
        assert "• gpt-5.4 · Alice: 200,000 + 10,000 (2×), $0.5600" in month
        assert prices == "Prices of 2026-03-05; they may have changed."


async def test_log_shows_the_last_lines_without_secrets_and_only_in_private(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("/log 5")
        said = await here.alice.chat.expect("connected as @kai_test_bot", within=15)
        here.bob.send("/log")
        await here.bob.chat.expect("for admins")

        assert len(said.text.splitlines()) <= 5
        assert here.emulator.token.partition(":")[2] not in said.text


async def test_history_finds_words_of_this_chat_only(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say The certificate of nginx é válido until May")
        await here.alice.chat.expect("certificate", within=15)
        here.bob.send("say certificate of Bob")
        await here.bob.chat.expect("certificate of Bob")
        here.alice.send("/new")
        await here.alice.chat.expect("new conversation")

        here.alice.send("/history NGINX valid")
        found = await here.alice.chat.expect("Kai: The certificate of nginx")
        here.alice.send('/history "nothing* OR')
        await here.alice.chat.expect("Nobody said that")

        assert "Alice: say The certificate" in found.text
        assert "Bob" not in found.text


async def test_export_sends_the_conversation_as_markdown_and_json(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        return Reply("Done.") if request.results else Reply("", [shell("echo '```hi'")])

    async with town(tmp_path, script) as here:
        here.alice.send("greet me")
        await here.alice.chat.expect("Done.", within=15)
        here.alice.send("/export")
        markdown = await here.alice.chat.expect(a_document(".md"))
        data = await here.alice.chat.expect(a_document(".json"))

        text = here.alice.download(markdown).decode()
        assert text.index("greet me") < text.index("run_in_terminal") < text.index("Done.")
        rows = json.loads(here.alice.download(data))
        assert [row["kind"] for row in rows] == ["user", "assistant", "result", "assistant"]
        assert rows[1]["tool_calls"][0]["arguments"]["command"] == "echo '```hi'"


async def test_backup_sends_a_whole_database_to_the_admin_and_status_says_when(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("remember the milk")
        await here.alice.chat.expect("You said", within=15)
        here.alice.send("/status")
        status = await here.alice.chat.expect("last backup never")
        here.alice.send("/backup")
        sent = await here.alice.chat.expect(a_document(".db.gz"))

        copy = tmp_path / "copy.db"
        copy.write_bytes(gzip.decompress(here.alice.download(sent)))
        with closing(sqlite3.connect(copy)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute("SELECT count(*) FROM messages").fetchall() == [(2,)]
        [kept] = (here.folder / "state" / "backups").glob("kai-*.db")
        assert kept.stat().st_mode & 0o077 == 0
        await here.alice.press("Refresh", status).answered()
        await here.alice.chat.until(lambda s: "last backup never" not in s.text)
        assert re.search(r"last backup \d s ago", status.text)


async def test_backup_and_log_are_not_for_groups(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("/backup@kai_test_bot", group)
        await group.expect("Only in our private chat", within=15)
        here.alice.send("/log@kai_test_bot", group)
        await group.expect("Only in our private chat")
        here.bob.send("/export@kai_test_bot", group)
        await group.expect("for admins")


async def test_only_admins_refresh_the_status(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("/status@kai_test_bot", group)
        status = await group.expect("last backup", within=15)
        before = status.text

        toast = await here.bob.press("Refresh", status).answered()

        assert "Only an admin" in toast.text
        assert status.text == before
