"""What the bot asked the server, in order."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.changes import Changes


@dataclass(slots=True)
class Call:
    """One API call.

    Attributes:
        method: As Telegram's documentation spells it.
        time: When it arrived, on the emulator's clock.
        params: As sent; files are named by their field under `uploads`.
        status: The HTTP status of the answer; None while there is none.
        description: Of the error, if it was one.
        took: Real seconds until the answer.
    """

    method: str
    time: float
    params: Mapping[str, Any]
    uploads: tuple[str, ...] = ()
    status: int | None = None
    description: str = ""
    took: float = 0.0

    def __getitem__(self, name: str) -> Any:
        """Return a parameter as a value: JSON text is decoded; None when it was not sent."""
        value = self.params.get(name)
        if isinstance(value, str) and name not in ("text", "caption", "callback_query_id", "url"):
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value

    @property
    def ok(self) -> bool:
        return self.status == 200


class Calls:
    """The last calls, oldest first.

    Args:
        kept: How many are remembered.

    Attributes:
        changes: Announced when a call comes and when it is answered.
    """

    def __init__(self, kept: int) -> None:
        self._calls: deque[Call] = deque(maxlen=kept)
        self.changes = Changes()

    def add(self, call: Call) -> None:
        """Remember a call that has just arrived."""
        self._calls.append(call)
        self.changes.announce()

    def finish(self, call: Call, status: int, description: str, took: float) -> None:
        """Note the answer."""
        call.status, call.description, call.took = status, description, took
        self.changes.announce()

    def of(self, method: str | None = None) -> list[Call]:
        """Return the calls of one method, or all but getUpdates."""
        if method is None:
            return [call for call in self._calls if call.method != "getUpdates"]
        wanted = method.lower()
        return [call for call in self._calls if call.method.lower() == wanted]

    async def expect(
        self, method: str, where: Callable[[Call], bool], within: float, after: int
    ) -> Call | None:
        """Wait for an answered call; `after` skips so many of the method's calls."""

        def look() -> Call | None:
            found = [call for call in self.of(method)[after:] if call.status is not None and where(call)]
            return found[0] if found else None

        return await self.changes.until(look, within)

    def clear(self) -> None:
        """Forget the calls."""
        self._calls.clear()
