"""What several methods check first: the chat, the topic, the message replied to."""

from bot.demo.chats import Chat
from bot.demo.entities import utf16_length
from bot.demo.messages import Json, Message
from bot.demo.params import Params
from bot.demo.refusals import Refusal, bad_request, forbidden
from bot.demo.world import World

GENERAL_TOPIC = 1


def find_chat(world: World, params: Params, *, write: bool = True, name: str = "chat_id") -> Chat:
    """Return the chat a call names.

    Raises:
        Refusal: Unknown, migrated, blocked, deactivated, or the bot is no member.
    """
    raw = params.text(name).strip()
    if not raw:
        raise bad_request(f"{name} is empty")
    chat: Chat | None = None
    if raw.startswith("@"):
        wanted = raw[1:].lower()
        chat = next((c for c in world.chats.values() if c.is_group and c.username.lower() == wanted), None)
    elif raw.lstrip("-").isdecimal():
        chat = world.chats.get(int(raw))
    if chat is None:
        raise bad_request("chat not found")
    check_access(world, chat, write=write)
    return chat


def check_access(world: World, chat: Chat, *, write: bool) -> None:
    """Refuse a chat where the bot may not act.

    Raises:
        Refusal: 400 with `migrate_to_chat_id`, or 403.
    """
    if chat.user is not None:
        if not write:
            return
        if chat.user.is_bot:
            raise forbidden("bot can't send messages to bots")
        if chat.user.deactivated:
            raise forbidden("user is deactivated")
        if chat.user.blocked:
            raise forbidden("bot was blocked by the user")
        if not chat.user.started:
            raise forbidden("bot can't initiate conversation with a user")
        return
    if chat.migrated_to is not None and write:
        raise Refusal(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            {"migrate_to_chat_id": chat.migrated_to.id},
        )
    match chat.members.get(world.bot.id, "left"):
        case "kicked":
            raise forbidden(f"bot was kicked from the {chat.type} chat")
        case "left":
            raise forbidden(f"bot is not a member of the {chat.type} chat")


def find_thread(world: World, chat: Chat, params: Params) -> int | None:
    """Return the topic a call names, None for General and for no topic.

    Raises:
        Refusal: No such topic; General must be named by leaving `message_thread_id` out.
    """
    thread = params.integer("message_thread_id")
    if thread == 0:
        return None
    can_have_topics = chat.forum or not chat.is_group
    if not can_have_topics:
        return thread if chat.type == "supergroup" else None
    topic = chat.topics.get(thread)
    if topic is None or topic.deleted or thread == GENERAL_TOPIC:
        raise bad_request("message thread not found")
    if topic.closed and chat.members.get(world.bot.id) != "administrator":
        raise bad_request("TOPIC_CLOSED")
    return thread


def find_message(world: World, params: Params, what: str, *, write: bool = True) -> Message:
    """Return the message a call names.

    Args:
        what: As in "{what} not found", such as `message to edit`.

    Raises:
        Refusal: No such chat or message.
    """
    chat = find_chat(world, params, write=write)
    if "message_id" not in params:
        raise bad_request("Message identifier is not specified")
    message = chat.find(params.integer("message_id"))
    if message is None:
        raise bad_request(f"{what} not found")
    return message


def find_reply(world: World, chat: Chat, params: Params) -> tuple[Message | None, Json]:
    """Return the message replied to, and what the answer says of it: a quote, or a reply from elsewhere.

    Raises:
        Refusal: No such message, unless `allow_sending_without_reply`.
    """
    wanted = params.json("reply_parameters", "reply parameters")
    if wanted is None:
        wanted = {
            "message_id": params.integer("reply_to_message_id"),
            "allow_sending_without_reply": params.flag("allow_sending_without_reply"),
        }
    if not isinstance(wanted, dict):
        raise bad_request("Object expected as reply parameters")
    number = wanted.get("message_id") or 0
    if not number:
        return None, {}
    source = chat
    if wanted.get("chat_id") not in (None, "", chat.id, str(chat.id)):
        source = find_chat(world, Params({"chat_id": wanted["chat_id"]}), write=False)
    message = source.find(int(number))
    if message is None:
        if wanted.get("allow_sending_without_reply"):
            return None, {}
        raise bad_request("message to be replied not found")
    extra: Json = {}
    if quote := str(wanted.get("quote") or ""):
        extra["quote"] = quote_of(message, quote)
    if source is not chat:
        return None, extra | {"external_reply": external_reply(message)}
    return message, extra


def quote_of(message: Message, quote: str) -> Json:
    """Return a TextQuote.

    Raises:
        Refusal: The message does not hold the quoted text exactly.
    """
    position = message.text.find(quote)
    if position < 0 or utf16_length(quote) > 1024:
        raise bad_request("QUOTE_TEXT_INVALID")
    return {"text": quote, "position": utf16_length(message.text[:position]), "is_manual": True}


def external_reply(message: Message) -> Json:
    """Return an ExternalReplyInfo. https://core.telegram.org/bots/api#externalreplyinfo"""
    origin: Json = {"type": "user", "sender_user": message.sender.wire(), "date": int(message.date)}
    kept = {kind: value for kind, value in message.content.items() if kind in ("document", "photo", "voice")}
    return {"origin": origin, "chat": message.chat.wire(), "message_id": message.id} | kept


def can_delete_others(world: World, chat: Chat) -> bool:
    """Return whether the bot may delete other people's messages here."""
    return not chat.is_group or chat.members.get(world.bot.id) == "administrator"
