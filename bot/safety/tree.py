"""The parse tree of a command, and why it may not be trusted.

tree-sitter-bash repairs what it can't read and sometimes reads what bash reads differently, so: only known
node types, no errors, and a handful of guards on what lies between the tokens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import tree_sitter
import tree_sitter_bash
from tree_sitter import Node, Parser

from bot.safety.budget import SENTENCE

DEEPEST = 60  # nested nodes; a person can't follow more, nor can our own recursion
MOST_NODES = 2500

NODES = frozenset(
    """
    program list pipeline command command_name word number string string_content raw_string ansi_c_string
    translated_string concatenation simple_expansion expansion special_variable_name variable_name
    command_substitution process_substitution redirected_statement file_redirect file_descriptor
    heredoc_redirect heredoc_start heredoc_body heredoc_content heredoc_end herestring_redirect
    for_statement c_style_for_statement while_statement if_statement elif_clause else_clause case_statement
    case_item do_group test_command unary_expression binary_expression parenthesized_expression
    ternary_expression postfix_expression negated_command function_definition subshell compound_statement
    variable_assignment variable_assignments array subscript arithmetic_expansion comment
    declaration_command unset_command extglob_pattern regex test_operator brace_expression
    """.split()
)
# Whatever these open must stand at the start of a word, or bash reads it as text.
_STARTERS = frozenset(
    "command subshell compound_statement test_command if_statement while_statement for_statement "
    "c_style_for_statement case_statement function_definition declaration_command unset_command "
    "variable_assignment variable_assignments negated_command".split()
)
# Their parts touch; where they don't, bash sees separate words.
_TIGHT = frozenset(["simple_expansion", "variable_assignment", "concatenation", "brace_expression"])
# They end at a newline that no backslash takes away.
_ONE_LINE = frozenset(
    "command declaration_command unset_command variable_assignments file_redirect herestring_redirect "
    "redirected_statement simple_expansion".split()
)
_BLANK = b" \t\n"
_TEST_OPENS = frozenset(["&&", "||", "(", "[["])
_TEST_CLOSES = frozenset([")", "]]"])
# … and what they close with must end a word.
_CLOSERS = frozenset(
    "test_command compound_statement if_statement while_statement for_statement c_style_for_statement "
    "case_statement function_definition do_group".split()
)
# Glued to anything else they are part of a word.
_KEYWORDS = frozenset(
    "if then elif else fi for in do done while until case esac select function "
    "declare typeset export readonly local unset unsetenv".split()
)
_AFTER_KEYWORD = b" \t\n;|&()<>`"
_AFTER_COMMAND = b" \t\n;|&)<>`"
_BEFORE_COMMENT = b" \t\n;|&()<>"
_BEFORE_COMMAND = b" \t\n;|&()`"
# Text that bash would run, where the grammar saw only text.
_CODE = re.compile(rb"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
_PROCESS = re.compile(rb"(?<!\\)(?:\\\\)*[<>]\(")
_TEXT_LEAVES = frozenset(
    ["word", "regex", "extglob_pattern", "string_content", "number", "heredoc_content", "test_operator"]
)
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One place where a variable may get a value.

    Attributes:
        value: The node it comes from; None when the value is not written (`read x`).
        kind: `word`, `array`, `loop`, `number` or `any`.
        start, end: Byte range of the assignment.
        scope: Byte range in which a later use certainly sees that the assignment ran.
    """

    value: Node | None
    kind: str
    start: int
    end: int
    scope: tuple[int, int]
    values: tuple[Node, ...] = ()


@dataclass(slots=True)
class Survey:
    """What one pass over the tree finds.

    Attributes:
        problems: (sentence, fragment) for all that makes the tree unfit to be judged.
        assignments: By variable name, in the order written.
        functions: By name: the definitions, in the order written.
        calls: By program word as written: the `command` nodes.
    """

    problems: list[tuple[str, str]] = field(default_factory=list)
    assignments: dict[str, list[Assignment]] = field(default_factory=dict)
    functions: dict[str, list[Node]] = field(default_factory=dict)
    calls: dict[str, list[Node]] = field(default_factory=dict)


@cache
def shell_parser() -> Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(data: bytes) -> Node:
    return shell_parser().parse(data).root_node


def outline(node: Node) -> str:
    """Return the tree in one line, tokens left out: `(program (command (command_name) (word)))`."""
    parts: list[str] = []
    todo: list[Node | str] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append(f" ({item.type}")
        todo.append(")")
        todo.extend(reversed(item.named_children))
    return "".join(parts).strip()


