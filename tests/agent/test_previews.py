"""Calls whose card says what they would do, found out before and again at the press (A2, A6, X10)."""

import asyncio
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.agent import Paused, Replied
from bot.demo.model_server import Reply, call
from bot.errors import ToolError
from bot.messages import Conversation, ToolCall, ToolResult
from bot.store.base import Approval, CardLine, Status
from bot.tools.card import CardDetails
from tests.agent.conftest import ALICE, Build, House

BEFORE = CardDetails((CardLine("Readers", "10"),), ("it can't be taken back",), "", "ten")
AFTER = CardDetails((CardLine("Readers", "11"),), (), "", "eleven")


@dataclass(slots=True)
class Crowd:
    """What is found out, or the error instead; `asked` holds the ids of the calls."""

    now: CardDetails | Exception = BEFORE
    asked: list[str] = field(default_factory=list)

    async def look(self, call: ToolCall, conversation: Conversation, cwd: Path) -> CardDetails:
        self.asked.append(call.id)
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


async def crowded(build: Build, *texts: str, now: CardDetails | Exception = BEFORE) -> tuple[House, Crowd]:
    """Return a house whose model publishes these texts in one step."""
    crowd = Crowd(now)
    here = await build([Reply("", [call("publish", text=text) for text in texts or ("x",)]), Reply("Done.")])
    here.previews["publish"] = crowd.look
    await here.restart()
    return here, crowd


async def look_again(here: House, approval: Approval) -> Approval | ToolResult | None:
    return await here.agent.look_again(approval, by=ALICE, name="Alice")


async def question_of(here: House, approval: Approval) -> Approval:
    found = await here.store.approval(approval.id)
    assert found is not None
    return found


async def test_the_question_keeps_what_was_found_out(house: Build) -> None:
    here, _ = await crowded(house, now=replace(BEFORE, second_step="many readers"))

    [approval] = await here.ask()
    await here.restart()

    kept = await question_of(here, approval)
    assert (kept.lines, kept.warnings) == (BEFORE.lines, BEFORE.warnings)
    assert (kept.fingerprint, kept.second_step) == ("ten", "many readers")


async def test_what_can_not_be_done_is_the_calls_result_and_nobody_is_asked(house: Build) -> None:
    here, _ = await crowded(house, now=ToolError("Denied", "nobody reads it"))

    assert await here.hear("publish") == Replied("Done.")

    assert [(r.code, r.text) for r in await here.results()] == [("Denied", "nobody reads it")]
    assert await here.effects("card") == []
    assert "refused" in here.audit()
    assert here.notes == []
    assert here.violations() == []


async def test_what_can_be_done_is_asked_beside_what_can_not(house: Build) -> None:
    here, crowd = await crowded(house, "a", "b")

    async def only_b(call: ToolCall, conversation: Conversation, cwd: Path) -> CardDetails:
        if call.arguments["text"] == "a":
            raise ToolError("EINVAL", "not a")
        return BEFORE

    here.previews["publish"] = only_b
    await here.restart()
    [approval] = await here.ask()
    await here.decide(approval)
    await here.advance()

    assert [r.text for r in await here.results()] == ["not a", "published b"]
    assert here.violations() == []


async def test_an_unforeseen_failure_is_told_without_what_it_says(house: Build) -> None:
    here, _ = await crowded(house, now=RuntimeError("inside, with a key"))

    await here.hear("publish")

    [result] = await here.results()
    assert "RuntimeError" in result.text
    assert "key" not in result.text


async def test_a_look_that_never_ends_is_cut(house: Build) -> None:
    here, _ = await crowded(house)

    async def hang(call: ToolCall, conversation: Conversation, cwd: Path) -> CardDetails:
        await asyncio.sleep(60)
        return BEFORE

    here.previews["publish"] = hang
    here.tool_timeout = 0.05
    await here.restart()
    await here.hear("publish")

    assert [r.code for r in await here.results()] == ["Timeout"]


