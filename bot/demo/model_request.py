"""What a model was asked, in one form whichever API it came through."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.model_images import images_in
from bot.demo.model_streams import ScriptedCall


@dataclass(frozen=True, slots=True)
class SeenResult:
    """A tool result as the model got it, envelope and all."""

    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """A message as the model got it; `images` are the bytes of its pictures."""

    role: str
    text: str
    calls: tuple[ScriptedCall, ...] = ()
    results: tuple[SeenResult, ...] = ()
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What the model was asked, whichever shape it came in.

    Attributes:
        shape: `openai`, `anthropic`, `responses`, `gemini`, `ollama`, `bedrock` or `stackspot`.
        tools: Names of the tools offered, in the order sent.
        tool_choice: `auto`, `none` or empty.
        messages: Oldest first, the system text left out. Results of one step are one message.
        body: The request as sent.
    """

    shape: str
    model: str
    system: str
    messages: tuple[SeenMessage, ...]
    tools: tuple[str, ...]
    tool_choice: str
    body: Mapping[str, Any]

    @property
    def last_user_text(self) -> str:
        """The last words in the user's role that are no tool result; empty if there are none."""
        return next((m.text for m in reversed(self.messages) if m.role == "user" and m.text), "")

    @property
    def results(self) -> tuple[SeenResult, ...]:
        """The results of the step just made; empty when the model is asked for the first time in a turn."""
        last = self.messages[-1]
        return last.results

    @property
    def step(self) -> int:
        """How many replies with calls came since the user last spoke without a result."""
        steps = 0
        for message in reversed(self.messages):
            if message.role == "user" and not message.results:
                break
            steps += bool(message.calls)
        return steps


def read_openai(body: Mapping[str, Any]) -> ModelRequest:
    """Return a checked chat completions request in neutral form."""
    system: list[str] = []
    messages: list[SeenMessage] = []
    for message in body["messages"]:
        role, text = message["role"], plain(message.get("content"))
        if role in ("system", "developer"):
            system.append(text)
        elif role == "tool":
            result = SeenResult(message["tool_call_id"], text, "[ERROR" in text)
            if messages and messages[-1].results:
                messages[-1] = SeenMessage("user", "", (), (*messages[-1].results, result))
            else:
                messages.append(SeenMessage("user", "", (), (result,)))
        else:
            calls = tuple(
                ScriptedCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
                for c in message.get("tool_calls") or ()
            )
            messages.append(SeenMessage(role, text, calls, images=images_in(message.get("content"))))
    choice = body.get("tool_choice", "")
    return ModelRequest(
        "openai",
        body["model"],
        "\n\n".join(system),
        tuple(messages),
        tuple(tool["function"]["name"] for tool in body.get("tools", ())),
        choice if isinstance(choice, str) else choice["type"],
        body,
    )


def read_anthropic(body: Mapping[str, Any]) -> ModelRequest:
    """Return a checked messages request in neutral form."""
    messages = []
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        messages.append(
            SeenMessage(
                message["role"],
                plain(blocks),
                tuple(
                    ScriptedCall(b["name"], b["input"], b["id"]) for b in blocks if b["type"] == "tool_use"
                ),
                tuple(
                    SeenResult(b["tool_use_id"], plain(b.get("content")), bool(b.get("is_error")))
                    for b in blocks
                    if b["type"] == "tool_result"
                ),
                images_in(blocks),
            )
        )
    return ModelRequest(
        "anthropic",
        body["model"],
        plain(body.get("system")),
        tuple(messages),
        tuple(tool["name"] for tool in body.get("tools", ())),
        (body.get("tool_choice") or {}).get("type", ""),
        body,
    )


def plain(content: object) -> str:
    if isinstance(content, list):
        kinds = ("text", "input_text", "output_text")
        return "\n\n".join(block["text"] for block in content if block.get("type") in kinds)
    return content if isinstance(content, str) else ""
