"""Scripted trouble: what the next calls of a method meet instead of a good answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Action = Literal["answer", "refuse", "close", "hang"]

_PHRASES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    504: "Gateway Timeout",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What one call meets.

    Attributes:
        action: `answer` as always, `refuse` with `status`, `close` the connection without an answer, `hang`
            with the connection open until the caller leaves.
        runs: Whether the method takes effect all the same. Always so for `answer`, never for `refuse`.
        before: Real seconds to wait before the method runs.
        after: Real seconds to wait after it ran, before the answer.
        body: Sent as it is instead of JSON, as a broken proxy does.
    """

    action: Action
    runs: bool = True
    before: float = 0.0
    after: float = 0.0
    status: int = 200
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    body: bytes | None = None


def refuse(
    status: int, description: str = "", *, retry_after: int | None = None, body: bytes | None = None
) -> Fault:
    """Answer with an error; the method does not run."""
    text, parameters = description or _PHRASES.get(status, "Error"), None
    if retry_after is not None:
        text, parameters = f"Too Many Requests: retry after {retry_after}", {"retry_after": retry_after}
    return Fault("refuse", runs=False, status=status, description=text, parameters=parameters, body=body)


def slow(*, before: float = 0.0, after: float = 0.0) -> Fault:
    """Answer well but late: `after` makes a sent message whose answer comes after the client gave up."""
    return Fault("answer", before=before, after=after)


def close(*, runs: bool) -> Fault:
    """Close the connection without an answer, before (`runs=False`) or after the method took effect."""
    return Fault("close", runs=runs)


def hang(*, runs: bool = False) -> Fault:
    """Never answer, and keep the connection open: a half-open connection as the client sees it."""
    return Fault("hang", runs=runs)


@dataclass(slots=True)
class _Script:
    method: str
    chat_id: int | None
    fault: Fault
    times: int


@dataclass(slots=True)
class Faults:
    """The scripted faults, first in, first out."""

    _scripts: list[_Script] = field(default_factory=list)

    def add(self, method: str, fault: Fault, *, times: int = 1, chat_id: int | None = None) -> None:
        """Let the next `times` calls of a method meet a fault.

        Args:
            method: A Bot API method, or `*` for any but getUpdates.
            fault: From `refuse`, `slow`, `close` or `hang`.
            times: How many calls.
            chat_id: Only calls to this chat.
        """
        self._scripts.append(_Script(method.lower(), chat_id, fault, times))

    def take(self, method: str, chat_id: int) -> Fault | None:
        """Return the fault this call meets, and count it."""
        for script in self._scripts:
            if script.method not in (method, "*") or (script.method == "*" and method == "getupdates"):
                continue
            if script.chat_id is not None and script.chat_id != chat_id:
                continue
            script.times -= 1
            if script.times <= 0:
                self._scripts.remove(script)
            return script.fault
        return None

    def clear(self) -> None:
        """Forget what is scripted."""
        self._scripts.clear()
