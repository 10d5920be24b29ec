"""Streams of one JSON value a line. Source: https://docs.ollama.com/api/streaming"""

from bot.errors import LLMMalformed
from bot.llm.sse import MAX_EVENT


class LineDecoder:
    """Cuts a byte stream, in pieces of any size, into its lines."""

    def __init__(self) -> None:
        self._line = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes; blank ones are left out.

        Raises:
            LLMMalformed: One line is larger than `MAX_EVENT`.
        """
        lines = chunk.split(b"\n")
        lines[0] = bytes(self._line) + lines[0] if self._line else lines[0]
        self._line = bytearray(lines.pop())
        if len(self._line) > MAX_EVENT:
            raise LLMMalformed(f"a line of the stream is larger than {MAX_EVENT} bytes")
        return [line for line in lines if line.strip()]

    def finish(self) -> list[bytes]:
        """Return the last line when nothing ended it."""
        return self.feed(b"\n")
