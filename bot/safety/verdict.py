"""What the classifier says about a command, as plain values."""

from dataclasses import dataclass, field

from bot.messages import Risk


@dataclass(frozen=True, slots=True)
class Invocation:
    """One program the command would start, in any nested context.

    Attributes:
        program: The name as bash would look it up, or its path as written; `<computed>` when only the
            running shell can know it.
        arguments: After expansion as far as it is known; what is not known is shown as `…`.
        literal: Whether program and arguments are exactly known.
        source: The fragment of the command, as written.
    """

    program: str
    arguments: tuple[str, ...]
    literal: bool
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule has to say. `rule` names it: a file and a table, or a stage of the classifier."""

    risk: Risk
    sentence: str
    fragment: str
    rule: str

    def __str__(self) -> str:
        return f"{self.sentence}: {self.fragment}" if self.fragment else self.sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much harm a command can do, and why.

    Attributes:
        risk: The highest that any rule gave.
        reasons: Short sentences with the exact fragment, most severe first; never empty unless low.
        invocations: Every program found, in the order read, nested ones included. Incomplete when the
            command could not be parsed, and then the risk is high.
        findings: What the reasons were made from, in the same order.
        network: Hosts the command would talk to, as written; for the log.
        literal: Whether every word of every invocation is exactly known. Only such a command may be
            covered by a grant.
    """

    risk: Risk
    reasons: tuple[str, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    findings: tuple[Finding, ...] = ()
    network: tuple[str, ...] = ()
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with its working shown, for `kai-bot risk` and `/policy`.

    Attributes:
        rules: (rule, level, what it said), one a finding, most severe first.
        tree: The parse tree in one line; empty when the command was refused before parsing.
    """

    risk: Risk
    reasons: tuple[str, ...]
    rules: tuple[tuple[str, Risk, str], ...]
    invocations: tuple[Invocation, ...]
    tree: str
    problem: str = field(default="")
