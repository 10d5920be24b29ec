"""Judges one program with its arguments by the rules of that program."""

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety import network, paths
from bot.safety.flow import NOTHING, Flow
from bot.safety.rules import Option, Rules, Spec
from bot.safety.words import ANY, HOME, NAME, NUM, PATH, SPLIT, is_literal, may_be_option, show

if TYPE_CHECKING:
    from bot.safety.scan import Scan

Handler = Callable[["Call"], Flow | None]
HANDLERS: dict[str, Handler] = {}
RAW: set[str] = set()

_PLAIN_PROGRAM = re.compile(r"[A-Za-z0-9_./+\-\[:@,~]+")
_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"])


@dataclass(slots=True)
class Call:
    """One program about to be judged.

    Attributes:
        program: Its base name.
        args: All words after the program, or after the sub-command.
        options: (name as in the rules, value or None), in the order written.
        operands: What is left when options are taken out, in the order written.
        rest: The command that the program would start, for `operands = "… command"`.
        verb: The sub-command, empty when the program has none.
        source: The fragment of the command this was read from.
    """

    scan: "Scan"
    spec: Spec
    program: str
    args: list[str]
    stdin: Flow
    source: str
    verb: str = ""
    options: list[tuple[str, str | None]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    globals: list[tuple[str, str | None]] = field(default_factory=list)
    cleared: bool = False

    def clear(self) -> None:
        """Say that this call only asks: the level of the program as such does not count, only findings do."""
        self.cleared = True

    def find(self, risk: Risk, sentence: str, fragment: str | None = None) -> None:
        self.scan.find(risk, sentence, self.source if fragment is None else show(fragment), self.spec.rule)

    def high(self, sentence: str, fragment: str | None = None) -> None:
        self.find(Risk.HIGH, sentence, fragment)

    def medium(self, sentence: str, fragment: str | None = None) -> None:
        self.find(Risk.MEDIUM, sentence, fragment)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def value(self, *names: str) -> str | None:
        """Return the value of the last of these options; None when none is given."""
        found = None
        for name, value in self.options:
            if name in names and value is not None:
                found = value
        return found

    def read(self, path: str) -> None:
        paths.judge_read(self.scan, path)

    def read_tree(self, path: str) -> None:
        paths.judge_tree_read(self.scan, path)

    def write(self, path: str, verb: str = "writes") -> None:
        self.scan.write(path, verb)

    def run(self, argv: Sequence[str], stdin: Flow | None = None) -> Flow:
        """Judge a command that this program starts."""
        if not argv:
            return NOTHING
        return self.scan.judge(list(argv), self.stdin if stdin is None else stdin, self.source)


def handles(*names: str, raw: bool = False) -> Callable[[Handler], Handler]:
    """Register a handler under the names that rules use. A raw one reads the arguments itself."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
            if raw:
                RAW.add(name)
        return handler

    return register


def judge(scan: "Scan", argv: Sequence[str], stdin: Flow, source: str) -> Flow:
    """Add to the scan's findings what this program may do; return what it prints."""
    if not argv:
        scan.find(Risk.HIGH, "program name is computed at run time", source, "program.computed")
        return NOTHING
    program, args = argv[0], list(argv[1:])
    scan.record(program, args, source)
    if not is_literal(program) or HOME in program[1:]:
        scan.find(Risk.HIGH, "program name is computed at run time", source, "program.computed")
        return NOTHING
    if not _PLAIN_PROGRAM.fullmatch(program.replace(HOME, "~")):
        sentence = (
            "hidden or look-alike characters" if not program.isascii() else "a program name that is not plain"
        )
        scan.find(Risk.HIGH, sentence, source, "program.name")
        return NOTHING
    name = program
    if "/" in program or HOME in program:
        located = locate(scan, program, args, source)
        if located is None:
            return Flow("pipe")
        name = located
    elif scan.defines(program):
        return Flow("pipe")
    spec = find_spec(scan.rules, name)
    if spec is None:
        scan.find(Risk.HIGH, "unknown program", source, "program.unknown")
        return NOTHING
    return judge_spec(scan, spec, name, args, stdin, source)


_VERSIONED = re.compile(
    r"(python|pip|perl|ruby|php|node|lua|gcc|g\+\+|clang|java|llvm-\w+|postgres|psql)-?[0-9][0-9.]*"
)


def find_spec(rules: Rules, name: str) -> Spec | None:
    spec = rules.program(name)
    if spec is None and (match := _VERSIONED.fullmatch(name)):
        spec = rules.program(match[1])
    return spec


def locate(scan: "Scan", program: str, args: Sequence[str], source: str) -> str | None:
    """Return the name under which a path is judged; None when it has been judged already."""
    rules = scan.rules
    trusted = paths.path_pattern(rules, "trusted")
    relative = not program.startswith("/")
    spots = paths.canonical(program, scan.folders)
    base = program.rpartition("/")[2]
    if not relative and len(spots) == 1 and trusted.match(spots[0]) and not written_by_others(spots[0]):
        return base
    if any(scan.is_new(spot) for spot in spots):
        scan.find(Risk.HIGH, "runs a file that this command has just written", source, "program.path")
        return None
    inside = (
        relative
        and HOME not in program
        and all(not spot.startswith(("..", ANY, "/")) or scan.is_workspace(spot) for spot in spots)
    )
    if base in _SHELLS:
        scan.find(Risk.HIGH, "runs a program from an untrusted folder", source, "program.path")
        return None
    match = re.search(r"(?:^|/)\.?(?:venv|env|virtualenv)/bin/([\w.\-]+)\Z", program)
    if (match or re.search(r"(?:^|/)node_modules/\.bin/[\w.\-]+\Z", program)) and find_spec(rules, base):
        scan.find(Risk.MEDIUM, "runs a program from the project", source, "program.path")
        return base
    if inside and base in ("gradlew", "mvnw"):
        scan.find(Risk.MEDIUM, "runs a program from the project", source, "program.path")
        return base
    if inside and find_spec(rules, base) is None:
        scan.find(Risk.MEDIUM, "runs a program from the project", source, "program.path")
        for word in args:
            if not word.startswith("-"):
                paths.judge_read(scan, word) if is_literal(word) else None
        return None
    scan.find(Risk.HIGH, "runs a program from an untrusted folder", source, "program.path")
    return None


def written_by_others(path: str) -> bool:
    """Whether somebody other than root could have put this program where it is."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_uid != 0 or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def judge_spec(
    scan: "Scan",
    spec: Spec,
    program: str,
    args: list[str],
    stdin: Flow,
    source: str,
    verb: str = "",
    *,
    cleared: bool = False,
) -> Flow:
    """Judge a program or sub-command by one table, whose own level does not count when `cleared`."""
    scan.budget.spend(10 + len(args) + sum(map(len, args)) // 32)
    call = Call(scan, spec, program, args, stdin, source, verb, cleared=cleared)
    if args and args[-1] in ("--help", "--version") and only_verbs(spec, args[:-1]):
        return Flow("pipe", safe=True)
    if spec.asks and any(only_asks(args, pattern) for pattern in spec.asks):
        return Flow("pipe", taints=frozenset(["data"]))
    if spec.verbs:
        return judge_verb(call)
    if spec.handler in RAW:
        flow = HANDLERS[spec.handler](call) or Flow("pipe")
        find_level(call)
        return flow
    parse_options(call, spec, args)
    if spec.roles:
        judge_operands(call)
    if spec.dry and any(name in spec.dry and value not in ("none", "false") for name, value in call.options):
        call.clear()
    handled = HANDLERS[spec.handler](call) if spec.handler else None
    find_level(call)
    if spec.level is Risk.MEDIUM and spec.roles == ("text",) and spec.handler in _PATHLESS:
        find_protected(call, [*(value for _, value in call.options), *call.operands])
    if handled is not None:
        return handled
    if call.rest:
        return call.run(call.rest)
    return printed(call)


def only_asks(args: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a whole argument list is one that the rules know to change nothing."""
    if pattern[-1] == "...":
        head = len(pattern) - 1
        if len(args) < head or not all(is_plain(word) for word in args[head:]):
            return False
        pattern, args = pattern[:head], args[:head]
    if len(args) != len(pattern):
        return False
    return all(
        is_plain(word) if wanted == "*" else word == wanted
        for word, wanted in zip(args, pattern, strict=True)
    )


def is_plain(word: str) -> bool:
    return bool(word) and word[0] != "-" and not may_be_option(word)


# Handlers that leave open what a path among the arguments is for.
_PATHLESS = frozenset(["", "serve", "make", "install", "go"])


def find_protected(call: Call, values: Sequence[str | None]) -> None:
    """A program that changes something, given a protected path: that may well be what changes."""
    for value in values:
        if value and value.startswith(("/", "~", HOME, "..")) and is_literal(value):
            for spot in paths.canonical(value, call.scan.folders):
                if paths.is_protected(paths.in_workspace(spot, call.scan.start), call.scan.rules):
                    call.high("may change a protected path", value)


def find_level(call: Call) -> None:
    """Find what the rules say of the program as such."""
    level = call.spec.level
    if level and not call.cleared:
        sentence = call.spec.reason or f"{call.program} can do harm"
        call.find(level, sentence)


def only_verbs(spec: Spec, args: Sequence[str]) -> bool:
    if not args:
        return True
    return " ".join(args) in spec.verbs or (
        len(args) == 1 and any(verb.startswith(args[0] + " ") for verb in spec.verbs)
    )


def judge_verb(call: Call) -> Flow:
    """Find the sub-command and judge by its own rules."""
    spec, args = call.spec, call.args
    rest = parse_options(call, spec, args, until_operand=True)
    call.globals = list(call.options)
    if not rest:
        if spec.verbless and not any(
            name in ("--version", "--help", "-h", "-V", "-v", "version", "help") for name, _ in call.options
        ):
            call.find(spec.verbless, spec.reason or f"{call.program} without a sub-command")
        elif spec.handler and spec.handler not in RAW:
            return HANDLERS[spec.handler](call) or Flow("pipe")
        return Flow("pipe")
    for length in range(min(spec.deepest, len(rest)), 0, -1):
        verb = " ".join(rest[:length])
        found = spec.verbs.get(verb)
        if found is not None:
            if found.level is Risk.MEDIUM:
                find_protected(call, [value for _, value in call.globals])
            dry = any(name in spec.dry for name, _ in call.globals)
            tail = rest[length:]
            flow = judge_spec(
                call.scan, found, call.program, tail, call.stdin, call.source, verb, cleared=dry
            )
            if spec.handler and spec.handler not in RAW:
                call.verb, call.operands = verb, tail
                HANDLERS[spec.handler](call)
            return flow
    word = rest[0]
    if not is_literal(word):
        call.high(f"the sub-command of {call.program} is computed at run time")
    else:
        call.high(f"unknown sub-command of {call.program}: {show(word)}")
    return Flow("pipe")


def parse_options(call: Call, spec: Spec, args: Sequence[str], *, until_operand: bool = False) -> list[str]:
    """Sort words into options and operands; find what the options do.

    Returns what follows the first operand, that one included, when `until_operand`.
    """
    carries = "command" in spec.roles
    before_command = spec.roles.index("command") if carries else 0
    index, end = 0, len(args)
    while index < end:
        word = args[index]
        index += 1
        if word == "--":
            call.operands += args[index:]
            if carries:
                split_rest(call, before_command)
            return list(args[index:]) if until_operand else []
        if len(word) < 2 or word[0] not in "-" + ANY + SPLIT:
            if SPLIT in word and spec.danger and word[0] != "-":
                call.find(spec.danger, f"options of {call.program} could come from computed text", word)
            if until_operand:
                return list(args[index - 1 :])
            call.operands.append(word)
            if carries and len(call.operands) > before_command:
                call.operands += args[index:]
                split_rest(call, before_command)
                return []
            if word[:1] and word[0] in ANY + SPLIT and spec.danger:
                call.find(spec.danger, f"options of {call.program} could come from computed text", word)
            continue
        if word[0] != "-":
            if spec.danger:
                call.find(spec.danger, f"options of {call.program} could come from computed text", word)
            if until_operand:
                return list(args[index - 1 :])
            call.operands.append(word)
            continue
        following = args[index] if index < end else None
        used = read_option(call, spec, word, following)
        index += used
    if until_operand:
        return []
    if carries:
        split_rest(call, before_command)
    return []


def split_rest(call: Call, before: int) -> None:
    call.rest = call.operands[before:]
    call.operands = call.operands[:before]


def read_option(call: Call, spec: Spec, word: str, following: str | None) -> int:
    """Judge one word of options; return how many of the following words it takes."""
    name, equals, attached = word.partition("=")
    option = spec.longs.get(name)
    if option is not None:
        if option.takes == 1 and not equals:
            use(call, name, option, following)
            return 1
        use(call, name, option, attached if equals else None)
        return 0
    if word.startswith("--"):
        if not is_literal(name):
            call.find(
                max(spec.danger, Risk.MEDIUM), f"an option of {call.program} is computed at run time", word
            )
            return 0
        nearest = [other for other in spec.longs if other.startswith(name) and len(other) > 2]
        worst = max(
            (spec.longs[other] for other in nearest),
            key=lambda item: (item.risk, bool(item.role)),
            default=None,
        )
        if worst is not None and (worst.risk or worst.role):
            use(call, nearest[0], worst, attached if equals else following, shown=word)
            return 1 if worst.takes == 1 and not equals else 0
        if not spec.open:
            call.high(f"unknown option {show(name)} of {call.program}")
        elif equals:
            judge_value(call, attached)
        call.options.append((name, attached if equals else None))
        return 0
    letters = word[1:]
    if spec.numbers and letters.isdigit():
        return 0
    for index, letter in enumerate(letters):
        option = spec.shorts.get(letter)
        if option is None:
            if spec.open and letter.isdigit():
                return 0
            if not spec.open or letter in (ANY, SPLIT):
                call.find(
                    Risk.HIGH if not spec.open else spec.danger,
                    f"unknown option -{show(letter)} of {call.program}",
                    word,
                )
                return 0
            call.options.append(("-" + letter, None))
            continue
        tail = letters[index + 1 :]
        if option.takes == 1:
            use(call, "-" + letter, option, tail or following)
            return 0 if tail else 1
        if option.takes == 2:
            use(call, "-" + letter, option, tail or None)
            return 0
        use(call, "-" + letter, option, None)
    return 0


def use(call: Call, name: str, option: Option, value: str | None, shown: str = "") -> None:
    call.options.append((name, value))
    if option.risk:
        call.find(option.risk, option.reason, f"{call.program} {shown or name}{' ' + value if value else ''}")
    if value is not None:
        match option.role:
            case "read":
                call.read(value)
            case "write":
                call.write(value)
            case "list":
                pass
            case _:
                judge_value(call, value)


def judge_value(call: Call, value: str) -> None:
    """An option nobody described may still name a credential file."""
    if is_literal(value) and ("/" in value or value.startswith((".", "~", "@"))):
        call.read(value.lstrip("@"))


def judge_operands(call: Call) -> None:
    spec = call.spec
    roles = spec.roles
    operands = call.operands
    if len(operands) < spec.least and not call.rest:
        call.high(f"{call.program} would take its commands from its input")
    for index, word in enumerate(operands):
        match roles[min(index, len(roles) - 1)]:
            case "read":
                call.read(word)
            case "write":
                call.write(word)
            case "delete":
                call.write(word, "deletes")
            case "host":
                network.judge_host(call.scan, word)
            case "url":
                network.judge_url(call.scan, word)
            case "none":
                call.high(f"an argument that {call.program} should not get", word)
            case _:
                pass


def printed(call: Call) -> Flow:
    """Return what the program prints, by its rules."""
    reads_files = [
        word for word, role in zip(call.operands, spread(call.spec.roles), strict=False) if role == "read"
    ]
    taints = frozenset(["data"]) if reads_files else call.stdin.taints
    match call.spec.output:
        case "number":
            return Flow("pipe", line=NUM, safe=True)
        case "name":
            return Flow("pipe", line=NAME, taints=taints)
        case "path":
            return Flow("pipe", line=PATH)
        case "safe":
            return Flow("pipe", line=ANY, safe=True)
        case "network":
            return Flow("pipe", taints=taints | {"network"})
        case "decoded":
            return Flow("pipe", taints=taints | {"decoded"})
        case "pass":
            if reads_files:
                return Flow("pipe", taints=taints)
            return Flow("pipe", line=call.stdin.line, taints=taints, safe=call.stdin.safe)
        case _:
            return Flow("pipe", taints=taints)


def spread(roles: Sequence[str]) -> "list[str]":
    return list(roles) + [roles[-1]] * 64 if roles else []
