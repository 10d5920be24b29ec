"""Running a command: what was read is what runs, and nothing of it is left behind unseen.

The shell gets the command as its last argument, unchanged. Before it comes to that it reads its standard
input to the end, where we put three lines: they close standard input and have the shell write its folder to
a file when it exits. Until we have written them the command waits, which is the time to put it in its cgroup.
What confines a command (`bot.tools.sandbox`) stands before the shell and waits for an empty line before them.
"""

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL

from bot.errors import ToolError
from bot.tools.capture import Capture, Stream
from bot.tools.family import MARKER, Family
from bot.tools.sandbox import Sandbox

CHUNK = 64 * 1024
"""Bytes a read; a pipe holds no more."""
READS = 2
"""Reads of each pipe a loop turn: a flood must not keep the loop from anybody else."""
DRAIN = 0.3
"""Seconds to wait for the last words of `> >(tee log)` and the like after the shell has exited."""
PROGRESS = 0.5
"""Seconds between two reports of the last line."""
LONGEST = 128 * 1024 - 1
"""Bytes of one argument: MAX_ARG_STRLEN less its NUL, https://man7.org/linux/man-pages/man2/execve.2.html"""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command whose shell has ended.

    Attributes:
        output: What is kept of stdout, then of stderr under its label.
        status: Exit status; the negative signal number when a signal ended the shell.
        timed_out: It was ended at its limit; `output` is what it had printed.
        duration: Seconds.
        total: Bytes printed so far.
        cut: `output` lacks something that `file` has.
        file: With all output, also what background children still print; None when `output` is all.
        cwd: Absolute folder the shell was in when it exited; None when it could not say.
        background: Pids the command left running.
    """

    output: str
    status: int
    timed_out: bool
    duration: float
    total: int
    cut: bool
    file: Path | None
    cwd: Path | None
    background: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What a finished command left running.

    Attributes:
        started: Seconds since the epoch.
        pids: Those alive now.
    """

    id: str
    command: str
    started: float
    pids: tuple[int, ...]
    file: Path | None


@dataclass(slots=True, eq=False)
class _Run:
    command: str
    family: Family
    capture: Capture
    on_line: Callable[[str], None]
    started: float = field(default_factory=time.time)
    pipes: dict[int, Stream] = field(default_factory=dict)
    silent: asyncio.Event = field(default_factory=asyncio.Event)
    ticking: asyncio.TimerHandle | None = None
    told: float = 0.0


