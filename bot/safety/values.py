"""Words and variables: what they come to, as far as the command says."""

import fnmatch
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety import tree, words
from bot.safety.budget import LONGEST_VALUE, Budget, TooTangledError
from bot.safety.flow import NOTHING, Flow
from bot.safety.rules import Rules
from bot.safety.verdict import Finding, Invocation
from bot.safety.words import (
    ANY,
    BRACKET,
    HOME,
    NAME,
    NUM,
    OPEN,
    PATH,
    SPLIT,
    STAR,
    is_literal,
    is_unknown,
    show,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_INVOCATIONS = 40
MOST_VALUES = 12  # of one variable that are followed one by one
MOST_ARGUMENT_LISTS = 24

_LOST = re.compile(r"(?<!\\)(?:\\\\)*\$[\w@*#?$!\-({\[]")
# What the running shell puts something in place of.
_EXPANSIONS = frozenset(
    "simple_expansion expansion command_substitution process_substitution arithmetic_expansion "
    "brace_expression translated_string".split()
)

Fields = tuple[str, ...]
Values = list[Fields]


def clip(fragment: str, longest: int = 90) -> str:
    """Return the fragment on one line, its middle cut out when it is long."""
    text = " ".join(fragment.split())
    if len(text) <= longest:
        return text
    return f"{text[: longest - 25]} … {text[-20:]}"


class Reader(ABC):
    """What is known while one command is read. Findings pile up; nothing is ever taken back."""

    def __init__(
        self, rules: Rules, folders: Sequence[str], depth: int = 0, budget: Budget | None = None
    ) -> None:
        self.rules = rules
        self.budget = budget or Budget()
        self.folders = list(folders)
        self.start = self.folders[0]
        self.depth = depth
        self.findings: list[Finding] = []
        self.invocations: list[Invocation] = []
        self.hosts: list[str] = []
        self.written: set[str] = set()  # paths written so far, for what is run later
        self.substitutions: dict[int, Flow] = {}
        self.looking_up: set[str] = set()
        self.function: str = ""
        self.looping = 0
        self.exact = True  # whether every expansion and every target of a redirection is known
        self.at = 0  # where the command being judged starts
        self.survey = tree.Survey()
        self.data = b""
        self.root: Node | None = None

    @abstractmethod
    def run_all(self, children: "Iterable[Node]", stdin: Flow) -> Flow:
        """Judge statements one after the other; return what they print."""

    @abstractmethod
    def redirect(self, node: "Node", source: str, truncates: list[str] | None = None) -> Flow | None:
        """Judge a redirection; return the new input when it is one."""

    # findings

    def find(self, risk: Risk, sentence: str, fragment: str, rule: str) -> None:
        finding = Finding(risk, sentence, clip(fragment), rule)
        self.budget.spend(1 + len(self.findings) // 16)
        if finding not in self.findings:
            self.findings.append(finding)

    def talk_to(self, host: str) -> None:
        if host not in self.hosts:
            self.hosts.append(host)

    def record(self, program: str, arguments: Sequence[str], source: str) -> None:
        self.budget.spend(4 + len(arguments) // 2)
        literal = is_literal(program) and all(is_literal(word) for word in arguments)
        shown = program if is_literal(program) else "<computed>"
        invocation = Invocation(shown, tuple(show(word) for word in arguments), literal, source)
        if invocation not in self.invocations:
            self.invocations.append(invocation)
            if len(self.invocations) > MOST_INVOCATIONS:
                self.find(Risk.HIGH, "too many programs to judge at a glance", "", "tree.size")
                raise TooTangledError

    def defines(self, name: str) -> bool:
        """Whether a function of that name certainly exists where the current command starts."""
        for node in self.survey.functions.get(name, ()):
            start, end = tree.scope(node)
            if node.end_byte <= self.at and start <= self.at < end:
                return True
        return False

    def is_workspace(self, path: str) -> bool:
        """Whether a path lies in the folder the command starts in."""
        home = self.start
        return home.startswith("/") and path.startswith(home.rstrip("/") + "/")

    # variables

    def assign(self, node: "Node", *, exported: bool) -> tuple[str, Values]:
        named = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        name = tree.text(named) if named is not None else ""
        if named is not None and named.type == "subscript":
            inner = named.child_by_field_name("name")
            index = named.child_by_field_name("index")
            name = tree.text(inner) if inner is not None else name
            if index is not None and tree.text(index) not in ("@", "*"):
                self.compute(index)
        values: Values = [("",)]
        if value is not None:
            values = self.array(value) if value.type == "array" else self.value(value, quoted=True)
        self.check_variable(name, values, tree.text(node))
        return name, values

    def array(self, node: "Node") -> Values:
        fields: list[str] = []
        for child in node.children[1:-1]:
            if not child.is_named and tree.text(child).strip():
                fields.append(SPLIT)
            elif child.is_named and child.type != "comment":
                values = self.value(child)
                fields += values[0] if len(values) == 1 else collapse(values)
                if any(re.match(r"\[.*[$`(].*\]", word) for word in fields):
                    self.find(Risk.HIGH, "evaluates text as an index", tree.text(child), "shell.array")
        return [tuple(fields)]

    def check_variable(self, name: str, values: Values, source: str, *, reading: bool = False) -> None:
        """Find what giving a variable a value changes for the programs started later."""
        rules = self.rules
        self.budget.spend(10)
        if name in rules.words("environment", "computed") and not all(
            re.fullmatch(f"[0-9{NUM}]*", " ".join(fields)) for fields in values
        ):
            self.find(Risk.HIGH, "evaluates text as a number", source, "environment.computed")
        if matches(name, rules.words("environment", "harmless")):
            return
        if name in rules.words("environment", "pagers"):
            plain = rules.words("environment", "plain_pager")
            if all(fields == ("",) or " ".join(fields) in plain for fields in values):
                return
        if matches(name, rules.words("environment", "dangerous")):
            if name == "IFS" and all(set("".join(fields)) <= set(" \t\n,:;|=/") for fields in values):
                return
            self.find(
                Risk.HIGH, f"changes which code runs later, through ${name}", source, "environment.dangerous"
            )
        elif reading and matches(name, rules.words("environment", "secret")):
            self.find(Risk.MEDIUM, f"hands ${name} to programs", source, "environment.secret")

    def prefix(self, node: "Node") -> None:
        """Judge `NAME=value` before a program."""
        name, _ = self.assign(node, exported=True)
        rules = self.rules
        if matches(name, rules.words("environment", "harmless")) or name in rules.words(
            "environment", "pagers"
        ):
            return
        if not matches(name, rules.words("environment", "dangerous")):
            self.find(Risk.MEDIUM, f"sets ${name} for a program", tree.text(node), "environment.other")

    def lookup(self, name: str, use: "Node", unset: str = ANY) -> Values:
        """Return the values a variable may have where it is used.

        Args:
            unset: What to take for a variable that nobody set in this command.
        """
        known: Values
        self.budget.spend(2)
        if name in ("HOME",):
            known = [(HOME,)]
        elif name in ("PWD", "OLDPWD"):
            known = [(".",)] if name == "PWD" else [(PATH,)]
        elif name == "SHELL":
            known = [("/bin/bash",)]
        elif name == "TMPDIR":
            known = [("/tmp",)]  # noqa: S108
        elif name in "?#$!" or name in self.rules.words("environment", "numbers"):
            known = [(NUM,)]
        elif name == "0":
            known = [("bash",)]
        elif name == "-" or name in self.rules.words("environment", "names"):
            known = [(NAME,)]
        elif name.isdigit() or name in "@*":
            return self.lookup_argument(name)
        else:
            known = [(unset,)]
        assignments = self.survey.assignments.get(name)
        if not assignments:
            self.exact = False  # also what we take for granted, such as $HOME, is only known when it runs
            return known
        if name in self.looking_up:
            return [(ANY,)]
        self.looking_up.add(name)
        values: Values = []
        certain = False
        for assignment in assignments:
            self.budget.spend(2)
            start, end = assignment.scope
            certain = certain or (
                assignment.end <= use.start_byte and start <= use.start_byte and use.end_byte <= end
            )
            values += self.assigned(assignment)
        self.looking_up.discard(name)
        if not certain:
            self.exact = False
            values += known
        unique = list(dict.fromkeys(values))
        return unique if len(unique) <= MOST_VALUES else [tuple(collapse(unique))]

    def assigned(self, assignment: tree.Assignment) -> Values:
        match assignment.kind:
            case "number":
                return [(NUM,)]
            case "word":
                if assignment.value is None:
                    return [("",)]
                return [(" ".join(fields),) for fields in self.value(assignment.value, quoted=True)]
            case "array":
                return self.array(assignment.value) if assignment.value is not None else [()]
            case "loop":
                found: Values = []
                for node in assignment.values:
                    found += [(field,) for fields in self.value(node) for field in fields]
                return found or [("",)]
            case _:
                return [(ANY,)]

    def lookup_argument(self, name: str) -> Values:
        """Return what `$1` or `$@` may be: inside a function, what it is called with."""
        if not self.function or name in self.looking_up or self.depth_of_calls() > 2:
            return [(ANY,)] if name.isdigit() else [(SPLIT,)]
        calls = self.survey.calls.get(self.function, [])
        if not calls or len(calls) > MOST_VALUES:
            return [(ANY,)] if name.isdigit() else [(SPLIT,)]
        function, self.function = self.function, ""
        self.looking_up.add("call " + function)
        values: Values = []
        for call in calls:
            fields: list[str] = []
            for child in call.children:
                if child.type in ("command_name", "variable_assignment") or child.type.endswith("redirect"):
                    continue
                options = self.value(child)
                fields += options[0] if len(options) == 1 else [SPLIT]
            if name.isdigit():
                index = int(name) - 1
                if any(SPLIT in field for field in fields[: index + 1]):
                    values.append((ANY,))
                else:
                    values.append((fields[index] if 0 <= index < len(fields) else "",))
            else:
                values.append(tuple(fields))
        self.looking_up.discard("call " + function)
        self.function = function
        return list(dict.fromkeys(values))

    def depth_of_calls(self) -> int:
        return sum(name.startswith("call ") for name in self.looking_up)

    def reveal(self, name: str, source: str) -> None:
        """A variable nobody set in this command comes from the environment, where keys live."""
        if name not in self.survey.assignments and matches(name, self.rules.words("environment", "secret")):
            self.find(Risk.HIGH, "uses a variable that may hold a key", source, "environment.secret")

    # words

    def value(self, node: "Node", *, quoted: bool = False) -> Values:
        """Return the lists of words that a piece of text may become; one list for each possible value.

        Args:
            quoted: No word splitting: inside double quotes, or the right side of an assignment.
        """
        self.budget.spend(2)
        kind = node.type
        values = self.read_value(node, kind, quoted)
        if kind in _EXPANSIONS and (len(values) != 1 or not all(map(is_literal, values[0]))):
            self.exact = False
        return values

    def read_value(self, node: "Node", kind: str, quoted: bool) -> Values:
        if kind in ("word", "number", "test_operator", "file_descriptor", "heredoc_start"):
            text = tree.text(node)
            if node.children:  # a number can hold an expansion
                return self.joined(node, quoted)
            if "$" in text and _LOST.search(text.replace("\\$", "")):
                self.exact = False  # the grammar takes `$#z` after `${x-` for text
                return [(ANY if quoted else SPLIT,)]
            return self.finish(words.read_unquoted(text), quoted)
        if kind == "raw_string":
            return [(tree.text(node)[1:-1],)]
        if kind == "string":
            return self.string(node)
        if kind == "simple_expansion":
            return self.simple_expansion(node, quoted)
        if kind == "expansion":
            return self.expansion(node, quoted)
        if kind == "command_substitution":
            return self.substitution_words(node, quoted)
        if kind == "concatenation":
            return self.joined(node, quoted)
        if kind == "ansi_c_string":
            if "\\x{" in tree.text(node):  # not in bash's manual, but in bash
                self.find(Risk.HIGH, "hidden control characters", tree.text(node), "words.control")
                return [(ANY,)]
            text = words.read_ansi_c(tree.text(node)[2:-1])
            if words.RESERVED & set(text):
                self.find(Risk.HIGH, "hidden control characters", tree.text(node), "words.control")
                return [(ANY,)]
            return [(text,)]
        if kind == "arithmetic_expansion":
            for child in node.children:
                if child.is_named:
                    self.compute(child)
            return [(NUM,)]
        if kind == "process_substitution":
            return self.process_substitution(node)
        if kind == "brace_expression":
            return self.finish(words.read_unquoted(tree.text(node)), quoted)
        if kind == "translated_string":
            return self.value(node.children[-1], quoted=True)
        if kind == "array":
            return self.array(node)
        if not node.is_named:
            return [(tree.text(node),)]
        if kind in ("regex", "extglob_pattern", "variable_name", "special_variable_name", "subscript"):
            self.value_inside(node)
            return [(tree.text(node) if kind == "variable_name" else ANY,)]
        self.find(Risk.HIGH, "shell syntax that is not understood", tree.text(node), "tree." + kind)
        return [(ANY,)]

    def value_inside(self, node: "Node") -> None:
        """Judge the programs inside a piece of text whose value does not matter."""
        for child in node.children:
            if child.is_named:
                if child.type in ("regex", "extglob_pattern"):
                    self.budget.spend()
                    self.value_inside(child)
                else:
                    self.value(child, quoted=True)

    def finish(self, text: str, quoted: bool) -> Values:
        """Return an unquoted word after brace, tilde and glob characters have been read."""
        self.budget.spend(1 + len(text) // 256)
        if not quoted and OPEN in text:
            self.budget.spend(text.count(OPEN) * (1 + len(text) // 256) * 8)
            # An empty one is no word, unless quotes stood there.
            expanded = [word or SPLIT for word in words.expand_braces(text)]
        elif OPEN in text or "\x0f" in text or "\x10" in text:
            expanded = [text.replace(OPEN, "{").replace("\x0f", ",").replace("\x10", "}")]
        else:
            expanded = [text]
        fields = []
        for word in expanded:
            if BRACKET in word:
                word = words.mark_sets(word)
            if word[:1] == "~":
                if word == "~" or word[1] in "/:":
                    word = HOME + word[1:]
                elif not re.match(r"~[A-Za-z_+\-]", word):
                    pass  # nobody's name
                elif word[1:2] not in ("+", "-"):
                    user = re.split("[/:]", word[1:], maxsplit=1)[0]
                    word = ("/root" if user == "root" else "/home/" + user) + word[1 + len(user) :]
                else:
                    word = PATH
            fields.append(word)
        return [tuple(fields)]

    def joined(self, node: "Node", quoted: bool) -> Values:
        """Return the values of adjacent pieces that make one word."""
        found: Values = [("",)]
        several = False
        for child in node.children:
            if (
                child.type in ("word", "number", "extglob_pattern", "regex", "test_operator")
                and not child.children
            ):
                pieces: Values = [(words.read_unquoted(tree.text(child)),)]
            elif not child.is_named:
                # `a-$$` is the process id, `a$"b"` is ab: only a single `$` at the end is just that.
                sign = tree.text(child)
                if "$" in sign and (sign != "$" or child.end_byte < node.end_byte):
                    self.exact = False
                    pieces = [(NUM if sign == "$$" else ANY,)]
                else:
                    pieces = [(words.read_unquoted(sign),)]
            elif child.type == "brace_expression":
                pieces = [(words.read_unquoted(tree.text(child)),)]
            else:
                pieces = self.value(child, quoted=quoted)
                several = several or any(len(fields) > 1 for fields in pieces)
            found = self.glued(found, pieces)
            if len(found) > MOST_VALUES:
                found = [(collapse([(" ".join(fields),) for fields in found])[0],)]
        if several and not quoted and any(OPEN in word for fields in found for word in fields):
            return [(SPLIT,)]  # braces come first: `{a,b}$x` is `a$x b$x`
        out: Values = []
        for fields in found:
            done: list[str] = []
            for word in fields:
                done += self.finish(word, quoted)[0]
            out.append(tuple(done))
        return out

    def glued(self, left: Values, right: Values) -> Values:
        """Return every piece on the left with every piece on the right behind it."""
        found = [glue(one, other) for one, other in product(left, right)]
        size = sum(len(word) for fields in found for word in fields)
        self.budget.spend(1 + len(found) + size // 128)
        if size > LONGEST_VALUE:
            raise TooTangledError  # `a=$b$b; c=$a$a; …` doubles with each step
        return found

    def string(self, node: "Node") -> Values:
        found: Values = [("",)]
        at = node.start_byte + 1
        for child in node.children:
            if child.type in ("string_content", '"'):
                continue
            if not child.is_named:
                continue
            # To the grammar, blanks before an expansion are part of it.
            begins = child.end_byte - len(self.data[child.start_byte : child.end_byte].lstrip(b" \t\n"))
            before = self.data[at:begins].decode("utf-8", "replace")
            at = child.end_byte
            pieces = self.value(child, quoted=True)
            self.check_plain(before, node)
            if re.search(r"(?<!\\)(?:\\\\)*\$\Z", before):
                self.exact = False
                pieces = [(ANY,)]  # `"$${x}"` is the process id and then text
            if before:
                found = [glue(fields, (words.read_double_quoted(before),)) for fields in found]
            found = self.glued(found, pieces)
            if len(found) > MOST_VALUES:
                found = [(ANY,)]
        rest = self.data[at : node.end_byte - 1].decode("utf-8", "replace")
        self.check_plain(rest, node)
        if rest:
            found = [glue(fields, (words.read_double_quoted(rest),)) for fields in found]
        return found

    def check_plain(self, text: str, node: "Node") -> None:
        """What the grammar took for text inside a string must not be a variable it has lost."""
        if "$" in text and _LOST.search(text):
            self.find(
                Risk.HIGH, "text with code in it can't be read for certain", tree.text(node), "words.string"
            )

    def simple_expansion(self, node: "Node", quoted: bool) -> Values:
        name = tree.text(node.children[-1])
        self.reveal(name, tree.text(node))
        if name in "@*":
            return self.spread(self.lookup(name, node), quoted, whole=True)
        return self.spread(self.single(self.lookup(name, node)), quoted)

    def may_be_filled_in_part(self, name: str) -> bool:
        """Whether one element of an array may have changed while others stayed: `x=(a b); x=c`."""
        kinds = [assignment.kind for assignment in self.survey.assignments.get(name, ())]
        return len(kinds) > 1 and any(kind in ("array", "more", "any") for kind in kinds)

    def single(self, values: Values) -> Values:
        """Return what one element of a variable may be; of an array it is not known which."""
        if all(len(fields) == 1 for fields in values):
            return values
        found: Values = list(dict.fromkeys((word,) for fields in values for word in fields or ("",)))
        return found if len(found) <= MOST_VALUES else [tuple(collapse(found))]

    def spread(self, values: Values, quoted: bool, *, whole: bool = False) -> Values:
        """Return values as bash puts them in: split at blanks and globbed unless quoted."""
        if quoted:
            if whole:
                return values
            return [
                fields if len(fields) == 1 else (" ".join(fields),) if fields else ("",) for fields in values
            ]
        out: Values = []
        for fields in values:
            self.budget.spend(1 + sum(map(len, fields)) // 64)
            done: list[str] = []
            for word in fields:
                if word == ANY:
                    done.append(SPLIT)
                    continue
                word = word.replace(ANY, SPLIT)
                if any(char in word for char in "*?["):
                    word = words.mark_sets(
                        word.replace("*", STAR).replace("?", words.MARK).replace("[", BRACKET)
                    )
                done += word.split() if word.strip(" \t\n") != word or " " in word or "\n" in word else [word]
            out.append(tuple(word for word in done if word))
        return out

    def expansion(self, node: "Node", quoted: bool) -> Values:
        """Judge `${…}`; only the operators that can't evaluate text are let through."""
        name = ""
        operators: list[str] = []
        rest: list[Node] = []
        whole = False
        source = tree.text(node)
        for child in node.children[1:-1]:
            if child.type in ("variable_name", "special_variable_name") and not name:
                name = tree.text(child)
            elif child.type == "subscript" and not name:
                inner = child.child_by_field_name("name")
                index = child.child_by_field_name("index")
                name = tree.text(inner) if inner is not None else ""
                if index is not None:
                    if tree.text(index) in ("@", "*"):
                        whole = True
                    else:
                        self.compute(index)
            elif not child.is_named:
                operators.append(child.type)
            else:
                rest.append(child)
        self.reveal(name, source)
        for child in rest:
            if child.type in ("regex", "extglob_pattern"):
                self.value_inside(child)
        values: Values
        match operators:
            case [] | ["#"] if rest and not name:
                self.find(
                    Risk.HIGH, "text computed in a way that can't be followed", source, "words.expansion"
                )
                for child in rest:
                    self.value(child, quoted=True)
                return [(ANY if quoted else SPLIT,)]
            case []:
                values = self.lookup(name, node) if name else [(NUM,)]
                if whole and self.may_be_filled_in_part(name):
                    values = [(SPLIT,)]
                elif whole:  # an array that nobody filled is no word at all
                    values = [(SPLIT,) if fields in ((ANY,), ("",)) else fields for fields in values]
                if not whole and name not in "@*":
                    values = self.single(values)
                return self.spread(values, quoted, whole=whole or name in "@*")
            case ["#"] if node.children[1].type == "#":
                return [(NUM,)]
            case [":-" | "-" | ":?" | "?"]:
                values = list(self.lookup(name, node))
                if not whole and name not in "@*":
                    values = list(self.single(values))
                kept: Values = []
                for child in rest:
                    other = self.value(child, quoted=quoted)
                    kept += other if is_quoted(child) else []
                    if quoted and re.search(r"['\\]", tree.text(child)):
                        kept.append((ANY,))  # inside double quotes they are text
                    if operators[0] in (":-", "-"):
                        if name not in self.survey.assignments and values == [(ANY,)] and name.isidentifier():
                            values = []  # the environment of a command holds nothing but what we put there
                        values += other
                return self.spread(values, quoted) + kept
            case [":=" | "="]:
                for child in rest:
                    self.check_variable(name, self.value(child, quoted=True), source)
                return [(ANY if quoted else SPLIT,)]
            case [":+" | "+"]:
                values, kept = [("",)], []
                for child in rest:
                    other = self.value(child, quoted=quoted)
                    values += other
                    kept += other if is_quoted(child) else []
                    if quoted and re.search(r"['\\]", tree.text(child)):
                        kept.append((ANY,))
                return self.spread(values, quoted) + kept
            case ["#" | "##" | "%" | "%%"]:
                pattern = tree.text(rest[0]) if rest and not rest[0].children else None
                values = self.single(self.lookup(name, node))
                if whole or name in "@*":
                    return [(SPLIT,)]
                out: Values = []
                for fields in values:
                    word = " ".join(fields)
                    out.append((strip(word, operators[0], pattern),))
                    if out[-1] == (ANY,):
                        out.append(fields)  # as it stays where the pattern does not match
                return self.spread(out, quoted)
            case [":"] | [":", ":"]:
                for child in rest:
                    self.compute(child)
                if whole or name in "@*":
                    return [(SPLIT,)]
                literal = list(self.lookup(name, node))
                if all(fields in ([NUM], (NAME,), (NUM,)) for fields in literal):
                    return literal
                return [(ANY if quoted else SPLIT,)]
            case ["^" | "^^" | "," | ",,"]:
                values = self.lookup(name, node)
                if all(word in (NUM, NAME) for fields in values for word in fields):
                    return values
                return [(ANY if quoted else SPLIT,)]
            case ["/" | "//" | "/#" | "/%", *_]:
                for child in rest:
                    if child.type not in ("regex", "extglob_pattern"):
                        self.value(child, quoted=True)
                if any(ch in source for ch in "&\\`"):
                    self.find(
                        Risk.HIGH, "text computed in a way that can't be followed", source, "words.expansion"
                    )
                return [(ANY if quoted else SPLIT,)]
            case _:
                self.find(
                    Risk.HIGH, "text computed in a way that can't be followed", source, "words.expansion"
                )
                for child in rest:
                    self.value_inside(child)
                return [(ANY if quoted else SPLIT,)]

    def substitution(self, node: "Node") -> Flow:
        flow = self.substitutions.get(node.id)
        if flow is None:
            self.substitutions[node.id] = NOTHING
            folders = list(self.folders)
            inner = [child for child in node.children if child.is_named and child.type != "comment"]
            if inner and all(child.type == "file_redirect" for child in inner):
                flow = Flow("pipe")
                for child in inner:
                    flow = self.redirect(child, tree.text(node)) or flow
            else:
                flow = self.run_all(inner, NOTHING)
            self.folders = folders
            self.substitutions[node.id] = flow
        return flow

    def substitution_words(self, node: "Node", quoted: bool) -> Values:
        flow = self.substitution(node)
        if flow.safe and is_unknown(flow.line):
            return [(NAME,)]
        return self.spread([(flow.line,)], quoted)

    def process_substitution(self, node: "Node") -> Values:
        folders = list(self.folders)
        reading = node.children[0].type == "<("
        self.run_all(node.children, NOTHING if reading else Flow("pipe", taints=frozenset(["data"])))
        self.folders = folders
        return [("/dev/fd/" + NUM,)]

    # arithmetic

    def compute(self, node: "Node") -> None:
        """Judge what is evaluated as a number: bash runs `$(…)` in an index even out of a variable."""
        self.budget.spend()
        kind = node.type
        if kind in ("variable_name", "word"):
            name = tree.text(node)
            if name in self.looking_up:
                return  # `i=$((i+1))`: every place that sets it is looked at by itself
            if name.isidentifier():
                # An environment of our own making holds no such text; what was set here is looked at.
                self.check_number(self.lookup(name, node, unset=NUM), name)
            elif not re.fullmatch(r"[\w+\-*/%<>=!&|^~?:,. #@]+", name):
                self.find(Risk.HIGH, "evaluates text as a number", name, "shell.arithmetic")
            return
        if kind == "number" and not node.children:
            return
        if kind in (
            "simple_expansion",
            "expansion",
            "command_substitution",
            "string",
            "concatenation",
            "number",
            "raw_string",
        ):
            self.check_number(self.value(node), tree.text(node))
            return
        if kind == "variable_assignment":
            value = node.child_by_field_name("value")
            if value is not None:
                self.compute(value)
            return
        if kind == "subscript":
            for child in node.children:
                if child.is_named and child.type != "variable_name" and tree.text(child) not in ("@", "*"):
                    self.compute(child)
            return
        for child in node.children:
            if child.is_named:
                self.compute(child)

    def check_number(self, values: Values, source: str) -> None:
        for fields in values:
            for word in fields:
                self.budget.spend(1 + len(word) // 256)
                if is_unknown(word) or PATH in word or "[" in word or "$" in word or "`" in word:
                    self.find(
                        Risk.HIGH,
                        "evaluates text that is not known to be a number",
                        source,
                        "shell.arithmetic",
                    )
                    return
                if word and not re.fullmatch(r"[\s\w+\-*/%().\x01\x02]*", word):
                    self.find(
                        Risk.HIGH,
                        "evaluates text that is not known to be a number",
                        source,
                        "shell.arithmetic",
                    )
                    return
                if word.isidentifier() and word in self.survey.assignments and word not in self.looking_up:
                    self.looking_up.add(word)
                    self.check_number(
                        [value for item in self.survey.assignments[word] for value in self.assigned(item)],
                        source,
                    )
                    self.looking_up.discard(word)


def argument_lists(pieces: Sequence[Values]) -> list[list[str]]:
    """Return every list of words that the pieces may come to, few enough to judge each."""
    total = 1
    for values in pieces:
        total *= max(1, len(values))
    if total > MOST_ARGUMENT_LISTS:
        pieces = [[tuple(collapse(values))] if len(values) > 1 else values for values in pieces]
    return [[word for fields in chosen for word in fields] for chosen in product(*pieces)]


def collapse(values: Values) -> list[str]:
    """Return one word that stands for all values, as much as can be said of them."""
    flat = [word for fields in values for word in fields]
    if any(len(fields) != 1 for fields in values):
        return [SPLIT]
    if all(word == NUM or word.isdigit() for word in flat):
        return [NUM]
    if all(re.fullmatch(r"[\w.@:+\x01\x02][\w.@:+\-\x01\x02]*", word) for word in flat):
        return [NAME]
    if all(re.fullmatch(r"[\w.@:+/~\x01-\x07][\w.@:+\-/\x01-\x07]*", word) for word in flat):
        return [PATH]
    return [SPLIT if any(SPLIT in word for word in flat) else ANY]


def is_quoted(node: "Node") -> bool:
    """Whether any of it keeps its blanks, or is a word though empty: `${x-''}`, `${x-a\\ b}`."""
    return any(char in tree.text(node) for char in "'\"\\")


def glue(left: Fields, right: Fields) -> Fields:
    if not right:
        return left
    if not left:
        return right
    return (*left[:-1], left[-1] + right[0], *right[1:])


def matches(name: str, globs: Sequence[str]) -> bool:
    return any(name == glob or ("*" in glob and fnmatch.fnmatchcase(name, glob)) for glob in globs)


def strip(word: str, operator: str, pattern: str | None) -> str:
    """Return `${word#pattern}` and its kin where the pattern is one of the usual ones."""
    simple = {
        ("##", "*/"): lambda: word.rpartition("/")[2],
        ("%", "/*"): lambda: word.rpartition("/")[0] if "/" in word else word,
        ("%", "/"): lambda: word.removesuffix("/"),
        ("#", "./"): lambda: word.removeprefix("./"),
        ("%", ".*"): lambda: word.rpartition(".")[0] if "." in word else word,
    }
    if pattern is not None and (operator, pattern) in simple and not set(word) & set(words.HOLES):
        return simple[(operator, pattern)]()
    if (operator, pattern) == ("##", "*/") and not is_unknown(word):
        return NAME if PATH in word or "/" not in word else word.rpartition("/")[2]
    if pattern is not None and re.fullmatch(r"[\w./:@+=,\-]+", pattern):
        if is_literal(word):
            return word.removesuffix(pattern) if operator[0] == "%" else word.removeprefix(pattern)
        if operator[0] == "%":
            return ANY if is_unknown(word) else word
    if word == NUM:
        return NAME
    # What is cut off at the front may leave an option.
    if operator[0] == "%" and not is_literal(word) and not is_unknown(word) and word[:1] != "-":
        return PATH
    return ANY
