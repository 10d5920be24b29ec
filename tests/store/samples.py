"""Values the tests of the store share."""

import hashlib
from typing import Any

from bot.messages import AssistantMessage, Conversation, ToolCall
from bot.store.base import Approval, Effect

HERE = Conversation(42)
TOPIC = Conversation(42, 7)
ELSEWHERE = Conversation(-1001)
ANN = 5
ASKED = 1_700_000_000.0
DIGEST = hashlib.sha256(b"rm -rf build").hexdigest()


def calling(*call_ids: str) -> AssistantMessage:
    return AssistantMessage(
        "", tuple(ToolCall("run_in_terminal", {"command": "ls"}, call_id) for call_id in call_ids)
    )


def question(approval_id: str = "a1", call_id: str = "c1", **changes: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": approval_id,
        "conversation": HERE,
        "call_id": call_id,
        "digest": DIGEST,
        "tool": "run_in_terminal",
        "command": "rm -rf build",
        "cwd": "/srv",
        "reasons": ("deletes files", "recursive"),
        "explanation": "to build afresh",
        "asker_id": ANN,
        "asker_name": "Ann",
        "created_at": ASKED,
        "expires_at": ASKED + 1800,
    }
    return Approval(**fields | changes)


def card(approval_id: str = "a1") -> Effect:
    return Effect(f"card:{approval_id}", HERE, "card", {"approval_id": approval_id})


def answer(key: str = "answer:1", text: str = "done") -> Effect:
    return Effect(key, HERE, "answer", {"text": text})
