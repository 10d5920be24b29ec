"""What commands need besides the face: the tools, the models, the log, places for files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.messages import ToolDefinition
from bot.tools.wallet import Wallet


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything to be handed to commands.

    Attributes:
        models: `provider:model` that may be chosen, the usual one first.
        keyed: Names of providers that have what they need, for whoever types a model of theirs.
        model_problems: What keeps a `provider:model` from being asked; nothing when it may be.
        log: Returns the last so many lines, oldest first.
        files: Where what is to be sent is written.
        backups: Where backups are kept.
        wallet: None when no chain is set up.
    """

    tools: Sequence[ToolDefinition]
    models: Sequence[str]
    keyed: Callable[[], Sequence[str]]
    model_problems: Callable[[str], Sequence[str]]
    log: Callable[[int], list[str]]
    files: Path
    backups: Path
    wallet: Wallet | None = None
