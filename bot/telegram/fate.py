"""What became of a request to Telegram that got no answer."""

import httpx
from telegram.error import BadRequest, InvalidToken, NetworkError, TelegramError


def fate(exc: TelegramError) -> str:
    """Return what became of a request that got no answer: `not sent`, `sent` or `unknown`."""
    if isinstance(exc, InvalidToken):
        return "not sent"  # the poller will say so, and end the process
    if type(exc) is NetworkError and exc.__cause__ is None:
        return "not sent"  # a 5xx with Telegram's own words: it says that it did not
    match exc.__cause__:
        case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.PoolTimeout():
            return "not sent"
        case httpx.ReadTimeout():
            return "sent"
    return "unknown"


def is_formatting(exc: BadRequest) -> bool:
    """Whether a 400 is about entities, so that the same text without them would pass."""
    return "entit" in str(exc).lower()
