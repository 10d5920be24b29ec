"""How far a command reaches that nobody was asked about: levels, and what goes before the shell for each.

    user     another user of this machine, without sudo                      (setpriv; the bot must be root)
    ro       this machine to look at, the work folder and /tmp to write        (bubblewrap, else Landlock)
    strict   the same, alone: no network, no other process, no socket of a service            (bubblewrap)

At every level the bot's own state and the credential files are out of reach. What a person approved runs as
the bot itself. A level that can't be had is a problem to be shown, never a command run without it.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

from bot.config import SandboxLevel
from bot.errors import ConfigError, ToolError
from bot.tools.family import Family

LANDLOCK = str(Path(__file__).with_name("landlock.py"))
"""Not imported: it brings ctypes along."""
PROBE_TIMEOUT = 10.0
MOST_FILES = 200
"""Hidden files the probe tries to read."""
DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom tty ptmx pts shm".split())
"""What `bwrap --dev` makes; disks would show the files that are hidden."""
CREDENTIALS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".config/rclone"),
    *(".docker/config.json", ".netrc", ".git-credentials", ".config/git/credentials", ".pgpass", ".my.cnf"),
    *(".password-store", ".npmrc", ".pypirc"),
)
"""In the home of the bot's user."""

EMPTY_TMP = ("--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108
LOOK = {"/": ("--ro-bind", "/", "/"), "/dev": ("--dev", "/dev"), "/tmp": EMPTY_TMP}  # noqa: S108
ALONE = {**LOOK, "/proc": ("--proc", "/proc"), "/run": ("--tmpfs", "/run")}
"""Without /run no socket of a service is found."""

Word = str | bytes


@dataclass(frozen=True, slots=True)
class Places:
    """What is where for a confined command. All absolute.

    Attributes:
        outputs: Whole outputs; they may be read although they lie in the hidden state folder, for the model
            is told to look there.
        secrets: Files and folders to hide beside the state folder; need not exist.
        user: Whom level `user` runs commands as.
    """

    work_dir: Path
    state_dir: Path
    outputs: Path
    secrets: tuple[Path, ...] = ()
    user: str = ""

    def hidden(self) -> list[Path]:
        """Return what exists now and must not be seen, links followed."""
        places = (self.state_dir, *self.secrets, Path("/etc/shadow"), Path("/etc/gshadow"))
        # `--env-file /dev/null` hides no device.
        exist = (path for path in places if os.path.isdir(path) or os.path.isfile(path))
        return list(dict.fromkeys(path.resolve() for path in exist))


Means = Callable[[Places, Path, Path | None], list[str]]
"""Gives the words before a command, given the places, its folder and the note it tells its last folder by."""


def bubblewrap(mounted: Mapping[str, Sequence[str]], *options: str) -> Means:
    """Return a means that shows these mounts, the work folder, and emptiness where secrets are."""

    def words(places: Places, cwd: Path, note: Path | None) -> list[str]:
        mounts: dict[Path, Sequence[str]] = {Path(path): mount for path, mount in mounted.items()}
        work_dir, outputs = places.work_dir.resolve(), places.outputs.resolve()
        mounts[work_dir] = ("--bind", str(work_dir), str(work_dir))
        empty = []
        for path in places.hidden():
            if path.is_dir():
                mounts[path] = ("--tmpfs", str(path))
                empty += ["--remount-ro", str(path)]  # writing there must fail, not vanish
            else:
                mounts[path] = ("--ro-bind", "/dev/null", str(path))
        mounts[outputs] = ("--ro-bind-try", str(outputs), str(outputs))
        here = cwd.resolve()
        above = next(path for path in (here, *here.parents) if path in mounts)
        if mounts[above] == EMPTY_TMP and above != here:
            # What a person approved left the conversation there.
            mounts[here] = ("--ro-bind", str(here), str(here))
        if note:
            mounts[note] = ("--bind", str(note), str(note))
        outermost_first = sorted(mounts, key=lambda path: len(path.parts))
        binds = [word for path in outermost_first for word in mounts[path]]
        return [
            program("bwrap"), "--cap-drop", "ALL", *options, *binds, *empty, "--chdir", str(here), "--",
        ]  # fmt: skip

    return words


def other_user(places: Places, cwd: Path, note: Path | None) -> list[str]:
    user = account(places.user)
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
    home = [f"HOME={user.pw_dir}", f"USER={user.pw_name}", f"LOGNAME={user.pw_name}"]
    return [program("setpriv"), *ids, "--no-new-privs", "--", program("env"), *home]


def landlocked(places: Places, cwd: Path, note: Path | None) -> list[str]:
    write = [places.work_dir.resolve(), Path("/tmp"), *DEVICES, *([note] if note else [])]  # noqa: S108
    words = [sys.executable, "-I", "-S", LANDLOCK]
    for option, paths in (
        ("--hide", (*places.hidden(), "/dev")),
        ("--read", (places.outputs.resolve(), *DEVICES)),
        ("--write", write),
    ):
        for path in paths:
            words += [option, str(path)]
    return [*words, "--"]


LEVELS: Mapping[SandboxLevel, Mapping[str, Means]] = {
    "off": {},
    "user": {"setpriv": other_user},
    "ro": {"bubblewrap": bubblewrap(LOOK), "Landlock": landlocked},
    "strict": {"bubblewrap": bubblewrap(ALONE, "--unshare-all")},
}
"""The means of each level, the better first."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A level as it can be had here.

    Attributes:
        means: What confines; empty when the level is off or can't be had.
        problem: Why it can't be had, for a person; empty when it can.
    """

    level: SandboxLevel
    places: Places
    means: str = ""
    problem: str = ""

    def wrap(self, command: Sequence[Word], *, cwd: Path, note: Path | None) -> list[Word]:
        """Return the words that run a command confined. What confines it waits for a line on standard input.

        Args:
            cwd: The folder it starts in.
            note: A file it may write wherever it lies.

        Raises:
            ToolError: `NotConfigured`: the level can't be had; nothing may run at it.
        """
        if self.level == "off":
            return list(command)
        if not self.means:
            raise ToolError("NotConfigured", f"not run: SANDBOX={self.level} can't be had: {self.problem}")
        words = LEVELS[self.level][self.means](self.places, cwd, note)
        # Nothing forks before it can be found again: see `Family.adopt`.
        return ["/bin/sh", "-c", 'read -r _; exec "$@"', "sh", *words, *command]

    @property
    def note_owner(self) -> tuple[int, int] | None:
        """User and group that must be able to write the note; None when they are the bot's."""
        if self.means != "setpriv":
            return None
        user = account(self.places.user)
        return user.pw_uid, user.pw_gid

    def __str__(self) -> str:
        """What `/status` says."""
        if self.level == "off":
            return "off"
        if self.problem:
            return f"{self.level} can't be had, so every command asks: {self.problem}"
        return f"what runs unasked is confined: {self.level} ({self.means})"


def open_sandbox(level: SandboxLevel, places: Places) -> Sandbox:
    """Find the first means of a level that holds here, by trying it. Takes some 10 ms; nothing at `off`."""
    problems = []
    for means in LEVELS[level]:
        try:
            found = Sandbox(level, places, means)
            if not (problem := probe(found)):
                return found
        except (OSError, ConfigError, subprocess.SubprocessError) as error:
            problem = str(error)
        problems.append(f"{means}: {problem}")
    return Sandbox(level, places, problem="; ".join(problems))


PROBE = """\
cd "$1" && : >/dev/null || echo "cannot enter $1"
{ : >"$2"; } 2>/dev/null
{ : >"$3"; } 2>/dev/null
{ exec 3<>"$4"; } 2>/dev/null && echo "connected"
for file in "${@:5}"; do
  { IFS= read -rN1 _ <"$file"; } 2>/dev/null && echo "can read $file"
done
echo confined
"""
"""Says what it got at; ends with one word."""


def probe(sandbox: Sandbox) -> str:
    """Try what a confined command must not be able to do; return what went wrong, empty when it holds."""
    places, mark = sandbox.places, f".kai-probe-{secrets.token_hex(8)}"
    secret, outside = places.state_dir / mark, Path("/etc", mark)
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            os.close(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            secret.write_text("secret")
            port = f"/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
            arguments = (str(places.work_dir), str(secret), str(outside), port, *files_in(places.hidden()))
            shell = ("/bin/bash", "--noprofile", "--norc", "-c", PROBE, "probe", *arguments)
            said, errors, status = run_once(
                sandbox.wrap(shell, cwd=places.work_dir, note=None), places.work_dir
            )
            changed = secret.read_text() != "secret"
    finally:
        secret.unlink(missing_ok=True)
        escaped = outside.exists()
        if escaped:
            outside.unlink()
    if not said or said[-1] != "confined":
        return errors[-1] if errors else f"it ended with {status}"
    if escaped or changed:
        return f"a command could write {outside.parent if escaped else places.state_dir}"
    # only `strict` promises to be cut off
    reached = [line for line in said[:-1] if line != "connected" or sandbox.level == "strict"]
    return reached[0] if reached else ""


def run_once(words: Sequence[Word], cwd: Path) -> tuple[list[str], list[str], int]:
    """Return the lines a command prints, those of its errors, and its status; nothing of it is left."""
    family = Family()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, start_new_session=True
    ) as shell:
        family.adopt(shell.pid)
        try:
            output, errors = shell.communicate(b"\n", PROBE_TIMEOUT)
        finally:
            # The first process of a PID namespace ends after who started it, and then is ours to collect.
            while members := family.members():
                for pid in members:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, SIGKILL)
                time.sleep(0.001)
            family.reap()
    return (
        output.decode(errors="replace").splitlines(),
        errors.decode(errors="replace").splitlines(),
        shell.returncode,
    )


def files_in(hidden: Sequence[Path]) -> list[str]:
    """Return hidden files that this process could read itself, those of a folder from its top only."""
    found: list[str] = []
    for path in hidden:
        with contextlib.suppress(OSError):
            found += [str(file) for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file()]
    return found[:MOST_FILES]


def credential_places(environ: Mapping[str, str], env_file: Path) -> tuple[Path, ...]:
    """Return where the secrets of the bot and of its user lie; they need not exist."""
    home = Path(environ.get("HOME") or Path.home())
    places = [env_file.absolute(), *(home / name for name in CREDENTIALS)]
    if folder := environ.get("CREDENTIALS_DIRECTORY"):
        places.append(Path(folder))
    return tuple(places)


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ConfigError(f"{name} is not installed")
    return found


def account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise ConfigError(f"SANDBOX_USER: there is no user {name!r}") from None
