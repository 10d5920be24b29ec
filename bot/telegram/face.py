"""The Telegram face: every update becomes `hear`, a decision, a command or nothing, and is finished once.

Messages wait in the lane of their conversation. Presses, `/stop` and the other commands never do.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from telegram import CallbackQuery, Message, Update
from telegram.ext import Application, CallbackQueryHandler, MessageHandler, TypeHandler, filters

from bot import clock
from bot.agent import Agent, Paused
from bot.agent.lanes import Job, Lanes
from bot.messages import Conversation, UserMessage
from bot.store.base import Approval, Code, Effect, Grant, Lasting, Reverting, Status, Store, StoredUpdate
from bot.telegram import cards, inbound, outputs
from bot.telegram.cards import GRANTS, LASTING, Press, Verb, read_press
from bot.telegram.commands import COMMANDS
from bot.telegram.commands import gate as gate_commands
from bot.telegram.commands.row import Asked
from bot.telegram.people import People
from bot.telegram.progress import Progress
from bot.telegram.send_gate import SendGate
from bot.telegram.status import Status as StatusPage
from bot.texts import say

log = logging.getLogger(__name__)

App = Application[Any, Any, Any, Any, Any, Any]
MAX_LABEL = 60
CODE_LASTS = 60.0
"""Seconds in which the code of a second step is to be typed."""
LASTS = {Lasting.TASK: 86_400.0, Lasting.MINUTES: 900.0, Lasting.ALWAYS: 30 * 86_400.0}
"""Seconds after which a grant ends in any case."""


class TelegramFace:
    def __init__(
        self,
        *,
        app: App,
        agent: Agent,
        store: Store,
        lanes: Lanes,
        gate: SendGate,
        people: People,
        status: StatusPage,
        policy: Callable[[str, str], str],
        language: str,
        revert_after: float = cards.REVERT_AFTER,
        now: clock.Clock = clock.system,
    ) -> None:
        """
        Args:
            policy: Says how a command would be judged in a folder, for `/policy`.
            revert_after: Seconds after which what ran guarded is undone.
        """
        self.store = store
        self.people = people
        self.status = status
        self.policy = policy
        self.language = language
        self._bot = app.bot
        self._app = app
        self._agent = agent
        self._lanes = lanes
        self._gate = gate
        self.now = now
        self._revert_after = revert_after
        self._undoing: set[asyncio.Task[None]] = set()
        self._strangers: set[int] = set()
        self._asked_again: set[str] = set()
        app.add_handler(MessageHandler(filters.StatusUpdate.MIGRATE, self._on_migration))
        app.add_handler(MessageHandler(filters.UpdateType.MESSAGE, self._on_message))
        app.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE, self._on_edit))
        app.add_handler(CallbackQueryHandler(self._on_press))
        app.add_handler(TypeHandler(Update, self._on_other))
        app.add_error_handler(self._on_error)

    # ── updates ────────────────────────────────────────────────────────────────────────────────────────

    async def recover(self) -> None:
        """Take up what the last process left: open turns first, then what was received but not handled."""
        await self._agent.report_broken_undoings()
        for conversation in await self.store.open_conversations():
            self._advance(conversation)
        for stored in await self.store.unhandled():
            await self.handle(stored)

    async def handle(self, stored: StoredUpdate) -> None:
        """Hand one stored update to its handler. What can't be read is kept and skipped."""
        try:
            update = Update.de_json(json.loads(stored.raw), self._bot)
        except Exception as exc:
            log.exception("update %s can't be read; it is kept and skipped", stored.update_id)
            await self.store.finish_update(stored.update_id, f"unreadable: {exc!r}")
            return
        await self._app.process_update(update)

    async def _on_error(self, update: object, context: Any) -> None:
        log.error("update was not handled", exc_info=context.error)
        if isinstance(update, Update):
            await self.store.finish_update(update.update_id, f"failed: {context.error!r}")

    async def _on_other(self, update: Update, _: object) -> None:
        await self.store.finish_update(update.update_id)

    async def _on_migration(self, update: Update, _: object) -> None:
        message = update.effective_message
        if message and message.migrate_to_chat_id:
            await self.migrate(message.chat_id, message.migrate_to_chat_id)
        elif message and message.migrate_from_chat_id:
            await self.migrate(message.migrate_from_chat_id, message.chat_id)
        await self.store.finish_update(update.update_id)

    async def migrate(self, old: int, new: int) -> None:
        """A group has a new id: everything kept moves along."""
        log.info("chat %s is now %s", old, new)
        self.people = self.people.migrated(old, new)
        await self.store.migrate_chat(old, new)
        # Cards stay behind in the old chat.
        cards = [
            Effect(f"card:{a.id}:{new}", a.conversation, "card", {"approval_id": a.id})
            for a in await self.store.pending_approvals()
            if a.conversation.chat_id == new
        ]
        text = say(self.language, "group_moved", old=old, new=new)
        notices = [
            Effect(f"moved:{old}:{admin}", Conversation(admin), "notice", {"text": text})
            for admin in sorted(self.people.admins)
        ]
        await self.store.enqueue([*cards, *notices])

    # ── messages ───────────────────────────────────────────────────────────────────────────────────────

    async def _on_message(self, update: Update, _: object) -> None:
        message = update.message
        assert message is not None
        user_id = message.from_user.id if message.from_user else None
        if not self.people.may_talk(user_id, message.chat_id) or user_id is None:
            await self._turn_away(update.update_id, message)
        elif await self._types_code(update.update_id, message, user_id):
            pass
        elif not inbound.is_for_us(message, self._bot.id, self._bot.username):
            await self.store.finish_update(update.update_id)
        elif command := inbound.command_of(message, self._bot.username):
            await self._obey(
                Asked(command, inbound.conversation_of(message), user_id, update.update_id, message)
            )
        elif inbound.is_for_another_bot(message, self._bot.username):
            await self.store.finish_update(update.update_id)
        elif not await self._answers_a_card(update.update_id, message, user_id):
            await self._hear(update.update_id, message, user_id)

    async def _on_edit(self, update: Update, _: object) -> None:
        message = update.edited_message
        assert message is not None
        user_id = message.from_user.id if message.from_user else None
        if (
            user_id is None
            or not self.people.may_talk(user_id, message.chat_id)
            or not inbound.is_for_us(message, self._bot.id, self._bot.username)
            or inbound.command_of(message, self._bot.username)
        ):
            await self.store.finish_update(update.update_id)
            return
        await self._hear(update.update_id, message, user_id, edited=True)

    async def _turn_away(self, update_id: int, message: Message) -> None:
        user = message.from_user
        if user and message.chat_id > 0 and user.id not in self._strangers:
            # Said once a run: it is how an owner learns the id, not a conversation.
            self._strangers.add(user.id)
            await self._say(Conversation(message.chat_id), "not_on_list", update_id, id=user.id)
            return
        await self.store.finish_update(update_id)

    async def _obey(self, asked: Asked) -> None:
        row = COMMANDS.get(asked.command.name)
        if row is None:
            text = say(self.language, "unknown_command")
        elif row.admin and not self.people.may_decide(asked.user_id):
            text = say(self.language, "admins_only")
        else:
            text = await row.answer(self, asked)
        effect = Effect(
            f"reply:{asked.update_id}",
            asked.conversation,
            "notice",
            {"text": text, "reply_to": asked.message.message_id},
        )
        await self.store.enqueue([effect], update_id=asked.update_id)

    async def _answers_a_card(self, update_id: int, message: Message, user_id: int) -> bool:
        """Deal with what is said to an open question; return whether it was."""
        text = message.text or ""
        conversation = inbound.conversation_of(message)
        replied = message.reply_to_message
        if replied is not None and self.people.may_decide(user_id):
            approval = await self.store.approval_at(message.chat_id, replied.message_id)
            if approval is not None and approval.status is Status.PENDING:
                match inbound.bare_word(text):
                    case "yes":
                        await self._say(conversation, "only_button", update_id)
                    case "no":
                        await self._decide(approval, Status.DENIED, message, update_id)
                    case _ if (command := inbound.written_command(message)) and (
                        approval.tool == "run_in_terminal"
                    ):
                        await self._change(approval, command, message, update_id)
                    case _:
                        await self._decide(approval, Status.DENIED, message, update_id, reason=text)
                return True
        word = inbound.bare_word(text)
        if word is None:
            return False
        waiting = await self.store.pending_approvals(conversation)
        if not waiting or not (self.people.may_decide(user_id) or user_id == waiting[0].asker_id):
            return False
        if word == "yes":
            await self._say(conversation, "only_button", update_id)
            return True
        verdict = Status.DENIED if self.people.may_decide(user_id) else Status.CANCELLED
        for approval in waiting:
            await self._decide(approval, verdict, message, update_id)
        return True

    async def _types_code(self, update_id: int, message: Message, user_id: int) -> bool:
        """Deal with the code of a second step; return whether the message was meant as one."""
        digits = inbound.code_of(message, self._bot.username)
        if digits is None or not self.people.may_decide(user_id):
            return False
        approval = await self.store.code_asked(user_id, message.chat_id)
        if approval is None:
            return False
        code, at = approval.code, self.now()
        key = "code_late"
        if code and code.user_id == user_id and code.expires_at > at:
            key = "code_wrong"
            if secrets.compare_digest(code.digits, digits):
                decided = await self.store.decide(
                    approval.id,
                    Status.APPROVED,
                    at=at,
                    by=user_id,
                    name=code.user_name,
                    update_id=update_id,
                    code=digits,
                    revert_after=self._revert_after if code.guarded else None,
                )
                if decided is not None:
                    self._go_on(decided)
                    return True
                key = "code_late"
        if code and code.user_id == user_id:
            await self.store.void_code(approval.id, at=at, why=key.removeprefix("code_"), update_id=update_id)
        await self._say(inbound.conversation_of(message), key, update_id)
        return True

    async def _change(self, approval: Approval, command: str, message: Message, update_id: int) -> None:
        user = message.from_user
        assert user is not None
        changed = await self._agent.change(
            approval, command, by=user.id, name=user.full_name, update_id=update_id
        )
        if changed is None:
            await self._say(inbound.conversation_of(message), "change_late", update_id)

    async def _hear(self, update_id: int, message: Message, user_id: int, *, edited: bool = False) -> None:
        conversation = inbound.conversation_of(message)
        text = inbound.text_of(message, self._bot.username, self.language)
        if not text:
            await self._say(conversation, "only_text", update_id)
            return
        name = message.from_user.full_name if message.from_user else ""
        heard = UserMessage(text, user_id, name, message.message_id)

        async def run() -> None:
            said = heard
            if edited:
                if any(
                    isinstance(old, UserMessage)
                    and old.message_id == heard.message_id
                    and old.text.endswith(text)
                    for old in await self.store.load(conversation)
                ):
                    await self.store.finish_update(update_id)  # only a preview or a reaction changed
                    return
                said = UserMessage(say(self.language, "edited", text=text), user_id, name, message.message_id)
            await self._turn(conversation, said, update_id)

        async def ready() -> bool:
            if await self._may_go_on(conversation, message, user_id):
                return True
            await self._explain_wait(conversation, message, user_id)  # the question may be newer than it
            return False

        label = " ".join(text.split())[:MAX_LABEL]
        self._lanes.put(conversation, Job(run, update_id, label, ready))
        if self._lanes.holds_next(conversation):
            await self._explain_wait(conversation, message, user_id)

    async def _may_go_on(self, conversation: Conversation, message: Message, user_id: int) -> bool:
        """Whether a message may be heard now. While a question is open, only a later word of the asker's may:
        it means that the person moved on. What was sent before the card appeared has to wait its turn."""
        for approval in await self.store.pending_approvals(conversation):
            if user_id != approval.asker_id:
                return False
            shown = [card for chat_id, card in approval.cards if chat_id == message.chat_id]
            if shown and message.message_id < min(shown):
                return False
            if not shown and message.date.timestamp() + 1 <= approval.created_at:
                return False  # Telegram's times are whole seconds
        return True

    async def _explain_wait(self, conversation: Conversation, message: Message, user_id: int) -> None:
        waiting = await self.store.pending_approvals(conversation)
        if waiting and waiting[0].asker_id != user_id:
            effect = Effect(
                f"waits:{waiting[0].id}:{user_id}",
                conversation,
                "notice",
                {
                    "text": say(self.language, "waits_for_card", name=waiting[0].asker_name),
                    "reply_to": message.message_id,
                },
            )
            await self.store.enqueue([effect])

    # ── turns ──────────────────────────────────────────────────────────────────────────────────────────

    async def _turn(
        self, conversation: Conversation, message: UserMessage | None, update_id: int | None
    ) -> None:
        async with Progress(self._bot, self._gate, conversation) as progress:
            try:
                if message is None:
                    outcome = await self._agent.advance(conversation, watch=progress.watch)
                else:
                    outcome = await self._agent.hear(
                        conversation, message, update_id=update_id, watch=progress.watch
                    )
            except Exception:
                log.exception("a turn in %s failed", conversation)
                await self._agent.stop(conversation, "failed_inside")
                await self._say(conversation, "failed_here", update_id)
                return
        if isinstance(outcome, Paused):
            self._lanes.wake(conversation)

    def _advance(self, conversation: Conversation) -> None:
        self._lanes.put(
            conversation, Job(lambda: self._turn(conversation, None, None), label="advance"), first=True
        )

    async def interrupt(self, conversation: Conversation) -> tuple[bool, Sequence[str]]:
        """End what runs in a conversation, open questions included, and drop what waits there.

        Returns:
            Whether there was anything to end, and the labels of the dropped messages.
        """
        stopped, dropped = await self._lanes.interrupt(conversation)
        for job in (stopped, *dropped):
            if job is not None and job.update_id is not None:
                await self.store.finish_update(job.update_id, "stopped by a person")
        ended = await self._lanes.run_first(conversation, lambda: self._agent.stop(conversation))
        return stopped is not None or ended, [job.label for job in dropped if job.update_id is not None]

    # ── questions ──────────────────────────────────────────────────────────────────────────────────────

    async def _on_press(self, update: Update, _: object) -> None:
        query = update.callback_query
        assert query is not None
        press = read_press(query.data)
        if grant_id := gate_commands.read_press(query.data):
            await self._revoke(update.update_id, query, grant_id)
        elif call_id := outputs.read_press(query.data):
            await self._fetch_output(update.update_id, query, call_id)
        elif press is None:
            await self._toast(update.update_id, query, "toast_unknown")
        elif not self.people.may_decide(query.from_user.id):
            await self._toast(update.update_id, query, "toast_not_admin", alert=True)
        else:
            await self._pressed(update.update_id, query, press)

    async def _pressed(self, update_id: int, query: CallbackQuery, press: Press) -> None:
        match press.verb:
            case Verb.DENY_WHY:
                await self._toast(update_id, query, "toast_reply_why", alert=True)
            case Verb.CHANGE:
                await self._toast(update_id, query, "toast_change", alert=True)
            case Verb.AGAIN:
                await self._ask_again(update_id, query, press.approval_id)
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
        approval = await self.store.approval(press.approval_id)
        guarded, lasting = press.verb is Verb.GUARDED, GRANTS.get(press.verb)
        offered = approval is not None and (
            (approval.undo or not guarded) and (approval.grant_key or lasting is None)
        )
        if approval is None or not offered:
            await self._toast(update_id, query, "toast_unknown")
        elif approval.status is Status.PENDING and approval.second_step:
            await self._ask_code(update_id, query, approval, guarded)
        else:
            grant = self._grant(approval, lasting, query) if lasting else None
            reason = say(self.language, LASTING[lasting]) if lasting else ""
            revert_after = self._revert_after if guarded else None
            await self._judge(
                update_id, query, press, Status.APPROVED, reason, grant=grant, revert_after=revert_after
            )

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
            rule="\n".join(cards.grant_rule(approval, self.language)),
            given_by=query.from_user.id,
            given_name=query.from_user.full_name,
            created_at=self.now(),
            expires_at=self.now() + LASTS[lasting],
        )

    async def _ask_code(
        self, update_id: int, query: CallbackQuery, approval: Approval, guarded: bool
    ) -> None:
        user, at = query.from_user, self.now()
        digits = f"{secrets.randbelow(10_000):04}"
        code = Code(user.id, user.full_name, digits, at + CODE_LASTS, guarded)
        await self._know_card(query, approval)
        where = query.message.chat.id if query.message else user.id
        asked = await self.store.ask_code(approval.id, code, chat_id=where, at=at, update_id=update_id)
        if asked is not None:
            await self._answer(query, say(self.language, "toast_code"))
            return
        now = await self.store.approval(approval.id)
        if now and now.status is Status.PENDING and now.code:
            said = say(self.language, "toast_code_taken", name=now.code.user_name)
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
        decided = await self.store.decide(
            press.approval_id,
            status,
            at=self.now(),
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
        await self._answer(query, say(self.language, f"toast_{decided.status}"))

    async def _decided_before(self, update_id: int, query: CallbackQuery, approval_id: str) -> None:
        """Say what had become of a question that a press could not decide."""
        await self.expire()
        known = await self.store.approval(approval_id)
        if known is None:
            await self._answer(query, say(self.language, "toast_unknown"))
            return
        said = say(self.language, f"status_{known.status}")
        await self._answer(query, say(self.language, "toast_decided", status=said), alert=True)
        # The pressed card may be a copy that missed the decision.
        await self._know_card(query, known)
        key = f"card_update:{known.id}:pressed:{update_id}"
        await self.store.enqueue([Effect(key, known.conversation, "card_update", {"approval_id": known.id})])

    async def _know_card(self, query: CallbackQuery, approval: Approval) -> None:
        """Remember a copy of a card, so that it changes with the others."""
        if query.message:
            here = (query.message.chat.id, query.message.message_id)
            if here not in approval.cards:
                await self.store.card_sent(approval.id, *here)

    async def _show(self, update_id: int, query: CallbackQuery, approval_id: str, *, more: bool) -> None:
        """Let one card show the grants that may be given, or what it showed before."""
        approval = await self.store.approval(approval_id)
        if approval is None or not query.message:
            await self._toast(update_id, query, "toast_unknown")
            return
        await self._know_card(query, approval)
        card = [query.message.chat.id, query.message.message_id]
        payload = {"approval_id": approval.id, "card": card, "more": more}
        effect = Effect(
            f"card_update:{approval.id}:{update_id}", approval.conversation, "card_update", payload
        )
        await self.store.enqueue([effect], update_id=update_id)
        await self._answer(query, "")

    async def _settle(self, update_id: int, query: CallbackQuery, press: Press) -> None:
        """Keep what ran guarded, or undo it before its time."""
        approval, user = await self.store.approval(press.approval_id), query.from_user
        if approval is None or approval.revert is None:
            await self._toast(update_id, query, "toast_unknown")
        elif press.verb is Verb.UNDO and approval.revert.state is Reverting.ARMED:
            self._undo(approval, by=user.id, name=user.full_name)
            await self._toast(update_id, query, "toast_undoing")
        elif press.verb is Verb.KEEP and await self.store.settle_revert(
            approval.id, Reverting.KEPT, at=self.now(), by=user.id, name=user.full_name, update_id=update_id
        ):
            await self._answer(query, say(self.language, "toast_kept"))
        else:
            await self._toast(update_id, query, "toast_settled", alert=True)

    def _undo(self, approval: Approval, *, by: int | None = None, name: str = "") -> None:
        """Undo what ran guarded; beside everything else, for the way back in must not wait."""

        async def undo() -> None:
            try:
                await self._agent.undo(approval, by=by, name=name)
            except Exception:
                log.exception("the undoing of question %s failed", approval.id)

        task = asyncio.create_task(undo(), name=f"undo {approval.id}")
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)

    async def close(self, timeout: float) -> None:
        """Give what is being undone so many seconds to end."""
        if self._undoing:
            await asyncio.wait(set(self._undoing), timeout=timeout)

    async def _decide(
        self, approval: Approval, status: Status, message: Message, update_id: int, reason: str = ""
    ) -> None:
        user = message.from_user
        assert user is not None
        decided = await self.store.decide(
            approval.id,
            status,
            at=self.now(),
            by=user.id,
            name=user.full_name,
            reason=reason,
            update_id=update_id,
        )
        if decided is not None:
            self._go_on(decided)

    def _go_on(self, approval: Approval) -> None:
        """A question was decided: show it, and advance the conversation it holds."""
        self._advance(approval.conversation)

    async def _revoke(self, update_id: int, query: CallbackQuery, grant_id: str) -> None:
        user, message = query.from_user, query.message
        if not self.people.may_decide(user.id):
            await self._toast(update_id, query, "toast_not_admin", alert=True)
            return
        ended = await self.store.revoke(grant_id, at=self.now(), by=user.id, update_id=update_id)
        await self._answer(query, say(self.language, "toast_revoked" if ended else "toast_settled"))
        if isinstance(message, Message):
            where, effect = inbound.conversation_of(message), f"grants:{update_id}"
            await self.store.enqueue([await gate_commands.grants_effect(self, where, effect)])

    async def _fetch_output(self, update_id: int, query: CallbackQuery, call_id: str) -> None:
        message = query.message
        if not isinstance(message, Message) or not self.people.may_talk(query.from_user.id, message.chat.id):
            await self._toast(update_id, query, "toast_unknown")
            return
        where = inbound.conversation_of(message)
        found = outputs.file_of(await self.store.load(where), call_id)
        if found is None or not Path(found[0]).is_file():
            await self._toast(update_id, query, "toast_not_kept", alert=True)
            return
        path, tool = found
        payload = {"path": path, "name": f"{tool}-{call_id[:6]}{Path(path).suffix}"}
        effect = Effect(f"output:{call_id}:{update_id}", where, "file", payload)
        await self.store.enqueue([effect], update_id=update_id)
        await self._answer(query, say(self.language, "toast_sending"))

    async def _ask_again(self, update_id: int, query: CallbackQuery, approval_id: str) -> None:
        approval = await self.store.approval(approval_id)
        if approval is None or approval.status is not Status.EXPIRED:
            await self._toast(update_id, query, "toast_unknown")
            return
        if approval_id in self._asked_again:
            await self._toast(update_id, query, "toast_asking")
            return
        self._asked_again.add(approval_id)
        text = say(self.language, "ask_again", command=approval.command)
        heard = UserMessage(text, query.from_user.id, query.from_user.full_name, None)
        conversation = approval.conversation
        self._lanes.put(
            conversation, Job(lambda: self._turn(conversation, heard, update_id), update_id, text[:MAX_LABEL])
        )
        await self._answer(query, say(self.language, "toast_asking"))

    async def expire(self) -> None:
        """Close the questions and codes whose time is over, and undo what nobody kept."""
        for approval in await self.store.expire(self.now()):
            self._go_on(approval)
        await self.store.void_old_codes(self.now())
        for approval in await self.store.due_reverts(self.now()):
            self._undo(approval)

    async def deny_undeliverable(self, approval_id: str) -> None:
        """Nobody can see the card, so nobody can say yes."""
        denied = await self.store.decide(
            approval_id, Status.DENIED, at=self.now(), reason=say(self.language, "card_undeliverable")
        )
        if denied is not None:
            self._go_on(denied)

    # ── words ──────────────────────────────────────────────────────────────────────────────────────────

    async def _say(self, where: Conversation, key: str, update_id: int | None, **values: object) -> None:
        effect = Effect(
            f"say:{key}:{update_id}", where, "notice", {"text": say(self.language, key, **values)}
        )
        await self.store.enqueue([effect], update_id=update_id)

    async def _toast(self, update_id: int, query: CallbackQuery, key: str, *, alert: bool = False) -> None:
        await self._answer(query, say(self.language, key), alert=alert)
        await self.store.finish_update(update_id)

    async def _answer(self, query: CallbackQuery, text: str, *, alert: bool = False) -> None:
        await self._gate.answer(lambda: query.answer(text, show_alert=alert))
