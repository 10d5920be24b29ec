"""One job at a time per conversation, conversations in parallel, in order (T5, L7, design 9)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bot.agent.lanes import Job, Lanes
from bot.messages import Conversation

HERE, TOPIC, ELSEWHERE = Conversation(7), Conversation(7, 3), Conversation(8)


class Work:
    """Jobs that note when they begin and end."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    def quick(self, name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            self.done.append(name)

        return run

    def blocked(self, name: str) -> Callable[[], Awaitable[None]]:
        gate = self.gates[name] = asyncio.Event()

        async def run() -> None:
            self.done.append(f"{name} begins")
            try:
                await gate.wait()
            finally:
                self.done.append(f"{name} ends")

        return run


@pytest.fixture
async def lanes() -> AsyncIterator[Lanes]:
    opened = Lanes()
    yield opened
    await opened.close()


@pytest.fixture
def work() -> Work:
    return Work()


async def idle(lanes: Lanes, conversation: Conversation = HERE) -> None:
    async with asyncio.timeout(2):
        while lanes.busy(conversation) or lanes.waiting():  # noqa: ASYNC110 - lanes tell nobody
            await asyncio.sleep(0)


async def test_jobs_of_a_conversation_run_in_order_one_at_a_time(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("a")))
    lanes.put(HERE, Job(work.quick("b")))
    lanes.put(HERE, Job(work.quick("c")))
    await asyncio.sleep(0.01)
    assert work.done == ["a begins"]

    work.gates["a"].set()
    await idle(lanes)

    assert work.done == ["a begins", "a ends", "b", "c"]


async def test_conversations_and_topics_run_beside_each_other(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("a")))

    lanes.put(TOPIC, Job(work.quick("topic")))
    lanes.put(ELSEWHERE, Job(work.quick("elsewhere")))
    await asyncio.sleep(0.01)

    assert work.done == ["a begins", "topic", "elsewhere"]


async def test_a_job_put_first_goes_before_what_waits_and_after_what_runs(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("running")))
    await asyncio.sleep(0.01)
    lanes.put(HERE, Job(work.quick("waiting")))

    lanes.put(HERE, Job(work.quick("first")), first=True)
    work.gates["running"].set()
    await idle(lanes)

    assert work.done == ["running begins", "running ends", "first", "waiting"]


