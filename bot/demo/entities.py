"""Formatted text as the server accepts it: parsed, bounded, trimmed, with what it detects by itself.

https://core.telegram.org/bots/api#messageentity. All offsets and lengths are UTF-16 units.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from bot.demo.html import parse_html
from bot.demo.links import check_link, mentioned_user
from bot.demo.markdown import parse_markdown, parse_markdown_v2
from bot.demo.params import Params
from bot.demo.refusals import bad_request

Entity = dict[str, Any]

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
ENTITY_LIMIT = 100
RAW_BYTES_LIMIT = 1 << 15

_ORDER = {
    kind: rank
    for rank, kind in enumerate(
        [
            "blockquote",
            "expandable_blockquote",
            "pre",
            "code",
            "text_link",
            "text_mention",
            "custom_emoji",
            "bold",
            "italic",
            "underline",
            "strikethrough",
            "spoiler",
        ]
    )
}
_SPLITTABLE = frozenset(["bold", "italic", "underline", "strikethrough", "spoiler"])
_DETECTED = frozenset(["mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"])
_CONTROL = dict.fromkeys([*range(10), 11, 12, *range(14, 32)], " ")
_DROPPED = re.compile("[\r\u2028-\u202e\u0333\u033f\u030a]")
_FOUND = re.compile(
    r"(?P<url>\b(?:https?://|www\.)[^\s<>\"]+[^\s<>\".,;:!?)\]}'])"
    r"|(?P<email>(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w)"
    r"|(?P<bot_command>(?<![\w/])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z]\w{2,31})?(?![\w/]))"
    r"|(?P<mention>(?<![\w@.])@[A-Za-z]\w{2,31}\b)"
    r"|(?P<hashtag>(?<![\w#])#\w*[^\W\d]\w*)"
    r"|(?P<host>(?<![\w@/.])(?:[\w-]+\.)+(?:com|org|net|io|dev|app|me|co)\b(?:[/?#][^\s<>\"]*[^\s<>\".,;:!?)\]}'])?)"
)


def utf16_length(text: str) -> int:
    """Count UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_utf16(text: str, offset: int, length: int) -> str:
    """Return the part of `text` that an entity covers."""
    if text.isascii():
        return text[offset : offset + length]
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[offset * 2 : (offset + length) * 2].decode("utf-16-le", "replace")


def read_text(
    params: Params,
    name: str,
    *,
    strict: bool,
    find_user: Callable[[int], Entity | None],
    limit: int = TEXT_LIMIT,
) -> tuple[str, list[Entity]]:
    """Read `text` or `caption` with its parse mode or entities, and check it as the server does.

    Args:
        params: The call's parameters.
        name: `text` or `caption`; decides the names of the parameters beside it.
        strict: Count the limit in UTF-16 units, the safe reading of an unclear limit; otherwise in code
            points, as TDLib counts.
        find_user: Gives the user object of a `text_mention`.
        limit: The most that may remain after parsing.

    Raises:
        Refusal: With the server's text. An empty value comes back as `("", [])`: whether that is allowed is
            the caller's business.
    """
    source = params.text(name)
    if not source:
        return "", []
    if len(source.encode()) > RAW_BYTES_LIMIT:
        raise bad_request("Text is too long")
    mode = params.text("parse_mode").lower()
    entities: list[Entity]
    match mode:
        case "" | "none":
            field = "caption_entities" if name == "caption" else "entities"
            text, entities = source, read_entities(params.json(field, "entities"))
        case "markdownv2":
            text, entities = parse_markdown_v2(source)
        case "html":
            text, entities = parse_html(source)
        case "markdown":
            text, entities = parse_markdown(source)
        case _:
            raise bad_request("Unsupported parse_mode")
    text, entities = settle(text, entities)
    if not text:
        raise bad_request("Text must be non-empty")
    size = utf16_length(text) if strict else len(text)
    if size > limit:
        raise bad_request("Message caption is too long" if name == "caption" else "Message is too long")
    return text, [_name_user(entity, find_user) for entity in detect(text, entities)[:ENTITY_LIMIT]]


