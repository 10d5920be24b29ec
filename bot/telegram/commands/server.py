"""Commands for whoever runs the server: its state, and what waits for a decision."""

from typing import TYPE_CHECKING

from bot.store.base import Effect
from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace


async def status(face: "TelegramFace", asked: Asked) -> str:
    return await face.status.text()


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
