"""Where in a reply its pieces stood: kept beside what a provider wants back in its old place.

A layout is the parts of an `Opaque`: `{"text": 12, …}` for so many characters of the text,
`{"call": true, …}` for the next call, anything else a part of the provider's own. Further fields of the first
two are the provider's, to stand on that piece.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.llm.opaque import Parts


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str
    extra: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CallPiece:
    """`index` counts the calls of the reply."""

    index: int
    extra: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OwnPiece:
    raw: Mapping[str, object]


Piece = TextPiece | CallPiece | OwnPiece


def pieces(text: str, calls: int, kept: Parts) -> Sequence[Piece]:
    """Return the pieces of a reply in their old order; text, then calls, when there is no layout.

    A layout that no longer fits what was said is left aside with all that hangs on it: a provider refuses
    what is out of place, and takes a reply without it.
    """
    found: list[Piece] = []
    at, used = 0, 0
    for part in kept:
        match part:
            case {"text": int(length), **extra}:
                found.append(TextPiece(text[at : at + length], extra))
                at += length
            case {"call": True, **extra}:
                found.append(CallPiece(used, extra))
                used += 1
            case _:
                found.append(OwnPiece(part))
    if kept and (at, used) == (len(text), calls):
        return found
    said: list[Piece] = [TextPiece(text, {})] if text.strip() else []
    return [*said, *(CallPiece(index, {}) for index in range(calls))]
