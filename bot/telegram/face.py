"""The Telegram face: every update becomes `hear`, a decision, a command or nothing, and is finished once.

Messages wait in the lane of their conversation. Presses, `/stop` and the other commands never do.
"""

import contextlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from telegram import CallbackQuery, InlineKeyboardMarkup, Message, Update
from telegram.error import BadRequest
from telegram.ext import Application, CallbackQueryHandler, MessageHandler, TypeHandler, filters

from bot import clock
from bot.agent import Agent, Paused, Replied
from bot.agent.lanes import Job, Lanes
from bot.agent.outcomes import Event
from bot.messages import Conversation, UserMessage, current_turn
from bot.store.base import Approval, Effect, Preview, Status, Store, StoredUpdate, UpdateIds
from bot.telegram import cards, inbound, outputs, progress
from bot.telegram.attachments import Attachments
from bot.telegram.cards import Verb, read_press
from bot.telegram.commands import COMMANDS
from bot.telegram.commands import gate as gate_commands
from bot.telegram.commands import presses as command_presses
from bot.telegram.commands.desk import Desk
from bot.telegram.commands.row import Asked, Pressed
from bot.telegram.decisions import Decisions
from bot.telegram.drafts import ROOM, Streams
from bot.telegram.hearing import Hearing
from bot.telegram.people import People
from bot.telegram.progress import Progress
from bot.telegram.reactions import Reactions
from bot.telegram.render import plain
from bot.telegram.send_gate import Priority, SendGate
from bot.telegram.status import Status as StatusPage
from bot.texts import say

log = logging.getLogger(__name__)

App = Application[Any, Any, Any, Any, Any, Any]
MAX_LABEL = 60


