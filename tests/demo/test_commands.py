"""https://core.telegram.org/bots/api#setmycommands and its scopes."""

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot

HELP = {"command": "help", "description": "What I can do"}
STATUS = {"command": "status", "description": "How I am"}


async def test_commands_are_kept_per_scope_and_language(bot: BareBot) -> None:
    await bot.do("setMyCommands", commands=[HELP])
    await bot.do("setMyCommands", commands=[STATUS], scope={"type": "all_group_chats"}, language_code="id")

    assert await bot.do("getMyCommands") == [HELP]
    assert await bot.do("getMyCommands", scope={"type": "all_group_chats"}) == []
    group = await bot.do("getMyCommands", scope={"type": "all_group_chats"}, language_code="id")
    assert group == [STATUS]


async def test_deleted_commands_are_gone(bot: BareBot) -> None:
    await bot.do("setMyCommands", commands=[HELP])

    await bot.do("deleteMyCommands")

    assert await bot.do("getMyCommands") == []


@pytest.mark.parametrize("name", ["Help", "with space", "x" * 33, ""])
async def test_bad_names_are_refused(bot: BareBot, name: str) -> None:
    command = {"command": name, "description": "x"}

    assert await bot.refused("setMyCommands", commands=[command]) == "Bad Request: BOT_COMMAND_INVALID"


@pytest.mark.parametrize("description", ["", "x" * 257])
async def test_bad_descriptions_are_refused(bot: BareBot, description: str) -> None:
    command = {"command": "help", "description": description}

    answer = await bot.refused("setMyCommands", commands=[command])

    assert answer == "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"


async def test_a_hundred_commands_are_the_most(bot: BareBot) -> None:
    commands = [{"command": f"c{i}", "description": "x"} for i in range(101)]

    assert await bot.refused("setMyCommands", commands=commands) == "Bad Request: BOT_COMMANDS_TOO_MUCH"
    await bot.do("setMyCommands", commands=commands[:100])


async def test_commands_are_a_list(bot: BareBot) -> None:
    answer = await bot.refused("setMyCommands", commands={"help": "x"})

    assert answer == "Bad Request: expected an Array of BotCommand"


async def test_a_member_scope_names_a_user(bot: BareBot, alice: Person) -> None:
    scope = {"type": "chat_member", "chat_id": 7}

    answer = await bot.refused("setMyCommands", commands=[HELP], scope=scope)

    assert answer == "Bad Request: invalid user_id specified"


async def test_an_unknown_scope_is_refused(bot: BareBot) -> None:
    answer = await bot.refused("setMyCommands", commands=[HELP], scope={"type": "friends"})

    assert answer == "Bad Request: can't parse BotCommandScope: Unsupported type specified"


async def test_an_unknown_menu_button_is_refused(bot: BareBot) -> None:
    answer = await bot.refused("setChatMenuButton", menu_button={"type": "big"})

    assert answer == "Bad Request: menuButton has unsupported type"


async def test_a_scope_for_an_unknown_chat_is_refused(bot: BareBot) -> None:
    answer = await bot.refused("setMyCommands", commands=[HELP], scope={"type": "chat", "chat_id": 99})

    assert answer == "Bad Request: chat not found"


async def test_the_nearest_scope_wins(bot: BareBot, emulator: Emulator, alice: Person, bob: Person) -> None:
    group = emulator.supergroup(-1001, "Ops", [alice, bob])
    await bot.do("setMyCommands", commands=[HELP])
    await bot.do("setMyCommands", commands=[], scope={"type": "all_group_chats"})
    member = {"type": "chat_member", "chat_id": group.id, "user_id": 7}

    await bot.do("setMyCommands", commands=[STATUS], scope=member)

    assert alice.commands() == [HELP]
    assert alice.commands(group) == [STATUS]
    assert bob.commands(group) == []


async def test_the_menu_button_is_kept_per_chat(bot: BareBot, alice: Person) -> None:
    await bot.do("setChatMenuButton", chat_id=7, menu_button={"type": "default"})

    assert await bot.do("getChatMenuButton", chat_id=7) == {"type": "default"}
    assert await bot.do("getChatMenuButton") == {"type": "commands"}
