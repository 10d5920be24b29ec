"""A transcript as every provider wants it: user and assistant in turn, results right after their calls.

What differs between the wires (field names, id spelling, where results go) is left to the clients; what does
not is done here once: pairing, numbering of steps, names of people, roles that alternate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bot.llm.base import Prompt
from bot.llm.ids import IdStyle, WireIds
from bot.llm.pairing import repair
from bot.messages import AssistantMessage, Message, Notice, ToolCall, ToolResult, UserMessage
from bot.protocol import envelope

EMPTY = "(empty)"
MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class Said:
    """What the model reads in the user's role; never blank. `images` are paths of pictures that came too."""

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply of the model. `ids` has the wire ids of its calls, `index` its place in the transcript."""

    message: AssistantMessage
    ids: tuple[str, ...]
    index: int


@dataclass(frozen=True, slots=True)
class Answered:
    """All results of the reply before, in call order; `step` is that reply's number in its turn."""

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    ids: tuple[str, ...]
    step: int


Item = Said | Asked | Answered


@dataclass(frozen=True, slots=True)
class Arranged:
    """`transcript` is what `Asked.index` counts in."""

    transcript: Sequence[Message]
    items: Sequence[Item]

    @property
    def has_calls(self) -> bool:
        """Whether any call is in the history: tool definitions must then be sent (requirement N4)."""
        return any(isinstance(item, Answered) for item in self.items)


def arrange(prompt: Prompt, style: IdStyle) -> Arranged:
    """Return the prompt's transcript, mended and arranged; the first item is always `Said`.

    Consecutive user messages become one. A reply with neither text nor calls is left out.
    """
    transcript = repair(prompt.transcript)
    named = _several_people(transcript)
    ids = WireIds(style)
    items: list[Item] = []
    step, asked = 0, None
    results: list[ToolResult] = []
    for index, message in enumerate(transcript):
        match message:
            case UserMessage():
                step = 0
                _say(items, _spoken(message, named), message.images)
            case Notice(text):
                _say(items, text)
            case AssistantMessage(text, calls):
                step += 1
                if calls or text.strip():
                    if not items:
                        items.append(Said(EMPTY))
                    asked = Asked(message, ids.assign(calls) if calls else (), index)
                    items.append(asked)
                    results = []
            case ToolResult() if asked is not None:
                results.append(message)
                if len(results) == len(asked.ids):
                    items.append(Answered(asked.message.tool_calls, tuple(results), asked.ids, step))
    return Arranged(transcript, items)


def _several_people(transcript: Sequence[Message]) -> bool:
    people = {
        message.sender_id
        for message in transcript
        if isinstance(message, UserMessage) and message.sender_id is not None
    }
    return len(people) > 1


def _spoken(message: UserMessage, named: bool) -> str:
    text = message.text if message.text.strip() else EMPTY
    if not named or not message.sender_name:
        return text
    # A name is chosen by its bearer: on one line and short it can't pass for a message of somebody else.
    name = " ".join(message.sender_name.split())[:MAX_NAME]
    return f"{name}: {text}"


def _say(items: list[Item], text: str, images: tuple[str, ...] = ()) -> None:
    if items and isinstance(last := items[-1], Said):
        items[-1] = Said(f"{last.text}\n\n{text}", (*last.images, *images))
    else:
        items.append(Said(text if text.strip() else EMPTY, images))


def enveloped(prompt: Prompt, step: int, answered: Sequence[tuple[ToolCall, ToolResult]]) -> str:
    """Return results of one step as the model reads them (requirements R2, F2)."""
    named = tuple((call.id, call.name) for call, _ in answered)
    results = tuple(result for _, result in answered)
    return _envelope(named, results, step, prompt.max_steps, prompt.language, prompt.nonce)


# Every request sends every result again; without this a long history costs more than all else together.
@lru_cache(maxsize=256)
def _envelope(
    named: tuple[tuple[str, str], ...],
    results: tuple[ToolResult, ...],
    step: int,
    max_steps: int,
    language: str,
    nonce: str,
) -> str:
    calls = [ToolCall(name, {}, id=call_id) for call_id, name in named]
    answered = list(zip(calls, results, strict=True))
    return envelope(answered, step=step, max_steps=max_steps, language=language, nonce=nonce)
