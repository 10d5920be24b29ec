"""Calls written as elements: a tag for the tool, a tag for each argument, the value raw between them.

Nothing is escaped in most of these dialects, so a value may hold the very tag that ends it. A close tag
counts only if structure follows it; one that is missing is made up for only by a known argument's opener.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.protocol.blocks import (
    accept,
    after,
    attributes_of,
    blanks,
    broken,
    echo,
    recover,
    refuse,
    scan,
    swallow,
    truncated,
    values,
)
from bot.protocol.dialects import (
    ATTRIBUTE,
    BLOCK_CLOSER,
    CLOSER,
    FUNCTION,
    M3,
    NAME,
    NS,
    PARAMETER,
    VALUE,
    Dialect,
)
from bot.protocol.json_reader import UnreadableError, read
from bot.protocol.machine import MAX_EXCERPT, Machine
from bot.protocol.patterns import Match, Pattern, escape, pattern
from bot.protocol.schema_types import trimmed, typed, types_of, unescaped
from bot.protocol.shapes import Asked, RefusedError, known
from bot.protocol.source import Wait

FUNCTION_END = rf"{M3}</{NS}(?i:function|invoke)\s{{0,64}}>"
PARAMETER_END = rf"{M3}</{NS}(?i:parameter|param)\s{{0,64}}>"
FUNCTION_NAME = pattern(rf"=\s*[\"']?({NAME})")
LAST_TAG = pattern(r"</[\w:.\-]{1,64}>\s*\Z")
ITEM = pattern(r"<(?P<close>/)?(?P<name>[\w.\-]+)>")
JSON_NEXT = pattern(r"\s{0,256}+\{")


@dataclass(frozen=True, slots=True)
class Style:
    """How one dialect spells arguments; each pattern may be preceded by blanks.

    Attributes:
        opener: Opens an argument, its name in group `key` or in its attributes.
        closer: Closes an argument; `{key}` stands for its name.
        end: Ends the call.
        block_end: Ends the block around the call, which is enough to end the call too.
        decodes: Values that are escaped throughout are decoded.
        nested: List and object values are elements themselves.
        marks: Characters a tag begins with.
    """

    opener: str
    closer: str
    end: str
    block_end: str = BLOCK_CLOSER
    decodes: bool = False
    nested: bool = False
    marks: str = "<"


PARAMETERS = Style(PARAMETER, PARAMETER_END, FUNCTION_END)
ATTRIBUTED = Style(PARAMETER, PARAMETER_END, FUNCTION_END, decodes=True)
ARG_KEYS = Style(
    r"<arg_key>\s{0,16}(?P<key>[^<>]{1,128}?)\s{0,16}</arg_key>\s{0,64}<arg_value>", r"</arg_value>", CLOSER
)
KIMI_K3 = Style(
    rf"<\|open\|>argument(?P<attributes>(?:{ATTRIBUTE})++)\s{{0,8}}<\|sep\|>",
    r"<\|close\|>argument<\|sep\|>",
    r"<\|close\|>call<\|sep\|>",
    block_end=r"<\|close\|>(?:tools|message)<\|sep\|>",
)
DSML_STRING = pattern(r"\sstring\s*=\s*[\"'](true|false)[\"']")
KEY_ATTRIBUTE = pattern(rf"\s(?:name|key)\s*=\s*({VALUE})")
TYPE_ATTRIBUTE = pattern(r"\stype\s*=\s*[\"'](\w+)[\"']")


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments as written; `mended` if a close tag had to be made up for."""

    arguments: dict[str, object]
    mended: bool = False


class StoppedError(Exception):
    """The call can't be read on; everything has been said about it."""


