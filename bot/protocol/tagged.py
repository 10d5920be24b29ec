"""What a tag opens: a body of one of many kinds, a call in its own attributes, or nothing at all."""

import html
import re

from bot.protocol.blocks import (
    ATTRIBUTES,
    MENTION_END,
    NEXT_ARGS,
    SPACED_CLOSE,
    attributes_of,
    blanks,
    broken,
    echo,
    opens_nested,
    recover,
    refuse,
    swallow,
    truncated,
    values,
)
from bot.protocol.dialects import CLOSER, M3, NAME, NS, Dialect
from bot.protocol.elements import arg_keys, children
from bot.protocol.json_reader import UnreadableError, read
from bot.protocol.machine import Machine
from bot.protocol.patterns import pattern
from bot.protocol.schema_types import typed, unescaped
from bot.protocol.shapes import ARGUMENT_KEYS, IGNORED, Asked, RefusedError, decoded, known
from bot.protocol.source import Wait

MAX_PROSE = 2000
BODY = pattern(
    rf"[\s\ufeff]{{0,256}}+(?:(?P<fence>`{{3,8}}|~{{3,8}})[\w\-]{{0,16}}+\s{{1,64}}+)?"
    rf"(?:json\s{{1,16}}+)?(?P<json>[\[{{])"
    rf"|\s{{0,256}}+call:\s{{0,8}}(?P<gemma>{NAME})\s{{0,8}}\{{"
    rf"|\s{{0,256}}+(?P<named>{NAME}(?::\d{{1,6}})?)\s{{0,64}}+"
    rf"(?P<mark><arg_key>|<tool_sep>|\[ARGS\]|\[CALL_ID\]|[{{(]|{CLOSER})"
    rf"|\s{{0,256}}+<(?P<child>tool_name|name|function_name|function|tool)\s{{0,8}}>"
    rf"|\s{{0,256}}+(?P<parameter>{M3}<{NS}(?i:parameter|param)[\s=])"
    rf"|\s{{0,256}}+(?P<close>{CLOSER})"
)
PYTHON_LIST = pattern(rf"\s{{0,256}}+\[\s{{0,64}}+{NAME}\s{{0,8}}\(")
SCALAR = re.compile(r"\s*(?:null|true|false|-?\d[\d.eE+-]*|\"[^\"\n]*\"|'[^'\n]*')?\s*\Z")


