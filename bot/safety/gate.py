"""May this call run, and whom to ask when a person must say so.

Risk only rises: what counts is the highest of the model's word, the classifier's and the tool's floor.
Nothing here runs anything or keeps anything.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.messages import Conversation, Risk, ToolCall
from bot.safety import grants, scripts
from bot.safety.classify import Verdict
from bot.safety.revert import may_lock_out, undo_of
from bot.safety.worst import second_step

Rule = Callable[[ToolCall, Conversation, str], tuple[Risk, tuple[str, ...]]]
"""Reads a call, its conversation and its cwd; returns the risk it sees and why, most severe first."""

SECRET_NAME = re.compile(
    r"(?i)secret|credential|passw|token|wallet|\.(?:pem|key|p12|pfx|env|kdbx|keystore)$|^id_"
)
MODEL_SAYS = {"low": Risk.LOW, "medium": Risk.MEDIUM, "high": Risk.HIGH}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate thinks of a call.

    Attributes:
        risk: HIGH means that a person must say yes.
        reasons: For that person; empty only when `risk` is LOW.
        command: What that person reads: the exact command, or the exact arguments as JSON.
        reads_only: Nothing changes when the call is repeated; it may run beside others.
        rules: The rules that had something to say, most severe first; for the audit.
        second_step: Why a press alone does not approve; empty when it does.
        grant_key: What a grant for this would be bound to, see `bot.safety.grants.key`; empty: none may be.
        grant_files: Files that are part of that.
        no_grant: Why none may be given; empty when one may, or nobody needs one.
        undo: The command that undoes this one; empty when none is known.
    """

    risk: Risk
    reasons: tuple[str, ...]
    command: str
    reads_only: bool
    rules: tuple[str, ...] = ()
    second_step: str = ""
    grant_key: str = ""
    grant_files: tuple[str, ...] = ()
    no_grant: str = ""
    undo: str = ""


class Gate:
    def __init__(
        self,
        classify: Callable[..., Verdict],
        rules: Mapping[str, Rule] | None = None,
        *,
        version: str = "",
    ) -> None:
        """
        Args:
            classify: Called with a command and `cwd`; see `bot.safety.classify`.
            rules: By tool name, for what depends on a tool's arguments.
            version: Of the classifier's rules; grants end when it changes. See `rules_version`.
        """
        self._classify = classify
        self._version = version
        self._rules = {"send_telegram": other_chat} | dict(rules or {})

    def judge(
        self, call: ToolCall, *, floor: Risk, reads_only: bool, conversation: Conversation, cwd: str
    ) -> Judgement:
        """Judge a call whose arguments are already known to be valid.

        Args:
            floor: The tool's own; the call is never below it.
            reads_only: Whether the tool as such only reads.
        """
        reasons: tuple[str, ...] = ()
        risk = floor
        verdict: Verdict | None = None
        command = call.arguments.get("command") if call.name == "run_in_terminal" else None
        if isinstance(command, str):
            verdict = self._classify(command, cwd=cwd)
            risk, reasons = max(risk, verdict.risk), tuple(verdict.reasons)
            reads_only = verdict.risk is Risk.LOW and not changes_directory(verdict)
            said = MODEL_SAYS.get(str(call.arguments.get("risk", "")).strip().lower())
            if said is None:
                said, reasons = Risk.HIGH, (*reasons, "the model gave no risk for it")
            elif said > risk:
                reasons = (*reasons, f"the model itself calls it {said.name.lower()} risk")
            risk = max(risk, said)
        if rule := self._rules.get(call.name):
            ruled, why = rule(call, conversation, cwd)
            risk, reasons = max(risk, ruled), (*why, *reasons)
        if call.repaired and not reads_only:
            risk, reasons = Risk.HIGH, (*reasons, "the model wrote it in broken JSON that had to be mended")
        shown = command if isinstance(command, str) else in_json(call.arguments)
        if risk > Risk.LOW and not reasons:
            reasons = (f"{call.name} is {risk.name.lower()} risk by itself",)
        judgement = Judgement(risk, reasons, shown, reads_only and risk is Risk.LOW)
        if verdict is None or risk is not Risk.HIGH:
            return judgement if verdict is None else replace(judgement, rules=verdict_rules(verdict))
        return self._weighed(judgement, verdict, cwd, mended=call.repaired)

    def bound(self, call: ToolCall, cwd: str) -> Mapping[str, str]:
        """Return the state of every file that says what a call would do, by path; see `scripts.seals`.

        For the digest of an approval: a person read the command, and with it what its scripts say now.
        """
        command = call.arguments.get("command") if call.name == "run_in_terminal" else None
        if not isinstance(command, str):
            return {}
        return scripts.seals(scripts.files_run(command, self._classify(command, cwd=cwd), cwd))

    def _weighed(self, judgement: Judgement, verdict: Verdict, cwd: str, *, mended: bool) -> Judgement:
        """Add what a card about this command may offer and must demand."""
        command = judgement.command
        worst, undo = second_step(command, verdict), undo_of(command, verdict)
        no_grant = worst or grants.why_not(command, verdict)
        if may_lock_out(verdict):
            no_grant = no_grant or "it can lock people out"
        if mended:
            no_grant = no_grant or "the model wrote it in broken JSON"
        grant_key, paths = "", scripts.files_behind(verdict, cwd) if not no_grant else None
        files = scripts.fingerprints(paths) if paths is not None else None
        if files is not None:
            grant_key = grants.key(command, cwd=cwd, verdict=verdict, version=self._version, files=files)
        elif not no_grant:
            no_grant = "what it runs stands in a file that can't be pinned down"
        return replace(
            judgement,
            rules=verdict_rules(verdict),
            second_step=worst,
            grant_key=grant_key,
            grant_files=tuple(files or ()),
            no_grant=no_grant,
            undo=undo,
        )


