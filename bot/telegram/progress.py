"""What a person sees while a turn runs: typing, and after two seconds of a tool one line with its time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from telegram import Bot
from telegram.constants import ChatAction
from telegram.error import TelegramError

from bot.agent.outcomes import Event, ToolFinished, ToolOutput, ToolStarted
from bot.messages import Conversation
from bot.telegram.render import visible
from bot.telegram.send_gate import Dropped, Priority, SendGate

log = logging.getLogger(__name__)

TYPING_AFTER = 0.7
TYPING_EVERY = 4.5
"""Telegram shows an action for 5 seconds. https://core.telegram.org/bots/api#sendchataction"""
LINE_AFTER = 2.0
LINE_EVERY_PRIVATE = 3.0
LINE_EVERY_GROUP = 10.0
MAX_LINE = 200


class Progress:
    """Watches one turn and shows it; an async context manager around the turn.

    Nothing here is kept and everything may be dropped; the line is taken away when the turn ends.
    """

    def __init__(
        self, bot: Bot, gate: SendGate, conversation: Conversation, *, line_after: float = LINE_AFTER
    ) -> None:
        self._bot = bot
        self._gate = gate
        self._where = conversation
        self._line_after = line_after
        self._running: dict[str, tuple[str, float]] = {}
        self._last_line = ""
        self._message_id: int | None = None
        self._shown = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._over = False

    async def __aenter__(self) -> "Progress":
        # Most turns are over before anybody would miss a sign of life: begin late, and cheaply.
        self._timer = asyncio.get_running_loop().call_later(TYPING_AFTER, self._begin)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._over = True
        if self._timer:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._message_id is not None:
            self._take_away(self._message_id)

    def watch(self, event: Event) -> None:
        match event:
            case ToolStarted(call, subject):
                self._running[call.id] = subject, asyncio.get_running_loop().time()
            case ToolOutput(_, line):
                self._last_line = line
            case ToolFinished(call):
                self._running.pop(call.id, None)
                self._last_line = ""
            case _:
                pass

    def _begin(self) -> None:
        self._tasks = [asyncio.create_task(self._type()), asyncio.create_task(self._show())]

    async def _type(self) -> None:
        while True:
            await self._try(
                lambda: self._bot.send_chat_action(
                    self._where.chat_id, ChatAction.TYPING, message_thread_id=self._where.thread_id
                ),
                Priority.TYPING,
            )
            await asyncio.sleep(TYPING_EVERY)

    async def _show(self) -> None:
        every = LINE_EVERY_PRIVATE if self._where.chat_id > 0 else LINE_EVERY_GROUP
        while True:
            await asyncio.sleep(0.2)
            line = self._line()
            if not line or line == self._shown:
                continue
            if self._message_id is None:
                await self._try(lambda line=line: self._put(line), Priority.PROGRESS)  # type: ignore[misc]
            else:
                await self._try(
                    lambda line=line: self._bot.edit_message_text(  # type: ignore[misc]
                        line, chat_id=self._where.chat_id, message_id=self._message_id
                    ),
                    Priority.PROGRESS,
                )
            self._shown = line
            await asyncio.sleep(every)

    async def _put(self, line: str) -> None:
        where = self._where
        sent = await self._bot.send_message(
            where.chat_id, line, message_thread_id=where.thread_id, disable_notification=True
        )
        self._message_id = sent.message_id
        if self._over:  # the turn ended while this was on its way
            self._take_away(sent.message_id)

    def _line(self) -> str:
        now = asyncio.get_running_loop().time()
        lines = [
            f"⏳ {visible(subject)[:MAX_LINE]} · {now - since:.0f} s"
            for subject, since in self._running.values()
            if now - since >= self._line_after
        ]
        if lines and self._last_line:
            lines.append(visible(self._last_line)[:MAX_LINE])
        return "\n".join(lines)

    async def _try(self, send: Callable[[], Awaitable[object]], priority: Priority) -> None:
        counts = priority is not Priority.TYPING
        try:
            await self._gate.run(self._where.chat_id, priority, send, droppable=True, counts=counts)
        except (Dropped, TelegramError) as exc:
            log.debug("progress was not shown: %r", exc)

    def _take_away(self, message_id: int) -> None:
        async def delete() -> object:
            return await self._bot.delete_message(self._where.chat_id, message_id)

        # Not awaited: a chat that is held back, or a dead network, must not hold the turn's lane or /stop.
        self._gate.leave(self._where.chat_id, Priority.PROGRESS, delete, counts=False)
