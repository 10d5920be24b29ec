"""What a grant may cover, and what exactly it covers. Nothing is read or kept here but by `fingerprints`.

A grant is one exact command: it is found again by a digest over everything that decides what the command does
and how it was judged. Whatever can't be pinned down that way can't be granted.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bot import __version__
from bot.messages import Risk
from bot.safety.verdict import Invocation, Verdict

LARGEST = 16 * 1024 * 1024
"""Bytes of a script that is still hashed before each run."""

SHELLS = frozenset("sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox eval source . exec".split())
OTHER_USERS = frozenset("sudo doas su runuser pkexec run0 setpriv machinectl".split())
NETWORK = frozenset(
    "curl wget http https xh aria2c nc ncat netcat socat telnet ssh scp sftp rsync ftp lftp mosh mail mailx "
    "sendmail mutt msmtp aws gcloud az gsutil bq s3cmd rclone gh glab hub heroku fly flyctl vercel netlify "
    "kubectl helm terraform tofu pulumi ansible ansible-playbook twine".split()
)
SENDS = frozenset("push publish upload login send deploy release".split())
"""Sub-commands that carry something away, whatever the program."""

INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|luajit|Rscript|tclsh|guile)[\d.]*")
FREE_TEXT = re.compile(r"(?:gawk|mawk|awk|sed|jq|deno|bun|xargs|parallel|find|watch|script)[\d.]*")
FAMILIES = re.compile(r"(?:archives|containers|files|git|packages|services|text)\.toml: [^+]*")
"""Rules whose word a grant may soften, as a `Finding` names them; no other high finding can be."""
LOCAL = frozenset(("program.unknown", "program.path"))

BEHIND: Mapping[str, Sequence[str]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "npm": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "docker-compose": (
        "compose.yaml",
        "compose.yml",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.override.yaml",
        "docker-compose.override.yml",
        ".env",
    ),
}
"""Files of the working folder that say what these programs do."""
ELSEWHERE = frozenset("-C -f -p --file --directory --prefix --cwd --project-directory --makefile".split())
SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")


def why_not(command: str, verdict: Verdict) -> str:
    """Return why no grant can cover a command so judged; empty when one can."""
    # Not even `$HOME` or a `$` in quotes: what a grant covers must be plain to whoever reads it.
    if not verdict.literal or not verdict.invocations or re.search(r"[$`]", command):
        return "some of its words are known only when it runs"
    if verdict.network:
        return "it talks to other machines"
    for invocation in verdict.invocations:
        if reason := _why_not(invocation):
            return reason
    for finding in verdict.findings:
        allowed = finding.rule in LOCAL or FAMILIES.fullmatch(finding.rule)
        if finding.risk is Risk.HIGH and not allowed:
            return finding.sentence
        if finding.rule in ("paths.credential", "environment.secret"):
            return finding.sentence
    return ""


def _why_not(invocation: Invocation) -> str:
    program, arguments = os.path.basename(invocation.program), invocation.arguments
    words = {os.path.basename(argument) for argument in arguments}
    if invocation.program in OTHER_USERS or program in OTHER_USERS:
        return f"it runs as another user ({program})"
    if program in SHELLS or words & SHELLS - {"."}:
        return "it starts a shell"
    if "-c" in arguments or "-e" in arguments or FREE_TEXT.fullmatch(program):
        return f"{program} runs what is written in its arguments"
    if INTERPRETER.fullmatch(program) and (not arguments or arguments[0].startswith("-")):
        return f"{program} runs what is no named script"
    if program in NETWORK or any(word in SENDS for word in arguments[:2]):
        return "it sends data to other machines"
    if (program in BEHIND or program == "docker") and set(arguments) & ELSEWHERE:
        return f"what {program} does stands in a file chosen by an option"
    return ""


def files_behind(verdict: Verdict, cwd: str) -> tuple[Path, ...] | None:
    """Return the files that decide what a command does, absolute, without repeats.

    Returns:
        None when they can't be told: the command changes its folder and then runs something from there.
    """
    paths: list[Path] = []
    moves = any(invocation.program in ("cd", "pushd", "popd") for invocation in verdict.invocations)
    for invocation in verdict.invocations:
        program, arguments = os.path.basename(invocation.program), invocation.arguments
        found: list[str] = []
        if "/" in invocation.program and not invocation.program.startswith(SYSTEM):
            found.append(invocation.program)
        if INTERPRETER.fullmatch(program):
            found += arguments[:1]
        composes = program == "docker" and arguments[:1] == ("compose",)
        behind = BEHIND.get("docker-compose" if composes else program, ())
        found += [name for name in behind if Path(cwd, name).exists()]
        if behind and not found:
            return None
        if moves and any(not name.startswith("/") for name in found):
            return None
        paths += [
            Path(os.path.expanduser(name) if name.startswith("~") else Path(cwd, name)) for name in found
        ]
    return tuple(dict.fromkeys(paths))


def fingerprints(paths: Collection[Path]) -> Mapping[str, str] | None:
    """Return SHA-256 by path; None when one of them is no readable regular file of bearable size."""
    found = {}
    for path in paths:
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                return None
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            return None
    return found


def key(command: str, *, cwd: str, verdict: Verdict, version: str, files: Mapping[str, str]) -> str:
    """Return what a grant is bound to, besides user and conversation, which stand beside it.

    Args:
        version: Of the rules: see `rules_version`.
        files: From `fingerprints`, of all that `files_behind` names.
    """
    judged = [[finding.risk, finding.rule, str(finding)] for finding in verdict.findings]
    argv = [[invocation.program, *invocation.arguments] for invocation in verdict.invocations]
    whole = [command, argv, os.path.realpath(cwd), judged, version, dict(files)]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def rules_version(directory: Path | None) -> str:
    """Return a digest over the bot's version, its rules and the operator's, which lie in `directory`."""
    digest = hashlib.sha256(__version__.encode())
    folders = [Path(__file__).parent / "rules", *([directory] if directory else [])]
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            try:
                content = path.read_bytes()
            except OSError:
                content = b"unreadable"
            digest.update(f"\0{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
