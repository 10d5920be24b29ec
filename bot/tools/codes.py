"""Error codes the model can act on without reading English (requirement F1).

`ENOENT` means another path, `Timeout` means try again, `InvalidArgs` means mend the arguments. Codes are
ASCII, at most 32 characters, and the same in every locale.
"""

import errno
import socket
import ssl
import subprocess
from asyncio import CancelledError
from collections.abc import Iterator
from signal import Signals

import httpx

from bot.errors import ToolError

NAMED = (
    *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC),
    *(errno.EROFS, errno.EBUSY, errno.EINVAL, errno.EIO, errno.EPIPE, errno.ECONNREFUSED, errno.ECONNRESET),
    *(errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH),
)
"""The system errors whose name is a code; any other says too little to act on."""


def code_of(error: BaseException) -> str:
    """Return the code of an error, looking through everything it was raised from; never empty.

    A `ToolError` knows its own code. A failed name look-up is told before any other network trouble, and a
    cause that names itself (`ECONNREFUSED`) before one that only says "network".
    """
    chain = list(causes(error))
    for find in (_told, _dns, _specific, _general):
        for link in chain:
            if code := find(link):
                return code
    return "UnknownError"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, then what it was raised from or while handling, outermost first; each once."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting.extend(link.exceptions)
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif link.__context__ is not None:  # also a suppressed one: httpcore hides "refused" that way
            waiting.append(link.__context__)


def signal_code(number: int) -> str:
    """Return `Signal:NAME` without the SIG, or the number where it has no name (real-time signals)."""
    try:
        return f"Signal:{Signals(number).name.removeprefix('SIG')}"
    except ValueError:
        return f"Signal:{number}"


def http_code(status: int) -> str:
    return "RateLimited" if status == 429 else f"HTTP:{status}"


def _told(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return error.code.encode("ascii", "replace").decode()[:32] or "UnknownError"
    return ""


def _dns(error: BaseException) -> str:
    return "DNSError" if isinstance(error, socket.gaierror | socket.herror) else ""


def _specific(error: BaseException) -> str:
    match error:
        case CancelledError():
            return "Canceled"
        case httpx.HTTPStatusError():
            return http_code(error.response.status_code)
        case httpx.TimeoutException():
            return "NetworkTimeout"
        case subprocess.TimeoutExpired():
            return "Timeout"
        case subprocess.CalledProcessError(returncode=status):
            return f"ExitCode:{status}" if status >= 0 else signal_code(-status)
        case ssl.SSLError():
            return ""  # its errno is OpenSSL's, not the system's
        case OSError(errno=number) if number is not None:
            return errno.errorcode[number] if number in NAMED else ""
        case TimeoutError():
            return "Timeout"
    return ""


def _general(error: BaseException) -> str:
    match error:
        case httpx.TransportError() | ssl.SSLError() | ConnectionError():
            return "NetworkError"
        case RecursionError() | MemoryError():
            return "PanicError"
    # Rust extensions raise their panics as a BaseException of a class nobody can import.
    return "PanicError" if type(error).__name__ == "PanicException" else ""
