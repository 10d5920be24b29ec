"""Values as JSON text and back, the same for every backend.

Fields that hold their default are left out, so a field added to a value later needs no migration. The text is
pure ASCII: every string comes back as it was, lone surrogates and NULs included, whatever the database thinks
of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from bot.messages import (
    AssistantMessage,
    Conversation,
    Message,
    Notice,
    Opaque,
    ToolCall,
    ToolResult,
    UserMessage,
)

KINDS = {UserMessage: "user", AssistantMessage: "assistant", ToolResult: "result", Notice: "notice"}
DEFAULTS: Mapping[type[Any], list[tuple[str, Any]]] = {
    kind: [(field.name, field.default) for field in fields(kind)] for kind in (*KINDS, ToolCall, Opaque)
}


def encode(message: Message) -> tuple[str, str]:
    """Return (kind, body): kind is `user`, `assistant`, `result` or `notice`; body a JSON object."""
    row = _fields_set(message)
    if isinstance(message, AssistantMessage):
        for name in ("opaque", "follow_up"):
            if name in row:
                row[name] = _fields_set(row[name])
        if message.tool_calls:
            row["tool_calls"] = [_fields_set(call) for call in message.tool_calls]
    return KINDS[type(message)], to_json(row)


def decode(rows: Sequence[Sequence[str]]) -> list[Message]:
    """Return the messages that `encode` gave these rows for, in their order."""
    # One parse of all is three times as fast as one a message, and a transcript is read at every step.
    bodies = json.loads("[" + ",".join([body for _, body in rows]) + "]")
    return [_message(kind, body) for (kind, _), body in zip(rows, bodies, strict=True)]


def _message(kind: str, row: dict[str, Any]) -> Message:
    match kind:
        case "user":
            if images := row.get("images"):
                row["images"] = tuple(images)
            return UserMessage(**row)
        case "result":
            return ToolResult(**row)
        case "notice":
            return Notice(**row)
        case "assistant":
            if calls := row.get("tool_calls"):
                row["tool_calls"] = tuple([ToolCall(**call) for call in calls])
            if opaque := row.get("opaque"):
                row["opaque"] = Opaque(**opaque | {"parts": tuple(opaque["parts"])})
            if follow_up := row.get("follow_up"):
                row["follow_up"] = Notice(**follow_up)
            return AssistantMessage(**row)
        case _:
            raise ValueError(f"unknown kind of message {kind!r}")


def closes_turn(message: Message) -> bool:
    """Whether nothing is left to do once this is a conversation's last message."""
    return isinstance(message, AssistantMessage) and not message.tool_calls and message.follow_up is None


def to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain)


def storable(text: str) -> str:
    """Return text that any database takes as UTF-8: a lone surrogate becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def key(conversation: Conversation) -> tuple[int, int]:
    """Return (chat_id, thread_id); 0, which is no thread, stands for None: NULLs are never unique."""
    return conversation.chat_id, conversation.thread_id or 0


def from_key(chat_id: int, thread_id: int) -> Conversation:
    """Undo `key`."""
    return Conversation(chat_id, thread_id or None)


def _fields_set(value: Any) -> dict[str, Any]:
    return {
        name: held
        for name, default in DEFAULTS[type(value)]
        if (held := getattr(value, name)) != default or default is MISSING
    }


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot be stored as JSON: a value of type {type(value).__name__!r}")
