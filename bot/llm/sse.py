"""Server-sent events, as far as model APIs use them: the `data` of each event.

Event names are not read: every API repeats them inside the data.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from bot.errors import LLMMalformed

MAX_EVENT = 16 * 1024 * 1024


class EventDecoder:
    """Cuts a byte stream, in pieces of any size, into the data of its events."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that `chunk` completes; zero or more, in order.

        Raises:
            LLMMalformed: One event is larger than `MAX_EVENT`.
        """
        found: list[bytes] = []
        if b"\n" not in chunk:
            self._line += chunk
            self._check(len(self._line))
            return found
        lines = chunk.split(b"\n")
        if self._line:
            lines[0] = bytes(self._line) + lines[0]
        self._line = bytearray(lines.pop())
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line:
                self._dispatch(found)
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._size += len(line)
                self._check(self._size)
        return found

    def finish(self) -> list[bytes]:
        """Return the data of a last event whose blank line never came: some servers leave it out."""
        found = self.feed(b"\n")
        self._dispatch(found)
        return found

    def _dispatch(self, found: list[bytes]) -> None:
        if self._data:
            found.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
            self._data = []
            self._size = 0

    def _check(self, size: int) -> None:
        if size > MAX_EVENT:
            raise LLMMalformed(f"an event of the stream is larger than {MAX_EVENT} bytes")
