"""The agent loop: take a conversation's turn as far as it goes without a person."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakSet

from bot import clock
from bot.agent import compaction, guards
from bot.agent.outcomes import Outcome, Paused, Replied, Stopped, Thinking, Typing, Watch, ignore
from bot.agent.prompt import Soul, fit, forget_corrections, system_prompt, weight
from bot.agent.steps import Calls
from bot.agent.turn import Turn, to_its_end
from bot.errors import LLMError, LLMMalformed, LLMRejected
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.messages import (
    AssistantMessage,
    Conversation,
    Message,
    Notice,
    ToolDefinition,
    ToolResult,
    Transcript,
    Usage,
    UserMessage,
    pending_calls,
    steps_taken,
)
from bot.protocol import correction, neutralise
from bot.redact import Redactor
from bot.store.base import Approval, AuditEvent, Store, UpdateIds
from bot.texts import say

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a turn may use.

    Attributes:
        turn_timeout: Seconds between two waits for a person.
        turn_tokens, daily_tokens: Input and output together; 0 is no limit.
        window_chars: Characters of transcript sent to the model.
    """

    max_steps: int = 12
    turn_timeout: float = 1800.0
    turn_tokens: int = 0
    daily_tokens: int = 0
    window_chars: int = 400_000


News = Callable[[Conversation, Transcript], Awaitable[Sequence[Notice]]]
"""What happened between two turns that the model must read before the next; judged by the transcript, so that
a notice that was appended is not given again."""


async def no_news(conversation: Conversation, transcript: Transcript) -> Sequence[Notice]:
    return ()


