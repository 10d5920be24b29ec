"""The slash commands from end to end (issue 2 §6; requirement L7)."""

import asyncio
import time
from pathlib import Path

import pytest

from bot.demo.model_server import ModelRequest, Reply
from bot.telegram.commands import ROWS
from bot.telegram.status import time_of_day
from tests.e2e.harness import puppet, town
from tests.e2e.indoors import house

RISKY = "run rm -rf ./old && echo gone >> ./ran"


async def test_start_greets_and_lists_what_this_person_may_use(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.start()
        admin = await here.alice.chat.expect("Hello! I am Kai.")
        here.bob.send("/help")
        member = await here.bob.chat.expect("/stop")

        for name in ("/start", "/help", "/new", "/stop", "/status", "/pending"):
            assert f"{name} – " in admin.text
        assert "/status" not in member.text
        assert "/pending" not in member.text
        assert not here.model.requests


@pytest.mark.parametrize(
    ("language", "greeting", "stop"),
    [("id", "Halo! Saya Kai.", "Tidak ada yang berjalan."), ("pt", "Olá! Sou o Kai.", "Nada está rodando.")],
)
async def test_commands_answer_in_the_language_of_the_settings(
    tmp_path: Path, language: str, greeting: str, stop: str
) -> None:
    async with town(tmp_path, puppet, LANGUAGE=language) as here:
        here.alice.start()
        await here.alice.chat.expect(greeting)
        here.alice.send("/stop")
        await here.alice.chat.expect(stop)


async def test_the_menus_show_the_commands_of_each(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False) as here:
        admin = here.alice
        await here.start()
        await here.emulator.expect_call("setMyCommands", after=2)

        menu = {row["command"] for row in admin.commands()}
        assert {"start", "help", "new", "stop", "status", "pending"} <= menu
        assert {"status", "pending"}.isdisjoint(row["command"] for row in here.bob.commands())


async def test_status_tells_of_the_server_and_the_bot_while_a_turn_runs(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send(RISKY)
        await here.alice.chat.expect("May I run this?")
        here.alice.send("wait 20")
        here.alice.send("say waiting")
        began = time.monotonic()

        here.alice.send("/status")
        page = await here.alice.chat.expect("Server: ")

        assert time.monotonic() - began < 1
        for line in ("Load: ", "Memory: ", "Disk: ", "Kai 0.", "Model: custom:scripted", "Database: "):
            assert f"\n{line}" in page.text
        assert "Last poll: " in page.text
        assert "s ago" in page.text
        assert "Open questions: 1, the oldest " in page.text
        assert "1 in lanes" in page.text


@pytest.mark.parametrize("status", [429, 500])
async def test_status_says_which_models_rest_until_when_and_why(tmp_path: Path, status: int) -> None:
    def script(request: ModelRequest) -> Reply:
        return Reply("Hi.") if request.model == "scripted-2" else Reply(status=status, retry_after=90)

    async with house(tmp_path, script, LLM_FALLBACKS="custom:scripted-2,custom:scripted-plain") as here:
        here.alice.send("/status")
        fresh = await here.alice.chat.expect("Server: ")
        here.alice.send("hello")
        await here.alice.chat.expect("Hi.")

        here.alice.send("/status")
        resting = await here.alice.chat.expect("rests until")
        now, shown = here.clock(), chain_in(resting.text)
        here.clock.advance(91)
        toast = await here.alice.press("Refresh", resting).answered()
        await here.alice.chat.until(lambda screen: "rests until" not in screen.text)

        names = ["• custom:scripted", "• custom:scripted-2", "• custom:scripted-plain"]
        assert chain_in(fresh.text) == names
        answered = f"✓ custom:scripted-2 answered last, {time_of_day(now)}"
        rests = f"⏸ custom:scripted rests until {time_of_day(now + 90)}: custom answered {status}"
        assert shown == [rests, answered, names[2]]
        assert toast.text == ""
        assert chain_in(resting.text) == [names[0], answered, names[2]]


async def test_status_names_failed_units_the_sandbox_and_counts_grants(tmp_path: Path) -> None:
    async def failed() -> list[str]:
        return ["nginx.service", "certbot.timer"]

    async with house(tmp_path, puppet) as here:
        here.kai.face.status.failed_units = failed  # there is no systemd where tests run
        here.alice.send("/status")
        status = await here.alice.chat.expect("Server: ")
        before = status.text
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("May I run this?")
        here.alice.press("More…", card)
        await here.alice.chat.until(lambda _: card.find_button("15 minutes") is not None)
        await here.alice.press("15 minutes", card).answered()

        await here.alice.press("Refresh", status).answered()
        await here.alice.chat.until(lambda _: "Grants in force: 1" in status.text)

        assert "⚠️ Failed units: nginx.service, certbot.timer" in before
        assert "Grants in force: 0" in before
        assert "Sandbox: off" in before


def chain_in(page: str) -> list[str]:
    """Return the lines of a status page that are about models."""
    _, _, rest = page.partition("Models, in this order:\n")
    return rest.partition("\nLast poll")[0].splitlines()


async def test_pending_shows_the_open_questions_again_with_working_buttons(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("/pending")
        await here.alice.chat.expect("No question is open.")
        here.bob.send(RISKY)
        first = await here.alice.chat.expect("rm -rf ./old")

        here.alice.send("/pending")
        await here.alice.chat.expect("Open questions: 1.")
        second = await here.alice.chat.expect("rm -rf ./old")
        toast = await here.alice.press("Approve", second).answered()
        await here.bob.chat.expect("It came to a result.")
        await here.alice.chat.until(lambda screen: screen.text.count("Approved by Alice") == 2)

        assert second is not first
        assert toast.text == "Approved"
        assert first.buttons == [] == second.buttons
        assert (here.work / "ran").read_text() == "gone\n"


async def test_new_begins_afresh_and_closes_what_was_open(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say the password is swordfish")
        await here.alice.chat.expect("swordfish")
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        here.alice.send("/new")
        await here.alice.chat.expect("A new conversation begins")
        await here.alice.chat.until(lambda screen: "not run: stopped" in screen.text)
        here.alice.send("what was it?")
        await here.alice.chat.expect("You said: what was it?")

        assert card.buttons == []
        assert "swordfish" not in str(here.model.requests[-1].body)
        assert len(here.model.requests[-1].messages) == 1
        await here.stop()
        assert here.violations() == []


async def test_stop_kills_the_running_command_and_says_what_it_dropped(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("/stop")
        await here.alice.chat.expect("Nothing is running.")
        here.alice.send("run rm -rf ./old; echo $$ > ./pid; sleep 60")
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", card).answered()
        await until(lambda: (here.work / "pid").exists() and (here.work / "pid").read_text().strip() != "")
        here.alice.send("say one more thing")
        await here.emulator.expect_all_taken()
        began = time.monotonic()

        here.alice.send("/stop")
        said = await here.alice.chat.expect("Stopped.")
        took = time.monotonic() - began
        await here.alice.chat.until(lambda screen: "→ stopped while it ran" in screen.text)

        assert took < 1
        assert "• say one more thing" in said.text
        assert not Path(f"/proc/{int((here.work / 'pid').read_text())}").exists()
        here.alice.send("say ready")
        await here.alice.chat.expect("ready")
        assert "one more thing" not in str(here.model.requests[-1].body)
        await here.stop()
        assert here.violations() == []


async def test_stop_closes_an_open_question(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        approve = card.find_button("Approve")
        assert approve is not None

        here.alice.send("/stop")
        await here.alice.chat.expect("Stopped.")
        await here.alice.chat.until(lambda screen: "not run: stopped" in screen.text)
        toast = await here.alice.press_stale(approve, card).answered()

        assert "Already decided: closed" in toast.text
        assert not (here.work / "ran").exists()


async def test_admin_commands_are_refused_to_others_and_unknown_ones_explained(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        for number, command in enumerate(("/status", "/pending"), 1):
            here.bob.send(command)
            await here.bob.chat.until(
                lambda screen, number=number: screen.text.count("This command is for admins.") == number  # type: ignore[misc]
            )
        here.bob.send("/format_disk now")
        await here.bob.chat.expect("I don't know that command; /help lists them.")

        assert "Server:" not in here.bob.screen().text
        assert not here.model.requests


async def test_every_command_that_only_admins_see_is_refused_to_others(tmp_path: Path) -> None:
    people = {20 + number: row.name for number, row in enumerate(ROWS) if row.admin}
    # One person each: a chat is sent about one message a second.
    async with house(tmp_path, puppet, ALLOWED_IDS=",".join(map(str, people))) as here:
        members = [here.emulator.person(number, f"Member {number}", started=True) for number in people]
        for member in members:
            member.send(f"/{people[member.id]}")

        for member in members:
            said = await member.chat.expect(lambda message: message.sender.is_bot)
            assert said.text == "This command is for admins.", people[member.id]
        assert len(members) >= 10


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for something outside any chat."""
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
