"""Answering presses, reacting."""

from typing import Any

from bot.demo.chats import Toast
from bot.demo.entities import utf16_length
from bot.demo.methods.common import find_message
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import World

TOAST_LIMIT = 200
_ALLOWED = (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 "
    "🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 "
    "😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 "
    "🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡 "
)
REACTIONS = frozenset(_ALLOWED.split())
"""Without variation selectors."""


def answer_callback_query(world: World, params: Params) -> Any:
    text = params.text("text")
    if utf16_length(text) > TOAST_LIMIT:
        raise bad_request("MESSAGE_TOO_LONG")
    press = world.presses.get(params.text("callback_query_id"))
    now = world.clock()
    if press is None or press.answer is not None or now - press.time > world.settings.ack_window:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    press.answer = {"text": text, "show_alert": params.flag("show_alert"), "url": params.text("url")}
    press.answered_at = now
    chat = press.message.chat
    chat.toasts.append(Toast(press.user.id, text, params.flag("show_alert"), now))
    chat.changes.announce()
    return True


def set_message_reaction(world: World, params: Params) -> Any:
    message = find_message(world, params, "message to react", write=False)
    reactions = params.json("reaction", "reaction types") or []
    if not isinstance(reactions, list):
        raise bad_request("Expected an Array of ReactionType")
    for reaction in reactions:
        emoji = str(reaction.get("emoji", "")) if isinstance(reaction, dict) else ""
        if emoji.replace("\ufe0f", "") not in REACTIONS:
            raise bad_request("REACTION_INVALID")
    if len(reactions) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    message.reactions[world.bot.id] = reactions
    message.chat.changes.announce()
    return True


METHODS = {
    "answerCallbackQuery": answer_callback_query,
    "setMessageReaction": set_message_reaction,
}