def text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def survey(root: Node, data: bytes) -> Survey:
    """Walk the tree once. When `problems` is not empty the rest must not be used."""
    walk = _Walk(data)
    if root.has_error:
        walk.problem("the command could not be parsed", "")
        return walk.found
    if root.descendant_count > MOST_NODES:
        walk.problem(SENTENCE, "")
        return walk.found
    walk.visit(root, None, 0)
    walk.check_gap(len(data))
    return walk.found


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.found = Survey()
        self.covered = 0  # end of the last token
        self.glued = b"=(" in data or b"`" in data

    def problem(self, sentence: str, fragment: str) -> None:
        self.found.problems.append((sentence, fragment))

    def check_gap(self, start: int) -> None:
        """Bytes that no token covers are blanks to the grammar; bash has to agree."""
        if start > self.covered:
            gap = self.data[self.covered : start].replace(b"\\\n", b"").strip(_BLANK)
            if gap:
                self.problem("the command could not be parsed for certain", gap.decode("utf-8", "replace"))
        self.covered = max(self.covered, start)

    def visit(self, node: Node, parent: Node | None, depth: int) -> None:
        if depth > DEEPEST:
            self.problem("the command is nested too deeply to be read", "")
            return
        kind = node.type
        start, end = node.start_byte, node.end_byte
        if node.is_missing:
            self.problem("the command could not be parsed", kind)
            return
        if node.is_named:
            if kind not in NODES:
                self.problem("shell syntax that is not understood", text(node))
                return
            if (
                kind in _STARTERS
                and start
                and self.data[start - 1] not in _BEFORE_COMMAND
                or kind in _CLOSERS
                and end < len(self.data)
                and self.data[end] not in _AFTER_COMMAND
                or kind == "variable_assignment"
                and self.data[start - 1 : start] == b")"
                and (parent is None or parent.type != "case_item")
                or kind == "comment"
                and start
                and self.data[start - 1] not in _BEFORE_COMMENT
            ):
                self.problem("the command could not be parsed for certain", text(node))
        elif (
            kind in _KEYWORDS
            and (parent is None or parent.type != "expansion")
            and (
                start
                and self.data[start - 1] not in _AFTER_KEYWORD
                or end < len(self.data)
                and self.data[end] not in _AFTER_KEYWORD
            )
        ):
            self.problem("the command could not be parsed for certain", kind)
        elif kind[-1:] in ("<", ">") and self.data[end : end + 1] == b"(":
            # `[[ x<(ls) ]]` compares nothing to bash: it runs ls.
            self.problem("the command could not be parsed for certain", kind + "(")
        elif kind == ";;" and (parent is None or parent.type != "case_item"):
            self.problem("the command could not be parsed", ";;")
        children = node.children
        if not children:
            self.check_gap(start)
            self.covered = max(self.covered, end)
            self.check_leaf(node, kind, start, end, parent)
            return
        if kind in _TIGHT and any(
            left.end_byte != right.start_byte for left, right in zip(children, children[1:], strict=False)
        ):
            self.problem("the command could not be parsed for certain", text(node))
        if kind in _ONE_LINE:
            for left, right in zip(children, children[1:], strict=False):
                if b"\n" in self.blanks(left, right):
                    self.problem("the command could not be parsed for certain", text(node))
                    break
        getattr(self, "on_" + kind, _nothing)(node, parent)
        # Between the expansions of a string or a here-document lies text, not a token for each piece.
        loose = kind in ("string", "heredoc_body", "expansion")
        for child in children:
            if loose:
                self.covered = max(self.covered, child.start_byte)
            self.visit(child, node, depth + 1)
        if loose:
            self.covered = max(self.covered, end)

    def check_leaf(self, node: Node, kind: str, start: int, end: int, parent: Node | None) -> None:
        data = self.data
        if kind in _TEXT_LEAVES and (
            _CODE.search(data, start, end) or (kind != "string_content" and _PROCESS.search(data, start, end))
        ):
            self.problem("text with code in it can't be read for certain", text(node))
        if kind == "variable_name" and not _IDENTIFIER.fullmatch(data, start, end):
            self.problem("a variable name that is not plain", text(node))
        elif kind == "word":
            before = data[start - 1 : start]
            if self.glued and before and before in b")]}`":
                inside = parent is not None and parent.type == "concatenation"
                if before in (b")", b"`") or not inside:
                    self.problem("words glued together can't be read for certain", text(node))

    def on_command_name(self, node: Node, parent: Node | None) -> None:
        if len(node.children) > 1:
            self.problem("program name is computed at run time", text(node))

    def on_command(self, node: Node, parent: Node | None) -> None:
        end = -1
        for child in node.children:
            # Two words that touch are one word to bash.
            if child.start_byte == end and not child.type.endswith("redirect"):
                self.problem("the command could not be parsed for certain", text(node))
                break
            end = child.end_byte
        name = node.child_by_field_name("name")
        if name is None:
            return
        program = text(name)
        self.found.calls.setdefault(program, []).append(node)
        if program in (
            "command",
            "builtin",
            "read",
            "mapfile",
            "readarray",
            "getopts",
            "printf",
            "wait",
            "select",
            "export",
            "local",
        ):
            for child in node.children:
                if child.type in ("word", "concatenation", "string", "raw_string"):
                    plain = text(child).strip("\"'").partition("=")[0]
                    if plain.isidentifier():
                        self.add(plain, Assignment(None, "any", node.start_byte, node.end_byte, scope(node)))
        elif program == "let":
            for match in re.finditer(r"[A-Za-z_]\w*", text(node)[3:]):
                self.add(match[0], Assignment(None, "any", node.start_byte, node.end_byte, scope(node)))

    def on_declaration_command(self, node: Node, parent: Node | None) -> None:
        for child in node.children:
            if child.type == "variable_name":
                self.add(text(child), Assignment(None, "any", node.start_byte, node.end_byte, (0, 0)))

    def on_unset_command(self, node: Node, parent: Node | None) -> None:
        for child in node.children:
            if child.type in ("variable_name", "word"):
                self.add(text(child), Assignment(None, "word", node.start_byte, node.end_byte, (0, 0)))

    def on_variable_assignment(self, node: Node, parent: Node | None) -> None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None:
            return
        if not re.match(r"[A-Za-z_]", text(name)):
            self.problem("a variable name that is not plain", text(node))
        if name.type == "subscript":
            inner = name.child_by_field_name("name")
            if inner is not None:
                self.add(text(inner), Assignment(None, "any", node.start_byte, node.end_byte, (0, 0)))
            return
        if parent is not None and parent.type == "command":
            return  # only the started program sees it
        appended = any(child.type == "+=" for child in node.children)
        kind = "array" if value is not None and value.type == "array" else "word"
        if appended:
            kind = "more" if kind == "array" else "any"
        declared = parent is not None and parent.type == "declaration_command"
        if declared and value is not None and "{" in text(value).replace("${", ""):
            kind = "any"  # a word like any other: braces make several assignments of it
        self.add(text(name), Assignment(value, kind, node.start_byte, node.end_byte, scope(node)))

    def on_for_statement(self, node: Node, parent: Node | None) -> None:
        name = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        values = tuple(node.children_by_field_name("value"))
        kind = "loop" if node.children[0].type == "for" and values else "any"
        self.add(
            text(name),
            Assignment(
                None, kind, node.start_byte, body.start_byte, (body.start_byte, body.end_byte), values
            ),
        )

    def on_expansion(self, node: Node, parent: Node | None) -> None:
        kinds = [child.type for child in node.children]
        if ":=" in kinds or "=" in kinds:
            for child in node.children:
                if child.type == "variable_name":
                    self.add(text(child), Assignment(None, "any", node.start_byte, node.end_byte, (0, 0)))

    def on_heredoc_redirect(self, node: Node, parent: Node | None) -> None:
        """Where a here-document ends is found again in the raw text: what follows it is code."""
        pieces = {child.type: child for child in node.children}
        opening, body, closing = (
            pieces.get(kind) for kind in ("heredoc_start", "heredoc_body", "heredoc_end")
        )
        word = text(opening) if opening is not None else ""
        match = re.fullmatch(r"(['\"]?)([A-Za-z_][\w.\-]*)\1", word)
        if match is None or closing is None or text(closing) != match[2]:
            self.problem("a here-document whose end can't be found for certain", word)
            return
        first = body.start_byte if body is not None else closing.start_byte
        start = self.data.rfind(b"\n", 0, first) + 1
        lines = self.data[start : closing.end_byte].decode("utf-8", "replace").split("\n")
        if "<<-" in pieces:
            lines = [line.lstrip("\t") for line in lines]
        after = self.data[closing.end_byte : closing.end_byte + 1]
        unquoted = not match[1]
        joined = unquoted and any(line.endswith("\\") for line in lines)
        ends = [index for index, line in enumerate(lines) if line == match[2]]
        if joined or ends != [len(lines) - 1] or after not in (b"", b"\n"):
            self.problem("a here-document whose end can't be found for certain", word)
        elif unquoted and body is not None:
            # The grammar skips blanks before an expansion, and at times the `$` with them.
            for gap in gaps(body, start, closing.start_byte):
                if _CODE.search(self.data, *gap):
                    self.problem(
                        "text with code in it can't be read for certain",
                        self.data[gap[0] : gap[1]].decode("utf-8", "replace"),
                    )

    def on_function_definition(self, node: Node, parent: Node | None) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self.found.functions.setdefault(text(name), []).append(node)

    def on_test_command(self, node: Node, parent: Node | None) -> None:
        first, last = node.children[0], node.children[-1]
        after = self.data[first.end_byte : first.end_byte + 1]
        before = self.data[last.start_byte - 1 : last.start_byte]
        pairs = {"[": "]", "[[": "]]"}
        blank = (b" ", b"\t", b"\n")
        if first.type in pairs and (
            pairs[first.type] != last.type or after not in blank or before not in blank
        ):
            self.problem("the command could not be parsed for certain", text(node))
        elif any(b"\n" in gap for gap in self.test_gaps(node, first.type == "[[")):
            # The grammar reads on where bash sees the next command: `[ -n<newline>rm x ]`.
            self.problem("the command could not be parsed for certain", text(node))

    def blanks(self, left: Node, right: Node) -> bytes:
        """Return the blanks between two nodes, without continued lines; some tokens begin with theirs."""
        text = self.data[left.end_byte : right.end_byte].replace(b"\\\n", b"")
        return text[: len(text) - len(text.lstrip(_BLANK))]

    def test_gaps(self, node: Node, lasting: bool) -> Iterator[bytes]:
        """Yield the blanks between the words of a test, but where a `lasting` one may go on in a new line."""
        for left, right in zip(node.children, node.children[1:], strict=False):
            if not lasting or (left.type not in _TEST_OPENS and right.type not in _TEST_CLOSES):
                yield self.blanks(left, right)
        for child in node.children:
            if child.type.endswith("_expression"):
                yield from self.test_gaps(child, lasting)

    def on_arithmetic_expansion(self, node: Node, parent: Node | None) -> None:
        self.check_parentheses(node)

    def on_compound_statement(self, node: Node, parent: Node | None) -> None:
        after = self.data[node.start_byte + 1 : node.start_byte + 2]
        if node.children[0].type == "{" and after not in (b" ", b"\t", b"\n"):
            self.problem("the command could not be parsed for certain", text(node))
        if node.children[0].type == "((":
            self.check_parentheses(node)

    def check_parentheses(self, node: Node) -> None:
        """Where parentheses don't match, bash reads `$((` as a subshell in a substitution."""
        open_ones = 0
        content = text(node)
        for index, char in enumerate(content):
            open_ones += (char == "(") - (char == ")")
            if open_ones <= 0 and char == ")" and index < len(content) - 1:
                break
        else:
            if open_ones == 0 or content.startswith("$["):
                return
        self.problem("the command could not be parsed for certain", content)

    def on_postfix_expression(self, node: Node, parent: Node | None) -> None:
        self.count(node)

    def on_binary_expression(self, node: Node, parent: Node | None) -> None:
        if any(
            child.type.endswith("=") and child.type not in ("==", "!=", "<=", ">=") for child in node.children
        ):
            self.count(node)

    def on_unary_expression(self, node: Node, parent: Node | None) -> None:
        if any(child.type in ("++", "--") for child in node.children):
            self.count(node)

    def count(self, node: Node) -> None:
        for child in node.children:
            if child.type in ("variable_name", "word"):
                self.add(text(child), Assignment(None, "number", node.start_byte, node.end_byte, (0, 0)))
                break

    def add(self, name: str, assignment: Assignment) -> None:
        self.found.assignments.setdefault(name, []).append(assignment)


