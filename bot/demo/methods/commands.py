"""The command list and the menu button."""

import re
from typing import Any

from bot.demo.methods.common import find_chat
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import World

COMMANDS_LIMIT = 100
_SCOPES = {
    "default": (),
    "all_private_chats": (),
    "all_group_chats": (),
    "all_chat_administrators": (),
    "chat": ("chat_id",),
    "chat_administrators": ("chat_id",),
    "chat_member": ("chat_id", "user_id"),
}


def set_my_commands(world: World, params: Params) -> Any:
    commands = params.json("commands", "commands")
    if not isinstance(commands, list):
        raise bad_request("Expected an Array of BotCommand")
    if len(commands) > COMMANDS_LIMIT:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not isinstance(command, dict) or not re.fullmatch(
            r"/?[a-z0-9_]{1,32}", str(command.get("command"))
        ):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(str(command.get("description", ""))) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    world.commands.lists[read_key(world, params)] = [
        {"command": c["command"].lstrip("/"), "description": c["description"]} for c in commands
    ]
    return True


def get_my_commands(world: World, params: Params) -> Any:
    return world.commands.lists.get(read_key(world, params), [])


def delete_my_commands(world: World, params: Params) -> Any:
    world.commands.lists.pop(read_key(world, params), None)
    return True


def set_chat_menu_button(world: World, params: Params) -> Any:
    button = params.json("menu_button", "menu button") or {"type": "default"}
    if not isinstance(button, dict) or button.get("type") not in ("default", "commands", "web_app"):
        raise bad_request("MenuButton has unsupported type")
    world.menu_buttons[params.integer("chat_id")] = button
    return True


def get_chat_menu_button(world: World, params: Params) -> Any:
    return world.menu_buttons.get(params.integer("chat_id"), {"type": "commands"})


def read_key(world: World, params: Params) -> tuple[str, int, int, str]:
    """Read scope and language.

    Raises:
        Refusal: An unknown scope, or a chat the bot is not in.
    """
    scope = params.json("scope", "BotCommandScope") or {"type": "default"}
    kind = scope.get("type") if isinstance(scope, dict) else None
    if kind not in _SCOPES:
        raise bad_request("Can't parse BotCommandScope: Unsupported type specified")
    chat_id = user_id = 0
    if "chat_id" in _SCOPES[kind]:
        chat_id = find_chat(world, Params(scope), write=False).id
    if "user_id" in _SCOPES[kind]:
        user_id = Params(scope).integer("user_id")
        if user_id <= 0:
            raise bad_request("Invalid user_id specified")
    return kind, chat_id, user_id, params.text("language_code")


METHODS = {
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    "setChatMenuButton": set_chat_menu_button,
    "getChatMenuButton": get_chat_menu_button,
}
