"""What a press, a typed code or a written command decides about a question, and what follows from it."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Protocol
from weakref import WeakValueDictionary

from telegram import CallbackQuery, Message

from bot import clock
from bot.agent import Agent
from bot.messages import Conversation, ToolResult
from bot.store.base import Approval, Code, Effect, Grant, Lasting, Reverting, Status, Store
from bot.telegram import cards, inbound
from bot.telegram.cards import GRANTS, LASTING, Press, Verb
from bot.texts import say

log = logging.getLogger(__name__)

CODE_LASTS = 60.0
"""Seconds in which the code of a second step is to be typed."""
LASTS = {Lasting.TASK: 86_400.0, Lasting.MINUTES: 900.0, Lasting.ALWAYS: 30 * 86_400.0}
"""Seconds after which a grant ends in any case."""
MAX_TOAST = 200
"""UTF-16 units: https://core.telegram.org/bots/api#answercallbackquery"""


class Answer(Protocol):
    """Answers a press with a sentence, as an alert or in passing; an empty one only stops its spinner."""

    def __call__(self, query: CallbackQuery, text: str, *, alert: bool = False) -> Awaitable[None]: ...


class Decisions:
    """Takes the decisions of people who may decide; the caller has looked whether they may.

    Args:
        go_on: Told of every decided question.
        expire: Closes what is over, before a late press is told what became of it.
        revert_after: Seconds after which what ran guarded is undone.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        store: Store,
        answer: Answer,
        go_on: Callable[[Approval], None],
        expire: Callable[[], Awaitable[None]],
        language: str,
        revert_after: float,
        now: clock.Clock,
    ) -> None:
        self._agent = agent
        self._store = store
        self._answer = answer
        self._go_on = go_on
        self._expire = expire
        self._language = language
        self._revert_after = revert_after
        self._now = now
        self._beside: set[asyncio.Task[None]] = set()
        self._looking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take_code(self, update_id: int, message: Message, user_id: int, digits: str) -> bool:
        """Deal with what may be the code of a second step.

        Returns:
            Whether it was meant as one: False when this person was asked none here.
        """
        approval = await self._store.code_asked(user_id, message.chat_id)
        if approval is None:
            return False
        code, at = approval.code, self._now()
        if not (code and code.user_id == user_id and code.expires_at > at):
            await self._refuse_code(update_id, message, approval, code, "code_late")
        elif not secrets.compare_digest(code.digits, digits):
            await self._refuse_code(update_id, message, approval, code, "code_wrong")
        elif approval.fingerprint:
            self._go_beside(update_id, self._approve_by_code(update_id, message, approval, code, at))
        else:
            await self._approve_by_code(update_id, message, approval, code, at)
        return True

    async def _approve_by_code(
        self, update_id: int, message: Message, approval: Approval, code: Code, at: float
    ) -> None:
        async with self._as_shown(approval.id, code.user_id, code.user_name, update_id) as stale:
            if stale is not None:
                where, text = inbound.conversation_of(message), self._why_not(stale)
                effect = Effect(f"say:stale:{update_id}", where, "notice", {"text": text})
                await self._store.enqueue([effect], update_id=update_id)
                return
            decided = await self._store.decide(
                approval.id,
                Status.APPROVED,
                at=at,
                by=code.user_id,
                name=code.user_name,
                update_id=update_id,
                code=code.digits,
                revert_after=self._revert_after if code.guarded else None,
            )
        if decided is None:
            await self._refuse_code(update_id, message, approval, code, "code_late")
        else:
            self._go_on(decided)

    async def _refuse_code(
        self, update_id: int, message: Message, approval: Approval, code: Code | None, key: str
    ) -> None:
        if code and message.from_user and code.user_id == message.from_user.id:
            await self._store.void_code(
                approval.id, at=self._now(), why=key.removeprefix("code_"), update_id=update_id
            )
        await self._say(inbound.conversation_of(message), key, update_id)

    async def change(self, approval: Approval, command: str, message: Message, update_id: int) -> None:
        """Ask about a person's command in place of the model's."""
        user = message.from_user
        assert user is not None
        changed = await self._agent.change(
            approval, command, by=user.id, name=user.full_name, update_id=update_id
        )
        if changed is None:
            await self._say(inbound.conversation_of(message), "change_late", update_id)

    async def press(self, update_id: int, query: CallbackQuery, press: Press) -> None:
        """Do what a button of a card says, and answer the press; every verb but AGAIN."""
        match press.verb:
            case Verb.DENY_WHY:
                await self._toast(update_id, query, "toast_reply_why", alert=True)
            case Verb.CHANGE:
                await self._toast(update_id, query, "toast_change", alert=True)
            case Verb.MORE | Verb.BACK:
                await self._show(update_id, query, press.approval_id, more=press.verb is Verb.MORE)
            case Verb.KEEP | Verb.UNDO:
                await self._settle(update_id, query, press)
            case Verb.DENY:
                await self._judge(update_id, query, press, Status.DENIED)
            case _:
                await self._approve(update_id, query, press)

    async def _approve(self, update_id: int, query: CallbackQuery, press: Press) -> None:
        """Approve by a press, or ask for the code without which a press is not enough."""
        approval = await self._store.approval(press.approval_id)
        guarded, lasting = press.verb is Verb.GUARDED, GRANTS.get(press.verb)
        offered = approval is not None and (
            (approval.undo or not guarded) and (approval.grant_key or lasting is None)
        )
        if approval is None or not offered:
            await self._toast(update_id, query, "toast_unknown")
        elif approval.status is Status.PENDING and approval.fingerprint:
            self._go_beside(update_id, self._approve_as_shown(update_id, query, press, approval))
        elif approval.status is Status.PENDING and approval.second_step:
            await self._ask_code(update_id, query, approval, guarded)
        else:
            grant = self._grant(approval, lasting, query) if lasting else None
            reason = say(self._language, LASTING[lasting]) if lasting else ""
            revert_after = self._revert_after if guarded else None
            await self._judge(
                update_id, query, press, Status.APPROVED, reason, grant=grant, revert_after=revert_after
            )

    async def _approve_as_shown(
        self, update_id: int, query: CallbackQuery, press: Press, approval: Approval
    ) -> None:
        """Approve what a card says the call would do, if it still would."""
        user = query.from_user
        async with self._as_shown(approval.id, user.id, user.full_name, update_id) as stale:
            await self._know_card(query, approval)
            if stale is not None:
                await self._answer(query, cards.cut(self._why_not(stale), MAX_TOAST), alert=True)
                await self._store.finish_update(update_id)
            elif approval.second_step:
                await self._ask_code(update_id, query, approval, guarded=False)
            else:
                await self._judge(update_id, query, press, Status.APPROVED)

    @asynccontextmanager
    async def _as_shown(
        self, approval_id: str, by: int, name: str, update_id: int
    ) -> AsyncIterator[Approval | ToolResult | None]:
        """Look whether a question still says what would happen; nobody else looks until the block is over.

        A look replaces what the tool takes for shown, so none may come between another and its decision, or
        after that.
        """
        async with self._looking.setdefault(approval_id, asyncio.Lock()):
            approval = await self._store.approval(approval_id)
            stale: Approval | ToolResult | None = None
            if approval is not None and approval.status is Status.PENDING:
                stale = await self._agent.look_again(approval, by=by, name=name, update_id=update_id)
            if isinstance(stale, Approval):
                self._go_on(stale)
            yield stale

    def _why_not(self, stale: Approval | ToolResult) -> str:
        """Return why a press or a code approved nothing."""
        if isinstance(stale, Approval):
            return stale.reason
        return say(self._language, "toast_not_known", why=stale.text)

    def _grant(self, approval: Approval, lasting: Lasting, query: CallbackQuery) -> Grant:
        assert approval.asker_id is not None
        return Grant(
            id=secrets.token_urlsafe(9),
            lasting=lasting,
            conversation=approval.conversation,
            user_id=approval.asker_id,
            key=approval.grant_key,
            command=approval.command,
            cwd=approval.cwd,
            rule="\n".join(cards.grant_rule(approval, self._language)),
            given_by=query.from_user.id,
            given_name=query.from_user.full_name,
            created_at=self._now(),
            expires_at=self._now() + LASTS[lasting],
        )

    async def _ask_code(
        self, update_id: int, query: CallbackQuery, approval: Approval, guarded: bool
    ) -> None:
        user, at = query.from_user, self._now()
        digits = f"{secrets.randbelow(10_000):04}"
        code = Code(user.id, user.full_name, digits, at + CODE_LASTS, guarded)
        await self._know_card(query, approval)
        where = query.message.chat.id if query.message else user.id
        asked = await self._store.ask_code(approval.id, code, chat_id=where, at=at, update_id=update_id)
        if asked is not None:
            await self._answer(query, say(self._language, "toast_code"))
            return
        now = await self._store.approval(approval.id)
        if now and now.status is Status.PENDING and now.code:
            said = say(self._language, "toast_code_taken", name=now.code.user_name)
            await self._answer(query, said, alert=True)
            return
        await self._decided_before(update_id, query, approval.id)

    async def _judge(
        self,
        update_id: int,
        query: CallbackQuery,
        press: Press,
        status: Status,
        reason: str = "",
        *,
        grant: Grant | None = None,
        revert_after: float | None = None,
    ) -> None:
        user = query.from_user
        if (asked := await self._store.approval(press.approval_id)) and asked.status is Status.PENDING:
            # A kill may have come between a card and the note of it; what was pressed must change too.
            await self._know_card(query, asked)
        decided = await self._store.decide(
            press.approval_id,
            status,
            at=self._now(),
            by=user.id,
            name=user.full_name,
            reason=reason,
            update_id=update_id,
            grant=grant,
            revert_after=revert_after,
        )
        if decided is None:
            await self._decided_before(update_id, query, press.approval_id)
            return
        self._go_on(decided)
        await self._answer(query, say(self._language, f"toast_{decided.status}"))

    async def _decided_before(self, update_id: int, query: CallbackQuery, approval_id: str) -> None:
        """Say what had become of a question that a press could not decide."""
        await self._expire()
        known = await self._store.approval(approval_id)
        if known is None:
            await self._answer(query, say(self._language, "toast_unknown"))
            return
        said = say(self._language, f"status_{known.status}")
        await self._answer(query, say(self._language, "toast_decided", status=said), alert=True)
        # The pressed card may be a copy that missed the decision.
        await self._know_card(query, known)
        key = f"card_update:{known.id}:pressed:{update_id}"
        await self._store.enqueue([Effect(key, known.conversation, "card_update", {"approval_id": known.id})])

    async def _know_card(self, query: CallbackQuery, approval: Approval) -> None:
        """Remember a copy of a card, so that it changes with the others."""
        if query.message:
            here = (query.message.chat.id, query.message.message_id)
            if here not in approval.cards:
                await self._store.card_sent(approval.id, *here)

    async def _show(self, update_id: int, query: CallbackQuery, approval_id: str, *, more: bool) -> None:
        """Let one card show the grants that may be given, or what it showed before."""
        approval = await self._store.approval(approval_id)
        if approval is None or not query.message:
            await self._toast(update_id, query, "toast_unknown")
            return
        await self._know_card(query, approval)
        card = [query.message.chat.id, query.message.message_id]
        payload = {"approval_id": approval.id, "card": card, "more": more}
        effect = Effect(
            f"card_update:{approval.id}:{update_id}", approval.conversation, "card_update", payload
        )
        await self._store.enqueue([effect], update_id=update_id)
        await self._answer(query, "")

    async def _settle(self, update_id: int, query: CallbackQuery, press: Press) -> None:
        """Keep what ran guarded, or undo it before its time."""
        approval, user = await self._store.approval(press.approval_id), query.from_user
        if approval is None or approval.revert is None:
            await self._toast(update_id, query, "toast_unknown")
        elif press.verb is Verb.UNDO and approval.revert.state is Reverting.ARMED:
            self.undo(approval, by=user.id, name=user.full_name)
            await self._toast(update_id, query, "toast_undoing")
        elif press.verb is Verb.KEEP and await self._store.settle_revert(
            approval.id, Reverting.KEPT, at=self._now(), by=user.id, name=user.full_name, update_id=update_id
        ):
            await self._answer(query, say(self._language, "toast_kept"))
        else:
            await self._toast(update_id, query, "toast_settled", alert=True)

    def undo(self, approval: Approval, *, by: int | None = None, name: str = "") -> None:
        """Undo what ran guarded; beside everything else, for the way back in must not wait."""

        async def undo() -> None:
            try:
                await self._agent.undo(approval, by=by, name=name)
            except Exception:
                log.exception("the undoing of question %s failed", approval.id)

        self._keep(asyncio.create_task(undo(), name=f"undo {approval.id}"))

    def _go_beside(self, update_id: int, deciding: Coroutine[object, object, None]) -> None:
        """Decide what takes longer than an update may; a kill meanwhile leaves the update to be taken up."""

        async def decide() -> None:
            try:
                await deciding
            except Exception as exc:
                log.exception("update %s was not handled", update_id)
                await self._store.finish_update(update_id, f"failed: {exc!r}")

        self._keep(asyncio.create_task(decide(), name=f"decide {update_id}"))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def close(self, timeout: float) -> None:
        """Give what is being undone or decided so many seconds to end."""
        if self._beside:
            await asyncio.wait(set(self._beside), timeout=timeout)

    async def _toast(self, update_id: int, query: CallbackQuery, key: str, *, alert: bool = False) -> None:
        await self._answer(query, say(self._language, key), alert=alert)
        await self._store.finish_update(update_id)

    async def _say(self, where: Conversation, key: str, update_id: int) -> None:
        effect = Effect(f"say:{key}:{update_id}", where, "notice", {"text": say(self._language, key)})
        await self._store.enqueue([effect], update_id=update_id)
