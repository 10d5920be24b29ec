"""X6, X7, L7 and the tables of the facts: what a command may do, and that it is over when it is over."""

import asyncio
import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.errors import ToolError
from bot.tools.environment import scrub
from bot.tools.process import PROGRESS, Commands, Finished
from tests.tools.processes import Zombies, eventually, running, unique_seconds

Run = Callable[..., Any]


@pytest.fixture
def run(commands: Commands, output_dir: Path, work_dir: Path) -> Run:
    async def run(
        command: str,
        *,
        timeout: float = 10.0,
        cwd: Path = work_dir,
        name: str = "out",
        on_line: Callable[[str], None] = lambda line: None,
        by: Commands = commands,
    ) -> Finished:
        return await by.run(command, cwd=cwd, timeout=timeout, file=output_dir / name, on_line=on_line)

    return run


# What comes back


async def test_output_and_status_come_back(run: Run) -> None:
    finished = await run("echo hi; exit 3")

    assert (finished.output, finished.status, finished.timed_out) == ("hi\n", 3, False)


async def test_standard_error_is_labelled(run: Run) -> None:
    finished = await run("echo oops >&2; echo fine")

    assert finished.output == "fine\n[stderr]\noops\n"


async def test_a_label_begins_a_line(run: Run) -> None:
    finished = await run("printf fine; printf oops >&2")

    assert finished.output == "fine\n[stderr]\noops"


async def test_a_signal_is_a_negative_status(run: Run) -> None:
    finished = await run("kill -SEGV $$")

    assert finished.status == -signal.SIGSEGV


async def test_standard_input_is_closed(run: Run) -> None:
    finished = await run("cat; read -p '? ' answer; echo status $?", timeout=5)

    assert finished.output.endswith("status 1\n")
    assert not finished.timed_out


async def test_standard_input_is_nothing_at_all(run: Run) -> None:
    assert (await run("readlink /proc/$$/fd/0")).output == "/dev/null\n"


async def test_the_command_is_the_shells_last_argument_unchanged(run: Run) -> None:
    command = "  tr '\\0' '\\n' </proc/$$/cmdline | tail -n +4 # 'é' \"$(true)\" \\\n"

    finished = await run(command)

    assert finished.output == "-c\n" + command + "\n"


async def test_the_shell_has_no_function_and_no_variable_of_ours_but_the_marker(run: Run) -> None:
    finished = await run("declare -F; compgen -v | grep -i kai; echo ${BASH_ENV-unset}; ls /proc/self/fd")

    assert finished.output.split() == ["KAI_RUN", "unset", "0", "1", "2", "3"]


async def test_no_profile_is_read(run: Run, work_dir: Path) -> None:
    (work_dir / ".bashrc").write_text("echo from bashrc")
    (work_dir / ".bash_profile").write_text("echo from profile")
    commands = Commands(scrub({"HOME": str(work_dir)}))

    assert (await run("echo", by=commands)).output == "\n"


async def test_files_are_made_with_the_usual_mode_whatever_the_bots_own(run: Run, work_dir: Path) -> None:
    before = os.umask(0o077)
    try:
        await run("touch made")
    finally:
        os.umask(before)

    assert stat.S_IMODE((work_dir / "made").stat().st_mode) == 0o644


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800", "echo " + "x" * 140_000])
async def test_what_no_shell_could_be_given_is_the_models_mistake(run: Run, command: str) -> None:
    with pytest.raises(ToolError) as caught:
        await run(command)

    assert caught.value.code == "InvalidArgs"


async def test_the_longest_command_runs(run: Run) -> None:
    finished = await run(":" + " " * (128 * 1024 - 1 - 8) + "echo hi")

    assert finished.status == 0


