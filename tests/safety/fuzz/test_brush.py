"""Issue 4: another parser sees no program in a passed command that ours did not see."""

import json
from pathlib import Path

import pytest

from bot.safety import Risk, classify
from tests.safety.fuzz.brush import RefusedError, programs
from tests.safety.fuzz.run import random_texts

CASES = Path(__file__).parent.parent.parent / "cases" / "risk.jsonl"
COMMANDS = Path(__file__).parent.parent / "commands"
KEYWORDS = frozenset(["time", "coproc", "["])
"""What one parser calls a program and the other does not."""


@pytest.fixture(scope="module", autouse=True)
def brush() -> None:
    pytest.importorskip("brush_parser", reason="needs the wheel of brush-parser-py (Python 3.12)")


def hidden(text: str) -> set[str]:
    """Return the programs that only the other parser sees, in a command we would let pass."""
    verdict = classify(text)
    if verdict.risk is Risk.HIGH:
        return set()
    try:
        found = programs(text)
    except RefusedError:
        return set()
    return found - {invocation.program for invocation in verdict.invocations} - KEYWORDS


def test_it_sees_nested_programs() -> None:
    text = 'x=$(a); echo "$(b c) ${y:-`d`}" > >(e) <<< $(f) && for i in $(g); do h $((1+$(i))); done'

    assert programs(text) == set("abdefghi") | {"echo"}


def test_no_program_of_the_labelled_commands_is_hidden() -> None:
    texts = [json.loads(line)["command"] for line in CASES.read_text(encoding="utf-8").splitlines()]
    texts += [
        line for path in sorted(COMMANDS.glob("*.txt")) for line in path.read_text("utf-8").splitlines()
    ]

    assert {text: names for text in texts if "\ud800" not in text and (names := hidden(text))} == {}


def test_no_program_of_random_text_is_hidden() -> None:
    texts = [text for text in random_texts(3000, seed=412) if classify(text).risk is not Risk.HIGH]

    assert {text: names for text in texts if (names := hidden(text))} == {}
    assert len(texts) > 200
