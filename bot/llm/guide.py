"""The guide: answers plain questions about the server without any model, for trying everything else.

What it understands is the table guide.toml: a pattern, the commands to run one after another, and sentences
that real output fills. It is a pure function of the transcript, like every client: what has run already says
what comes next, so it goes on after a restart as a model would.

It is never wrapped: a wrapper would read tool calls out of its text, and its text quotes files and pages.
"""

import asyncio
import re
import shlex
import tomllib
import unicodedata
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    current_turn,
)

SHOWN_LINES = 25
PACE = 0.012
"""Seconds between two words, so that one sees an answer being written."""

Sentence = Mapping[str, str]
When = Literal["ok", "failed", "always"]


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what is said about what came of it; the fields are those of guide.toml."""

    run: str = ""
    tool: str = "run_in_terminal"
    arguments: Mapping[str, str] = field(default_factory=dict)
    risk: str = "low"
    when: When = "ok"
    why: Sentence = field(default_factory=dict)
    read: str = ""
    say: Sentence = field(default_factory=dict)
    none: Sentence = field(default_factory=dict)
    show: bool = True


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of question."""

    name: str
    match: tuple[re.Pattern[str], ...]
    steps: tuple[Step, ...] = ()
    answer: Sentence = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    lower: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Book:
    """All of guide.toml."""

    topics: tuple[Topic, ...]
    sentences: Mapping[str, Sentence]
    hints: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asked, as far as it was understood; `values` fill the topic's steps."""

    topic: Topic
    values: Mapping[str, str]
    language: str


@lru_cache(maxsize=1)
def book() -> Book:
    """Read the table, once."""
    raw = tomllib.loads(resources.files("bot.llm").joinpath("guide.toml").read_text(encoding="utf-8"))
    topics = tuple(
        Topic(
            row["name"],
            tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in row["match"]),
            tuple(Step(**step) for step in row.get("steps", ())),
            row.get("answer", {}),
            row.get("defaults", {}),
            row.get("lower", ()),
        )
        for row in raw["topic"]
    )
    hints = {language: frozenset(words.split()) for language, words in raw["hints"].items()}
    return Book(topics, raw["sentences"], hints)


def understand(text: str, language: str) -> Question | None:
    """Return what a question asks for; None when no topic fits.

    Args:
        language: The bot's own, where the words don't tell.
    """
    plain = fold(text)
    for topic in book().topics:
        for pattern in topic.match:
            if found := pattern.search(plain):
                values = {
                    # As it was written: a file's name may have accents.
                    name: text[found.start(name) : found.end(name)].strip()
                    for name, value in found.groupdict().items()
                    if value is not None
                }
                values |= {name: values[name].lower() for name in topic.lower if name in values}
                return Question(topic, {**topic.defaults, **values}, language_of(text, language))
    return None


def fold(text: str) -> str:
    """Return the text without accents, as long as before."""
    return "".join(unicodedata.normalize("NFKD", letter)[0] for letter in text)


def language_of(text: str, language: str) -> str:
    """Return the language most words of the text hint at."""
    words = set(re.findall(r"\w+", fold(text).lower()))
    found = {code: len(words & hints) for code, hints in book().hints.items()}
    best = max(found.values())
    return language if found.get(language, 0) == best else max(found, key=lambda code: found[code])


class Guide:
    """The client.

    Args:
        pace: Seconds between two words of an answer.
    """

    supports_native_tools = True

    def __init__(self, model: str = "offline", *, pace: float = PACE) -> None:
        self._model = model
        self._pace = pace

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        call, text = reply(prompt)
        for word in re.findall(r"\S+\s*|\s+", text):
            yield TextDelta(word)
            await asyncio.sleep(self._pace)
        message = AssistantMessage(text, () if call is None else (call,))
        yield LLMResponse(message, Usage(), "end" if call is None else "tool_calls", self._model)


