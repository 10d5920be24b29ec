"""Forum topics."""

from typing import Any

from bot.demo.chats import Chat, Topic
from bot.demo.methods.common import find_chat
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import World

NAME_LIMIT = 128


def create_forum_topic(world: World, params: Params) -> Any:
    chat = find_forum(world, params)
    name = params.text("name").strip()
    if not 1 <= len(name) <= NAME_LIMIT:
        raise bad_request("TOPIC_TITLE_EMPTY" if not name else "TOPIC_TITLE_TOO_LONG")
    topic = world.add_topic(chat, name, world.bot)
    return {"message_thread_id": topic.id, "name": name, "icon_color": 7322096}


def edit_forum_topic(world: World, params: Params) -> Any:
    chat = find_forum(world, params)
    topic = find_topic(chat, params)
    name = params.text("name").strip()
    if not name or name == topic.name:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.name = name
    world.post(chat, world.bot, {"forum_topic_edited": {"name": name}}, thread=topic.id)
    return True


def close_forum_topic(world: World, params: Params) -> Any:
    chat = find_forum(world, params)
    topic = find_topic(chat, params)
    if topic.closed:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.closed = True
    world.post(chat, world.bot, {"forum_topic_closed": {}}, thread=topic.id)
    return True


def reopen_forum_topic(world: World, params: Params) -> Any:
    chat = find_forum(world, params)
    topic = find_topic(chat, params)
    if not topic.closed:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.closed = False
    world.post(chat, world.bot, {"forum_topic_reopened": {}}, thread=topic.id)
    return True


def delete_forum_topic(world: World, params: Params) -> Any:
    chat = find_forum(world, params)
    topic = find_topic(chat, params)
    topic.deleted = True
    for message in list(chat.live()):
        if message.thread == topic.id:
            message.deleted = True
            chat.changed(message)
    return True


def find_forum(world: World, params: Params) -> Chat:
    """Return the chat, if it has topics and the bot may manage them.

    Raises:
        Refusal: No forum, or no rights.
    """
    chat = find_chat(world, params)
    if chat.forum:
        if chat.members.get(world.bot.id) != "administrator":
            raise bad_request("not enough rights to create a topic")
        return chat
    if not chat.is_group and world.settings.topics:
        return chat
    raise bad_request("the chat is not a forum")


def find_topic(chat: Chat, params: Params) -> Topic:
    """Return the topic a call names.

    Raises:
        Refusal: There is none.
    """
    topic = chat.topics.get(params.integer("message_thread_id"))
    if topic is None or topic.deleted:
        raise bad_request("TOPIC_ID_INVALID")
    return topic


METHODS = {
    "createForumTopic": create_forum_topic,
    "editForumTopic": edit_forum_topic,
    "closeForumTopic": close_forum_topic,
    "reopenForumTopic": reopen_forum_topic,
    "deleteForumTopic": delete_forum_topic,
}
