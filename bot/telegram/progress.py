"""What a person sees while a turn runs: typing, and after two seconds of a tool one message with the steps.

The message is folded into a quote when the turn is over, or taken away when there was little to tell.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity
from telegram.constants import ChatAction
from telegram.error import BadRequest, Forbidden, RetryAfter, TelegramError

from bot.agent.outcomes import Event, ToolFinished, ToolOutput, ToolStarted
from bot.agent.turn import subject_of
from bot.messages import AssistantMessage, Conversation, ToolCall, ToolResult, Transcript, current_turn
from bot.store.base import Previews
from bot.telegram.fate import fate
from bot.telegram.render import Rendered, utf16_len, visible
from bot.telegram.send_gate import Dropped, Priority, SendGate
from bot.texts import say

log = logging.getLogger(__name__)

TYPING_AFTER = 1.0
TYPING_EVERY = 4.5
"""Telegram shows an action for 5 seconds. https://core.telegram.org/bots/api#sendchataction"""
LINE_AFTER = 2.0
LINE_EVERY_PRIVATE = 3.0
LINE_EVERY_GROUP = 10.0
MAX_LINE = 200
MAX_STEPS = 12
QUICK = 10.0
"""A single step of fewer seconds is not worth a message once the answer is there."""


@dataclass(slots=True)
class Step:
    """A tool call as a line.

    Attributes:
        since: Of the loop's clock; when it began.
        result: None while it runs.
    """

    subject: str
    since: float
    result: ToolResult | None = None

    def line(self, now: float) -> str:
        subject = visible(self.subject)[:MAX_LINE]
        if self.result is None:
            return f"⏳ {subject} · {now - self.since:.0f} s"
        parts = [f"{'✗' if self.result.is_error else '✓'} {subject}"]
        if self.result.duration is not None:
            parts.append(f"{self.result.duration:.1f} s")
        if self.result.exit_code is not None:
            parts.append(f"exit {self.result.exit_code}")
        elif self.result.code:
            parts.append(self.result.code)
        return " · ".join(parts)


