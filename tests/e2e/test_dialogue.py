"""The seed's dialogue (requirements, Acceptance scenario), whichever way the calls travel."""

from pathlib import Path

import pytest

from bot.demo.model_server import Reply
from tests.e2e.harness import replies, shell, town

DEPLOY = replies(
    [
        Reply("Let me look at the state of git first.", [shell("git status")]),
        Reply("Clean. Restarting.", [shell("sudo systemctl restart kai-bot", risk="medium")]),
        Reply("Checking.", [shell("systemctl is-active kai-bot")]),
        Reply("Done. The service was restarted and is **active**."),
    ]
)


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """Stand-ins for the server's own programs, first on the bot's PATH; they log that they ran."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, output in {"git": "nothing to commit", "sudo": "", "systemctl": "active"}.items():
        program = folder / name
        program.write_text(
            f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/ran\n[ -z "{output}" ] || echo "{output}"\n'
        )
        program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("wire", ["text", "openai", "anthropic"])
async def test_the_seed_dialogue_takes_four_model_calls_three_executions_and_one_approval(
    tmp_path: Path, programs: str, wire: str
) -> None:
    async with town(tmp_path, DEPLOY, wire=wire, PATH=programs) as here:
        here.alice.send("deploy the new version of the bot")
        card = await here.alice.chat.expect("sudo systemctl restart kai-bot")
        assert not (tmp_path / "ran").read_text().count("sudo")

        toast = await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("was restarted and is active")

        assert toast.text == "Approved"
        assert (tmp_path / "ran").read_text().splitlines() == [
            "git status",
            "sudo systemctl restart kai-bot",
            "systemctl is-active kai-bot",
        ]
        assert len(here.model.requests) == 4
        seen = [str(request.body) for request in here.model.requests]
        assert all(f"step {step}/12" in seen[step] for step in (1, 2, 3))
        assert "<tool_use>" not in here.alice.screen().text
        assert not here.model.refusals
        await here.stop()
        assert here.violations() == []
