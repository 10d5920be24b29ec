"""Holds the classifier against what bash really does.

Each input is run by bash with an empty PATH and a `command_not_found_handle` that logs what bash would start,
with its arguments. A program that was tried, that the classifier did not list, in a command
that it did not call high, is a hole: somebody could hide a program in it. So are arguments that it did not
foresee: somebody could hide a path or an option.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.messages import Risk
from bot.safety import classify, words
from bot.safety.rules import built_in_rules
from bot.safety.scan import Scan
from tests.safety.fuzz.generate import Generator
from tests.safety.fuzz.generate_values import ValueGenerator

BATCH = 250
SEPARATOR = "\x1e"
# What each mark of a word stands for; an unquoted one may be several words.
HOLES = {
    words.ANY: f"[^{SEPARATOR}]*",
    words.NUM: "-?[0-9]*",
    words.NAME: f"[^/ {SEPARATOR}]*",
    words.PATH: f"[^{SEPARATOR}]*",
    words.HOME: f"[^{SEPARATOR}]*",
    words.STAR: ".*",
    words.MARK: ".*",
    words.SET: ".*",
    words.SPLIT: ".*",
}

# A text may loop for ever: it ends after a second of its own time, or when it has tried enough names.
DRIVER = r"""
command_not_found_handle() {
  local seen IFS=$'\x1e'
  printf '%s\0' "$*" >&9
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
SOLE = frozenset([words.NUM, words.NAME, words.PATH])


@dataclass(slots=True)
class Tally:
    """Counts of one run: inputs, those in which bash started something, those of them that were not high.

    Attributes:
        holes: (text, program) for a program that was not seen.
        surprises: (text, program with arguments) for arguments that were not foreseen.
    """

    inputs: int = 0
    started: int = 0
    passed: int = 0
    holes: list[tuple[str, str]] = field(default_factory=list)
    surprises: list[tuple[str, str]] = field(default_factory=list)


def run_in_bash(texts: list[str]) -> list[set[tuple[str, ...]]]:
    """Return the programs bash tried to start, with their arguments, for each text."""
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
        tried: list[set[tuple[str, ...]]] = []
        for index in range(len(texts)):
            log = inputs / f"{index:05}.sh.log"
            raw = log.read_bytes() if log.exists() else b""
            lines = [line.decode("utf-8", "replace") for line in raw.split(b"\0") if line]
            tried.append({tuple(line.split(SEPARATOR)) for line in lines})
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
        foreseen = Foreseen(text)
        seen = {invocation.program for invocation in verdict.invocations}
        for argv in tried:
            if argv[0] not in seen:
                tally.holes.append((text, argv[0]))
            elif not foreseen.covers(argv):
                tally.surprises.append((text, " ".join(argv)))


class Recording(Scan):
    """A scan that keeps the words as it knows them, holes and all."""

    argvs: list[list[str]]

    def record(self, program: str, arguments: Sequence[str], source: str) -> None:
        self.argvs.append([program, *arguments])
        super().record(program, arguments, source)


class Foreseen:
    """The programs with arguments that the classifier thinks a command may start."""

    def __init__(self, text: str) -> None:
        scan = Recording(built_in_rules(), ["."])
        scan.argvs = []
        scan.read(text)
        self.patterns = [re.compile("".join(map(pattern, argv)), re.DOTALL) for argv in scan.argvs]

    def covers(self, argv: Sequence[str]) -> bool:
        line = "".join(SEPARATOR + word for word in argv)
        return any(known.fullmatch(line) for known in self.patterns)


def pattern(word: str) -> str:
    """Return an expression for what a word may become, the separator before each word included."""
    body = "".join(HOLES.get(char) or re.escape(char) for char in word)
    if word.startswith("/home/"):
        body = body.replace("/home/", "(?:/home/|~)", 1)  # bash knows who has a home
    if word[:1] in (words.NAME, words.PATH):
        body = "(?!-)" + body
    # Also what a program printed vanishes when that is nothing.
    may_vanish = any(char in word for char in words.SPLIT + words.GLOB) or word in SOLE
    return f"(?:{SEPARATOR}{body})?" if may_vanish else SEPARATOR + body


def random_texts(count: int, seed: int) -> Iterable[str]:
    generators = Generator(seed), ValueGenerator(seed)
    for index in range(count):
        yield generators[index % 2].text()


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 3000
    seed = int(arguments[1]) if len(arguments) > 1 else int.from_bytes(os.urandom(4), "big")
    tally = hold_against_bash(random_texts(count, seed))
    for text, name in tally.holes[:40]:
        sys.stdout.write(f"hole: bash started {name!r} in {text!r}\n")
    for text, line in tally.surprises[:40]:
        sys.stdout.write(f"surprise: bash started {line!r} in {text!r}\n")
    sys.stdout.write(
        f"seed {seed}: {tally.inputs} inputs, {tally.started} started something, {tally.passed} of them "
        f"not high, {len(tally.holes)} holes, {len(tally.surprises)} with unforeseen arguments\n"
    )
    return int(bool(tally.holes))