def verdict_rules(verdict: Verdict) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in verdict.findings))


def digest(call: ToolCall, *, nonce: str, cwd: str, files: Mapping[str, str] | None = None) -> str:
    """Return what an approval is bound to: SHA-256 over tool, exact arguments, cwd, conversation and files.

    The conversation stands in it by its nonce, since a group's id changes when it becomes a supergroup.

    Args:
        files: From `Gate.bound`: what was read must be what runs.
    """
    whole: list[object] = [call.name, dict(call.arguments), cwd, nonce]
    if files:
        whole.append(dict(files))
    return hashlib.sha256(json.dumps(whole, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def other_chat(call: ToolCall, conversation: Conversation, cwd: str) -> tuple[Risk, tuple[str, ...]]:
    """A message that leaves the conversation is seen by people who did not ask for it."""
    if call.arguments.get("chat_id") == conversation.chat_id:
        return Risk.LOW, ()
    return Risk.HIGH, (f"sends a message to another chat, {call.arguments.get('chat_id')!r}",)


def file_outside(work_dir: Path, state_dir: Path, outputs: Path) -> Rule:
    """Return a rule for `send_file`: what is not plainly the work's own may hold keys."""

    def rule(call: ToolCall, conversation: Conversation, cwd: str) -> tuple[Risk, tuple[str, ...]]:
        try:
            # As the tool reads it: `~` is somebody's home, not a folder of that name.
            file = Path(cwd, Path(str(call.arguments.get("path", ""))).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            return Risk.HIGH, ("the path of the file can't be made out",)
        if file.is_relative_to(outputs.resolve()):
            return Risk.LOW, ()
        if file.is_relative_to(state_dir.resolve()):
            return Risk.HIGH, (f"sends a file of the bot's own state: {file}",)
        root = work_dir.resolve()
        if not file.is_relative_to(root):
            return Risk.HIGH, (f"sends a file from outside the work folder: {file}",)
        if any(part.startswith(".") for part in file.relative_to(root).parts) or SECRET_NAME.search(
            file.name
        ):
            return Risk.HIGH, (f"sends a file that may hold secrets: {file}",)
        return Risk.LOW, ()

    return rule


def changes_directory(verdict: Verdict) -> bool:
    """Whether the next command would start elsewhere, so that it can't run beside this one."""
    return any(invocation.program in ("cd", "pushd", "popd") for invocation in verdict.invocations)


def in_json(arguments: Mapping[str, object]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, indent=1, sort_keys=True)
