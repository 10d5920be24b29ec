"""The slash commands: one row each gives the handler, the help line, and who sees it in the menu."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    Message,
)
from telegram.error import TelegramError

from bot.messages import Conversation
from bot.store.base import Effect
from bot.telegram.inbound import Command
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command as it came: what it says, where, by whom, in which update."""

    command: Command
    conversation: Conversation
    user_id: int
    update_id: int
    message: Message


Answer = Callable[["TelegramFace", Asked], Awaitable[str]]
"""Does what the command says and returns what to answer; may be empty."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    answer: Answer
    admin: bool = False


async def start(face: "TelegramFace", asked: Asked) -> str:
    return say(face.language, "greeting", commands=help_text(face, asked.user_id))


async def show_help(face: "TelegramFace", asked: Asked) -> str:
    return help_text(face, asked.user_id)


async def new(face: "TelegramFace", asked: Asked) -> str:
    await face.interrupt(asked.conversation)
    await face.store.reset(asked.conversation)
    return say(face.language, "new_begun")


async def stop(face: "TelegramFace", asked: Asked) -> str:
    stopped, dropped = await face.interrupt(asked.conversation)
    text = say(face.language, "stopped" if stopped else "nothing_to_stop")
    if dropped:
        listed = "\n".join(f"• {label}" for label in dropped)
        text += "\n" + say(face.language, "dropped", messages=listed)
    return text


async def status(face: "TelegramFace", asked: Asked) -> str:
    return await face.status.text()


async def pending(face: "TelegramFace", asked: Asked) -> str:
    """Show the open questions again: the old card may be far up, or its press may have been lost."""
    approvals = await face.store.pending_approvals()
    if not approvals:
        return say(face.language, "no_pending")
    here = asked.conversation
    await face.store.enqueue(
        [
            Effect(
                f"card:{approval.id}:{here.chat_id}:{asked.update_id}",
                here,
                "card",
                {"approval_id": approval.id},
            )
            for approval in approvals
        ]
    )
    return say(face.language, "pending_again", count=len(approvals))


ROWS: Sequence[Row] = (
    Row("start", start),
    Row("help", show_help),
    Row("new", new),
    Row("stop", stop),
    Row("status", status, admin=True),
    Row("pending", pending, admin=True),
)
COMMANDS = {row.name: row for row in ROWS}


def help_text(face: "TelegramFace", user_id: int) -> str:
    admin = face.people.may_decide(user_id)
    rows = [row for row in ROWS if admin or not row.admin]
    return "\n".join(f"/{row.name} – {say(face.language, f'help_{row.name}')}" for row in rows)


async def publish(bot: Bot, language: str, admins: Sequence[int]) -> None:
    """Put the commands into Telegram's menus: everybody's, and the admins' in their own chats."""

    def menu(admin: bool) -> list[BotCommand]:
        return [
            BotCommand(row.name, say(language, f"help_{row.name}")) for row in ROWS if admin or not row.admin
        ]

    scopes = [(BotCommandScopeAllPrivateChats(), False), (BotCommandScopeAllGroupChats(), False)]
    for scope, admin in [*scopes, *((BotCommandScopeChat(admin), True) for admin in admins)]:
        try:
            await bot.set_my_commands(menu(admin), scope=scope)
        except TelegramError as exc:
            # An admin who never wrote to the bot has no chat with it yet.
            log.info("a command menu was not set: %s", exc)