async def test_a_restart_does_not_look_again(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()

    await here.restart()
    await here.advance()
    await here.decide(approval)
    await here.advance()

    assert len(crowd.asked) == 1
    assert here.notes == ["published x"]


async def test_a_look_that_finds_the_same_changes_nothing(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()

    assert await look_again(here, approval) is None

    assert crowd.asked == [approval.call_id] * 2
    assert (await question_of(here, approval)).status is Status.PENDING


async def test_what_changed_is_asked_about_in_the_place_of_the_old(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    crowd.now = AFTER

    closed = await look_again(here, approval)
    outcome = await here.advance()

    assert isinstance(closed, Approval)
    assert (closed.status, closed.decided_by) == (Status.CANCELLED, ALICE)
    assert isinstance(outcome, Paused)
    [new] = outcome.approvals
    assert (new.lines, new.fingerprint) == (AFTER.lines, "eleven")
    assert new.call_id != approval.call_id
    assert crowd.asked == [approval.call_id, approval.call_id, new.call_id]
    assert len(await here.effects("card")) == 2
    assert here.audit().count("asked") == 2
    assert here.notes == []


async def test_the_new_question_answers_the_models_call_once(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    for number in ("eleven", "twelve"):
        crowd.now = replace(AFTER, fingerprint=number)
        [latest] = await here.store.pending_approvals()
        await look_again(here, latest)
    await here.restart()
    [latest] = await here.store.pending_approvals()

    await here.decide(latest)
    assert await here.advance() == Replied("Done.")

    assert [r.text for r in await here.results()] == ["published x"]
    assert here.notes == ["published x"]
    assert (latest.fingerprint, (await question_of(here, latest)).outcome[:2]) == ("twelve", "ok")
    assert here.violations() == []


async def test_a_yes_to_the_old_question_comes_too_late(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    crowd.now = AFTER
    await look_again(here, approval)

    assert await here.decide(approval) is None
    await here.advance()

    assert here.notes == []


async def test_moving_on_ends_the_new_question_too(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    crowd.now = AFTER
    await look_again(here, approval)

    await here.hear("never mind")

    assert await here.store.pending_approvals() == []
    assert [r.code for r in await here.results()] == ["not_executed"]
    assert here.violations() == []


async def test_what_can_not_be_done_any_more_is_closed_and_the_model_reads_why(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    crowd.now = ToolError("EINVAL", "the readers have left")

    closed = await look_again(here, approval)
    await here.advance()

    assert isinstance(closed, Approval)
    assert closed.reason == "the readers have left"
    [result] = await here.results()
    assert result.code == "not_executed"
    assert "the readers have left" in result.text
    assert here.notes == []


@pytest.mark.parametrize("code", ["NetworkError", "NetworkTimeout", "RateLimited", "HTTP:503"])
async def test_what_can_not_be_found_out_for_a_moment_leaves_the_question_open(
    house: Build, code: str
) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    crowd.now = ToolError(code, "nobody answers")

    found = await look_again(here, approval)

    assert isinstance(found, ToolResult)
    assert found.text == "nobody answers"
    assert (await question_of(here, approval)).status is Status.PENDING


async def test_a_denial_while_it_is_looked_at_stands(house: Build) -> None:
    here, crowd = await crowded(house)
    [approval] = await here.ask()
    await here.decide(approval, Status.DENIED)
    crowd.now = AFTER

    assert await look_again(here, approval) is None

    assert await here.store.pending_approvals() == []
    assert (await question_of(here, approval)).status is Status.DENIED


async def test_a_picture_is_shown_as_it_was_when_it_was_looked_at(house: Build) -> None:
    here, crowd = await crowded(house)
    picture = here.work / "cat.png"
    picture.write_bytes(b"cat")
    crowd.now = replace(BEFORE, image=picture)

    [approval] = await here.ask()
    picture.write_bytes(b"dog")

    shown = Path(approval.image)
    assert shown.read_bytes() == b"cat"
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600


async def test_a_picture_that_is_gone_is_the_calls_result(house: Build) -> None:
    here, crowd = await crowded(house)
    crowd.now = replace(BEFORE, image=here.work / "none.png")

    await here.hear("publish")

    assert [r.code for r in await here.results()] == ["ENOENT"]
