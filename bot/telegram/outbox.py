"""Effects on their way to Telegram: stored before they are sent, sent in order, resent at most once.

sendMessage has no idempotency key. So each part of an effect is marked before it is handed over and after it
arrived. What the mark means when nothing more is known:

- the request never left (connect error): it is sent again as often as needed;
- Telegram had the whole request but its answer did not come in time: it counts as sent;
- the connection broke, or the process died, in the middle: it comes once more, and says that it may be a
  repeat.

The process may die then too, any number of times. So a text comes the second time as an edit, which may
repeat, of a message that stands in for it: that one has only the mark until its id is stored. What a death
can leave behind is such a mark with nothing below it, never a third copy and never none. Files have no such
way: they are sent again after each death. A card is repeated until it is there. Where the connection breaks
every time, the text itself is tried twice more after `MAX_STAND_INS` marks, then closed with an error.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    MessageEntity,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError

from bot.errors import StoreError
from bot.messages import Conversation
from bot.store.base import Approval, Reverting, Status, Store, StoredEffect
from bot.telegram import cards, outputs
from bot.telegram.fate import fate, is_formatting
from bot.telegram.render import Rendered, as_document, plain, render
from bot.telegram.reply import reply
from bot.telegram.send_gate import Priority, SendGate
from bot.texts import say

log = logging.getLogger(__name__)

MAX_MESSAGES = 5
ROOM = 3900
"""UTF-16 units of a message, so that the mark of a repeat still fits into Telegram's 4096."""
RETRY_PAUSES = (0.5, 1, 2, 5, 10, 30)
"""Seconds between tries of what surely did not arrive; the last one repeats."""
STORE_PAUSE = 5.0
RESEND_PAUSE = 1.0
"""Seconds before the one resend: at once, it would most likely meet the same trouble."""
MAX_STAND_INS = 4
"""Of unknown fate, in one process: each may be in the chat as a mark with nothing below it."""
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class Send(Protocol):
    """Makes one sending. `again`: say that it may be a repeat; `bare`: plain text without entities."""

    def __call__(self, *, again: bool, bare: bool) -> Awaitable[Message]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """One message of an effect.

    Attributes:
        final: The text an edit would give a message; None for a file and a card.
        stand_in: Sends what is to be edited so; there when `final` is.
        buttons: For the edit too.
    """

    chat_id: int
    priority: Priority
    send: Send
    final: Rendered | None = None
    stand_in: Send | None = None
    buttons: InlineKeyboardMarkup | None = None


class Unsure(Exception):
    """The connection broke while something was being sent: it may have arrived."""


async def nothing_to_settle(conversation: Conversation) -> None:
    """Nothing is ever shown of an answer being written."""


