"""What a parser says about a model's text, in the order of the text."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of what the person may read: joined, the message minus calls, markers and thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that may run.

    Attributes:
        name: The definition's own spelling; always one of the tools the parser was given.
        arguments: A JSON object, not yet checked against the tool's schema.
        repaired: The text was mended (structure only) before it could be read.
        dialect: The row of `dialects.DIALECTS` it was written in, or `fence`, `bare`.
        start: First character in the message, counted from 0.
        end: One past its last character.
    """

    name: str
    arguments: Mapping[str, object]
    repaired: bool = False
    dialect: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A call that will not run. No call that comes after the first problem of a message comes out.

    Attributes:
        code: `malformed`, `truncated` or `unknown`.
        message: One reason, for the model to read.
        reason: The same as a stable word, such as `string_open` or `duplicate_key`.
        position: Character in the message where it went wrong, counted from 0.
        excerpt: At most 60 characters around that place.
        tool: The tool it was meant for, or what the model wrote as a name; empty if it can't be told.
    """

    code: str
    message: str
    reason: str
    position: int
    excerpt: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A stretch of the message that is not shown.

    Attributes:
        reason: `call`, `problem`, `thinking`, `forged`, `marker` or `limit`.
    """

    start: int
    end: int
    reason: str


Event = Text | Call | Problem
