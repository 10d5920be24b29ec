"""How a turn ends, and what can be watched while it runs. Waiting is a value, not an error."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.messages import ToolCall, ToolResult
from bot.store.base import Approval


@dataclass(frozen=True, slots=True)
class Replied:
    """The turn is over; `text` was stored as an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The turn waits for people; `approvals` are open, in call order, and their cards are stored."""

    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was ended before its answer; the person is told `reason`, which was stored as a notice."""

    reason: str


Outcome = Replied | Paused | Stopped


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is asked: what it types from now on is a new reply."""


@dataclass(frozen=True, slots=True)
class Typing:
    """The model is writing; `text` is what it has released since the last such event."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call began to run. `subject` is one line: its command or main argument."""

    call: ToolCall
    subject: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A running call printed something; `line` is its last line."""

    call_id: str
    line: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: ToolCall
    result: ToolResult


Event = Thinking | Typing | ToolStarted | ToolOutput | ToolFinished
Watch = Callable[[Event], None]
"""Told of events as they happen; must return at once."""


def ignore(event: Event) -> None:
    """Watch nothing."""
