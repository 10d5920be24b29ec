"""Every process one command started, found again however it tried to get away.

A process group loses whoever calls setsid, a process tree loses whoever is orphaned, an environment marker
loses `env -i`. So the bot makes itself the subreaper, where orphans come to rest, and marks the command with
a resource limit nobody uses: both outlive fork, exec, setsid and `env -i`. Where systemd delegates a cgroup
to us, the kernel keeps the list instead.
"""

import asyncio
import contextlib
import os
import resource
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM, Signals

MARKER = "KAI_RUN"


class Family:
    """The processes of one command; its leader is the shell.

    Args:
        cgroup: A cgroup v2 folder delegated to us, in which the command gets its own; None for none.
    """

    def __init__(self, cgroup: Path | None = None) -> None:
        self.mark = secrets.token_hex(8)
        self.leader = 0
        self._limit = (1 << 52) + secrets.randbits(48)
        self._cgroup = cgroup / f"kai-{self.mark}" if cgroup else None

    def adopt(self, pid: int) -> None:
        """Take a shell in, before it has started anything."""
        become_subreaper()
        self.leader = pid
        with contextlib.suppress(OSError, ValueError):  # an operator's LimitRTTIME= below ours
            hard = resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
            resource.prlimit(pid, resource.RLIMIT_RTTIME, (self._limit, hard))
        if self._cgroup:
            try:
                self._cgroup.mkdir()
                (self._cgroup / "cgroup.procs").write_text(str(pid))
            except OSError:
                self._cgroup = None

    def members(self) -> list[int]:
        """Return the pids that are alive, zombies left out."""
        if self._cgroup:
            with contextlib.suppress(OSError):
                pids = (self._cgroup / "cgroup.procs").read_text().split()
                return [int(pid) for pid in pids if not _is_zombie(int(pid))]
        return [pid for pid in self._descendants() if not _is_zombie(pid)]

    async def gone(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for every member to end; return whether they did."""
        deadline = time.monotonic() + timeout
        pause = 0.002
        while self.members():
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    async def end(self, grace: float, patience: float = 3.0) -> None:
        """End every member: SIGTERM, and SIGKILL to whoever is still there after `grace` seconds.

        Gives up after `patience` seconds more, or when nobody left may be signalled: a process in an
        uninterruptible wait dies when its disk answers, one that sudo started belongs to root.
        """
        self._signal(SIGTERM)
        self._signal(SIGCONT)  # a stopped process hears nothing but SIGKILL
        if not await self.gone(grace):
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                reached = self._signal(SIGKILL)
                if await self.gone(0.02) or not reached:
                    break
        self.reap()

    def reap(self) -> None:
        """Collect the orphans that came to us and died, and the cgroup once it is empty. Not the leader."""
        for pid in _children_of_ours():
            if pid != self.leader and _is_zombie(pid) and self._is_marked(pid):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        if self._cgroup:
            with contextlib.suppress(OSError):
                self._cgroup.rmdir()

    def _signal(self, signal: Signals) -> bool:
        """Return whether anybody was reached."""
        reached = False
        if self._cgroup and signal == SIGKILL:
            with contextlib.suppress(OSError):
                (self._cgroup / "cgroup.kill").write_text("1")
                reached = True
        members = self.members()
        # One signal to the group also reaches a child that is being forked this instant. Its number is safe
        # only while a member keeps it from being given to somebody else.
        if any(_group(pid) == self.leader for pid in members):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, signal)
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal)
                reached = True
        return reached

    def _descendants(self) -> Iterator[int]:
        waiting = [pid for pid in _children_of_ours() if pid == self.leader or self._is_marked(pid)]
        seen = set(waiting)
        while waiting:
            pid = waiting.pop()
            yield pid
            fresh = [child for child in _children(pid) if child not in seen]
            seen.update(fresh)
            waiting.extend(fresh)

    def _is_marked(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            if _time_limit(pid) == self._limit:
                return True
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            return f"\0{MARKER}={self.mark}\0".encode() in b"\0" + file.read()
        return False


def become_subreaper() -> None:
    """Have orphaned descendants come to this process instead of init. May be called again."""
    global _is_subreaper
    if _is_subreaper:
        return
    import ctypes

    set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER, https://man7.org/linux/man-pages/man2/prctl.2.html
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
    _is_subreaper = True


_is_subreaper = False


def delegated_cgroup() -> Path | None:
    """Return our own cgroup v2 folder if systemd left it to us (`Delegate=yes`), else None."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    mount = next((words[1] for words in mounts if words[2] == "cgroup2"), None)
    if path is None or mount is None:
        return None
    folder = Path(mount) / path.lstrip("/")
    if not ((folder / "cgroup.kill").exists() and os.access(folder, os.W_OK)):
        return None
    if not os.access(folder / "cgroup.procs", os.W_OK):
        return None
    # root may write everywhere, also where systemd would tidy up after us
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return folder
    return folder if os.geteuid() != 0 else None


def _children_of_ours() -> list[int]:
    return _children(os.getpid())


def _children(pid: int) -> list[int]:
    if not os.path.exists("/proc/thread-self/children"):  # a kernel without CONFIG_PROC_CHILDREN
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(int(name)) == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
    return found


def _time_limit(pid: int) -> int:
    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME)[0]
    except PermissionError:  # another user's, and we are a root without CAP_SYS_RESOURCE, as in a container
        with open(f"/proc/{pid}/limits", "rb") as file:
            limit = file.read().partition(b"Max realtime timeout")[2].split()[0]
        return int(limit) if limit.isdigit() else resource.RLIM_INFINITY


def _stat(pid: int) -> list[bytes]:
    # the name in brackets may hold spaces and brackets: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return [b"X", b"0", b"0"]


def _is_zombie(pid: int) -> bool:
    return _stat(pid)[0] in (b"Z", b"X")


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _group(pid: int) -> int:
    return int(_stat(pid)[2])