def _nothing(node: Node, parent: Node | None) -> None:
    return None


def gaps(body: Node, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of a here-document that are text: all but the expansions that were read."""
    for child in body.children:
        if child.is_named and child.type != "heredoc_content":
            yield start, child.start_byte
            start = child.end_byte
    yield start, end


def scope(node: Node) -> tuple[int, int]:
    """Return the byte range in which what follows `node` certainly sees that it ran."""
    inner = node
    parent = node.parent
    while parent is not None:
        kind = parent.type
        after = inner.next_sibling
        if kind == "pipeline" or (after is not None and after.type == "&"):
            return inner.start_byte, inner.end_byte  # a shell of its own
        if kind == "if_statement":
            while after is not None and after.type not in ("else_clause", "elif_clause", "fi"):
                after = after.next_sibling
            return parent.start_byte, after.start_byte if after is not None else parent.end_byte
        if kind == "list":
            operator = parent.children[1].type
            # The right side may be skipped; only an unbroken chain of && after it knows that it ran.
            if parent.children[0].id != inner.id:
                while (
                    parent.parent is not None
                    and parent.parent.type == "list"
                    and parent.parent.children[0].id == parent.id
                    and parent.parent.children[1].type == "&&"
                    and operator == "&&"
                ):
                    parent = parent.parent
                return parent.start_byte, parent.end_byte
        elif (
            kind in ("program", "variable_assignments", "redirected_statement", "declaration_command")
            or kind == "compound_statement"
        ):
            pass
        else:
            return parent.start_byte, parent.end_byte
        inner, parent = parent, parent.parent
    return inner.start_byte, inner.end_byte
