"""The worst class: after the press, the presser types the code that the card shows (A7)."""

import asyncio
import re
from pathlib import Path

import pytest

from bot.demo.messages import Message
from tests.e2e.harness import Town, puppet, town
from tests.e2e.indoors import House, house


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Stand-ins for what must never really run here; they note that they ran."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("reboot", "ufw"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/ran\n')
        program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def ran(tmp_path: Path) -> list[str]:
    file = tmp_path / "ran"
    return file.read_text().splitlines() if file.exists() else []


async def pressed(
    here: Town | House, command: str = "reboot", button: str = "Approve"
) -> tuple[Message, str]:
    """Ask, press, and return the card with the code it shows."""
    here.alice.send(f"run {command}")
    card = await here.alice.chat.expect("Approving takes a code too")
    return card, await press(here, card, button)


async def press(here: Town | House, card: Message, button: str = "Approve") -> str:
    toast = await here.alice.press(button, card).answered()
    assert toast.text == "Write the code that the card shows."
    await here.alice.chat.until(lambda _: "Alice: to run it, write" in card.text)
    found = re.search(r"write ([0-9]{4}) here", card.text)
    assert found
    return found[1]


def another(code: str) -> str:
    return f"{(int(code) + 1) % 10_000:04}"


async def test_the_press_runs_nothing_and_the_code_runs_it(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here)
        assert ran(tmp_path) == []

        here.alice.send(code)
        await here.alice.chat.expect("It came to a result")

        assert ran(tmp_path) == ["reboot "]
        assert card.text.startswith("✅ Approved by Alice")
        assert code not in card.text
        assert not any(code in str(request.body) for request in here.model.requests)


async def test_a_code_in_reply_to_the_card_counts_too(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here)

        here.alice.send(code, reply_to=card)
        await here.alice.chat.expect("It came to a result")

        assert ran(tmp_path) == ["reboot "]


async def test_a_wrong_code_puts_the_question_back_and_voids_the_right_one(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here)

        here.alice.send(another(code))
        await here.alice.chat.expect("That is not the code")
        await here.alice.chat.until(lambda _: "Approving takes a code too" in card.text)
        here.alice.send(code)
        await here.alice.chat.expect("That code is over")
        assert ran(tmp_path) == []
        here.alice.send(await press(here, card))
        await here.alice.chat.expect("It came to a result")

        assert ran(tmp_path) == ["reboot "]


async def test_a_late_code_runs_nothing_and_leaves_the_question_open(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here)

        here.clock.advance(60)  # over, but nobody has looked yet
        here.alice.send(code)
        await here.alice.chat.expect("That code is over")
        code = await press(here, card)
        await here.later(61)
        await here.alice.chat.until(lambda _: "Approving takes a code too" in card.text)
        here.alice.send(code)
        await here.alice.chat.expect("That code is over")

        assert ran(tmp_path) == []
        assert card.find_button("Approve") is not None
        assert len(await here.kai.store.pending_approvals()) == 1


async def test_the_code_survives_a_restart(tmp_path: Path, path: str) -> None:
    async with town(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here)
        await here.restart()

        here.alice.send(code)
        await here.alice.chat.expect("It came to a result", within=10)

        assert ran(tmp_path) == ["reboot "]
        await here.stop()
        assert here.violations() == []


async def test_another_persons_code_or_press_counts_for_nothing(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path, ADMIN_IDS="7,9") as here:
        carol = here.emulator.person(9, "Carol", started=True)
        card, code = await pressed(here)

        here.bob.send(code)
        await here.bob.chat.expect(f"You said: {code}")
        carol.send(code)
        await carol.chat.expect(f"You said: {code}")
        refused = await here.bob.press("Approve", card).answered()
        taken = await carol.press("Approve", card).answered()
        assert "Only an admin" in refused.text
        assert "Alice is being asked" in taken.text
        assert ran(tmp_path) == []
        here.alice.send(code)
        await here.alice.chat.expect("It came to a result")

        assert ran(tmp_path) == ["reboot "]
        assert card.text.startswith("✅ Approved by Alice")


async def test_no_words_approve_and_the_worst_can_be_denied_while_the_code_is_asked(
    tmp_path: Path, path: str
) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, _ = await pressed(here)
        here.alice.send("yes", reply_to=card)
        await here.alice.chat.expect("Words don't approve")

        await here.alice.press("Deny", card).answered()
        await here.alice.chat.expect("It came to an error")

        assert ran(tmp_path) == []
        assert card.text.startswith("⛔ Denied by Alice")


