"""What a path means, whatever program is given it."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety.rules import Rules
from bot.safety.words import (
    ANY,
    GLOB,
    HOLES,
    HOME,
    MARK,
    NAME,
    NUM,
    PATH,
    SET,
    SPLIT,
    STAR,
    is_literal,
    is_unknown,
    show,
)

if TYPE_CHECKING:
    from bot.safety.scan import Scan

_HOME = r"(?:~|/root|/home/[^/]+|/Users/[^/]+)"
_PROC_LINK = re.compile(r"^/proc/(?:self|thread-self|\d+|[\x00-\x08])(?:/task/[^/]+)?/(?:root|cwd)(?=/|$)")
_HOLE_PATTERN = {
    ANY: ".*", SPLIT: ".*", NUM: "[0-9]+", NAME: "[^/]+", PATH: ".*", MARK: "[^/]", SET: "[^/]",
}  # fmt: skip
_OUR_HOME = os.path.expanduser("~")


def compile_globs(globs: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches a canonical path when any of the globs does."""
    parts: list[str] = []
    for glob in globs:
        out: list[str] = []
        for token in re.split(r"(\*\*/|\*\*|\*|~)", glob):
            match token:
                case "**/":
                    out.append("(?:.*/)?")
                case "**":
                    out.append(".*")
                case "*":
                    out.append("[^/]*")
                case "~":
                    out.append(_HOME)
                case _:
                    out.append(re.escape(token))
        parts.append("".join(out))
    return re.compile("(?:" + "|".join(parts) + r")\Z", re.DOTALL) if parts else re.compile(r"(?!)")


def path_pattern(rules: Rules, key: str) -> re.Pattern[str]:
    pattern = rules.cache.get("paths." + key)
    if pattern is None:
        pattern = rules.cache["paths." + key] = compile_globs(rules.words("paths", key))
    return pattern


def canonical(path: str, folders: Sequence[str]) -> list[str]:
    """Return what the path may come to, `.`, `..` and `//` removed: one for each folder it may start from.

    A path in the home directory starts with `~`; one in an unknown working directory with `./`.
    """
    if path.startswith((HOME, "~/")) or path == "~":
        return [settle("~", path[1:])]
    if path.startswith("/"):
        return [settle("", path)]
    return [settle(*split_root(folder), path) for folder in folders]


def split_root(folder: str) -> tuple[str, str]:
    if folder.startswith("~"):
        return "~", folder[1:]
    if folder.startswith("/"):
        return "", folder
    return ".", folder.removeprefix(".")


_SYSTEM = re.compile(
    r"/\Z|/(?:etc|usr|bin|sbin|lib\w*|boot|dev|proc|sys|run|var/log|var/spool|var/run)(?:/|\Z)|(?:/root|/home/[^/]+|/home|~|/var|/var/lib|/opt|/srv|/tmp)/?\Z|"
    r".*/\.(?:ssh|aws|gnupg|git|kube|docker|config)(?:/|\Z)"
)


def in_workspace(path: str, start: str) -> str:
    """Return a path below the folder the command starts in as `./…`, any other as it is.

    What the folder itself is called does not make its files credentials or protected, unless the system or a
    person's keys live there.
    """
    if start.startswith("/") and path.startswith(start.rstrip("/") + "/") and not _SYSTEM.match(start):
        return "." + path[len(start.rstrip("/")) :]
    return path


def settle(root: str, *parts: str) -> str:
    kept: list[str] = []
    up = 0
    for part in "/".join(parts).split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept:
            if is_unknown(kept.pop()):
                return ANY
        elif root == ".":
            up += 1
        elif root == "~":
            root = "/home"
    if up:
        return "/".join([".."] * up + kept)
    text = root + "/" + "/".join(kept) if kept else root or "/"
    if text.startswith("/proc/"):
        text = _PROC_LINK.sub("", text) or "/"
    return text


