"""Commands of a conversation: begin, stop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.messages import UserMessage
from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace


async def new(face: "TelegramFace", asked: Asked) -> str:
    if not await face.may_end(asked.conversation, asked.user_id):
        return say(face.language, "not_yours_to_end")
    _, dropped = await face.interrupt(asked.conversation)
    await face.store.reset(asked.conversation)
    return say(face.language, "new_begun") + listed(face, dropped)


async def retry(face: "TelegramFace", asked: Asked) -> str | None:
    """Ask the last question once more, whatever became of it; what waits comes after it."""
    questions = [m for m in await face.store.load(asked.conversation) if isinstance(m, UserMessage)]
    if not questions:
        return say(face.language, "nothing_to_retry")
    last = questions[-1]
    if last.sender_id != asked.user_id and not face.people.may_decide(asked.user_id):
        return say(face.language, "retry_not_yours")
    if not await face.may_end(asked.conversation, asked.user_id):
        return say(face.language, "not_yours_to_end")
    again = replace(last, message_id=asked.message.message_id)
    await face.cut(asked.conversation)
    face.hear_again(asked.conversation, again, asked.update_id)
    return None


async def stop(face: "TelegramFace", asked: Asked) -> str:
    if not await face.may_end(asked.conversation, asked.user_id):
        return say(face.language, "not_yours_to_end")
    stopped, dropped = await face.interrupt(asked.conversation)
    return say(face.language, "stopped" if stopped else "nothing_to_stop") + listed(face, dropped)


def listed(face: "TelegramFace", dropped: Sequence[str]) -> str:
    """Return what was dropped while it waited, as lines that follow; empty for nothing."""
    if not dropped:
        return ""
    return "\n" + say(face.language, "dropped", messages="\n".join(f"• {label}" for label in dropped))
