"""The files that decide what a command does: scripts, and what make, npm and the like read to know their job.

Such a file can change between the moment a person read the command and the moment it runs. So what covers a
command covers these files as well: a grant by `fingerprints`, which wants every one of them, an approval by
`seals`, which also holds what is not there yet.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bot.safety.verdict import Invocation, Verdict
from bot.safety.words import HOME

LARGEST = 16 * 1024 * 1024
"""Bytes of a script that is still hashed before each run."""
MAX_FOLDERS = 8
"""Folders in which a script is looked for when the command changes its own."""
HEAD_LINES, HEAD_CHARS = 12, 600

SHELLS = frozenset("sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox eval source . exec".split())
WRAPPERS = frozenset("busybox toybox eval exec".split())
"""Those of them whose first word is a program."""
INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|luajit|Rscript|tclsh|guile)[\d.]*")

CODE: Mapping[str, re.Pattern[str]] = {
    program: re.compile(option)
    for programs, option in {
        "sh bash dash ash zsh ksh mksh fish csh tcsh": r"-[A-Za-z]*c[A-Za-z]*",
        "python pypy": r"-[A-Za-z]*c",
        "perl": r"-[acdflnpstTuwWX0-9i]*[eE]",
        "ruby": r"-[alnpswW0-9]*e",
        "node nodejs": r"-e|-p|-pe|--eval|--print",
        "php": r"-r",
        "lua luajit Rscript": r"-e",
        "guile": r"-c",
    }.items()
    for program in programs.split()
}
"""Their options that are followed by code in place of a file. After the file they are the script's own."""

BEHIND: Mapping[str, Sequence[str]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "npm": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "docker-compose": (
        "compose.yaml",
        "compose.yml",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.override.yaml",
        "docker-compose.override.yml",
        ".env",
    ),
}
"""Files of the working folder that say what these programs do."""
ELSEWHERE = frozenset("-C -f -p --file --directory --prefix --cwd --project-directory --makefile".split())
"""Their options that name another folder or file for that."""
NAMED: Mapping[str, frozenset[str]] = {
    program: frozenset(options.split())
    for programs, options in {
        "awk gawk mawk sed psql nft": "-f --file",
        "at batch visudo": "-f",
        "kubectl oc": "-f --filename -k --kustomize",
        "helm": "-f --values",
        "java": "-jar",
        "sqlite3": "-init",
        "redis-cli": "--eval",
        "mongosh mongo": "-f --file",
    }.items()
    for program in programs.split()
}
"""Options whose value is a file that says what the program does."""
OPERANDS = frozenset("ansible-playbook crontab dpkg rpm mongosh mongo".split())
"""Programs that do what all the files they are given say."""
FED = frozenset(
    "psql mysql mariadb sqlite3 redis-cli mongosh iptables-restore ip6tables-restore nft at batch crontab "
    "sfdisk chpasswd parallel".split()
)
"""Programs that, like shells, do what they read from their input; xargs takes it as data."""
PRINTERS = frozenset(
    "cat tac zcat xzcat gunzip gzip xz base64 xxd openssl gpg sed envsubst tr head tail pv".split()
)
INPUT = re.compile(r"(?<!<)<(?![<(&])\s*([^\s<>&|;()'\"`$]+|'[^']*'|\"[^\"$`]*\")")
SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")


def files_behind(verdict: Verdict, cwd: str) -> tuple[Path, ...] | None:
    """Return the files that decide what a command does, absolute, without repeats.

    Returns:
        None when they can't be told: the command changes its folder and then runs something from there.
    """
    paths: list[Path] = []
    moves = any(_moves(invocation) for invocation in verdict.invocations)
    for invocation in verdict.invocations:
        found = list(_scripts(invocation, cwd))
        behind = _read_by(invocation)
        found += [name for name in behind if is_file(_path(cwd, name))]
        if behind and not found:
            return None
        if moves and any(not name.startswith("/") for name in found):
            return None
        paths += [_path(cwd, name) for name in found]
    return tuple(dict.fromkeys(paths))


def files_run(command: str, verdict: Verdict, cwd: str) -> tuple[Path, ...]:
    """Return every file that may decide what a command does, absolute, without repeats.

    Rather too many than too few: names that may be no files, in every folder the command goes to.
    """
    folders, paths = [cwd], list[Path]()
    for invocation in verdict.invocations:
        if _moves(invocation):
            goals = [word for word in invocation.arguments if not word.startswith("-") and "…" not in word]
            folders += [str(_path(folder, goal)) for folder in folders for goal in goals[:1]]
            folders = list(dict.fromkeys(folders))[:MAX_FOLDERS]
            continue
        behind = _read_by(invocation)
        near = folders
        if behind:
            near = [
                *folders,
                *(str(_path(f, name)) for f in folders for name in _values(invocation, ELSEWHERE)),
            ]
        for folder in near:
            names = [*_scripts(invocation, folder), *behind, *_named(invocation)]
            paths += [_path(folder, name) for name in names if "…" not in name]
        if behind:
            paths += map(Path, near[len(folders) :])
    if any(_is_fed(invocation, cwd) for invocation in verdict.invocations):
        names = [name.strip("'\"") for name in INPUT.findall(command)]
        printed = [word for i in verdict.invocations if i.program in PRINTERS for word in i.arguments]
        paths += [_path(folder, name) for folder in folders for name in names]
        paths += [path for folder in folders for name in printed if is_file(path := _path(folder, name))]
    return tuple(dict.fromkeys(paths))


