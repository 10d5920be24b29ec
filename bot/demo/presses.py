"""A pressed button and its answer."""

from dataclasses import dataclass

from bot.demo.chats import Toast
from bot.demo.messages import Json, Message, User


@dataclass(slots=True, eq=False)
class Press:
    """A pressed button, waiting for answerCallbackQuery."""

    id: str
    user: User
    message: Message
    data: str
    time: float
    answer: Json | None = None
    answered_at: float | None = None

    async def answered(self, within: float = 5.0) -> Toast:
        """Wait for the answer and return what the person sees of it.

        Raises:
            AssertionError: None came within so many real seconds.
        """
        answer = await self.message.chat.changes.until(lambda: self.answer, within)
        if answer is None or self.answered_at is None:
            raise AssertionError(f"press of {self.data!r} not answered within {within} s")
        return Toast(self.user.id, answer["text"], answer["show_alert"], self.answered_at)
