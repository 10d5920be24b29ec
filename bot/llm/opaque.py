"""A provider's own parts of a reply (thinking, signatures): kept raw, given back only where they still hold.

They are bound to the provider, to the model and to everything said before them: altered or out of place they
are refused, so they are dropped as soon as any of the three differs (requirement N6).
Source: https://docs.claude.com/en/docs/build-with-claude/extended-thinking
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.messages import AssistantMessage, Message, Notice, Opaque, ToolResult, UserMessage

Parts = Sequence[Mapping[str, object]]


def keep(provider: str, model: str, parts: Parts, transcript: Sequence[Message]) -> Opaque | None:
    """Return the parts bound to the transcript they answered; None when there are none."""
    if not parts:
        return None
    digest = hashlib.blake2b(digest_size=12)
    for message in transcript:
        digest.update(_fingerprint(message))
    return Opaque(provider, model, ({"prefix": digest.hexdigest()}, *parts))


def replayable(provider: str, model: str, transcript: Sequence[Message]) -> dict[int, Parts]:
    """Return the parts that may go back, by the index of their message."""
    found: dict[int, Parts] = {}
    last = max(
        (i for i, message in enumerate(transcript) if _has_parts(message, provider, model)), default=-1
    )
    if last < 0:
        return found
    digest = hashlib.blake2b(digest_size=12)
    for index, message in enumerate(transcript[: last + 1]):
        if isinstance(message, AssistantMessage) and _has_parts(message, provider, model) and message.opaque:
            bound, *parts = message.opaque.parts
            if bound.get("prefix") == digest.hexdigest():
                found[index] = parts
        digest.update(_fingerprint(message))
    return found


def forget(transcript: Sequence[Message]) -> list[Message]:
    """Return the transcript without anybody's parts, for a provider that refused its own after all."""
    return [
        replace(message, opaque=None) if isinstance(message, AssistantMessage) and message.opaque else message
        for message in transcript
    ]


def _has_parts(message: Message, provider: str, model: str) -> bool:
    return (
        isinstance(message, AssistantMessage)
        and message.opaque is not None
        and bool(message.opaque.parts)
        and (message.opaque.provider, message.opaque.model) == (provider, model)
    )


def _fingerprint(message: Message) -> bytes:
    match message:
        case UserMessage(text):
            fields = ["user", text]
        case Notice(text):
            fields = ["notice", text]
        case ToolResult(call_id, text):
            fields = ["result", call_id, text]
        case AssistantMessage(text, calls):
            fields = ["assistant", text, *(call.id for call in calls)]
    return "\0".join([*fields, "\1"]).encode("utf-8", "surrogatepass")