def read_entities(raw: Any) -> list[Entity]:
    """Read entities as sent: those the server would detect itself are ignored, links are checked.

    Raises:
        Refusal: `can't parse MessageEntity: …` or `entity URL '…' is invalid: …`.
    """
    entities: list[Entity] = []
    for item in raw if isinstance(raw, list) else ():
        if not isinstance(item, dict):
            raise _misshapen("expected an Object")
        for field in ("offset", "length"):
            if not isinstance(item.get(field), int):
                raise _misshapen(
                    f'Can\'t find field "{field}"'
                    if field not in item
                    else f'Field "{field}" must be of type Number'
                )
        kind = item.get("type")
        if not isinstance(kind, str):
            raise _misshapen('Can\'t find field "type"')
        entity: Entity = {"type": kind, "offset": item["offset"], "length": item["length"]}
        match kind:
            case "pre" if item.get("language"):
                entity["language"] = str(item["language"])
            case "text_link":
                if "url" not in item:
                    raise _misshapen('Can\'t find field "url"')
                url = str(item["url"])
                if (user := mentioned_user(url)) is not None:
                    entity |= {"type": "text_mention", "user_id": user}
                else:
                    entity["url"] = check_link(url)
            case "text_mention":
                entity["user_id"] = int((item.get("user") or {}).get("id") or 0)
            case "custom_emoji":
                entity["custom_emoji_id"] = str(item.get("custom_emoji_id", ""))
            case _ if kind in _DETECTED:
                continue
            case _ if kind not in _ORDER:
                continue
        entities.append(entity)
    return entities


def settle(text: str, entities: Iterable[Entity]) -> tuple[str, list[Entity]]:
    """Check bounds, clean and trim the text, and put the entities in the order the server keeps.

    Raises:
        Refusal: An entity begins or ends outside the text or inside a surrogate pair.
    """
    kept = [dict(entity) for entity in entities if entity["length"] != 0]
    for entity in kept:
        if not 0 <= entity["offset"] <= 1_000_000:
            raise bad_request(f"Receive an entity with incorrect offset {entity['offset']}")
        if not 0 <= entity["length"] <= 1_000_000:
            raise bad_request(f"Receive an entity with incorrect length {entity['length']}")
    kept.sort(key=_rank)
    if kept:
        _check_bounds(text, kept)
    text = _clean(text, kept)
    kept = _untangle(_visible(text, kept))
    kept = _visible(text, kept)
    return _trim(text, kept), [entity for entity in kept if entity["length"] > 0]


def detect(text: str, entities: list[Entity]) -> list[Entity]:
    """Add the links, commands, mentions and hashtags that the server finds outside code and links."""
    if not any(mark in text for mark in "/@#."):
        return entities
    taken = [entity for entity in entities if entity["type"] in ("code", "pre", "text_link", "text_mention")]
    found: list[Entity] = []
    for match in _FOUND.finditer(text):
        kind = "url" if match.lastgroup == "host" else str(match.lastgroup)
        offset, length = utf16_length(text[: match.start()]), utf16_length(match[0])
        if not any(e["offset"] < offset + length and offset < e["offset"] + e["length"] for e in taken):
            found.append({"type": kind, "offset": offset, "length": length})
    return sorted([*entities, *found], key=_rank) if found else entities


def _rank(entity: Entity) -> tuple[int, int, int]:
    return entity["offset"], -entity["length"], _ORDER.get(entity["type"], 99)


def _check_bounds(text: str, entities: list[Entity]) -> None:
    inside: set[int] = set()
    total = at = len(text)
    positions: dict[int, int] = {}
    if not text.isascii():
        total = at = 0
    for character in "" if text.isascii() else text:
        positions[total] = at
        if ord(character) > 0xFFFF:
            inside.add(total + 1)
            total += 1
        total += 1
        at += len(character.encode(errors="surrogatepass"))
    for entity in entities:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        if begin > total:
            raise bad_request(f"Entity begins after the end of the text at UTF-16 offset {begin}")
        if begin in inside:
            raise bad_request(
                f"Entity begins in a middle of a UTF-16 symbol at byte offset {positions.get(begin + 1, at)}"
            )
        if end in inside:
            raise bad_request(
                f"Entity beginning at UTF-16 offset {begin} ends in a middle of a UTF-16 symbol at byte "
                f"offset {positions.get(end + 1, at)}"
            )
        if end > total:
            raise bad_request(
                f"Entity beginning at UTF-16 offset {begin} ends after the end of the text at UTF-16 "
                f"offset {end}"
            )