async def test_a_missing_folder_is_an_os_error_and_leaves_nothing_open(run: Run, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(FileNotFoundError):
        await run("echo hi", cwd=tmp_path / "gone")

    assert len(os.listdir("/proc/self/fd")) == before


async def test_nothing_stays_open_or_uncollected_after_a_command(
    run: Run, commands: Commands, output_dir: Path, zombies: Zombies
) -> None:
    await run("true")
    before = len(os.listdir("/proc/self/fd"))

    await asyncio.gather(*(run("echo a; (true &); echo b >&2", name=f"{n}") for n in range(5)))

    assert len(os.listdir("/proc/self/fd")) == before
    assert zombies() == []
    assert os.listdir(output_dir) == []
    assert commands.jobs == []


# The folder


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("cd sub", 0),
        ("cd sub; exit 3", 3),
        ("set -e; cd sub; false; cd /", 1),
        ("set -euo pipefail; cd sub; false | true; cd /", 1),
        ("set -u; cd sub; echo $nothing", 127),
        ("set -C; cd sub", 0),
        ("set -o posix; cd sub", 0),
        ("umask 777; cd sub", 0),
        ("f() { cd sub; exit 9; }; f", 9),
        ("cd sub; exec 1>&- 2>&-", 0),
        ("cd sub\nif", 2),
        ("cd sub; trap 'exit 4' EXIT", 4),
        ("set -e; cd sub; clean() { rc=$?; cd /; exit $rc; }; trap clean EXIT; (exit 6)", 6),
        ("cd sub; trap - EXIT; exit 5", 5),
        ("cd sub && exec sh -c 'exit 7'", 7),
        ("cd sub; trap x INT; kill -KILL $$", -9),
        ("cd sub; kill -TERM $$", -15),
    ],
)
async def test_the_folder_outlives_the_command_and_the_status_is_its_own(
    run: Run, work_dir: Path, command: str, status: int
) -> None:
    (work_dir / "sub").mkdir()

    finished = await run(command)

    assert (finished.cwd, finished.status) == (work_dir / "sub", status)


@pytest.mark.parametrize("command", ["(cd sub)", "cd sub | cat", "bash -c 'cd sub'", "if", "cd nowhere"])
async def test_only_the_shells_own_folder_counts(run: Run, work_dir: Path, command: str) -> None:
    (work_dir / "sub").mkdir()

    finished = await run(command)

    assert finished.cwd == work_dir


async def test_an_odd_name_of_a_folder_survives(run: Run, work_dir: Path) -> None:
    finished = await run('d=$\'a\\nb \\377 \'; mkdir "$d"; cd "$d"')

    assert finished.cwd is not None
    assert os.fsencode(finished.cwd.name) == b"a\nb \xff "


async def test_a_link_is_followed(run: Run, work_dir: Path) -> None:
    (work_dir / "real").mkdir()
    (work_dir / "link").symlink_to("real")

    assert (await run("cd link")).cwd == work_dir / "real"


async def test_a_folder_that_is_gone_is_not_moved_to(run: Run) -> None:
    finished = await run("mkdir gone; cd gone; rmdir ../gone; exit 5")

    assert (finished.cwd, finished.status, finished.output) == (None, 5, "")


@pytest.mark.parametrize("command", ["set -x; cd sub", "set -xe; trap 'true bye' EXIT; cd sub"])
async def test_tracing_shows_the_command_only(run: Run, work_dir: Path, command: str) -> None:
    (work_dir / "sub").mkdir()

    finished = await run(command)

    assert "pwd" not in finished.output
    assert "PWD" not in finished.output
    assert finished.cwd == work_dir / "sub"


async def test_a_trap_of_the_command_runs_with_the_commands_status(run: Run) -> None:
    finished = await run("set -e; trap 'echo was $?; false; echo not reached' EXIT; (exit 7)")

    assert finished.output == "was 7\n"


async def test_a_full_disk_keeps_the_command_running(run: Run, output_dir: Path) -> None:
    os.rmdir(output_dir)

    finished = await run("seq 100000; cd /")

    assert finished.status == 0
    assert finished.output.endswith("100000\n")
    assert (finished.file, finished.cwd) == (None, None)


# Time


async def test_a_timeout_keeps_what_was_printed(run: Run) -> None:
    finished = await run("echo before; sleep 30; echo after", timeout=0.3)

    assert (finished.output, finished.timed_out) == ("before\n", True)
    assert finished.duration < 2


async def test_a_command_may_clean_up_at_its_limit(run: Run, work_dir: Path) -> None:
    await run("trap 'touch cleaned; exit' TERM; sleep 30 & wait", timeout=0.3)

    assert (work_dir / "cleaned").exists()


async def test_a_stopped_process_may_clean_up_too(run: Run, work_dir: Path) -> None:
    await run("bash -c 'trap \"touch cleaned; exit\" TERM; kill -STOP $$' & wait", timeout=0.3)

    assert (work_dir / "cleaned").exists()


async def test_a_chain_that_always_forks_and_exits_is_caught(run: Run) -> None:
    word = f"hop{unique_seconds()}"
    chain = f"{word}() {{ {word} & exit; }}"

    finished = await run(f"trap '' TERM; {chain}; {word} & sleep 20", timeout=0.3)

    assert finished.timed_out
    assert await eventually(lambda: running(word) == [], timeout=1)


