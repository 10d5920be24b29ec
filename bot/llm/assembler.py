"""Puts streamed tool calls together, from fragments that no two servers cut or number alike.

The rules are requirement N11's. Every one stands for a fault seen in the wild: an index that is missing, null
or reused; an id on every fragment, on the first only, or on none; a name sent late or again; arguments that
are empty, null or an object instead of text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import jiter

from bot.messages import ToolCall

CUT = "the reply was cut at its token limit before this call was complete; nothing ran"


@dataclass(slots=True)
class _Slot:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    whole: Mapping[str, object] | None = None

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class CallAssembler:
    """Collects the fragments of one reply's calls."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_id: dict[str, _Slot] = {}
        self._by_index: dict[int, _Slot] = {}

    def add(
        self, *, index: object = None, call_id: object = None, name: object = None, arguments: object = None
    ) -> None:
        """Take one fragment. Values of the wrong type count as absent."""
        key = call_id if isinstance(call_id, str) else ""
        position = index if isinstance(index, int) and not isinstance(index, bool) else None
        title = name if isinstance(name, str) else ""
        slot = self._slot(key, position, title, arguments)
        if key and not slot.id:
            slot.id = key
            self._by_id[key] = slot
        if title and not slot.name:
            slot.name = title
        if isinstance(arguments, Mapping):
            slot.whole = arguments
        elif isinstance(arguments, str) and arguments:
            self._append(slot, arguments)

    def calls(self, *, cut: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls in the order they began.

        Args:
            cut: The reply ended at its token limit. Its last call then carries a problem, whatever its
                arguments look like, and must not run.
        """
        slots = [slot for slot in self._slots if slot.name or slot.id or slot.text or slot.whole]
        calls = []
        for slot in slots:
            if cut and slot is slots[-1]:
                arguments, problem = {}, CUT
            elif slot.whole is not None:
                arguments, problem = dict(slot.whole), ""
            else:
                arguments, problem = read_arguments(slot.text)
            calls.append(ToolCall(slot.name, arguments, provider_id=slot.id, problem=problem))
        return tuple(calls)

    def __bool__(self) -> bool:
        return bool(self._slots)

    def _slot(self, key: str, position: int | None, title: str, arguments: object) -> _Slot:
        if key and key in self._by_id:
            return self._by_id[key]
        there = self._by_index.get(position) if position is not None else None
        if key:
            if there is not None and not there.id:
                return there
            return self._begin(position)
        if there is None and position is not None and (title or not self._slots):
            return self._begin(position)
        slot = there or (self._slots[-1] if self._slots else self._begin(position))
        # Without ids, a name and arguments after complete arguments can only be the next call.
        if title and arguments and slot.name and _is_whole(slot):
            return self._begin(position)
        return slot

    def _begin(self, position: int | None) -> _Slot:
        slot = _Slot()
        if position is not None:
            if position in self._by_index:
                # The head reuses an index; its tail may come under the number it should have had.
                self._by_index.setdefault(len(self._slots), slot)
            self._by_index[position] = slot
        self._slots.append(slot)
        return slot

    @staticmethod
    def _append(slot: _Slot, text: str) -> None:
        # "{}" is what some bridges send before the real arguments; a whole object sent again adds nothing.
        if slot.size < 8 and slot.text.strip() == "{}" and text.strip():
            slot.pieces, slot.size = [text], len(text)
        elif not (len(text) == slot.size and text == slot.text and _is_object(text)):
            slot.pieces.append(text)
            slot.size += len(text)


def read_arguments(text: str) -> tuple[dict[str, object], str]:
    """Return the arguments and why they could not be read; one of the two is empty.

    Nothing at all, or null, is no arguments. Duplicate keys, NaN and lone surrogates are refused: which of
    two commands was meant can't be known.
    """
    if not text.strip():
        return {}, ""
    try:
        value = jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
    except (ValueError, UnicodeEncodeError) as exc:
        return {}, f"the arguments are not valid JSON: {exc}"
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {type(value).__name__}"
    return value, ""


def _is_whole(slot: _Slot) -> bool:
    return slot.whole is not None or _is_object(slot.text)


def _is_object(text: str) -> bool:
    return text.rstrip()[-1:] == "}" and not read_arguments(text)[1]
