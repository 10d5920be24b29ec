"""AWS event streams: binary frames, each with headers and a JSON payload.

Source: https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
"""

import json
import struct
import zlib
from collections.abc import Mapping

from bot.errors import LLMMalformed
from bot.llm.sse import MAX_EVENT

PRELUDE = struct.Struct("!III")
FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header value by its type; 6 and 7 (bytes, text) give their own length."""


class FrameDecoder:
    """Cuts a byte stream, in pieces of any size, into events.

    An event is its payload under its type, `{"messageStop": {…}}`; an exception is `{"error": {…}}`.
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that `chunk` completes, as JSON text.

        Raises:
            LLMMalformed: A checksum is wrong, or a frame is larger than `MAX_EVENT`.
        """
        self._held += chunk
        found: list[bytes] = []
        while len(self._held) >= PRELUDE.size:
            total, header_length, checksum = PRELUDE.unpack_from(self._held)
            if zlib.crc32(self._held[:8]) != checksum or not 16 + header_length <= total <= MAX_EVENT:
                raise LLMMalformed("the event stream is damaged")
            if len(self._held) < total:
                break
            frame = bytes(self._held[:total])
            del self._held[:total]
            if zlib.crc32(frame[:-4]) != struct.unpack("!I", frame[-4:])[0]:
                raise LLMMalformed("the event stream is damaged")
            found += _event(_headers(frame[12 : 12 + header_length]), frame[12 + header_length : -4])
        return found

    def finish(self) -> list[bytes]:
        """Return nothing: half a frame is no event."""
        return []


def _event(headers: Mapping[str, str], payload: bytes) -> list[bytes]:
    match headers.get(":message-type"):
        case "event":
            kind = json.dumps(headers.get(":event-type", "")).encode()
            return [b"{" + kind + b":" + (payload or b"{}") + b"}"]
        case "exception":
            told = {"type": headers.get(":exception-type", ""), "message": _message(payload)}
            return [json.dumps({"error": told}).encode()]
        case "error":
            told = {"type": headers.get(":error-code", ""), "message": headers.get(":error-message", "")}
            return [json.dumps({"error": told}).encode()]
    return []


def _message(payload: bytes) -> str:
    try:
        return str(json.loads(payload).get("message", ""))
    except (ValueError, AttributeError):
        return ""


def _headers(raw: bytes) -> dict[str, str]:
    """Return the headers that are text."""
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(raw):
            end = at + 1 + raw[at]
            name, kind = raw[at + 1 : end].decode(), raw[end]
            at = end + 1
            if kind in (6, 7):
                (length,) = struct.unpack_from("!H", raw, at)
                if kind == 7:
                    headers[name] = raw[at + 2 : at + 2 + length].decode()
                at += 2 + length
            else:
                at += FIXED[kind]
    except (IndexError, KeyError, struct.error, UnicodeDecodeError):
        raise LLMMalformed("the event stream is damaged") from None
    return headers