def _clean(text: str, entities: list[Entity]) -> str:
    cleaned = text.translate(_CONTROL)
    if not _DROPPED.search(cleaned):
        return cleaned
    gone = [utf16_length(cleaned[: match.start()]) for match in _DROPPED.finditer(cleaned)]
    for entity in entities:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        entity["offset"] = begin - sum(position < begin for position in gone)
        entity["length"] = end - sum(position < end for position in gone) - entity["offset"]
    return _DROPPED.sub("", cleaned)


def _trim(text: str, entities: list[Entity]) -> str:
    text = text.rstrip()
    size = utf16_length(text)
    for entity in entities:
        entity["length"] = min(entity["length"], size - entity["offset"])
    first = min((entity["offset"] for entity in entities if entity["length"] > 0), default=size)
    lead = 0
    while lead < min(first, len(text)) and text[lead] in " \n":
        lead += 1
    for entity in entities:
        entity["offset"] -= lead
    return text[lead:]


def _untangle(entities: list[Entity]) -> list[Entity]:
    """Merge marks of one kind that touch, cut them where they cross a whole one, and empty code of them."""
    whole: list[Entity] = []
    for entity in sorted(entities, key=_rank):
        if entity["type"] not in _SPLITTABLE and not any(_collide(other, entity) for other in whole):
            whole.append(entity)
    kept = list(whole)
    for kind in _SPLITTABLE:
        for begin, end in _merge([_span(entity) for entity in entities if entity["type"] == kind]):
            kept += [
                {"type": kind, "offset": start, "length": stop - start}
                for start, stop in _cut(begin, end, whole)
            ]
    return sorted(kept, key=_rank)


def _visible(text: str, entities: list[Entity]) -> list[Entity]:
    return [e for e in entities if cut_utf16(text, e["offset"], e["length"]).strip()]


def _span(entity: Entity) -> tuple[int, int]:
    return entity["offset"], entity["offset"] + entity["length"]


def _collide(earlier: Entity, later: Entity) -> bool:
    """Whether two that cannot be cut cannot stand together: code holds nothing, links and quotes nest."""
    (begin, end), (start, stop) = _span(earlier), _span(later)
    if start >= end:
        return False
    return earlier["type"] in ("code", "pre") or earlier["type"] == later["type"] or begin < end < stop


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _cut(begin: int, end: int, whole: list[Entity]) -> list[tuple[int, int]]:
    """Return what is left of a mark: nothing inside code, a cut where it enters or leaves another entity."""
    cuts, holes = {begin, end}, []
    for entity in whole:
        start, stop = _span(entity)
        if stop <= begin or end <= start:
            continue
        if entity["type"] in ("code", "pre"):
            holes.append((start, stop))
        if entity["type"] in ("code", "pre") or not (begin <= start and stop <= end):
            cuts |= {point for point in (start, stop) if begin < point < end}
    points = sorted(cuts)
    return [
        (start, stop)
        for start, stop in zip(points, points[1:], strict=False)
        if not any(low <= start and stop <= high for low, high in holes)
    ]


def _name_user(entity: Entity, find_user: Callable[[int], Entity | None]) -> Entity:
    if "user_id" not in entity:
        return entity
    user = find_user(entity["user_id"])
    if user is None:
        raise bad_request("user not found")
    named = {key: value for key, value in entity.items() if key != "user_id"}
    return named | {"user": user}


def _misshapen(problem: str) -> Exception:
    return bad_request(f"Can't parse MessageEntity: {problem}")