def is_credential(path: str, rules: Rules) -> bool:
    """Whether a canonical path without holes holds keys."""
    return bool(path_pattern(rules, "credential").match(path)) and not path_pattern(rules, "public").match(
        path
    )


def is_own(path: str, rules: Rules) -> bool:
    return any(path == own or path.startswith(own.rstrip("/") + "/") for own in rules.own_paths)


_RUN = re.compile(f"[{re.escape(HOLES)}]{{2,}}")
_WIDE = ANY + SPLIT + PATH  # these reach over slashes
_LONG = STAR + NUM + NAME + _WIDE  # any number of characters
_ENDLESS = re.compile(f"[{re.escape(_LONG)}]")


def as_regex(path: str) -> re.Pattern[str]:
    """Return a pattern that matches whatever the path may come to, and more when there is too much to try.

    A pattern with many holes takes a time that doubles with each of them: neighbours become one hole, and
    where three could share the same text everything from the first to the last becomes one.
    """
    path = _RUN.sub(join_holes, path)
    wide = sum(map(path.count, _WIDE))
    if (
        wide
        and len(_ENDLESS.findall(path)) > 2
        or any(len(_ENDLESS.findall(part)) > 2 for part in path.split("/"))
    ):
        holes = [match.start() for match in _ENDLESS.finditer(path)]
        path = path[: holes[0]] + ANY + path[holes[-1] + 1 :]
    out: list[str] = []
    previous = "/"
    for char in path:
        if char == STAR:
            out.append(r"(?!\.)[^/]*" if previous == "/" else "[^/]*")
        else:
            out.append(_HOLE_PATTERN.get(char) or re.escape(char))
        previous = char
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def join_holes(run: re.Match[str]) -> str:
    """Return one hole for several in a row, where any of them may be of any length."""
    if all(char in GLOB for char in run[0]):
        return STAR if STAR in run[0] else run[0]
    return ANY if any(char in _LONG for char in run[0]) else run[0]


def may_be_credential(path: str, rules: Rules) -> Risk:
    """Judge reading a canonical path with holes."""
    name = path.rpartition("/")[2]
    folder = path[: len(path) - len(name)]
    pattern = as_regex(path)
    vague = not any(char not in HOLES for char in name) and not is_unknown(name)
    for sample in rules.words("paths", "samples"):
        if pattern.match(sample) or (
            not path.startswith(("~", "/", ".")) and pattern.match(sample.lstrip("./~"))
        ):
            if (
                vague
                and is_literal(folder)
                and not folder.startswith(("~", "/root", "/home", "/etc", "/proc", "/run"))
            ):
                return Risk.MEDIUM
            if vague and PATH in path:
                return Risk.MEDIUM
            return Risk.HIGH
    probe = "".join("x" if char in HOLES else char for char in path)
    if is_credential(probe, rules):
        return Risk.HIGH
    return Risk.LOW


def real_path(path: str) -> str:
    """Return where an absolute path leads through links that exist now; the path itself when none do."""
    text = os.path.expanduser(path) if path.startswith("~") else path
    if not text.startswith("/") or not is_literal(text) or "\n" in text:
        return path
    try:
        real = os.path.realpath(text)
    except (OSError, ValueError):
        return path
    return real if real != text else path


def clip(path: str) -> str:
    """Return a path as it is shown in a sentence: its end is what tells it from others."""
    text = show(path)
    return text if len(text) <= 80 else "…" + text[-79:]


def judge_read(scan: "Scan", path: str) -> None:
    """Find what reading the content of a path gives away."""
    if path in ("-", ""):
        return
    rules = scan.rules
    if path[0] == "@" and len(path) > 1:
        judge_read(scan, path[1:])  # many programs read a file named this way
    for text in canonical(path, scan.folders):
        scan.budget.spend(4 if is_literal(text) else 20)
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            scan.find(Risk.HIGH, "opens a network connection", show(path), "paths.network")
        elif is_literal(text):
            real = real_path(text)
            if is_own(text, rules) or is_own(real, rules):
                scan.find(Risk.HIGH, "reads the bot's own files", show(path), "paths.own")
            elif any(is_credential(in_workspace(spot, scan.start), rules) for spot in {text, real}):
                scan.find(Risk.HIGH, "reads a credential file", show(path), "paths.credential")
        else:
            risk = may_be_credential(in_workspace(text, scan.start), rules)
            if risk:
                sentence = (
                    "could read a credential file" if risk is Risk.HIGH else "reads files not named in full"
                )
                scan.find(risk, sentence, show(path), "paths.credential")


