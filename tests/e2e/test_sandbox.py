"""Issue 4.7: what runs unasked is confined, the person is told how, and a level that can't be had asks."""

from pathlib import Path

import pytest

from bot.tools.sandbox import Places, open_sandbox
from tests.e2e.harness import puppet, town


@pytest.fixture(autouse=True)
def confinable(tmp_path: Path) -> None:
    for name in ("work", "state"):
        (tmp_path / name).mkdir()
    if problem := open_sandbox("ro", Places(tmp_path / "work", tmp_path / "state", tmp_path / "o")).problem:
        pytest.skip(f"this machine can't confine commands: {problem}")


async def test_unasked_it_neither_writes_the_system_nor_reads_the_bots_database(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, SANDBOX="ro") as here:
        (here.work / "look.sh").write_text(
            f"cat {here.database}; touch {here.folder}/outside; touch inside\n"
        )
        here.alice.send(f"run cat {here.database}")
        await here.alice.chat.expect("It came to")
        told = here.model.requests[-1]

        assert "SQLite format" not in str(told.body)
        assert "an error" in here.alice.chat.messages[-1].text


async def test_the_card_and_the_status_say_how_commands_run(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, SANDBOX="ro") as here:
        kept = here.folder / "outside"
        here.alice.send(f"run rm -rf {kept}; echo approved > {kept}")
        card = await here.alice.chat.expect("May I run this?")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result.")
        here.alice.send("/status")
        status = await here.alice.chat.expect("Sandbox:")

        assert "Runs unconfined; what I don't ask about runs confined: ro" in card.text
        assert kept.read_text() == "approved\n"
        assert "Sandbox: what runs unasked is confined: ro (" in status.text


async def test_a_level_that_cannot_be_had_makes_every_command_ask(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, SANDBOX="user", SANDBOX_USER="who-is-that") as here:
        here.alice.send("run echo hi")
        card = await here.alice.chat.expect("May I run this?")
        here.alice.send("/status")
        status = await here.alice.chat.expect("Sandbox:")

        assert "SANDBOX=user can't be had" in card.text
        assert "there is no user 'who-is-that'" in card.text
        assert "user can't be had, so every command asks" in status.text
