"""Walks a command the way bash would, and has every program it would start judged."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety import judge, paths, tree
from bot.safety.flow import NOTHING, Flow, join
from bot.safety.prescreen import screen
from bot.safety.values import MOST_INVOCATIONS, Reader, Values, argument_lists
from bot.safety.words import ANY, HOME, NAME, is_literal, show

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST_TEXT = 4  # shells inside shells


class Scan(Reader):
    """One command being read, statement by statement."""

    # whole texts

    def read(self, command: str) -> None:
        """Judge a text as bash would run it."""
        self.budget.spend(1 + len(command) // 64)
        refused = list(screen(command))
        for sentence, fragment in refused:
            self.find(Risk.HIGH, sentence, fragment, "prescreen")
        if refused:
            return
        self.data = command.encode("utf-8")
        self.root = tree.parse(self.data)
        self.survey = tree.survey(self.root, self.data)
        self.budget.spend(self.root.descendant_count // 4)
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
        inner = Scan(self.rules, self.folders, self.depth + 1, self.budget)
        inner.findings = self.findings
        inner.invocations = self.invocations
        inner.hosts = self.hosts
        inner.written = self.written
        inner.read(command)
        self.exact = self.exact and inner.exact
        return NOTHING

    # statements

    def run(self, node: "Node", stdin: Flow) -> Flow:
        """Judge a statement; return what it prints."""
        self.budget.spend(2)
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
        self.exact = self.exact and all(is_literal(word) for word in fields)
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
        """Judge what an option or operand names as output; most programs take `|x` for a command."""
        if path.lstrip()[:1] == "|":
            self.find(Risk.HIGH, "runs another program", show(path), "paths.write")
        if is_literal(path) and verb in ("writes", "overwrites"):
            self.written.update(paths.canonical(path, self.folders))
        paths.judge_write(self, path, verb=verb)

    def fetch_into(self, folder: str) -> None:
        """Remember that what lies in a folder has come from elsewhere in this very command."""
        self.written.update(spot.rstrip("/") + "/" for spot in paths.canonical(folder, self.folders))

    def is_new(self, path: str) -> bool:
        """Whether this command has just made the file, itself or by unpacking or cloning."""
        return path in self.written or any(
            path.startswith(folder) for folder in self.written if folder.endswith("/") and folder != "./"
        )

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
        quoted = any(
            child.type == "heredoc_start" and tree.text(child)[0] in "'\"" for child in node.children
        )
        for child in node.children:
            match child.type:
                case "heredoc_start" | "heredoc_end" | "file_descriptor":
                    continue
                case "heredoc_body":
                    text = self.here_body(child, quoted=quoted)
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

    def here_body(self, node: "Node", *, quoted: bool) -> str:
        if not quoted:
            # Before the body lie blanks at most, but the grammar may have lost a `$name` with them.
            first = self.data.rfind(b"\n", 0, node.start_byte) + 1
            names = [
                name
                for start, end in tree.gaps(node, first, node.end_byte)
                for name in _NAMED.findall(self.data[start:end].decode("utf-8", "replace"))
            ]
            for name in names:
                self.exact = False
                self.reveal(name, "$" + name)
            if names and node.children:
                for child in node.children:
                    if child.is_named and child.type != "heredoc_content":
                        self.value(child, quoted=True)
                return ANY
        if not node.children:
            text = tree.text(node)
            return text if quoted or "$" not in text else ANY
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
        name = node.child_by_field_name("name")
        if name is not None and tree.text(name) == "time":
            self.check_time(argument_lists(pieces), source)
        flows = [self.judge(argv, ahead or stdin, source) for argv in argument_lists(pieces)]
        return flows[0] if len(flows) == 1 else join(flows)

    def check_time(self, lists: "list[list[str]]", source: str) -> None:
        """Unquoted, `time` is a word of the shell: it knows `-p` and `--`, whatever else follows is run."""
        for argv in lists:
            rest = [word for word in argv[1:] if word not in ("-p", "--")]
            if rest and rest[0].startswith("-"):
                self.find(Risk.HIGH, "starts a program whose name looks like an option", source, "shell.time")

    def judge(self, argv: Sequence[str], stdin: Flow, source: str) -> Flow:
        return judge.judge(self, argv, stdin, source)


_NAMED = re.compile(r"(?<!\\)(?:\\\\)*\$([A-Za-z_]\w*|.)")


def redirect_targets(node: "Node") -> "list[Node]":
    return [child for child in node.children if child.is_named and child.type != "file_descriptor"]


_SILENT = re.compile(r"(?::|true|false|echo -n|cat /dev/null|printf (?:''|\"\")|echo -n (?:''|\"\"))\Z")


def is_silent(command: str) -> bool:
    """Whether a command prints nothing, so that its output empties the file it goes to."""
    return _SILENT.match(" ".join(command.split())) is not None


def start_inside(call: "Node", body: "Node") -> bool:
    return body.start_byte <= call.start_byte < body.end_byte
