"""Changing what was sent."""

from typing import Any

from bot.demo.entities import read_text
from bot.demo.keyboards import read_inline_markup
from bot.demo.messages import Json, Message
from bot.demo.methods.common import find_message
from bot.demo.methods.messages import read_caption
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import World

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)


def edit_message_text(world: World, params: Params) -> Any:
    if not params.text("text"):
        raise bad_request("Message text is empty")
    text, entities = read_text(params, "text", strict=world.settings.strict, find_user=world.user_wire)
    markup = read_inline_markup(params)
    message = find_own(world, params)
    if "text" not in message.content:
        raise bad_request("there is no text in the message to edit")
    content: Json = {k: v for k, v in message.content.items() if k not in ("text", "entities")}
    content["text"] = text
    if entities:
        content["entities"] = entities
    if options := params.json("link_preview_options", "link preview options"):
        content["link_preview_options"] = options
    return change(world, message, content, markup).wire()


def edit_message_caption(world: World, params: Params) -> Any:
    caption = read_caption(world, params)
    markup = read_inline_markup(params)
    message = find_own(world, params)
    if message.media is None:
        raise bad_request("there is no caption in the message to edit")
    content: Json = {k: v for k, v in message.content.items() if k not in ("caption", "caption_entities")}
    return change(world, message, content | caption, markup).wire()


def edit_message_reply_markup(world: World, params: Params) -> Any:
    markup = read_inline_markup(params)
    message = find_own(world, params)
    return change(world, message, message.content, markup).wire()


def find_own(world: World, params: Params) -> Message:
    """Return the bot's own message that a call names.

    Raises:
        Refusal: Not there, or somebody else's.
    """
    message = find_message(world, params, "message to edit")
    if message.sender is not world.bot or "forward_origin" in message.content:
        raise bad_request("message can't be edited")
    return message


def change(world: World, message: Message, content: Json, markup: Json | None) -> Message:
    """Put new content and keyboard on a message; no keyboard given means none from now on.

    Raises:
        Refusal: Nothing would change.
    """
    if content == message.content and markup == message.markup:
        raise bad_request(NOT_MODIFIED)
    message.content, message.markup = content, markup
    message.edited = world.clock()
    message.chat.changed(message)
    return message


METHODS = {
    "editMessageText": edit_message_text,
    "editMessageCaption": edit_message_caption,
    "editMessageReplyMarkup": edit_message_reply_markup,
}
