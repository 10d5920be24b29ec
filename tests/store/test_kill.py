"""A process killed at any moment has kept whatever it acknowledged (invariants 3, 4, 7; L10)."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.store.check import check

ROOT = Path(__file__).parents[2]
KILLS = 12

Thing = tuple[str, int]
"""What was acknowledged, and its number."""


def run_and_kill(path: Path, turn: int, approval: int, seconds: float) -> list[Thing]:
    """Let a child write for so long after its first word; return what it acknowledged."""
    command = [sys.executable, "-m", "tests.store.busy_child", str(path), str(turn), str(approval)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert child.stdout is not None
    with child, child.stdout:
        said = child.stdout.readline()
        time.sleep(seconds)
        child.kill()
        said += child.stdout.read()
    assert child.returncode == -signal.SIGKILL
    lines = [line.split() for line in said.decode().splitlines()]
    return [(what, int(number)) for what, number in lines]


def test_what_was_acknowledged_before_a_kill_is_there_and_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "kai.db"
    acknowledged: Counter[Thing] = Counter()

    for _ in range(KILLS):
        # A turn whose number was never said has no messages yet; approvals overlap on purpose.
        turn = last(acknowledged, "received") + 1
        approval = max(1, last(acknowledged, "claimed") - 5)
        acknowledged.update(run_and_kill(path, turn, approval, random.uniform(0.0, 0.25)))

    assert len({thing for thing in acknowledged if thing[0] == "claimed"}) >= KILLS
    assert set(acknowledged) - what_is_kept(path) == set()
    once = {"decided", "claimed", "sent"}
    assert {thing for thing, times in acknowledged.items() if thing[0] in once and times > 1} == set()
    assert [violation for violation in check(path) if "was not finished" not in violation] == []


def last(acknowledged: Counter[Thing], what: str) -> int:
    return max((number for kind, number in acknowledged if kind == what), default=0)


def what_is_kept(path: Path) -> set[Thing]:
    with closing(sqlite3.connect(path)) as db:
        return {
            *db.execute("SELECT 'received', update_id FROM updates"),
            *db.execute("SELECT 'appended', chat_id - 1000 FROM messages WHERE closes = 1"),
            *db.execute("SELECT 'decided', 0 + substr(id, 2) FROM approvals WHERE status <> 'pending'"),
            *db.execute("SELECT 'claimed', 0 + substr(call_id, 2) FROM claims"),
            *db.execute("SELECT 'sent', id FROM outbox WHERE done_at IS NOT NULL"),
        }
