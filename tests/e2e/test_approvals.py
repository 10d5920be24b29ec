"""Questions to people from end to end (issue 2 §5; requirements A5–A8, L10, X9): the bot as a process."""

import asyncio
import re
from pathlib import Path

import pytest

from bot.demo import Emulator
from bot.demo.faults import close
from bot.demo.messages import Message
from bot.demo.model_server import ModelRequest, Reply
from tests.e2e.harness import Town, puppet, shell, town

RISKY = "run rm -rf ./old && echo gone >> ./ran"


def ran(here: Town) -> list[str]:
    """Return a line for each time the risky command ran."""
    path = here.work / "ran"
    return path.read_text().splitlines() if path.exists() else []


def reads(*words: str) -> "re.Pattern[str]":
    """Return a pattern for a message that has all of these, in this order."""
    return re.compile(".*".join(map(re.escape, words)), re.DOTALL)


def last_results(here: Town) -> str:
    return str([result.text for result in here.model.requests[-1].results])


def labels(message: Message) -> list[str]:
    return [button.text for row in message.buttons for button in row]


# ── yes and no ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_shows_the_command_and_then_what_became_of_it(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("All tidy.")
        return Reply("", [shell("rm -rf ./old; exit 3", explanation="I tidy up")])

    async with town(tmp_path, script) as here:
        here.alice.send("tidy up")
        card = await here.alice.chat.expect("May I run this?")
        open_text, approve = card.text, card.find_button("Approve")
        assert approve is not None

        assert (await here.alice.press("Approve", card).answered()).text == "Approved"
        await here.alice.chat.expect("All tidy.")
        await here.alice.chat.until(lambda screen: "→ exit 3, " in screen.text)

        assert [e["type"] for e in card.content["entities"] if e["type"] == "pre"] == ["pre"]
        for part in (
            "rm -rf ./old; exit 3",
            "deletes files recursively",
            "I tidy up",
            "asked by Alice",
            "until",
        ):
            assert part in open_text
        assert str(here.work) in open_text
        assert reads("Approved by Alice, ", "rm -rf ./old; exit 3", "→ exit 3, ").search(card.text)
        assert labels(card) == []
        assert "Already decided: approved" in (await here.alice.press_stale(approve, card).answered()).text


