"""What is kept, and the promises of every backend. Any class with these methods is a store.

Every write is durable when it returns (SQLite: WAL, synchronous=FULL) and all of one call is one transaction.
Concurrent writes may share a commit. Times are seconds since the epoch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from bot.messages import Conversation, Message, Transcript, Usage


@dataclass(frozen=True, slots=True)
class StoredUpdate:
    """An update as Telegram sent it; `raw` is its JSON."""

    update_id: int
    raw: str


class Status(StrEnum):
    """Where an approval stands. Everything but PENDING is final."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Code:
    """What a presser must type before a question of the worst class counts as approved.

    Attributes:
        guarded: Whether the press was for a run that is undone unless kept.
    """

    user_id: int
    user_name: str
    digits: str
    expires_at: float
    guarded: bool = False


class Reverting(StrEnum):
    """How far an undoing is. KEPT, DISARMED and UNDONE are final."""

    WAITING = "waiting"
    """The command has not begun."""
    ARMED = "armed"
    """It will be undone at `due_at`."""
    KEPT = "kept"
    DISARMED = "disarmed"
    """The command failed, so there is nothing to undo."""
    UNDOING = "undoing"
    """Claimed: never begun again."""
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Revert:
    """The undoing of a command unless a person keeps what it did.

    Attributes:
        after: Seconds between the start of the command and its undoing.
        due_at: None until the command began.
        name: Who kept it, or had it undone early.
        outcome: Of the undo command, one line.
    """

    state: Reverting
    after: float
    due_at: float | None = None
    name: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line of a card. `code` asks for a copyable monospace `text`; `label` may be empty."""

    label: str
    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """A question to a person about one tool call.

    Attributes:
        id: Random; the only thing a button carries.
        digest: SHA-256 over tool, exact arguments, cwd and conversation; recomputed before the call runs.
        command: What the person reads: the command, or the arguments as JSON.
        reasons: Fixed sentences of the classifier, most severe first.
        explanation: The model's own words; shown as the model's.
        asker_id: The person whose message led here; None when nobody's did.
        cards: (chat_id, message_id) of every card sent for it.
        reason: What the person said with a denial, or why it was cancelled.
        outcome: One line after the run (`exit 0, 1.2 s`); empty before.
        replaces: Id of the model's call whose place this takes: a person changed the command, or what it
            would do changed. Empty for the first question about a call.
        changed_by: Who wrote the command instead of the model; empty when nobody did.
        second_step: Why a press alone does not approve; empty when it does.
        grant_key: What a grant given here covers, see `bot.safety.grants.key`; empty when none may be given.
        grant_files: Absolute paths of what runs behind the command; a grant ends when one changes.
        undo: The command that undoes this one; empty when none is known.
        lines: What the call would do, found out without doing it; shown instead of `command`. May be empty.
        warnings: What stands out in that; may be empty.
        fingerprint: Of what `lines` say, where the press is for this alone; empty where they only explain.
        image: Absolute path of a picture to be seen before the card; empty when there is none.
        code: Asked of a presser at the moment; None otherwise.
        revert: How its undoing stands; None when it runs without.
    """

    id: str
    conversation: Conversation
    call_id: str
    digest: str
    tool: str
    command: str
    cwd: str
    reasons: tuple[str, ...]
    explanation: str
    asker_id: int | None
    asker_name: str
    created_at: float
    expires_at: float
    status: Status = Status.PENDING
    decided_by: int | None = None
    decided_name: str = ""
    decided_at: float | None = None
    reason: str = ""
    outcome: str = ""
    cards: tuple[tuple[int, int], ...] = ()
    replaces: str = ""
    changed_by: str = ""
    second_step: str = ""
    grant_key: str = ""
    grant_files: tuple[str, ...] = ()
    undo: str = ""
    lines: tuple[CardLine, ...] = ()
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    image: str = ""
    code: Code | None = None
    revert: Revert | None = None


class Lasting(StrEnum):
    """How long a grant lasts."""

    TASK = "task"
    """Until the next message of a person in that conversation, or `/new`."""
    MINUTES = "minutes"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval that stays: one exact command may run unasked.

    Attributes:
        user_id: Whose requests it covers.
        key: Digest over everything that must be the same, see `bot.safety.grants.key`.
        rule: What it covers, in words, as it was shown before it was given.
        given_by: The admin who gave it.
        ended_at: When it was revoked or its task was over; None while neither has happened.
    """

    id: str
    lasting: Lasting
    conversation: Conversation
    user_id: int
    key: str
    command: str
    cwd: str
    rule: str
    given_by: int
    given_name: str
    created_at: float
    expires_at: float
    uses: int = 0
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """Something to be seen in Telegram, stored before it is sent.

    Attributes:
        key: One per effect for ever: storing a second effect of the same key does nothing.
        kind: `answer`, `card`, `card_update`, `notice`, `file` or `photo`; the face knows how each looks.
        payload: JSON object; its fields are the kind's.
    """

    key: str
    conversation: Conversation
    kind: str
    payload: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredEffect:
    """An effect not yet wholly sent.

    Attributes:
        sent: Message ids of the parts already sent, in order; None for one that Telegram took whole without
            saying which message it became.
        unsure: The next part was handed to Telegram and no answer came: it may have arrived.
        resent: It was begun to be sent again: from now on it says that it may be a repeat.
        previewed: Some of it may be shown already: `preview_of` says in which message.
    """

    id: int
    effect: Effect
    sent: tuple[int | None, ...] = ()
    unsure: bool = False
    resent: bool = False
    previewed: bool = False


