"""Programs that change files."""

import re

from bot.safety import paths
from bot.safety.flow import Flow
from bot.safety.judge import Call, handles
from bot.safety.words import HOLES, is_literal, is_unknown


@handles("rm")
def remove(call: Call) -> Flow:
    recursive = call.has("-r", "-R", "--recursive")
    if recursive:
        call.high("deletes files recursively")
    for path in call.operands:
        call.write(path, "deletes")
        if any(char in HOLES for char in path) and not recursive:
            call.high("deletes every file that matches", path)
    if len(call.operands) > 5:
        call.high("deletes many files at once")
    if not call.operands and not call.has("--help", "--version"):
        call.high("deletes files named at run time")
    return Flow("pipe")


@handles("copy")
def copy(call: Call) -> Flow:
    """cp, mv, ln, install: sources, then one target."""
    operands = list(call.operands)
    target = call.value("-t", "--target-directory")
    if target is None and call.program == "install" and call.has("-d", "--directory"):
        for path in operands:
            call.write(path)
        return Flow("pipe")
    if target is None:
        if len(operands) < 2:
            if call.program == "ln" and operands:
                call.write("./" + operands[0].rpartition("/")[2])
                return Flow("pipe")
            call.high(f"{call.program} with a target named at run time")
            return Flow("pipe")
        target = operands.pop()
    call.write(target)
    for source in operands:
        if call.program == "ln":
            # A link makes its target reachable under another name.
            call.read_tree(source)
            if any(
                re.match(r"(?:/(?:etc|root|home|proc|run|dev|var/lib)|~)(?:/|\Z)", spot)
                for spot in paths.canonical(source, call.scan.folders)
            ):
                call.high("gives a file of the system another name", source)
        elif call.program == "mv":
            call.write(source, "moves")
            call.read(source)
        elif call.has("-r", "-R", "-a", "--recursive", "--archive"):
            call.read_tree(source)
        else:
            call.read(source)
        if call.program == "mv" and target.startswith("/dev/"):
            call.high("deletes files by moving them away", source)
        if source == "/dev/null":
            call.high("empties a file", target)
        if is_literal(source) and is_literal(target):
            call.write(target.rstrip("/") + "/" + source.rstrip("/").rpartition("/")[2])
    mode = call.value("-m", "--mode") if call.program == "install" else None
    if mode is not None:
        judge_mode(call, mode)
    return Flow("pipe")


def judge_mode(call: Call, mode: str) -> None:
    """Find what a mode allows that it should not: set-user-id, or writing by everybody."""
    if is_unknown(mode):
        call.high("a mode computed at run time", mode)
    elif re.fullmatch(r"[0-7]{1,5}", mode):
        if len(mode) > 3 and int(mode[:-3]) & 6:
            call.high("lets a file run as its owner (set-user-id)", mode)
        elif int(mode[-1]) & 2 and not (len(mode) == 4 and mode[0] == "1"):
            call.high("lets everybody write", mode)
    else:
        for part in mode.split(","):
            match = re.fullmatch(r"([ugoa]*)([-+=])([rwxXstugo]*)", part)
            if match is None:
                call.high("a mode that is not understood", mode)
            elif match[2] != "-":
                if "s" in match[3]:
                    call.high("lets a file run as its owner (set-user-id)", mode)
                if "w" in match[3] and ("o" in match[1] or "a" in match[1]):
                    call.high("lets everybody write", mode)


@handles("chmod")
def change_mode(call: Call) -> Flow:
    operands = list(call.operands)
    if call.has("--reference"):
        mode = None
    elif operands:
        mode = operands.pop(0)
    else:
        mode = None
    # `chmod -x file`: a mode that looks like an option.
    for name, _ in call.options:
        if re.fullmatch(r"-[rwxXst]", name) and mode is not None:
            operands.insert(0, mode)
            mode = None
    if mode is not None:
        judge_mode(call, mode)
    for path in operands:
        call.write(path, "changes the mode of")
        if call.has("-R", "--recursive") and any(
            spot.count("/") <= 1 and not spot.startswith("./")
            for spot in paths.canonical(path, call.scan.folders)
        ):
            call.high("changes the mode of a whole tree", path)
    if call.has("-R", "--recursive"):
        call.medium("changes the mode of a whole tree")
    return Flow("pipe")


@handles("chown")
def change_owner(call: Call) -> Flow:
    operands = list(call.operands)
    owner = operands.pop(0) if operands and not call.has("--reference") else ""
    for path in operands:
        call.write(path, "changes the owner of")
    if call.has("-R", "--recursive"):
        call.high("changes the owner of a whole tree")
    if re.match(r"(?:root|0)(?:[:.]|\Z)", owner):
        call.high("gives a file to root")
    return Flow("pipe")


@handles("dd", raw=True)
def dd(call: Call) -> Flow:
    for word in call.args:
        name, equals, value = word.partition("=")
        if not equals or is_unknown(name):
            call.high("an operand of dd that is not understood", word)
        elif name == "if":
            if value not in ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/null"):
                call.read(value)
        elif name == "of":
            call.write(value, "overwrites")
        elif name not in (
            "bs",
            "count",
            "skip",
            "seek",
            "conv",
            "status",
            "ibs",
            "obs",
            "iflag",
            "oflag",
            "cbs",
        ):
            call.high("an operand of dd that is not understood", word)
    if not any(word.startswith("count=") for word in call.args) and any(
        word in ("if=/dev/zero", "if=/dev/urandom", "if=/dev/random") for word in call.args
    ):
        call.high("fills the disk")
    return Flow("pipe", taints=frozenset(["data"]))


@handles("truncate")
def truncate(call: Call) -> Flow:
    size = call.value("-s", "--size") or ""
    for path in call.operands:
        call.write(path)
    if not size.startswith("+"):
        call.high("cuts a file short")
    return Flow("pipe")


@handles("tee")
def tee(call: Call) -> Flow:
    if all(re.fullmatch(r"/dev/(?:null|stdout|stderr|tty|fd/.*)", path) for path in call.operands):
        call.clear()
    for path in call.operands:
        call.write(path)
    return Flow(
        "pipe", line=call.stdin.line, text=call.stdin.text, taints=call.stdin.taints, safe=call.stdin.safe
    )


@handles("edit")
def edit_in_place(call: Call) -> Flow:
    for path in call.operands:
        call.write(path)
    return Flow("pipe")


@handles("patch")
def patch(call: Call) -> Flow:
    if "network" in call.stdin.taints:
        call.high("applies changes fetched from the network")
    for path in call.operands[:1]:
        call.write(path)
    return Flow("pipe")


@handles("diff")
def diff(call: Call) -> Flow:
    for path in call.operands:
        call.read_tree(path) if call.has("-r", "--recursive") else call.read(path)
    return Flow("pipe", taints=frozenset(["data"]))
