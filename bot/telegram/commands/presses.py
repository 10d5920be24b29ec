"""Buttons under what commands say: by the letters before the colon of their data."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.telegram.commands.models import press_model
from bot.telegram.commands.row import Pressed
from bot.telegram.commands.server import press_refresh

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

PRESSES: Mapping[str, Callable[["TelegramFace", Pressed], Awaitable[str]]] = {
    "m": press_model,
    "st": press_refresh,
}
"""Each does what its button says and returns what to answer to the press."""


def read_press(data: str | None) -> tuple[str, str] | None:
    """Return the letters and what follows; None when it is no such button."""
    kind, colon, argument = (data or "").partition(":")
    return (kind, argument) if colon and kind in PRESSES else None
