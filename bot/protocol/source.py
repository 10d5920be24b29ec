"""The text of a message as it arrives: what has been read leaves, what is undecided stays.

The readers are generators: a `yield` means "nothing more can be said without more text". Every answer
given before the end of the message is one that no later text can change, which is why the result does
not depend on how the message was cut up.
"""

from collections.abc import Generator
from typing import TypeVar

from bot.protocol.patterns import Match, Pattern

T = TypeVar("T")
Wait = Generator[None, None, T]

MAX_MARKER = 4096


class Source:
    """A window on the message.

    Attributes:
        text: The part that is held; `at` is where reading goes on.
        ended: No more text will come.
        cut: The last `match` failed only because the message ended.
        steps: Pieces of work done, to show that the work grows no faster than the text.
    """

    __slots__ = ("text", "at", "ended", "cut", "steps", "_base", "_recorders")

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.ended = False
        self.cut = False
        self.steps = 0
        self._base = 0
        self._recorders: list[list[str]] = []

    @property
    def position(self) -> int:
        """Return how many characters of the message have been read."""
        return self._base + self.at

    @property
    def rest(self) -> str:
        """Return what is held and not read."""
        return self.text[self.at :]

    def push(self, text: str) -> None:
        """Add text at the end."""
        self._base += self.at
        self.text = self.text[self.at :] + text
        self.at = 0

    def put_back(self, text: str) -> None:
        """Unread the last characters read, which must be `text`."""
        self._base = self.position - len(text)
        self.text = text + self.text[self.at :]
        self.at = 0

    def take(self, size: int) -> str:
        """Read `size` characters."""
        piece = self.text[self.at : self.at + size]
        self.at += size
        for recorder in self._recorders:
            recorder.append(piece)
        return piece

    def record(self) -> list[str]:
        """Keep what is read from here on, until `recorded`."""
        recorder: list[str] = []
        self._recorders.append(recorder)
        return recorder

    def recorded(self, recorder: list[str]) -> str:
        """Stop keeping and return what was kept."""
        self._recorders = [other for other in self._recorders if other is not recorder]
        return "".join(recorder)

    def more(self) -> Wait[bool]:
        """Wait for text; False when the message has ended."""
        if self.ended:
            return False
        yield
        return True

    def ahead(self, size: int) -> Wait[str]:
        """Return the next `size` characters unread; fewer only at the end of the message."""
        while len(self.text) - self.at < size and (yield from self.more()):
            pass
        return self.text[self.at : self.at + size]

    def match(self, pattern: Pattern, offset: int = 0, limit: int = MAX_MARKER) -> Wait[Match | None]:
        """Match at `offset` from here, waiting while more text could still complete it.

        Patterns end in something definite, never in an optional part, so a match can't grow later.
        """
        self.cut = False
        while True:
            self.steps += 1
            start = self.at + offset
            found = pattern.match(self.text, start, partial=True)
            if found is None:
                return None
            if not found.partial:
                return found
            if self.ended:
                self.cut = True
                return None
            if len(self.text) - start > limit:
                return None
            yield
