"""What undoes a command that could lock its people out: known inverses only.

An undoing always goes in the direction of more access: it starts, allows, brings up. So even when the command
had changed nothing, undoing it locks nobody out.
"""

import os
import re
import shlex
from collections.abc import Sequence

from bot.safety.verdict import Verdict

GUARDED = re.compile(
    r"(?:sshd?|dropbear|networking|NetworkManager|systemd-networkd|systemd-resolved|dhcpcd|wpa_supplicant|"
    r"tailscaled|zerotier-one|openvpn(?:@\S+)?|wg-quick@\S+)(?:\.service|\.socket)?"
)
"""Services whose end can cut off whoever would start them again."""

ENDS = {"stop": "start", "disable": "enable"}


def undo_of(command: str, verdict: Verdict) -> str:
    """Return the command that undoes this one; empty when none is known.

    Only for a single simple command with exactly known words, alone or under `sudo`.
    """
    if not verdict.literal:
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    prefix: list[str] = []
    invocations = list(verdict.invocations)
    if words[:1] == ["sudo"]:
        prefix = words[:2] if words[1:2] == ["-n"] else words[:1]
        words, invocations = words[len(prefix) :], invocations[1:]
    if len(invocations) != 1 or words != [invocations[0].program, *invocations[0].arguments]:
        return ""
    if "\n" in command or not words:
        return ""
    program, arguments = os.path.basename(words[0]), words[1:]
    undo = _undo(program, arguments)
    return shlex.join([*prefix, words[0], *undo]) if undo else ""


def may_lock_out(verdict: Verdict) -> bool:
    """Whether a command holds one that could lock its people out, alone or among others."""
    return any(
        _undo(os.path.basename(invocation.program), invocation.arguments)
        for invocation in verdict.invocations
    )


def _undo(program: str, arguments: Sequence[str]) -> Sequence[str] | None:
    """Return the arguments with which the same program undoes what it did."""
    match program, *arguments:
        case "ufw", *rest if [word for word in rest if word != "--force"] == ["enable"]:
            return ["disable"]
        case "ufw", ("deny" | "reject" | "limit"), *rule if rule:
            return ["delete", *arguments]
        case "ufw", "delete", ("allow" | "limit"), *rule if rule:
            return arguments[1:]
        case (("iptables" | "ip6tables"), *rest):
            return _undo_iptables(rest)
        case "systemctl", verb, *rest if verb in ENDS:
            units = [word for word in rest if not word.startswith("-")]
            if not units or not all(GUARDED.fullmatch(unit) for unit in units):
                return None
            return [ENDS[verb], *(word for word in rest if word in ("--now", *units))]
        case "service", name, "stop" if GUARDED.fullmatch(name):
            return [name, "start"]
        case "ip", *rest:
            return _undo_ip(rest)
        case "ifconfig", device, "down":
            return [device, "up"]
        case "nmcli", ("connection" | "con" | "c") as kind, "down", *name if name:
            return [kind, "up", *name]
        case "nmcli", ("networking" | "net" | "n") as kind, "off":
            return [kind, "on"]
        case "nmcli", ("radio" | "r") as kind, ("wifi" | "all") as what, "off":
            return [kind, what, "on"]
        case "wg-quick", "down", name:
            return ["up", name]
        case "tailscale", "down":
            return ["up"]
        case "firewall-cmd", *rest if rest and all(_removes(word) for word in rest):
            return [word.replace("--remove-", "--add-", 1) for word in rest]
        case "firewall-cmd", "--panic-on":
            return ["--panic-off"]
    return None


def _removes(word: str) -> bool:
    return bool(re.fullmatch(r"--remove-(?:service|port|source|rich-rule)=.+|--zone=.+|--permanent", word))


def _undo_iptables(arguments: Sequence[str]) -> Sequence[str] | None:
    table: list[str] = []
    rest = list(arguments)
    if rest[:1] == ["-t"]:
        table, rest = rest[:2], rest[2:]
    match rest:
        case [("-A" | "--append"), chain, *rule] if "DROP" in rule or "REJECT" in rule:
            return [*table, "-D", chain, *rule]
        case [("-I" | "--insert"), chain, *rule] if "DROP" in rule or "REJECT" in rule:
            rule = rule[1:] if rule[0].isdigit() else rule
            return [*table, "-D", chain, *rule]
        case [("-D" | "--delete"), chain, *rule] if "ACCEPT" in rule and not rule[0].isdigit():
            return [*table, "-I", chain, *rule]
        case [("-P" | "--policy"), chain, ("DROP" | "REJECT")]:
            return [*table, "-P", chain, "ACCEPT"]
    return None


def _undo_ip(arguments: Sequence[str]) -> Sequence[str] | None:
    family = [word for word in arguments[:1] if word in ("-4", "-6")]
    match arguments[len(family) :]:
        case [("link" | "l") as kind, "set", *rest] if "down" in rest and len(rest) in (2, 3):
            return [*family, kind, "set", *("up" if word == "down" else word for word in rest)]
        case [("addr" | "address" | "a") as kind, ("del" | "delete" | "d"), *rest] if "dev" in rest:
            return [*family, kind, "add", *rest]
        case [("route" | "r") as kind, ("del" | "delete" | "d"), *rest] if "via" in rest or "dev" in rest:
            return [*family, kind, "add", *rest]
    return None
