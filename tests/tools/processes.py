"""What a person would look at: the process table, a file."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable

Zombies = Callable[[], list[int]]
"""Says what a test left uncollected, see the fixture."""


def unique_seconds() -> str:
    """Return a long time to sleep that no other process on this machine sleeps."""
    return f"3{10**6 + secrets.randbelow(9 * 10**6)}"  # `random` draws the same in every worker


def running(word: str) -> list[int]:
    """Return the pids whose command line has this word in it, zombies left out, ourselves too."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue
        if word.encode() in words:
            found.append(int(name))
    return found


def contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def uncollected() -> list[int]:
    """Return our own children that have ended and were not collected: zombies."""
    found = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as file:
            children = file.read().split()
        for pid in children:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    found.append(int(pid))
    return found


async def eventually(condition: Callable[[], bool], timeout: float = 5.0) -> bool:
    """Wait for something to become true; return whether it did."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