async def test_denied_by_a_button_nothing_runs_and_the_model_goes_on(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        assert (await here.alice.press("Deny", card).answered()).text == "Denied"
        await here.alice.chat.expect("It came to an error.")
        await here.alice.chat.until(lambda screen: "Denied by Alice" in screen.text)

        assert "[ERROR:Denied] Not run: Alice said no." in last_results(here)
        assert labels(card) == []
        assert ran(here) == []


async def test_a_reply_to_the_card_denies_it_with_a_reason(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        toast = await here.alice.press("Deny and say why", card).answered()
        here.alice.send("yes, but keep the newest", reply_to=card)
        await here.alice.chat.expect("It came to an error.")
        await here.alice.chat.until(lambda screen: "Denied by Alice" in screen.text)

        assert toast.alert
        assert "Reply to this card" in toast.text
        assert "because: yes, but keep the newest" in last_results(here)
        assert "yes, but keep the newest" in card.text
        assert ran(here) == []


@pytest.mark.parametrize(
    ("language", "yes", "no", "pointed", "denied", "buttons"),
    [
        ("en", "Yes!", "no", "Words don't approve", "Denied by", ["Approve", "Deny", "Deny and say why"]),
        ("id", "gas", "Jangan.", "Kata-kata tidak", "Ditolak", ["Setujui", "Tolak", "Tolak dengan alasan"]),
        (
            "pt",
            "sim",
            "não",
            "Palavras não aprovam",
            "Negado por",
            ["Aprovar", "Negar", "Negar e dizer por quê"],
        ),
    ],
)
async def test_a_yes_is_pointed_to_the_button_and_a_no_denies(
    tmp_path: Path, language: str, yes: str, no: str, pointed: str, denied: str, buttons: list[str]
) -> None:
    async with town(tmp_path, puppet, LANGUAGE=language) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        shown = labels(card)
        assert [label for label in shown if label in buttons] == buttons

        here.alice.send(yes)
        await here.alice.chat.expect(pointed)
        here.alice.send(yes, reply_to=card)
        await here.alice.chat.expect(pointed)
        assert labels(card) == shown
        assert len(here.model.requests) == 1
        here.alice.send(no, reply_to=card if language == "en" else None)
        await here.alice.chat.until(lambda screen: denied in screen.text)
        await here.alice.chat.expect("It came to an error.")

        assert ran(here) == []


async def test_a_new_message_closes_the_question_and_is_answered(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        here.alice.send("say something else")
        await here.alice.chat.expect("something else")
        await here.alice.chat.until(lambda screen: "not run: you moved on" in screen.text)

        assert labels(card) == []
        assert "the person moved on" in str(here.model.requests[-1].messages)
        assert ran(here) == []
        await here.stop()
        assert here.violations() == []


async def test_several_calls_of_a_step_have_their_cards_at_once(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run rm -rf ./a || then || ls || then || rm -rf ./b || then || rm -rf ./c")
        cards = [await here.alice.chat.expect(f"rm -rf ./{name}") for name in "abc"]

        await here.alice.press("Approve", cards[2]).answered()
        await here.alice.press("Deny", cards[0]).answered()
        assert len(here.model.requests) == 1
        await here.alice.press("Approve", cards[1]).answered()
        await here.alice.chat.expect("It came to an error and a result and a result and a result.")

        assert not here.model.refusals


# ── time and restarts ──────────────────────────────────────────────────────────────────────────────────


async def test_an_expired_question_can_be_asked_again(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("Nobody came." if "in time" in request.results[0].text else "It ran.")
        return Reply("", [shell(request.last_user_text.rsplit("\n", 1)[-1])])

    async with town(tmp_path, script, APPROVAL_TTL="2") as here:
        here.alice.send("rm -rf ./old; echo x >> ./ran")
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.chat.expect("Nobody came.", within=10)
        await here.alice.chat.until(lambda screen: "Ask again" in str(screen))
        assert labels(card) == ["Ask again"]

        toast = await here.alice.press("Ask again", card).answered()
        again = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", again).answered()
        await here.alice.chat.expect("It ran.")

        assert toast.text == "Asking again"
        assert again is not card
        assert ran(here) == ["x"]


async def test_a_press_after_kill_and_restart_runs_the_command_once(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        await here.kill()
        press = here.alice.press("Approve", card)

        await here.start()
        toast = await press.answered(within=10)
        await here.alice.chat.expect("It came to a result.")

        assert toast.text == "Approved"
        assert ran(here) == ["gone"]
        assert here.alice.screen().text.count("It came to") == 1
        await here.stop()
        assert here.violations() == []


async def test_a_command_cut_by_a_kill_is_reported_and_not_repeated(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("unknown" if "outcome unknown" in request.results[0].text else "known")
        return Reply("", [shell("rm -rf ./old; echo x >> ./ran; sleep 3")])

    async with town(tmp_path, script) as here:
        here.alice.send("go")
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", card).answered()
        await until(lambda: ran(here) == ["x"])
        await here.restart()

        await here.alice.chat.expect("It will not be repeated", within=10)
        await here.alice.chat.expect("unknown")
        await here.alice.chat.until(lambda screen: "→ interrupted, outcome unknown" in screen.text)

        assert ran(here) == ["x"]
        assert here.alice.screen().text.count("It will not be repeated") == 1
        await here.stop()
        assert here.violations() == []


# ── whom to ask ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_of_someone_who_may_not_decide_goes_to_the_admin(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send(RISKY)
        await here.bob.chat.expect("The question went to the admins")
        card = await here.alice.chat.expect("rm -rf ./old")
        assert "asked by Bob" in card.text
        assert "May I run" not in here.bob.screen().text

        here.bob.send("yes")  # his own words change nothing
        await here.bob.chat.expect("Words don't approve")
        await here.alice.press("Approve", card).answered()
        await here.bob.chat.expect("It came to a result.")
        await here.alice.chat.until(
            lambda screen: "Approved by Alice" in screen.text and "→ exit 0" in screen.text
        )

        assert ran(here) == ["gone"]
        assert "It came to" not in here.alice.screen().text


async def test_of_two_admins_the_first_press_counts_and_both_cards_say_so(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, ADMIN_IDS="7,9") as here:
        carol = here.emulator.person(9, "Carol", started=True)
        here.bob.send(RISKY)
        alices = await here.alice.chat.expect("rm -rf ./old")
        carols = await carol.chat.expect("rm -rf ./old")
        approve = alices.find_button("Approve")
        assert approve is not None

        await carol.press("Deny", carols).answered()
        await here.alice.chat.until(lambda screen: "Denied by Carol" in screen.text)
        toast = await here.alice.press_stale(approve, alices).answered()
        await here.bob.chat.expect("It came to an error.")

        assert "Already decided: denied" in toast.text
        assert labels(alices) == labels(carols) == []
        assert ran(here) == []


async def test_a_member_may_withdraw_what_he_asked_for(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        here.bob.send("batal")
        await here.bob.chat.expect("It came to an error.")
        await here.alice.chat.until(lambda screen: "Closed" in screen.text)

        assert labels(card) == []
        assert ran(here) == []


async def test_someone_elses_message_waits_for_the_card_and_is_told_why(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot " + RISKY, group)
        card = await group.expect("rm -rf ./old")

        theirs = here.bob.send("@kai_test_bot say good morning", group)
        told = await group.expect("I am waiting for the answer to a question of Alice's")
        await group.expect_nothing(0.3)
        assert len(here.model.requests) == 1
        await here.alice.press("Approve", card).answered()
        await group.expect("It came to a result.")
        answer = await group.expect("good morning")

        assert told.reply_to is theirs
        assert answer.reply_to is theirs


async def test_a_message_that_came_just_before_the_card_is_told_too(tmp_path: Path) -> None:
    async def script(request: ModelRequest) -> Reply:
        if request.last_user_text.endswith(RISKY) and not request.results:
            await asyncio.sleep(0.7)
        return puppet(request)

    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, script, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot " + RISKY, group)
        await until(lambda: len(here.model.requests) == 1)
        here.bob.send("@kai_test_bot say good morning", group)

        await group.expect("I am waiting for the answer to a question of Alice's")
        await here.alice.press("Deny", chat=group).answered()
        await group.expect("good morning")


# ── what is shown ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_too_long_for_a_card_comes_as_a_file_before_its_buttons(tmp_path: Path) -> None:
    command = "rm -rf ./old " + " ".join(f"./file-{n}" for n in range(400))
    async with town(tmp_path, puppet) as here:
        here.emulator.fail("sendDocument", close(runs=False))
        here.alice.send(f"run {command}")
        card = await here.alice.chat.expect("May I run this?", within=15)

        [file] = [m for m in here.alice.chat.messages if m.kind == "document"]
        order = [c.method for c in here.emulator.calls() if c.method in ("sendDocument", "sendMessage")]

        assert file.id < card.id
        assert order == ["sendDocument", "sendDocument", "sendMessage"]
        assert "the whole text is in the file above" in card.text
        assert (await here.alice.press("Approve", card).answered()).text == "Approved"
        await here.alice.chat.expect("It came to")


async def test_characters_that_hide_or_reorder_text_are_shown_on_the_card(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run rm -rf ./old \u202efdp.exe\u202c \u200b\x1b[8mhidden")

        card = await here.alice.chat.expect("rm -rf ./old")

        assert not re.search("[\u202a-\u202e\u200b\x00-\x08\x1b]", card.text)
        assert "fdp.exe" in card.text
        assert "hidden" in card.text
        assert "202E" in card.text.upper()


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for something outside any chat."""
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


# ── what was read is what runs ─────────────────────────────────────────────────────────────────────────

DEPLOY = "run bash ./deploy.sh; rm -rf ./old"


def write_script(here: Town, word: str) -> None:
    (here.work / "deploy.sh").write_text(f"#!/bin/sh\necho {word} >> ./ran\n")


async def not_run(here: Town, card: Message) -> None:
    """Press Approve, and see that nothing ran, on the card and by what the model is told."""
    await here.alice.press("Approve", card).answered()
    await here.alice.chat.expect("It came to an error.")
    await here.alice.chat.until(lambda _: "→ not run: " in card.text)
    assert "Approved by Alice" in card.text
    assert card.text.partition("→ not run: ")[2].splitlines()[0].endswith(": deploy.sh")
    assert "what would run now is not what was approved" in last_results(here)
    assert "What it runs: deploy.sh" in last_results(here)
    assert ran(here) == []


async def approved(here: Town, word: str) -> None:
    """Ask again, read the script as it is now on a new card, approve that, and see it run once."""
    here.alice.send(f"{DEPLOY} # again")
    card = await here.alice.chat.expect("rm -rf ./old # again")
    assert f"echo {word} >> ./ran" in card.text
    await here.alice.press("Approve", card).answered()
    await here.alice.chat.expect("It came to a result.")
    assert ran(here) == [word]


async def test_a_card_shows_how_the_script_begins_that_it_asks_about(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")

        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")

        assert reads("bash ./deploy.sh; rm -rf ./old", "deploy.sh:\n#!/bin/sh\necho one >> ./ran").search(
            card.text
        )
        assert [e["type"] for e in card.content["entities"] if e["type"] == "pre"] == ["pre", "pre"]


async def test_a_script_that_changed_since_does_not_run_and_can_be_asked_about_again(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")
        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")
        write_script(here, "two")

        await not_run(here, card)

        await approved(here, "two")
        await here.stop()
        assert here.violations() == []


async def test_a_script_that_changed_while_the_bot_was_down_does_not_run(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")
        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")
        await here.kill()
        write_script(here, "two")
        await here.start()

        await not_run(here, card)


async def test_a_script_that_was_not_there_when_asked_about_does_not_run(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")
        write_script(here, "one")

        await not_run(here, card)

        await approved(here, "one")


async def test_a_script_that_is_gone_does_not_run_and_says_so(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")
        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")
        (here.work / "deploy.sh").unlink()

        await not_run(here, card)


async def test_an_approved_call_of_the_same_step_that_changes_the_script_stops_the_next(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")
        change = "rm -rf ./x; echo 'echo evil >> ./ran' > deploy.sh"

        here.alice.send(f"run {change} || then || bash ./deploy.sh; rm -rf ./old")
        await here.alice.chat.until(lambda screen: screen.text.count("May I run this?") == 2)
        first, second = (m for m in here.alice.chat.messages if "May I run this?" in m.text)
        await here.alice.press("Approve", second).answered()
        await here.alice.press("Approve", first).answered()
        await here.alice.chat.expect("It came to a result and an error.")

        assert ran(here) == []


async def test_an_unchanged_script_runs_after_a_restart(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        write_script(here, "one")
        here.alice.send(DEPLOY)
        card = await here.alice.chat.expect("May I run this?")
        await here.restart()

        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result.")

        assert ran(here) == ["one"]
