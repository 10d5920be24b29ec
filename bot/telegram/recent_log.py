"""The last lines of the log, for `/log`."""

import logging
from collections import deque
from collections.abc import Callable

KEPT = 200
LONGEST = 500
"""Characters of a line."""


class RecentLog(logging.Handler):
    """Keeps the last lines in memory.

    Args:
        redact: Takes secrets out, before a line is kept.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
        self._redact = redact
        self._lines: deque[str] = deque(maxlen=KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self._redact(self.format(record))[:LONGEST])
        except Exception:
            self._lines.append(f"a record of {record.name} could not be written")

    def lines(self, count: int) -> list[str]:
        """Return the last so many lines, oldest first."""
        return list(self._lines)[-count:]
