"""Writing to a chat, as a tool."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from bot.errors import ToolError
from bot.messages import Conversation, Risk
from bot.tools.base import Tool, ToolContext, tool

DeliverText = Callable[[Conversation, str], Awaitable[None]]
"""Commits the text to the outbox, which splits and sends it; has done so when it returns."""


def send_telegram(deliver_text: DeliverText, may_write_to: Callable[[int], bool]) -> Tool:
    @tool(risk_floor=Risk.LOW)
    async def send_telegram(
        context: ToolContext,
        chat_id: Annotated[int, "The chat; only those on the bot's list, and the one you are in."],
        text: Annotated[str, "The message, in Markdown; any length.", Field(min_length=1)],
    ) -> str:
        """Send a message to a Telegram chat. Your answer in this chat needs no tool."""
        here = context.conversation
        if chat_id != here.chat_id and not may_write_to(chat_id):
            raise ToolError("Denied", f"chat {chat_id} is not on the list of chats to write to")
        if not text.strip():
            raise ToolError("InvalidArgs", "send_telegram: $.text: is empty")
        await deliver_text(here if chat_id == here.chat_id else Conversation(chat_id), text)
        return f"handed over for sending to chat {chat_id}"

    return send_telegram
