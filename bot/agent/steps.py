"""The tool calls of one step: each is run, refused or asked about, and each gets exactly one result."""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bot import clock
from bot.agent.guards import signature
from bot.agent.outcomes import ToolFinished, ToolOutput, ToolStarted
from bot.agent.turn import Changed, Turn, subject_of, to_its_end
from bot.messages import (
    AssistantMessage,
    Conversation,
    Message,
    Risk,
    ToolCall,
    ToolDefinition,
    ToolResult,
    pending_calls,
)
from bot.protocol import neutralise
from bot.redact import Redactor
from bot.safety import Gate, Judgement, digest, head, readable
from bot.store.base import Approval, AuditEvent, Effect, Grant, Reverting, Status, Store
from bot.texts import say
from bot.tools import ToolContext, ToolOutcome, Tools, truncate
from bot.tools.card import CardDetails, CardLine
from bot.tools.codes import code_of
from bot.tools.private_copy import copy_privately

log = logging.getLogger(__name__)

MAX_PARALLEL = 10
MAX_COMMAND = 1000
"""Characters of a command in a sentence about it."""
MAX_SCRIPTS = 2
"""Scripts whose first lines a card shows."""
MAX_REASON = 300
"""Characters of why a question was closed."""
PASSES = frozenset(("NetworkError", "NetworkTimeout", "RateLimited", "Timeout"))
"""Codes of what may be over in a moment, besides `HTTP:5…`: no reason to close a question."""
NOTHING_MORE = CardDetails((), (), "", "")

AskWhere = Callable[[Conversation, int | None], Sequence[Conversation]]
"""Says where the cards of a question go, given its conversation and asker; empty when nobody can be asked."""


