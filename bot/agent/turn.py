"""A conversation while it is being advanced."""

import asyncio
import secrets
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace

from bot.agent.outcomes import Watch
from bot.messages import (
    AssistantMessage,
    Conversation,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    current_turn,
)
from bot.store.base import AuditEvent, Effect, Store, UpdateIds

SUBJECT_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Changed:
    """A call in another's place: which call of the model's it answers, and what the model is told.

    Note and subject are of a person's command; empty when it is the model's own call, asked about anew.
    """

    call_id: str
    note: str
    subject: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class Turn:
    """A conversation while it is being advanced: its transcript, and how to add to it.

    Attributes:
        conversation: Where it is now: it changes when a group gets a new id.
        changed: By the id under which what took a call's place is claimed.
    """

    conversation: Conversation
    transcript: list[Message]
    cwd: str
    nonce: str
    model: str
    watch: Watch
    store: Store
    changed: dict[str, Changed] = field(default_factory=dict)

    async def append(
        self,
        messages: Sequence[Message],
        *,
        effects: Sequence[Effect] = (),
        update_id: UpdateIds = None,
        audit: Sequence[AuditEvent] = (),
        cwd: str | None = None,
    ) -> None:
        messages = [self._addressed(message) for message in messages]
        await to_its_end(
            self.store.append(
                self.conversation, messages, effects=effects, update_id=update_id, cwd=cwd, audit=audit
            )
        )
        self.transcript.extend(messages)
        self.cwd = cwd or self.cwd

    def _addressed(self, message: Message) -> Message:
        """Give the result of what took the place of a call of the model's to that call."""
        if not isinstance(message, ToolResult) or message.call_id not in self.changed:
            return message
        changed = self.changed[message.call_id]
        if not changed.note:
            return replace(message, call_id=changed.call_id)
        text = f"{changed.note}\n{message.text}".rstrip("\n")
        return replace(message, call_id=changed.call_id, text=text, ran=changed.subject)

    @property
    def asker(self) -> UserMessage | None:
        """The message that began the turn."""
        turn = current_turn(self.transcript)
        return turn[0] if turn and isinstance(turn[0], UserMessage) else None

    @property
    def asked_in(self) -> int | None:
        return self.asker.message_id if self.asker else None

    def effect(self, kind: str, **payload: object) -> Effect:
        return Effect(f"{kind}:{secrets.token_hex(8)}", self.conversation, kind, payload)

    def said_with_calls(self) -> Effect | None:
        """Return what the model said beside its open calls, to be read before the questions about them."""
        for message in reversed(self.transcript):
            if isinstance(message, AssistantMessage):
                if not (message.tool_calls and message.text.strip()):
                    return None
                payload = {"text": message.text, "reply_to": self.asked_in, "preview": True}
                return Effect(f"said:{message.tool_calls[0].id}", self.conversation, "answer", payload)
        return None

    def cut_outputs(self) -> list[dict[str, str]]:
        """Return the calls of the turn whose output the model saw only in part, oldest first."""
        outputs, calls = [], dict[str, ToolCall]()
        for message in current_turn(self.transcript):
            match message:
                case AssistantMessage(tool_calls=asked):
                    calls |= {call.id: call for call in asked}
                case ToolResult(call_id=call_id, file=file, ran=ran) if file and call_id in calls:
                    outputs.append({"call_id": call_id, "label": ran or subject_of(calls[call_id])})
        return outputs

    def ran(self) -> list[str]:
        """Return one line for each call of the turn that ran, with how it went."""
        lines, calls = [], dict[str, ToolCall]()
        for message in current_turn(self.transcript):
            match message:
                case AssistantMessage(tool_calls=asked):
                    calls |= {call.id: call for call in asked}
                case ToolResult(call_id=call_id, duration=float(), ran=ran) if call_id in calls:
                    lines.append(f"• {ran or subject_of(calls[call_id])}: {message.code or 'ok'}")
        return lines


async def to_its_end(write: Awaitable[object]) -> None:
    """Wait for a write also when cut short: it can't be taken back, and who cuts must find it stored."""
    writing = asyncio.ensure_future(write)
    cut: asyncio.CancelledError | None = None
    while not writing.done():
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError as exc:
            cut = exc
    writing.result()
    if cut:
        raise cut


def subject_of(call: ToolCall) -> str:
    """Return one line by which a person recognises a call."""
    arguments = call.arguments
    main = arguments.get("command") or arguments.get("query") or arguments.get("path")
    line = " ".join(str(main).split()) if main else call.name
    return line if len(line) <= SUBJECT_LENGTH else line[: SUBJECT_LENGTH - 1] + "…"
