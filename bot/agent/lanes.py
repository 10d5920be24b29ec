"""One job at a time per conversation, conversations in parallel, jobs in the order they came.

A lane holds nothing that must survive: what waits in it is also in the inbox or follows from a transcript.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from bot.messages import Conversation
from bot.store.base import UpdateIds

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do in a conversation.

    Attributes:
        run: Called when its turn has come; it reports its own errors.
        update_id: The updates it came from, to be named when the job is dropped.
        label: What a person would recognise it by; for `/stop`, which lists what it drops.
        ready: Asked before the job starts; while it says no, the lane is held and looked at again when woken.
            None means always.
        key: Random; tells one job from any other.
    """

    run: Callable[[], Awaitable[None]]
    update_id: UpdateIds = None
    label: str = ""
    ready: Callable[[], Awaitable[bool]] | None = None
    key: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(slots=True)
class Lane:
    waiting: deque[Job] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None
    running: asyncio.Task[None] | None = None
    job: Job | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Lanes:
    def __init__(self) -> None:
        self._lanes: dict[Conversation, Lane] = {}

    def put(self, conversation: Conversation, job: Job, *, first: bool = False) -> None:
        """Queue a job; `first` puts it before what waits, never before what runs."""
        lane = self._lanes.setdefault(conversation, Lane())
        if first:
            lane.waiting.appendleft(job)
        else:
            lane.waiting.append(job)
        lane.woken.set()
        if lane.task is None:
            lane.task = asyncio.create_task(self._drive(conversation, lane))

    def busy(self, conversation: Conversation) -> bool:
        """Whether something runs there now."""
        lane = self._lanes.get(conversation)
        return lane is not None and lane.running is not None

    def running(self, conversation: Conversation) -> Job | None:
        """Return what runs there now."""
        lane = self._lanes.get(conversation)
        return lane.job if lane else None

    def waits(self, conversation: Conversation, job: Job) -> bool:
        """Whether a job has not begun."""
        lane = self._lanes.get(conversation)
        return lane is not None and any(waiting is job for waiting in lane.waiting)

    def holds_next(self, conversation: Conversation) -> bool:
        """Whether nothing runs there, so that what waits first is looked at now."""
        lane = self._lanes.get(conversation)
        return lane is not None and lane.running is None

    def waiting(self) -> int:
        """Count the jobs that wait, over all lanes."""
        return sum(len(lane.waiting) for lane in self._lanes.values())

    def wake(self, conversation: Conversation) -> None:
        """Ask a held job again whether it is ready."""
        if lane := self._lanes.get(conversation):
            lane.woken.set()

    async def run_first(self, conversation: Conversation, do: Callable[[], Awaitable[T]]) -> T:
        """Do something in the lane, before what waits and after what runs; return what it returned."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                result = await do()
            except Exception as exc:
                done.set_exception(exc)
            else:
                done.set_result(result)

        self.put(conversation, Job(run), first=True)
        return await done

    async def cut(self, conversation: Conversation) -> Job | None:
        """Cancel what runs and let what waits go on; return the job that was cut short and has ended."""
        lane = self._lanes.get(conversation)
        if lane is None or lane.running is None:
            return None
        running, job = lane.running, lane.job
        running.cancel()
        await asyncio.wait([running])
        return job

    async def interrupt(self, conversation: Conversation) -> tuple[Job | None, list[Job]]:
        """Cancel what runs and take away what waits.

        Returns:
            The job that was cut short, if any, which has ended; and the jobs that will not run, in order.
        """
        lane = self._lanes.get(conversation)
        if lane is None:
            return None, []
        dropped, lane.waiting = list(lane.waiting), deque()
        lane.woken.set()
        return await self.cut(conversation), dropped

    async def close(self) -> None:
        """Cancel everything; what was cut short is taken up again after the next start."""
        tasks = [task for lane in self._lanes.values() for task in (lane.task, lane.running) if task]
        self._lanes.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drive(self, conversation: Conversation, lane: Lane) -> None:
        while lane.waiting:
            job = lane.waiting[0]
            lane.woken.clear()
            try:
                ready = job.ready is None or await job.ready()
            except Exception:
                # Dropped, or the lane would never move again; its update is handed out at the next start.
                log.exception("job %r in %s can't be asked whether it is ready", job.label, conversation)
                if lane.waiting and lane.waiting[0] is job:
                    lane.waiting.popleft()
                continue
            if not ready:
                await lane.woken.wait()
                continue
            if not lane.waiting or lane.waiting[0] is not job:
                continue  # something went before it, or it was dropped, while we asked
            lane.waiting.popleft()
            lane.job, lane.running = job, asyncio.ensure_future(self._guarded(conversation, job))
            await asyncio.wait([lane.running])
            lane.job = lane.running = None
        lane.task = None
        if self._lanes.get(conversation) is lane:
            del self._lanes[conversation]

    async def _guarded(self, conversation: Conversation, job: Job) -> None:
        try:
            await job.run()
        except asyncio.CancelledError:
            log.info("job %r in %s was stopped", job.label, conversation)
            raise
        except Exception:
            log.exception("job %r in %s failed", job.label, conversation)