def block(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read a tagged block."""
    source = m.source
    start = source.position
    source.take(len(opener))
    attributes = attributes_of(opener)
    name = attributes.pop("", "")
    if opener.endswith("/>") or (name and row.name in ("tag", "attributes") and (yield from bodiless(m))):
        yield from attribute_call(m, row, start, opener, name, attributes)
        return
    nested = yield from opens_nested(m)
    if nested is not None:
        source.take(nested)
        m.wrappers += 1
        m.hide(start, "marker")
        return
    body = yield from source.match(BODY)
    if body is None:
        yield from no_body(m, start, opener, name)
        return
    if body["close"] is not None:
        m.problem("malformed", "empty", "the block is empty", start, opener + body.group(), name)
        source.take(len(body.group()))
        yield from swallow(m)
        m.hide(start, "problem")
    elif body["parameter"] is not None:
        where = source.position + body.start("parameter") - body.start()
        yield from refuse(
            m, "no_function", f"expected <function=NAME> before {body['parameter'].strip()!r}", where, opener
        )
        yield from recover(m, start)
    elif body["json"] is not None:
        python = yield from source.match(PYTHON_LIST)
        source.take(len(body.group()) - 1)
        yield from values(
            m, row, start, name=name, fenced=body["fence"] is not None, calls=python is not None
        )
    elif body["gemma"] is not None:
        source.take(len(body.group()) - 1)
        yield from values(m, row, start, name=body["gemma"], tokens=True)
    elif body["child"] is not None:
        yield from children(m, row, start)
    else:
        yield from named_body(
            m, row, start, opener, body["named"], body["mark"], body.start("mark") - body.start()
        )


def named_body(
    m: Machine, row: Dialect, start: int, opener: str, name: str, mark: str, size: int
) -> Wait[None]:
    """Read a body that begins with the tool's name."""
    source = m.source
    found = m.names.find(name)
    if mark in ("<arg_key>", "<tool_sep>"):
        source.take(size + (len(mark) if mark == "<tool_sep>" else 0))
        yield from arg_keys(m, row, start, name)
    elif mark == "[CALL_ID]":
        marked = yield from source.match(NEXT_ARGS)
        if marked is None:
            yield from no_body(m, start, opener, name)
            return
        source.take(len(marked.group()) - 1)
        yield from values(m, row, start, name=name)
    elif mark == "[ARGS]":
        source.take(size + len(mark))
        yield from values(m, row, start, name=name)
    elif found is None:
        yield from no_body(m, start, opener, "")
    elif mark == "{":
        source.take(size)
        yield from values(m, row, start, name=name)
    elif mark == "(":
        source.take(len(source.rest) - len(source.rest.lstrip()))
        yield from values(m, row, start, calls=True)
    else:
        source.take(size)
        m.call(Asked(found, {}), start, row.name, repaired=False)
        yield from swallow(m)
        m.hide(start, "call")


def bodiless(m: Machine) -> Wait[bool]:
    """Tell whether a block closes at once."""
    return (yield from m.source.match(SPACED_CLOSE)) is not None


def no_body(m: Machine, start: int, opener: str, name: str) -> Wait[None]:
    """No call follows an opener: it is cut, a failed call, or only mentioned."""
    source = m.source
    blank = yield from blanks(m)
    rest = source.rest
    if source.ended and (not rest.strip() or beginning(m, rest.strip())):
        truncated(m, start, opener + rest, name)
        return
    end, closer = yield from mention(m, blank)
    inside = source.text[source.at : source.at + end]
    if closer and (SCALAR.match(inside) or names_a_call(m, inside)):
        m.problem(
            "malformed", "no_json", "the block must hold one JSON object and nothing else", start,
            opener + inside, name,
        )  # fmt: skip
        source.take(end + len(closer))
        yield from swallow(m)
        m.hide(start, "problem")
        return
    m.show(opener)


def beginning(m: Machine, rest: str) -> bool:
    """Tell whether a text cut off by the end of the message may still have become a body."""
    if m.table.blocks.fullmatch(rest, partial=True) or "json".startswith(rest):
        return True
    if rest[0] in "<[`":
        return BODY.fullmatch(rest, partial=True) is not None
    return rest.startswith("call:") or any(name.startswith(rest) for name in m.names.tools)


def mention(m: Machine, offset: int) -> Wait[tuple[int, str]]:
    """Look ahead for the closer of a block that has no body; stops at an opener, or after a while."""
    source = m.source
    while True:
        source.steps += 1
        found = MENTION_END.search(source.text, source.at + offset, source.at + MAX_PROSE, partial=True)
        if found is not None and not found.partial:
            return found.start() - source.at, found["close"] or ""
        if len(source.text) - source.at >= MAX_PROSE:
            return 0, ""
        offset = (found.start() if found else len(source.text)) - source.at
        if not (yield from source.more()):
            return 0, ""


def names_a_call(m: Machine, inside: str) -> bool:
    """Tell whether a failed body names a tool, or holds what looks like a call."""
    if re.search(r"[\"']?\b(?:name|tool|function)[\"']?\s*[:=]", inside):
        return True
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", inside) for name in m.names.tools)


def attribute_call(
    m: Machine, row: Dialect, start: int, opener: str, name: str, attributes: dict[str, str]
) -> Wait[None]:
    """Read a call whose arguments are attributes."""
    if not name:
        m.show(opener)
        return
    yield from swallow(m)
    keys = [found.group(1) for found in ATTRIBUTES.finditer(opener)]
    if m.echoed(opener):
        echo(m, start, opener)
    elif twice := next((key for key in keys if keys.count(key) > 1), ""):
        m.problem(
            "malformed", "duplicate_key", f"the attribute {twice!r} is there twice", start, opener, name
        )
    else:
        try:
            m.call(from_attributes(m, name, attributes), start, row.name, repaired="\\" in opener)
        except UnreadableError as error:
            broken(m, error, start, opener)
        except RefusedError as refused:
            m.problem(refused.code, refused.reason, str(refused), start, opener, refused.tool or name)
    m.hide(start, "call")


def from_attributes(m: Machine, name: str, attributes: dict[str, str]) -> Asked:
    """Return the call a tag's attributes mean.

    Raises:
        RefusedError: The tool is unknown or the arguments are no object.
        UnreadableError: The arguments can't be read.
    """
    tool = known(m.names, name)
    properties = m.names.properties(tool)
    for key, value in attributes.items():
        if key in ARGUMENT_KEYS and key not in properties:
            text = value.strip()
            reason: UnreadableError | None = None
            for variant in (text, html.unescape(text), text.replace('\\"', '"').replace("\\\\", "\\")):
                try:
                    reading = read(variant)
                except UnreadableError as error:
                    reason = reason or error
                    continue
                arguments, mended = decoded(reading.value, tool, m.names)
                return Asked(tool, arguments, reading.repaired or mended)
            why = reason.reason if reason else "arguments"
            raise RefusedError("malformed", why, f"the attribute {key!r} can't be read: {reason}", tool)
    arguments = {
        key: typed(unescaped(value).replace('\\"', '"'), properties.get(key))
        for key, value in attributes.items()
        if key in properties or key not in IGNORED
    }
    return Asked(tool, arguments)