def function(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `<function=NAME>` or `<invoke name="NAME">`, alone or inside a block."""
    source = m.source
    start = source.position
    attributes = attributes_of(opener) if "=" in opener else {}
    named = FUNCTION_NAME.search(opener)
    name = attributes.get("") or (named.group(1) if named and not attributes else "")
    if not name:
        m.show(source.take(len(opener)))
        return
    nested = opener.startswith("]")
    if nested:
        style = m3_style(m.names.properties(m.names.find(name)))
    else:
        style = ATTRIBUTED if attributes else PARAMETERS
    size = len(opener)
    if not opener.endswith("/>"):
        begins = pattern(rf"\s{{0,256}}+(?:{style.opener}|{PARAMETER}|{style.end}|{style.block_end}|\{{)")
        begun = yield from source.match(begins, size)
        if begun is None and not source.cut:
            m.show(source.take(size))
            return
    source.take(size)
    if opener.endswith("/>"):
        give(m, row, start, name, Given({}), opener)
        yield from swallow(m)
        m.hide(start, "call")
        return
    if (yield from source.match(JSON_NEXT)) is not None:
        yield from json_arguments(m, row, start, name)
        return
    yield from call_elements(m, row, start, name, style, opener)


def json_arguments(m: Machine, row: Dialect, start: int, name: str) -> Wait[None]:
    """Read a JSON object that stands where the arguments' tags would."""
    yield from values(m, row, start, name=name)


def call_elements(m: Machine, row: Dialect, start: int, name: str, style: Style, opener: str) -> Wait[None]:
    """Read the arguments of a call up to its end, and give it out."""
    source = m.source
    kept = source.record()
    try:
        given = yield from arguments(m, start, name, style)
    except StoppedError:
        source.recorded(kept)
        return
    raw = opener + source.recorded(kept)
    yield from swallow(m)
    give(m, row, start, name, given, raw)
    m.hide(start, "call")


def give(m: Machine, row: Dialect, start: int, name: str, given: Given, raw: str) -> None:
    """Give out a call, or say why not."""
    if m.echoed(raw):
        echo(m, start, raw)
        return
    try:
        m.call(Asked(known(m.names, name), given.arguments, given.mended), start, row.name, repaired=False)
    except RefusedError as refused:
        m.problem(refused.code, refused.reason, str(refused), start, raw, refused.tool)


def arguments(m: Machine, start: int, name: str, style: Style) -> Wait[Given]:
    """Read arguments until the call ends.

    Raises:
        StoppedError: The call is cut or broken; the machine has been told.
    """
    source = m.source
    tool = m.names.find(name)
    properties = m.names.properties(tool)
    opens = pattern(rf"\s{{0,256}}+(?:{style.opener})")
    ends = pattern(rf"\s{{0,256}}+(?:{style.end})")
    block_ends = pattern(rf"\s{{0,256}}+(?:{style.block_end})")
    given: dict[str, object] = {}
    mended = False
    while True:
        found = yield from source.match(opens)
        if found is None:
            cut = source.cut
            if (end := (yield from source.match(ends))) is not None:
                source.take(len(end.group()))
                return Given(given, mended)
            cut = cut or source.cut
            if (yield from source.match(block_ends)) is not None:
                return Given(given, True)
            if cut or source.cut or (source.ended and not source.rest.strip()):
                truncated(m, start, source.rest, name)
                raise StoppedError
            yield from wrong_tag(m, start, name)
            raise StoppedError
        key, opener = key_of(found), found.group()
        source.take(len(opener))
        at = source.position
        raw, implied = yield from element_value(m, start, name, style, key, properties, given)
        mended = mended or implied
        if key in given:
            m.problem(
                "malformed", "duplicate_key", f"the argument {key!r} is there twice", at, opener + raw, name
            )
            yield from recover(m, start)
            raise StoppedError
        given[key] = argument(raw, properties.get(key), style, opener)


def wrong_tag(m: Machine, start: int, name: str) -> Wait[None]:
    """Refuse what stands between arguments and is none."""
    source = m.source
    source.take((yield from blanks(m)))
    found = yield from source.ahead(40)
    yield from refuse(
        m, "wrong_tag", f"expected an argument's tag or the end of the call, found {found[:40]!r}",
        source.position, "", name,
    )  # fmt: skip
    yield from recover(m, start)


def key_of(found: Match) -> str:
    """Return the name an argument's opener gives."""
    groups = found.groupdict()
    if groups.get("key"):
        return str(groups["key"]).strip()
    named = KEY_ATTRIBUTE.search(found.group())
    return named.group(1)[1:-1] if named else ""


def argument(raw: str, schema: object, style: Style, opener: str) -> object:
    """Return the value of an argument."""
    text = trimmed(raw)
    if style.nested:
        return from_items(text, schema)
    if style.decodes:
        text = unescaped(text)
    flagged = DSML_STRING.search(opener)
    if flagged and "DSML" in opener:
        return text if flagged.group(1) == "true" else as_json(text)
    if style is KIMI_K3 and (kind := TYPE_ATTRIBUTE.search(opener)) and schema is None:
        return text if kind.group(1) == "string" else as_json(text)
    return typed(text, schema)


def as_json(text: str) -> object:
    """Return the JSON value a text holds, or the text."""
    try:
        return read(text.strip()).value
    except UnreadableError:
        return text


def element_value(
    m: Machine, start: int, name: str, style: Style, key: str, properties: Mapping[str, object],
    given: Mapping[str, object],
) -> Wait[tuple[str, bool]]:  # fmt: skip
    """Read a raw value and what closes it.

    Returns:
        The value, and whether its close tag was missing.

    Raises:
        StoppedError: The message ended inside it, or a wrong tag closes it.
    """
    source = m.source
    closer = pattern(style.closer.replace("{key}", escape(key)))
    # What stands after a close tag that is no data.
    follows = pattern(
        rf"\s{{0,256}}+(?:(?P<end>{style.end})|(?P<block>{style.block_end})|(?P<more>{style.opener}))"
    )
    opens = pattern(style.opener)
    ends = pattern(style.end)
    after_end = pattern(rf"\s{{0,256}}+(?:{style.block_end}|{FUNCTION})")
    again = pattern(rf"\s{{0,256}}+(?:{style.closer.replace('{key}', escape(key))})")
    pieces: list[str] = []
    while True:
        source.steps += 1
        mark = min((at for char in style.marks if (at := source.text.find(char, source.at)) >= 0), default=-1)
        end = mark if mark >= 0 else len(source.text)
        pieces.append(source.take(end - source.at))
        if mark < 0:
            if not (yield from source.more()):
                truncated(m, start, "".join(pieces)[-60:], name)
                raise StoppedError
            continue
        found = yield from source.match(closer)
        if found is None and source.cut:
            pieces.append(source.take(len(source.rest)))
            continue
        if found is not None:
            size = len(found.group())
            following = yield from source.match(follows, size)
            if following is None and (source.cut or (source.ended and not source.rest[size:].strip())):
                source.take(len(source.rest))
                truncated(m, start, "".join(pieces)[-60:], name)
                raise StoppedError
            if following is not None and following["end"] is not None and style.end != CLOSER:
                doubled = yield from source.match(again, size + len(following.group()))
                if doubled is not None:
                    following = None
            if following is not None:
                source.take(size)
                return "".join(pieces), False
            pieces.append(source.take(size))
            continue
        implied = yield from implied_end(m, opens, ends, after_end, pieces, key, properties, given)
        if implied:
            value = "".join(pieces)
            wrong = LAST_TAG.search(value)
            if wrong or implied == "inline":
                tag = wrong.group().strip() if wrong else "nothing"
                yield from refuse(
                    m, "wrong_close", f"the argument {key!r} is closed by {tag!r}, not by its own tag",
                    source.position, value, name,
                )  # fmt: skip
                yield from recover(m, start)
                raise StoppedError
            return value, True
        pieces.append(source.take(1))


def implied_end(
    m: Machine, opens: Pattern, ends: Pattern, after_end: Pattern,
    pieces: list[str], key: str, properties: Mapping[str, object], given: Mapping[str, object],
) -> Wait[str]:  # fmt: skip
    """Tell whether a value without a close tag ends here: `line`, `inline` after a wrong tag, or not."""
    source = m.source
    before = ""
    for piece in reversed(pieces):
        before = piece + before
        if len(before) > 128:
            break
    own_line = before.rstrip(" \t").endswith("\n")
    after_tag = LAST_TAG.search(before[-200:]) is not None
    if not (own_line or after_tag):
        return ""
    found = yield from source.match(opens)
    if found is not None:
        other = key_of(found)
        if other in properties and other != key and other not in given:
            return "line" if own_line else "inline"
        return ""
    found = yield from source.match(ends)
    if found is not None and own_line:
        size = len(found.group())
        if (yield from source.match(after_end, size)) is not None:
            return "line"
        if source.ended and not source.rest[size:].strip():
            return "line"
    return ""


def arg_keys(m: Machine, row: Dialect, start: int, name: str) -> Wait[None]:
    """Read GLM's `<arg_key>`/`<arg_value>` pairs; the closer of the block ends the call."""
    yield from call_elements(m, row, start, name, ARG_KEYS, "")


def kimi_k3(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read Kimi K3's `<|open|>call tool="NAME"…<|sep|>`."""
    source = m.source
    start = source.position
    source.take(len(opener))
    name = attributes_of(opener).get("", "")
    found = yield from source.match(pattern(r"\s{0,64}<\|open\|>json[^<]{0,200}<\|sep\|>\s{0,64}\{"))
    if found is None:
        yield from call_elements(m, row, start, name, KIMI_K3, opener)
        return
    source.take(len(found.group()) - 1)
    yield from enclosed_json(m, row, start, name, r"<\|close\|>json<\|sep\|>")


def enclosed_json(m: Machine, row: Dialect, start: int, name: str, closer: str) -> Wait[None]:
    """Read a JSON object of arguments and the tag that must close it."""
    source = m.source
    source.take((yield from blanks(m)))
    begun = source.position
    scanned = yield from scan(m)
    if scanned.error is not None:
        yield from source.ahead(MAX_EXCERPT)
        broken(m, scanned.error, begun, scanned.raw + source.rest[:MAX_EXCERPT])
        yield from recover(m, start)
        return
    closed = yield from source.match(pattern(rf"\s{{0,256}}+{closer}"))
    if scanned.open or (closed is None and (source.cut or (source.ended and not source.rest.strip()))):
        truncated(m, start, scanned.raw, name)
        return
    if closed is None:
        found = yield from source.ahead(40)
        yield from refuse(
            m,
            "wrong_close",
            f"the arguments are not closed by their own tag but by {found[:40]!r}",
            source.position,
            scanned.raw,
            name,
        )
        yield from recover(m, start)
        return
    source.take(len(closed.group()))
    accept(m, scanned.raw, begun, row.name, name=name)
    yield from swallow(m)
    m.hide(start, "call")


def cline(m: Machine, row: Dialect, opener: str) -> Wait[None]:
    """Read `<TOOL><ARGUMENT>value</ARGUMENT></TOOL>`."""
    source = m.source
    start = source.position
    written = opener.strip("</> \t\r\n")
    name = m.names.find(written)
    properties = m.names.properties(name)
    style = child_style(tuple(properties), escape(written), CLOSER)
    begins = pattern(rf"\s{{0,256}}+(?:{style.opener}|{style.end}|\{{)")
    if name is None or opener.endswith("/>"):
        m.show(source.take(len(opener)))
        return
    begun = yield from source.match(begins, len(opener))
    if begun is None and not (source.cut or (source.ended and not source.rest[len(opener) :].strip())):
        m.show(source.take(len(opener)))
        return
    source.take(len(opener))
    if begun is not None and begun.group().endswith("{"):
        yield from values(m, row, start, name=name, own_end=style.end)
        return
    yield from call_elements(m, row, start, name, style, opener)


def child_style(keys: tuple[str, ...], parent: str, block_end: str) -> Style:
    """Return the style whose argument tags are the arguments' names."""
    spelled = "|".join(escape(key) for key in sorted(keys, key=len, reverse=True)) or r"[^\s\S]"
    return Style(
        rf"<(?P<key>{spelled})\s{{0,16}}>", r"</{key}\s{0,16}>", rf"</(?i:{parent})\s{{0,64}}>",
        block_end=block_end, decodes=True,
    )  # fmt: skip


def m3_style(properties: Mapping[str, object]) -> Style:
    """Return MiniMax M3's style: every tag of the markup carries the prefix, so values can't be confused."""
    prefix = r"\]<\]minimax\[>\["
    return Style(
        rf"(?:{prefix})<(?P<key>[\w.\-]{{1,128}})>",
        rf"{prefix}</{{key}}>",
        rf"{prefix}</(?i:invoke|function)>",
        block_end=rf"{prefix}</{NS}(?i:tool_calls?)>", nested=True, marks="]",
    )  # fmt: skip


M3_PREFIX = "]<]minimax[>["


def from_items(raw: str, schema: object) -> object:
    """Return a value of MiniMax M3: text, or elements for objects and `<item>` lists."""
    kinds = types_of(schema)
    if not kinds & {"array", "object"} or M3_PREFIX not in raw:
        return typed(raw, schema)
    stack: list[tuple[str, dict[str, object] | list[object], list[str]]] = [("", {}, [])]
    for piece in raw.split(M3_PREFIX):
        tag = ITEM.match(piece)
        if tag is None:
            stack[-1][2].append(piece)
            continue
        name, text = tag["name"], piece[tag.end() :]
        if not tag["close"]:
            if len(stack) > 64:
                return raw
            stack.append((name, {}, [text]))
            continue
        opened, inner, texts = stack.pop()
        if not stack or opened != name:
            return raw
        value: object = inner or as_json("".join(texts).strip())
        _, parent, _ = stack[-1]
        if name == "item" and not parent:
            parent = []
            stack[-1] = (stack[-1][0], parent, stack[-1][2])
        if isinstance(parent, list):
            parent.append(value)
        else:
            parent[name] = value
    return stack[0][1] if len(stack) == 1 else raw


CHILD_NAME = pattern(
    r"\s{0,256}+<(?P<tag>tool_name|name|function_name|function|tool)\s{0,8}>\s{0,64}(?P<name>[^<>]{1,128}?)\s{0,64}</(?P=tag)\s{0,8}>"
)
CHILD_ARGUMENTS = pattern(r"\s{0,256}+<(?P<tag>parameters|arguments|args|input|params)\s{0,8}>")


def children(m: Machine, row: Dialect, start: int) -> Wait[None]:
    """Read `<tool_name>NAME</tool_name><parameters>…</parameters>` inside a block."""
    source = m.source
    named = yield from source.match(CHILD_NAME)
    if named is None:
        if source.cut:
            truncated(m, start, source.rest)
            return
        yield from refuse(m, "no_name", "the tool's name can't be read", source.position, "")
        yield from recover(m, start)
        return
    name = named["name"]
    source.take(len(named.group()))
    opened = yield from source.match(CHILD_ARGUMENTS)
    if opened is None:
        if source.cut or (source.ended and not source.rest.strip()):
            truncated(m, start, source.rest, name)
        elif (yield from after(m, False, False, False)) == "end":
            give(m, row, start, name, Given({}), "")
            m.hide(start, "call")
        else:
            yield from refuse(m, "wrong_tag", "expected <parameters>", source.position, "", name)
            yield from recover(m, start)
        return
    source.take(len(opened.group()))
    if (yield from source.match(JSON_NEXT)) is None:
        properties = m.names.properties(m.names.find(name))
        style = child_style(tuple(properties), opened["tag"], CLOSER)
        yield from call_elements(m, row, start, name, style, "")
        return
    yield from enclosed_json(m, row, start, name, rf"</{opened['tag']}\s{{0,8}}>")
