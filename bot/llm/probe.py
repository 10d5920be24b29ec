"""Tries a model out: does a tool call go there and back?"""

import secrets
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from bot.errors import LLMError
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.prices import cost
from bot.llm.providers import ToolsMode, build_client, find_key, open_http
from bot.llm.table import find, load_providers
from bot.messages import Message, ToolDefinition, ToolResult, Usage, UserMessage

TOOL = ToolDefinition(
    "read_word",
    "Returns the word of the day. It is not known without this tool.",
    {
        "type": "object",
        "properties": {"language": {"type": "string", "description": "always 'en'"}},
        "required": ["language"],
    },
)
SYSTEM = "You are being tested. Do exactly what is asked, in as few words as you can."
ASK = (
    "Call the tool read_word with language 'en' once, then answer with the word it returned and nothing else."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `ok` is None where there is nothing to judge."""

    name: str
    text: str
    ok: bool | None = None


async def probe(client: LLMClient) -> list[Finding]:
    """Ask for one tool call, answer it, and look whether the answer was understood.

    Raises:
        LLMError: The model gave no answer at all.
    """
    word = f"kai{secrets.token_hex(3)}"
    transcript: list[Message] = [UserMessage(ASK)]
    nonce = secrets.token_hex(4)
    asked, first, seconds = await _ask(client, transcript, nonce)
    calls = asked.message.tool_calls
    right = [call for call in calls if call.name == TOOL.name and not call.problem]
    findings = [
        Finding("tools", "in fields of their own" if client.supports_native_tools else "as text"),
        Finding(
            "call",
            f"{calls[0].name} {dict(calls[0].arguments)}" if calls else f"none, it said {_short(asked)}",
            bool(right),
        ),
    ]
    usage = asked.usage or Usage()
    reply = asked
    if calls:
        transcript += [asked.message, *(ToolResult(call.id, word) for call in calls)]
        reply, more, took = await _ask(client, transcript, nonce)
        findings.append(Finding("result", f"it answered {_short(reply)}", word in reply.message.text))
        first, seconds = first + more, seconds + took
        usage = _sum(usage, reply.usage or Usage())
    findings.append(Finding("streamed", f"{first} pieces in {seconds:.1f} s"))
    findings.append(Finding("usage", _spent(reply.model, usage, counted=asked.usage is not None)))
    return findings


async def _ask(client: LLMClient, transcript: list[Message], nonce: str) -> tuple[LLMResponse, int, float]:
    started, pieces = time.monotonic(), 0
    response: LLMResponse | None = None
    prompt = Prompt(SYSTEM, list(transcript), [TOOL], nonce=nonce)
    async with aclosing(client.stream(prompt)) as events:  # type: ignore[type-var]
        async for event in events:
            match event:
                case TextDelta():
                    pieces += 1
                case LLMResponse():
                    response = event
    if response is None:
        raise LLMError("the stream ended without a response")
    return response, pieces, time.monotonic() - started


def _short(response: LLMResponse) -> str:
    return repr(" ".join(response.message.text.split())[:80])


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.reasoning + other.reasoning,
    )


def _spent(model: str, usage: Usage, *, counted: bool) -> str:
    if not counted:
        return "the provider does not count"
    money = cost(model, usage)
    price = "price unknown" if money is None else f"about ${money:.5f}"
    return f"{usage.input} in ({usage.cache_read} cached), {usage.output} out, {price}"


async def probe_model(
    spec: str, environ: Mapping[str, str], *, tools_mode: ToolsMode = "auto"
) -> list[Finding]:
    """Try one `provider:model` out with the settings given.

    Raises:
        ConfigError: It can't be asked.
        LLMError: It gave no answer.
    """
    async with open_http() as http:
        return await probe(build_client([spec], environ, http, tools_mode=tools_mode))


def provider_lines(environ: Mapping[str, str]) -> list[str]:
    """Return the table of providers for a terminal: what each can do, and whether its key is here."""
    rows = [("PROVIDER", "KEY", "TOOLS", "CACHING", "API", "")]
    for name in load_providers():
        row, _ = find(f"{name}:", environ)
        key = bool(find_key(row, environ))
        if row.retired:
            state, note = "-", row.retired
        elif key:
            state, note = "present", ""
        elif row.key:
            state, note = "missing", f"set {row.key_names[0]}"
        else:
            state, note = "not needed", ""
        if row.opt_in and not row.retired:
            note = f"off unless {row.opt_in}=1: {row.warning}"
        rows.append((name, state, "native" if row.tools else "text", row.caching, row.api, note))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True)), row[5]]
        ).rstrip()
        for row in rows
    ]