class Progress:
    """Watches one turn and shows it; an async context manager around the turn.

    Everything may be dropped. The message is known to the store, so that the next process can go on with it.

    Args:
        asked_in: Says which message began the turn; it is what the Stop button names.
        past: Says what the turn did before this process, or before a question was answered.
        quiet: Says whether something better than typing is to be seen.

    Attributes:
        paused: The turn will go on: the message is kept for it.
    """

    def __init__(
        self,
        bot: Bot,
        gate: SendGate,
        conversation: Conversation,
        store: Previews,
        *,
        language: str,
        asked_in: Callable[[], Awaitable[int | None]],
        past: Callable[[], Awaitable[Transcript]] | None = None,
        quiet: Callable[[], bool] = lambda: False,
        line_after: float = LINE_AFTER,
    ) -> None:
        self._bot = bot
        self._gate = gate
        self._where = conversation
        self._store = store
        self._language = language
        self._asked_in = asked_in
        self._past = past
        self._quiet = quiet
        self._line_after = line_after
        self._steps: dict[str, Step] = {}
        self._last_line = ""
        self._message_id: int | None = None
        self._preview: int | None = None
        self._buttons: InlineKeyboardMarkup | None = None
        self._shown = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self.paused = False

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
            self._finish(self._message_id)

    def watch(self, event: Event) -> None:
        match event:
            case ToolStarted(call, subject):
                self._steps[call.id] = Step(subject, asyncio.get_running_loop().time())
            case ToolOutput(_, line):
                self._last_line = line
            case ToolFinished(call, result):
                if step := self._steps.get(call.id):
                    step.result = result
                self._last_line = ""
            case _:
                pass

    def _begin(self) -> None:
        self._tasks = [asyncio.create_task(self._type()), asyncio.create_task(self._show())]

    async def _type(self) -> None:
        while True:
            if not self._quiet():
                await self._try(
                    lambda: self._bot.send_chat_action(
                        self._where.chat_id, ChatAction.TYPING, message_thread_id=self._where.thread_id
                    ),
                    Priority.TYPING,
                )
            await asyncio.sleep(TYPING_EVERY)

    async def _show(self) -> None:
        every = LINE_EVERY_PRIVATE if self._where.chat_id > 0 else LINE_EVERY_GROUP
        if self._past:
            await self._recall(self._past)
        while True:
            await asyncio.sleep(0.2)
            text = self._text()
            if not text or text == self._shown:
                continue
            if self._message_id is None:
                await self._try(lambda text=text: self._put(text), Priority.PROGRESS)  # type: ignore[misc]
            else:
                await self._try(
                    lambda text=text: self._bot.edit_message_text(  # type: ignore[misc]
                        text,
                        chat_id=self._where.chat_id,
                        message_id=self._message_id,
                        reply_markup=self._buttons,
                    ),
                    Priority.PROGRESS,
                )
            self._shown = text
            await asyncio.sleep(every)

    async def _recall(self, past: Callable[[], Awaitable[Transcript]]) -> None:
        self._steps = steps_of(await past()) | self._steps
        for preview in await self._store.open_previews("progress", self._where):
            self._preview, self._message_id = preview.id, preview.message_id
            self._buttons = await self._stop_button()

    async def _put(self, text: str) -> None:
        where = self._where
        self._buttons = await self._stop_button()
        preview = await self._store.begin_preview(where, "progress")
        try:
            sent = await self._bot.send_message(
                where.chat_id,
                text,
                message_thread_id=where.thread_id,
                disable_notification=True,
                reply_markup=self._buttons,
            )
        except TelegramError as exc:
            if isinstance(exc, BadRequest | Forbidden | RetryAfter) or fate(exc) == "not sent":
                await self._store.end_preview(preview.id)
            raise
        await self._store.preview_sent(preview.id, sent.message_id)
        self._preview, self._message_id = preview.id, sent.message_id
        if self._over:  # the turn ended while this was on its way
            self._finish(sent.message_id)

    async def _stop_button(self) -> InlineKeyboardMarkup:
        label = say(self._language, "button_stop")
        return InlineKeyboardMarkup(
            [[InlineKeyboardButton(label, callback_data=f"s:{await self._asked_in() or 0}")]]
        )

    def _text(self) -> str:
        """Return the steps so far; empty until one of them has taken a while, or they became several."""
        now = asyncio.get_running_loop().time()
        running = [step for step in self._steps.values() if step.result is None]
        if self._message_id is None and not any(now - step.since >= self._line_after for step in running):
            return ""
        lines = [step.line(now) for step in self._steps.values()]
        if len(lines) > MAX_STEPS:
            lines = [f"… {len(lines) - MAX_STEPS}", *lines[-MAX_STEPS:]]
        if running and self._last_line:
            lines.append(visible(self._last_line)[:MAX_LINE])
        return "\n".join(lines)

    async def _try(self, send: Callable[[], Awaitable[object]], priority: Priority) -> None:
        counts = priority is not Priority.TYPING
        try:
            await self._gate.run(self._where.chat_id, priority, send, droppable=True, counts=counts)
        except (Dropped, TelegramError) as exc:
            log.debug("progress was not shown: %r", exc)

    def _finish(self, message_id: int) -> None:
        steps, preview = list(self._steps.values()), self._preview
        quick = len(steps) < 2 and all(taken(step) < QUICK for step in steps)
        folded = fold(steps, self._language)

        async def finish() -> None:
            try:
                if quick:
                    await self._bot.delete_message(self._where.chat_id, message_id)
                else:
                    await self._bot.edit_message_text(
                        folded.text,
                        chat_id=self._where.chat_id,
                        message_id=message_id,
                        entities=folded.entities,
                    )
            except BadRequest as exc:
                log.debug("progress was not folded: %s", exc)
            if preview is not None and (quick or not self.paused):
                await self._store.end_preview(preview)

        # Not awaited: a chat that is held back, or a dead network, must not hold the turn's lane or /stop.
        self._gate.leave(self._where.chat_id, Priority.PROGRESS, finish, counts=False)


def taken(step: Step) -> float:
    """Return the seconds a step took; until now when it was cut short."""
    if step.result is not None and step.result.duration is not None:
        return step.result.duration
    return time.monotonic() - step.since


def fold(steps: Sequence[Step], language: str) -> Rendered:
    """Return the steps of a turn that is over: a heading, and the rest in a quote that opens."""
    now = time.monotonic()
    lines = [step.line(now) for step in steps if step.result is not None]
    lines += [f"✗ {visible(step.subject)[:MAX_LINE]}" for step in steps if step.result is None]
    seconds = f"{sum(map(taken, steps)):.0f}"
    heading = say(language, "steps_taken", count=len(steps), seconds=seconds)
    listed = "\n".join(lines[-MAX_STEPS:])
    if not listed:
        return Rendered(heading)
    quote = MessageEntity(
        MessageEntity.EXPANDABLE_BLOCKQUOTE, offset=utf16_len(heading) + 1, length=utf16_len(listed)
    )
    return Rendered(f"{heading}\n{listed}", (quote,))


def steps_of(transcript: Transcript) -> dict[str, Step]:
    """Return the calls of the present turn that ran, by id, in order."""
    calls, steps = dict[str, ToolCall](), dict[str, Step]()
    for message in current_turn(transcript):
        match message:
            case AssistantMessage(tool_calls=asked):
                calls |= {call.id: call for call in asked}
            case ToolResult(call_id=call_id, duration=float(), ran=ran) if call_id in calls:
                steps[call_id] = Step(ran or subject_of(calls[call_id]), time.monotonic(), message)
    return steps


def read_press(data: str | None) -> int | None:
    """Return the message whose turn a Stop button ends, 0 when none began it; None for another button."""
    kind, _, message_id = (data or "").partition(":")
    return int(message_id) if kind == "s" and message_id.isascii() and message_id.isdigit() else None