async def test_four_digits_are_a_message_when_no_code_was_asked(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        here.alice.send("2024")

        await here.alice.chat.expect("You said: 2024")


async def test_the_worst_offers_no_grant(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card, _ = await pressed(here)

        assert [b.text for row in card.buttons for b in row] == [
            "Approve",
            "Deny",
            "Deny and say why",
            "Change…",
        ]


# ── undone unless kept ─────────────────────────────────────────────────────────────────────────────────

GUARDED = "Run, undo in 5 min unless kept"


async def run_guarded(here: Town | House, command: str = "ufw deny 22", button: str = GUARDED) -> Message:
    """Run a command with its undoing and return the card that asks to keep it."""
    card, code = await pressed(here, command, button)
    assert "Can be undone by: ufw delete deny 22" in card.text
    here.alice.send(code)
    return await here.alice.chat.expect(lambda m: m is not card and "unless you keep it" in m.text)


async def test_what_nobody_keeps_is_undone_once_and_announced(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card = await run_guarded(here)
        assert ran(tmp_path) == ["ufw deny 22"]
        assert [b.text for row in card.buttons for b in row] == ["Keep it", "Undo now"]
        await here.later(299)
        assert ran(tmp_path) == ["ufw deny 22"]

        await here.later(2)
        await here.alice.chat.expect("Undone by (exit 0")
        await here.later(300)
        await here.alice.chat.until(lambda _: "↩️ Undone: exit 0" in card.text)

        assert ran(tmp_path) == ["ufw deny 22", "ufw delete deny 22"]
        assert not card.buttons
        assert "unless the person keeps it" in str(here.model.requests[-1].body)


async def test_what_is_kept_stays(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card = await run_guarded(here)
        undo = card.find_button("Undo now")
        assert undo is not None

        toast = await here.alice.press("Keep it", card).answered()
        await here.alice.chat.until(lambda _: "Kept by Alice" in card.text)
        again = await here.alice.press_stale(undo, card).answered()
        await here.later(600)

        assert (toast.text, again.text) == ("Kept", "That is settled already.")
        assert ran(tmp_path) == ["ufw deny 22"]


async def test_it_can_be_undone_at_once_but_not_by_anybody(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        card = await run_guarded(here)

        refused = await here.bob.press("Undo now", card).answered()
        await here.alice.press("Undo now", card).answered()
        await here.alice.chat.expect("Undone by (exit 0")
        await here.later(600)

        assert "Only an admin" in refused.text
        assert ran(tmp_path) == ["ufw deny 22", "ufw delete deny 22"]


async def test_the_undoing_survives_a_restart(tmp_path: Path, path: str) -> None:
    async with town(tmp_path, puppet, PATH=path, REVERT_AFTER="3") as here:
        await run_guarded(here, button="Run, undo in 0.05 min unless kept")
        await here.kill()
        assert ran(tmp_path) == ["ufw deny 22"]

        await here.start()
        await here.alice.chat.expect("Undone by (exit 0", within=15)
        await asyncio.sleep(0.5)  # or the notice may be sent once more
        await here.restart()
        await here.alice.chat.expect_nothing(2)

        assert ran(tmp_path) == ["ufw deny 22", "ufw delete deny 22"]
        await here.stop()
        assert here.violations() == []


async def test_a_restart_while_the_command_runs_still_undoes_it(tmp_path: Path, path: str) -> None:
    program = tmp_path / "bin" / "ufw"
    program.write_text(f'#!/bin/sh\necho "ufw $*" >> {tmp_path}/ran\n[ "$1" = delete ] || sleep 60\n')
    async with town(tmp_path, puppet, PATH=path, REVERT_AFTER="3") as here:
        card, code = await pressed(here, "ufw deny 22", "Run, undo in 0.05 min unless kept")
        here.alice.send(code)
        await here.alice.chat.until(lambda _: ran(tmp_path) != [])
        await here.restart()

        await here.alice.chat.expect("Undone by (exit 0", within=15)

        assert ran(tmp_path) == ["ufw deny 22", "ufw delete deny 22"]


async def test_a_command_that_failed_is_not_undone(tmp_path: Path, path: str) -> None:
    (tmp_path / "bin" / "ufw").write_text(f'#!/bin/sh\necho "ufw $*" >> {tmp_path}/ran\nexit 1\n')
    async with house(tmp_path, puppet, PATH=path) as here:
        card, code = await pressed(here, "ufw deny 22", GUARDED)
        here.alice.send(code)
        await here.alice.chat.until(lambda _: "Not undone: the command failed" in card.text)

        await here.later(600)

        assert ran(tmp_path) == ["ufw deny 22"]


async def test_an_approval_without_the_guard_is_never_undone(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, puppet, PATH=path) as here:
        _, code = await pressed(here, "ufw deny 22")
        here.alice.send(code)
        await here.alice.chat.expect("It came to a result")

        await here.later(600)

        assert ran(tmp_path) == ["ufw deny 22"]