class TelegramFace:
    def __init__(
        self,
        *,
        app: App,
        agent: Agent,
        store: Store,
        lanes: Lanes,
        gate: SendGate,
        streams: Streams,
        attachments: Attachments,
        desk: Desk,
        reactions: Reactions,
        people: People,
        status: StatusPage,
        policy: Callable[[str, str], str],
        language: str,
        redact: Callable[[str], str],
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
        self.desk = desk
        self._streams = streams
        self._reactions = reactions
        self._hearing = Hearing(
            bot=app.bot,
            store=store,
            lanes=lanes,
            attachments=attachments,
            reactions=reactions,
            language=language,
            run_turn=self._turn,
            now_at=agent.now_at,
            redact=redact,
            now=now,
        )
        self._redact = redact
        self.now = now
        self.decisions = Decisions(
            agent=agent,
            store=store,
            answer=self._answer,
            go_on=self._go_on,
            expire=self.expire,
            language=language,
            revert_after=revert_after,
            now=now,
        )
        self._strangers: set[int] = set()
        self._asked_again: set[tuple[str, Job]] = set()
        self._catching_up = False
        app.add_handler(MessageHandler(filters.StatusUpdate.MIGRATE, self._on_migration))
        app.add_handler(MessageHandler(filters.UpdateType.MESSAGE, self._on_message))
        app.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE, self._on_edit))
        app.add_handler(CallbackQueryHandler(self._on_press))
        app.add_handler(TypeHandler(Update, self._on_other))
        app.add_error_handler(self._on_error)

    # ── updates ────────────────────────────────────────────────────────────────────────────────────────

    async def recover(self) -> None:
        """Take up what the last process left: open turns first, then what was received but not handled."""
        self._agent.remember_moves(await self.store.moved_chats())
        await self._agent.report_broken_undoings()
        going_on = await self.store.open_conversations()
        for conversation in going_on:
            self._advance(conversation)
        for left in await self.store.open_previews("progress"):
            if left.conversation not in going_on:
                self._take_away(left)
        self._catching_up = True
        for stored in await self.store.unhandled():
            await self.handle(stored)
        self._catching_up = False

    def _take_away(self, left: Preview) -> None:
        """Delete what a process that was killed showed of a turn that is over."""

        async def take_away() -> None:
            if left.message_id is not None:
                with contextlib.suppress(BadRequest):
                    await self._bot.delete_message(left.conversation.chat_id, left.message_id)
            await self.store.end_preview(left.id)

        self._gate.leave(left.conversation.chat_id, Priority.PROGRESS, take_away, counts=False)

    async def handle(self, stored: StoredUpdate) -> None:
        """Hand one stored update to its handler. What can't be read is kept and skipped."""
        try:
            update = Update.de_json(json.loads(stored.raw), self._bot)
        except Exception as exc:
            log.exception("update %s can't be read; it is kept and skipped", stored.update_id)
            await self.store.finish_update(stored.update_id, self._redact(f"unreadable: {exc!r}"))
            return
        await self._app.process_update(update)

    async def _on_error(self, update: object, context: Any) -> None:
        log.error("update was not handled", exc_info=context.error)
        if not isinstance(update, Update):
            return
        await self.store.finish_update(update.update_id, self._redact(f"failed: {context.error!r}"))
        message = update.message
        if message and message.from_user and self.people.may_talk(message.from_user.id, message.chat_id):
            await self._say(self._place_of(message), "failed_here", update.update_id)
        elif query := update.callback_query:
            await self._answer(query, say(self.language, "toast_failed"), alert=True)

    async def _on_other(self, update: Update, _: object) -> None:
        if stopped := (update.api_kwargs or {}).get("stopped_message_generation"):
            await self._on_stopped_draft(update.update_id, stopped)
        await self.store.finish_update(update.update_id)

    async def _on_stopped_draft(self, update_id: int, stopped: Mapping[str, Any]) -> None:
        """Telegram's own Stop on a draft: the app hides it, the turn is ours to end."""
        chat_id, user_id = int(stopped["chat"]["id"]), int(stopped["from"]["id"])
        if not self.people.may_talk(user_id, chat_id):
            return
        conversation = self._streams.drawn(
            chat_id, stopped.get("message_thread_id"), int(stopped["draft_id"])
        )
        if conversation is not None:
            await self.cut(conversation)

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
        self._lanes.move_chat(old, new)
        await self._agent.migrate_chat(old, new)
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
        # What was to go on in between may have found nothing there.
        for moved in await self.store.open_conversations():
            if moved.chat_id == new:
                self._advance(moved)

    def _place_of(self, message: Message) -> Conversation:
        """Return the conversation of a message, where it is now."""
        return self._agent.now_at(inbound.conversation_of(message))

    # ── messages ───────────────────────────────────────────────────────────────────────────────────────

    async def _on_message(self, update: Update, _: object) -> None:
        message = update.message
        assert message is not None
        user_id = message.from_user.id if message.from_user else None
        if not self.people.may_talk(user_id, message.chat_id) or user_id is None:
            await self._turn_away(update.update_id, message)
        elif await self._takes_code(update.update_id, message, user_id):
            pass
        elif self._hearing.expects(message):
            await self._hearing.take(update.update_id, message, late=self._catching_up)
        elif not inbound.is_for_us(message, self._bot.id, self._bot.username):
            await self.store.finish_update(update.update_id)
        elif command := inbound.command_of(message, self._bot.username):
            await self._obey(Asked(command, self._place_of(message), user_id, update.update_id, message))
        elif inbound.is_for_another_bot(message, self._bot.username):
            await self.store.finish_update(update.update_id)
        elif not await self._answers_a_card(update.update_id, message, user_id):
            await self._hearing.take(update.update_id, message, late=self._catching_up)

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
        await self._hearing.take(update.update_id, message, edited=True, late=self._catching_up)

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
        text: str | None
        if row is None:
            text = say(self.language, "unknown_command")
        elif row.admin and not self.people.may_decide(asked.user_id):
            text = say(self.language, "admins_only")
        else:
            text = await row.answer(self, asked)
        if text is None:
            return
        effect = Effect(
            f"reply:{asked.update_id}",
            asked.conversation,
            "notice",
            {"text": self._redact(text), "reply_to": asked.message.message_id},
        )
        await self.store.enqueue([effect], update_id=asked.update_id)

    async def _answers_a_card(self, update_id: int, message: Message, user_id: int) -> bool:
        """Deal with what is said to an open question; return whether it was."""
        text = inbound.said_in(message)
        conversation = self._place_of(message)
        approval = await self._replied_to(message) if text and self.people.may_decide(user_id) else None
        if approval is not None and approval.status is Status.PENDING:
            match inbound.bare_word(text):
                case "yes":
                    await self._say(conversation, "only_button", update_id)
                case "no":
                    await self._decide(approval, Status.DENIED, message, update_id)
                case _ if (command := inbound.written_command(message)) and (
                    approval.tool == "run_in_terminal"
                ):
                    await self.decisions.change(approval, command, message, update_id)
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

    async def _replied_to(self, message: Message) -> Approval | None:
        """Return the question whose card a message replies to."""
        card = message.reply_to_message
        if card is None:
            return None
        if approval := await self.store.approval_at(message.chat_id, card.message_id):
            return approval
        # A reply may be quicker than we store which message the card is, or we were killed in between.
        approval_id = inbound.asked_in(card, self._bot.id)
        approval = await self.store.approval(approval_id) if approval_id else None
        if approval is not None:
            await self.store.card_sent(approval.id, message.chat_id, card.message_id)
        return approval

    async def _takes_code(self, update_id: int, message: Message, user_id: int) -> bool:
        """Deal with the code of a second step; also in a group where nobody named us."""
        digits = inbound.code_of(message, self._bot.username)
        if digits is None or not self.people.may_decide(user_id):
            return False
        return await self.decisions.take_code(update_id, message, user_id, digits)

    # ── turns ──────────────────────────────────────────────────────────────────────────────────────────

    async def _turn(
        self, conversation: Conversation, message: UserMessage | None, updates: UpdateIds = None
    ) -> None:
        conversation = self._agent.now_at(conversation)

        async def asked_in() -> int | None:
            return message.message_id if message else await self._asked_in(conversation)

        async with (
            self._reactions.turn(conversation.chat_id, asked_in) as marks,
            self._streams.open(conversation, asked_in) as stream,
            Progress(
                self._bot,
                self._gate,
                conversation,
                self.store,
                language=self.language,
                asked_in=asked_in,
                past=None if message else lambda: self.store.load(conversation),
                quiet=lambda: stream.drawing,
            ) as shown,
        ):

            def watch(event: Event) -> None:
                shown.watch(event)
                stream.watch(event)

            try:
                if message is None:
                    outcome = await self._agent.advance(conversation, watch=watch)
                else:
                    outcome = await self._agent.hear(conversation, message, update_id=updates, watch=watch)
            except Exception:
                log.exception("a turn in %s failed", conversation)
                try:
                    await self._agent.stop(conversation, "failed_inside")
                except Exception:
                    log.exception("a turn in %s can't be closed", conversation)
                # A turn goes on many times without an update of its own, and may fail each time.
                told = {"text": say(self.language, "failed_here")}
                key = f"failed:{secrets.token_hex(8)}"
                await self.store.enqueue([Effect(key, conversation, "notice", told)], update_id=updates)
                return
            marks.done = isinstance(outcome, Replied)
            shown.paused = isinstance(outcome, Paused)
        if isinstance(outcome, Paused):
            self._lanes.wake(conversation)

    async def _asked_in(self, conversation: Conversation) -> int | None:
        """Return the message that began the conversation's turn."""
        turn = current_turn(await self.store.load(conversation))
        return turn[0].message_id if turn and isinstance(turn[0], UserMessage) else None

    def _advance(self, conversation: Conversation) -> None:
        job = Job(lambda: self._turn(conversation, None, None), label="advance")
        self._lanes.put(self._agent.now_at(conversation), job, first=True)

    async def interrupt(self, conversation: Conversation) -> tuple[bool, Sequence[str]]:
        """End what runs in a conversation, open questions included, and drop what waits there.

        Returns:
            Whether there was anything to end, and the labels of the dropped messages.
        """
        written = self._streams.said(conversation)
        gathered = self._hearing.take_away(conversation)
        stopped, dropped = await self._lanes.interrupt(conversation)
        for job in (stopped, *dropped):
            if job is not None and job.update_id is not None:
                await self.store.finish_update(job.update_id)
            self._asked_again = {again for again in self._asked_again if again[1] is not job}
        for updates, _ in gathered:
            await self.store.finish_update(updates)
        ended = await self._lanes.run_first(
            conversation, lambda: self._agent.stop(conversation, written=written)
        )
        labels = [job.label for job in dropped if job.update_id is not None]
        return stopped is not None or ended, [*labels, *(label for _, label in gathered)]

    async def cut(self, conversation: Conversation) -> bool:
        """End what runs in a conversation; what waits there comes next. Return whether anything ended."""
        written = self._streams.said(conversation)
        stopped = await self._lanes.cut(conversation)
        if stopped is not None and stopped.update_id is not None:
            await self.store.finish_update(stopped.update_id)
        ended = await self._lanes.run_first(
            conversation, lambda: self._agent.stop(conversation, written=written)
        )
        return stopped is not None or ended

    # ── questions ──────────────────────────────────────────────────────────────────────────────────────

    async def _on_press(self, update: Update, _: object) -> None:
        query = update.callback_query
        assert query is not None
        press = read_press(query.data)
        if grant_id := gate_commands.read_press(query.data):
            await self._revoke(update.update_id, query, grant_id)
        elif (asked_in := progress.read_press(query.data)) is not None:
            await self._stop_turn(update.update_id, query, asked_in)
        elif command := command_presses.read_press(query.data):
            await self._press_command(update.update_id, query, *command)
        elif call_id := outputs.read_press(query.data):
            await self._fetch_output(update.update_id, query, call_id)
        elif press is None:
            await self._toast(update.update_id, query, "toast_unknown")
        elif not self.people.may_decide(query.from_user.id):
            await self._toast(update.update_id, query, "toast_not_admin", alert=True)
        elif press.verb is Verb.AGAIN:
            await self._ask_again(update.update_id, query, press.approval_id)
        else:
            await self.decisions.press(update.update_id, query, press)

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
            reason=self._redact(reason),
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
            where, effect = self._place_of(message), f"grants:{update_id}"
            await self.store.enqueue([await gate_commands.grants_effect(self, where, effect)])

    async def _press_command(self, update_id: int, query: CallbackQuery, kind: str, argument: str) -> None:
        message = query.message
        if message is None or not self.people.may_talk(query.from_user.id, message.chat.id):
            await self._toast(update_id, query, "toast_unknown")
            return
        said = await command_presses.PRESSES[kind](self, Pressed(query, argument, update_id))
        await self._answer(query, said)
        await self.store.finish_update(update_id)

    async def rewrite(self, message: Message, text: str, buttons: InlineKeyboardMarkup | None = None) -> None:
        """Give a message of ours another text; that it is as it was, or gone, does not matter."""
        shown = plain(text, limit=ROOM)[0].text

        async def edit() -> None:
            with contextlib.suppress(BadRequest):
                await self._bot.edit_message_text(
                    shown, chat_id=message.chat.id, message_id=message.message_id, reply_markup=buttons
                )

        self._gate.leave(message.chat.id, Priority.ERROR, edit)

    def hear_again(self, conversation: Conversation, message: UserMessage, update_id: int) -> None:
        """Have a message heard once more, before what waits; the update is finished when it is stored."""
        label = " ".join(message.text.split())[:MAX_LABEL]
        run = partial(self._turn, conversation, message, update_id)
        self._lanes.put(conversation, Job(run, update_id, label, asker=message.sender_id), first=True)

    async def may_end(self, conversation: Conversation, user_id: int) -> bool:
        """Whether somebody may end what runs or waits there: who asked for it, and admins."""
        if self.people.may_decide(user_id):
            return True
        running = self._lanes.running(conversation)
        if running is not None and running.asker is not None:
            return running.asker == user_id  # what it asks may not be stored yet
        if running is None and conversation not in await self.store.open_conversations():
            return True
        turn = current_turn(await self.store.load(conversation))
        asked = turn[0] if turn else None
        return not isinstance(asked, UserMessage) or asked.sender_id == user_id

    async def _stop_turn(self, update_id: int, query: CallbackQuery, asked_in: int) -> None:
        """Stop what runs, when it is still what the button was under."""
        message, user_id = query.message, query.from_user.id
        if not isinstance(message, Message) or not self.people.may_talk(user_id, message.chat.id):
            await self._toast(update_id, query, "toast_unknown")
            return
        where = self._place_of(message)
        turn = current_turn(await self.store.load(where))
        asked = turn[0] if turn and isinstance(turn[0], UserMessage) else None
        if not await self.may_end(where, user_id):
            await self._toast(update_id, query, "not_yours_to_end", alert=True)
            return
        ended = (asked.message_id or 0 if asked else 0) == asked_in and await self.cut(where)
        await self._toast(update_id, query, "toast_stopped" if ended else "nothing_to_stop")

    async def _fetch_output(self, update_id: int, query: CallbackQuery, call_id: str) -> None:
        message = query.message
        if not isinstance(message, Message) or not self.people.may_talk(query.from_user.id, message.chat.id):
            await self._toast(update_id, query, "toast_unknown")
            return
        where = self._place_of(message)
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
        if any(asked == approval_id for asked, _ in self._asked_again):
            await self._toast(update_id, query, "toast_asking")
            return
        text = say(self.language, "ask_again", command=approval.command)
        heard = UserMessage(text, query.from_user.id, query.from_user.full_name, None)
        where = approval.conversation

        async def ready() -> bool:  # a press is no word of whoever asked what is open there
            return not await self.store.pending_approvals(self._agent.now_at(where))

        job = Job(lambda: self._turn(where, heard, update_id), update_id, text[:MAX_LABEL], ready)
        self._asked_again.add((approval_id, job))
        self._lanes.put(where, job)
        await self._answer(query, say(self.language, "toast_asking"))

    async def expire(self) -> None:
        """Close the questions and codes whose time is over, and undo what nobody kept."""
        for approval in await self.store.expire(self.now()):
            self._go_on(approval)
        await self.store.void_old_codes(self.now())
        for approval in await self.store.due_reverts(self.now()):
            self.decisions.undo(approval)

    async def deny_undeliverable(self, approval_id: str) -> None:
        """Nobody can see the card, so nobody can say yes."""
        denied = await self.store.decide(
            approval_id, Status.DENIED, at=self.now(), reason=say(self.language, "card_undeliverable")
        )
        if denied is not None:
            self._go_on(denied)

    # ── words ──────────────────────────────────────────────────────────────────────────────────────────

    async def _say(self, where: Conversation, key: str, update_id: UpdateIds, **values: object) -> None:
        effect = Effect(
            f"say:{key}:{update_id}", where, "notice", {"text": say(self.language, key, **values)}
        )
        await self.store.enqueue([effect], update_id=update_id)

    async def _toast(self, update_id: int, query: CallbackQuery, key: str, *, alert: bool = False) -> None:
        await self._answer(query, say(self.language, key), alert=alert)
        await self.store.finish_update(update_id)

    async def _answer(self, query: CallbackQuery, text: str, *, alert: bool = False) -> None:
        self._gate.answer(lambda: query.answer(text, show_alert=alert))
