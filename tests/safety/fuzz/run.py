"""Holds the classifier against what bash really does.

Each input is run by bash with an empty PATH and a `command_not_found_handle` that logs every name bash tried
to start. A name that was tried, that the classifier did not list, in a command that it did not call high, is
a hole: somebody could hide a program in it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bot.messages import Risk
from bot.safety import classify
from tests.safety.fuzz.generate import Generator

BATCH = 250

# A text may loop for ever: it ends after a second of its own time, or when it has tried enough names.
DRIVER = r"""
command_not_found_handle() {
  local seen
  printf '%s\0' "$1" >&9
  mapfile -d '' -t seen <"$LOG"
  ((${#seen[@]} < 40)) || builtin kill -9 $$
  return 127
}
export -f command_not_found_handle
export FUNCNEST=6 LOG
for file in "$1"/*.sh; do
  LOG=$file.log
  exec 9>"$LOG"
  IFS= read -r -d '' text <"$file"
  (
    cd "$2" && ulimit -t 1 -f 2000 -c 0
    PATH=/nonexistent exec /bin/bash --noprofile --norc -c "$text"
  ) </dev/null >/dev/null 2>&1
  exec 9>&-
done
"""


@dataclass(slots=True)
class Tally:
    """Counts of one run: inputs, those in which bash started something, those of them that were not high."""

    inputs: int = 0
    started: int = 0
    passed: int = 0
    holes: list[tuple[str, str]] = field(default_factory=list)


def run_in_bash(texts: list[str]) -> list[set[str]]:
    """Return the names of the programs bash tried to start, for each text."""
    with tempfile.TemporaryDirectory() as place:
        inputs, work = Path(place, "in"), Path(place, "work")
        inputs.mkdir()
        work.mkdir()
        for index, text in enumerate(texts):
            (inputs / f"{index:05}.sh").write_bytes(text.encode() + b"\0")
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", DRIVER, "driver", str(inputs), str(work)],
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        tried: list[set[str]] = []
        for index in range(len(texts)):
            log = inputs / f"{index:05}.sh.log"
            raw = log.read_bytes() if log.exists() else b""
            tried.append({name.decode("utf-8", "replace") for name in raw.split(b"\0") if name})
        return tried


def hold_against_bash(texts: Iterable[str]) -> Tally:
    tally = Tally()
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == BATCH:
            compare(batch, tally)
            batch = []
    compare(batch, tally)
    return tally


def compare(batch: list[str], tally: Tally) -> None:
    for text, tried in zip(batch, run_in_bash(batch), strict=True):
        tally.inputs += 1
        verdict = classify(text)
        if not tried:
            continue
        tally.started += 1
        if verdict.risk is Risk.HIGH:
            continue
        tally.passed += 1
        seen = {invocation.program for invocation in verdict.invocations}
        for name in tried - seen:
            tally.holes.append((text, name))


def random_texts(count: int, seed: int) -> Iterable[str]:
    generator = Generator(seed)
    for _ in range(count):
        yield generator.text()


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 3000
    seed = int(arguments[1]) if len(arguments) > 1 else int.from_bytes(os.urandom(4), "big")
    tally = hold_against_bash(random_texts(count, seed))
    for text, name in tally.holes[:40]:
        sys.stdout.write(f"hole: bash started {name!r} in {text!r}\n")
    sys.stdout.write(
        f"seed {seed}: {tally.inputs} inputs, {tally.started} started something, "
        f"{tally.passed} of them not high, {len(tally.holes)} holes\n"
    )
    return int(bool(tally.holes))
