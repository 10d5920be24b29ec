"""How much harm a shell command can do, judged before it runs."""

from bot.messages import Risk
from bot.safety import programs  # noqa: F401  registers the handlers
from bot.safety.budget import SENTENCE, TooTangledError
from bot.safety.rules import Rules, built_in_rules
from bot.safety.scan import Scan
from bot.safety.tree import outline
from bot.safety.verdict import Explanation, Finding, Invocation, Verdict

__all__ = ["Explanation", "Finding", "Invocation", "Verdict", "classify", "explain"]

MOST_REASONS = 6


def classify(command: str, *, cwd: str | None = None, rules: Rules | None = None) -> Verdict:
    """Judge a command as `/bin/bash --noprofile --norc -c` with a scrubbed environment would run it.

    Never raises; whatever can't be read for certain is high. Runs nothing; looks only at links and owners of
    the paths the command names.

    Args:
        cwd: Absolute path of the folder it would start in; None when that is not known.
        rules: From `load_rules`; those that come with the bot when None.
    """
    verdict, _ = judge(command, cwd, rules)
    return verdict


def explain(command: str, *, cwd: str | None = None, rules: Rules | None = None) -> Explanation:
    """Judge a command and show the working. Never raises, runs nothing."""
    verdict, scan = judge(command, cwd, rules)
    tree = ""
    if scan is not None and scan.root is not None:
        try:
            tree = outline(scan.root)
        except RecursionError:
            tree = ""
    return Explanation(
        risk=verdict.risk,
        reasons=verdict.reasons,
        rules=tuple((finding.rule, finding.risk, str(finding)) for finding in verdict.findings),
        invocations=verdict.invocations,
        tree=tree,
        problem=rules.problem if rules is not None else "",
    )


def judge(command: str, cwd: str | None, rules: Rules | None) -> tuple[Verdict, Scan | None]:
    scan: Scan | None = None
    tangled = False
    try:
        rules = built_in_rules() if rules is None else rules
        if rules.problem:
            return refuse("the operator's rules are broken, so everything asks", rules.problem, "rules"), None
        scan = Scan(rules, [cwd or "."])
        try:
            scan.read(command)
        except TooTangledError:
            tangled = True
        if not scan.invocations and not scan.findings and not command.strip():
            return refuse("an empty command", "", "prescreen"), scan
    except Exception as error:  # fail closed: a command that breaks the classifier is not one to run unasked
        return refuse("the command could not be judged", type(error).__name__, "classify"), scan
    if tangled:
        scan.findings.append(Finding(Risk.HIGH, SENTENCE, "", "budget"))
    findings = sorted(scan.findings, key=lambda finding: -finding.risk)
    risk = findings[0].risk if findings else Risk.LOW
    reasons = tuple(dict.fromkeys(str(finding) for finding in findings if finding.risk))[:MOST_REASONS]
    literal = (
        not tangled
        and scan.exact
        and bool(scan.invocations)
        and all(invocation.literal for invocation in scan.invocations)
    )
    return (
        Verdict(risk, reasons, tuple(scan.invocations), tuple(findings), tuple(scan.hosts), literal),
        scan,
    )


def refuse(sentence: str, fragment: str, rule: str) -> Verdict:
    finding = Finding(Risk.HIGH, sentence, fragment, rule)
    return Verdict(Risk.HIGH, (str(finding),), findings=(finding,))