KILLS = {
    "foreground": "sleep {n}",
    "waited for": "sleep {n} & wait",
    "nohup": "nohup sleep {n} >/dev/null 2>&1 & nohup sleep {n} >/dev/null 2>&1",
    "setsid in front": "setsid -w sleep {n}",
    "setsid behind": "setsid -f sleep {n}; sleep {n}",
    "double fork": "(setsid sh -c 'sleep {n} & exit' &); sleep {n}",
    "no environment": "env -i setsid -f sleep {n} >/dev/null 2>&1; sleep {n}",
    "deaf to TERM": "trap '' TERM; sleep {n}; sleep {n}",
    "deaf daemon": "setsid -f bash -c \"trap '' TERM; sleep {n}; sleep {n}\"; sleep {n}",
    "stopped": "sleep {n} & kill -STOP $!; wait",
    "eight": "for i in 1 2 3 4 5 6 7 8; do setsid -f sleep {n}; done; sleep {n}",
    "respawning": "setsid -f bash -c 'while :; do sleep {n}; done'; sleep {n}",
    "replaced shell": "exec sleep {n}",
    "parent died first": "bash -c 'bash -c \"sleep {n} & sleep {n} &\" & exit'; sleep {n}",
}


@pytest.mark.parametrize("case", KILLS)
async def test_a_timeout_reaches_every_descendant(run: Run, case: str, zombies: Zombies) -> None:
    seconds = unique_seconds()

    finished = await run(KILLS[case].format(n=seconds), timeout=0.3)

    assert finished.timed_out
    assert running(seconds) == []
    assert zombies() == []
    assert finished.background == ()


async def test_commands_at_once_do_not_end_each_others_children(run: Run, commands: Commands) -> None:
    kept = unique_seconds()
    started = [run(KILLS[case].format(n=unique_seconds()), timeout=0.4, name=case) for case in KILLS]
    keep = run(f"env -i setsid -f sleep {kept} >/dev/null 2>&1; setsid -f sleep {kept} >/dev/null 2>&1")

    finished, *others = await asyncio.gather(keep, *started)

    assert all(other.timed_out for other in others)
    assert sorted(finished.background) == sorted(running(kept))
    assert len(finished.background) == 2


async def test_a_storm_of_processes_ends(run: Run, zombies: Zombies) -> None:
    seconds = unique_seconds()

    storm = f"for i in $(seq 50); do setsid -f bash -c 'sleep {seconds} & sleep {seconds}'; done; sleep 20"
    await run(storm, timeout=0.6)

    assert running(seconds) == []
    assert zombies() == []


async def test_cancelling_ends_everything_within_a_second(run: Run, zombies: Zombies) -> None:
    seconds = unique_seconds()
    command = f"setsid -f sleep {seconds}; trap '' TERM; sleep {seconds}; sleep {seconds}"
    task = asyncio.create_task(run(command))
    assert await eventually(lambda: len(running(f"sleep\0{seconds}")) == 2)
    started = time.monotonic()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert time.monotonic() - started < 1.0
    assert running(seconds) == []
    assert zombies() == []


async def test_cancelling_twice_still_waits_for_the_end(run: Run) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(run(f"trap '' TERM; sleep {seconds}; sleep {seconds}"))
    assert await eventually(lambda: running(f"sleep\0{seconds}") != [])

    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert running(seconds) == []


# The background


async def test_a_background_child_does_not_hold_the_command(run: Run) -> None:
    finished = await run("(sleep 5 &); echo done", timeout=3)

    assert (finished.output, finished.timed_out) == ("done\n", False)
    assert finished.duration < 1


async def test_background_children_are_reported(run: Run) -> None:
    seconds = unique_seconds()

    finished = await run(f"nohup sleep {seconds} >/dev/null 2>&1 & echo $!")

    assert finished.background == (int(finished.output),)
    assert running(seconds) == list(finished.background)


async def test_last_words_after_the_shell_are_heard(run: Run) -> None:
    finished = await run("echo a > >(sleep 0.1; cat; echo late)")

    assert (finished.output, finished.background) == ("a\nlate\n", ())


async def test_who_is_about_to_exit_is_no_background(run: Run) -> None:
    finished = await run("echo a > >(cat; exec >&- 2>&-; sleep 0.02)")

    assert (finished.output, finished.background) == ("a\n", ())


async def test_a_background_child_may_go_on_printing(run: Run, commands: Commands) -> None:
    finished = await run("echo first; (for i in 1 2 3 4 5 6; do sleep 0.1; echo $i || exit; done) &")

    assert finished.file is not None
    assert await eventually(lambda: commands.jobs == [])
    assert finished.file.read_text() == "first\n1\n2\n3\n4\n5\n6\n"


