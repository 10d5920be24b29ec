"""What a command prints, bounded in memory however much it is."""

import contextlib
import os
import re
from codecs import getincrementaldecoder
from pathlib import Path

HEAD = 16 * 1024
TAIL = 48 * 1024
"""Bytes of each stream that become text. What fits both together is kept whole and in memory alone."""
SPILL = 20 * 1024 * 1024
"""Bytes of output kept on disk, from the beginning."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


LAST_LINE = 8192


class Capture:
    """Two streams, each as its first and last bytes, and a file with both once they are too long.

    The file is made only when it is needed, readable by its owner alone. A disk that is full ends the file,
    not the command.
    """

    def __init__(self, path: Path) -> None:
        self.stdout = Stream()
        self.stderr = Stream()
        self.last_line = b""
        self._path = path
        self._waiting = bytearray()
        self._file = -1
        self._written = 0
        self._failed = False

    @property
    def total(self) -> int:
        return self.stdout.total + self.stderr.total

    @property
    def file(self) -> Path | None:
        """The file with the output, in the order it was read; None while memory holds all of it."""
        return self._path if self._written or self._file >= 0 else None

    @property
    def cut(self) -> bool:
        """Whether `render` leaves something out."""
        return self.stdout.cut or self.stderr.cut

    def feed(self, stream: "Stream", data: bytes) -> None:
        stream.feed(data)
        # More than is shown, so that no secret is cut in two before it is redacted.
        self.last_line = (self.last_line + data)[-LAST_LINE:]
        if self._file >= 0:
            self._write(data)
            return
        if self._failed:
            return
        self._waiting += data
        if self.total > HEAD + TAIL:
            self.keep()

    def keep(self) -> None:
        """Have all output so far, and what still comes, in the file."""
        if self._file >= 0 or self._failed:
            return
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(self._path, flags, 0o600)
        except OSError:
            self._failed = True
        self._write(bytes(self._waiting))
        self._waiting.clear()

    def close(self) -> None:
        """Close the file; what was kept stays."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._failed = True

    def render(self) -> str:
        """Return stdout, then stderr under its label; binary output as a note of its size and file."""
        for stream in (self.stdout, self.stderr):
            if stream.binary:
                self.keep()
        out, err = self._text(self.stdout), self._text(self.stderr)
        if not err:
            return out
        return f"{out}{'' if not out or out.endswith(chr(10)) else chr(10)}[stderr]\n{err}"

    def line(self) -> str:
        """Return the last line printed, or its end; empty when there is nothing to read."""
        if self.stdout.binary or self.stderr.binary:
            return ""
        lines = plain(self.last_line.decode(errors="replace")).strip().splitlines()
        if len(lines) == 1 and len(self.last_line) == LAST_LINE:
            return ""  # its beginning is lost, and half a secret can't be recognised
        return lines[-1].lstrip("\ufffd") if lines else ""

    def _text(self, stream: "Stream") -> str:
        if not stream.binary:
            return stream.text()
        where = f"saved to {self.file}" if self.file else "not saved"
        return f"[binary output, {stream.total} bytes, {where}]\n"

    def _write(self, data: bytes) -> None:
        if self._file < 0 or not (data := data[: SPILL - self._written]):
            return
        try:
            self._written += os.write(self._file, data)
        except OSError:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1
            self._failed = True


class Stream:
    """The first `HEAD` and last `TAIL` bytes of one stream."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def cut(self) -> bool:
        return self.total > HEAD + TAIL

    @property
    def binary(self) -> bool:
        """Whether a person could not read it: a NUL byte, or a tenth of it no UTF-8."""
        if b"\0" in self._head or b"\0" in self._tail:
            return True
        head = self._head.decode(errors="replace")
        return head.count("\ufffd") * 10 > len(head)

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        if room := HEAD - len(self._head):
            self._head += data[:room]
            data = data[room:]
        if len(data) >= TAIL:
            self._tail[:] = data[-TAIL:]
        elif data:
            self._tail += data
            if len(self._tail) > 2 * TAIL:
                del self._tail[:-TAIL]

    def text(self) -> str:
        if not self.cut:
            return plain((self._head + self._tail[-TAIL:]).decode(errors="replace"))
        tail = bytes(self._tail[-TAIL:])
        # A code point cut in two would read as rubbish that the command never printed.
        head = getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        start = next((i for i in range(4) if tail[i] & 0xC0 != 0x80), 0)
        gap = f"\n[… {self.total - HEAD - TAIL} of {self.total} bytes left out …]\n"
        return plain(head) + gap + plain(tail[start:].decode(errors="replace"))


def plain(text: str) -> str:
    """Return what a terminal would leave on the screen: no escape codes, no overwritten progress bars."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
