"""What a request carries, read as leniently as the server reads it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.refusals import bad_request


@dataclass(frozen=True, slots=True)
class Upload:
    """One file part of a multipart request."""

    name: str
    mime: str
    data: bytes


class Params:
    """The parameters of one call.

    Attributes:
        values: As sent: strings from a query, form or multipart body; JSON values from a JSON body.
        uploads: File parts by field name; `attach://NAME` refers to them.
    """

    __slots__ = ("uploads", "values")

    def __init__(self, values: Mapping[str, Any], uploads: Mapping[str, Upload] | None = None) -> None:
        self.values = values
        self.uploads = uploads or {}

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) not in (None, "")

    def text(self, name: str) -> str:
        """Return the value as text; empty when it is missing.

        Raises:
            Refusal: It holds half a surrogate pair, which is not UTF-8.
        """
        value = self.values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            return json.dumps(value)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise bad_request("Strings must be encoded in UTF-8") from None
        return value

    def integer(self, name: str) -> int:
        """Return the value as an integer; 0 when it is missing or no integer, as the server does."""
        try:
            return int(self.values.get(name) or 0)
        except (ValueError, TypeError):
            return 0

    def flag(self, name: str) -> bool:
        """Return whether the value is true, in any of the server's spellings."""
        return str(self.values.get(name, "")).lower() in ("true", "yes", "1")

    def json(self, name: str, what: str) -> Any:
        """Return the value decoded from JSON; None when it is missing.

        Args:
            name: The parameter.
            what: Names the value in the error, as in "can't parse {what} JSON object".

        Raises:
            Refusal: It is no JSON.
        """
        value = self.values.get(name)
        if isinstance(value, str):
            if not value:
                return None
            try:
                return json.loads(value)
            except ValueError:
                raise bad_request(f"Can't parse {what} JSON object") from None
        return value
