"""Calls between a model's special tokens: DeepSeek, Kimi K2, Step3, and OpenAI's harmony."""

from bot.protocol.blocks import recover, refuse, truncated, values
from bot.protocol.dialects import CALL_BEGIN, LOW, NAME, PIPE, Dialect
from bot.protocol.machine import Machine
from bot.protocol.patterns import pattern
from bot.protocol.quoting import looks_like_call, until
from bot.protocol.source import Wait

SEPARATOR = rf"<(?:{PIPE}tool{LOW}sep{PIPE}|\|tool_call_argument_begin\|)>"
NEXT_BEGIN = pattern(rf"\s{{0,256}}+{CALL_BEGIN}")
HEAD = pattern(rf"\s{{0,64}}(?P<head>{NAME}(?::\d{{1,6}})?)\s{{0,64}}{SEPARATOR}")
NAMED = pattern(rf"\s{{0,64}}+(?P<name>{NAME})[ \t]{{0,64}}+\s{{0,64}}+(?:```\w{{0,16}}\s{{1,64}}+)?\{{")
OBJECT = pattern(r"\s{0,64}+(?:```\w{0,16}\s{1,64}+)?\{")
HEADER = pattern(
    r"(?:<\|start\|>(?:assistant|functions\.[\w.\-]{1,128})?)?(?P<head>[^<]{0,200}+"
    r"(?:<\|(?:channel|constrain)\|>[^<]{0,200}+){0,4}+)<\|message\|>"
)
CHANNEL = pattern(r"<\|channel\|>\s*(\w+)")
RECIPIENT = pattern(rf"to=({NAME})")
HARMONY_END = pattern(r"<\|(?:end|call|return)\|>")
NEXT_MESSAGE = pattern(r"<\|(?:end|call|return)\|>|(?P<start><\|(?:start|channel)\|>)")


def section(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Drop the token that opens a list of calls; the calls open themselves."""
    source = m.source
    start = source.position
    source.take(len(opener))
    following = yield from source.match(NEXT_BEGIN)
    if following is None and (source.cut or (source.ended and not source.rest.strip())):
        truncated(m, start, opener)
        return
    m.wrappers += 1
    m.hide(start, "marker")


def section_call(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `NAME<sep>{…}`, or DeepSeek V3's `function<sep>NAME` and a fence."""
    source = m.source
    start = source.position
    head = yield from source.match(HEAD, len(opener))
    source.take(len(opener))
    if head is None:
        if source.cut or (source.ended and not source.rest.strip()):
            truncated(m, start, opener + source.rest)
            return
        yield from refuse(m, "no_name", "the call's tokens hold no tool name", start, opener)
        yield from recover(m, start)
        return
    name = head["head"]
    source.take(len(head.group()))
    if name == "function" and m.names.find("function") is None:
        if (yield from source.match(m.table.blocks)) is not None:
            m.wrappers += 1
            m.hide(start, "marker")
            return
        named = yield from source.match(NAMED)
        if named is None:
            yield from no_object(m, start)
            return
        name = named["name"]
        source.take(named.end("name") - named.start())
    body = yield from source.match(OBJECT)
    if body is None:
        yield from no_object(m, start, name)
        return
    source.take(len(body.group()) - 1)
    yield from values(m, row, start, name=name, fenced="```" in body.group())


def no_object(m: Machine, start: int, name: str = "") -> Wait[None]:
    """No arguments follow the name: cut, or broken."""
    source = m.source
    if source.cut or (source.ended and not source.rest.strip()):
        truncated(m, start, source.rest, name)
        return
    yield from refuse(m, "arguments", "the arguments must be one JSON object", source.position, "", name)
    yield from recover(m, start)


def harmony(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read one harmony message: https://cookbook.openai.com/articles/openai-harmony

    Only the commentary channel with a recipient calls a tool; `analysis` is thinking.
    """
    source = m.source
    start = source.position
    header = yield from source.match(HEADER)
    if header is None:
        if source.cut:
            truncated(m, start, source.rest)
            return
        source.take(len(opener))
        m.hide(start, "marker")
        return
    m.harmony = True
    head = header["head"]
    channel = CHANNEL.search(header.group())
    recipient = RECIPIENT.search(header.group())
    kind = channel.group(1) if channel else "final"
    source.take(len(header.group()))
    if kind == "analysis":
        pieces: list[str] = []
        ended = yield from hidden_message(m, pieces)
        m.hide(start, "thinking")
        if looks_like_call("".join(pieces)) or recipient:
            m.hinted.add("thinking")
        if not ended:
            m.problem("truncated", "thinking_open", "the reply ended while still thinking", start, "")
    elif recipient is not None and "to=assistant" not in head:
        yield from harmony_call(m, row, start, recipient.group(1))
    else:
        m.hide(start, "marker")


def hidden_message(m: Machine, pieces: list[str]) -> Wait[bool]:
    """Read a message that is not shown; False when the reply ended inside it."""
    found = yield from until(m.source, NEXT_MESSAGE, pieces)
    if found in ("<|start|>", "<|channel|>"):
        m.source.put_back(found)
    return found is not None


def harmony_call(m: Machine, row: Dialect, start: int, name: str) -> Wait[None]:
    """Read a call's arguments, which must be one object."""
    source = m.source
    body = yield from source.match(pattern(r"\s{0,64}+\{"))
    if body is None:
        yield from no_object(m, start, name)
        return
    yield from values(m, row, start, name=name)


def plain_harmony(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read a harmony call whose special tokens the provider has stripped."""
    start = m.source.position
    found = pattern(rf"to=({NAME})").search(opener)
    name = found.group(1) if found else ""
    if m.names.find(name) is None:
        m.show(m.source.take(len(opener)))
        return
    m.source.take(len(opener) - 1)
    yield from values(m, row, start, name=name)