async def test_a_job_can_be_ended(run: Run, commands: Commands) -> None:
    seconds = unique_seconds()
    await run(f"setsid -f sleep {seconds}")
    [job] = commands.jobs

    assert await commands.end(job.id)

    assert running(seconds) == []
    assert commands.jobs == []
    assert not await commands.end(job.id)


async def test_an_orphan_that_ended_is_collected(run: Run, commands: Commands, zombies: Zombies) -> None:
    await run("env -i setsid -f sleep 0.4 >/dev/null 2>&1")

    assert await eventually(lambda: commands.jobs == [])
    assert zombies() == []


async def test_other_children_of_the_bot_are_left_alone(run: Run) -> None:
    other = await asyncio.create_subprocess_exec("sleep", "20")

    await run("setsid -f sleep 20; sleep 20", timeout=0.2)

    assert other.returncode is None
    other.kill()
    await other.wait()


# Floods


async def test_a_flood_is_bounded_in_memory_on_disk_and_in_the_loop(run: Run) -> None:
    lags = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            lags.append(time.monotonic() - before - 0.005)

    watching = asyncio.create_task(watch())
    finished = await run("yes & yes & yes & yes & wait", timeout=0.7)
    watching.cancel()

    assert finished.total > 30 * 2**20
    assert len(finished.output) < 70_000
    assert finished.file is not None
    assert finished.file.stat().st_size == 20 * 2**20
    assert stat.S_IMODE(finished.file.stat().st_mode) == 0o600
    assert max(lags) < 0.3


async def test_long_output_keeps_its_ends_and_its_whole_in_a_file(run: Run) -> None:
    finished = await run("seq 100000")

    assert finished.output.startswith("1\n2\n")
    assert finished.output.endswith("99999\n100000\n")
    assert f"of {finished.total} bytes left out" in finished.output
    assert finished.cut
    assert finished.file is not None
    assert finished.file.read_text() == "".join(f"{n}\n" for n in range(1, 100001))


async def test_output_that_fits_needs_no_file(run: Run) -> None:
    finished = await run("head -c 65536 /dev/zero | tr '\\0' x")

    assert (finished.output, finished.file, finished.cut) == ("x" * 65536, None, False)


async def test_binary_output_becomes_a_file(run: Run) -> None:
    finished = await run("printf 'a\\0b'; echo warned >&2")

    assert finished.output == f"[binary output, 3 bytes, saved to {finished.file}]\n[stderr]\nwarned\n"
    assert finished.file is not None
    assert b"a\0b" in finished.file.read_bytes()


async def test_a_hundred_million_zeros_are_quick(run: Run) -> None:
    finished = await run("head -c 100000000 /dev/zero")

    assert finished.total == 100_000_000
    assert finished.output.startswith("[binary output, 100000000 bytes")


async def test_the_last_line_is_told_about_twice_a_second(run: Run) -> None:
    lines: list[str] = []

    finished = await run("for i in $(seq 60); do echo line $i; sleep 0.02; done", on_line=lines.append)

    assert len(lines) <= finished.duration / PROGRESS + 2
    assert len(lines) >= 2
    assert all(line.startswith("line ") for line in lines)


# The delegated cgroup


@pytest.fixture
def cgroup() -> Iterator[Path]:
    mount = Path("/sys/fs/cgroup/unified")
    folder = (mount if mount.is_dir() else mount.parent) / f"kai-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("no writable cgroup v2 here")
    yield folder
    folder.rmdir()  # fails while a command's own is in it


@pytest.fixture
async def delegated(cgroup: Path) -> AsyncIterator[Commands]:
    commands = Commands(scrub(os.environ), cgroup=cgroup)
    yield commands
    await commands.close()


UNMARKED = "env -i bash -c 'ulimit -R 5; setsid -f sleep {n} >/dev/null 2>&1'"


async def test_a_cgroup_reaches_who_took_off_every_mark(run: Run, delegated: Commands) -> None:
    seconds = unique_seconds()

    finished = await run(UNMARKED.format(n=seconds) + "; sleep 20", timeout=0.3, by=delegated)

    assert finished.timed_out
    assert running(seconds) == []


async def test_a_cgroup_knows_the_background(run: Run, delegated: Commands) -> None:
    seconds = unique_seconds()

    finished = await run(UNMARKED.format(n=seconds), by=delegated)

    assert list(finished.background) == running(seconds)
    assert len(finished.background) == 1
