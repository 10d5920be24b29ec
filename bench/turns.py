"""What a turn costs: the bot and the floor, each as its own process, do the same work in turns.

Telegram and the model are the emulator and the scripted server in this process. Flood control is off and
SEND_RATE is raised, so that the bot is measured and not Telegram's limits.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.demo import Emulator, serve
from bot.demo.model_server import ModelRequest, ModelServer, Reply, call, serve_model

PEOPLE = 1200
WARM_UP = 20
SAMPLES = 150
BLOCK = 15
CROWD = 200
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    module: Sequence[str]


BOT = Target("kai", ("bot", "--env-file", os.devnull, "run"))
FLOOR = Target("floor", ("bench.floor",))


def model(request: ModelRequest) -> Reply:
    """Answer at once; after a command when the person says "tool", after half a second for "slow"."""
    asked = request.last_user_text
    if "tool" in asked and request.step == 0:
        return Reply("", [call("run_in_terminal", command="echo hello", risk="low", explanation="")])
    return Reply("All is well.", delay=0.5 if "slow" in asked else 0.0)


@dataclass(slots=True)
class Scene:
    emulator: Emulator
    process: asyncio.subprocess.Process
    seconds_to_first_poll: float
    next_person: int = 0

    async def turn(self, text: str) -> float:
        """Let somebody who has not spoken yet say `text`; return the seconds until the answer is seen."""
        self.next_person += 1
        person = self.emulator.person(self.next_person, started=True)
        begun = time.perf_counter()
        person.send(text)
        await person.chat.expect("All is well.", within=30)
        return time.perf_counter() - begun

    def cpu(self) -> float:
        """Return the CPU seconds the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """Return the proportional set size in MB."""
        rows = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


@asynccontextmanager
async def scene(target: Target) -> AsyncIterator[Scene]:
    emulator = Emulator(flood=False, calls_kept=100)
    with tempfile.TemporaryDirectory() as folder:
        async with serve(emulator) as telegram, serve_model(ModelServer(model)) as models:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "TELEGRAM_BOT_TOKEN": emulator.token,
                "TELEGRAM_API_URL": telegram,
                "ADMIN_IDS": "1",
                "ALLOWED_IDS": ",".join(map(str, range(2, PEOPLE))),
                "STATE_DIR": f"{folder}/state",
                "WORK_DIR": folder,
                "LLM_MODEL": "custom:scripted",
                "CUSTOM_BASE_URL": f"{models}/v1",
                "CUSTOM_API_KEY": "test-key",
                "LOG_LEVEL": "WARNING",
                "SEND_RATE": "10000",
            }
            begun = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *target.module, env=environment
            )
            while not emulator.updates.polling:  # noqa: ASYNC110 - it has no event, and must cost nothing
                await asyncio.sleep(0.002)
            try:
                yield Scene(emulator, process, time.perf_counter() - begun)
            finally:
                process.kill()
                await process.wait()


@dataclass(slots=True)
class Turns:
    """Milliseconds; medians of `SAMPLES`."""

    plain: float
    tool: float
    cpu: float


@dataclass(slots=True)
class Process:
    """Seconds and MB."""

    first_poll: float
    idle: float
    crowd: float
    grown: float


async def measure_turns() -> tuple[Turns, Turns]:
    """Let floor and bot take turns, a block each, so that a machine that gets slower is slower for both."""
    async with scene(FLOOR) as floor, scene(BOT) as kai:
        both = (floor, kai)
        plain: tuple[list[float], list[float]] = ([], [])
        tool: tuple[list[float], list[float]] = ([], [])
        cpu = [0.0, 0.0]
        for here in both:
            for _ in range(WARM_UP):
                await here.turn("plain")
                await here.turn("tool")
        for _ in range(SAMPLES // BLOCK):
            for index, here in enumerate(both):
                before = here.cpu()
                plain[index].extend([await here.turn("plain") for _ in range(BLOCK)])
                cpu[index] += here.cpu() - before
                tool[index].extend([await here.turn("tool") for _ in range(BLOCK)])
    return tuple(  # type: ignore[return-value]
        Turns(
            statistics.median(plain[index]) * 1000,
            statistics.median(tool[index]) * 1000,
            cpu[index] / SAMPLES * 1000,
        )
        for index in range(len(both))
    )


async def measure_process(target: Target) -> Process:
    """Measure what needs the process alone: beside another Python it would share, and look smaller."""
    async with scene(target) as here:
        await asyncio.sleep(1.0)
        idle = here.memory()
        for _ in range(WARM_UP):
            await here.turn("plain")
            await here.turn("tool")
        begun = time.perf_counter()
        await asyncio.gather(*(here.turn("slow") for _ in range(CROWD)))
        crowd = time.perf_counter() - begun
        settled = here.memory()
        for _ in range(1000 - WARM_UP * 2 - CROWD):
            await here.turn("plain")
        grown = here.memory() - settled
        return Process(here.seconds_to_first_poll, idle, crowd, grown)


def main() -> None:
    low, ours = (asyncio.run(measure_process(target)) for target in (FLOOR, BOT))
    floor, kai = asyncio.run(measure_turns())
    rows = [
        ("plain turn, median ms", floor.plain, kai.plain, f"{kai.plain / floor.plain:.1f} × floor", "≤ 3 ×"),
        ("tool turn, median ms", floor.tool, kai.tool, f"{kai.tool / floor.tool:.1f} × floor", "≤ 2.5 ×"),
        ("CPU of a plain turn, ms", floor.cpu, kai.cpu, "", ""),
        ("idle memory (PSS), MB", low.idle, ours.idle, "", "≤ 60"),
        ("exec to first poll, s", low.first_poll, ours.first_poll, "", "≤ 1.0"),
        (f"{CROWD} chats at once, 0.5 s model, s", low.crowd, ours.crowd, "", "≤ 1.5"),
        ("memory grown by 1,000 turns, MB", low.grown, ours.grown, "", "≤ 10"),
    ]
    print(f"{'':38}{'floor':>9}{'kai':>9}  {'ratio':14}target")
    for name, theirs, mine, ratio, target in rows:
        print(f"{name:38}{theirs:9.2f}{mine:9.2f}  {ratio:14}{target}")


if __name__ == "__main__":
    main()
