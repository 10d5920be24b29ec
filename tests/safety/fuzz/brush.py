"""The programs a second parser finds in a command: brush's, which shares no line with ours.

Its wheel needs Python 3.12 and is no dependency of ours: where it is not there, the tests that ask it skip.
"""

import importlib
from collections.abc import Iterator
from typing import Any


class RefusedError(Exception):
    """The text, or something in it, is no command to this parser."""


def programs(text: str) -> set[str]:
    """Return the names written for programs, in every nested context; computed ones are left out.

    Raises:
        RefusedError: It can't be parsed.
        ImportError: The parser is not installed.
    """
    brush: Any = importlib.import_module("brush_parser")
    try:
        return set(walk(brush, brush.parse_program(text)))
    except (brush.ParseError, brush.WordParseError) as error:
        raise RefusedError(str(error)) from error


def walk(brush: Any, node: Any) -> Iterator[str]:
    """Yield the programs in a node, whatever kind it is."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(brush, item)
        return
    match type(node).__name__:
        case "SimpleCommand" if node.word_or_name is not None:
            name = literal(brush.parse_word(node.word_or_name.value))
            if name:
                yield name
        case "Word" | "UnexpandedArithmeticExpr" if hasattr(node, "value"):
            yield from walk(brush, brush.parse_word(node.value))
            return
        case "IoHereDocument":
            if node.requires_expansion:
                yield from walk(brush, brush.parse_heredoc(node.doc.value))
            return
        case "CommandSubstitution" | "BackquotedCommandSubstitution":
            yield from walk(brush, brush.parse_program(node.command))
            return
    for field in getattr(type(node), "__match_args__", ()):
        value = getattr(node, field)
        # Inside ${…} a word is still text.
        if isinstance(value, str) and field in TEXTS:
            yield from walk(brush, brush.parse_word(value))
        elif not isinstance(value, (str, int, bool, type(None))):
            yield from walk(brush, value)


TEXTS = frozenset(
    "default_value error_message alternative_value pattern replacement index offset length value".split()
)


def literal(pieces: Any) -> str:
    """Return a word made of plain text and quotes alone; empty when the shell computes any of it."""
    text = ""
    for source in pieces:
        piece = source.piece
        match type(piece).__name__:
            case "Text" | "SingleQuotedText":
                text += piece.text
            case "EscapeSequence":
                text += piece.text[1:]
            case "DoubleQuotedSequence":
                inner = literal(piece.pieces)
                if not inner:
                    return ""
                text += inner
            case _:
                return ""
    return "" if set(text) & set("*?[{~") else text
