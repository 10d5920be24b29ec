"""Grants: given on the card, shown before, used aloud, listed and revoked (A1, A5, A9)."""

import asyncio
import json
import os
import sqlite3
import sys
from pathlib import Path

from bot.demo import Emulator
from bot.demo.chats import Chat
from bot.demo.messages import Message
from tests.e2e.harness import Town, puppet, town
from tests.e2e.indoors import House, house

AGAIN = "run rm -rf ./old; echo x >> ./ran"
COMMAND = "rm -rf ./old; echo x >> ./ran"


def times(here: Town | House) -> int:
    ran = here.work / "ran"
    return ran.read_text().count("x") if ran.exists() else 0


async def ask(here: Town | House, text: str = AGAIN, chat: Chat | None = None) -> Message:
    here.alice.send(text, chat)
    return await (chat or here.alice.chat).expect("May I run this?")


async def grant(here: Town | House, card: Message, label: str) -> None:
    """Press More and then a grant, and wait until the command ran."""
    before = times(here)
    here.alice.press("More…", card)
    await card.chat.until(lambda _: card.find_button(label) is not None)
    await here.alice.press(label, card).answered()
    await card.chat.expect("It came to a result")
    assert times(here) == before + 1


async def runs_unasked(here: Town | House, chat: Chat | None = None, text: str = AGAIN) -> None:
    before = times(here)
    here.alice.send(text, chat)
    await (chat or here.alice.chat).expect("Run under a grant of Alice's")
    await (chat or here.alice.chat).expect("It came to a result")
    assert times(here) == before + 1


async def test_the_rule_stands_on_the_card_before_it_is_given_and_then_covers_the_same_command(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, puppet) as here:
        card = await ask(here)
        assert "A grant covers" not in card.text
        here.alice.press("More…", card)
        await here.alice.chat.until(lambda _: card.find_button("15 minutes") is not None)
        assert f"exactly this command in {here.work}, when Alice asks here" in card.text
        labels = [button.text for row in card.buttons for button in row]
        assert labels == ["this task", "15 minutes", "always, this exact command", "Back"]

        await here.alice.press("15 minutes", card).answered()
        await here.alice.chat.expect("It came to a result")
        assert "Approved by Alice" in card.text
        assert "15 minutes" in card.text.splitlines()[0]
        await runs_unasked(here)

        card = await ask(here, "run rm -rf ./old; echo x >> ./ran # too")
        assert times(here) == 2
        await here.stop()
        assert audit(here, "ran")[-1]["granted_by"] == 7
        assert audit(here, "ran")[-1]["risk"] == "high"


