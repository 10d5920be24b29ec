"""tar and its kin: what is packed, where it is unpacked, and what they may start."""

import re

from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import is_unknown


@handles("tar", raw=True)
def tar(call: Call) -> Flow:
    args = list(call.args)
    # The oldest way of writing options: a first word without a dash, values in the order of its letters.
    if args and not args[0].startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0]):
        letters = args.pop(0)
        spelled: list[str] = []
        for letter in letters:
            option = call.spec.shorts.get(letter)
            if option is not None and option.takes == 1 and args:
                spelled += ["-" + letter, args.pop(0)]
            else:
                spelled.append("-" + letter)
        args = spelled + args
    parse_options(call, call.spec, args)
    archive = call.value("-f", "--file")
    folder = call.value("-C", "--directory")
    if archive is not None and ":" in archive.partition("/")[0]:
        call.high("talks to another machine", archive)
    if call.has("-t", "--list"):
        if archive:
            call.read(archive)
        return Flow("pipe")
    if call.has("-x", "--extract", "--get"):
        if archive:
            call.read(archive)
        if call.has("-O", "--to-stdout"):
            return Flow("pipe", taints=call.stdin.taints | {"data"})
        if "network" in call.stdin.taints:
            call.high("unpacks files fetched from the network")
        call.write((folder or ".") + "/x")
        call.scan.fetch_into(folder or ".")
        call.medium("unpacks an archive")
        return Flow("pipe")
    if call.has("-c", "--create", "-r", "--append", "-u", "--update", "-A", "--catenate", "--concatenate"):
        for path in call.operands:
            inside = path if folder is None or path.startswith("/") else f"{folder}/{path}"
            call.read_tree(inside)
            if is_unknown(path):
                call.high("packs files named at run time", path)
        if archive and archive != "-":
            call.write(archive)
        return Flow("pipe", taints=frozenset(["data"]))
    if call.has("-d", "--diff", "--compare"):
        return Flow("pipe")
    if not call.has("--help", "--version", "--usage"):
        call.high("tar without a known action")
    return Flow("pipe")


@handles("unzip")
def unzip(call: Call) -> Flow:
    if call.operands:
        call.read(call.operands[0])
    if call.has("-l", "-v", "-t", "-Z", "-z"):
        return Flow("pipe")
    if call.has("-p", "-c"):
        return Flow("pipe", taints=frozenset(["data"]))
    call.write((call.value("-d") or ".") + "/x")
    call.medium("unpacks an archive")
    return Flow("pipe")


@handles("zip")
def zip_files(call: Call) -> Flow:
    if call.operands:
        call.write(call.operands[0])
    for path in call.operands[1:]:
        call.read_tree(path)
    if call.has("-m", "--move"):
        call.high("deletes the files it packs")
    return Flow("pipe")


@handles("compress")
def compress(call: Call) -> Flow:
    """gzip, bzip2, xz, zstd and their opposites: a file is replaced unless the output goes elsewhere."""
    if call.has("-l", "--list", "-t", "--test", "-V", "--version"):
        for path in call.operands:
            call.read(path)
        return Flow("pipe")
    opposite = call.program in ("gunzip", "bunzip2", "unxz", "unzstd", "unlzma", "uncompress", "lz4cat")
    to_pipe = call.has("-c", "--stdout", "--to-stdout") or not [path for path in call.operands if path != "-"]
    for path in call.operands:
        call.read(path)
        if not to_pipe:
            call.write(path, "replaces")
    decoded = opposite or call.has("-d", "--decompress", "--uncompress")
    taints = call.stdin.taints | (frozenset(["data"]) if call.operands else frozenset())
    return Flow("pipe", taints=taints | (frozenset(["decoded"]) if decoded else frozenset()))


@handles("7z")
def seven_zip(call: Call) -> Flow:
    operands = call.operands
    if operands:
        call.read(operands[0])
    return Flow("pipe")