class ConversationState(NamedTuple):
    """What is kept of a conversation beside its messages.

    Attributes:
        cwd: Where its commands run; empty until one ran.
        nonce: Marks its tool results as genuine; made once, kept for ever.
        model: The `provider:model` chosen there; empty for the usual chain.
    """

    cwd: str
    nonce: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the append-only audit: who did what. `detail` is a JSON object, already redacted."""

    at: float
    action: str
    conversation: Conversation | None = None
    user_id: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview:
    """A message that shows something unfinished, and will be changed or taken away.

    Attributes:
        kind: `answer` for the text of a model while it is being written, `progress` for what runs.
        message_id: None while it is not known to have arrived.
    """

    id: int
    conversation: Conversation
    kind: str
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A message that was found, and when and where it was said."""

    at: float
    conversation: Conversation
    message: Message


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens of one model for one person, call by call; `user_id` is None for what nobody asked for.

    Call by call, for what a request costs may depend on its length.
    """

    model: str
    user_id: int | None
    usages: tuple[Usage, ...]

    @property
    def calls(self) -> int:
        return len(self.usages)

    @property
    def input(self) -> int:
        return sum(usage.input for usage in self.usages)

    @property
    def output(self) -> int:
        return sum(usage.output for usage in self.usages)


UpdateIds = int | Sequence[int] | None
"""The updates that something came in, to be finished with it."""


class Inbox(Protocol):
    """Updates received: none is lost, none is handled twice."""

    async def receive(self, updates: Sequence[StoredUpdate], at: float) -> list[int]:
        """Store updates; return the ids that were new, in the order given."""
        ...

    async def unhandled(self) -> list[StoredUpdate]:
        """Return what was received and not finished, by update id."""
        ...

    async def finish_update(self, update_id: UpdateIds, error: str = "") -> None:
        """Mark it as handled; with `error`, as poison: kept, never handed out again. May be called twice."""
        ...

    async def last_update_id(self) -> int | None:
        """Return the highest id ever received; None at the very start."""
        ...

    async def inbox_size(self) -> int:
        """Count what waits."""
        ...


class Transcripts(Protocol):
    """Messages by conversation; append-only."""

    async def load(self, conversation: Conversation) -> Transcript:
        """Return the messages since the last `reset`, oldest first; may be empty."""
        ...

    async def append(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        *,
        effects: Sequence[Effect] = (),
        update_id: UpdateIds = None,
        cwd: str | None = None,
        audit: Sequence[AuditEvent] = (),
    ) -> None:
        """Add messages at the end; with them store their effects, finish the update, keep the new cwd."""
        ...

    async def reset(self, conversation: Conversation, update_id: int | None = None) -> None:
        """Begin afresh: `load` returns nothing older from now on. Nothing is deleted."""
        ...

    async def open_conversations(self) -> list[Conversation]:
        """Return those whose last message does not end a turn: see `AssistantMessage`."""
        ...

    async def conversation_state(self, conversation: Conversation) -> ConversationState:
        """Return what is kept of a conversation beside its messages.

        One that has not begun has a nonce already, and keeps it when its first message is stored.
        """
        ...

    async def migrate_chat(self, old: int, new: int) -> None:
        """A group became a supergroup: move what it has and what waits to be sent; its cards stay behind."""
        ...

    async def moved_chats(self) -> dict[int, int]:
        """Return every such move, old id to new."""
        ...


class Approvals(Protocol):
    """Questions to people, and claims of calls."""

    async def ask(
        self, approvals: Sequence[Approval], effects: Sequence[Effect], audit: Sequence[AuditEvent] = ()
    ) -> None:
        """Store new questions with their cards. A call that has a question already keeps it."""
        ...

    async def approval(self, approval_id: str) -> Approval | None: ...

    async def approvals_for(self, call_ids: Sequence[str]) -> dict[str, Approval]:
        """Return the questions about these calls, by call id.

        Where a question took another's place, it is the call's.
        """
        ...

    async def approval_at(self, chat_id: int, message_id: int) -> Approval | None:
        """Return the question whose card this message is."""
        ...

    async def pending_approvals(self, conversation: Conversation | None = None) -> list[Approval]:
        """Return undecided questions, oldest first; of every conversation when None."""
        ...

    async def decide(
        self,
        approval_id: str,
        status: Status,
        *,
        at: float,
        by: int | None = None,
        name: str = "",
        reason: str = "",
        update_id: int | None = None,
        code: str = "",
        grant: Grant | None = None,
        revert_after: float | None = None,
        instead: tuple[Approval, Sequence[Effect]] | None = None,
    ) -> Approval | None:
        """Give the first and only decision, by one conditional UPDATE.

        APPROVED after `expires_at` is refused. Stores, with it, a `card_update` effect and an audit event;
        finishes the update in any case.

        Args:
            code: What the presser typed; with a second step, APPROVED needs the code that stands open.
            grant: Stored when the decision is.
            revert_after: Have what runs undone after so many seconds unless kept.
            instead: A question that takes this one's place, and its cards; stored when the decision is.

        Returns:
            The approval as decided; None if it was decided before, had expired or does not exist.
        """
        ...

    async def expire(self, now: float) -> list[Approval]:
        """Decide EXPIRED for everything past its time, with card updates; return those."""
        ...

    async def card_sent(self, approval_id: str, chat_id: int, message_id: int) -> None: ...

    async def finish_approval(self, call_id: str, outcome: str) -> None:
        """Keep the outcome of an approved call and store its `card_update`; nothing if it had no question.

        The first outcome stays, but for `correct_outcome`.
        """
        ...

    async def correct_outcome(self, call_id: str, outcome: str) -> None:
        """Replace the outcome of an approved call by what became of it later; its cards change."""
        ...

    async def claim(
        self, conversation: Conversation, call_id: str, at: float, *, digest: str = "", grant_id: str = ""
    ) -> bool:
        """Mark a call as about to run. True once per call, ever.

        With `digest` the call also needs an APPROVED question of that digest, with `grant_id` that grant in
        force at `at`; otherwise False and no claim. An undoing that was asked for is armed.
        """
        ...

    async def claimed(self, call_ids: Sequence[str]) -> set[str]:
        """Return which of these calls were ever claimed."""
        ...


class SecondSteps(Protocol):
    """Codes that a presser types. At most one stands open for a question."""

    async def ask_code(
        self,
        approval_id: str,
        code: Code,
        *,
        chat_id: int,
        at: float,
        update_id: int | None = None,
    ) -> Approval | None:
        """Have a code typed in that chat; the presser's own older one is void. The cards change.

        Returns:
            The question; None if it is decided or expired, needs no code, or waits for somebody else's.
        """
        ...

    async def code_asked(self, user_id: int, chat_id: int) -> Approval | None:
        """Return the newest undecided question for which this person was asked a code here, if ever."""
        ...

    async def void_code(self, approval_id: str, *, at: float, why: str, update_id: int | None = None) -> None:
        """Close the open code unused; the cards change back. Nothing if none is open."""
        ...

    async def void_old_codes(self, now: float) -> None:
        """Close the codes whose time is over."""
        ...


class Grants(Protocol):
    """Approvals that stay; given by `decide`, used by `claim`."""

    async def grant_for(self, conversation: Conversation, user_id: int, key: str, at: float) -> Grant | None:
        """Return a grant in force for exactly this; the one that lasts longest."""
        ...

    async def grants(self, at: float) -> list[Grant]:
        """Return the grants in force, oldest first."""
        ...

    async def revoke(
        self, grant_id: str, *, at: float, by: int | None, update_id: int | None = None
    ) -> Grant | None:
        """End a grant; what was claimed under it goes on. None if there is none in force.

        Args:
            by: None when the bot ends it, for whoever gave it is no admin any more.
        """
        ...


class Reverts(Protocol):
    """Undoings that wait for a person to keep what was done; asked for by `decide`, armed by `claim`."""

    async def due_reverts(self, now: float) -> list[Approval]:
        """Return the questions whose command is to be undone now, and may not have been."""
        ...

    async def broken_reverts(self) -> list[Approval]:
        """Return those whose undoing began and never ended. To be asked before anything begins."""
        ...

    async def settle_revert(
        self,
        approval_id: str,
        state: Reverting,
        *,
        at: float,
        by: int | None = None,
        name: str = "",
        update_id: int | None = None,
    ) -> Approval | None:
        """Decide what becomes of an armed undoing: KEPT, DISARMED or UNDOING; once. The cards change.

        Returns:
            The question; None when it was settled before or is not armed.
        """
        ...

    async def finish_revert(
        self,
        approval_id: str,
        outcome: str,
        *,
        effects: Sequence[Effect] = (),
        audit: Sequence[AuditEvent] = (),
    ) -> None:
        """From UNDOING to UNDONE, with what came of it."""
        ...


class Outbox(Protocol):
    """Effects that were decided on and must be seen."""

    async def enqueue(self, effects: Sequence[Effect], *, update_id: UpdateIds = None) -> None: ...

    def on_effects(self, listener: Callable[[], None]) -> None:
        """Have `listener` called after each commit that may have stored effects. There is one listener."""
        ...

    async def unsent(self, after: int = 0) -> list[StoredEffect]:
        """Return effects not yet wholly sent with an id above `after`, oldest first."""
        ...

    async def sending(self, effect_id: int, *, resend: bool = False) -> None:
        """The next part is about to be handed to Telegram: until `part_sent`, its outcome is unsure."""
        ...

    async def part_sent(self, effect_id: int, message_id: int | None, *, last: bool) -> None:
        """The part arrived; with `last` the effect is done.

        Args:
            message_id: As Telegram gave it, so above 0. None when it took the part and did not say: then the
                effect is kept with an error once it is done.
        """
        ...

    async def not_sent(self, effect_id: int) -> None:
        """The part surely did not arrive: it may be sent again."""
        ...

    async def stand_in(self, effect_id: int, message_id: int) -> None:
        """A message is there whose last text is to be the next part: `preview_of` returns it until then."""
        ...

    async def give_up(self, effect_id: int, error: str) -> None:
        """Close an effect that can't be sent; kept with its error."""
        ...

    async def finish_effect(self, effect_id: int) -> None:
        """An effect that makes no message of its own is done."""
        ...

    async def outbox_size(self) -> int: ...


