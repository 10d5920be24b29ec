"""The class of commands for which a press is not enough; what belongs to it stands in `worst.toml`."""

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from bot.messages import Risk
from bot.safety.verdict import Invocation, Verdict

WRITES = frozenset(("paths.protected", "paths.credential"))
Pattern = tuple[tuple[str, ...], ...]
"""Words of a line, each a choice of globs; the first is the program's."""


@dataclass(frozen=True, slots=True)
class Worst:
    """One class of `worst.toml`."""

    reason: str
    commands: tuple[Pattern, ...]
    exceptions: tuple[Pattern, ...]
    paths: tuple[str, ...]

    def has(self, invocation: Invocation) -> bool:
        return any(matches(line, invocation) for line in self.commands) and not any(
            matches(line, invocation) for line in self.exceptions
        )

    def names(self) -> list[str]:
        """Return the programs that belong here whatever their arguments."""
        return [name for line in self.commands if len(line) == 1 for name in line[0]]


def second_step(command: str, verdict: Verdict) -> str:
    """Return why a command needs more than a press; empty when a press is enough.

    A command that could not be read for certain belongs here as soon as it names one of the programs.
    """
    if verdict.risk is not Risk.HIGH:
        return ""
    for worst in classes():
        if any(worst.has(invocation) for invocation in verdict.invocations):
            return worst.reason
        for finding in verdict.findings:
            changes = finding.rule in WRITES and not finding.sentence.startswith(("reads", "could read"))
            if changes and any(fnmatchcase(finding.fragment, glob) for glob in worst.paths):
                return worst.reason
        if not verdict.literal and any(named(name, command) for name in worst.names()):
            return worst.reason
    return ""


def matches(line: Pattern, invocation: Invocation) -> bool:
    program, *words = line
    if not any(fnmatchcase(os.path.basename(invocation.program), glob) for glob in program):
        return False
    arguments = iter(invocation.arguments)
    return all(any(any(fnmatchcase(a, glob) for glob in word) for a in arguments) for word in words)


def named(name: str, command: str) -> bool:
    word = re.escape(name).replace(r"\*", r"[\w.-]*")
    return re.search(rf"(?<![\w./-])(?:/\w+)*/?{word}(?![\w./-])", command) is not None


@cache
def classes() -> Sequence[Worst]:
    """Read `worst.toml`; once a process."""
    tables = tomllib.loads(Path(__file__).with_name("worst.toml").read_text(encoding="utf-8"))
    return [
        Worst(
            reason=table["reason"],
            commands=lines(table["commands"]),
            exceptions=lines(table.get("except", "")),
            paths=tuple(table.get("paths", "").split()),
        )
        for table in tables["class"]
    ]


def lines(text: str) -> tuple[Pattern, ...]:
    return tuple(
        tuple(tuple(word.split("|")) for word in line.split()) for line in text.splitlines() if line.strip()
    )
