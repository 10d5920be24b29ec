"""How the Bot API says no: a status, a description, sometimes parameters."""

from collections.abc import Mapping


class Refusal(Exception):
    """Becomes `{"ok": false, …}` with the same HTTP status.

    https://core.telegram.org/bots/api#making-requests
    """

    def __init__(self, code: int, description: str, parameters: Mapping[str, object] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(text: str) -> Refusal:
    """Build a 400 as the server words it: prefixed, first letter lowered unless the text is a CONSTANT."""
    if not (len(text) > 1 and (text[1] == "_" or "A" <= text[1] <= "Z")):
        text = text[:1].lower() + text[1:]
    return Refusal(400, f"Bad Request: {text}")


def forbidden(text: str) -> Refusal:
    """Build a 403."""
    return Refusal(403, f"Forbidden: {text}")


def conflict(text: str) -> Refusal:
    """Build a 409."""
    return Refusal(409, f"Conflict: {text}")


def too_many(retry_after: int) -> Refusal:
    """Build a 429 that asks for `retry_after` seconds."""
    return Refusal(429, f"Too Many Requests: retry after {retry_after}", {"retry_after": retry_after})
