"""A scripted reply in the two oldest shapes: as server-sent events, cut as the script wants.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming,
https://docs.claude.com/en/api/messages-streaming
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.demo.model_rules import sign
from bot.messages import Usage

Fault = Literal["", "cut", "error", "error_body", "cut_before"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call of a reply. Arguments given as text go out as they are, valid or not."""

    name: str
    arguments: Mapping[str, object] | str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says next.

    Attributes:
        after: Text that follows the calls.
        thinking: Hidden reasoning; the Anthropic shape signs it and wants it back unaltered.
        finish: The stop reason in the shape's own words; empty for the one that fits.
        delay: Seconds before the first byte.
        pace: Seconds between two writes.
        chunk: Characters of text or arguments in one event; 0 for all in one.
        write: Bytes in one write, wherever that cuts; 0 for the whole stream in one, or one event a
            write when there is a pace.
        status, error, retry_after: Not 200: this answer instead of a reply.
        fault: `cut` ends the connection in the middle, `cut_before` before the answer, `error` puts an error
            into the stream half-way, `error_body` answers 200 with an error.
        events: Raw events to send instead of everything else; each the text after `data: `.
    """

    text: str = ""
    calls: Sequence[ScriptedCall] = ()
    after: str = ""
    thinking: str = ""
    finish: str = ""
    usage: Usage = Usage(100, 10)
    delay: float = 0.0
    pace: float = 0.0
    chunk: int = 0
    write: int = 0
    status: int = 200
    error: str = ""
    retry_after: float | None = None
    fault: Fault = ""
    events: Sequence[str] = ()


def call(name: str, **arguments: object) -> ScriptedCall:
    """Write a call the short way."""
    return ScriptedCall(name, arguments)


def openai_events(reply: Reply, model: str, number: int, *, usage: bool) -> list[bytes]:
    """Return the events of a chat completion; `number` makes ids unique."""
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
    }

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    events = [chunk({"role": "assistant", "content": "" if reply.text or not reply.calls else None})]
    events += [chunk({"reasoning_content": piece}) for piece in pieces(reply.thinking, reply.chunk)]
    events += [chunk({"content": piece}) for piece in pieces(reply.text, reply.chunk)]
    for index, asked in enumerate(reply.calls):
        head = {
            "index": index,
            "id": asked.id or f"call_{number}_{index}",
            "type": "function",
            "function": {"name": asked.name, "arguments": ""},
        }
        events.append(chunk({"tool_calls": [head]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces(spelt(asked), reply.chunk)
        ]
    events += [chunk({"content": piece}) for piece in pieces(reply.after, reply.chunk)]
    events.append(chunk({}, reply.finish or ("tool_calls" if reply.calls else "stop")))
    if usage:
        counted = {
            "prompt_tokens": reply.usage.input,
            "completion_tokens": reply.usage.output,
            "total_tokens": reply.usage.input + reply.usage.output,
            "prompt_tokens_details": {"cached_tokens": reply.usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
        }
        events.append(data({**base, "choices": [], "usage": counted}))
    events.append(b"data: [DONE]\n\n")
    return events


def anthropic_events(reply: Reply, model: str, number: int) -> list[bytes]:
    """Return the events of a message; `number` makes ids unique."""
    used = reply.usage
    message: dict[str, Any] = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {
            "input_tokens": used.input - used.cache_read - used.cache_write,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "output_tokens": 1,
        },
    }  # fmt: skip
    events = [event({"type": "message_start", "message": message}), event({"type": "ping"})]
    for index, (block, deltas) in enumerate(_anthropic_blocks(reply, number)):
        events.append(event({"type": "content_block_start", "index": index, "content_block": block}))
        events += [event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
        events.append(event({"type": "content_block_stop", "index": index}))
    finish = reply.finish or ("tool_use" if reply.calls else "end_turn")
    events.append(
        event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": finish, "stop_sequence": None},
                "usage": {"output_tokens": used.output},
            }
        )
    )
    events.append(event({"type": "message_stop"}))
    return events


def _anthropic_blocks(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.thinking:
        deltas = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thinking, reply.chunk)
        ]
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [*deltas, {"type": "signature_delta", "signature": sign(reply.thinking)}],
        )
    if reply.text:
        yield _text_block(reply.text, reply.chunk)
    for index, asked in enumerate(reply.calls):
        block = {
            "type": "tool_use",
            "id": asked.id or f"toolu_{number}_{index}",
            "name": asked.name,
            "input": {},
        }
        given = ["", *pieces(spelt(asked), reply.chunk)]
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in given]
    if reply.after:
        yield _text_block(reply.after, reply.chunk)


def _text_block(text: str, size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"type": "text", "text": ""}, [
        {"type": "text_delta", "text": piece} for piece in pieces(text, size)
    ]


def raw_events(events: Sequence[str]) -> list[bytes]:
    """Return events given as text."""
    return [f"data: {event}\n\n".encode() for event in events]


def error_event(shape: str, reply: Reply) -> bytes:
    """Return the error that comes in the middle of a stream."""
    text = reply.error or "Overloaded"
    if shape == "anthropic":
        return event({"type": "error", "error": {"type": "overloaded_error", "message": text}})
    return data({"error": {"message": text, "type": "server_error", "param": None, "code": "server_error"}})


def spelt(asked: ScriptedCall) -> str:
    """Return the arguments as JSON text, or as the script wrote them."""
    if isinstance(asked.arguments, str):
        return asked.arguments
    return json.dumps(asked.arguments, ensure_ascii=False)


def pieces(text: str, size: int) -> Iterator[str]:
    """Cut a text; size 0 leaves it whole."""
    if text and size:
        yield from (text[at : at + size] for at in range(0, len(text), size))
    elif text:
        yield text


def data(value: Mapping[str, Any]) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def event(value: Mapping[str, Any]) -> bytes:
    """Return a server-sent event named by its type."""
    return f"event: {value['type']}\n".encode() + data(value)
