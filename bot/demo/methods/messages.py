"""Sending text, copying, forwarding, deleting, typing."""

from typing import Any

from bot.demo.chats import ACTION_LIFE, Action
from bot.demo.entities import CAPTION_LIMIT, detect, read_text
from bot.demo.keyboards import read_markup
from bot.demo.messages import Json, Message
from bot.demo.methods.common import can_delete_others, find_chat, find_message, find_reply, find_thread
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import SERVICE, World

DELETE_WITHIN = 48 * 3600.0
ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)


def send_message(world: World, params: Params) -> Any:
    if not params.text("text"):
        raise bad_request("Message text is empty")
    text, entities = read_text(params, "text", strict=world.settings.strict, find_user=world.user_wire)
    content: Json = {"text": text}
    if entities:
        content["entities"] = entities
    if options := params.json("link_preview_options", "link preview options"):
        content["link_preview_options"] = options
    return post_from_bot(world, params, content).wire()


def post_from_bot(world: World, params: Params, content: Json) -> Message:
    """Check chat, topic, reply and keyboard, then put the bot's message into the chat.

    Raises:
        Refusal: Any of them is wrong; nothing was sent.
    """
    markup = read_markup(params)
    chat = find_chat(world, params)
    thread = find_thread(world, chat, params)
    reply, extra = find_reply(world, chat, params)
    if thread is None and reply is not None and reply.is_topic:
        thread = reply.thread
    return world.post(chat, world.bot, content | extra, markup=markup, reply_to=reply, thread=thread)


def send_chat_action(world: World, params: Params) -> Any:
    name = params.text("action")
    chat = find_chat(world, params)
    thread = find_thread(world, chat, params)
    if name not in ACTIONS:
        raise bad_request("Wrong parameter action in request")
    chat.actions[thread] = Action(name, world.clock() + ACTION_LIFE)
    chat.changes.announce()
    return True


def delete_message(world: World, params: Params) -> Any:
    message = find_message(world, params, "message to delete")
    remove(world, message)
    return True


def delete_messages(world: World, params: Params) -> Any:
    chat = find_chat(world, params)
    numbers = params.json("message_ids", "message_ids")
    if not isinstance(numbers, list) or not numbers:
        raise bad_request("Message identifiers are not specified")
    if len(numbers) > 100:
        raise bad_request("Too many message identifiers specified")
    for message in filter(None, map(chat.find, numbers)):
        remove(world, message)
    return True


def remove(world: World, message: Message) -> None:
    """Delete a message for everybody.

    Raises:
        Refusal: Older than 48 hours, or somebody else's in a group where the bot is no admin.
    """
    own = message.sender is world.bot
    if not own and not can_delete_others(world, message.chat):
        raise bad_request("message can't be deleted")
    if world.clock() - message.date > DELETE_WITHIN and not (
        message.chat.is_group and can_delete_others(world, message.chat)
    ):
        raise bad_request("message can't be deleted for everyone")
    message.deleted = True
    message.chat.changed(message)


def forward_message(world: World, params: Params) -> Any:
    source = find_source(world, params, "message to forward")
    origin = source.content.get("forward_origin") or {
        "type": "user",
        "sender_user": source.sender.wire(),
        "date": int(source.date),
    }
    return post_from_bot(world, params, copied(source) | {"forward_origin": origin}).wire()


def copy_message(world: World, params: Params) -> Any:
    content = copied(find_source(world, params, "message to copy"))
    if "caption" in params.values and "text" not in content:
        content.pop("caption", None)
        content.pop("caption_entities", None)
        content |= read_caption(world, params)
    return {"message_id": post_from_bot(world, params, content).id}


def find_source(world: World, params: Params, what: str) -> Message:
    """Return the message in `from_chat_id`.

    Raises:
        Refusal: Not there, or a service message.
    """
    chat = find_chat(world, params, write=False, name="from_chat_id")
    message = chat.find(params.integer("message_id"))
    if message is None:
        raise bad_request(f"{what} not found")
    if any(kind in SERVICE for kind in message.content):
        raise bad_request("message can't be forwarded" if "forward" in what else "message can't be copied")
    return message


def copied(message: Message) -> Json:
    """Return a message's content without what belongs to its place only."""
    return {
        key: value
        for key, value in message.content.items()
        if key not in ("quote", "external_reply", "media_group_id", "forward_origin")
    }


def read_caption(world: World, params: Params) -> Json:
    """Read `caption` into content fields; none when there is no caption.

    Raises:
        Refusal: Too long, or badly formatted.
    """
    caption, entities = read_text(
        params, "caption", strict=world.settings.strict, find_user=world.user_wire, limit=CAPTION_LIMIT
    )
    content: Json = {}
    if caption:
        content["caption"] = caption
    if entities:
        content["caption_entities"] = entities
    return content


def said(text: str) -> Json:
    """Return the content of plain text as a person types it, with what the server detects in it."""
    entities = detect(text, [])
    return {"text": text} | ({"entities": entities} if entities else {})


METHODS = {
    "sendMessage": send_message,
    "sendChatAction": send_chat_action,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "forwardMessage": forward_message,
    "copyMessage": copy_message,
}
