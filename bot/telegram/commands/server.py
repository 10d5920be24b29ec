"""Commands for whoever runs the server: its state, and what waits for a decision."""

from typing import TYPE_CHECKING

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Message

from bot.store.base import Effect
from bot.telegram.commands.row import Asked, Pressed
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace


async def status(face: "TelegramFace", asked: Asked) -> str:
    buttons = [[say(face.language, "button_refresh"), "st:"]]
    payload = {"text": await face.status.text(), "buttons": buttons, "reply_to": asked.message.message_id}
    await face.store.enqueue([Effect(f"status:{asked.update_id}", asked.conversation, "notice", payload)])
    return ""


async def press_refresh(face: "TelegramFace", pressed: Pressed) -> str:
    message = pressed.query.message
    if not isinstance(message, Message):
        return say(face.language, "toast_unknown")
    if not face.people.may_decide(pressed.query.from_user.id):
        return say(face.language, "toast_not_admin")
    button = InlineKeyboardButton(say(face.language, "button_refresh"), callback_data="st:")
    await face.rewrite(message, await face.status.text(), InlineKeyboardMarkup([[button]]))
    return ""


async def pending(face: "TelegramFace", asked: Asked) -> str:
    """Show the open questions again: the old card may be far up, or its press may have been lost."""
    approvals = await face.store.pending_approvals()
    if not approvals:
        return say(face.language, "no_pending")
    here = asked.conversation
    cards = [
        Effect(f"card:{a.id}:{here.chat_id}:{asked.update_id}", here, "card", {"approval_id": a.id})
        for a in approvals
    ]
    await face.store.enqueue(cards)
    return say(face.language, "pending_again", count=len(approvals))
