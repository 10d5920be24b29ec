"""What the agent asks of a model, and what it gets back. Any class with these two members is a client."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from bot.messages import AssistantMessage, ToolDefinition, Transcript, Usage
from bot.protocol import Problem


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it travels: `media_type` by its bytes, `data` those bytes in base64."""

    media_type: str
    data: str = field(repr=False)

    @property
    def format(self) -> str:
        """`jpeg`, `png`, `gif` or `webp`."""
        return self.media_type.removeprefix("image/")

    @property
    def uri(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model.

    Attributes:
        system: The soul and the rules; byte-stable over the turns of a conversation.
        transcript: Oldest first, every tool call answered, ends with a UserMessage, ToolResult or Notice.
            Tool results hold their bare bodies; a client puts them into the envelope of requirement R2.
        tools: Sorted by name; empty when the model must answer in words.
        max_steps: The Y of "step X/Y".
        language: `en`, `id` or `pt`: of the envelope.
        nonce: Random, one per conversation: tells our envelope from a forged one.
        model: `provider:model` chosen for the conversation; empty for the usual chain.
        pictures: By path, those of the transcript that the model is shown; `Seeing` reads them. A wire maps
            no others, so without it there are none.
    """

    system: str
    transcript: Transcript
    tools: Sequence[ToolDefinition] = ()
    max_steps: int = 12
    language: str = "en"
    nonce: str = ""
    model: str = ""
    pictures: Mapping[str, Picture] = field(default_factory=dict)

    def shown(self, paths: Sequence[str]) -> list[Picture]:
        """Return the pictures among these that the model is shown, in their order."""
        return [self.pictures[path] for path in paths if path in self.pictures]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, ready to be shown: never a fragment of markup."""

    text: str


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """The whole reply, after its last delta.

    Attributes:
        message: Its text is what the deltas add up to; calls in the order written.
        usage: As the provider counted; None when it did not say.
        stop_reason: `length` when the reply was cut: its last call, if any, carries a `problem`.
        model: As the provider names it.
        problem: The text protocol was broken; calls before the problem stand.
    """

    message: AssistantMessage
    usage: Usage | None = None
    stop_reason: Literal["end", "tool_calls", "length", "refusal"] = "end"
    model: str = ""
    problem: Problem | None = None


class LLMClient(Protocol):
    """A model behind an API, or a wrapper around one."""

    @property
    def supports_native_tools(self) -> bool:
        """Whether tool calls travel in fields of their own. Asked at call time, through every wrapper."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        """Yield zero or more deltas, then exactly one response, which ends the stream.

        Raises:
            LLMUnavailable: Try again later; deltas may already have been given.
            LLMRejected: The same request will fail again.
            LLMMalformed: The reply broke the provider's format or was cut.
        """
        ...
