"""What a message says to the agent, and whether it is meant for the bot at all."""

import re
from dataclasses import dataclass

from telegram import Chat, Message, MessageEntity

from bot.messages import Conversation
from bot.telegram import cards
from bot.texts import say

MAX_QUOTE = 500

YES = frozenset(
    (
        "yes y ok okay sure yep yeah approve approved go "
        "ya iya oke setuju boleh lanjut gas "
        "sim pode claro aprovo aprovar "
        "👍 👌 ✅ ✔"
    ).split()
)
NO = frozenset(
    (
        "no n nope deny denied don't dont stop cancel "
        "tidak nggak gak enggak jangan tolak batal "
        "não nao negar negado cancela cancelar "
        "👎 ❌ ✖ ⛔ 🚫"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command; `name` without slash and bot name, lower case."""

    name: str
    argument: str


def conversation_of(message: Message) -> Conversation:
    """Return the message's conversation.

    The thread counts only in topics: a plain reply in a group carries a thread id too, and General has none
    that may be sent back.
    """
    topic = message.message_thread_id if message.is_topic_message else None
    return Conversation(message.chat_id, None if topic == 1 else topic)


def command_of(message: Message, bot_name: str) -> Command | None:
    """Return the command a message begins with; None when it has none or it is another bot's.

    Our name may stand before it, as people write it in groups: `@kai_bot /status`.
    """
    text = message.text or ""
    named = re.match(rf"@{re.escape(bot_name)}\s+(?=/)", text, re.IGNORECASE)
    start = named.end() if named else 0  # a bot's name is ASCII: as many UTF-16 units as characters
    for entity in message.entities:
        if entity.type == MessageEntity.BOT_COMMAND and entity.offset == start:
            end = start + entity.length
            name, _, at = text[start + 1 : end].partition("@")
            if at and at.lower() != bot_name.lower():
                return None
            return Command(name.lower(), text[end:].strip())
    return None


def is_for_us(message: Message, bot_id: int, bot_name: str) -> bool:
    """Whether the bot is spoken to: always alone, in groups only when mentioned, replied to or commanded."""
    if message.chat.type == Chat.PRIVATE:
        return True
    if command_of(message, bot_name):
        return True
    replied = message.reply_to_message
    if replied and replied.from_user and replied.from_user.id == bot_id and not begins_topic(message):
        return True
    text = message.text or message.caption or ""
    mentions = message.parse_entities([MessageEntity.MENTION]) | message.parse_caption_entities(
        [MessageEntity.MENTION]
    )
    if any(mention.lower() == f"@{bot_name.lower()}" for mention in mentions.values()):
        return True
    entities = (*message.entities, *message.caption_entities)
    return bool(text) and any(
        e.type == MessageEntity.TEXT_MENTION and e.user and e.user.id == bot_id for e in entities
    )


def is_for_another_bot(message: Message, bot_name: str) -> bool:
    """Whether it begins with a command that names another bot."""
    commanded = any(e.type == MessageEntity.BOT_COMMAND and e.offset == 0 for e in message.entities)
    return commanded and command_of(message, bot_name) is None


def text_of(message: Message, bot_name: str, language: str) -> str:
    """Return what the model should read: the text without our name, with what it replies to; may be empty."""
    text = said_in(message)
    text = re.sub(rf"^\s*@{re.escape(bot_name)}\b[\s,:]*", "", text, flags=re.IGNORECASE).strip()
    quoted, name = quote_of(message)
    if text and quoted:
        return say(language, "in_reply_to", name=name, quote=quoted[:MAX_QUOTE], text=text)
    return text


def said_in(message: Message) -> str:
    """Return the text or caption; of a sticker, what it stands for."""
    return message.text or message.caption or (message.sticker.emoji if message.sticker else "") or ""


def quote_of(message: Message) -> tuple[str, str]:
    """Return the text that a message replies to, or the part it quotes, and who wrote it; empty if none."""
    quoted = message.quote.text if message.quote else ""
    name = ""
    if replied := message.reply_to_message:
        quoted = quoted or replied.text or replied.caption or ""
        name = replied.from_user.full_name if replied.from_user else ""
    elif external := message.external_reply:
        origin = external.origin
        user = getattr(origin, "sender_user", None)
        place = getattr(origin, "sender_chat", None) or getattr(origin, "chat", None)
        name = user.full_name if user else getattr(origin, "sender_user_name", "")
        name = name or (place.effective_name if place else "") or ""
    return quoted, name


def begins_topic(message: Message) -> bool:
    """Whether it only "replies" to its topic's beginning, as every message of a topic does."""
    replied = message.reply_to_message
    return bool(message.is_topic_message and replied and replied.forum_topic_created)


def asked_in(message: Message, bot_id: int) -> str | None:
    """Return the id of the question whose card a message of ours is, by its buttons; None without."""
    if message.reply_markup is None or message.from_user is None or message.from_user.id != bot_id:
        return None
    for button in (button for row in message.reply_markup.inline_keyboard for button in row):
        data = button.callback_data
        if isinstance(data, str) and (press := cards.read_press(data)):
            return press.approval_id
    return None


def code_of(message: Message, bot_name: str) -> str | None:
    """Return the four digits that are all a message says, apart from our name; None otherwise."""
    found = re.fullmatch(rf"(?:@{re.escape(bot_name)}\b)?\s*([0-9]{{4}})", (message.text or "").strip(), re.I)
    return found[1] if found else None


def written_command(message: Message) -> str:
    """Return the command a message is: all of it in code formatting or after `$ `; empty when it is none."""
    text = (message.text or "").strip()
    if text.startswith("$ "):
        return text[2:].strip()
    if found := re.fullmatch(r"```(?:(?:ba|z)?sh\n)?([^`]+)```|`([^`]+)`", text):
        return (found[1] or found[2]).strip()
    kinds: list[str | None] = [MessageEntity.CODE, MessageEntity.PRE]
    formatted = [part.strip() for part in message.parse_entities(kinds).values()]
    return text if text and formatted == [text] else ""


def bare_word(text: str) -> str | None:
    """Return `yes` or `no` when that is all a message says, in any language the bot speaks."""
    word = text.strip(" \n\t.!,?").lower().replace("\u2019", "'")
    word = re.sub("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]", "", word)  # how an emoji is drawn, and its skin
    return "yes" if word in YES else "no" if word in NO else None
