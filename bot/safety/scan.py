"""Walks a command the way bash would, and has every program it would start judged."""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety import judge, paths, tree, words
from bot.safety.prescreen import screen
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
DEEPEST_TEXT = 4  # shells inside shells

Fields = tuple[str, ...]
Values = list[Fields]


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known of a stream of text between two programs.

    Attributes:
        kind: `none`, `null`, `pipe`, `file` or `text`.
        line: One line of it, as a word with holes.
        text: All of it, when `kind` is `text`.
        taints: `network`, `decoded`, `data` (content of local files), `secret`.
        safe: Whether it can only hold what the system counts (sizes, times, load): never text that
            someone else wrote.
    """

    kind: str = "none"
    line: str = ANY
    text: str = ANY
    taints: frozenset[str] = frozenset()
    safe: bool = False


NOTHING = Flow()


def clip(fragment: str, longest: int = 90) -> str:
    """Return the fragment on one line, its middle cut out when it is long."""
    text = " ".join(fragment.split())
    if len(text) <= longest:
        return text
    return f"{text[: longest - 25]} … {text[-20:]}"


class Scan:
    """One command being read. Findings pile up; nothing is ever taken back."""

    def __init__(self, rules: Rules, folders: Sequence[str], depth: int = 0) -> None:
        self.rules = rules
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
        self.at = 0  # where the command being judged starts
        self.survey = tree.Survey()
        self.data = b""
        self.root: Node | None = None

    # findings

    def find(self, risk: Risk, sentence: str, fragment: str, rule: str) -> None:
        finding = Finding(risk, sentence, clip(fragment), rule)
        if finding not in self.findings:
            self.findings.append(finding)

    def talk_to(self, host: str) -> None:
        if host not in self.hosts:
            self.hosts.append(host)

    def record(self, program: str, arguments: Sequence[str], source: str) -> None:
        literal = is_literal(program) and all(is_literal(word) for word in arguments)
        shown = program if is_literal(program) else "<computed>"
        invocation = Invocation(shown, tuple(show(word) for word in arguments), literal, source)
        if invocation not in self.invocations:
            self.invocations.append(invocation)
            if len(self.invocations) > MOST_INVOCATIONS:
                self.find(Risk.HIGH, "too many programs to judge at a glance", "", "tree.size")

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

    # whole texts

    def read(self, command: str) -> None:
        """Judge a text as bash would run it."""
        refused = list(screen(command))
        for sentence, fragment in refused:
            self.find(Risk.HIGH, sentence, fragment, "prescreen")
        if refused:
            return
        self.data = command.encode("utf-8")
        self.root = tree.parse(self.data)
        self.survey = tree.survey(self.root, self.data)
        for sentence, fragment in self.survey.problems:
            self.find(Risk.HIGH, sentence, fragment, "tree")
        if self.survey.problems:
            return
        if sum(map(len, self.survey.calls.values())) > MOST_INVOCATIONS:
            self.find(Risk.HIGH, "too many programs to judge at a glance", "", "tree.size")
            return
        self.run(self.root, NOTHING)

    def read_inner(self, command: str, source: str, *, dialect: str = "bash") -> Flow:
        """Judge a text that a shell inside this command would run."""
        if not is_literal(command) or HOME in command:
            self.find(Risk.HIGH, "runs code computed at run time", source, "shell.text")
            return NOTHING
        if self.depth >= DEEPEST_TEXT:
            self.find(Risk.HIGH, "shells nested too deeply to be read", source, "shell.depth")
            return NOTHING
        if dialect != "bash" and re.search(r"&>|\|&|[<>]\(|\$'|\$\"|<<<|\[\[|\(\(|=\(|function ", command):
            self.find(Risk.HIGH, "text that sh reads differently from bash", source, "shell.dialect")
        inner = Scan(self.rules, self.folders, self.depth + 1)
        inner.findings = self.findings
        inner.invocations = self.invocations
        inner.hosts = self.hosts
        inner.written = self.written
        inner.read(command)
        return NOTHING

    # statements

    def run(self, node: "Node", stdin: Flow) -> Flow:
        """Judge a statement; return what it prints."""
        kind = node.type
        if kind == "command":
            return self.run_command(node, stdin)
        method = getattr(self, "run_" + kind, None)
        if method is not None:
            return method(node, stdin)  # type: ignore[no-any-return]
        if node.is_named:
            self.find(Risk.HIGH, "shell syntax that is not understood", tree.text(node), "tree." + kind)
        return NOTHING

    def run_all(self, children: "Iterable[Node]", stdin: Flow) -> Flow:
        flows = [self.run(child, stdin) for child in children if child.is_named and child.type != "comment"]
        return join(flows)

    def run_program(self, node: "Node", stdin: Flow) -> Flow:
        return self.run_all(node.children, stdin)

    run_list = run_compound = run_do_group = run_else_clause = run_program

    def run_elif_clause(self, node: "Node", stdin: Flow) -> Flow:
        return self.run_all(node.children, stdin)

    def run_if_statement(self, node: "Node", stdin: Flow) -> Flow:
        return self.run_all(node.children, stdin)

    def run_while_statement(self, node: "Node", stdin: Flow) -> Flow:
        self.looping += 1
        flow = self.run_all(node.children, stdin)
        self.looping -= 1
        return flow

    def run_negated_command(self, node: "Node", stdin: Flow) -> Flow:
        return self.run_all(node.children, stdin)

    def run_comment(self, node: "Node", stdin: Flow) -> Flow:
        return NOTHING

    def run_compound_statement(self, node: "Node", stdin: Flow) -> Flow:
        if node.children and node.children[0].type == "((":
            for child in node.children:
                if child.is_named:
                    self.compute(child)
            return NOTHING
        return self.run_all(node.children, stdin)

    def run_subshell(self, node: "Node", stdin: Flow) -> Flow:
        folders = list(self.folders)
        flow = self.run_all(node.children, stdin)
        self.folders = folders
        return flow

    def run_pipeline(self, node: "Node", stdin: Flow) -> Flow:
        folders = list(self.folders)
        flow = stdin
        for child in node.children:
            if child.is_named and child.type != "comment":
                flow = self.run(child, flow)
                flow = flow if flow.kind != "none" else replace(flow, kind="pipe")
        self.folders = folders
        return flow

    def run_for_statement(self, node: "Node", stdin: Flow) -> Flow:
        if node.children[0].type == "select":
            self.find(Risk.HIGH, "shell syntax that is not understood", "select", "tree.select")
        name = node.child_by_field_name("variable")
        if name is not None:
            self.check_variable(tree.text(name), [(NAME,)], tree.text(node))
        for value in node.children_by_field_name("value"):
            self.value(value)
        body = node.child_by_field_name("body")
        self.looping += 1
        flow = self.run(body, stdin) if body is not None else NOTHING
        self.looping -= 1
        return flow

    def run_c_style_for_statement(self, node: "Node", stdin: Flow) -> Flow:
        body = node.child_by_field_name("body")
        for child in node.children:
            if child.is_named and (body is None or child.id != body.id) and child.type != "comment":
                self.compute(child)
        self.looping += 1
        flow = self.run(body, stdin) if body is not None else NOTHING
        self.looping -= 1
        return flow

    def run_case_statement(self, node: "Node", stdin: Flow) -> Flow:
        flows = []
        for child in node.children:
            if child.type == "case_item":
                patterns = {value.id for value in child.children_by_field_name("value")}
                for part in child.children:
                    if part.id in patterns:
                        self.value(part)
                    elif part.is_named and part.type != "comment":
                        flows.append(self.run(part, stdin))
            elif child.is_named and child.type != "comment":
                self.value(child)
        return join(flows)

    def run_function_definition(self, node: "Node", stdin: Flow) -> Flow:
        named = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        name = tree.text(named) if named is not None else ""
        source = tree.text(node)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_\-]*", name):
            self.find(Risk.HIGH, "a function with a misleading name", source, "shell.function")
        elif self.rules.program(name) is not None:
            self.find(Risk.HIGH, f"replaces the program {name} by other code", source, "shell.function")
        for child in node.children:
            if child.type.endswith("redirect"):
                self.redirect(child, source)
        if body is None:
            return NOTHING
        if any(start_inside(call, body) for call in self.survey.calls.get(name, ())):
            self.find(Risk.HIGH, "calls itself without end", source, "shell.recursion")
        folders, function = list(self.folders), self.function
        self.function = name
        self.run(body, Flow("pipe"))
        self.function = function
        self.folders = [*self.folders, *(folder for folder in folders if folder not in self.folders)]
        return NOTHING

    def run_redirected_statement(self, node: "Node", stdin: Flow) -> Flow:
        body = node.child_by_field_name("body")
        flow = stdin
        source = tree.text(node)
        after: list[Node] = []
        extra: list[Node] = []
        truncates: list[str] = []
        appends = False
        for child in node.children:
            if child.type == "file_redirect":
                flow = self.redirect(child, source, truncates) or flow
                # `rm > log -rf x`: the grammar takes the words after the target for more targets.
                extra += redirect_targets(child)[1:]
                appends = appends or any(part.type in (">>", "&>>") for part in child.children)
            elif child.type == "herestring_redirect":
                flow = self.here_string(child)
            elif child.type == "heredoc_redirect":
                flow, more, rest = self.here_document(child, source)
                extra += more
                after += rest
        if truncates or appends:
            words_of_body = tree.text(body).split() if body is not None else []
            if words_of_body[:1] == ["yes"] or {"/dev/zero", "/dev/urandom", "/dev/random"} & set(
                words_of_body
            ):
                self.find(Risk.HIGH, "fills the disk", source, "redirect.endless")
        if truncates and (body is None or is_silent(tree.text(body))):
            for path in truncates:
                if not path.startswith(("/tmp/", "/dev/")):  # noqa: S108
                    self.find(Risk.HIGH, "empties a file", show(path), "redirect.truncate")
        if extra and (body is None or body.type != "command"):
            self.find(Risk.HIGH, "the command could not be parsed for certain", source, "tree")
        if body is None:
            return NOTHING
        out = self.run_command(body, flow, extra) if body.type == "command" else self.run(body, flow)
        if body.type in ("list", "pipeline", "compound_statement", "negated_command"):
            # `cd X && ls > f`: the redirection belongs to what comes last, where the folder is another.
            for child in node.children:
                if child.type == "file_redirect":
                    self.redirect(child, source)
        for child in after:
            if child.type == "pipeline":
                out = self.run_pipeline(child, replace(out, kind="pipe"))
            else:
                self.run(child, NOTHING)
        return out

    def run_test_command(self, node: "Node", stdin: Flow) -> Flow:
        self.test(node, double=node.children[0].type == "[[")
        return NOTHING

    def test(self, node: "Node", *, double: bool) -> None:
        kinds = [child.type for child in node.children]
        operators = {tree.text(child) for child in node.children if child.type == "test_operator"}
        if "-v" in operators or "-R" in operators:
            for child in node.children:
                if child.is_named and child.type != "test_operator" and not tree.text(child).isidentifier():
                    self.find(Risk.HIGH, "evaluates text as a variable name", tree.text(node), "shell.test")
        numeric = double and (operators & {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"} or "<<" in kinds)
        for child in node.children:
            if child.type in (
                "unary_expression",
                "binary_expression",
                "parenthesized_expression",
                "test_command",
                "ternary_expression",
            ):
                self.test(child, double=double)
            elif child.type == "test_operator" or not child.is_named:
                continue
            elif child.type in ("regex", "extglob_pattern", "variable_name"):
                self.value_inside(child)
                if numeric and child.type == "variable_name":
                    self.check_number(self.lookup(tree.text(child), child), tree.text(node))
            else:
                values = self.value(child)
                if numeric:
                    self.check_number(values, tree.text(node))

    def run_declaration_command(self, node: "Node", stdin: Flow) -> Flow:
        name = tree.text(node.children[0])
        source = tree.text(node)
        self.record(name, [tree.text(child) for child in node.children[1:]], source)
        plain = True
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self.assign(child, exported=name == "export")
                plain = False
            elif child.type == "variable_name":
                plain = False
                self.check_variable(tree.text(child), [(ANY,)], source, reading=True)
            elif child.is_named:
                for fields in self.value(child):
                    for word in fields:
                        allowed = r"-[grxaAlup]+" if name != "export" else r"-[p]"
                        if not re.fullmatch(allowed, word):
                            self.find(
                                Risk.HIGH,
                                f"an option of {name} that changes how names are read",
                                source,
                                "shell.declare",
                            )
                        elif "p" in word and plain:
                            self.find(
                                Risk.HIGH, "prints the environment (may hold keys)", source, "shell.declare"
                            )
        if (
            len(node.children) == 1
            and name in ("export", "declare", "typeset", "readonly")
            or plain
            and len(node.children) == 2
        ):
            self.find(Risk.HIGH, "prints the environment (may hold keys)", source, "shell.declare")
        return NOTHING

    def run_unset_command(self, node: "Node", stdin: Flow) -> Flow:
        source = tree.text(node)
        self.record("unset", [tree.text(child) for child in node.children[1:]], source)
        for child in node.children[1:]:
            for fields in self.value(child) if child.type != "variable_name" else [(tree.text(child),)]:
                for word in fields:
                    if word == "-v":
                        continue
                    if not word.isidentifier():
                        self.find(Risk.HIGH, "evaluates text as a variable name", source, "shell.unset")
                    else:
                        self.check_variable(word, [("",)], source)
        return NOTHING

    def run_variable_assignment(self, node: "Node", stdin: Flow) -> Flow:
        self.assign(node, exported=False)
        return NOTHING

    def run_variable_assignments(self, node: "Node", stdin: Flow) -> Flow:
        for child in node.children:
            if child.type == "variable_assignment":
                self.assign(child, exported=False)
        return NOTHING

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
        for child in node.children:
            if child.is_named and child.type != "comment":
                values = self.value(child)
                fields += values[0] if len(values) == 1 else collapse(values)
                if any(re.match(r"\[.*[$`(].*\]", word) for word in fields):
                    self.find(Risk.HIGH, "evaluates text as an index", tree.text(child), "shell.array")
        return [tuple(fields)]

    def check_variable(self, name: str, values: Values, source: str, *, reading: bool = False) -> None:
        """Find what giving a variable a value changes for the programs started later."""
        rules = self.rules
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
            return known
        if name in self.looking_up:
            return [(ANY,)]
        self.looking_up.add(name)
        values: Values = []
        certain = False
        for assignment in assignments:
            start, end = assignment.scope
            certain = certain or (
                assignment.end <= use.start_byte and start <= use.start_byte and use.end_byte <= end
            )
            values += self.assigned(assignment)
        self.looking_up.discard(name)
        if not certain:
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
                return self.value(assignment.value, quoted=True)
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
                fields += options[0] if len(options) == 1 else [ANY]
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
        kind = node.type
        if kind in ("word", "number", "test_operator", "file_descriptor", "heredoc_start"):
            text = tree.text(node)
            if node.children:  # a number can hold an expansion
                return self.joined(node, quoted)
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
            return [(NUM,)]
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
                    self.value_inside(child)
                else:
                    self.value(child, quoted=True)

    def finish(self, text: str, quoted: bool) -> Values:
        """Return an unquoted word after brace, tilde and glob characters have been read."""
        if not quoted and OPEN in text:
            expanded = words.expand_braces(text)
        elif OPEN in text or "\x0f" in text or "\x10" in text:
            expanded = [text.replace(OPEN, "{").replace("\x0f", ",").replace("\x10", "}")]
        else:
            expanded = [text]
        fields = []
        for word in expanded:
            if BRACKET in word:
                word = words.mark_sets(word)
            if word[:1] == "~":
                if word == "~" or word[1:2] == "/":
                    word = HOME + word[1:]
                elif word[1:2] not in ("+", "-"):
                    user, slash, rest = word[1:].partition("/")
                    word = ("/root" if user == "root" else "/home/" + user) + slash + rest
                else:
                    word = PATH
            fields.append(word)
        return [tuple(fields)]

    def joined(self, node: "Node", quoted: bool) -> Values:
        """Return the values of adjacent pieces that make one word."""
        found: Values = [("",)]
        for child in node.children:
            if (
                child.type in ("word", "number", "extglob_pattern", "regex", "test_operator")
                and not child.children
            ):
                pieces: Values = [(words.read_unquoted(tree.text(child)),)]
            elif not child.is_named:
                pieces = [(words.read_unquoted(tree.text(child)),)]
            else:
                pieces = self.value(child, quoted=quoted)
            found = [glue(left, right) for left, right in product(found, pieces)]
            if len(found) > MOST_VALUES:
                found = [(collapse([(" ".join(fields),) for fields in found])[0],)]
        out: Values = []
        for fields in found:
            done: list[str] = []
            for word in fields:
                done += self.finish(word, quoted)[0]
            out.append(tuple(done))
        return out

    def string(self, node: "Node") -> Values:
        found: Values = [("",)]
        at = node.start_byte + 1
        for child in node.children:
            if child.type in ("string_content", '"'):
                continue
            if not child.is_named:
                continue
            before = self.data[at : child.start_byte].decode("utf-8", "replace")
            at = child.end_byte
            pieces = self.value(child, quoted=True)
            if before:
                found = [glue(fields, (words.read_double_quoted(before),)) for fields in found]
            found = [glue(left, right) for left, right in product(found, pieces)]
            if len(found) > MOST_VALUES:
                found = [(ANY,)]
        rest = self.data[at : node.end_byte - 1].decode("utf-8", "replace")
        if rest:
            found = [glue(fields, (words.read_double_quoted(rest),)) for fields in found]
        return found

    def simple_expansion(self, node: "Node", quoted: bool) -> Values:
        name = tree.text(node.children[-1])
        self.reveal(name, tree.text(node))
        return self.spread(self.lookup(name, node), quoted, whole=name in "@*")

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
            case []:
                values = self.lookup(name, node) if name else [(NUM,)]
                if not whole and any(len(fields) != 1 for fields in values):
                    values = [(word,) for fields in values for word in fields] or [("",)]
                return self.spread(values, quoted, whole=whole or name in "@*")
            case ["#"]:
                return [(NUM,)]
            case [":-" | "-" | ":?" | "?"]:
                values = list(self.lookup(name, node))
                for child in rest:
                    other = self.value(child, quoted=quoted)
                    if operators[0] in (":-", "-"):
                        if name not in self.survey.assignments and values == [(ANY,)] and name.isidentifier():
                            values = []  # the environment of a command holds nothing but what we put there
                        values += other
                return self.spread(values, quoted)
            case [":=" | "="]:
                for child in rest:
                    self.check_variable(name, self.value(child, quoted=True), source)
                return [(ANY if quoted else SPLIT,)]
            case [":+" | "+"]:
                values = [("",)]
                for child in rest:
                    values += self.value(child, quoted=quoted)
                return self.spread(values, quoted)
            case ["#" | "##" | "%" | "%%"]:
                pattern = tree.text(rest[0]) if rest and not rest[0].children else None
                values = self.lookup(name, node)
                out: Values = []
                for fields in values:
                    word = " ".join(fields)
                    out.append((strip(word, operators[0], pattern),))
                return self.spread(out, quoted)
            case [":"] | [":", ":"]:
                for child in rest:
                    self.compute(child)
                if whole:
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

    # redirections

    def redirect(self, node: "Node", source: str, truncates: list[str] | None = None) -> Flow | None:
        """Judge a redirection; return the new input when it is one."""
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = redirect_targets(node)[:1]
        if operator in (">&-", "<&-"):
            return None
        fields: list[str] = []
        for target in targets:
            if target.type == "process_substitution":
                self.process_substitution(target)
                return Flow("pipe") if operator == "<" else None
            for values in self.value(target):
                fields += values
        flow: Flow | None = None
        for word in fields:
            if operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", word):
                continue
            if operator == "<":
                paths.judge_read(self, word)
                null = word == "/dev/null"
                flow = Flow(
                    "null" if null else "file",
                    line=ANY,
                    text=word,
                    taints=frozenset() if null else frozenset(["data"]),
                )
            elif operator in (">", ">>", ">|", "&>", "&>>", ">&"):
                self.write(word)
                if operator not in (">>", "&>>") and truncates is not None:
                    truncates.append(word)
            else:
                self.find(Risk.HIGH, "a redirection that is not understood", source, "redirect.unknown")
        return flow

    def write(self, path: str, verb: str = "writes") -> None:
        if is_literal(path):
            self.written.update(paths.canonical(path, self.folders))
        paths.judge_write(self, path, verb=verb)

    def here_string(self, node: "Node") -> Flow:
        text = ANY
        for child in node.children:
            if child.is_named and child.type != "file_descriptor":
                values = self.value(child, quoted=True)
                text = " ".join(values[0]) if len(values) == 1 else ANY
        return Flow("text", line=text, text=text)

    def here_document(self, node: "Node", source: str) -> "tuple[Flow, list[Node], list[Node]]":
        """Return the input it makes, and what follows its opening on the same line: arguments, statements."""
        extra: list[Node] = []
        after: list[Node] = []
        text = ""
        for child in node.children:
            match child.type:
                case "heredoc_start" | "heredoc_end" | "file_descriptor":
                    continue
                case "heredoc_body":
                    text = self.here_body(child)
                case "file_redirect":
                    self.redirect(child, source)
                    extra += redirect_targets(child)[1:]
                case "herestring_redirect" | "heredoc_redirect":
                    self.find(Risk.HIGH, "shell syntax that is not understood", source, "redirect.heredoc")
                case _ if not child.is_named:
                    continue
                case (
                    "pipeline"
                    | "command"
                    | "list"
                    | "redirected_statement"
                    | "subshell"
                    | "compound_statement"
                ):
                    after.append(child)
                case "word" | "string" | "raw_string" | "number" | "concatenation":
                    extra.append(child)
                case "simple_expansion" | "expansion" | "command_substitution" | "ansi_c_string":
                    extra.append(child)
                case "negated_command" | "test_command" | "variable_assignment" | "declaration_command":
                    after.append(child)
                case "if_statement" | "while_statement" | "for_statement" | "case_statement":
                    after.append(child)
                case _:
                    self.find(Risk.HIGH, "shell syntax that is not understood", source, "redirect.heredoc")
        return Flow("text", line=ANY, text=text), extra, after

    def here_body(self, node: "Node") -> str:
        if not node.children:
            return tree.text(node)
        parts: list[str] = []
        at = node.start_byte
        for child in node.children:
            if child.type == "heredoc_content" or not child.is_named:
                continue
            parts.append(self.data[at : child.start_byte].decode("utf-8", "replace"))
            at = child.end_byte
            values = self.value(child, quoted=True)
            parts.append(" ".join(values[0]) if len(values) == 1 else ANY)
        parts.append(self.data[at : node.end_byte].decode("utf-8", "replace"))
        return "".join(parts)

    # simple commands

    def run_command(self, node: "Node", stdin: Flow, extra: "Sequence[Node]" = ()) -> Flow:
        source = tree.text(node.parent if extra and node.parent is not None else node)
        pieces: list[Values] = []
        ahead: Flow | None = None
        for child in [*node.children, *extra]:
            kind = child.type
            if kind == "command_name":
                inner = child.children[0] if child.children else child
                values = self.value(inner)
                if inner.type == "ansi_c_string":
                    values = [(ANY,)]
                elif inner.type not in ("word", "string", "raw_string", "concatenation", "number") or any(
                    "expansion" in piece.type or "substitution" in piece.type for piece in inner.children
                ):
                    values = [(ANY,)]  # the name of a program is never worked out, only read
                elif any(len(fields) != 1 for fields in values):
                    values = [(ANY,)]
                pieces.append(values)
            elif kind == "variable_assignment":
                self.prefix(child)
            elif kind == "file_redirect":
                ahead = self.redirect(child, source) or ahead
                if len(redirect_targets(child)) > 1:
                    self.find(Risk.HIGH, "the command could not be parsed for certain", source, "tree")
            elif kind == "herestring_redirect":
                ahead = self.here_string(child)
            elif kind == "heredoc_redirect":
                self.find(Risk.HIGH, "shell syntax that is not understood", source, "redirect.heredoc")
            elif kind == "comment":
                continue
            else:
                pieces.append(self.value(child))
        if not pieces:
            return NOTHING
        self.at = node.start_byte
        flows = [self.judge(argv, ahead or stdin, source) for argv in argument_lists(pieces)]
        return flows[0] if len(flows) == 1 else join(flows)

    def judge(self, argv: Sequence[str], stdin: Flow, source: str) -> Flow:
        return judge.judge(self, argv, stdin, source)


def redirect_targets(node: "Node") -> "list[Node]":
    return [child for child in node.children if child.is_named and child.type != "file_descriptor"]


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


def glue(left: Fields, right: Fields) -> Fields:
    if not right:
        return left
    if not left:
        return right
    return (*left[:-1], left[-1] + right[0], *right[1:])


def join(flows: Sequence[Flow]) -> Flow:
    """Return what several programs print one after the other."""
    if len(flows) == 1:
        return flows[0]
    if not flows:
        return NOTHING
    lines = {flow.line for flow in flows}
    return Flow(
        "pipe",
        line=lines.pop() if len(lines) == 1 else ANY,
        text=ANY,
        taints=frozenset().union(*(flow.taints for flow in flows)),
        safe=all(flow.safe for flow in flows),
    )


def matches(name: str, globs: Sequence[str]) -> bool:
    return any(name == glob or ("*" in glob and fnmatch.fnmatchcase(name, glob)) for glob in globs)


def strip(word: str, operator: str, pattern: str | None) -> str:
    """Return `${word#pattern}` and its kin where the pattern is one of the usual ones."""
    simple = {
        ("##", "*/"): lambda: word.rpartition("/")[2],
        ("%", "/*"): lambda: word.rpartition("/")[0] or word,
        ("%", "/"): lambda: word.removesuffix("/"),
        ("#", "./"): lambda: word.removeprefix("./"),
        ("%", ".*"): lambda: word.rpartition(".")[0] or word,
    }
    if pattern is not None and (operator, pattern) in simple and not set(word) & set(words.HOLES):
        return simple[(operator, pattern)]()
    if (operator, pattern) == ("##", "*/") and not is_unknown(word):
        return NAME if PATH in word or "/" not in word else word.rpartition("/")[2]
    if pattern is not None and re.fullmatch(r"[\w.\-]+", pattern) and operator in ("%", "%%"):
        return word.removesuffix(pattern) if is_literal(word) else (word if not is_unknown(word) else ANY)
    if word in (NUM, NAME):
        return NAME
    if not is_unknown(word) and word[:1] not in "-":
        return PATH
    return ANY


_SILENT = re.compile(r"(?::|true|false|echo -n|cat /dev/null|printf (?:''|\"\")|echo -n (?:''|\"\"))\Z")


def is_silent(command: str) -> bool:
    """Whether a command prints nothing, so that its output empties the file it goes to."""
    return _SILENT.match(" ".join(command.split())) is not None


def start_inside(call: "Node", body: "Node") -> bool:
    return body.start_byte <= call.start_byte < body.end_byte
