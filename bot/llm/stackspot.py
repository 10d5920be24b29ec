"""StackSpot AI's agents: one text in, one text out; tools can only be written as text.

Source: https://ai.stackspot.com/docs/agents/agent-api/agents-api; field names of the stream as projects that
use it report them, the documentation shows none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from bot.errors import LLMMalformed
from bot.llm import ids
from bot.llm.base import LLMResponse, Prompt
from bot.llm.sequence import Answered, Arranged, Asked, Said, enveloped
from bot.llm.transport import Event
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, Usage


class StackSpot(WireClient):
    """An agent behind `/v1/agent/{id}/chat`."""

    supports_native_tools = False
    id_style = ids.OPENAI

    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        return {
            "streaming": True,
            "user_prompt": flatten(prompt, arranged),
            "stackspot_knowledge": False,
            "return_ks_in_response": False,
        }

    def reply(self) -> "StackSpotReply":
        return StackSpotReply()


def chat_url(base_url: str, agent: str) -> str:
    return f"{base_url.rstrip('/')}/v1/agent/{quote(agent, safe='')}/chat"


def flatten(prompt: Prompt, arranged: Arranged) -> str:
    """Return the whole conversation as one text.

    Each part stands under a line with the conversation's nonce, which nobody in it knows: words that look
    like another part's heading stay words.
    """
    mark = f"#{prompt.nonce}" if prompt.nonce else "#"
    parts = [f"{mark} system\n{prompt.system}"] if prompt.system.strip() else []
    for item in arranged.items:
        match item:
            case Said(text):
                parts.append(f"{mark} user\n{text}")
            case Asked(message):
                parts.append(f"{mark} assistant\n{message.text}")
            case Answered(calls, results, _, step):
                answered = list(zip(calls, results, strict=True))
                parts.append(f"{mark} user\n{enveloped(prompt, step, answered)}")
    parts.append(f"{mark} assistant\n")
    return "\n\n".join(parts)


@dataclass(slots=True)
class StackSpotReply:
    """What has come of one reply so far."""

    text: list[str] = field(default_factory=list)
    stop: str = ""
    usage: Usage | None = None

    def take(self, event: Event) -> str:
        if event.get("done") is True:
            self.stop = self.stop or "stop"
            return ""
        if "message" not in event and "stop_reason" not in event and "tokens" not in event:
            raise KeyError("message")
        if tokens := event.get("tokens"):
            self.usage = read_usage(tokens)
        if reason := event.get("stop_reason"):
            self.stop = str(reason)
        text = event.get("message") or ""
        if not isinstance(text, str):
            raise TypeError(f"message {text!r}")
        if text:
            self.text.append(text)
        return text

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        if not self.stop:
            raise LLMMalformed(f"the stream from {provider} ended before the reply did")
        stop: Literal["end", "length"] = "length" if self.stop in ("length", "max_tokens") else "end"
        return LLMResponse(AssistantMessage("".join(self.text)), self.usage, stop, model)


def read_usage(tokens: Mapping[str, Any]) -> Usage:
    """Return the tokens of an answer; `enrichment` is what the agent itself added to the question."""
    asked = tokens.get("input", tokens.get("user")) or 0
    return Usage(input=asked + (tokens.get("enrichment") or 0), output=tokens.get("output") or 0)
