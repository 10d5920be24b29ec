"""A person's command in place of the model's (prior art §4.4): asked about anew, run at most once."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from bot.demo.messages import Message
from tests.e2e.harness import Town, puppet, town
from tests.e2e.indoors import House, house

ASKED = "run rm -rf ./old; echo model >> ./ran"


def ran(here: Town | House) -> list[str]:
    file = here.work / "ran"
    return file.read_text().split() if file.exists() else []


async def ask(here: Town | House) -> Message:
    here.alice.send(ASKED)
    card = await here.alice.chat.expect("May I run this?")
    await asyncio.sleep(0.2)  # a person reads first; by then the bot knows the card's number
    return card


@pytest.mark.parametrize(
    "reply", ["$ echo mine >> ./ran", "`echo mine >> ./ran`", "```\necho mine >> ./ran\n```"]
)
async def test_a_reply_that_is_a_command_voids_the_card_and_asks_about_the_new_one(
    tmp_path: Path, reply: str
) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        approve = card.find_button("Approve")
        assert approve is not None

        here.alice.send(reply, reply_to=card)
        new = await here.alice.chat.expect("Alice's own words, not the model's")
        await here.alice.chat.until(lambda _: "Closed" in card.text)
        stale = await here.alice.press_stale(approve, card).answered()
        assert "Already decided" in stale.text
        assert "Alice wrote another command" in card.text.splitlines()[0]
        assert "echo mine >> ./ran" in new.text
        assert "rm -rf" not in new.text
        assert ran(here) == []
        await here.alice.press("Approve", new).answered()
        await here.alice.chat.expect("It came to a result")

        assert ran(here) == ["mine"]
        told = str(here.model.requests[-1].body)
        assert "Alice changed the command of this call" in told
        assert "echo mine >> ./ran" in told
        assert "→ exit 0" in new.text


async def test_the_new_command_is_classified_anew(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)

        here.alice.send("$ reboot", reply_to=card)
        new = await here.alice.chat.expect("own words")

        assert "stops or restarts the machine" in new.text
        assert "Approving takes a code too" in new.text


async def test_the_new_card_can_be_denied_and_the_model_reads_why(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        here.alice.send("$ echo mine >> ./ran", reply_to=card)
        new = await here.alice.chat.expect("own words")

        here.alice.send("not today", reply_to=new)
        await here.alice.chat.expect("It came to an error")

        assert ran(here) == []
        assert "not today" in str(here.model.requests[-1].body)


async def test_a_script_that_a_person_asked_for_runs_only_as_it_was_then(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        script = here.work / "mine.sh"
        script.write_text("echo read >> ./ran\n")
        here.alice.send("$ bash mine.sh", reply_to=await ask(here))
        new = await here.alice.chat.expect("Alice's own words, not the model's")
        assert "mine.sh: echo read >> ./ran" in new.text
        script.write_text("echo other >> ./ran\n")

        await here.alice.press("Approve", new).answered()
        await here.alice.chat.expect("It came to an error.")

        assert ran(here) == []
        await here.alice.chat.until(lambda _: "→ not run: " in new.text)


async def test_it_can_be_changed_again(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        here.alice.send("$ echo one >> ./ran", reply_to=card)
        second = await here.alice.chat.expect("echo one")
        here.alice.send("$ echo two >> ./ran", reply_to=second)
        third = await here.alice.chat.expect("echo two")

        await here.alice.press("Approve", third).answered()
        await here.alice.chat.expect("It came to a result")

        assert ran(here) == ["two"]


async def test_a_changed_command_runs_once_across_restarts(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        card = await ask(here)
        here.alice.send("$ echo mine >> ./ran", reply_to=card)
        new = await here.alice.chat.expect("own words")
        await here.restart()

        await here.alice.press("Approve", new).answered(within=10)
        await here.alice.chat.expect("It came to a result")
        await here.restart()
        here.alice.send("say done")
        await here.alice.chat.expect("done", within=10)

        assert ran(here) == ["mine"]
        await here.stop()
        assert here.violations() == []
        with sqlite3.connect(here.database) as db:
            details = [
                json.loads(row[0]) for row in db.execute("SELECT detail FROM audit WHERE action = 'asked'")
            ]
        assert details[1]["replaces"] == details[0]["call_id"]


async def test_killed_while_the_changed_command_ran_its_outcome_is_unknown_and_it_is_not_repeated(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, puppet) as here:
        card = await ask(here)
        here.alice.send("$ echo mine >> ./ran; sleep 30", reply_to=card)
        new = await here.alice.chat.expect("own words")
        here.alice.press("Approve", new)
        await here.alice.chat.until(lambda _: ran(here) == ["mine"])

        await here.restart()
        await here.alice.chat.expect("The bot was restarted while this ran", within=10)
        await here.alice.chat.expect("It came to an error", within=10)

        assert ran(here) == ["mine"]
        await here.stop()
        assert here.violations() == []


async def test_moving_on_closes_the_changed_question_too(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        here.alice.send("$ echo mine >> ./ran", reply_to=card)
        new = await here.alice.chat.expect("own words")

        here.alice.send("say never mind")
        await here.alice.chat.expect("never mind")
        await here.alice.chat.until(lambda _: "Closed" in new.text)

        assert ran(here) == []


async def test_other_words_in_reply_still_deny_with_a_reason(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)

        here.alice.send("use $ 5 less", reply_to=card)
        await here.alice.chat.expect("It came to an error")

        assert "use $ 5 less" in card.text.splitlines()[0]


async def test_nobody_but_an_admin_changes_a_command(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.bob.send(ASKED)
        card = await here.alice.chat.expect("May I run this?")
        await here.bob.chat.expect("needs an admin's approval")

        here.bob.send("$ echo mine >> ./ran", reply_to=card)
        await here.bob.chat.expect("You said")

        assert ran(here) == []


async def test_the_button_says_how(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)

        toast = await here.alice.press("Change…", card).answered()

        assert toast.alert
        assert "Reply to this card with $" in toast.text
