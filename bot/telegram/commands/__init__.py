"""The slash commands: one row each gives what it does, its help line, and who sees it in the menu.

To add one, write its function in the file of its group, a row here and a text `help_<name>`.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
)
from telegram.error import TelegramError

from bot.telegram.commands.chat import new, retry, stop
from bot.telegram.commands.gate import audit, grants, policy
from bot.telegram.commands.models import model, tools, usage
from bot.telegram.commands.money import limits, transfers
from bot.telegram.commands.records import backup, export, history
from bot.telegram.commands.records import log as show_log
from bot.telegram.commands.row import Asked, Row
from bot.telegram.commands.server import pending, status
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

log = logging.getLogger(__name__)


async def start(face: "TelegramFace", asked: Asked) -> str:
    model = say(face.language, "greeting_model", model=face.status.model)
    return f"{say(face.language, 'greeting', commands=help_text(face, asked.user_id))}\n\n{model}"


async def show_help(face: "TelegramFace", asked: Asked) -> str:
    return help_text(face, asked.user_id)


ROWS: Sequence[Row] = (
    Row("start", start),
    Row("help", show_help),
    Row("new", new),
    Row("stop", stop),
    Row("retry", retry),
    Row("model", model),
    Row("tools", tools),
    Row("history", history),
    Row("export", export),
    Row("status", status, admin=True),
    Row("usage", usage, admin=True),
    Row("pending", pending, admin=True),
    Row("grants", grants, admin=True),
    Row("audit", audit, admin=True),
    Row("policy", policy, admin=True),
    Row("limits", limits, admin=True),
    Row("transfers", transfers, admin=True),
    Row("log", show_log, admin=True),
    Row("backup", backup, admin=True),
)
COMMANDS = {row.name: row for row in ROWS} | {"cancel": Row("stop", stop)}
"""By what people write; other bots taught them `/cancel`."""


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