class Outbox:
    """Sends what the store holds.

    Args:
        redact: Takes secrets out of text files; everything else was redacted before it was stored.
        undeliverable: Told of a card that can't be shown to anybody, by its approval id.
        migrated: Told that a chat has a new id, before the effect is sent there.
        card_shown: Told of a card that has just appeared, by the conversation of its question.
        settle: Ends what is shown of an answer being written there, before anything takes its place.
        revert_after: Seconds after which what ran guarded is undone; for cards to say so.
        sandbox: What cards say of it, see `bot.telegram.cards.card`.
    """

    def __init__(
        self,
        *,
        bot: Bot,
        store: Store,
        gate: SendGate,
        language: str,
        redact: Callable[[str], str],
        undeliverable: Callable[[str], Awaitable[None]],
        migrated: Callable[[int, int], Awaitable[None]],
        card_shown: Callable[[Conversation], None],
        settle: Callable[[Conversation], Awaitable[None]] = nothing_to_settle,
        sandbox: str = "",
        revert_after: float = cards.REVERT_AFTER,
    ) -> None:
        self._bot = bot
        self._store = store
        self._gate = gate
        self._language = language
        self._redact = redact
        self._undeliverable = undeliverable
        self._migrated = migrated
        self._card_shown = card_shown
        self._settle = settle
        self._revert_after = revert_after
        self._sandbox = sandbox
        self._woken = asyncio.Event()
        self._seen = 0
        self._queues: dict[int, deque[StoredEffect]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        store.on_effects(self._woken.set)

    async def run(self) -> None:
        """Send what is stored and what comes, until cancelled. No chat waits for another."""
        self._woken.set()
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                await self._collect()
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def flush(self, timeout: float) -> None:
        """Wait until what is stored now is sent, or for so many seconds."""
        await self._collect()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=timeout)

    async def _collect(self) -> None:
        for stored in await self._store.unsent(self._seen):
            if stored.id > self._seen:  # `run` and `flush` may have asked at the same time
                self._seen = stored.id
                self._take(stored)

    def _take(self, stored: StoredEffect) -> None:
        chat_id = stored.effect.conversation.chat_id
        self._queues.setdefault(chat_id, deque()).append(stored)
        if chat_id not in self._tasks:
            self._tasks[chat_id] = asyncio.create_task(self._drain(chat_id))

    async def _drain(self, chat_id: int) -> None:
        queue = self._queues[chat_id]
        while queue:
            stored = take_next(queue)
            try:
                await self._deliver_or_give_up(stored, queue)
            except StoreError as exc:
                # A full disk or a lock: what was to be sent is still stored, as it stood.
                log.error("effect %s has to wait: %s", stored.id, exc)
                await asyncio.sleep(STORE_PAUSE)
                queue.appendleft(await self._as_stored(stored))
            except Exception:
                log.exception("effect %s is left for the next start", stored.id)
        del self._tasks[chat_id], self._queues[chat_id]

    async def _as_stored(self, stored: StoredEffect) -> StoredEffect:
        """Return an effect as the store has it now; as it was when the store can't say."""
        try:
            known = await self._store.unsent(stored.id - 1)
        except StoreError:
            return stored
        return next((effect for effect in known if effect.id == stored.id), stored)

    async def _deliver_or_give_up(self, stored: StoredEffect, queue: deque[StoredEffect]) -> None:
        try:
            await self._deliver(stored, queue)
        except StoreError:
            raise
        except ChatMigrated as exc:
            await self._migrated(stored.effect.conversation.chat_id, exc.new_chat_id)
            waiting = {stored.id, *(effect.id for effect in queue)}
            queue.clear()
            for moved in await self._store.unsent(stored.id - 1):
                if moved.id in waiting:
                    self._take(moved)
        except Exception as exc:
            log.exception("effect %s (%s) can't be sent", stored.id, stored.effect.kind)
            await self._give_up(stored, f"{type(exc).__name__}: {exc}")

    async def _deliver(self, stored: StoredEffect, queue: Collection[StoredEffect]) -> None:
        effect = stored.effect
        if effect.kind == "card_update":
            # A later change shows what this one would have shown.
            if not any(
                later.effect.kind == "card_update" and later.effect.payload == effect.payload
                for later in queue
            ):
                await self._update_cards(
                    str(effect.payload["approval_id"]),
                    only=effect.payload.get("card"),
                    more=effect.payload.get("more") is True,
                )
            await self._store.finish_effect(stored.id)
            return
        if effect.kind == "card":
            approval = await self._store.approval(str(effect.payload["approval_id"]))
            if approval and approval.conversation == effect.conversation:
                await self._settle(effect.conversation)  # or a draft would come back below the card
            if approval is None or not (shows_buttons(approval) or stored.sent):
                await self._store.give_up(stored.id, "decided before it was shown")
                return
        parts = await self._parts(stored)
        if len(stored.sent) >= len(parts):
            await self._store.give_up(stored.id, "nothing to see")
            return
        # That a repeat was not sent says nothing of the sending before it.
        again = stored.unsure or stored.resent
        for index in range(len(stored.sent), len(parts)):
            last = index == len(parts) - 1
            shown = index == 0 and bool(effect.payload.get("preview"))
            message_id = await self._bring(stored, parts[index], shown=shown, again=again)
            again = False
            writes = [self._store.part_sent(stored.id, message_id, last=last)]
            if last and effect.kind == "card" and message_id:
                approval_id = str(effect.payload["approval_id"])
                writes.append(self._store.card_sent(approval_id, parts[index].chat_id, message_id))
            await asyncio.gather(*writes)
        if effect.kind == "card":
            await self._catch_up(str(effect.payload["approval_id"]))

    async def _bring(self, stored: StoredEffect, part: Part, *, shown: bool, again: bool) -> int | None:
        """Have a part be in the chat: once, or twice with the mark when it may have been there already.

        Args:
            shown: Some of it may have been shown while it was written: that message becomes this one.
            again: It may have arrived before.

        Returns:
            The message's id; None when Telegram took it and did not say.
        """
        if shown:
            await self._settle(stored.effect.conversation)
        if part.final is None or part.stand_in is None:
            return await self._send(stored, part, part.send, again=again)
        known = (shown and stored.previewed) or again
        preview = await self._store.preview_of(stored.effect.key) if known else None
        there = preview.message_id if preview else None
        if preview and there is None:
            again = True  # some of it may be there
        if there and await self._rewrite(part, there, again=again):
            return there
        if not again:
            try:
                return await self._send(stored, part, part.send, again=False, most=1)
            except Unsure:
                log.warning("the connection broke while sending; it comes once more, with a mark")
                await asyncio.sleep(RESEND_PAUSE)
        try:
            message_id = await self._send(stored, part, part.stand_in, again=True, most=MAX_STAND_INS)
        except Unsure:
            message_id = None
        if message_id:
            await self._store.stand_in(stored.id, message_id)
            if await self._rewrite(part, message_id, again=True):
                return message_id
        return await self._send(stored, part, part.send, again=True)

    async def _rewrite(self, part: Part, message_id: int, *, again: bool) -> bool:
        """Give a message its last text, and try until Telegram has an opinion: an edit may repeat.

        Returns:
            Whether it is there to be given one.
        """
        assert part.final is not None
        text = self._marked(part.final) if again else part.final
        tries, bare = 0, False
        while True:

            async def edit(bare: bool = bare) -> object:
                return await self._bot.edit_message_text(
                    text.text,
                    chat_id=part.chat_id,
                    message_id=message_id,
                    entities=() if bare else text.entities,
                    reply_markup=part.buttons,
                    link_preview_options=NO_PREVIEW,
                )

            try:
                await self._gate.run(part.chat_id, part.priority, edit)
            except BadRequest as exc:
                if "not modified" in str(exc):
                    return True
                if bare or not is_formatting(exc):
                    log.warning("what was shown of an answer can't be edited, sending it: %s", exc)
                    return False
                bare = True
            except (ChatMigrated, Forbidden):
                raise
            except TelegramError as exc:
                pause = RETRY_PAUSES[min(tries, len(RETRY_PAUSES) - 1)]
                log.warning("telegram can't be reached to finish an answer, next try in %g s: %s", pause, exc)
                await asyncio.sleep(pause)
                tries += 1
            else:
                return True

    async def _send(
        self, stored: StoredEffect, part: Part, send: Send, *, again: bool, most: int = 2
    ) -> int | None:
        """Send one message of a part.

        Args:
            again: The part may have arrived before.
            most: How often it is sent while nobody knows whether it arrived; a card, any number of times.

        Returns:
            The message's id; None when Telegram took it and did not say.

        Raises:
            Unsure: It may or may not have arrived.
        """
        # A second copy of a card does no harm, a missing one holds up a turn for ever.
        endless = stored.effect.kind == "card"
        tries, unknown, bare = 0, 0, False
        while True:

            async def call(again: bool = again, bare: bool = bare) -> Message:
                # Marked when its turn has come, not before: the less time between mark and arrival, the
                # fewer repeats after a kill.
                await self._store.sending(stored.id, resend=again)
                try:
                    return await send(again=again, bare=bare)
                except RetryAfter:
                    await self._store.not_sent(stored.id)  # refused, so surely not there
                    raise

            try:
                message = await self._gate.run(part.chat_id, part.priority, call)
            except BadRequest as exc:
                if bare or not is_formatting(exc):
                    raise
                log.warning("telegram refuses the formatting, sending it plain: %s", exc)
                bare = True
            except (ChatMigrated, Forbidden):
                await self._store.not_sent(stored.id)
                raise
            except TelegramError as exc:
                match fate(exc):
                    case "not sent":
                        await self._store.not_sent(stored.id)
                        pause = RETRY_PAUSES[min(tries, len(RETRY_PAUSES) - 1)]
                        log.warning("telegram can't be reached, next try in %g s: %s", pause, exc)
                        await asyncio.sleep(pause)
                        tries += 1
                    case "sent" if send is not part.stand_in:
                        log.warning("telegram took a message but did not answer in time; not sent again")
                        return None
                    case _:
                        unknown += 1
                        if unknown >= most and not endless:
                            raise Unsure("it was sent twice and may not have arrived") from exc
                        log.warning("the connection broke while sending; sending once more: %s", exc)
                        await asyncio.sleep(RESEND_PAUSE * 2 ** min(tries, 6))
                        tries += 1
                        again = True
            else:
                return message.message_id

    async def _parts(self, stored: StoredEffect) -> list[Part]:
        effect = stored.effect
        where, payload = effect.conversation, effect.payload
        match effect.kind:
            case "answer":
                rendered = render(str(payload["text"]), limit=ROOM)
                buttons = outputs.keyboard(payload.get("outputs"))
                if len(rendered) > MAX_MESSAGES:
                    document = as_document(str(payload["text"]))
                    note = plain(say(self._language, "long_answer"))[0]
                    return [
                        self._text(where, rendered[0], Priority.ANSWER, reply_to=payload.get("reply_to")),
                        self._file(where, document, "answer.md", note.text, Priority.ANSWER, buttons),
                    ]
                return self._texts(where, rendered, Priority.ANSWER, payload.get("reply_to"), buttons)
            case "notice":
                rendered = plain(str(payload["text"]), limit=ROOM)
                rows = buttons_of(payload.get("buttons"))
                return self._texts(where, rendered, Priority.ERROR, payload.get("reply_to"), rows)
            case "file":
                path = Path(str(payload["path"]))
                content, changed = await asyncio.to_thread(self._read, path)
                name = str(payload.get("name") or path.name)
                caption = say(self._language, "file_redacted") if changed else ""
                return [self._file(where, content, name, caption, Priority.ANSWER)]
            case "photo":
                content = await asyncio.to_thread(Path(str(payload["path"])).read_bytes)
                return [self._photo(where, content, str(payload.get("caption") or ""))]
            case "card":
                return await self._card_parts(where, str(payload["approval_id"]))
        raise ValueError(f"unknown kind of effect {effect.kind!r}")

    async def _card_parts(self, where: Conversation, approval_id: str) -> list[Part]:
        approval = await self._store.approval(approval_id)
        assert approval is not None

        async def send(*, again: bool, bare: bool) -> Message:
            # As it stands when its turn comes: buttons of a decided question must never be seen.
            now = await self._store.approval(approval_id)
            text, buttons = cards.card(
                now or approval, self._language, self._sandbox, revert_after=self._revert_after
            )
            part = self._text(where, text, Priority.APPROVAL, buttons=buttons)
            return await part.send(again=again, bare=bare)

        parts = [Part(where.chat_id, Priority.APPROVAL, send)]
        if cards.too_long(approval):
            # The buttons come only after the whole text has arrived.
            whole = cards.whole(approval).encode("utf-8", "replace")
            caption = say(self._language, "card_file_caption")
            parts.insert(0, self._file(where, whole, "command.txt", caption, Priority.APPROVAL))
        if approval.image:
            image = Path(approval.image)
            content = await asyncio.to_thread(image.read_bytes)
            # As a file: Telegram changes and refuses pictures, but shows any file's preview.
            caption = say(self._language, "card_image_caption")
            parts.insert(0, self._file(where, content, f"image{image.suffix}", caption, Priority.APPROVAL))
        return parts

    async def _catch_up(self, approval_id: str) -> None:
        """A question decided while its card was on its way: the card must not keep live buttons."""
        approval = await self._store.approval(approval_id)
        if approval is None:
            return
        if approval.status is not Status.PENDING:
            await self._update_cards(approval_id)
        self._card_shown(approval.conversation)

    async def _update_cards(self, approval_id: str, only: object = None, *, more: bool = False) -> None:
        """Bring the cards of a question up to date.

        Args:
            only: `[chat_id, message_id]` of one card; None for all.
            more: Show the grants that may be given.
        """
        approval = await self._store.approval(approval_id)
        if approval is None:
            return
        text, buttons = cards.card(
            approval, self._language, self._sandbox, more=more, revert_after=self._revert_after
        )
        for chat_id, message_id in approval.cards:
            if only is not None and only != [chat_id, message_id]:
                continue

            async def edit(chat_id: int = chat_id, message_id: int = message_id) -> object:
                return await self._bot.edit_message_text(
                    text.text,
                    chat_id=chat_id,
                    message_id=message_id,
                    entities=text.entities,
                    reply_markup=buttons,
                    link_preview_options=NO_PREVIEW,
                )

            await self._edit(chat_id, edit)

    async def _edit(self, chat_id: int, edit: Callable[[], Awaitable[object]]) -> None:
        """Edits may repeat: try until Telegram has an opinion."""
        in_group = chat_id < 0  # where edits count against the limit
        for pause in (*RETRY_PAUSES, 0):
            try:
                await self._gate.run(chat_id, Priority.APPROVAL, edit, counts=in_group)
            except BadRequest as exc:
                if "not modified" not in str(exc):
                    log.warning("a card can't be brought up to date: %s", exc)
                return
            except (Forbidden, ChatMigrated) as exc:
                log.warning("a card can't be brought up to date: %s", exc)
                return
            except NetworkError as exc:
                log.warning("telegram can't be reached to edit a card: %s", exc)
                await asyncio.sleep(pause)
            else:
                return

    def _read(self, path: Path) -> tuple[bytes, bool]:
        """Return a file's content without secrets, and whether that took anything away."""
        # A byte that is no text hides nothing: it comes back as it was.
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        redacted = self._redact(text)
        return redacted.encode("utf-8", "surrogateescape"), redacted != text

    def _texts(
        self,
        where: Conversation,
        rendered: Sequence[Rendered],
        priority: Priority,
        reply_to: object,
        buttons: InlineKeyboardMarkup | None = None,
    ) -> list[Part]:
        last = len(rendered) - 1
        return [
            self._text(
                where,
                piece,
                priority,
                reply_to=reply_to if index == 0 else None,
                buttons=buttons if index == last else None,
            )
            for index, piece in enumerate(rendered)
        ]

    def _text(
        self,
        where: Conversation,
        rendered: Rendered,
        priority: Priority,
        *,
        reply_to: object = None,
        buttons: InlineKeyboardMarkup | None = None,
    ) -> Part:
        async def send(*, again: bool, bare: bool) -> Message:
            piece = Rendered(rendered.text, ()) if bare else rendered
            if again:
                piece = self._marked(piece)
            return await post(piece, buttons)

        async def stand_in(*, again: bool, bare: bool) -> Message:
            return await post(Rendered(say(self._language, "maybe_repeat"), ()), None)

        async def post(piece: Rendered, markup: InlineKeyboardMarkup | None) -> Message:
            return await self._bot.send_message(
                where.chat_id,
                piece.text,
                entities=piece.entities,
                message_thread_id=where.thread_id,
                reply_parameters=reply(where, reply_to),
                reply_markup=markup,
                link_preview_options=NO_PREVIEW,
            )

        return Part(where.chat_id, priority, send, rendered, stand_in, buttons)

    def _marked(self, rendered: Rendered) -> Rendered:
        return marked(rendered, say(self._language, "maybe_repeat"))

    def _file(
        self,
        where: Conversation,
        content: bytes,
        name: str,
        caption: str,
        priority: Priority,
        buttons: InlineKeyboardMarkup | None = None,
    ) -> Part:
        async def send(*, again: bool, bare: bool) -> Message:
            note = f"{caption}\n{say(self._language, 'maybe_repeat')}".strip() if again else caption
            return await self._bot.send_document(
                where.chat_id,
                content,
                filename=name,
                caption=note or None,
                message_thread_id=where.thread_id,
                reply_markup=buttons,
            )

        return Part(where.chat_id, priority, send)

    def _photo(self, where: Conversation, content: bytes, caption: str) -> Part:
        async def send(*, again: bool, bare: bool) -> Message:
            note = f"{caption}\n{say(self._language, 'maybe_repeat')}".strip() if again else caption
            return await self._bot.send_photo(
                where.chat_id, content, caption=note or None, message_thread_id=where.thread_id
            )

        return Part(where.chat_id, Priority.ANSWER, send)

    async def _give_up(self, stored: StoredEffect, error: str) -> None:
        await self._store.give_up(stored.id, error)
        if stored.effect.kind != "card":
            return
        approval_id = str(stored.effect.payload["approval_id"])
        approval = await self._store.approval(approval_id)
        others = (other.effect for other in await self._store.unsent())
        if any(o.kind == "card" and o.payload["approval_id"] == approval_id for o in others):
            return  # somebody else may still get to see it
        if approval is not None and not approval.cards:
            await self._undeliverable(approval_id)


def shows_buttons(approval: Approval) -> bool:
    """Whether a person still has something to decide on a card."""
    undoing = approval.revert is not None and approval.revert.state is Reverting.ARMED
    return approval.status is Status.PENDING or undoing


def buttons_of(rows: object) -> InlineKeyboardMarkup | None:
    """Return the buttons of a payload, `[[label, callback data], …]`, one a row."""
    if not isinstance(rows, Sequence) or not rows:
        return None
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=data)] for label, data in rows])


def take_next(queue: deque[StoredEffect]) -> StoredEffect:
    """Take the next effect: a card goes before other conversations' answers, never before its own's."""
    seen = set[Conversation]()
    for index, stored in enumerate(queue):
        if stored.effect.kind == "card" and stored.effect.conversation not in seen:
            del queue[index]
            return stored
        seen.add(stored.effect.conversation)
    return queue.popleft()


def marked(rendered: Rendered, mark: str) -> Rendered:
    """Put a line before a message; its entities move along. `ROOM` was left for it."""
    moved = MessageEntity.shift_entities(f"{mark}\n", rendered.entities)
    return Rendered(f"{mark}\n{rendered.text}", tuple(moved))