def reply(prompt: Prompt) -> tuple[ToolCall | None, str]:
    """Return the next call of the turn, or the answer."""
    turn = current_turn(prompt.transcript)
    asked = turn[0].text if turn and isinstance(turn[0], UserMessage) else ""
    question = understand(asked, prompt.language)
    if question is None:
        return None, sentence("unknown", language_of(asked, prompt.language))
    if not question.topic.steps:
        return None, question.topic.answer[question.language]
    offered = {tool.name for tool in prompt.tools}
    done = answered(turn)
    told: list[str] = []
    failed = given_up = False
    for step in question.topic.steps:
        if given_up or not due(step, failed, first=not told):
            continue
        if not done:
            if step.tool not in offered:
                break
            return call_of(step, question), ""
        call, result = done.pop(0)
        told.append(report(step, question, call, result))
        failed = result.is_error
        given_up = result.duration is None and result.is_error  # refused by a person, or never run
    return None, "\n\n".join(filter(None, told)) or sentence("unknown", question.language)


def answered(turn: Sequence[Message]) -> list[tuple[ToolCall, ToolResult]]:
    """Return the calls of a turn that have a result, oldest first."""
    calls = {call.id: call for message in turn if isinstance(message, AssistantMessage)
             for call in message.tool_calls}  # fmt: skip
    return [
        (calls[message.call_id], message)
        for message in turn
        if isinstance(message, ToolResult) and message.call_id in calls
    ]


def due(step: Step, failed: bool, *, first: bool) -> bool:
    """Whether a step follows on what came before it."""
    return first or step.when == "always" or (step.when == "failed") == failed


def call_of(step: Step, question: Question) -> ToolCall:
    if step.run:
        arguments: dict[str, object] = {
            "command": fill(step.run, question.values, quote=True),
            "risk": step.risk,
        }
        if step.why:
            arguments["explanation"] = fill(step.why[question.language], question.values)
        return ToolCall("run_in_terminal", arguments)
    return ToolCall(step.tool, {name: fill(value, question.values) for name, value in step.arguments.items()})


def fill(template: str, values: Mapping[str, str], *, quote: bool = False) -> str:
    """Put the values into a template; `{name}` quoted for the shell if asked, `{name!}` never.

    A name without a value stays as it is: commands have braces of their own.
    """

    def put(found: re.Match[str]) -> str:
        name, raw = found.groups()
        if name not in values:
            return found[0]
        return shlex.quote(values[name]) if quote and not raw else values[name]

    return re.sub(r"\{(\w+)(!?)\}", put, template)


def report(step: Step, question: Question, call: ToolCall, result: ToolResult) -> str:
    """Return what is told of one call: a sentence, and the output where the sentence is not enough."""
    language = question.language
    subject = str(call.arguments.get("command") or call.arguments.get("query") or call.name)
    subject = " ".join(subject.split()).replace("`", "'")
    output = result.text.strip()
    if result.is_error:
        if result.duration is None:
            return f"{sentence('not_run', language, subject=subject)}\n\n> {' '.join(output.split())}"
        if not output:
            return sentence("failed_silently", language, subject=subject, code=result.code)
        return f"{sentence('failed', language, subject=subject, code=result.code)}\n{block(output, language)}"
    if result.ran:
        changed = sentence("changed", language, subject=" ".join(result.ran.split()).replace("`", "'"))
        return f"{changed}\n{block(output, language)}"
    if not output:
        said = step.none.get(language)
        return fill(said, question.values) if said else sentence("silent", language, subject=subject)
    found = re.search(step.read, output, re.MULTILINE) if step.read else None
    if step.say and (found or not step.read):
        groups = {
            name: value.strip() for name, value in (found.groupdict() if found else {}).items() if value
        }
        said = fill(step.say[language], {**question.values, **groups})
        return f"{said}\n{block(output, language)}" if step.show else said
    if not step.show and not step.say:
        return ""
    return f"{sentence('output', language, subject=subject)}\n{block(output, language)}"


def block(output: str, language: str) -> str:
    """Return output as a code block; a long one shows its beginning and end."""
    lines = output.splitlines()
    if len(lines) > SHOWN_LINES:
        half = SHOWN_LINES // 2
        left_out = sentence("cut", language, lines=str(len(lines) - 2 * half))
        lines = [*lines[:half], left_out, *lines[-half:]]
    body = "\n".join(lines)
    ticks = max((len(run) for run in _ticks(body)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}\n{body}\n{fence}"


def _ticks(text: str) -> Iterator[str]:
    return (found[0] for found in re.finditer(r"`+", text))


def sentence(key: str, language: str, **values: Any) -> str:
    said = book().sentences[key]
    return fill(said.get(language, said["en"]), values)
