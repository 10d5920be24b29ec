"""The methods of the Bot API that the emulator has: a table of names and functions.

A method takes the world and the call's parameters, changes the world, and returns the `result`, or raises
`Refusal`. Adding one is a function and a line in its file's table.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bot.demo.methods import admin, buttons, commands, drafts, edits, media, messages, receiving, topics
from bot.demo.params import Params
from bot.demo.world import World

Method = Callable[[World, Params], Any]

METHODS: Mapping[str, Method] = {
    **receiving.METHODS,
    **messages.METHODS,
    **edits.METHODS,
    **media.METHODS,
    **buttons.METHODS,
    **commands.METHODS,
    **drafts.METHODS,
    **topics.METHODS,
    **admin.METHODS,
}

BY_LOWER_NAME: Mapping[str, str] = {name.lower(): name for name in METHODS}

MAKES_MESSAGES = frozenset(
    name
    for name in METHODS
    if name.startswith(("send", "edit", "copy", "forward"))
    and name not in ("sendChatAction", "sendMessageDraft", "sendRichMessageDraft", "editForumTopic")
)
"""What fills a chat's flood bucket."""
