"""What a command is: a name, what it does, and who may use it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from telegram import CallbackQuery, Message

from bot.messages import Conversation
from bot.telegram.inbound import Command

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace


@dataclass(frozen=True, slots=True)
class Asked:
    """A command as it came: what it says, where, by whom, in which update."""

    command: Command
    conversation: Conversation
    user_id: int
    update_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button of a command as it was pressed; `argument` is what its data says after the colon."""

    query: CallbackQuery
    argument: str
    update_id: int


Answer = Callable[["TelegramFace", Asked], Awaitable[str | None]]
"""Does what the command says and returns what to answer; empty when that went out already, None when the
command's update is finished later too."""


@dataclass(frozen=True, slots=True)
class Row:
    """One command; its help line is the text `help_<name>`."""

    name: str
    answer: Answer
    admin: bool = False
