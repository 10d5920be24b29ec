"""A model without tools of its own, end to end: it is corrected three times, then the person is told."""

from pathlib import Path

from bot.demo.model_server import ModelRequest, Reply
from tests.e2e.harness import shell, town

BROKEN = 'Working.\n<tool_use>{"name":"run_in_terminal","arguments":{"command":"touch ./never"'


async def test_a_model_that_never_writes_a_valid_call_is_corrected_three_times(tmp_path: Path) -> None:
    async with town(tmp_path, lambda _: Reply(BROKEN, chunk=3, pace=0.001), wire="text") as here:
        here.alice.send("make a file")

        told = await here.alice.chat.expect("three corrections", within=15)

        asked = [request.last_user_text for request in here.model.requests]
        assert len(asked) == 4
        assert [f"attempt {k} of 3" in text for k, text in enumerate(asked)] == [False, True, True, True]
        assert "did nothing" in told.text
        assert not (here.work / "never").exists()
        assert "tool_use" not in here.alice.screen().text
        await here.stop()
        assert here.violations() == []


async def test_a_corrected_call_runs_once_and_the_correction_is_forgotten(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("Here we are.")
        return Reply("", [shell("pwd")]) if "attempt 1 of 3" in request.last_user_text else Reply(BROKEN)

    async with town(tmp_path, script, wire="text") as here:
        here.alice.send("where are you?")

        await here.alice.chat.expect("Here we are.")

        assert "attempt 1 of 3" in str(here.model.requests[1].messages)
        assert "attempt 1 of 3" not in str(here.model.requests[2].messages)
        assert "never" not in str(here.model.requests[2].messages)
