"""Rules as data: what each program does, by option, operand and sub-command.

A file under `bot/safety/rules/` or an operator's `rules.d/` holds tables of these kinds:

    [program."head tail"]       one table for one or more programs; a program without a table is high
    level = "low"               low, medium or high: a call with nothing else said about it
    reason = "…"                the sentence shown for that level
    options = "-n: --lines= -q" the options that may appear; any other is high
    options = "any"             every option may appear but those named in the tables below …
    values = "-n: --lines="     … and these take a value
    medium = { "writes temporary files" = "-T: --temporary-directory=" }   reason = options, a level up
    high = { "runs another program" = "--compress-program=" }
    read = "-f: --file="        the value is a path whose content is read
    write = "-o: --output="     the value is a path that is written
    operands = "text read"      the role of each operand in turn, the last one for all that follow:
                                text list read write delete host url script command none
    handler = "sed"             Python in bot/safety/programs that judges what data can't say
    output = "number"           what it prints: number, name, path, pass (its input), network, decoded
    before_verb = true          these options stand only before the sub-command
    verbless = "low"            the level without a sub-command
    numbers = true              `-5` is an option
    asks = "-l *, show ..."     whole argument lists that are low whatever else is said: `*` is one word,
                                `...` any number of words, neither of them an option
    dry = "-n --dry-run"        with one of these the level of the program as such does not count
    least = 1                   fewer operands than this are high (it would read a program from its input)
    match = '''high  sort --compress-prog sh big'''     examples: level, command; tests check them

    [program.git.verbs]         sub-commands with nothing to say but their level; `stash list` is two words
    low = "status, stash list"
    medium = { "changes the work tree" = "checkout, stash" }
    high = { "removes files" = "clean" }
    [program.git.verb."log show"]   one table, as for a program, for one or more sub-commands

    [paths] [environment] [network]     see the files of those names

Options are written `-x` without a value, `-x:` with one, `-x?` with one only if attached, `--long`, `--long=`
and `--long=?` likewise, `-word` and `-word=` for programs with one dash. A long option may be abbreviated by
whoever types it: an abbreviation counts as the worst option that it could stand for.
"""

import re
import shlex
import tomllib
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bot.messages import Risk

LEVELS = {"low": Risk.LOW, "medium": Risk.MEDIUM, "high": Risk.HIGH}
ROLES = frozenset("text list read write delete host url script command none".split())
OUTPUTS = frozenset(["number", "name", "path", "pass", "network", "decoded", "any", "safe"])
KEYS = frozenset(
    "level reason options values medium high low read write list operands handler output "
    "least match verbs verb "
    "verb asks dry override verbless numbers before_verb".split()
)
SECTIONS = frozenset(["program", "paths", "environment", "network"])


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one program. `takes` is 0, 1, or 2 for a value only when attached."""

    takes: int
    risk: Risk = Risk.LOW
    reason: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """The compiled table of a program or sub-command."""

    rule: str
    level: Risk
    reason: str
    open: bool
    shorts: Mapping[str, Option]
    longs: Mapping[str, Option]
    roles: tuple[str, ...]
    handler: str
    output: str
    least: int
    danger: Risk
    verbs: "Mapping[str, Spec]"
    deepest: int
    verbless: Risk
    numbers: bool
    asks: tuple[tuple[str, ...], ...] = ()
    dry: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rules:
    """All rules in force.

    Attributes:
        tables: By program name: (raw table, file it came from).
        sections: `paths`, `environment` and `network`: lists of words by key.
        problem: Why the operator's rules could not be read; everything is high while it is set.
        lowered: What the operator's rules made lower than ours, for `/status`.
        own_paths: Files and folders of the bot itself: high to read or write.
        own_services: Units that run the bot: high to touch.
    """

    tables: Mapping[str, tuple[Mapping[str, Any], str]]
    sections: Mapping[str, Mapping[str, tuple[str, ...]]]
    problem: str = ""
    lowered: tuple[str, ...] = ()
    own_paths: tuple[str, ...] = ()
    own_services: tuple[str, ...] = ("kai-bot", "kai")
    compiled: dict[str, Spec] = field(default_factory=dict, compare=False, repr=False)
    cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def program(self, name: str) -> Spec | None:
        """Return the rules of a program; None when there are none, which makes it high."""
        spec = self.compiled.get(name)
        if spec is None and name in self.tables:
            table, source = self.tables[name]
            spec = compile_table(table, f"{source}: program.{name}")
            self.compiled[name] = spec
        return spec

    def words(self, section: str, key: str) -> tuple[str, ...]:
        return self.sections.get(section, {}).get(key, ())


def read_rules(path: Path) -> dict[str, Any]:
    """Read one file.

    Raises:
        ValueError: It is not TOML, or has sections, keys or levels that do not exist.
        OSError: It could not be read.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := tables.keys() - SECTIONS:
        raise ValueError(f"unknown section {min(unknown)!r}")
    return tables