class Agent:
    def __init__(
        self,
        *,
        llm: LLMClient,
        calls: Calls,
        store: Store,
        soul: Soul,
        redactor: Redactor,
        limits: Limits,
        user: str = "",
        work_dir: Path,
        credentials: Sequence[str] = (),
        news: News = no_news,
        language: str = "en",
        now: clock.Clock = clock.system,
    ) -> None:
        self._llm = llm
        self._calls = calls
        self._store = store
        self._soul = soul
        self._redactor = redactor
        self._limits = limits
        self._user = user
        self._work_dir = work_dir
        self._credentials = credentials
        self._news = news
        self._language = language
        self._now = now
        self._moves: dict[int, int] = {}
        self._turns = WeakSet[Turn]()
        self._still = asyncio.Event()
        self._still.set()

    async def hear(
        self,
        conversation: Conversation,
        message: UserMessage,
        *,
        update_id: UpdateIds = None,
        watch: Watch = ignore,
    ) -> Outcome:
        """Add what the person said, then advance. Calls that still wait for a decision end as not run.

        The caller sees to it that one of `hear`, `advance` and `stop` runs at a time per conversation.
        The update is finished in the same transaction that stores the message.
        """
        turn = await self._begin(conversation, watch)
        while calls := pending_calls(turn.transcript):
            await self._calls.settle(turn, calls, moved_on=True)
        told = await self._news(turn.conversation, turn.transcript)
        await turn.append([*map(self._as_heard, told), self._as_heard(message)], update_id=update_id)
        return await self._advance(turn)

    async def advance(self, conversation: Conversation, *, watch: Watch = ignore) -> Outcome:
        """Take the turn as far as it goes without a person.

        Everything is read from the store and nothing is kept here, so a new message, a decision and a restart
        all lead to the same place. Calling it again is harmless: a finished or waiting turn returns the same
        outcome.
        """
        return await self._advance(await self._begin(conversation, watch))

    async def stop(
        self, conversation: Conversation, text: str = "stopped_by_person", *, written: str = ""
    ) -> bool:
        """End an open turn: every open call gets its result and the transcript its last word.

        Args:
            text: Key of the sentence that the model will later read as its own last word.
            written: What the model had written of a reply that was cut: it stays, as an answer.

        Returns:
            Whether there was anything to end.
        """
        turn = await self._begin(conversation, ignore)
        match turn.transcript:
            case [] | [*_, AssistantMessage(tool_calls=(), follow_up=None)]:
                return False
        if calls := pending_calls(turn.transcript):
            await self._calls.stop(turn, calls)
        words, effects = say("en", text), []
        if written := self._redactor.redact(written).strip():
            words = f"{written}\n\n{words}"
            effects = [turn.effect("answer", text=written, reply_to=turn.asked_in, preview=True)]
        await turn.append(last_words(turn, words), effects=effects)
        return True

    async def change(
        self, approval: Approval, command: str, *, by: int, name: str, update_id: int | None = None
    ) -> Approval | None:
        """Void a question and ask about a person's command instead; see `Calls.change`."""
        turn = await self._begin(approval.conversation, ignore)
        return await self._calls.change(turn, approval, command, by=by, name=name, update_id=update_id)

    async def look_again(
        self, approval: Approval, *, by: int, name: str, update_id: int | None = None
    ) -> Approval | ToolResult | None:
        """See whether a question still asks for what would happen now; see `Calls.look_again`."""
        turn = await self._begin(approval.conversation, ignore)
        return await self._calls.look_again(turn, approval, by=by, name=name, update_id=update_id)

    async def undo(self, approval: Approval, *, by: int | None = None, name: str = "") -> bool:
        """Undo what an approved command did; see `Calls.undo`."""
        return await self._calls.undo(approval, by=by, name=name)

    async def report_broken_undoings(self) -> None:
        """See `Calls.report_broken_undoings`; to be called before anything is undone."""
        await self._calls.report_broken_undoings()

    def _as_heard(self, message: UserMessage | Notice) -> UserMessage | Notice:
        """Return a message, and the name it bears, without secrets and what could pass for a result."""
        if isinstance(message, Notice):
            return replace(message, text=neutralise(self._redactor.redact(message.text)))
        text, name = (neutralise(self._redactor.redact(said)) for said in (message.text, message.sender_name))
        return replace(message, text=text, sender_name=name)

    async def migrate_chat(self, old: int, new: int) -> None:
        """A group became a supergroup: move what is kept, and have what runs there go on under the new id."""
        self._still.clear()
        try:
            self.remember_moves({old: new})
            # Before the store moves what it has: writes keep their order, so none lands in the old chat.
            for turn in self._turns:
                turn.conversation = self.now_at(turn.conversation)
            await asyncio.sleep(0)  # what was begun under the old id queues its write now
            await self._store.migrate_chat(old, new)
        finally:
            self._still.set()

    def remember_moves(self, moves: Mapping[int, int]) -> None:
        """From now on, take each of these chats, by its old id, for the one it became."""
        self._moves |= moves

    def now_at(self, conversation: Conversation) -> Conversation:
        """Return where a conversation is now, however old its id."""
        chat_id = conversation.chat_id
        for _ in self._moves:  # so often at most, should they ever lead in a circle
            chat_id = self._moves.get(chat_id, chat_id)
        return Conversation(chat_id, conversation.thread_id)

    async def _begin(self, conversation: Conversation, watch: Watch) -> Turn:
        while True:
            await self._still.wait()
            where = self.now_at(conversation)
            transcript, state = await asyncio.gather(
                self._store.load(where), self._store.conversation_state(where)
            )
            if self.now_at(conversation) == where:
                break
        turn = Turn(
            where, list(transcript), cwd=state.cwd or str(self._work_dir), nonce=state.nonce,
            model=state.model, watch=watch, store=self._store,
        )  # fmt: skip
        self._turns.add(turn)
        return turn

    async def _advance(self, turn: Turn) -> Outcome:
        try:
            async with asyncio.timeout(self._limits.turn_timeout):
                return await self._loop(turn)
        except TimeoutError:
            turn = await self._begin(turn.conversation, turn.watch)  # the cut may have come in a write
            match turn.transcript:
                case [*_, AssistantMessage(text, tool_calls=(), follow_up=None)]:
                    return Replied(text)
            return await self._end(turn, "turn_timeout", seconds=f"{self._limits.turn_timeout:g}")

    async def _loop(self, turn: Turn) -> Outcome:
        while True:
            if calls := pending_calls(turn.transcript):
                if waiting := await self._calls.settle(turn, calls):
                    return Paused(waiting)
                continue
            match turn.transcript:
                case []:
                    return Replied("")
                case [*_, AssistantMessage(text, follow_up=None)]:
                    return Replied(text)
                case _ if owed := self._owed_notice(turn):
                    await turn.append([owed])
                case _:
                    if stopped := await self._exhausted(turn):
                        return stopped
                    try:
                        await self._think(turn)
                    except LLMError as exc:
                        return await self._unanswered(turn, exc)

    def _owed_notice(self, turn: Turn) -> Notice | None:
        """What the model must be told before it is asked again, judged by the transcript alone."""
        last = next((m for m in reversed(turn.transcript) if isinstance(m, AssistantMessage)), None)
        if last and last.follow_up and not isinstance(turn.transcript[-1], Notice):
            return last.follow_up
        if guards.count_notices(turn.transcript, "cap"):
            return None
        if steps_taken(turn.transcript) >= self._limits.max_steps:
            return Notice(say("en", "notice_cap", steps=self._limits.max_steps), "cap")
        times, call = guards.same_failures(turn.transcript)
        advised = guards.count_notices(turn.transcript, "loop")
        if call is not None and times == guards.MAX_SAME_FAILURES - 1 and not advised:
            return Notice(say("en", "notice_failing", tool=call.name, times=times), "loop")
        if guards.repeats_itself(turn.transcript) and not advised:
            return Notice(say("en", "notice_repeating"), "loop")
        return None

    async def _exhausted(self, turn: Turn) -> Stopped | None:
        """End the turn when a guard or a budget says so."""
        times, call = guards.same_failures(turn.transcript)
        if call is not None and times >= guards.MAX_SAME_FAILURES:
            return await self._end(turn, "keeps_failing", tool=call.name, times=times)
        if guards.corrections_in_a_row(turn.transcript) > guards.MAX_CORRECTIONS:
            return await self._end(turn, "keeps_misspelling", done=ran_lines(turn, self._language))
        if self._limits.turn_tokens and steps_taken(turn.transcript):
            used = await self._store.spent_in_turn(turn.conversation)
            if used.input + used.output >= self._limits.turn_tokens:
                return await self._end(turn, "turn_tokens", tokens=used.input + used.output)
        if self._limits.daily_tokens:
            used = await self._store.spent(None, self._now() - 86_400)
            if used.input + used.output >= self._limits.daily_tokens:
                return await self._end(turn, "daily_tokens", tokens=self._limits.daily_tokens)
        return None

    async def _think(self, turn: Turn) -> None:
        """Ask the model once and append its reply."""
        capped = guards.count_notices(turn.transcript, "cap") > 0
        tools: Sequence[ToolDefinition] = () if capped else self._calls.definitions
        window = self._limits.window_chars
        if compaction.needs_room(turn.transcript, window):
            await self._make_room(turn, compaction.KEPT * window)
        try:
            response = await self._ask(turn, tools, window)
        except LLMRejected as exc:
            if exc.reason != "too_long":
                raise
            log.warning("the transcript is too long for the model; asking again with less of it")
            used = sum(map(weight, compaction.compacted(turn.transcript)))
            await self._make_room(turn, min(compaction.KEPT * window, used / 3))
            response = await self._ask(turn, tools, window // 4)
        message = replace(response.message, text=self._redactor.redact(response.message.text))
        if capped:
            summary = say(self._language, "capped", done=ran_lines(turn, self._language))
            message = AssistantMessage(message.text.strip() or summary)
        else:
            message = replace(message, follow_up=self._follow_up(turn, response))
            if not (message.text.strip() or message.tool_calls or message.follow_up):
                message = replace(message, text=say(self._language, "no_answer"))
        effects = []
        if not message.tool_calls and message.follow_up is None:
            effects = [
                turn.effect(
                    "answer",
                    text=message.text,
                    reply_to=turn.asked_in,
                    outputs=turn.cut_outputs(),
                    preview=True,
                )
            ]
        usage = response.usage or Usage()
        await to_its_end(
            asyncio.gather(
                turn.append([message], effects=effects),
                self._store.record_usage(
                    turn.conversation,
                    response.model,
                    usage,
                    self._now(),
                    user_id=turn.asker.sender_id if turn.asker else None,
                ),
            )
        )

    async def _make_room(self, turn: Turn, keep_chars: float) -> None:
        """Put a summary in the place of what is oldest, and tell the person; without one nothing changes."""
        cut = compaction.cut_point(turn.transcript, keep_chars)
        if not cut:
            return
        room = self._limits.window_chars // 2
        made = await compaction.summarise(self._llm, turn.transcript, cut, max_chars=room, nonce=turn.nonce)
        if made is None:
            return
        text, response = made
        notice = compaction.summary_notice(self._redactor.redact(text), cut)
        told = turn.effect("notice", text=say(self._language, "compacted"))
        await to_its_end(
            asyncio.gather(
                turn.append([notice], effects=[told]),
                self._store.record_usage(
                    turn.conversation, response.model, response.usage or Usage(), self._now()
                ),
            )
        )

    async def _ask(self, turn: Turn, tools: Sequence[ToolDefinition], window: int) -> LLMResponse:
        prompt = Prompt(
            system_prompt(
                self._soul.text(),
                user=self._user,
                work_dir=str(self._work_dir),
                nonce=turn.nonce,
                credentials=self._credentials,
            ),
            fit(forget_corrections(compaction.compacted(turn.transcript)), window),
            tools,
            max_steps=self._limits.max_steps,
            language=self._language,
            nonce=turn.nonce,
            model=turn.model,
        )
        response: LLMResponse | None = None
        turn.watch(Thinking())
        async for event in self._llm.stream(prompt):
            match event:
                case TextDelta(text):
                    turn.watch(Typing(text))
                case LLMResponse():
                    response = event
        if response is None:
            raise LLMMalformed("the stream ended without a response")
        return response

    def _follow_up(self, turn: Turn, response: LLMResponse) -> Notice | None:
        """What a reply that can't stand as it is must be answered with."""
        message, transcript = response.message, turn.transcript
        if response.problem is not None:
            text = correction(
                response.problem,
                attempt=guards.corrections_in_a_row(transcript) + 1,
                tools=self._calls.definitions,
                ran=[call.name for call in message.tool_calls],
            )
            return Notice(text, "correction")
        if message.tool_calls:
            return None
        if not message.text.strip():
            if not guards.count_notices(transcript, "empty"):
                return Notice(say("en", "notice_empty"), "empty")
        elif guards.promises_without_doing(message.text) and not guards.count_notices(transcript, "promise"):
            return Notice(say("en", "notice_promise"), "promise")
        return None

    async def _unanswered(self, turn: Turn, exc: LLMError) -> Stopped:
        log.error("no answer from the model in %s: %s", turn.conversation, exc)
        key = f"llm_{exc.reason}" if isinstance(exc, LLMRejected) else "llm_unavailable"
        if guards.count_notices(turn.transcript, "cap"):
            key = "capped"
        return await self._end(turn, key, done=ran_lines(turn, self._language))

    async def _end(self, turn: Turn, key: str, **values: object) -> Stopped:
        """Close the turn with a notice to the person and a last word for the model."""
        if calls := pending_calls(turn.transcript):
            await self._calls.stop(turn, calls)
        reason = say(self._language, key, **values)
        await turn.append(
            last_words(turn, say("en", "turn_ended", reason=say("en", key, **values))),
            effects=[turn.effect("notice", text=reason, reply_to=turn.asked_in)],
            audit=[AuditEvent(self._now(), "turn ended", turn.conversation, detail={"why": key})],
        )
        return Stopped(reason)


def last_words(turn: Turn, text: str) -> list[Message]:
    """Return what closes a turn in the model's name; it never speaks twice in a row."""
    match turn.transcript:
        case [*_, AssistantMessage(follow_up=Notice() as owed)]:
            return [owed, AssistantMessage(text)]
    return [AssistantMessage(text)]


def ran_lines(turn: Turn, language: str) -> str:
    """Say what ran in this turn and how it went, a line each; never that the task is done."""
    return "\n".join(turn.ran()) or say(language, "nothing_ran")