async def test_a_failing_job_does_not_stop_the_lane(
    lanes: Lanes, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise RuntimeError("boom")

    with caplog.at_level(logging.ERROR):
        lanes.put(HERE, Job(fails, label="deploy"))
        lanes.put(HERE, Job(work.quick("next")))
        await idle(lanes)

    assert work.done == ["next"]
    assert "deploy" in caplog.text


async def test_a_job_that_is_not_ready_holds_the_lane_until_woken(lanes: Lanes, work: Work) -> None:
    answers = iter([False, True])

    async def ready() -> bool:
        return next(answers)

    lanes.put(HERE, Job(work.quick("held"), ready=ready))
    lanes.put(HERE, Job(work.quick("behind")))
    await asyncio.sleep(0.01)
    assert work.done == []
    assert lanes.waiting() == 2

    lanes.wake(HERE)
    await idle(lanes)

    assert work.done == ["held", "behind"]


async def test_a_held_job_is_asked_again_only_when_woken(lanes: Lanes, work: Work) -> None:
    asked: list[bool] = []

    async def ready() -> bool:
        asked.append(False)
        return False

    lanes.put(HERE, Job(work.quick("held"), ready=ready))
    await asyncio.sleep(0.05)

    assert len(asked) == 1


async def test_waking_while_a_job_is_being_asked_is_not_lost(lanes: Lanes, work: Work) -> None:
    answers = iter([False, True])

    async def ready() -> bool:
        answer = next(answers)
        lanes.wake(HERE)
        await asyncio.sleep(0)
        return answer

    lanes.put(HERE, Job(work.quick("held"), ready=ready))
    await idle(lanes)

    assert work.done == ["held"]


async def test_a_job_put_first_goes_before_a_held_one(lanes: Lanes, work: Work) -> None:
    async def never() -> bool:
        return False

    lanes.put(HERE, Job(work.quick("held"), ready=never))
    await asyncio.sleep(0.01)

    lanes.put(HERE, Job(work.quick("decision")), first=True)
    await asyncio.sleep(0.01)

    assert work.done == ["decision"]
    assert lanes.waiting() == 1


async def test_a_job_put_first_while_another_is_being_asked_goes_before_it(lanes: Lanes, work: Work) -> None:
    asking = asyncio.Event()

    async def ready() -> bool:
        await asking.wait()
        return True

    lanes.put(HERE, Job(work.quick("asked"), ready=ready))
    await asyncio.sleep(0.01)
    lanes.put(HERE, Job(work.quick("decision")), first=True)
    asking.set()
    await idle(lanes)

    assert work.done == ["decision", "asked"]


async def test_a_job_whose_readiness_cannot_be_asked_does_not_stop_the_lane(lanes: Lanes, work: Work) -> None:
    async def fails() -> bool:
        raise OSError("database is locked")

    lanes.put(HERE, Job(work.quick("unknown"), ready=fails))
    lanes.put(HERE, Job(work.quick("next")))
    await idle(lanes)

    assert work.done == ["next"]


async def test_interrupting_ends_what_runs_before_it_returns(lanes: Lanes, work: Work) -> None:
    cut_short = Job(work.blocked("a"), update_id=5)
    lanes.put(HERE, cut_short)
    await asyncio.sleep(0.01)

    stopped, dropped = await lanes.interrupt(HERE)

    assert (stopped, dropped) == (cut_short, [])
    assert work.done == ["a begins", "a ends"]


async def test_interrupting_takes_away_what_waits_and_names_it_in_order(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("a")))
    await asyncio.sleep(0.01)
    waiting = [Job(work.quick("b"), 12, "second"), Job(work.quick("c"), 13, "third")]
    for job in waiting:
        lanes.put(HERE, job)

    _, dropped = await lanes.interrupt(HERE)

    assert dropped == waiting
    await asyncio.sleep(0.01)

    assert work.done == ["a begins", "a ends"]


async def test_interrupting_a_held_lane_drops_the_held_job(lanes: Lanes, work: Work) -> None:
    async def never() -> bool:
        return False

    held = Job(work.quick("held"), ready=never)
    lanes.put(HERE, held)
    await asyncio.sleep(0.01)

    assert await lanes.interrupt(HERE) == (None, [held])
    await asyncio.sleep(0.01)
    assert not lanes.holds_next(HERE)
    lanes.put(HERE, Job(work.quick("next")))
    await idle(lanes)

    assert work.done == ["next"]


async def test_interrupting_while_a_job_is_being_asked_drops_it(lanes: Lanes, work: Work) -> None:
    asking = asyncio.Event()

    async def ready() -> bool:
        await asking.wait()
        return True

    lanes.put(HERE, Job(work.quick("asked"), ready=ready))
    await asyncio.sleep(0.01)
    await lanes.interrupt(HERE)
    asking.set()
    await asyncio.sleep(0.01)

    assert work.done == []


async def test_interrupting_an_idle_conversation_does_nothing(lanes: Lanes) -> None:
    assert await lanes.interrupt(HERE) == (None, [])


async def test_interrupting_one_conversation_leaves_the_others(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("a")))
    lanes.put(ELSEWHERE, Job(work.blocked("b")))
    await asyncio.sleep(0.01)

    await lanes.interrupt(HERE)

    assert work.done == ["a begins", "b begins", "a ends"]
    assert lanes.busy(ELSEWHERE)


async def test_after_an_interruption_the_lane_goes_on(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("a")))
    await asyncio.sleep(0.01)
    await lanes.interrupt(HERE)

    lanes.put(HERE, Job(work.quick("next")))
    await idle(lanes)

    assert work.done[-1] == "next"