async def test_back_shows_the_card_as_it_was(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        before = card.text
        here.alice.press("More…", card)
        await here.alice.chat.until(lambda _: card.find_button("Back") is not None)

        here.alice.press("Back", card)
        await here.alice.chat.until(lambda _: card.find_button("Approve") is not None)

        assert card.text == before


async def test_once_is_once(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result")

        await ask(here)

        assert times(here) == 1


async def test_a_grant_for_the_task_ends_with_the_next_message(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        await grant(here, await ask(here), "this task")

        await ask(here)

        assert times(here) == 1


async def test_a_standing_grant_outlives_a_restart_and_new(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        await grant(here, await ask(here), "always, this exact command")
        here.alice.send("/new")
        await here.alice.chat.expect("A new conversation begins")
        await here.restart()

        await runs_unasked(here)


async def test_an_expired_grant_covers_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        await grant(here, await ask(here), "15 minutes")
        here.clock.advance(899)
        await runs_unasked(here)
        here.clock.advance(2)

        await ask(here)

        assert times(here) == 2


async def test_a_second_persons_press_gives_no_grant(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here)
        more = await here.bob.press("More…", card).answered()
        here.alice.press("More…", card)
        await here.alice.chat.until(lambda _: card.find_button("15 minutes") is not None)

        grant = await here.bob.press("15 minutes", card).answered()

        assert "Only an admin" in more.text
        assert "Only an admin" in grant.text
        assert times(here) == 0
        assert await here.kai.store.grants(here.clock()) == []


async def test_another_persons_request_is_not_covered(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        await grant(here, await ask(here), "15 minutes")

        here.bob.send(AGAIN)
        await here.bob.chat.expect("needs an admin's approval")

        assert times(here) == 1


async def test_a_forwarded_card_decides_nothing_for_others_and_once_for_an_admin(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with house(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        card = await ask(here)
        approve = card.find_button("Approve")
        assert approve is not None
        always = type(approve)("always", approve.data[:-1] + "e")
        copy = here.alice.forward(card, group)

        toast = await here.bob.press_stale(always, copy).answered()
        assert "Only an admin" in toast.text
        assert times(here) == 0
        await here.alice.press_stale(always, copy).answered()
        await here.alice.chat.expect("It came to a result")
        toast = await here.alice.press_stale(approve, card).answered()

        assert "Already decided" in toast.text
        assert times(here) == 1
        assert len(await here.kai.store.grants(here.clock())) == 1


async def test_a_crafted_press_gives_no_grant_where_none_is_offered(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        card = await ask(here, "run rm -rf $HOME/none-$$")
        approve = card.find_button("Approve")
        assert approve is not None
        assert card.find_button("More…") is None

        toast = await here.alice.press_stale(type(approve)("x", approve.data[:-1] + "e"), card).answered()

        assert "no longer known" in toast.text
        assert await here.kai.store.grants(here.clock()) == []
        assert card.find_button("Approve") is not None


async def test_a_changed_file_behind_a_script_grant_voids_it(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        script = here.work / "deploy.sh"
        script.write_text("#!/bin/sh\necho x >> ./ran\n")
        script.chmod(0o755)
        run = "run ./deploy.sh; rm -rf ./old"
        card = await ask(here, run)
        here.alice.press("More…", card)
        await here.alice.chat.until(lambda _: f"when one of these changes: {script}" in card.text)
        await here.alice.press("15 minutes", card).answered()
        await here.alice.chat.expect("It came to a result")
        await runs_unasked(here, text=run)
        script.write_text("#!/bin/sh\necho xxx >> ./ran\n")

        await ask(here, run)

        assert times(here) == 2


async def test_a_step_that_changes_the_script_does_not_run_it_under_the_grant(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        for name, content in (("deploy.sh", "x"), ("new.sh", "xx")):
            (here.work / name).write_text(f"#!/bin/sh\necho {content} >> ./ran\n")
            (here.work / name).chmod(0o755)
        run = "./deploy.sh; rm -rf ./old"
        await grant(here, await ask(here, f"run {run}"), "15 minutes")

        card = await ask(here, f"run cp new.sh deploy.sh || then || {run}")

        assert run in card.text
        assert times(here) == 1


async def test_grants_lists_them_with_a_button_that_revokes(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        await grant(here, await ask(here), "always, this exact command")
        here.alice.send("/grants")
        listed = await here.alice.chat.expect("What may run without being asked about")
        assert COMMAND in listed.text
        assert "by Alice, used 0 times" in listed.text

        toast = await here.alice.press("Revoke 1", listed).answered()
        await here.alice.chat.expect("No grant is in force")
        again = await here.alice.press("Revoke 1", listed).answered()
        await ask(here)

        assert toast.text == "Revoked"
        assert again.text == "That is settled already."
        assert times(here) == 1
        await here.stop()
        assert len(audit(here, "grant_revoked")) == 1


async def test_nobody_but_an_admin_lists_or_revokes(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        await grant(here, await ask(here), "15 minutes")
        here.alice.send("/grants")
        listed = await here.alice.chat.expect("What may run without being asked about")

        toast = await here.bob.press("Revoke 1", listed).answered()
        here.bob.send("/grants")
        await here.bob.chat.expect("This command is for admins")

        assert "Only an admin" in toast.text
        assert len(await here.kai.store.grants(here.clock())) == 1


async def test_revoked_while_it_runs_concerns_only_later_calls(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        run = "run rm -rf ./old; while [ ! -e ./go ]; do sleep 0.05; done; echo x >> ./ran"
        (here.work / "go").touch()
        await grant(here, await ask(here, run), "15 minutes")
        (here.work / "go").unlink()
        here.alice.send(run)
        await here.alice.chat.expect("Run under a grant")
        here.alice.send("/grants")
        listed = await here.alice.chat.expect("What may run without being asked about")
        await here.alice.press("Revoke 1", listed).answered()

        (here.work / "go").touch()
        await here.alice.chat.expect("It came to a result")
        assert times(here) == 2
        await ask(here, run)

        assert times(here) == 2


async def test_the_grants_of_a_former_admin_end_with_the_next_start(tmp_path: Path) -> None:
    emulator = Emulator(flood=False)
    async with house(tmp_path, puppet, emulator=emulator, ADMIN_IDS="7,8") as here:
        await grant(here, await ask(here), "always, this exact command")
    async with house(tmp_path, puppet, emulator=emulator, ADMIN_IDS="8", ALLOWED_IDS="7") as here:
        here.alice.send(AGAIN)
        await here.alice.chat.expect("needs an admin's approval")

        assert times(here) == 1
        assert await here.kai.store.grants(here.clock()) == []


async def test_changed_rules_end_every_grant(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        await grant(here, await ask(here), "always, this exact command")
        await here.kill()
        rules = tmp_path / "state" / "rules.d"
        rules.mkdir()
        (rules / "mine.toml").write_text("[program.mytool]\nlevel = 'low'\n")
        await here.start()

        await ask(here)

        assert times(here) == 1


# ── the audit and the policy ───────────────────────────────────────────────────────────────────────────


def audit(here: Town, action: str) -> list[dict[str, object]]:
    with sqlite3.connect(here.database) as db:
        rows = db.execute("SELECT detail FROM audit WHERE action = ? ORDER BY id", (action,))
        return [json.loads(detail) for (detail,) in rows]


async def test_a9_the_audit_says_who_decided_and_ran_what_with_rule_and_exit_code(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        card = await ask(here, "run rm -rf ./old; exit 3")
        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to an error")

        here.alice.send("/audit 2")
        shown = await here.alice.chat.expect("approval_approved")
        assert "ran" in shown.text
        assert "exit 3" in shown.text
        assert len(shown.text.splitlines()) == 2
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "--env-file", os.devnull, "audit", "--json",
            env=here.settings, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()

        rows = [json.loads(line) for line in output.decode().splitlines()]
        assert [row["action"] for row in rows] == ["started", "asked", "approval_approved", "ran"]
        asked, approved, ran = rows[1:]
        assert asked["user_id"] == 7
        assert "files.toml: program.rm" in asked["rules"]
        assert asked["digest"] == approved["digest"] == ran["digest"]
        assert (approved["user_id"], approved["name"]) == (7, "Alice")
        assert (ran["approved_by"], ran["exit_code"], ran["code"]) == (7, 3, "ExitCode:3")
        assert "rm -rf ./old; exit 3" in ran["arguments"]


async def test_a_broken_operator_file_makes_everything_ask_and_the_status_says_why(tmp_path: Path) -> None:
    rules = tmp_path / "state" / "rules.d"
    rules.mkdir(parents=True)
    (rules / "mine.toml").write_text("[program.ls]\nlevel = 'harmless'\n")
    async with town(tmp_path, puppet) as here:
        card = await ask(here, "run ls")
        here.alice.send("/status")
        status = await here.alice.chat.expect("Every command asks")

        assert "the operator's rules are broken, so everything asks" in card.text
        assert "mine.toml" in status.text
        assert "unknown level 'harmless'" in status.text


async def test_policy_says_which_rule_in_which_file_and_the_tree(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("/policy systemctl stop nginx && cat .env")

        said = await here.alice.chat.expect("reads a credential file")

        assert "services.toml: program.systemctl" in said.text
        assert "paths.credential (high)" in said.text
        assert "Grant: none possible: reads a credential file" in said.text
        assert "Tree: (program (list (command" in said.text


async def test_policy_says_how_a_command_would_be_judged_and_runs_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("/policy rm -rf ./old; touch ./ran")

        said = await here.alice.chat.expect("deletes files recursively")

        assert said.text.startswith("HIGH")
        assert "Grant: possible" in said.text
        assert list(here.work.iterdir()) == []
        here.bob.send("/policy ls")
        await here.bob.chat.expect("This command is for admins")


async def test_kai_bot_risk_needs_no_settings(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "--env-file", os.devnull, "risk", "reboot",
        env={"PATH": os.environ["PATH"]}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, error = await process.communicate()

    assert process.returncode == 0
    assert output.decode().startswith("HIGH: asks with a card")
    assert b"Second step: a code, for it stops or restarts the machine" in output
    assert b"without the operator's rules" in error
