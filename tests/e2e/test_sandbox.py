"""Issue 4.7: what runs unasked is confined, the person is told how, and a level that can't be had asks."""

from pathlib import Path

from bot.tools.sandbox import Places, open_sandbox
from tests import lacking
from tests.e2e.harness import puppet, town
from tests.tools.wallet.town import write_credentials


def need_ro(folder: Path) -> None:
    places = Places(folder, folder / "state", folder / "state/outputs")
    places.state_dir.mkdir()
    if problem := open_sandbox("ro", places).problem:
        lacking.skip(f"SANDBOX=ro wants bubblewrap or a kernel with Landlock: {problem}")


async def test_unasked_it_neither_reads_the_bots_database_nor_writes_beside_the_work_folder(
    tmp_path: Path,
) -> None:
    need_ro(tmp_path)
    async with town(tmp_path, puppet, SANDBOX="ro") as here:
        here.alice.send("run grep -rl 'SQLite format' ..; mkdir inside ../outside")
        await here.alice.chat.expect("It came to")
        told = str(here.model.requests[-1].body["messages"])

        assert here.database.exists()
        assert "kai.db" not in told
        assert (here.work / "inside").is_dir()
        assert not (here.folder / "outside").exists()


async def test_the_card_and_the_status_say_how_commands_run(tmp_path: Path) -> None:
    need_ro(tmp_path)
    async with town(tmp_path, puppet, SANDBOX="ro") as here:
        made = here.folder / "made"
        here.alice.send(f"run rm -rf {made}; echo approved > {made}")
        card = await here.alice.chat.expect("May I run this?")
        asked = card.text
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result.")
        here.alice.send("/status")
        status = await here.alice.chat.expect("Sandbox:")

        assert "Runs unconfined; what I don't ask about runs confined: ro" in asked
        assert made.read_text() == "approved\n"
        assert "Sandbox: what runs unasked is confined: ro (" in status.text


async def test_a_level_that_cannot_be_had_makes_every_command_ask(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, SANDBOX="user", SANDBOX_USER="who-is-that") as here:
        here.alice.send("run echo hi")
        card = await here.alice.chat.expect("May I run this?")
        asked = card.text
        here.alice.send("/status")
        status = await here.alice.chat.expect("Sandbox:")

        assert "SANDBOX=user can't be had" in asked
        assert "there is no user 'who-is-that'" in asked
        assert "user can't be had, so every command asks" in status.text


async def test_unasked_it_does_not_read_the_tools_credentials(tmp_path: Path) -> None:
    need_ro(tmp_path)
    keys = tmp_path / "work" / "keys"
    write_credentials(keys, wallet="EVM_PRIVATE_KEY=0x12")
    (tmp_path / "work" / "other.txt").write_text("EVM_PRIVATE_KEY=0x34")
    async with town(tmp_path, puppet, SANDBOX="ro", CREDENTIALS_DIR=str(keys)) as here:
        here.alice.send("run grep -rl EVM_PRIVATE_KEY")
        await here.alice.chat.expect("It came to")
        told = str(here.model.requests[-1].body["messages"])

        assert "other.txt" in told
        assert "keys/wallet.env" not in told
