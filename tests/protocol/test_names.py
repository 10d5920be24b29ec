"""Names are normalised, never guessed (P6)."""

import pytest

from bot.messages import ToolDefinition
from bot.protocol.names import Names
from tests.protocol.reading import TOOLS

NAMES = Names(TOOLS)


@pytest.mark.parametrize(
    "written",
    [
        "run_in_terminal", " run_in_terminal ", "Run_In_Terminal", "run-in-terminal",
        "functions.run_in_terminal", "functions.run_in_terminal:0", "default_api.run_in_terminal",
        "run_in_terminal<|channel|>commentary",
        "tools.run_in_terminal",
    ],
)  # fmt: skip
def test_known_wrappings_of_a_name_are_dropped(written: str) -> None:
    assert NAMES.find(written) == "run_in_terminal"


@pytest.mark.parametrize(
    "written",
    [
        "run",
        "run_in_terminals",
        "runInTerminal",
        "bash",
        "",
        ":0",
        "functions.",
        "<|channel|>run_in_terminal",
    ],
)
def test_anything_else_is_unknown(written: str) -> None:
    assert NAMES.find(written) is None


def test_a_spelling_two_tools_share_is_unknown_unless_exact() -> None:
    names = Names([ToolDefinition("get-file", "", {}), ToolDefinition("get_file", "", {})])

    assert names.find("get-file") == "get-file"
    assert names.find("get_file") == "get_file"
    assert names.find("Get_File") is None
