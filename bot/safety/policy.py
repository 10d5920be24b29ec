"""How a command would be judged, written out for a person. Runs nothing."""

from pathlib import Path

from bot.messages import Risk
from bot.safety import grants, scripts
from bot.safety.classify import classify, explain
from bot.safety.revert import may_lock_out, undo_of
from bot.safety.rules import Rules
from bot.safety.worst import second_step

LONGEST_TREE = 1500
VERBS = {
    Risk.LOW: "runs unasked",
    Risk.MEDIUM: "runs unasked; the model may say that it is riskier",
    Risk.HIGH: "asks with a card",
}


def describe(command: str, *, cwd: str, rules: Rules | None = None) -> str:
    """Return level, reasons, the rules that spoke, what a card would offer, programs and tree; a few lines.

    Args:
        cwd: Absolute path of the folder it would start in.
        rules: From `load_rules`; those that come with the bot when None.
    """
    verdict = classify(command, cwd=cwd, rules=rules)
    seen = explain(command, cwd=cwd, rules=rules)
    lines = [f"{verdict.risk.name}: {VERBS[verdict.risk]}"]
    lines += [f"• {reason}" for reason in verdict.reasons]
    if seen.problem:
        lines.append(f"The operator's rules can't be used: {seen.problem}")
    if seen.rules:
        lines += ["", "Rules:"]
        lines += dict.fromkeys(f"• {rule} ({level.name.lower()}): {said}" for rule, level, said in seen.rules)
    if verdict.risk is Risk.HIGH:
        worst, undo = second_step(command, verdict), undo_of(command, verdict)
        lines += ["", f"Second step: {f'a code, for it {worst}' if worst else 'none, a press approves'}"]
        lines.append(f"Undo: {undo or 'none is known'}")
        lines.append(f"Grant: {coverage(command, cwd, worst, rules)}")
    lines += ["", "Programs:"]
    for invocation in verdict.invocations:
        known = "" if invocation.literal else " (not known exactly)"
        lines.append(f"• {' '.join((invocation.program, *invocation.arguments))}{known}")
    if not verdict.invocations:
        lines.append("• none could be read")
    tree = seen.tree if len(seen.tree) <= LONGEST_TREE else seen.tree[: LONGEST_TREE - 1] + "…"
    lines += ["", f"Tree: {tree or 'refused before parsing'}"]
    return "\n".join(lines)


def coverage(command: str, cwd: str, worst: str, rules: Rules | None) -> str:
    """Say whether a grant could cover a command."""
    verdict = classify(command, cwd=cwd, rules=rules)
    if (
        reason := worst
        or grants.why_not(command, verdict)
        or ("it can lock people out" if may_lock_out(verdict) else "")
    ):
        return f"none possible: {reason}"
    paths = scripts.files_behind(verdict, cwd)
    if paths is None or scripts.fingerprints(paths) is None:
        return "none possible: what it runs stands in a file that can't be pinned down"
    where = f"exactly this command in {cwd}, for one person in one conversation"
    return f"possible: {where}{while_unchanged(paths)}"


def while_unchanged(paths: tuple[Path, ...]) -> str:
    return f", while {', '.join(map(str, paths))} stays as it is" if paths else ""
