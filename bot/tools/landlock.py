"""Landlock around one command; run as a program of its own, in front of the command it confines.

    python -I -S landlock.py --hide PATH… --read PATH… --write PATH… -- COMMAND…

Everything may be read but what is hidden (its name still shows), nothing written but what is named. A rule
of Landlock holds for all below a path and can't be taken back further down, so whatever holds something
hidden is opened entry by entry: where a folder to write has something hidden in it, nothing new can be made
beside that.
Who runs this imports nothing of ours: what it takes to start is part of every command.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterator, Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The same on every architecture: https://docs.kernel.org/userspace-api/landlock.html"""
READ = 0b1101
"""execute, read_file, read_dir"""
READ_DIR = 0b1000
ALL = (1 << 15) - 1
"""Those, and write, remove, make, refer, truncate."""
FILE = 0b100_0000_0000_0111
"""Of all these, what a rule about a file may hold."""
SIGNALS = 0b10
"""To processes outside; from ABI 6 on."""
LEAST_ABI = 3
"""Before it truncate(2) reached every file."""

SET_NO_NEW_PRIVS, SET_SECUREBITS, CAP_AMBIENT = 38, 28, 47
NO_ROOT_LOCKED, AMBIENT_CLEAR_ALL = 0b11, 4
"""https://man7.org/linux/man-pages/man7/capabilities.7.html"""

_libc = ctypes.CDLL(None, use_errno=True)


def main(words: Sequence[str]) -> None:
    """Confine this process and become the command; exits with 1 and one line when it can't."""
    paths: dict[str, list[str]] = {"--hide": [], "--read": [], "--write": []}
    at = words.index("--")
    for option, path in zip(words[:at:2], words[1:at:2], strict=True):
        paths[option].append(path)
    try:
        confine(paths["--hide"], paths["--read"], paths["--write"])
    except OSError as error:
        sys.exit(f"landlock: {error.strerror or error}")
    os.execvp(words[at + 1], list(words[at + 1 :]))  # noqa: S606  it is what was asked for


def confine(hidden: Sequence[str], read: Sequence[str], write: Sequence[str]) -> None:
    """Give up, for good and for all children, what is not named; root's powers too.

    Args:
        read: Shown although something hidden lies above.
    """
    abi = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if abi < LEAST_ABI:
        raise OSError(f"this kernel has ABI {max(abi, 0)}, and {LEAST_ABI} is the least that keeps files")
    attributes = struct.pack("QQQ", ALL, 0, SIGNALS) if abi >= 6 else struct.pack("Q", ALL)
    rules = _done(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    allow(rules, "/", READ_DIR)
    for place in ("/", *read):
        for path in openings(place, hidden):
            allow(rules, path, READ)
    for place in write:
        for path in openings(place, hidden):
            allow(rules, path, ALL)
    _done(_libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _libc.prctl(CAP_AMBIENT, AMBIENT_CLEAR_ALL, 0, 0, 0)
    if os.geteuid() == 0:
        # From the next exec on root is a user like others, who owns much: no reboot, no ptrace of the bot.
        _done(_libc.prctl(SET_SECUREBITS, NO_ROOT_LOCKED, 0, 0, 0))
    _done(_libc.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


def allow(rules: int, path: str, rights: int) -> None:
    """Add a rule; what is gone or out of reach by now needs none."""
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            rights &= FILE
        _done(_libc.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights, file), 0))
    finally:
        os.close(file)


def openings(place: str, hidden: Sequence[str]) -> Iterator[str]:
    """Yield the paths that together hold everything below a place but what is hidden."""
    if place in hidden:
        return
    if not any(path.startswith(place.rstrip("/") + "/") for path in hidden):
        yield place
        return
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():  # what it points to has a place of its own
            yield from openings(entry.path, hidden)


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