class Commands:
    """Runs commands and keeps what they leave in the background.

    Args:
        environment: What every command gets; see `bot.tools.environment.scrub`.
        cgroup: Delegated to us, see `bot.tools.family.delegated_cgroup`; None to do without.
        umask: Of commands: the bot's own is for its own files.
        sandbox: Around confined commands; None for none.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        cgroup: Path | None = None,
        umask: int = 0o022,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._environment = dict(environment)
        self._cgroup = cgroup
        self._umask = umask
        self.sandbox = sandbox
        self._left: dict[_Run, asyncio.Task[None]] = {}

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout: float,
        file: Path,
        on_line: Callable[[str], None] = lambda line: None,
        confined: bool = True,
    ) -> Finished:
        """Run a command in /bin/bash until its shell exits or `timeout` seconds have passed.

        Args:
            cwd: Absolute; must exist.
            file: Made when there is more output than memory should hold, or output to come. Must not exist.
            on_line: Takes the last line printed, at most every `PROGRESS` seconds. Must return at once.
            confined: In the sandbox, if there is one.

        Raises:
            ToolError: `InvalidArgs`: no shell could be given this command; `NotConfigured`: it was to be
                confined and can't be.
            OSError: The shell could not be started, e.g. because `cwd` is gone.
            asyncio.CancelledError: Everything the command started has ended.
        """
        started = time.monotonic()
        run = _Run(command, Family(self._cgroup), Capture(file), on_line)
        sandbox = self.sandbox if confined else None
        note = _make_note(file.parent, run.family.mark, sandbox.note_owner if sandbox else None)
        shell = None
        try:
            shell = self._start(run, cwd, note, sandbox)
            timed_out = not await self._wait(run, shell, timeout)
            await self._drain(run)
            members = tuple(run.family.members())
            moved = _read_note(note)
        except BaseException:
            await _surely(run.family.end(grace=0.3, patience=0.6))
            self._close(run)
            raise
        finally:
            if shell and shell.poll() is None:  # in an uninterruptible wait; not even SIGKILL ended it
                shell.returncode = -SIGKILL
            if note:
                note.unlink(missing_ok=True)
        output = run.capture.render()
        if members or run.pipes:
            self._leave(run)
        else:
            self._close(run)
        return Finished(
            output=output,
            status=shell.returncode,
            timed_out=timed_out,
            duration=time.monotonic() - started,
            total=run.capture.total,
            cut=run.capture.cut,
            file=run.capture.file,
            cwd=moved,
            background=members,
        )

    @property
    def jobs(self) -> list[Job]:
        """What still runs in the background, oldest first."""
        return [
            Job(run.family.mark, run.command, run.started, tuple(run.family.members()), run.capture.file)
            for run in self._left
        ]

    async def end(self, job_id: str) -> bool:
        """End a job's processes; False when there is no such job."""
        run = next((run for run in self._left if run.family.mark == job_id), None)
        if run is None:
            return False
        await run.family.end(grace=1.0)
        self._forget(run)
        return True

    async def close(self) -> None:
        """End every job. Their pipes end with us, and a job that prints would die of that half-way."""
        await asyncio.gather(*(self.end(job.id) for job in self.jobs))

    def _start(
        self, run: _Run, cwd: Path, note: Path | None, sandbox: Sandbox | None
    ) -> "subprocess.Popen[bytes]":
        words: list[str | bytes] = ["/bin/bash", "--noprofile", "--norc", "-c", _encode(run.command)]
        if sandbox:
            words = sandbox.wrap(words, cwd=cwd, note=note)
        environment = {
            **self._environment,
            MARKER: run.family.mark,
            "BASH_ENV": "/dev/stdin",
            "PWD": str(cwd),
        }
        script_read, script = os.pipe2(os.O_CLOEXEC)
        out, out_write = os.pipe2(os.O_CLOEXEC)
        err, err_write = os.pipe2(os.O_CLOEXEC)
        if sandbox and (owner := sandbox.note_owner):
            for pipe in (script_read, out_write, err_write):
                os.fchown(pipe, *owner)  # else he can't open /dev/stdin, which the shell does first of all
        try:
            shell = subprocess.Popen(
                words,
                stdin=script_read,
                stdout=out_write,
                stderr=err_write,
                cwd=cwd,
                env=environment,
                umask=self._umask,
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (script, out, err):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (script_read, out_write, err_write):
                os.close(descriptor)
        run.family.adopt(shell.pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(script, b"\n" + _prelude(run.command, note).encode())
        os.close(script)
        loop = asyncio.get_running_loop()
        for pipe, stream in ((out, run.capture.stdout), (err, run.capture.stderr)):
            os.set_blocking(pipe, False)
            run.pipes[pipe] = stream
            loop.add_reader(pipe, self._read, run, pipe)
        return shell

    async def _wait(self, run: _Run, shell: "subprocess.Popen[bytes]", timeout: float) -> bool:
        """Return whether the shell exited by itself; if not, all it started is gone."""
        loop = asyncio.get_running_loop()
        exited = asyncio.Event()
        watch = os.pidfd_open(shell.pid)
        loop.add_reader(watch, exited.set)
        try:
            async with asyncio.timeout(timeout):
                await exited.wait()
        except TimeoutError:
            await _surely(run.family.end(grace=1.0))
            return False
        finally:
            loop.remove_reader(watch)
            os.close(watch)
        shell.wait()
        return True

    async def _drain(self, run: _Run) -> None:
        # What the shell itself printed is in the pipe by now, and is read before anything is waited for.
        if run.pipes:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN):
                    await run.silent.wait()
        # Who has just closed the pipe is about to exit, and no background job.
        await run.family.gone(0.05)
        run.family.reap()

    def _leave(self, run: _Run) -> None:
        if run.pipes:
            run.capture.keep()
        self._left[run] = asyncio.create_task(self._watch(run), name=f"job {run.family.mark}")

    async def _watch(self, run: _Run) -> None:
        pause = 0.25
        while run.pipes or run.family.members():
            await asyncio.sleep(pause)
            pause = min(2 * pause, 4.0)
            run.family.reap()
        self._forget(run)

    def _forget(self, run: _Run) -> None:
        run.family.reap()
        self._close(run)
        if task := self._left.pop(run, None):
            task.cancel()

    def _read(self, run: _Run, pipe: int) -> None:
        for _ in range(READS):
            try:
                data = os.read(pipe, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._end_pipe(run, pipe)
                return
            run.capture.feed(run.pipes[pipe], data)
            if run.ticking is None:
                loop = asyncio.get_running_loop()
                run.ticking = loop.call_at(max(run.told + PROGRESS, loop.time()), self._tell, run)

    def _tell(self, run: _Run) -> None:
        run.ticking = None
        run.told = asyncio.get_running_loop().time()
        if run not in self._left and (line := run.capture.line()):
            run.on_line(line)

    def _end_pipe(self, run: _Run, pipe: int) -> None:
        asyncio.get_running_loop().remove_reader(pipe)
        os.close(pipe)
        del run.pipes[pipe]
        if not run.pipes:
            run.silent.set()

    def _close(self, run: _Run) -> None:
        for pipe in list(run.pipes):
            self._end_pipe(run, pipe)
        if run.ticking:
            run.ticking.cancel()
            run.ticking = None
        run.capture.close()


def _encode(command: str) -> bytes:
    try:
        encoded = command.encode()
    except UnicodeEncodeError as error:
        raise ToolError("InvalidArgs", "the command holds half a surrogate pair") from error
    if b"\0" in encoded:
        raise ToolError("InvalidArgs", "the command holds a NUL character")
    if len(encoded) > LONGEST:
        text = f"the command has {len(encoded)} bytes, more than {LONGEST}; put it in a file, in parts"
        raise ToolError("InvalidArgs", text)
    return encoded


_REPLACES_EXIT = re.compile(r"\b(trap|exec)\b")


def _prelude(command: str, note: Path | None) -> str:
    """Return what the shell reads before the command; it prints nothing and defines no function."""
    lines = ["exec </dev/null", "unset BASH_ENV"]
    if note:
        write = f"builtin pwd -P >|{shlex.quote(str(note))} || :"
        # the redirection also hides this from `set -x`
        on_exit = f"{{ {write}; }} 2>/dev/null"
        lines.append(f"builtin trap {shlex.quote(on_exit)} EXIT")
        if _REPLACES_EXIT.search(command):
            # An EXIT trap of its own or an exec would leave ours out; so look before every command, which
            # costs a busy loop some time and is therefore not always done.
            on_step = f'{{ [[ $PWD == "$KAI_PWD" ]] || {{ KAI_PWD=$PWD; {write}; }}; }} 2>/dev/null'
            lines.append(f"KAI_PWD=$PWD; builtin trap {shlex.quote(on_step)} DEBUG")
    return "\n".join(lines) + "\n"


def _make_note(folder: Path, mark: str, owner: tuple[int, int] | None) -> Path | None:
    """Make the file for the folder, its owner's whatever the command's umask; None on a full disk."""
    if owner:
        import tempfile

        folder = Path(tempfile.gettempdir())  # another user gets into no folder of ours
    path = folder / f".cwd-{mark}"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    if owner:
        os.fchown(file, *owner)
    os.close(file)
    return path


def _read_note(path: Path | None) -> Path | None:
    if path is None:
        return None
    try:
        # Where it belongs to another user, a link or a FIFO may have taken its place.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            folder = os.fsdecode(file.read(LONGEST).removesuffix(b"\n"))
    except OSError:
        return None
    return Path(folder) if folder.startswith("/") and os.path.isdir(folder) else None


async def _surely(work: Coroutine[None, None, None]) -> None:
    """Await to the end whoever cancels us meanwhile; then be cancelled."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
