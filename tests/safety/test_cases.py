"""Requirements A1, A2: the labelled commands, one test an id. They are the classifier's regression test."""

import json
from pathlib import Path

import pytest

from bot.safety import Risk, classify

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "risk.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_labelled_command_gets_an_accepted_level(case: dict[str, object]) -> None:
    verdict = classify(str(case["command"]))

    assert verdict.risk.name.lower() in case["accept"], verdict.reasons  # type: ignore[operator]
    assert "classify" not in {finding.rule for finding in verdict.findings}  # a mistake of ours, caught


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["accept"] == ["high"]], ids=lambda case: str(case["id"])
)
def test_a_dangerous_command_comes_with_a_short_reason(case: dict[str, object]) -> None:
    verdict = classify(str(case["command"]))

    assert verdict.risk is Risk.HIGH
    assert verdict.reasons
    assert all(len(reason) <= 200 and "\n" not in reason for reason in verdict.reasons)
