"""Chats and their members, pins, leaving."""

from typing import Any

from bot.demo.messages import Json
from bot.demo.methods.common import find_chat, find_message
from bot.demo.params import Params
from bot.demo.refusals import bad_request, forbidden
from bot.demo.world import MEMBER_RIGHTS, World, member_wire


def get_chat(world: World, params: Params) -> Any:
    chat = find_chat(world, params, write=False)
    if chat.user is not None and not chat.user.started:
        raise bad_request("chat not found")
    full: Json = chat.wire() | {
        "accent_color_id": chat.id % 7,
        "max_reaction_count": 11,
        "accepted_gift_types": dict.fromkeys(
            (
                "unlimited_gifts",
                "limited_gifts",
                "unique_gifts",
                "premium_subscription",
                "gifts_from_channels",
            ),
            False,
        ),
    }
    if chat.is_group:
        full["permissions"] = dict.fromkeys(MEMBER_RIGHTS[3:], True)
    if pinned := [message for message in chat.pinned if not message.deleted]:
        full["pinned_message"] = pinned[-1].wire()
    return full


def get_chat_member(world: World, params: Params) -> Any:
    chat = find_chat(world, params, write=False)
    user = world.users.get(params.integer("user_id"))
    if params.integer("user_id") == world.bot.id:
        user = world.bot
    if params.integer("user_id") <= 0:
        raise bad_request("invalid user_id specified")
    if user is None:
        raise bad_request("user not found")
    return member_wire(user, chat.members.get(user.id, "left"))


def get_chat_administrators(world: World, params: Params) -> Any:
    chat = find_chat(world, params, write=False)
    if not chat.is_group:
        raise bad_request("there are no administrators in the private chat")
    return [
        member_wire(world.users[user_id], status)
        for user_id, status in chat.members.items()
        if status in ("creator", "administrator") and user_id in world.users
    ]


def get_chat_member_count(world: World, params: Params) -> Any:
    chat = find_chat(world, params, write=False)
    return sum(status not in ("left", "kicked") for status in chat.members.values())


def pin_chat_message(world: World, params: Params) -> Any:
    message = find_message(world, params, "message to pin")
    if message.chat.is_group and message.chat.bot_status != "administrator":
        raise bad_request("not enough rights to manage pinned messages in the chat")
    message.chat.pinned.append(message)
    world.post(message.chat, world.bot, {"pinned_message": message.wire(replies=False)})
    return True


def unpin_chat_message(world: World, params: Params) -> Any:
    chat = find_chat(world, params)
    if chat.is_group and chat.bot_status != "administrator":
        raise bad_request("not enough rights to manage pinned messages in the chat")
    wanted = params.integer("message_id") or (chat.pinned[-1].id if chat.pinned else 0)
    if wanted not in [message.id for message in chat.pinned]:
        raise bad_request("Message to unpin not found")
    chat.pinned[:] = [message for message in chat.pinned if message.id != wanted]
    chat.changes.announce()
    return True


def leave_chat(world: World, params: Params) -> Any:
    chat = find_chat(world, params)
    if not chat.is_group:
        raise forbidden("bot can't leave private chats")
    world.set_status(chat, world.bot, "left", world.bot)
    return True


METHODS = {
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "getChatAdministrators": get_chat_administrators,
    "getChatMemberCount": get_chat_member_count,
    "pinChatMessage": pin_chat_message,
    "unpinChatMessage": unpin_chat_message,
    "leaveChat": leave_chat,
}
