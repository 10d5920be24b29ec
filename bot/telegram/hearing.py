"""Messages on their way to the agent: gathered, their files saved, put into the lane of the conversation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from telegram import Bot, Message

from bot.agent.lanes import Job, Lanes
from bot.clock import Clock
from bot.messages import Conversation, UserMessage
from bot.protocol import neutralise
from bot.store.base import Effect, Status, Store
from bot.telegram import inbound
from bot.telegram.attachments import Attachments, attachment_of
from bot.telegram.gather import Gathering, Received, join
from bot.telegram.reactions import Reactions
from bot.telegram.split import utf16_len
from bot.texts import say

log = logging.getLogger(__name__)

MAX_LABEL = 60
BUSY_AFTER = 1.5
"""Seconds that a message waits before its person is told that it does."""

RunTurn = Callable[[Conversation, UserMessage, Sequence[int]], Awaitable[None]]
"""Runs a turn for a message; the updates it came in are finished when it is stored."""


class Hearing:
    def __init__(
        self,
        *,
        bot: Bot,
        store: Store,
        lanes: Lanes,
        attachments: Attachments,
        reactions: Reactions,
        language: str,
        run_turn: RunTurn,
        redact: Callable[[str], str],
        now: Clock,
    ) -> None:
        self._bot = bot
        self._store = store
        self._lanes = lanes
        self._attachments = attachments
        self._reactions = reactions
        self._language = language
        self._run_turn = run_turn
        self._redact = redact
        self._now = now
        self._gathering = Gathering(self._queue)
        self._tasks = set[asyncio.Task[None]]()

    def expects(self, message: Message) -> bool:
        """Whether it belongs to what is being gathered, though by itself it may not be for us."""
        return self._gathering.expects(message)

    async def take(self, update_id: int, message: Message, *, edited: bool = False) -> None:
        """Have a message heard in its turn. The person may talk, and it is for us."""
        if edited and inbound.said_in(message):
            await self._queue([Received(update_id, message)], edited=True)
        elif edited:
            await self._store.finish_update(update_id)
        elif not (inbound.said_in(message) or attachment_of(message)):
            text = say(self._language, "only_text")
            effect = Effect(
                f"say:only_text:{update_id}", inbound.conversation_of(message), "notice", {"text": text}
            )
            await self._store.enqueue([effect], update_id=update_id)
        else:
            await self._gathering.take(update_id, message)

    async def _queue(self, parts: Sequence[Received], *, edited: bool = False) -> None:
        first, last = parts[0].message, parts[-1].message
        assert first.from_user is not None
        user_id, name = first.from_user.id, first.from_user.full_name
        conversation = inbound.conversation_of(first)
        updates = tuple(part.update_id for part in parts)
        text = self._text_of(parts)

        async def run() -> None:
            saved = await self._attachments.save([] if edited else [part.message for part in parts])
            if saved.problems:
                told = {"text": "\n".join(saved.problems), "reply_to": first.message_id}
                await self._store.enqueue([Effect(f"files:{updates[0]}", conversation, "notice", told)])
            said = text
            if edited:
                if await self._heard_before(conversation, first.message_id, text):
                    await self._store.finish_update(updates)  # only a preview or a reaction changed
                    return
                said = say(self._language, "edited", text=text)
            elif not text and len(saved.problems) == len(parts):
                await self._store.finish_update(updates)  # nothing is left to answer
                return
            said = "\n".join([said, *saved.notes]).strip()
            heard = UserMessage(said, user_id, name, first.message_id, images=tuple(saved.images))
            await self._run_turn(conversation, heard, updates)

        async def ready() -> bool:
            if await self._may_go_on(conversation, last, user_id):
                return True
            await self._explain_wait(conversation, last, user_id)  # the question may be newer than it
            return False

        label = " ".join((text or "📎").split())[:MAX_LABEL]
        job = Job(run, updates, label, ready)
        before, behind = self._lanes.running(conversation), self._lanes.holds_next(conversation)
        self._lanes.put(conversation, job)
        if behind and not edited and await self._may_go_on(conversation, last, user_id):
            # It can't be asked yet, since an older message is held before it; but the person did move on.
            await self._close_questions(conversation)
        elif self._lanes.holds_next(conversation):
            await self._explain_wait(conversation, last, user_id)
        elif before is not None:
            self._reactions.received(first.chat_id, first.message_id)
            asyncio.get_running_loop().call_later(
                BUSY_AFTER, self._tell_busy, conversation, before, job, first.message_id
            )

    def _text_of(self, parts: Sequence[Received]) -> str:
        texts = [inbound.text_of(part.message, self._bot.username, self._language) for part in parts]
        return join(texts, whole=[utf16_len(part.message.text or "") for part in parts]).strip()

    async def _heard_before(self, conversation: Conversation, message_id: int, text: str) -> bool:
        text = neutralise(self._redact(text))  # as it was stored
        return any(
            isinstance(old, UserMessage)
            and old.message_id == message_id
            and (old.text.endswith(text) or old.text.startswith(f"{text}\n["))  # what names its files
            for old in await self._store.load(conversation)
        )

    async def _close_questions(self, conversation: Conversation) -> None:
        reason = say(self._language, "cancelled_moved_on")
        for approval in await self._store.pending_approvals(conversation):
            await self._store.decide(approval.id, Status.CANCELLED, at=self._now(), reason=reason)
        self._lanes.wake(conversation)

    def _tell_busy(self, conversation: Conversation, before: Job, job: Job, message_id: int) -> None:
        """Say, once for whatever runs, that a message has to wait for it."""
        if self._lanes.running(conversation) is not before or not self._lanes.waits(conversation, job):
            return
        payload = {"text": say(self._language, "busy"), "reply_to": message_id}
        effect = Effect(f"busy:{before.key}", conversation, "notice", payload)
        task = asyncio.create_task(self._store.enqueue([effect]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _may_go_on(self, conversation: Conversation, message: Message, user_id: int) -> bool:
        """Whether a message may be heard now. While a question is open, only a later word of the asker's may:
        it means that the person moved on. What was sent before the card appeared has to wait its turn."""
        for approval in await self._store.pending_approvals(conversation):
            if user_id != approval.asker_id:
                return False
            shown = [card for chat_id, card in approval.cards if chat_id == message.chat_id]
            if shown and message.message_id < min(shown):
                return False
            if not shown and message.date.timestamp() + 1 <= approval.created_at:
                return False  # Telegram's times are whole seconds
        return True

    async def _explain_wait(self, conversation: Conversation, message: Message, user_id: int) -> None:
        waiting = await self._store.pending_approvals(conversation)
        if waiting and waiting[0].asker_id != user_id:
            effect = Effect(
                f"waits:{waiting[0].id}:{user_id}",
                conversation,
                "notice",
                {
                    "text": say(self._language, "waits_for_card", name=waiting[0].asker_name),
                    "reply_to": message.message_id,
                },
            )
            await self._store.enqueue([effect])