async def test_stop_behind_turn_a_job_that_cleans_up_is_waited_for(lanes: Lanes, work: Work) -> None:
    async def run() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            work.done.append("killed its children")

    lanes.put(HERE, Job(run))
    await asyncio.sleep(0.01)

    await lanes.interrupt(HERE)

    assert work.done == ["killed its children"]


async def test_it_says_whether_something_runs_and_counts_what_waits(lanes: Lanes, work: Work) -> None:
    assert not lanes.busy(HERE)
    lanes.put(HERE, Job(work.blocked("a")))
    lanes.put(HERE, Job(work.quick("b")))
    await asyncio.sleep(0.01)

    assert lanes.busy(HERE)
    assert not lanes.holds_next(HERE)
    assert lanes.waiting() == 1


async def test_a_held_lane_is_one_whose_next_job_is_looked_at_now(lanes: Lanes, work: Work) -> None:
    async def never() -> bool:
        return False

    lanes.put(HERE, Job(work.quick("held"), ready=never))

    assert lanes.holds_next(HERE)
    assert not lanes.holds_next(ELSEWHERE)


async def test_closing_ends_everything(work: Work) -> None:
    lanes = Lanes()
    lanes.put(HERE, Job(work.blocked("a")))
    lanes.put(HERE, Job(work.quick("b")))
    await asyncio.sleep(0.01)

    await lanes.close()
    await asyncio.sleep(0.01)

    assert work.done == ["a begins", "a ends"]


async def test_appr_slots_exhausted_three_hundred_waiting_jobs_keep_their_order(
    lanes: Lanes, work: Work
) -> None:
    lanes.put(HERE, Job(work.blocked("turn")))
    for i in range(300):
        lanes.put(HERE, Job(work.quick(str(i))))
    await asyncio.sleep(0.01)
    work.gates["turn"].set()
    await idle(lanes)

    assert work.done[2:] == [str(i) for i in range(300)]


async def test_what_is_run_first_goes_before_what_waits_and_after_what_runs(lanes: Lanes, work: Work) -> None:
    async def answer() -> int:
        await work.quick("first")()
        return 42

    lanes.put(HERE, Job(work.quick("running")))
    lanes.put(HERE, Job(work.quick("waiting")))

    assert await lanes.run_first(HERE, answer) == 42
    await idle(lanes)

    assert work.done.index("first") < work.done.index("waiting")


async def test_an_error_of_what_is_run_first_reaches_the_caller(lanes: Lanes) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await lanes.run_first(HERE, fail)


async def test_cutting_ends_what_runs_and_lets_what_waits_go_on(lanes: Lanes, work: Work) -> None:
    cut = Job(work.blocked("a"), update_id=5)
    lanes.put(HERE, cut)
    lanes.put(HERE, Job(work.quick("b")))
    await asyncio.sleep(0.01)

    assert await lanes.cut(HERE) is cut
    await idle(lanes)

    assert work.done == ["a begins", "a ends", "b"]
    assert await lanes.cut(HERE) is None


async def test_what_runs_and_what_waits_can_be_asked(lanes: Lanes, work: Work) -> None:
    running, waiting = Job(work.blocked("a")), Job(work.quick("b"))
    lanes.put(HERE, running)
    lanes.put(HERE, waiting)
    await asyncio.sleep(0.01)

    assert lanes.running(HERE) is running
    assert lanes.running(ELSEWHERE) is None
    assert lanes.waits(HERE, waiting)
    assert not lanes.waits(HERE, running)
    assert not lanes.waits(ELSEWHERE, waiting)


async def test_what_is_run_first_and_cut_short_keeps_nobody_waiting(lanes: Lanes, work: Work) -> None:
    waiting = asyncio.create_task(lanes.run_first(HERE, work.blocked("a")))
    await asyncio.sleep(0.01)

    await lanes.cut(HERE)

    with pytest.raises(RuntimeError, match="cut short"):
        await asyncio.wait_for(waiting, 1)


