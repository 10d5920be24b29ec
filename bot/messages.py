"""What is said in a conversation, as plain values.

A transcript is a list of messages, oldest first. It is the only state of a turn: what happens next follows
from the transcript alone, so a turn survives a restart by being read back.

Row ids and times are the store's business. Equal fields make equal messages.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum


class Risk(IntEnum):
    """How much harm a tool call can do. Ordered: the highest that anything gives is the one that counts."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


@dataclass(frozen=True, slots=True, order=True)
class Conversation:
    """A chat plus its topic; `thread_id` is None outside forum topics and in General."""

    chat_id: int
    thread_id: int | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's request to run one tool.

    Attributes:
        name: The tool's name as the model wrote it; may be unknown.
        arguments: A JSON object. Empty when `problem` is set.
        id: Ours, unique for ever: providers repeat theirs, and an approval must mean one call.
        provider_id: The provider's own id, sent back to it; empty for text calls.
        repaired: The text protocol mended the JSON before it could be read; the gate asks before such a
            call unless the tool only reads.
        problem: Why the arguments could not be read. Such a call never runs; its result is the problem.
    """

    name: str
    arguments: Mapping[str, object]
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    provider_id: str = ""
    repaired: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call came to; the model reads `text`.

    Attributes:
        call_id: `ToolCall.id`.
        text: Redacted and truncated; empty when there was no output.
        is_error: Whether the call failed, was refused or never ran.
        code: One of the codes of requirement F1 (`Timeout`, `ExitCode:2`, `Denied`, …); empty unless
            `is_error`.
        exit_code: Of a command that ran to its end.
        duration: Seconds the call ran; None when it never ran.
        truncated: Whether `text` is less than the whole output.
        file: Path of the whole output, kept when `text` is truncated.
        ran: The command that took the place of the call's own, when a person changed it; empty otherwise.
    """

    call_id: str
    text: str
    is_error: bool = False
    code: str = ""
    exit_code: int | None = None
    duration: float | None = None
    truncated: bool = False
    file: str = ""
    ran: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person said.

    Attributes:
        sender_id: The Telegram user; None when it came from nobody (a schedule).
        message_id: The Telegram message, to reply to; None when there is none.
        images: Paths of pictures that came with it, for a model that sees; the text names them too.
    """

    text: str
    sender_id: int | None = None
    sender_name: str = ""
    message_id: int | None = None
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """A provider's own parts of a reply (thinking, signatures), kept raw.

    Replayed only to the same provider and model; dropped for every other.
    """

    provider: str
    model: str
    parts: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Notice:
    """What the program tells the model in mid-turn: a format correction, advice, a request to sum up.

    The model reads it in the user's role; no person wrote it.

    Attributes:
        kind: `correction`, `promise`, `empty`, `loop`, `cap` or `summary`; the loop counts them by kind. Or
            `receipt`: what came between two turns, of a call of an earlier one.
        covers: Of a summary: how many messages, from the first on, it stands for.
    """

    text: str
    kind: str
    covers: int = 0


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of the model. Without tool calls and follow-up it ends the turn.

    Attributes:
        follow_up: What the model must still be told about this reply, once its calls are answered; the loop
            appends it as a message of its own.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    opaque: Opaque | None = None
    follow_up: Notice | None = None


Message = UserMessage | AssistantMessage | ToolResult | Notice
Transcript = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the provider counted them; `input` includes the cached ones."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


def pending_calls(transcript: Transcript) -> list[ToolCall]:
    """Return the tool calls that have no result yet, in the order asked.

    Args:
        transcript: Messages, oldest first. May be empty.

    Returns:
        Zero or more calls, all from the last assistant message: a transcript never moves on past an
        unanswered call.
    """
    answered: set[str] = set()
    for message in reversed(transcript):
        match message:
            case ToolResult(call_id=call_id):
                answered.add(call_id)
            case AssistantMessage(tool_calls=calls):
                return [call for call in calls if call.id not in answered]
            case UserMessage() | Notice():
                return []
    return []


def current_turn(transcript: Transcript) -> Transcript:
    """Return the messages since the last user message, that one included; all of them if there is none."""
    for index in range(len(transcript) - 1, -1, -1):
        if isinstance(transcript[index], UserMessage):
            return transcript[index:]
    return transcript


def steps_taken(transcript: Transcript) -> int:
    """Count the model calls of the current turn: its assistant messages."""
    return sum(isinstance(message, AssistantMessage) for message in current_turn(transcript))
