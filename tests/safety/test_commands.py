"""Requirement A2: what people and agents type all day, by the level it must keep. One command a line."""

from pathlib import Path

import pytest

from bot.safety import Risk, classify

FOLDER = Path(__file__).parent / "commands"


@pytest.mark.parametrize("risk", list(Risk), ids=lambda risk: risk.name.lower())
def test_a_well_known_command_keeps_its_level(risk: Risk) -> None:
    commands = (FOLDER / f"{risk.name.lower()}.txt").read_text(encoding="utf-8").splitlines()

    moved = [
        (command, verdict.reasons) for command in commands if (verdict := classify(command)).risk is not risk
    ]

    assert len(commands) > 100
    assert moved == []