def judge_tree_read(scan: "Scan", path: str) -> None:
    """Find what reading everything below a folder gives away (`grep -r`, `tar`, `cp -a`)."""
    judge_read(scan, path)
    for text in canonical(path, scan.folders):
        if not is_literal(text):
            continue
        if text in (
            "/",
            "~",
            "/root",
            "/home",
            "/etc",
            "/proc",
            "/run",
            "/var",
            "/var/lib",
            "/etc/ssh",
            "/dev",
        ) or re.fullmatch(r"/home/[^/]+|/proc/[^/]+", text):
            scan.find(Risk.HIGH, "reads a folder that holds credential files", show(path), "paths.credential")
        elif is_credential(text + "/x", scan.rules):
            scan.find(Risk.HIGH, "reads a credential file", show(path), "paths.credential")


def judge_write(scan: "Scan", path: str, *, verb: str = "writes") -> None:
    """Find what changing a path can do: `writes`, `deletes`, `moves`, `changes the mode of` …"""
    rules = scan.rules
    if path in ("", "-"):
        return
    for text in canonical(path, scan.folders):
        scan.budget.spend(4 if is_literal(text) else 20)
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            scan.find(Risk.HIGH, "opens a network connection", show(path), "paths.network")
            continue
        hole = next((index for index, char in enumerate(text) if char in HOLES), -1)
        if hole < 0:
            if path_pattern(rules, "harmless").match(text):
                continue
            real = real_path(text)
            moved = real != text
            if is_own(text, rules) or is_own(real, rules):
                scan.find(Risk.HIGH, f"{verb} the bot's own files", show(path), "paths.own")
                continue
            text, real = in_workspace(text, scan.start), in_workspace(real, scan.start)
            if path_pattern(rules, "temporary").match(text) and (not moved or not is_protected(real, rules)):
                scan.find(Risk.MEDIUM, f"{verb} a temporary file", show(path), "paths.temporary")
            elif is_protected(text, rules) or is_protected(real, rules):
                scan.find(Risk.HIGH, f"{verb} a protected path", show(path), "paths.protected")
            elif text.startswith("../../.."):
                scan.find(
                    Risk.HIGH, f"{verb} a path outside the working directory", show(path), "paths.outside"
                )
            else:
                scan.find(Risk.MEDIUM, f"{verb} {clip(path)}", "", "paths.write")
            continue
        text = in_workspace(text, scan.start)
        hole = next(index for index, char in enumerate(text) if char in HOLES)
        known = text[:hole]
        if is_unknown(text) or (hole == 0 and text[0] not in GLOB):
            scan.find(Risk.HIGH, f"{verb} a path computed at run time", show(path), "paths.computed")
        elif path_pattern(rules, "temporary").match(known + "x"):
            scan.find(Risk.MEDIUM, f"{verb} a temporary file", show(path), "paths.temporary")
        elif is_protected(known + "x", rules) or is_protected(known, rules):
            scan.find(Risk.HIGH, f"{verb} a protected path", show(path), "paths.protected")
        elif may_be_credential(text, rules) is Risk.HIGH:
            scan.find(Risk.HIGH, f"{verb} what could be a credential file", show(path), "paths.credential")
        else:
            scan.find(Risk.MEDIUM, f"{verb} {clip(path)}", "", "paths.write")


def is_protected(path: str, rules: Rules) -> bool:
    trimmed = path.rstrip("/") or "/"
    return bool(path_pattern(rules, "protected").match(trimmed)) or is_credential(path, rules)
