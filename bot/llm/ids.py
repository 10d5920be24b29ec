"""Call ids and tool names in the spelling each provider accepts (requirement N7).

Anthropic takes letters, digits, `_` and `-`; OpenAI at most 40 characters; Mistral exactly nine letters and
digits. The neutral transcript keeps what was first said.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.messages import ToolCall


@dataclass(frozen=True, slots=True)
class IdStyle:
    """How call ids look on one wire."""

    pattern: re.Pattern[str]
    length: int


ANTHROPIC = IdStyle(re.compile(r"[A-Za-z0-9_-]{1,64}\Z"), 64)
OPENAI = IdStyle(re.compile(r"[A-Za-z0-9_-]{1,40}\Z"), 40)
MISTRAL = IdStyle(re.compile(r"[A-Za-z0-9]{9}\Z"), 9)

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class WireIds:
    """Gives every call of one request an id of its own.

    Deterministic: an id depends on the calls before it only, so a transcript that grew keeps the ids it had,
    and a provider's cache still fits.
    """

    def __init__(self, style: IdStyle) -> None:
        self._style = style
        self._taken: set[str] = set()

    def assign(self, calls: Sequence[ToolCall]) -> tuple[str, ...]:
        """Return one id a call: the provider's own if it fits and is new, else one made from ours."""
        return tuple(self._pick(call) for call in calls)

    def _pick(self, call: ToolCall) -> str:
        for candidate in (call.provider_id, call.id):
            if self._style.pattern.match(candidate) and candidate not in self._taken:
                self._taken.add(candidate)
                return candidate
        count = 0
        while True:
            seed = f"{call.id}/{count}" if count else call.id
            made = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[: min(self._style.length, 24)]
            if made not in self._taken:
                self._taken.add(made)
                return made
            count += 1


def wire_name(name: str) -> str:
    """Return a tool name that providers accept in history, where a model may have made one up."""
    return _UNSAFE.sub("_", name)[:64] or "unnamed"