class Calls:
    """Gates and runs calls.

    Args:
        approval_ttl: Seconds a question stays open.
        result_chars: Characters of output the model reads of one call.
        output_dir: Where whole outputs are kept; made when first needed.
    """

    def __init__(
        self,
        *,
        tools: Tools,
        gate: Gate,
        store: Store,
        redactor: Redactor,
        ask_where: AskWhere,
        work_dir: Path,
        output_dir: Path,
        approval_ttl: float = 1800.0,
        tool_timeout: float = 120.0,
        result_chars: int = 2000,
        language: str = "en",
        now: clock.Clock = clock.system,
    ) -> None:
        self._tools = tools
        self._gate = gate
        self._store = store
        self._redactor = redactor
        self._ask_where = ask_where
        self._work_dir = work_dir
        self._output_dir = output_dir
        self._approval_ttl = approval_ttl
        self._tool_timeout = tool_timeout
        self._result_chars = result_chars
        self._language = language
        self._now = now
        self._slots = asyncio.Semaphore(MAX_PARALLEL)

    @property
    def definitions(self) -> Sequence[ToolDefinition]:
        return self._tools.definitions

    async def settle(
        self, turn: Turn, calls: Sequence[ToolCall], *, moved_on: bool = False
    ) -> tuple[Approval, ...]:
        """Give results to as many of these calls as can have one now; ask about the rest.

        Calls that only read run beside each other, also past an open question; everything else runs in the
        order asked, alone, and waits for what is undecided before it.

        Args:
            moved_on: The person wants something else: undecided questions are cancelled, and only what
                somebody approved before still runs.

        Returns:
            The questions that are open, in call order; when there are none, every call has its result.
        """
        if moved_on:
            await self._cancel_open(calls, "cancelled_moved_on")
        calls, approvals, claimed = await self._as_changed(turn, calls)
        ids = [call.id for call in calls]
        twins = repeated(turn.transcript)
        refused: list[ToolResult] = []
        reading: list[tuple[ToolCall, Judgement]] = []
        asking: list[tuple[ToolCall, Judgement]] = []
        acting: tuple[ToolCall, Judgement, Grant | None] | None = None
        waiting: list[Approval] = []
        for call in calls:
            known = approvals.get(call.id)
            if call.id in claimed:
                refused.append(await self._interrupted(turn, call, known))
            elif result := self._refusal(call, known, call.id in twins):
                refused.append(result)
            elif moved_on and known is None:
                refused.append(failed(call, "not_executed", say("en", "result_moved_on")))
            elif acting:
                continue  # judged when that is over: it may write what this reads, or move to another folder
            elif (judgement := self._judge(turn, call)).reads_only and known is None:
                reading.append((call, judgement))
            elif known and known.status is Status.PENDING:
                waiting.append(known)
            elif (grant := await self._granted(turn, judgement)) is None and (
                judgement.risk is Risk.HIGH and known is None
            ):
                asking.append((call, judgement))
            elif not (waiting or asking):
                acting = call, judgement, grant if known is None else None
        if refused:
            await turn.append(refused)
        if asking:
            waiting += await self._ask(turn, asking)
        if reading:
            await self._read(turn, reading)
        if acting:
            call, judgement, grant = acting
            await self._act(turn, call, judgement, approvals.get(call.id), grant)
            left = pending_calls(turn.transcript)
            return await self.settle(turn, left, moved_on=moved_on) if left else ()
        return tuple(sorted(waiting, key=lambda approval: ids.index(approval.call_id)))

    async def stop(self, turn: Turn, calls: Sequence[ToolCall]) -> None:
        """Cut these calls short: begun ones may have acted, the others did not and will not."""
        await self._cancel_open(calls, "cancelled_stopped")
        calls, _, claimed = await self._as_changed(turn, calls)
        results = []
        for call in calls:
            begun = call.id in claimed
            outcome = "outcome_stopped" if begun else "outcome_not_begun"
            await self._store.finish_approval(call.id, say(self._language, outcome))
            code = "Canceled" if begun else "not_executed"
            results.append(failed(call, code, say("en", "result_stopped" if begun else "result_not_begun")))
        await turn.append(results)

    async def change(
        self,
        turn: Turn,
        approval: Approval,
        command: str,
        *,
        by: int,
        name: str,
        update_id: int | None = None,
    ) -> Approval | None:
        """Void a question about a command and ask about a person's command instead.

        The call of the model's is answered by whatever comes of the new one.

        Returns:
            The new question; None when the old one was decided before, and then nothing was stored.
        """
        asked = approval.replaces or approval.call_id
        call = next((call for call in pending_calls(turn.transcript) if call.id == asked), None)
        if call is None:
            return None
        call = changed_call(call, f"{asked}.{secrets.token_hex(4)}", command)
        judgement = self._judge(turn, call)
        question = self._question(turn, call, judgement, NOTHING_MORE)
        new = replace(question, replaces=asked, changed_by=name)
        where = self._ask_where(turn.conversation, approval.asker_id)
        voided = await self._store.decide(
            approval.id,
            Status.CANCELLED,
            at=self._now(),
            by=by,
            name=name,
            reason=say(self._language, "cancelled_changed", name=name),
            update_id=update_id,
            instead=(new, cards_of(new, where)),
        )
        if voided is None:
            return None
        await self._store.record(self._asked(turn, new, call, judgement))
        return new

    async def look_again(
        self, turn: Turn, approval: Approval, *, by: int, name: str, update_id: int | None = None
    ) -> Approval | ToolResult | None:
        """See whether what a question's card says would still happen; close a question that is out of date.

        Each look replaces what the tool remembers as shown, so there must be one at a time for a question,
        and none once it is decided.

        Returns:
            None when all is as the card says, or the card says no more than the arguments do. The question as
            it was closed, its reason saying why; what would happen now is then asked about in another, whose
            cards are stored. A failed result when it can't be found out at the moment: nothing was stored.
        """
        asked = approval.replaces or approval.call_id
        model_call = next((call for call in pending_calls(turn.transcript) if call.id == asked), None)
        if not approval.fingerprint or model_call is None:
            return None
        call = replace(model_call, id=approval.call_id)
        found = await self._look(turn, call)
        if isinstance(found, CardDetails):
            if found.fingerprint == approval.fingerprint:
                return None
            # Looked at afresh, under an id of its own: the old card's promises must not hold for the new one.
            call = replace(model_call, id=f"{asked}.{secrets.token_hex(4)}")
            found = await self._look(turn, call)
        new: Approval | None = None
        if isinstance(found, CardDetails):
            judgement = self._judge(turn, call)
            new = replace(self._question(turn, call, judgement, found), replaces=asked)
            reason = say(self._language, "cancelled_changed_since")
        elif found.code in PASSES or found.code.startswith("HTTP:5"):
            return self._result(call, found)
        else:
            reason = self._redactor.redact(found.text)[:MAX_REASON]
        closed = await self._store.decide(
            approval.id,
            Status.CANCELLED,
            at=self._now(),
            by=by,
            name=name,
            reason=reason,
            update_id=update_id,
            instead=(new, cards_of(new, self._ask_where(turn.conversation, new.asker_id))) if new else None,
        )
        if closed and new:
            await self._store.record(self._asked(turn, new, call, judgement))
        return closed

    async def undo(self, approval: Approval, *, by: int | None = None, name: str = "") -> bool:
        """Undo what an approved command did, as its card said; once, ever.

        Returns:
            Whether it was this call that undid it.
        """
        settled = await self._store.settle_revert(
            approval.id, Reverting.UNDOING, at=self._now(), by=by, name=name
        )
        if settled is None:
            return False
        arguments = {"command": approval.undo, "risk": "high"}
        call = ToolCall("run_in_terminal", arguments, f"{approval.call_id}.undo")
        cwd = Path(approval.cwd)
        self._output_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        context = ToolContext(
            conversation=approval.conversation,
            call_id=call.id,
            cwd=cwd if cwd.is_dir() else self._work_dir,
            work_dir=self._work_dir,
            output_dir=self._output_dir,
            progress=lambda line: None,
            timeout=self._tool_timeout,
            approved=True,
        )
        result = self._result(call, await self._tools.run(call, context))
        outcome = self.outcome_line(result)
        values = {"command": approval.command, "undo": approval.undo, "outcome": outcome, "name": name}
        text = say(self._language, "undone_by" if name else "undone", **values)
        detail = {"approval_id": approval.id, "command": self._redactor.redact(approval.undo)}
        event = AuditEvent(
            self._now(), "undone", approval.conversation, by, detail | self._how_it_went(result)
        )
        await self._store.finish_revert(
            approval.id, outcome, effects=self._tell(approval, "undone", text), audit=[event]
        )
        return True

    async def report_broken_undoings(self) -> None:
        """Say of each undoing in which the last process died that its outcome is unknown."""
        for approval in await self._store.broken_reverts():
            text = say(self._language, "undo_interrupted", command=approval.command, undo=approval.undo)
            await self._store.finish_revert(
                approval.id,
                say(self._language, "outcome_interrupted"),
                effects=self._tell(approval, "undo_interrupted", text),
            )

    def _tell(self, approval: Approval, what: str, text: str) -> list[Effect]:
        """Return a notice for everybody who may have seen the question."""
        where = {approval.conversation, *self._ask_where(approval.conversation, approval.asker_id)}
        return [
            Effect(f"{what}:{approval.id}:{place.chat_id}", place, "notice", {"text": text})
            for place in sorted(where, key=lambda place: place.chat_id)
        ]

    async def _as_changed(
        self, turn: Turn, calls: Sequence[ToolCall]
    ) -> tuple[list[ToolCall], dict[str, Approval], set[str]]:
        """Return calls as people changed them, with the questions about them and the claimed ones by id."""
        ids = [call.id for call in calls]
        approvals, claimed = await asyncio.gather(self._store.approvals_for(ids), self._store.claimed(ids))
        if instead := [approval.call_id for approval in approvals.values() if approval.replaces]:
            claimed |= await self._store.claimed(instead)
        standing = []
        for call in calls:
            approval = approvals.get(call.id)
            if approval and approval.replaces and not approval.changed_by:
                asked, call = call, replace(call, id=approval.call_id)
                turn.changed[call.id] = Changed(asked.id, "", "")
            elif approval and approval.replaces:
                command = neutralise(
                    self._redactor.redact(approval.command[:MAX_COMMAND]), tuple(self._tools)
                )
                note = say("en", "result_changed_by", name=approval.changed_by, command=command)
                asked, call = call, changed_call(call, approval.call_id, approval.command)
                turn.changed[call.id] = Changed(asked.id, note, subject_of(call))
            standing.append(call)
        return standing, {approval.call_id: approval for approval in approvals.values()}, claimed

    async def _granted(self, turn: Turn, judgement: Judgement) -> Grant | None:
        """Return the grant under which a high-risk call of this turn may run unasked."""
        asker = turn.asker
        if not judgement.grant_key or asker is None or asker.sender_id is None:
            return None
        return await self._store.grant_for(
            turn.conversation, asker.sender_id, judgement.grant_key, self._now()
        )

    async def _cancel_open(self, calls: Sequence[ToolCall], why: str) -> None:
        """Decide CANCELLED for what is undecided; what somebody approved in the meantime stays approved."""
        for approval in (await self._store.approvals_for([call.id for call in calls])).values():
            if approval.status is Status.PENDING:
                await self._store.decide(
                    approval.id, Status.CANCELLED, at=self._now(), reason=say(self._language, why)
                )

    def _refusal(self, call: ToolCall, approval: Approval | None, twin: bool) -> ToolResult | None:
        """Return the result of a call that will not run, whatever anybody says; None when it may."""
        if misfit := self._tools.check(call):
            return self._result(call, misfit)
        if twin:
            return failed(call, "Duplicate", say("en", "result_duplicate"))
        match approval:
            case Approval(status=Status.DENIED, decided_by=None):
                return failed(call, "Denied", say("en", "result_nobody"))
            case Approval(status=Status.DENIED, reason="", decided_name=name):
                return failed(call, "Denied", say("en", "result_denied", name=name))
            case Approval(status=Status.DENIED, reason=reason, decided_name=name):
                said = neutralise(self._redactor.redact(reason))
                return failed(call, "Denied", say("en", "result_denied_why", name=name, reason=said))
            case Approval(status=Status.EXPIRED):
                return failed(call, "not_executed", say("en", "result_expired"))
            case Approval(status=Status.CANCELLED, decided_by=int(), fingerprint=shown, reason=reason) if (
                shown and reason
            ):
                said = neutralise(self._redactor.redact(reason))
                return failed(call, "not_executed", say("en", "result_out_of_date", reason=said))
            case Approval(status=Status.CANCELLED):
                return failed(call, "not_executed", say("en", "result_moved_on"))
        return None

    def _judge(self, turn: Turn, call: ToolCall) -> Judgement:
        tool = self._tools[call.name]
        return self._gate.judge(
            call,
            floor=tool.risk_floor,
            reads_only=tool.read_only,
            conversation=turn.conversation,
            cwd=turn.cwd,
        )

    async def _ask(self, turn: Turn, asking: Sequence[tuple[ToolCall, Judgement]]) -> list[Approval]:
        """Put questions to people; what nobody can be asked about, or can't be done, has its result."""
        asker = turn.asker
        where = self._ask_where(turn.conversation, asker.sender_id if asker else None)
        if not where:
            refusals = [self._refused(turn, call, judgement) for call, judgement in asking]
            results = [failed(call, "Denied", say("en", "result_nobody")) for call, _ in asking]
            await turn.append(results, audit=refusals)
            return []
        approvals, effects, events = list[Approval](), list[Effect](), list[AuditEvent]()
        if said := turn.said_with_calls():
            effects.append(said)
        for call, judgement in asking:
            found = await self._look(turn, call)
            if isinstance(found, ToolOutcome):
                refusal = self._refused(turn, call, judgement, found.code)
                await turn.append([self._result(call, found)], audit=[refusal])
                continue
            approval = self._question(turn, call, judgement, found)
            approvals.append(approval)
            effects += cards_of(approval, where)
            events.append(self._asked(turn, approval, call, judgement))
        if not approvals:
            return []
        if turn.conversation not in where:
            effects.append(turn.effect("notice", text=say(self._language, "asked_admins")))
        await to_its_end(self._store.ask(approvals, effects, events))
        return approvals

    async def _look(self, turn: Turn, call: ToolCall) -> CardDetails | ToolOutcome:
        """Find out what a call would do, if its tool can say so; or why nobody need be asked."""
        found = await self._tools.preview(call, turn.conversation, Path(turn.cwd), timeout=self._tool_timeout)
        if isinstance(found, CardDetails) and found.image:
            # A copy: what was looked at is what is seen, however long the card takes.
            copy = self._output_dir / f"{call.id}{found.image.suffix}"
            try:
                await asyncio.to_thread(copy_privately, found.image, copy)
            except OSError as error:
                return ToolOutcome(f"{call.name}: {error.strerror}", is_error=True, code=code_of(error))
            found = replace(found, image=copy)
        return found or NOTHING_MORE

    def _question(self, turn: Turn, call: ToolCall, judgement: Judgement, details: CardDetails) -> Approval:
        asker = turn.asker
        asker_id = asker.sender_id if asker else None
        files = self._gate.bound(call, turn.cwd)
        return Approval(
            id=secrets.token_urlsafe(12),
            conversation=turn.conversation,
            call_id=call.id,
            digest=digest(call, nonce=turn.nonce, cwd=turn.cwd, files=files),
            tool=call.name,
            command=judgement.command,
            cwd=turn.cwd,
            reasons=judgement.reasons,
            explanation=str(call.arguments.get("explanation", "")),
            asker_id=asker_id,
            asker_name=asker.sender_name if asker else "",
            created_at=self._now(),
            expires_at=self._now() + self._approval_ttl,
            second_step=judgement.second_step or details.second_step,
            # A grant is for what a person asks; nobody's request can't be covered.
            grant_key=judgement.grant_key if asker_id is not None else "",
            grant_files=judgement.grant_files,
            undo=judgement.undo,
            lines=details.lines or self._scripts(judgement, files),
            warnings=details.warnings,
            fingerprint=details.fingerprint,
            image=str(details.image or ""),
        )

    async def _read(self, turn: Turn, calls: Sequence[tuple[ToolCall, Judgement]]) -> None:
        outcomes = await asyncio.gather(*(self._run(turn, call, j) for call, j in calls))
        pairs = [(call, outcome) for (call, _), outcome in zip(calls, outcomes, strict=True)]
        results = [self._result(call, outcome) for call, outcome in pairs]
        await turn.append(
            results,
            # No read moves by itself, but a folder that is gone is left.
            cwd=next((str(outcome.cwd) for outcome in outcomes if outcome.cwd), None),
            audit=[
                self._audited(turn, call, result, "", self._weighed(judgement))
                for (call, judgement), result in zip(calls, results, strict=True)
            ],
        )
        for (call, _), result in zip(pairs, results, strict=True):
            turn.watch(ToolFinished(call, result))

    async def _act(
        self,
        turn: Turn,
        call: ToolCall,
        judgement: Judgement,
        approval: Approval | None,
        grant: Grant | None,
    ) -> None:
        """Claim, then run. What was approved is compared with what would run now, in the claim itself.

        Under a grant that ended in the meantime nothing happens: the call is left to be asked about.
        """
        if judgement.risk is Risk.HIGH and not (approval or grant):
            raise AssertionError(f"a high-risk call reached the executor without a question: {call.name!r}")
        files = self._gate.bound(call, turn.cwd) if approval else {}
        bound = digest(call, nonce=turn.nonce, cwd=turn.cwd, files=files)
        claimed = await self._store.claim(
            turn.conversation,
            call.id,
            self._now(),
            digest=bound if approval else "",
            grant_id=grant.id if grant else "",
        )
        if not claimed and grant:
            return
        if not claimed:
            await self._not_as_approved(turn, call, approval, files)
            return
        if grant:
            command = judgement.command[:MAX_COMMAND]
            said = say(self._language, "granted_run", command=command, name=grant.given_name)
            await self._store.enqueue(
                [Effect(f"granted:{call.id}", turn.conversation, "notice", {"text": said})]
            )
        outcome = await self._run(turn, call, judgement, approved=bool(approval or grant))
        result = self._result(call, outcome)
        guarded = approval is not None and approval.revert is not None
        undone = guarded and result.exit_code in (None, 0)
        if undone:
            result = replace(result, text=f"{result.text}\n{say('en', 'result_undone_unless')}".lstrip("\n"))
        detail = self._weighed(judgement)
        if approval:
            detail |= {"approval_id": approval.id, "approved_by": approval.decided_by}
        if grant:
            detail |= {"grant": grant.id, "granted_by": grant.given_by}
        writes = [
            turn.append(
                [result],
                cwd=str(outcome.cwd) if outcome.cwd else None,
                audit=[self._audited(turn, call, result, bound, detail)],
            )
        ]
        if approval:
            writes.append(self._store.finish_approval(call.id, self.outcome_line(result)))
        if approval and undone:
            writes.append(self._store.enqueue(self._keep_cards(turn, approval)))
        elif approval and guarded:
            writes.append(self._disarm(approval))
        await to_its_end(asyncio.gather(*writes))
        turn.watch(ToolFinished(call, result))

    async def _not_as_approved(
        self, turn: Turn, call: ToolCall, approval: Approval | None, files: Mapping[str, str]
    ) -> None:
        """Say that nothing ran, to the model, which may ask again, and on the card."""
        said, outcome = say("en", "result_changed"), say(self._language, "outcome_changed")
        if approval and approval.cwd == turn.cwd and files:
            # What the approval was bound to is known by its digest alone, so all of them are named.
            names = [name.removeprefix(f"{turn.cwd}/") for name in readable(files) or files]
            named = ", ".join(names)[:MAX_COMMAND]
            said, outcome = f"{said} What it runs: {named}", f"{outcome}: {named}"
        await turn.append([failed(call, "not_executed", said)])
        await self._store.finish_approval(call.id, outcome)

    def _scripts(self, judgement: Judgement, files: Mapping[str, str]) -> tuple[CardLine, ...]:
        """Return a command and how its scripts begin, for who must say yes to both."""
        if "paths.credential" in judgement.rules:
            return ()  # what it would run may be a key
        heads = [(Path(name).name, self._redactor.redact(head(Path(name)))) for name in readable(files)]
        shown = [CardLine(name, text, code=True) for name, text in heads if text][:MAX_SCRIPTS]
        return (CardLine("", judgement.command, code=True), *shown) if shown else ()

    def _keep_cards(self, turn: Turn, approval: Approval) -> list[Effect]:
        """Return the card once more, for its buttons are now those that keep or undo what was done."""
        where = self._ask_where(turn.conversation, approval.asker_id) or (turn.conversation,)
        return cards_of(approval, where, "keep")

    async def _disarm(self, approval: Approval) -> None:
        """The command failed: an undoing could only undo what somebody else did."""
        await self._store.settle_revert(approval.id, Reverting.DISARMED, at=self._now())

    async def _run(
        self, turn: Turn, call: ToolCall, judgement: Judgement, *, approved: bool = False
    ) -> ToolOutcome:
        async with self._slots:
            self._output_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            turn.watch(ToolStarted(call, subject_of(call)))
            context = ToolContext(
                conversation=turn.conversation,
                call_id=call.id,
                cwd=Path(turn.cwd),
                work_dir=self._work_dir,
                output_dir=self._output_dir,
                progress=lambda line: turn.watch(ToolOutput(call.id, self._redactor.redact(line))),
                timeout=self._tool_timeout,
                approved=approved,
            )
            return await self._tools.run(call, context)

    def _result(self, call: ToolCall, outcome: ToolOutcome) -> ToolResult:
        """Redact, then cut (requirement R4): what is cut off must not decide what is a secret."""
        text = neutralise(self._redactor.redact(outcome.text), tuple(self._tools))
        cut = truncate(text, self._result_chars)
        file = outcome.file
        if cut != text and not file:
            file = self._keep(call, text)
        return ToolResult(
            call.id,
            cut,
            is_error=outcome.is_error,
            code=outcome.code,
            exit_code=outcome.exit_code,
            duration=outcome.duration,
            truncated=outcome.truncated or cut != text,
            file=file,
        )

    def _keep(self, call: ToolCall, text: str) -> str:
        path = self._output_dir / f"{call.id}.txt"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)

    def outcome_line(self, result: ToolResult) -> str:
        """Return what a card says of a run: exit code or error code, and seconds."""
        how = f"exit {result.exit_code}" if result.exit_code is not None else result.code or "ok"
        return f"{how}, {result.duration:.1f} s" if result.duration is not None else how

    def _audited(
        self,
        turn: Turn,
        call: ToolCall,
        result: ToolResult,
        bound: str,
        more: Mapping[str, object],
    ) -> AuditEvent:
        detail = {"digest": bound, **self._what(call), **self._how_it_went(result), **more}
        return self._event(turn, "ran", detail)

    def _asked(self, turn: Turn, approval: Approval, call: ToolCall, judgement: Judgement) -> AuditEvent:
        detail = {"approval_id": approval.id, "digest": approval.digest, "cwd": approval.cwd}
        changed = {"replaces": approval.replaces} if approval.replaces else {}
        return self._event(turn, "asked", detail | self._what(call) | self._weighed(judgement) | changed)

    def _refused(self, turn: Turn, call: ToolCall, judgement: Judgement, code: str = "Denied") -> AuditEvent:
        return self._event(turn, "refused", self._what(call) | self._weighed(judgement) | {"code": code})

    def _event(self, turn: Turn, action: str, detail: Mapping[str, object]) -> AuditEvent:
        asker = turn.asker
        return AuditEvent(self._now(), action, turn.conversation, asker.sender_id if asker else None, detail)

    def _what(self, call: ToolCall) -> dict[str, object]:
        arguments = self._redactor.redact(json.dumps(dict(call.arguments), default=str))
        return {"call_id": call.id, "tool": call.name, "arguments": arguments}

    def _weighed(self, judgement: Judgement) -> dict[str, object]:
        return {
            "risk": judgement.risk.name.lower(),
            "reasons": [self._redactor.redact(reason) for reason in judgement.reasons],
            "rules": list(judgement.rules),
        }

    def _how_it_went(self, result: ToolResult) -> dict[str, object]:
        return {"outcome": self.outcome_line(result), "exit_code": result.exit_code, "code": result.code}

    async def _interrupted(self, turn: Turn, call: ToolCall, approval: Approval | None) -> ToolResult:
        """The process died in mid-call. It may have taken effect, so it is reported, never repeated."""
        text = say(self._language, "interrupted", subject=subject_of(call))
        effects = [Effect(f"interrupted:{call.id}", turn.conversation, "notice", {"text": text})]
        if approval and approval.revert and approval.revert.state is Reverting.ARMED:
            effects += self._keep_cards(turn, approval)
        await asyncio.gather(
            self._store.enqueue(effects),
            self._store.record(self._event(turn, "interrupted", self._what(call))),
            self._store.finish_approval(call.id, say(self._language, "outcome_interrupted")),
        )
        return failed(call, "missing_result", say("en", "result_interrupted"))