class Previews(Protocol):
    """Messages that show something unfinished; at most one of a kind stands open in a conversation.

    An `answer` effect whose payload says `preview` is handed the open one when it is stored, to finish it by
    an edit instead of being sent; once that part is sent it is forgotten. Once a person speaks again, what
    stands open is forgotten and stays.
    """

    async def begin_preview(self, conversation: Conversation, kind: str) -> Preview:
        """Return the one that stands open, or a new one: its message is about to be sent."""
        ...

    async def begin_answer(self, conversation: Conversation) -> Preview | None:
        """As `begin_preview` for an answer; None when that answer is stored already, and finishes no more."""
        ...

    async def preview_sent(self, preview_id: int, message_id: int) -> None: ...

    async def end_preview(self, preview_id: int) -> None:
        """Forget one: its message never arrived, is gone, or is as it should stay."""
        ...

    async def open_previews(self, kind: str, conversation: Conversation | None = None) -> list[Preview]:
        """Return those that stand open; of every conversation when None."""
        ...

    async def preview_of(self, effect_key: str) -> Preview | None:
        """Return the one that an effect was handed, or that stands in for its next part."""
        ...


class Ledger(Protocol):
    """What was used and what was done; append-only."""

    async def record_usage(
        self,
        conversation: Conversation,
        model: str,
        usage: Usage,
        at: float,
        *,
        user_id: int | None = None,
    ) -> None:
        """Count one model call; `user_id` is whose message led to it."""
        ...

    async def record(self, event: AuditEvent) -> None: ...

    async def audit(self, limit: int) -> list[AuditEvent]:
        """Return the last so many lines of the audit, newest first."""
        ...

    async def spent(self, conversation: Conversation | None, since: float) -> Usage:
        """Return the sum of tokens since a time; of every conversation when None."""
        ...

    async def spent_in_turn(self, conversation: Conversation) -> Usage:
        """Return the sum of tokens since a person last spoke there."""
        ...