def merge(files: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return programs and sections of several files; a program may appear in one of them only."""
    programs: dict[str, tuple[Mapping[str, Any], str]] = {}
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    for source, tables in files:
        for names, table in tables.get("program", {}).items():
            for name in names.split():
                if name in programs:
                    raise ValueError(f"{name!r} has rules in {programs[name][1]} and {source}")
                programs[name] = (table, source)
        for section in ("paths", "environment", "network"):
            for key, value in tables.get(section, {}).items():
                kept = sections.setdefault(section, {})
                kept[key] = kept.get(key, ()) + tuple(value.split())
    return programs, sections


_HEADER = re.compile(
    r"^\[(program\.(?:\"([^\"]+)\"|([\w\-]+))|paths|environment|network)(?:\.[^\n]*)?\]$", re.MULTILINE
)


class Shelf(Mapping[str, tuple[Mapping[str, Any], str]]):
    """The tables of our own files, each read when it is first asked for: a command needs few of them."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        self.pieces: dict[str, list[str]] = {}
        self.sources: dict[str, str] = {}
        self.keys_by_name: dict[str, str] = {}
        self.read: dict[str, Mapping[str, Any]] = {}
        for source, text in files:
            headers = list(_HEADER.finditer(text))
            for header, following in zip(headers, [*headers[1:], None], strict=True):
                key = header[2] or header[3] or header[1]
                end = following.start() if following else len(text)
                self.pieces.setdefault(key, []).append(text[header.start() : end])
                if header[1].startswith("program."):
                    self.sources[key] = source
                    for name in key.split():
                        self.keys_by_name[name] = key

    def __getitem__(self, name: str) -> tuple[Mapping[str, Any], str]:
        key = self.keys_by_name[name]
        table = self.read.get(key)
        if table is None:
            (table,) = tomllib.loads("".join(self.pieces[key]))["program"].values()
            self.read[key] = table
        return table, self.sources[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_by_name)

    def __len__(self) -> int:
        return len(self.keys_by_name)

    def section(self, name: str) -> dict[str, tuple[str, ...]]:
        values = tomllib.loads("".join(self.pieces.get(name, ()))).get(name, {})
        return {key: tuple(value.split()) for key, value in values.items()}


@cache
def built_in_rules() -> Rules:
    """Find the rules that come with the bot; once a process."""
    folder = Path(__file__).parent / "rules"
    shelf = Shelf((path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml")))
    return Rules(shelf, {name: shelf.section(name) for name in ("paths", "environment", "network")})


def load_rules(
    directory: Path | None = None, *, own_paths: Iterable[str] = (), own_services: Iterable[str] = ()
) -> Rules:
    """Return our rules with the operator's on top; never raises.

    An operator's file adds programs, sub-commands, paths and names, and raises levels. A table for a program
    of ours replaces it only with `override = true`; without, both are asked and the higher one counts.

    Args:
        directory: Holds the operator's `*.toml`, read in the order of their names. It need not exist.
        own_paths: Absolute paths of the bot's state and settings.
        own_services: Names of the units that run the bot.

    Returns:
        Rules whose `problem` is set when a file could not be read; then every command is high.
    """
    base = built_in_rules()
    paths = tuple(own_paths)
    services = base.own_services + tuple(own_services)
    if directory is None:
        return Rules(base.tables, base.sections, own_paths=paths, own_services=services)
    programs: ChainMap[str, tuple[Mapping[str, Any], str]] = ChainMap({}, base.tables)  # type: ignore[arg-type]
    sections = {name: dict(values) for name, values in base.sections.items()}
    lowered: list[str] = []
    try:
        files = sorted(directory.glob("*.toml"))
        for path in files:
            added, more = merge([(path.name, read_rules(path))])
            for name, (table, source) in added.items():
                check_table(table, f"{path.name}: program.{name}")
                if name in programs and not table.get("override"):
                    ours, where = programs[name]
                    programs[name] = ({"both": (ours, where, table, source)}, source)
                else:
                    if name in programs:
                        lowered.append(f"{name} ({source})")
                    programs[name] = (table, source)
            for section, values in more.items():
                for key, words in values.items():
                    kept = sections.setdefault(section, {})
                    kept[key] = kept.get(key, ()) + words
    except (ValueError, OSError, TypeError, AttributeError) as error:
        where = path.name if "path" in locals() else directory.name
        return Rules(
            base.tables,
            base.sections,
            problem=f"the rules in {where} can't be read: {error}",
            own_paths=paths,
            own_services=services,
        )
    return Rules(programs, sections, lowered=tuple(lowered), own_paths=paths, own_services=services)


def check_table(table: Mapping[str, Any], where: str) -> None:
    """Compile a table and its sub-commands for the errors alone.

    Raises:
        ValueError: A key, level, role or option that does not exist.
    """
    compile_table(table, where)


def examples(table: Mapping[str, Any]) -> list[tuple[Risk, str]]:
    """Return the examples of a table: (level, command), in the order written."""
    found: list[tuple[Risk, str]] = []
    for line in str(table.get("match", "")).strip().splitlines():
        level, _, command = line.strip().partition(" ")
        found.append((LEVELS[level], command.strip()))
    for sub in table.get("verb", {}).values():
        found += examples(sub)
    return found


def compile_table(table: Mapping[str, Any], rule: str, parent: Mapping[str, Any] | None = None) -> Spec:
    if "both" in table:
        ours, where, theirs, source = table["both"]
        name = rule.rpartition("program.")[2]
        return merge_specs(
            compile_table(ours, f"{where}: program.{name}"),
            compile_table(theirs, f"{source}: program.{name}"),
        )
    if unknown := table.keys() - KEYS:
        raise ValueError(f"{rule}: unknown key {min(unknown)!r}")
    level = read_level(table.get("level", "high"), rule)
    shorts: dict[str, Option] = {}
    longs: dict[str, Option] = {}

    def add(text: str, risk: Risk, reason: str, role: str) -> None:
        for token in text.split():
            name, takes = split_option(token)
            option = Option(takes, risk, reason, role)
            if len(name) == 2 and name[0] == "-" and name != "--":
                shorts[name[1]] = option
            else:
                longs[name] = option

    if parent is not None and not parent.get("before_verb"):
        compile_options(parent, add)
    compile_options(table, add)
    roles = tuple(str(table.get("operands", "text")).split())
    if unknown := set(roles) - ROLES:
        raise ValueError(f"{rule}: unknown role {min(unknown)!r}")
    output = str(table.get("output", "any"))
    if output not in OUTPUTS:
        raise ValueError(f"{rule}: unknown output {output!r}")
    verbs: dict[str, Spec] = {}
    for key, risk in LEVELS.items():
        named = table.get("verbs", {}).get(key, {})
        groups = {"": named} if isinstance(named, str) else named
        for reason, text in groups.items():
            sub = {"level": key, "reason": reason or table.get("reason", ""), "options": "any"}
            spec = compile_table(sub, rule, table)
            for verb in text.split(","):
                verbs[" ".join(verb.split())] = spec
            assert spec.level is risk
    for names, sub in table.get("verb", {}).items():
        for verb in names.split(","):
            verb = " ".join(verb.split())
            verbs[verb] = compile_table(sub, f"{rule}.{verb}", table)
    dangers = [option.risk for option in (*shorts.values(), *longs.values())]
    if any(option.role == "write" for option in (*shorts.values(), *longs.values())):
        dangers.append(Risk.HIGH)
    is_open = table.get("options") == "any"
    return Spec(
        rule=rule,
        level=level,
        reason=str(table.get("reason", "")),
        open=is_open,
        shorts=shorts,
        longs=longs,
        roles=roles,
        handler=str(table.get("handler", "")),
        output=output,
        least=int(table.get("least", 0)),
        danger=max(dangers, default=Risk.LOW) if is_open else Risk.HIGH,
        verbs=verbs,
        deepest=max((verb.count(" ") + 1 for verb in verbs), default=0),
        verbless=read_level(table.get("verbless", "low" if level is Risk.LOW else "high"), rule),
        numbers=bool(table.get("numbers", False)),
        dry=frozenset(str(table.get("dry", "") or (parent or {}).get("dry", "")).split()),
        asks=tuple(tuple(line.split()) for line in str(table.get("asks", "")).split(",") if line.strip()),
    )


def compile_options(table: Mapping[str, Any], add: Any) -> None:
    if table.get("options") != "any":
        add(str(table.get("options", "")), Risk.LOW, "", "")
    add(str(table.get("values", "")), Risk.LOW, "", "")
    for role in ("read", "write", "list"):
        add(str(table.get(role, "")), Risk.LOW, "", role)
    for key, risk in (("medium", Risk.MEDIUM), ("high", Risk.HIGH)):
        for reason, text in table.get(key, {}).items():
            add(text, risk, reason, "")


def merge_specs(ours: Spec, theirs: Spec) -> Spec:
    """Return a spec that is never lower than either."""

    def worse(one: Mapping[str, Option], two: Mapping[str, Option]) -> dict[str, Option]:
        both = dict(one)
        for name, option in two.items():
            if name not in both:
                both[name] = (
                    option if ours.open or option.risk else Option(option.takes, Risk.HIGH, "unknown option")
                )
            elif option.risk > both[name].risk:
                both[name] = option
        return both

    verbs = dict(ours.verbs)
    for name, spec in theirs.verbs.items():
        verbs[name] = merge_specs(verbs[name], spec) if name in verbs else spec
    higher = theirs if theirs.level > ours.level else ours
    return Spec(
        rule=f"{ours.rule} + {theirs.rule}",
        level=higher.level,
        reason=higher.reason,
        open=ours.open,
        shorts=worse(ours.shorts, theirs.shorts),
        longs=worse(ours.longs, theirs.longs),
        roles=ours.roles,
        handler=ours.handler,
        output=ours.output,
        least=max(ours.least, theirs.least),
        danger=max(ours.danger, theirs.danger),
        verbs=verbs,
        deepest=max(ours.deepest, theirs.deepest),
        verbless=max(ours.verbless, theirs.verbless),
        numbers=ours.numbers,
    )


def read_level(value: object, rule: str) -> Risk:
    if value not in LEVELS:
        raise ValueError(f"{rule}: unknown level {value!r}")
    return LEVELS[str(value)]


_OPTION = re.compile(r"(--?[^=:?]*)(=\?|=|:|\?)?")


def split_option(token: str) -> tuple[str, int]:
    match = _OPTION.fullmatch(token)
    if match is None or match[1] == "-":
        raise ValueError(f"{shlex.quote(token)} is not an option")
    return match[1], {None: 0, "=": 1, ":": 1, "?": 2, "=?": 2}[match[2]]
