"""What a card says beyond the arguments: what a call would do, found out without doing it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bot.messages import Conversation, ToolCall
from bot.store.base import CardLine


@dataclass(frozen=True, slots=True)
class CardDetails:
    """What a person must see before saying yes.

    Attributes:
        lines: In the order to show.
        warnings: Each to be marked; may be empty.
        second_step: Why a press alone is not enough, as in `Approval`; empty when it is.
        fingerprint: ASCII. The same as long as the same would happen; when it changed since the card was
            shown, the press was for something else.
        image: Absolute path of a picture to show with the card.
    """

    lines: tuple[CardLine, ...]
    warnings: tuple[str, ...]
    second_step: str
    fingerprint: str
    image: Path | None = None


Preview = Callable[[ToolCall, Conversation, Path], Awaitable[CardDetails]]
"""Find out what a valid call would do now, given its conversation and cwd; remember it as what was shown.

Called before a card is made and again at the press; as often as you like until the call ran. Raises ToolError
when the call could not succeed: nobody should be asked, and the model reads why.
"""

__all__ = ["CardDetails", "CardLine", "Preview"]
