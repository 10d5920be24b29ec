"""Arguments written as raw text take the type the tool's schema gives them; nothing else is changed."""

import html
import re
from collections.abc import Mapping

from bot.protocol.json_reader import UnreadableError, read

ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
INTEGER = re.compile(r"[-+]?\d{1,400}")


def typed(raw: str, schema: object) -> object:
    """Return the value a raw text stands for.

    A string stays a string whatever it looks like; text that does not fit its type stays a string too,
    so that the schema check can name it.
    """
    kinds = types_of(schema)
    if not kinds or "string" in kinds:
        return raw
    text = raw.strip()
    if "integer" in kinds and INTEGER.fullmatch(text):
        return int(text)
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "null" in kinds and text.lower() in ("null", "none"):
        return None
    try:
        value = read(text).value
    except UnreadableError:
        return raw
    fits = {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
    }
    return value if any(fits.get(kind, False) for kind in kinds) else raw


def types_of(schema: object) -> frozenset[str]:
    """Return the JSON types a schema allows; empty if it doesn't say."""
    if not isinstance(schema, Mapping):
        return frozenset()
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset((kind,))
    if isinstance(kind, list):
        return frozenset(item for item in kind if isinstance(item, str))
    found: frozenset[str] = frozenset()
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            for option in options:
                found |= types_of(option)
    return found


def trimmed(raw: str) -> str:
    """Drop the one newline that wraps a value on each side."""
    raw = raw.removeprefix("\r\n") if raw.startswith("\r") else raw.removeprefix("\n")
    return raw.removesuffix("\r\n") if raw.endswith("\r\n") else raw.removesuffix("\n")


def unescaped(raw: str) -> str:
    """Decode entities, but only in text escaped throughout: one raw `&`, `<` or `>` leaves all as it is."""
    if "&" not in raw or "<" in raw or ">" in raw:
        return raw
    if raw.count("&") != len(ENTITY.findall(raw)):
        return raw
    return html.unescape(raw)
