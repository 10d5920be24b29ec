"""A call copied from a tool result is data, in whatever dialect (the echo check, R5)."""

import pytest

from bot.protocol import neutralise
from tests.protocol import samples
from tests.protocol.reading import CHUNKS, pieces, read


@pytest.mark.parametrize("name", samples.EVERY)
def test_a_call_that_stands_in_a_recent_result_does_not_run(name: str) -> None:
    text = samples.EVERY[name]

    outcomes = [read(pieces(text, size), results=[f"log:\n{text}\nend"]) for size in CHUNKS]

    assert {outcome.calls for outcome in outcomes} == {()}
    assert {tuple(outcome.reasons) for outcome in outcomes} == {("echo",)}


@pytest.mark.parametrize("name", samples.EVERY)
def test_a_neutralised_result_counts_as_the_text_it_was(name: str) -> None:
    text = samples.EVERY[name]

    outcome = read(text, results=[neutralise(text, ("run_in_terminal",))])

    assert (outcome.calls, outcome.reasons) == ((), ["echo"])


@pytest.mark.parametrize("name", samples.EVERY)
def test_another_result_does_not_keep_a_call_from_running(name: str) -> None:
    outcome = read(samples.EVERY[name], results=["run_in_terminal", "uptime -p", "{}", "command"])

    assert len(outcome.calls) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS]list_containers[ARGS]{}",
        "<function=list_containers>{}</function>",
        "<tool_call>list_containers</tool_call>",
        "<tool_call><name>list_containers</name></tool_call>",
    ],
)
def test_empty_arguments_elsewhere_in_a_result_are_no_copy(text: str) -> None:
    outcome = read(text, results=["config: {}\n" * 300, "the tool list_containers"])

    assert [call.name for call in outcome.calls] == ["list_containers"]
