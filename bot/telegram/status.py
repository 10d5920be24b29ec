"""What `/status` says: first the server, then the bot, then what waits."""

import os
import platform
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot import __version__, clock
from bot.agent.lanes import Lanes
from bot.llm.fallback import Link
from bot.store.base import Store
from bot.telegram.poller import Poller
from bot.telegram.send_gate import SendGate
from bot.telegram.units import failed_units
from bot.texts import say


@dataclass(slots=True)
class Status:
    """Where `/status` reads.

    Attributes:
        links: How each model of the chain stands, in its order; empty when `model` is the only one.
        failed_units: Names the server's failed services; None where nobody can say.
        last_backup: When the newest backup was made; None when there is none.
        notes: Further lines that matter (a damaged database put aside, …), asked each time.
    """

    store: Store
    lanes: Lanes
    gate: SendGate
    poller: Poller
    model: str
    work_dir: Path
    started_at: float
    now: clock.Clock
    notes: Callable[[], list[str]]
    failed_units: Callable[[], Awaitable[list[str] | None]] = failed_units
    last_backup: Callable[[], float | None] = lambda: None
    links: Callable[[], Sequence[Link]] = lambda: ()
    language: str = "en"

    async def text(self) -> str:
        now = self.now()
        pending = await self.store.pending_approvals()
        last_poll, backup = self.poller.last_poll, self.last_backup()
        age = f"{now - last_poll:.0f} s ago" if last_poll else "never"
        load = " ".join(f"{value:.2f}" for value in os.getloadavg())
        lines = [
            f"Server: {platform.node()}, up {duration(uptime())}",
            f"Load: {load} on {os.cpu_count()} cores",
            f"Memory: {memory()}",
            f"Disk: {disk(self.work_dir)}",
            "",
            f"Kai {__version__}, up {duration(now - self.started_at)}, {size(resident())} resident",
            *self._models(),
            f"Last poll: {age}" + (f" ({self.poller.trouble})" if self.poller.trouble else ""),
            f"Waiting: {await self.store.inbox_size()} in the inbox, {self.lanes.waiting()} in lanes, "
            f"{await self.store.outbox_size()} in the outbox, {self.gate.held()} chats held back",
            f"Open questions: {len(pending)}"
            + (f", the oldest {duration(now - pending[0].created_at)}" if pending else ""),
            f"Grants in force: {len(await self.store.grants(now))}",
            f"Database: {size(await self.store.size())}, last backup "
            + (f"{duration(now - backup)} ago" if backup else "never"),
        ]
        if failed := await self.failed_units():
            lines.insert(4, f"⚠️ Failed units: {', '.join(failed)}")
        elif failed is not None:
            lines.insert(4, "Failed units: none")
        return "\n".join(lines + self.notes())

    def _models(self) -> list[str]:
        links = self.links()
        if not links:
            return [f"Model: {self.model}"]
        return [say(self.language, "chain"), *(self._link(link) for link in links)]

    def _link(self, link: Link) -> str:
        """Return one model's line. One that rests is said to rest, even where it was the last to answer."""
        if rest := link.rest:
            until = time_of_day(rest.until)
            return say(self.language, "chain_rests", model=link.name, time=until, why=rest.why)
        if link.answered is not None:
            return say(self.language, "chain_answered", model=link.name, time=time_of_day(link.answered))
        return say(self.language, "chain_ready", model=link.name)


def size(count: float) -> str:
    """Return bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """Return seconds for people, in the two largest units."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def time_of_day(at: float) -> str:
    """Return hours and minutes in the server's own time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def uptime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def memory() -> str:
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        total, free = (int(rows[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return "unknown"
    return f"{size(total - free)} of {size(total)} used"


def disk(folder: Path) -> str:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return "unknown"
    return f"{size(usage.used)} of {size(usage.total)} used, {size(usage.free)} free"


def resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
