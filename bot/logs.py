"""Where the log goes and how it looks. No secret gets past here."""

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TextIO

from bot.redact import Redactor

# httpx logs every URL, and a Bot API URL holds the token; telegram logs its base URL.
_CHATTY = ("httpx", "httpcore", "telegram", "telegram.ext", "aiosqlite", "hpack", "primp")
# What moves the cursor or hides text on the terminal of whoever reads the log.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def set_up_logging(
    level: str,
    format: Literal["text", "json"],  # noqa: A002 - the setting's own word
    redactor: Redactor,
    *,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Send every log record, warning and uncaught exception to `stream` (default stderr), redacted.

    May be called again: the last call counts. Under the journal a text line has no time but a priority, since
    the journal keeps the one and reads the other.
    """
    stream = stream or sys.stderr
    handler = _RedactedHandler(stream)
    if format == "json":
        handler.setFormatter(_JsonFormatter(redactor))
    else:
        handler.setFormatter(_TextFormatter(redactor, journal=_is_journal(stream, environ)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread


class _RedactedHandler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        # The standard one prints the arguments as they are.
        kind = sys.exc_info()[0]
        where = f"{record.name}, {os.path.basename(record.pathname)}:{record.lineno}"
        if kind is not None and not issubclass(kind, OSError):
            self.stream.write(f"a log record could not be written: {kind.__name__} ({where})\n")


class _TextFormatter(logging.Formatter):
    def __init__(self, redactor: Redactor, *, journal: bool) -> None:
        super().__init__(
            "%(levelname)s %(name)s: %(message)s"
            if journal
            else "%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
        self._redact = redactor.redact
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        text = _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", self._redact(super().format(record)))
        # A message from outside must not begin a line that looks like one of ours.
        text = text.replace("\n", "\n    ")
        if self._journal:
            # https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html
            prefix = f"<{_priority(record.levelno)}>"
            text = prefix + text.replace("\n", f"\n{prefix}")
        return text


class _JsonFormatter(logging.Formatter):
    """One JSON object a line: time (ISO 8601, UTC), level, logger, message, and any exception and stack."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redact = redactor.redact

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = self._redact(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = self._redact(record.stack_info)
        return json.dumps(line)


def _is_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    # The variable is inherited by children whose output goes elsewhere, so it must name this very stream:
    # https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html ($JOURNAL_STREAM)
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _priority(level: int) -> int:
    for least, priority in (
        (logging.CRITICAL, 2),
        (logging.ERROR, 3),
        (logging.WARNING, 4),
        (logging.INFO, 6),
    ):
        if level >= least:
            return priority
    return 7


def _log_uncaught(kind: type[BaseException], exc: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, exc, traceback)
    else:
        logging.getLogger("bot").critical("uncaught exception", exc_info=(kind, exc, traceback))


def _log_uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)
