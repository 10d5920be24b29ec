"""Commands of a conversation: begin, stop."""

from typing import TYPE_CHECKING

from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace


async def new(face: "TelegramFace", asked: Asked) -> str:
    await face.interrupt(asked.conversation)
    await face.store.reset(asked.conversation)
    return say(face.language, "new_begun")


async def stop(face: "TelegramFace", asked: Asked) -> str:
    stopped, dropped = await face.interrupt(asked.conversation)
    text = say(face.language, "stopped" if stopped else "nothing_to_stop")
    if dropped:
        listed = "\n".join(f"• {label}" for label in dropped)
        text += "\n" + say(face.language, "dropped", messages=listed)
    return text