def cards_of(approval: Approval, where: Sequence[Conversation], again: str = "") -> list[Effect]:
    """Return the card of a question for each place; `again` names a second showing of it."""
    payload = {"approval_id": approval.id}
    mark = f":{again}" if again else ""
    return [Effect(f"card:{approval.id}:{place.chat_id}{mark}", place, "card", payload) for place in where]


def changed_call(call: ToolCall, call_id: str, command: str) -> ToolCall:
    """Return a call of the shell with a person's command in place of the model's.

    A person makes no claim of risk, so the classifier alone speaks; the call is asked about in any case.
    """
    arguments = {**call.arguments, "command": command, "risk": "low", "explanation": ""}
    return replace(call, id=call_id, arguments=arguments, repaired=False)


def failed(call: ToolCall, code: str, text: str) -> ToolResult:
    """Return the result of a call that did not run, or whose end nobody saw."""
    return ToolResult(call.id, text, is_error=True, code=code)


def repeated(transcript: Sequence[Message]) -> set[str]:
    """Return the ids of the last reply's calls that ask again for what it asked before (requirement P9)."""
    last = next((m for m in reversed(transcript) if isinstance(m, AssistantMessage)), None)
    seen: set[str] = set()
    again: set[str] = set()
    for call in last.tool_calls if last else ():
        if (what := signature(call)) in seen:
            again.add(call.id)
        seen.add(what)
    return again
