"""What a person is shown of a parsed text."""

import json

from bot.protocol import as_json, as_text, report
from tests.protocol.reading import TOOLS

TEXT = (
    'Ok <tool_use>{"name":"read_file","arguments":{"path":"é",}}</tool_use>'
    ' ya <tool_use>{"name":1}</tool_use>'
)


def test_a_report_holds_calls_text_problems_and_hidden_stretches() -> None:
    found = report(TEXT, TOOLS)

    assert [call.name for call in found.calls] == ["read_file"]
    assert found.text == "Ok  ya "
    assert [problem.code for problem in found.problems] == ["malformed"]
    assert len(found.hidden) == 2


def test_as_json_it_reads_back() -> None:
    found = json.loads(as_json(report(TEXT, TOOLS)))

    assert found["calls"][0]["arguments"] == {"path": "é"}
    assert found["calls"][0]["repaired"] is True
    assert found["problems"][0]["code"] == "malformed"
    assert found["text"] == "Ok  ya "


def test_as_text_it_names_the_call_the_problem_and_the_text() -> None:
    shown = as_text(report(TEXT, TOOLS))

    assert 'read_file {"path": "é"}  (repaired)' in shown
    assert "malformed (no_name) at 84" in shown
    assert shown.endswith("text:\nOk  ya ")
