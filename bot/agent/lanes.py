"""One job at a time per conversation, conversations in parallel, jobs in the order they came.

A lane holds nothing that must survive: what waits in it is also in the inbox or follows from a transcript.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
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
        asker: The user whose message it is, if it is one's.
        outlasts: What still runs in the lane that this one took in; nothing goes before the job, and who
            takes it away ends that too.
        key: Random; tells one job from any other.
    """

    run: Callable[[], Awaitable[None]]
    update_id: UpdateIds = None
    label: str = ""
    ready: Callable[[], Awaitable[bool]] | None = None
    asker: int | None = None
    outlasts: asyncio.Task[None] | None = None
    key: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(slots=True)
class Lane:
    conversation: Conversation
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
        lane = self._lanes.setdefault(conversation, Lane(conversation))
        if first:
            lane.waiting.insert(sum(waiting.outlasts is not None for waiting in lane.waiting), job)
        else:
            lane.waiting.append(job)
        lane.woken.set()
        if lane.task is None:
            lane.task = asyncio.create_task(self._drive(lane))

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
        """Do something in the lane, before what waits and after what runs; return what it returned.

        Raises:
            RuntimeError: It was cut short. Whatever else it raised.
        """
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                result = await do()
            except BaseException as exc:
                if not done.done():
                    cut = isinstance(exc, asyncio.CancelledError)  # which the caller was not
                    done.set_exception(RuntimeError("it was cut short") if cut else exc)
                if not isinstance(exc, Exception):
                    raise
            else:
                if not done.done():
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
        for job in dropped:
            if job.outlasts is not None:
                job.outlasts.cancel()
                await asyncio.wait([job.outlasts])
        return await self.cut(conversation), [job for job in dropped if job.outlasts is None]

    def move_chat(self, old: int, new: int) -> None:
        """Let a chat go on under another id: what runs runs on, what waits goes before what waits there."""
        for before in [conversation for conversation in self._lanes if conversation.chat_id == old]:
            lane = self._lanes.pop(before)
            lane.conversation = Conversation(new, before.thread_id)
            there = self._lanes.setdefault(lane.conversation, lane)
            if there is lane:
                continue
            there.waiting.extendleft(reversed(lane.waiting))
            lane.waiting.clear()
            if lane.running:
                held = Job(partial(_outlast, lane.running), label="moved", outlasts=lane.running)
                there.waiting.appendleft(held)
            lane.woken.set()
            there.woken.set()

    async def close(self) -> None:
        """Cancel everything; what was cut short is taken up again after the next start."""
        lanes = self._lanes.values()
        tasks = [task for lane in lanes for task in (lane.task, lane.running) if task]
        tasks += [job.outlasts for lane in lanes for job in lane.waiting if job.outlasts]
        self._lanes.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drive(self, lane: Lane) -> None:
        while lane.waiting:
            job = lane.waiting[0]
            lane.woken.clear()
            try:
                ready = job.ready is None or await job.ready()
            except Exception:
                # Dropped, or the lane would never move again; its update is handed out at the next start.
                log.exception("job %r in %s can't be asked whether it is ready", job.label, lane.conversation)
                if lane.waiting and lane.waiting[0] is job:
                    lane.waiting.popleft()
                continue
            if not ready:
                await lane.woken.wait()
                continue
            if not lane.waiting or lane.waiting[0] is not job:
                continue  # something went before it, or it was dropped, while we asked
            lane.waiting.popleft()
            lane.job, lane.running = job, asyncio.ensure_future(self._guarded(lane, job))
            await asyncio.wait([lane.running])
            lane.job = lane.running = None
        lane.task = None
        if self._lanes.get(lane.conversation) is lane:
            del self._lanes[lane.conversation]

    async def _guarded(self, lane: Lane, job: Job) -> None:
        try:
            await job.run()
        except asyncio.CancelledError:
            log.info("job %r in %s was stopped", job.label, lane.conversation)
            raise
        except Exception:
            log.exception("job %r in %s failed", job.label, lane.conversation)


async def _outlast(running: asyncio.Task[None]) -> None:
    """Hold a lane until a job of another is over; whoever cuts this cuts that."""
    try:
        await asyncio.wait([running])
    except asyncio.CancelledError:
        running.cancel()
        await asyncio.wait([running])
        raise
