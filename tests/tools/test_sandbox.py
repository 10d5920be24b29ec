"""Issue 4.7: a confined command reaches what it may, runs as it was read, and ends when it is over."""

import asyncio
import os
import pwd
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.config import SandboxLevel
from bot.errors import ToolError
from bot.messages import ToolCall
from bot.tools import ToolContext, Tools, landlock
from bot.tools.environment import scrub
from bot.tools.process import Commands, Finished
from bot.tools.sandbox import LEVELS, Places, Sandbox, credential_places, open_sandbox, probe
from bot.tools.terminal import run_in_terminal
from tests.tools.processes import Zombies, eventually, running, unique_seconds
from tests.tools.test_process import KILLS

Run = Callable[..., Awaitable[Finished]]
EVERY: list[tuple[SandboxLevel, str]] = [(level, means) for level, of_it in LEVELS.items() for means in of_it]
READ_ONLY = [("ro", "bubblewrap"), ("ro", "Landlock"), ("strict", "bubblewrap")]
NOBODY = "nobody"
PROBED: dict[tuple[SandboxLevel, str], str] = {}


@pytest.fixture
def house() -> Iterator[Path]:
    """A folder outside /tmp, which other users can walk through: /tmp is another one under bubblewrap."""
    folder = Path(tempfile.mkdtemp(prefix="kai-sandbox-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def places(house: Path) -> Places:
    work, state, home = house / "work", house / "state", house / "home"
    for folder in (work, state, state / "outputs", home, home / ".ssh", house / "credentials"):
        folder.mkdir(mode=0o755 if folder in (work, home) else 0o700)
    for secret in (state / "kai.db", home / ".ssh/id_rsa", house / ".env", house / "credentials/token"):
        secret.touch(mode=0o600)
        secret.write_text("secret\n")
    work.chmod(0o777)
    secrets = credential_places(
        {"HOME": str(home), "CREDENTIALS_DIRECTORY": str(house / "credentials")}, house / ".env"
    )
    return Places(work, state, state / "outputs", secrets, NOBODY)


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, places: Places) -> Sandbox:
    level, means = request.param
    sandbox = Sandbox(level, places, means)
    if (level, means) not in PROBED:
        PROBED[level, means] = probe(sandbox)
    if problem := PROBED[level, means]:
        pytest.skip(f"this machine can't confine with {means}: {problem}")
    return sandbox


@pytest.fixture
async def run(sandbox: Sandbox) -> AsyncIterator[Run]:
    commands = Commands(scrub(os.environ), sandbox=sandbox)

    async def run(
        command: str, *, timeout: float = 20.0, cwd: Path | None = None, confined: bool = True
    ) -> Finished:
        file = sandbox.places.outputs / f"out-{unique_seconds()}"
        cwd = cwd or sandbox.places.work_dir
        return await commands.run(command, cwd=cwd, timeout=timeout, file=file, confined=confined)

    yield run
    await commands.close()


at_every_level = pytest.mark.parametrize("sandbox", EVERY, indirect=True, ids="-".join)
read_only = pytest.mark.parametrize("sandbox", READ_ONLY, indirect=True, ids="-".join)


# What it may reach


@at_every_level
async def test_the_work_folder_is_written(run: Run, places: Places) -> None:
    finished = await run("mkdir sub; echo hi >sub/made; mv sub/made .; cat made")

    assert (finished.output, finished.status) == ("hi\n", 0)
    assert (places.work_dir / "made").read_text() == "hi\n"


@at_every_level
async def test_the_system_is_not_written(run: Run, house: Path) -> None:
    mark = f"kai-{unique_seconds()}"

    finished = await run(
        f"touch /etc/{mark}; touch /usr/{mark}; touch {house}/{mark}; rm -r {house}/home; true"
    )

    assert not any(Path(folder, mark).exists() for folder in ("/etc", "/usr", house))
    assert (house / "home").is_dir()
    assert finished.status == 0


@at_every_level
async def test_the_bots_state_and_the_credentials_are_not_seen(run: Run, house: Path, places: Places) -> None:
    secrets = "state/kai.db home/.ssh/id_rsa .env credentials/token"

    finished = await run(f"cd {house}; for f in {secrets}; do cat $f; echo changed >$f; rm -f $f; done; true")

    assert "secret" not in finished.output
    assert [(house / secret).read_text() for secret in secrets.split()] == ["secret\n"] * 4


@at_every_level
async def test_the_bots_own_environment_is_not_read(run: Run) -> None:
    finished = await run(f"cat /proc/{os.getpid()}/environ; ls /proc/{os.getpid()}/root/etc/hostname")

    assert finished.total == len(finished.output.partition("[stderr]\n")[2])
    assert finished.status != 0


@pytest.mark.parametrize(
    "sandbox", [("ro", "bubblewrap"), ("strict", "bubblewrap")], indirect=True, ids="-".join
)
async def test_tmp_is_its_own_and_empty(run: Run, tmp_path: Path) -> None:
    finished = await run("ls -A /tmp; echo x >/tmp/made && cat /tmp/made")

    assert finished.output == "x\n"
    assert not Path("/tmp/made").exists()


@read_only
async def test_whole_outputs_may_be_read_and_not_written(run: Run, places: Places) -> None:
    whole = places.outputs / "c1.txt"
    whole.write_text("all of it\n")

    finished = await run(f"cat {whole}; echo x >{whole}; true")

    assert finished.output.startswith("all of it\n")
    assert whole.read_text() == "all of it\n"


@at_every_level
async def test_writing_where_the_bots_state_is_fails_and_does_not_vanish(run: Run, places: Places) -> None:
    finished = await run(f"touch {places.state_dir}/mine")

    assert finished.status == 1


@read_only
async def test_no_device_is_seen_but_the_harmless(run: Run) -> None:
    disk = Path("/dev", f"kai-{unique_seconds()}")
    try:
        disk.write_text("secret")  # like one of root's disks: readable by whoever is root
    except PermissionError:
        pytest.skip("only root puts something into /dev")

    finished = await run(f"cat {disk}; head -c 3 /dev/zero | wc -c")
    disk.unlink()

    assert finished.output.startswith("3\n")


@at_every_level
async def test_nobody_becomes_more_than_he_is(run: Run) -> None:
    finished = await run("grep -E 'CapEff|NoNewPrivs' /proc/self/status")

    assert finished.output.split() == ["CapEff:", "0" * 16, "NoNewPrivs:", "1"]


@at_every_level
async def test_only_strict_is_cut_off(run: Run, sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        finished = await run(f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}")

    assert (finished.status == 0) is (sandbox.level != "strict")


@pytest.mark.parametrize("sandbox", [("user", "setpriv")], indirect=True, ids="-".join)
async def test_another_user_is_at_home_at_his_own(run: Run) -> None:
    finished = await run("id -un; id -gn; id -Gn; echo $HOME $USER")

    user = pwd.getpwnam(NOBODY)
    assert finished.output.split() == [NOBODY, "nogroup", "nogroup", user.pw_dir, NOBODY]


# Run as it was read


@at_every_level
async def test_the_command_is_the_shells_last_argument_unchanged(run: Run) -> None:
    command = "  tr '\\0' '\\n' </proc/$$/cmdline | tail -n +4 # 'é' \"$(true)\" \\\n"

    finished = await run(command)

    assert finished.output == "-c\n" + command + "\n"


@at_every_level
async def test_input_output_and_status_are_as_ever(run: Run) -> None:
    finished = await run("cat; readlink /proc/$$/fd/0; ls /proc/$$/fd; echo oops >&2; exit 3")

    assert finished.output == "/dev/null\n0\n1\n2\n[stderr]\noops\n"
    assert finished.status == 3


@at_every_level
async def test_the_folder_is_carried_over(run: Run, places: Places) -> None:
    (places.work_dir / "sub").mkdir()

    finished = await run("cd sub; exit 4")

    assert (finished.cwd, finished.status) == (places.work_dir / "sub", 4)


@at_every_level
async def test_it_starts_where_it_was_left(run: Run) -> None:
    finished = await run("pwd -P; cd /usr", cwd=Path("/etc"))

    assert (finished.output, finished.cwd) == ("/etc\n", Path("/usr"))


@read_only
async def test_it_starts_in_a_folder_below_tmp_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("left\n")

    finished = await run("cat here", cwd=tmp_path)

    assert finished.output == "left\n"


@at_every_level
async def test_a_note_leaves_nothing_behind(run: Run, places: Places) -> None:
    await run("true")

    assert list(places.outputs.iterdir()) == []
    notes = set(Path(tempfile.gettempdir()).glob(".cwd-*"))
    async with asyncio.timeout(10):
        while any(note.exists() for note in notes):  # noqa: ASYNC110 - those of other tests go soon
            await asyncio.sleep(0.05)


@at_every_level
async def test_what_was_approved_runs_as_the_bot(run: Run, house: Path) -> None:
    finished = await run(f"cat {house}/state/kai.db; id -u", confined=False)

    assert finished.output == f"secret\n{os.geteuid()}\n"


# Over when it is over


@at_every_level
@pytest.mark.parametrize("case", KILLS)
async def test_a_timeout_reaches_every_descendant(run: Run, case: str, zombies: Zombies) -> None:
    seconds = unique_seconds()

    finished = await run(KILLS[case].format(n=seconds), timeout=0.4)

    assert finished.timed_out
    assert running(seconds) == []
    assert zombies() == []
    assert finished.background == ()


@at_every_level
async def test_cancelling_ends_everything(run: Run) -> None:
    seconds = unique_seconds()
    task = asyncio.ensure_future(
        run(f"setsid -f sleep {seconds}; trap '' TERM; sleep {seconds}; sleep {seconds}")
    )
    assert await eventually(lambda: len(running(f"sleep\0{seconds}")) == 2)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert running(seconds) == []


@at_every_level
async def test_background_children_outlive_the_shell_and_are_known(run: Run) -> None:
    seconds = unique_seconds()

    finished = await run(f"env -i setsid -f sleep {seconds} >/dev/null 2>&1")

    assert not finished.timed_out
    assert set(running(f"sleep\0{seconds}")) <= set(finished.background)
    assert len(running(f"sleep\0{seconds}")) == 1


@at_every_level
async def test_a_delegated_cgroup_holds_all_that_is_confined(sandbox: Sandbox) -> None:
    mount = Path("/sys/fs/cgroup/unified")
    cgroup = (mount if mount.is_dir() else mount.parent) / f"kai-sandbox-{os.getpid()}"
    try:
        cgroup.mkdir()
    except OSError:
        pytest.skip("no writable cgroup v2 here")
    commands = Commands(scrub(os.environ), cgroup=cgroup, sandbox=sandbox)
    places, seconds = sandbox.places, unique_seconds()
    command = f"setsid -f sleep {seconds}; sleep {seconds}"

    running_it = asyncio.ensure_future(
        commands.run(command, cwd=places.work_dir, timeout=1, file=places.outputs / "o")
    )
    assert await eventually(lambda: len(running(f"sleep\0{seconds}")) == 2)
    inside = {int(pid) for one in cgroup.glob("*/cgroup.procs") for pid in one.read_text().split()}
    seen = running(seconds)
    await running_it
    cgroup.rmdir()

    assert set(seen) <= inside
    assert running(seconds) == []


# A level that can't be had


@pytest.mark.parametrize("level", ["user", "ro", "strict"])
async def test_nothing_runs_at_a_level_that_cannot_be_had(places: Places, level: SandboxLevel) -> None:
    commands = Commands(scrub(os.environ), sandbox=Sandbox(level, places, problem="no such thing"))
    work, outputs = places.work_dir, places.outputs

    with pytest.raises(ToolError) as caught:
        await commands.run("touch ran", cwd=work, timeout=5, file=outputs / "o")
    finished = await commands.run("echo approved", cwd=work, timeout=5, file=outputs / "o", confined=False)

    assert caught.value.code == "NotConfigured"
    assert list(work.iterdir()) == []
    assert finished.output == "approved\n"


def test_a_user_that_does_not_exist_is_a_problem(places: Places) -> None:
    sandbox = open_sandbox("user", replace(places, user="who-is-that"))

    assert sandbox.means == ""
    assert "there is no user 'who-is-that'" in str(sandbox)


def test_a_user_that_may_do_as_much_as_the_bot_is_a_problem(places: Places) -> None:
    sandbox = open_sandbox("user", replace(places, user=pwd.getpwuid(os.geteuid()).pw_name))

    assert sandbox.means == ""
    assert "can't be had, so every command asks" in str(sandbox)


def test_a_secret_that_the_other_user_can_read_is_a_problem(places: Places, house: Path) -> None:
    (house / ".env").chmod(0o644)

    sandbox = open_sandbox("user", places)

    assert sandbox.problem == f"setpriv: can read {house}/.env"


def test_a_work_folder_that_the_other_user_cannot_enter_is_a_problem(places: Places, house: Path) -> None:
    house.chmod(0o700)

    sandbox = open_sandbox("user", places)

    assert sandbox.problem == f"setpriv: cannot enter {places.work_dir}"


@at_every_level
def test_the_probe_leaves_nothing(sandbox: Sandbox, zombies: Zombies) -> None:
    assert probe(sandbox) == ""

    assert zombies() == []
    assert running(".kai-probe-") == []
    assert {path.name for path in sandbox.places.state_dir.iterdir()} == {"kai.db", "outputs"}


def test_off_is_no_problem_and_confines_nothing(places: Places) -> None:
    sandbox = open_sandbox("off", places)

    assert (str(sandbox), sandbox.problem) == ("off", "")
    assert sandbox.wrap(["true"], cwd=places.work_dir, note=None) == ["true"]


class Other(Sandbox):
    """Says one thing and does another."""

    def wrap(self, command: Sequence[str | bytes], *, cwd: Path, note: Path | None) -> list[str | bytes]:
        places = replace(self.places, secrets=())
        return Sandbox("ro", places, "bubblewrap").wrap(command, cwd=cwd, note=note)


@pytest.mark.parametrize("sandbox", [("ro", "bubblewrap")], indirect=True, ids="-".join)
def test_the_probe_sees_what_is_not_hidden(sandbox: Sandbox, house: Path) -> None:
    assert probe(Other("ro", sandbox.places, "bubblewrap")) == f"can read {house}/.env"


@pytest.mark.parametrize("sandbox", [("ro", "bubblewrap")], indirect=True, ids="-".join)
def test_the_probe_sees_a_network_that_should_not_be(sandbox: Sandbox) -> None:
    assert probe(Other("strict", replace(sandbox.places, secrets=()), "bubblewrap")) == "connected"


def test_the_probe_sees_that_nothing_confines(places: Places) -> None:
    class Nothing(Sandbox):
        def wrap(self, command: Sequence[str | bytes], *, cwd: Path, note: Path | None) -> list[str | bytes]:
            return list(command)

    assert probe(Nothing("ro", places, "bubblewrap")).startswith("a command could write")
    assert not list(Path("/etc").glob(".kai-probe-*"))


# Landlock


def test_what_holds_something_hidden_is_opened_entry_by_entry(tmp_path: Path) -> None:
    for name in ("a/b/hidden", "a/b/beside", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")

    opened = set(landlock.openings(str(tmp_path), [str(tmp_path / "a/b/hidden")]))

    assert opened == {str(tmp_path / name) for name in ("a/b/beside", "a/c", "d")}


@pytest.mark.parametrize("sandbox", [("ro", "Landlock")], indirect=True, ids="-".join)
async def test_under_landlock_no_signal_reaches_the_bot(run: Run) -> None:
    finished = await run(f"kill -0 {os.getpid()}")

    assert finished.status == 1


# What the model is told


@pytest.mark.parametrize("sandbox", [("ro", "bubblewrap")], indirect=True, ids="-".join)
async def test_a_confined_command_that_fails_says_that_it_was_confined(
    sandbox: Sandbox, make_context: Callable[..., ToolContext]
) -> None:
    tools = Tools([run_in_terminal(Commands(scrub(os.environ), sandbox=sandbox))])
    call = ToolCall(
        "run_in_terminal", {"command": "touch /etc/kai-test && rm /etc/kai-test", "risk": "low"}, "c1"
    )
    context = make_context(cwd=sandbox.places.work_dir)

    confined = await tools.run(call, context)
    approved = await tools.run(call, replace(context, approved=True))

    assert "Read-only file system" in confined.text
    assert "ran confined (ro)" in confined.text
    assert "confined" not in approved.text
