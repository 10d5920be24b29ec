"""What a grant may cover, and what exactly it covers. Nothing is kept here; only `rules_version` reads.

A grant is one exact command: it is found again by a digest over everything that decides what the command does
and how it was judged. Whatever can't be pinned down that way can't be granted.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from bot import __version__
from bot.messages import Risk
from bot.safety.scripts import BEHIND, ELSEWHERE, INTERPRETER, SHELLS
from bot.safety.verdict import Invocation, Verdict

OTHER_USERS = frozenset("sudo doas su runuser pkexec run0 setpriv machinectl".split())
NETWORK = frozenset(
    "curl wget http https xh aria2c nc ncat netcat socat telnet ssh scp sftp rsync ftp lftp mosh mail mailx "
    "sendmail mutt msmtp aws gcloud az gsutil bq s3cmd rclone gh glab hub heroku fly flyctl vercel netlify "
    "kubectl helm terraform tofu pulumi ansible ansible-playbook twine".split()
)
SENDS = frozenset("push publish upload login send deploy release".split())
"""Sub-commands that carry something away, whatever the program."""

FREE_TEXT = re.compile(r"(?:gawk|mawk|awk|sed|jq|deno|bun|xargs|parallel|find|watch|script)[\d.]*")
FAMILIES = re.compile(r"(?:archives|containers|files|git|packages|services|text)\.toml: [^+]*")
"""Rules whose word a grant may soften, as a `Finding` names them; no other high finding can be."""
LOCAL = frozenset(("program.unknown", "program.path"))


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


def key(command: str, *, cwd: str, verdict: Verdict, version: str, files: Mapping[str, str]) -> str:
    """Return what a grant is bound to, besides user and conversation, which stand beside it.

    Args:
        version: Of the rules: see `rules_version`.
        files: From `bot.safety.scripts.fingerprints`, of all that `files_behind` names.
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
