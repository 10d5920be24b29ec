"""Whom an answer answers."""

from telegram import ReplyParameters

from bot.messages import Conversation


def reply(where: Conversation, message_id: object) -> ReplyParameters | None:
    """In groups an answer says whose message it answers; alone with the bot that is plain."""
    if where.chat_id >= 0 or not isinstance(message_id, int):
        return None
    return ReplyParameters(message_id, allow_sending_without_reply=True)
