"""The answer while it is being written: a draft where Telegram shows drafts, else a message that is edited.

A draft is a preview of 30 seconds that any real message dismisses; it leaves nothing behind. A message stays:
it is in the store before it is sent, so that the answer finishes it by an edit, also after a kill.

Nothing here is an answer: everything may be dropped. Sources: https://core.telegram.org/bots/api#sendmessagedraft
and, for `can_stop` and `stopped_message_generation`, https://core.telegram.org/bots/api-changelog (10.3)
"""

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from telegram import Bot, LinkPreviewOptions
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from bot.agent.outcomes import Event, Thinking, ToolStarted, Typing
from bot.messages import Conversation
from bot.store.base import Previews
from bot.telegram.fate import fate
from bot.telegram.render import Rendered, render
from bot.telegram.reply import reply
from bot.telegram.send_gate import Dropped, Priority, SendGate

log = logging.getLogger(__name__)

ROOM = 3900
"""UTF-16 units, as in the answer, so that what is shown is the answer's first message in the end."""

ReplyTo = Callable[[], Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds.

    Attributes:
        begin: A turn that is over by then shows nothing.
        draft: Between two states of a draft.
        keep_alive: A draft that did not change is sent again; Telegram forgets it after 30.
        edit: Between two edits of a message.
        settle: What a message must wait for before it is first sent: one word is not worth one.
    """

    begin: float = 1.0
    draft: float = 0.6
    keep_alive: float = 20.0
    edit: float = 3.0
    settle: float = 1.5


class Streams:
    """Every answer that is being written now, one a conversation.

    Args:
        redact: Takes secrets out of what the model wrote so far.
        on: Whether anything is shown at all.
    """

    def __init__(
        self,
        *,
        bot: Bot,
        gate: SendGate,
        store: Previews,
        redact: Callable[[str], str],
        on: bool = True,
        pace: Pace | None = None,
    ) -> None:
        self.bot = bot
        self.gate = gate
        self.store = store
        self.redact = redact
        self.on = on
        self.pace = pace or Pace()
        self.without_drafts = set[int]()
        self._live = dict[Conversation, Stream]()

    def open(self, conversation: Conversation, reply_to: ReplyTo) -> "Stream":
        """Return what shows one turn; to be entered. `reply_to` is asked before a message is sent."""
        stream = Stream(self, conversation, reply_to)
        self._live[conversation] = stream
        return stream

    def forget(self, stream: "Stream") -> None:
        if self._live.get(stream.where) is stream:
            del self._live[stream.where]

    async def settle(self, conversation: Conversation) -> None:
        """Show nothing more of what is written there; when this returns, nothing is on its way either."""
        if stream := self._live.get(conversation):
            await stream.close()

    def said(self, conversation: Conversation) -> str:
        """Return what the model has written so far in its present reply, without secrets; may be empty."""
        stream = self._live.get(conversation)
        return self.redact(stream.text).strip() if stream else ""

    def drawn(self, chat_id: int, thread_id: int | None, draft_id: int) -> Conversation | None:
        """Return the conversation whose draft this is now; None when it is over."""
        for conversation, stream in self._live.items():
            if (conversation.chat_id, stream.draft_id) == (chat_id, draft_id) and (
                thread_id in (None, conversation.thread_id)
            ):
                return conversation
        return None


class Stream:
    """Shows one turn's text; an async context manager around the turn.

    Attributes:
        text: Of the model's present reply, as it came.
    """

    def __init__(self, streams: Streams, where: Conversation, reply_to: ReplyTo) -> None:
        self._all = streams
        self.where = where
        self.draft_id = secrets.randbelow(2**31 - 1) + 1
        self.text = ""
        self._reply_to = reply_to
        self._anew = True
        self._busy = False
        self._changed = asyncio.Event()
        self._shown = ""
        self._preview: int | None = None
        self._message_id: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._putting: asyncio.Task[None] | None = None
        self._over = False

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._end()
        # A dead network must not hold the lane: whoever finishes the answer waits, in `settle`.
        if self._putting and not self._putting.done():
            self._putting.add_done_callback(lambda _: self._all.forget(self))
        else:
            self._all.forget(self)

    @property
    def drawing(self) -> bool:
        """Whether a draft is to be seen: another chat action would take its place."""
        return bool(self._shown) and self._drafts and not self._over

    @property
    def _drafts(self) -> bool:
        return self.where.chat_id > 0 and self.where.chat_id not in self._all.without_drafts

    def watch(self, event: Event) -> None:
        match event:
            case Thinking():
                self._anew, self._busy = True, False
            case ToolStarted():
                self._busy = True  # what was said before is said; the draft may fade
            case Typing(text):
                self.text = text if self._anew else self.text + text
                self._anew = False
                self._changed.set()
                if self._all.on and self._timer is None:
                    loop = asyncio.get_running_loop()
                    self._timer = loop.call_later(self._all.pace.begin, self._begin)

    async def close(self) -> None:
        """Show nothing more, and wait for a message on its way: only its id lets the answer take its place.

        May be called twice.
        """
        self._end()
        if self._putting:
            await asyncio.wait([self._putting])

    def _end(self) -> None:
        self._over = True
        if self._timer:
            self._timer.cancel()
        if self._task:
            self._task.cancel()

    def _begin(self) -> None:
        if not self._over:
            self._task = asyncio.create_task(self._show())

    async def _show(self) -> None:
        pace = self._all.pace
        while self._drafts:
            changed = await self._wait(pace.keep_alive)
            shows = self._rendered(ready(self.text), last=True)
            if shows is None or self._busy or (changed and shows.text == self._shown):
                continue
            await self._draw(shows)
            await asyncio.sleep(pace.draft)
        await asyncio.sleep(max(0.0, pace.settle - pace.begin))
        while True:
            await self._wait(None)
            shows = self._rendered(ready(self.text), last=False)
            if shows is None or shows.text == self._shown:
                continue
            if not await self._write(shows):
                return
            await asyncio.sleep(pace.edit)

    async def _wait(self, timeout: float | None) -> bool:
        """Wait for more text; return whether some came in time."""
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    def _rendered(self, text: str, *, last: bool) -> Rendered | None:
        pieces = render(self._all.redact(text), limit=ROOM)
        return pieces[-1 if last else 0] if pieces else None

    async def _draw(self, shows: Rendered) -> None:
        async def draw() -> object:
            return await self._all.bot.send_message_draft(
                self.where.chat_id,
                self.draft_id,
                shows.text,
                entities=shows.entities,
                message_thread_id=self.where.thread_id,
                api_kwargs={"can_stop": True},
            )

        try:
            await self._all.gate.run(self.where.chat_id, Priority.TYPING, draw, droppable=True, counts=False)
            self._shown = shows.text
        except (BadRequest, Forbidden, InvalidToken) as exc:
            # Some chats refuse drafts for good, and a server of our own may not know them at all.
            log.info("drafts are refused in %s, editing a message instead: %s", self.where.chat_id, exc)
            self._all.without_drafts.add(self.where.chat_id)
            self._shown = ""
            self._changed.set()
        except (Dropped, TelegramError) as exc:
            log.debug("a draft was not shown: %r", exc)

    async def _write(self, shows: Rendered) -> bool:
        """Send the message, or edit it; return whether to go on."""
        if self._message_id is None:
            known = await self._all.store.open_previews("answer", self.where)
            if known and known[0].message_id is None:
                return False  # one may have arrived, and its id is not known
            if known:
                self._message_id = known[0].message_id
        if self._message_id is None:
            self._putting = asyncio.create_task(self._put(shows))
            await asyncio.wait([self._putting])
            return not self._over and (self._message_id is not None or self._preview is None)
        message_id = self._message_id

        async def edit() -> object:
            return await self._all.bot.edit_message_text(
                shows.text,
                chat_id=self.where.chat_id,
                message_id=message_id,
                entities=shows.entities,
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            )

        try:
            await self._all.gate.run(self.where.chat_id, Priority.PROGRESS, edit, droppable=True)
            self._shown = shows.text
        except BadRequest as exc:
            if "not modified" in str(exc):
                self._shown = shows.text
        except (Dropped, TelegramError) as exc:
            log.debug("an edit was dropped: %r", exc)
        return True

    async def _put(self, shows: Rendered) -> None:
        async def put() -> None:
            # Stored when its turn has come, as late as can be: what a kill leaves behind must be known of.
            preview = await self._all.store.begin_answer(self.where)
            if preview is None:  # the answer is on its way: this would stay beside it
                self._over = True
                return
            self._preview = preview.id
            try:
                sent = await self._all.bot.send_message(
                    self.where.chat_id,
                    shows.text,
                    entities=shows.entities,
                    message_thread_id=self.where.thread_id,
                    reply_parameters=reply(self.where, await self._reply_to()),
                    link_preview_options=LinkPreviewOptions(is_disabled=True),
                )
            except TelegramError as exc:
                if isinstance(exc, BadRequest | Forbidden | RetryAfter) or fate(exc) == "not sent":
                    await self._all.store.end_preview(preview.id)
                    self._preview = None
                raise
            await self._all.store.preview_sent(preview.id, sent.message_id)
            self._message_id, self._shown = sent.message_id, shows.text

        try:
            await self._all.gate.run(self.where.chat_id, Priority.PROGRESS, put, droppable=True)
        except Forbidden as exc:
            log.info("what is being written can't be shown in %s: %s", self.where.chat_id, exc)
            self._over = True
        except (Dropped, TelegramError) as exc:
            log.debug("what is being written was not shown: %r", exc)


def ready(text: str) -> str:
    """Return what may be shown of a text that is not at its end: a word half written may be half a secret."""
    end = re.search(r"\S*\Z", text)
    return text[: end.start()] if end else text
