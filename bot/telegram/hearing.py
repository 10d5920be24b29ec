"""Messages on their way to the agent: gathered, their files saved, put into the lane of the conversation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeGuard

from telegram import Bot, Message

from bot.agent.lanes import Job, Lanes
from bot.clock import Clock
from bot.messages import Conversation, UserMessage
from bot.protocol import neutralise
from bot.store.base import Approval, Effect, Status, Store
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
    """Takes messages of people who may talk.

    Args:
        now_at: Says where a conversation is now, since a group's id may change.
    """

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
        now_at: Callable[[Conversation], Conversation],
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
        self._now_at = now_at
        self._redact = redact
        self._now = now
        self._gathering = Gathering(self._queue)
        self._tasks = set[asyncio.Task[None]]()

    def expects(self, message: Message) -> bool:
        """Whether it belongs to what is being gathered, though by itself it may not be for us."""
        return self._gathering.expects(message)

    async def take(
        self, update_id: int, message: Message, *, edited: bool = False, late: bool = False
    ) -> None:
        """Have a message heard in its turn. The person may talk, and it is for us.

        Args:
            late: It came to a process before this one; only Telegram still says when.
        """
        said_at = (message.edit_date or message.date).timestamp() + 1  # in whole seconds
        received = Received(update_id, message, said_at if late else self._now())
        if edited and inbound.said_in(message):
            await self._queue([received], edited=True)
        elif edited:
            await self._store.finish_update(update_id)
        elif not (inbound.said_in(message) or attachment_of(message)):
            text, where = say(self._language, "only_text"), self._now_at(inbound.conversation_of(message))
            effect = Effect(f"say:only_text:{update_id}", where, "notice", {"text": text})
            await self._store.enqueue([effect], update_id=update_id)
        else:
            await self._gathering.take(received)

    def take_away(self, conversation: Conversation) -> list[tuple[Sequence[int], str]]:
        """Give up what is being gathered there; return the updates and the label of each message."""
        return [
            ([part.update_id for part in parts], label_of(self._text_of(parts)))
            for parts in self._gathering.take_away(conversation)
        ]

    async def _queue(self, parts: Sequence[Received], *, edited: bool = False) -> None:
        first, last = parts[0].message, parts[-1]
        assert first.from_user is not None
        user_id, name = first.from_user.id, first.from_user.full_name
        place = inbound.conversation_of(first)
        conversation = self._now_at(place)
        updates = tuple(part.update_id for part in parts)
        text = self._text_of(parts)

        async def run() -> None:
            conversation = self._now_at(place)
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
            questions = await self._store.pending_approvals(self._now_at(place))
            if await self._is_past(questions, last, user_id, edited=edited):
                return True
            await self._explain_wait(questions, last.message, user_id)  # the question may be newer than it
            return False

        job = Job(run, updates, label_of(text), ready, user_id)
        before, behind = self._lanes.running(conversation), self._lanes.holds_next(conversation)
        self._lanes.put(conversation, job)
        if behind:
            # It can't be asked yet, since an older message is held before it; but the person did move on.
            questions = await self._store.pending_approvals(conversation)
            if not edited and await self._is_past(questions, last, user_id):
                await self._close(conversation, questions)
            else:
                await self._explain_wait(questions, last.message, user_id)
        elif before is not None:
            self._reactions.received(first.chat_id, first.message_id)
            asyncio.get_running_loop().call_later(
                BUSY_AFTER, self._tell_busy, conversation, before, job, first.message_id
            )

    def _text_of(self, parts: Sequence[Received]) -> str:
        texts = [inbound.text_of(part.message, self._bot.username, self._language) for part in parts]
        return join(texts, whole=[utf16_len(part.message.text or "") for part in parts]).strip()

    async def _heard_before(self, conversation: Conversation, message_id: int, text: str) -> bool:
        """Whether this is what a message said when it was last heard."""
        said = [m for m in await self._store.load(conversation) if _is(m, message_id)]
        if not said:  # it may be from before a /new
            said = [m for _, m in await self._store.everything(conversation) if _is(m, message_id)]
        as_stored = (
            neutralise(self._redact(form)) for form in (text, say(self._language, "edited", text=text))
        )
        return bool(said) and any(
            said[-1].text == form or said[-1].text.startswith(f"{form}\n[")  # what names its files
            for form in as_stored
        )

    async def _close(self, conversation: Conversation, questions: Sequence[Approval]) -> None:
        reason = say(self._language, "cancelled_moved_on")
        for approval in questions:
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

    async def _is_past(
        self, questions: Sequence[Approval], last: Received, user_id: int, *, edited: bool = False
    ) -> bool:
        """Whether a message may be heard though these are open.

        Only a later word of the asker's may: it means that the person moved on. What was sent before the card
        appeared has to wait its turn.
        """
        for question in questions:
            if user_id != question.asker_id or not await self._is_after(question, last, edited):
                return False
        return True

    async def _is_after(self, question: Approval, last: Received, edited: bool) -> bool:
        chat_id = last.message.chat_id
        shown = [card for chat, card in question.cards if chat == chat_id]
        if shown and not edited:
            return last.message.message_id > min(shown)
        if not shown and await self._is_coming(question, chat_id):
            return False
        return last.at >= question.created_at

    async def _is_coming(self, question: Approval, chat_id: int) -> bool:
        """Whether a question's card is on its way to a chat; when it has arrived, the lane is woken."""
        return any(
            stored.effect.kind == "card"
            and stored.effect.conversation.chat_id == chat_id
            and stored.effect.payload.get("approval_id") == question.id
            for stored in await self._store.unsent()
        )

    async def _explain_wait(self, questions: Sequence[Approval], message: Message, user_id: int) -> None:
        if questions and questions[0].asker_id != user_id:
            effect = Effect(
                f"waits:{questions[0].id}:{user_id}",
                self._now_at(inbound.conversation_of(message)),
                "notice",
                {
                    "text": say(self._language, "waits_for_card", name=questions[0].asker_name),
                    "reply_to": message.message_id,
                },
            )
            await self._store.enqueue([effect])


def label_of(text: str) -> str:
    """Return the words by which a person recognises a message."""
    return " ".join((text or "📎").split())[:MAX_LABEL]


def _is(message: object, message_id: int) -> TypeGuard[UserMessage]:
    return isinstance(message, UserMessage) and message.message_id == message_id
