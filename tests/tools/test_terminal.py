"""X6, X7, A1: the shell as the model sees it."""

import asyncio
from pathlib import Path

import pytest

from bot.messages import Risk, ToolCall
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.process import Commands
from bot.tools.terminal import run_in_terminal
from tests.tools.conftest import MakeContext
from tests.tools.processes import contents, eventually, running, unique_seconds


@pytest.fixture
def tools(commands: Commands) -> Tools:
    return Tools([run_in_terminal(commands)])


async def run(tools: Tools, context: ToolContext, command: str, **arguments: object) -> ToolOutcome:
    call = ToolCall("run_in_terminal", {"command": command, "risk": "low", **arguments})
    return await tools.run(call, context)


async def test_it_may_change_anything(tools: Tools) -> None:
    tool = tools["run_in_terminal"]

    assert (tool.risk_floor, tool.read_only) == (Risk.LOW, False)


async def test_a_command_that_succeeds(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "echo hi")

    assert (outcome.text, outcome.is_error, outcome.code, outcome.exit_code) == ("hi\n", False, "", 0)
    assert outcome.cwd is None


async def test_a_command_that_fails_silently_still_says_its_status(
    tools: Tools, context: ToolContext
) -> None:
    outcome = await run(tools, context, "false")

    assert (outcome.text, outcome.is_error, outcome.code, outcome.exit_code) == ("", True, "ExitCode:1", 1)


async def test_a_signal_is_named(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "kill -KILL $$")

    assert (outcome.code, outcome.exit_code) == ("Signal:KILL", None)


async def test_a_childs_signal_is_explained(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "bash -c 'kill -KILL $$'")

    assert outcome.code == "ExitCode:137"
    assert "usually means Signal:KILL" in outcome.text


async def test_a_timeout_names_the_seconds_and_keeps_the_output(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "echo before; sleep 30", timeout=0.3)

    assert (outcome.is_error, outcome.code, outcome.exit_code) == (True, "Timeout", None)
    assert outcome.text == "before\n[timed out after 0.3 seconds; all it started was ended]"


async def test_the_limit_is_the_contexts_unless_asked_for(tools: Tools, make_context: MakeContext) -> None:
    outcome = await run(tools, make_context(timeout=0.2), "sleep 30")

    assert "after 0.2 seconds" in outcome.text


async def test_a_longer_limit_than_the_contexts_is_given(tools: Tools, make_context: MakeContext) -> None:
    outcome = await run(tools, make_context(timeout=0.1), "sleep 0.3; echo done", timeout=5)

    assert outcome.text == "done\n"


async def test_a_screen_program_that_hangs_gets_a_hint(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "cd /; top -b >/dev/null", timeout=0.3)

    assert "there is no screen" in outcome.text


async def test_the_folder_is_carried_from_call_to_call(
    tools: Tools, make_context: MakeContext, work_dir: Path
) -> None:
    first = await run(tools, make_context(), "mkdir sub; cd sub")
    assert first.cwd is not None
    second = await run(tools, make_context(cwd=first.cwd), "pwd")

    assert first.text == f"[now in {work_dir / 'sub'}]"
    assert (second.text, second.cwd) == (f"{work_dir / 'sub'}\n", None)


async def test_a_command_is_not_run_in_another_folder_than_was_approved(
    tools: Tools, make_context: MakeContext, work_dir: Path
) -> None:
    outcome = await run(tools, make_context(cwd=work_dir / "gone"), "touch here")

    assert (outcome.code, outcome.cwd) == ("ENOENT", work_dir)
    assert not (work_dir / "here").exists()


async def test_background_children_are_told_with_their_output(tools: Tools, context: ToolContext) -> None:
    seconds = unique_seconds()

    outcome = await run(tools, context, f"sleep {seconds} & echo started")

    [pid] = running(f"sleep\0{seconds}")
    assert (
        outcome.text
        == f"started\n[still running in the background: pid {pid}; further output goes to {outcome.file}]"
    )
    assert not outcome.is_error


async def test_a_command_done_again_after_a_kill_has_its_whole_output_too(
    tools: Tools, context: ToolContext
) -> None:
    (context.output_dir / f"{context.call_id}.txt").write_text("half of the output")

    outcome = await run(tools, context, "seq 1 100000")

    assert contents(outcome.file).startswith(b"1\n2\n")


async def test_long_output_names_its_file(tools: Tools, context: ToolContext) -> None:
    outcome = await run(tools, context, "seq 100000")

    assert outcome.truncated
    assert contents(outcome.file).endswith(b"99999\n100000\n")
    assert outcome.text.endswith(f"[588895 bytes in all; whole output in {outcome.file}]")


async def test_the_last_line_is_reported_while_it_runs(tools: Tools, make_context: MakeContext) -> None:
    lines: list[str] = []

    await run(tools, make_context(progress=lines.append), "echo working; sleep 0.1")

    assert lines == ["working"]


@pytest.mark.parametrize("risk", ["safe", "", None, 3, ["low"], {"a": 1}])
async def test_a_claim_nobody_understands_is_high(tools: Tools, risk: object) -> None:
    read = tools["run_in_terminal"].read({"command": "ls", "risk": risk})

    assert read["risk"] == "high"


async def test_a_missing_claim_is_high(tools: Tools) -> None:
    assert tools["run_in_terminal"].read({"command": "ls"})["risk"] == "high"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": ""},
        {"command": " \n"},
        {"command": "ls", "timeout": 0},
        {"command": "ls", "timeout": 1e9},
    ],
)
async def test_bad_arguments_run_nothing(
    tools: Tools, context: ToolContext, arguments: dict[str, object]
) -> None:
    outcome = await tools.run(ToolCall("run_in_terminal", arguments), context)

    assert outcome.code == "InvalidArgs"


async def test_a_cancelled_call_leaves_nothing_behind(tools: Tools, context: ToolContext) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(run(tools, context, f"setsid -f sleep {seconds}; sleep {seconds}"))
    assert await eventually(lambda: len(running(f"sleep\0{seconds}")) == 2)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert running(seconds) == []