async def test_group_migrate_what_runs_and_waits_goes_on_under_the_new_id(lanes: Lanes, work: Work) -> None:
    running = Job(work.blocked("a"))
    lanes.put(TOPIC, running)
    lanes.put(TOPIC, Job(work.quick("b")))
    await asyncio.sleep(0.01)

    lanes.move_chat(7, -100)
    there = Conversation(-100, 3)
    lanes.put(there, Job(work.quick("c")))

    assert lanes.running(there) is running
    assert lanes.running(TOPIC) is None
    work.gates["a"].set()
    await idle(lanes, there)
    assert work.done == ["a begins", "a ends", "b", "c"]


async def test_group_migrate_another_chat_stays_where_it_is(lanes: Lanes, work: Work) -> None:
    running = Job(work.blocked("a"))
    lanes.put(ELSEWHERE, running)
    await asyncio.sleep(0.01)

    lanes.move_chat(7, -100)

    assert lanes.running(ELSEWHERE) is running


async def test_group_migrate_where_the_new_chat_was_quicker_one_job_runs_at_a_time(
    lanes: Lanes, work: Work
) -> None:
    lanes.put(HERE, Job(work.blocked("old")))
    lanes.put(HERE, Job(work.quick("old waits")))
    lanes.put(ELSEWHERE, Job(work.blocked("new")))
    lanes.put(ELSEWHERE, Job(work.quick("new waits")))
    await asyncio.sleep(0.01)

    lanes.move_chat(7, 8)
    work.gates["new"].set()
    await asyncio.sleep(0.01)
    while_the_old_runs = list(work.done)
    work.gates["old"].set()
    await idle(lanes, ELSEWHERE)

    assert while_the_old_runs == ["old begins", "new begins", "new ends"]
    assert work.done[3:] == ["old ends", "old waits", "new waits"]


async def test_group_migrate_what_is_cut_in_the_new_chat_is_cut_where_it_ran(
    lanes: Lanes, work: Work
) -> None:
    lanes.put(HERE, Job(work.blocked("old")))
    lanes.put(ELSEWHERE, Job(work.blocked("new")))
    await asyncio.sleep(0.01)
    lanes.move_chat(7, 8)
    work.gates["new"].set()
    await asyncio.sleep(0.01)

    await lanes.cut(ELSEWHERE)

    assert work.done == ["old begins", "new begins", "new ends", "old ends"]


async def test_group_migrate_what_goes_first_still_comes_after_what_runs_from_the_old_chat(
    lanes: Lanes, work: Work
) -> None:
    lanes.put(HERE, Job(work.blocked("old")))
    lanes.put(ELSEWHERE, Job(work.blocked("new")))
    await asyncio.sleep(0.01)
    lanes.move_chat(7, 8)
    lanes.put(ELSEWHERE, Job(work.quick("goes on")), first=True)

    work.gates["new"].set()
    await asyncio.sleep(0.01)
    work.gates["old"].set()
    await idle(lanes, ELSEWHERE)

    assert work.done == ["old begins", "new begins", "new ends", "old ends", "goes on"]


async def test_group_migrate_an_interrupt_ends_what_runs_from_the_old_chat_too(
    lanes: Lanes, work: Work
) -> None:
    running = Job(work.blocked("new"))
    lanes.put(HERE, Job(work.blocked("old")))
    lanes.put(ELSEWHERE, running)
    await asyncio.sleep(0.01)
    lanes.move_chat(7, 8)

    stopped, dropped = await lanes.interrupt(ELSEWHERE)

    assert (stopped, dropped) == (running, [])
    assert work.done == ["old begins", "new begins", "old ends", "new ends"]


async def test_group_migrate_closing_ends_what_runs_from_the_old_chat_too(lanes: Lanes, work: Work) -> None:
    lanes.put(HERE, Job(work.blocked("old")))
    lanes.put(ELSEWHERE, Job(work.blocked("new")))
    await asyncio.sleep(0.01)
    lanes.move_chat(7, 8)

    await lanes.close()

    assert sorted(work.done[2:]) == ["new ends", "old ends"]
