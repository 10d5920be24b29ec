"""May this call run: the classifier of shell commands with its rules, and the gate."""

from bot.messages import Risk
from bot.safety.classify import classify, explain
from bot.safety.gate import Gate, Judgement, digest, file_outside
from bot.safety.grants import rules_version
from bot.safety.policy import describe
from bot.safety.rules import Rules, load_rules
from bot.safety.scripts import head, readable
from bot.safety.verdict import Explanation, Finding, Invocation, Verdict

__all__ = [
    "Explanation",
    "Finding",
    "Gate",
    "Invocation",
    "Judgement",
    "Risk",
    "Rules",
    "Verdict",
    "classify",
    "describe",
    "digest",
    "explain",
    "file_outside",
    "head",
    "load_rules",
    "readable",
    "rules_version",
]