def _moves(invocation: Invocation) -> bool:
    return invocation.program in ("cd", "pushd", "popd")


def _scripts(invocation: Invocation, folder: str) -> Iterator[str]:
    """Yield the program itself when it is no system's, and the file that a shell or interpreter is given.

    An option's value may stand before the file; so all is yielded up to the first word that must be it.
    """
    program, arguments = os.path.basename(invocation.program), invocation.arguments
    if "/" in invocation.program and not invocation.program.startswith(SYSTEM):
        yield invocation.program
    if not (INTERPRETER.fullmatch(program) or program in SHELLS - WRAPPERS):
        return
    for word, before in zip(arguments, ("", *arguments), strict=False):
        if before == "-m":
            yield from (f"{word.replace('.', '/')}.py", f"{word.replace('.', '/')}/__main__.py")
            return
        if _is_code(program, word):
            return
        if word.startswith("-"):
            continue
        yield word
        if "/" in word or "." in word or is_file(_path(folder, word)):
            return


def _is_code(program: str, option: str) -> bool:
    found = CODE.get(program.rstrip("0123456789."))
    return found is not None and found.fullmatch(option) is not None


def _read_by(invocation: Invocation) -> Sequence[str]:
    program = os.path.basename(invocation.program)
    composes = program == "docker" and invocation.arguments[:1] == ("compose",)
    return BEHIND.get("docker-compose" if composes else program, ())


def _named(invocation: Invocation) -> Iterator[str]:
    program = os.path.basename(invocation.program)
    yield from _values(invocation, NAMED.get(program, frozenset()))
    if program in OPERANDS:
        yield from (word for word in invocation.arguments if not word.startswith("-"))


def _values(invocation: Invocation, options: Collection[str]) -> Iterator[str]:
    for word, before in zip(invocation.arguments, ("", *invocation.arguments), strict=False):
        name, equals, value = word.partition("=")
        if before in options:
            yield word
        elif equals and name in options:
            yield value
        elif word[:2] in options and len(word) > 2 and not word.startswith("--"):
            yield word[2:]


def _is_fed(invocation: Invocation, folder: str) -> bool:
    """Whether what a program does may stand in its input."""
    program = os.path.basename(invocation.program)
    if program in FED:
        return True
    if program not in SHELLS and not INTERPRETER.fullmatch(program):
        return False
    return not any(_is_code(program, word) for word in invocation.arguments) and not any(
        True for _ in _scripts(invocation, folder)
    )


def _path(folder: str, name: str) -> Path:
    name = name.replace(HOME, "~")
    return Path(os.path.normpath(Path(folder, os.path.expanduser(name) if name.startswith("~") else name)))


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def fingerprints(paths: Collection[Path]) -> Mapping[str, str] | None:
    """Return SHA-256 by path; None when one of them is no readable regular file of bearable size."""
    found = {}
    for path in paths:
        content = _content(path, LARGEST + 1)
        if content is None or len(content) > LARGEST:
            return None
        found[str(path)] = hashlib.sha256(content).hexdigest()
    return found


def _content(path: Path, most: int) -> bytes | None:
    """Return the first bytes of a regular file; None when it is none, can't be read, or has nothing yet.

    What it is may change under the name, and what says it is regular may never end, as /proc/kmsg: so it is
    opened without waiting, and what was opened is looked at.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        content = bytearray()
        while len(content) < most and (piece := os.read(opened, most - len(content))):
            content += piece
        return bytes(content)
    except OSError:
        return None
    finally:
        os.close(opened)


def seals(paths: Iterable[Path]) -> Mapping[str, str]:
    """Return by path what is there now: the SHA-256 of a file; else, in a word, why there is none.

    What can't be read or is too large to hash is known by size, time and inode.
    """
    found: dict[str, str] = {}
    for path in paths:
        if hashed := fingerprints((path,)):
            found |= hashed
            continue
        try:
            seen = path.stat()
        except (OSError, ValueError) as error:
            found[str(path)] = type(error).__name__
            continue
        if stat.S_ISREG(seen.st_mode):
            found[str(path)] = f"{seen.st_size} {seen.st_mtime_ns} {seen.st_ino}"
        else:
            found[str(path)] = "no file"
    return found


def readable(files: Iterable[str]) -> list[str]:
    """Return those of some paths that are files a person may see; dot files and folders may hold keys."""
    paths = [Path(name) for name in files]
    return [str(path) for path in paths if is_file(path) and not any(part[0] == "." for part in path.parts)]


def head(path: Path) -> str:
    """Return the first lines of a script for a person to read; empty when it is no text."""
    begun = _content(path, 4 * HEAD_CHARS)
    if begun is None or b"\0" in begun:
        return ""
    try:
        size = path.stat().st_size
    except OSError:
        return ""
    lines = begun.decode("utf-8", "replace").splitlines()
    shown = "\n".join(lines[:HEAD_LINES])[:HEAD_CHARS]
    return f"{shown}\n… ({size} bytes)" if size > len(shown.encode()) + 1 else shown