class Records(Protocol):
    """Looking back, and what a conversation was set to."""

    async def find_said(self, chat_id: int, words: Sequence[str], limit: int) -> list[Said]:
        """Return messages of people and models in a chat that hold words beginning so, newest first.

        All words must be there; case and accents don't matter. No words find nothing.
        """
        ...

    async def everything(self, conversation: Conversation) -> list[tuple[float, Message]]:
        """Return all messages with their times, oldest first; also what a `reset` hides."""
        ...

    async def spending(self, since: float) -> list[Spending]:
        """Return the tokens since a time, by model and person, most first."""
        ...

    async def spent_by_day(self, since: float, days: int) -> list[int]:
        """Return the tokens of each of so many days of 86,400 s, the first beginning at `since`."""
        ...

    async def names(self) -> dict[int, str]:
        """Return the last known name of everybody who wrote, by user id."""
        ...

    async def choose_model(self, conversation: Conversation, model: str) -> None:
        """Choose a model for a conversation; empty for the usual chain."""
        ...

    async def backup(self, target: Path) -> None:
        """Write a copy of all that is committed; it appears whole, and only its owner may read it.

        Raises:
            StoreError: It can't be written.
        """
        ...


class Store(
    Inbox, Transcripts, Approvals, SecondSteps, Grants, Reverts, Outbox, Previews, Ledger, Records, Protocol
):
    """Everything kept. `bot.store.sqlite` is the one backend today."""

    async def size(self) -> int:
        """Return the bytes used on disk."""
        ...


__all__ = [
    "Approval",
    "Approvals",
    "AuditEvent",
    "CardLine",
    "Code",
    "Effect",
    "Grant",
    "Grants",
    "Inbox",
    "Lasting",
    "Ledger",
    "Outbox",
    "Preview",
    "Previews",
    "Records",
    "Revert",
    "Reverting",
    "Reverts",
    "Said",
    "SecondSteps",
    "Spending",
    "Status",
    "Store",
    "StoredEffect",
    "StoredUpdate",
    "Transcripts",
]
