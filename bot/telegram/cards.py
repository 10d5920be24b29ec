"""How a question looks in the chat, and what its buttons say back.

A button carries only the random id of the approval and a verb; everything else is in the store, so a card
works after a restart and on any copy of it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity

from bot.store.base import Approval, CardLine, Lasting, Reverting, Status
from bot.telegram.render import Rendered, utf16_len, visible
from bot.texts import TEXTS, say

MAX_COMMAND = 2000
MAX_REASONS = 6
MAX_REASON = 120
MAX_EXPLANATION = 300
MAX_SAID = 300
MAX_OUTCOME = 100
MAX_FOLDER = 150
MAX_NAME = 60
MAX_UNDO = 200
MAX_FILES = 200
MAX_LABEL = 30
"""UTF-16 units: all of them together, the words around them and the mark of a repeat stay below 4096."""


class Verb(StrEnum):
    APPROVE = "y"
    DENY = "n"
    DENY_WHY = "w"
    AGAIN = "r"
    CHANGE = "c"
    MORE = "m"
    BACK = "b"
    TASK = "t"
    MINUTES = "q"
    ALWAYS = "e"
    GUARDED = "g"
    KEEP = "k"
    UNDO = "u"


GRANTS = {Verb.TASK: Lasting.TASK, Verb.MINUTES: Lasting.MINUTES, Verb.ALWAYS: Lasting.ALWAYS}
LASTING = {Lasting.TASK: "grant_task", Lasting.MINUTES: "grant_minutes", Lasting.ALWAYS: "grant_always"}
"""Texts."""
REVERT_AFTER = 300.0
"""Seconds after which what ran guarded is undone, unless the owner says otherwise."""


@dataclass(frozen=True, slots=True)
class Press:
    """What a button of a card says."""

    approval_id: str
    verb: Verb


def read_press(data: str | None) -> Press | None:
    """Return what callback data means; None when it is no card's."""
    match (data or "").split(":"):
        case ["a", approval_id, verb] if verb in {v.value for v in Verb}:
            return Press(approval_id, Verb(verb))
    return None


def too_long(approval: Approval) -> bool:
    """Whether the card can't show the whole of what is to be approved, so that a file must go before it."""
    return utf16_len(visible(whole(approval))) > MAX_COMMAND


def whole(approval: Approval) -> str:
    """Return all that is to be approved: the command, or the lines that say what the call would do."""
    if not approval.lines:
        return approval.command
    return "\n".join(f"{line.label}: {line.text}" if line.label else line.text for line in approval.lines)


def card(
    approval: Approval,
    language: str,
    sandbox: str = "",
    *,
    more: bool = False,
    revert_after: float = REVERT_AFTER,
) -> tuple[Rendered, InlineKeyboardMarkup | None]:
    """Return the card's text and buttons, as the approval stands now.

    Args:
        sandbox: The level at which commands run that nobody was asked about; empty when there is none.
        more: Show which grants may be given and what they cover, in place of what the model says.
        revert_after: Seconds that a guarded run would have.
    """
    pending = approval.status is Status.PENDING
    more = more and pending and bool(approval.grant_key)
    lines = Lines()
    if pending:
        title = "card_title" if approval.tool == "run_in_terminal" else "card_call"
        lines.add(f"⚠️ {say(language, title, tool=short(approval.tool, MAX_NAME))}", MessageEntity.BOLD)
    else:
        lines.add(verdict(approval, language), MessageEntity.BOLD)
    if approval.lines:
        add_lines(lines, approval, language)
    else:
        lines.add(short(approval.command, MAX_COMMAND), MessageEntity.PRE)
    if too_long(approval):
        lines.add(say(language, "card_in_file"), MessageEntity.ITALIC)
    if approval.changed_by:
        lines.add(say(language, "card_changed", name=short(approval.changed_by, MAX_NAME)))
    if approval.outcome:
        lines.add(f"→ {short(approval.outcome, MAX_OUTCOME)}", MessageEntity.BOLD)
    if approval.revert:
        lines.add(undoing(approval, language), MessageEntity.BOLD)
    if more:
        for line in grant_rule(approval, language):
            lines.add(line)
    elif pending:
        warnings = approval.warnings[:MAX_REASONS]
        for warning in warnings:
            lines.add(f"⚠️ {short(warning, MAX_REASON)}", MessageEntity.BOLD)
        if reasons := approval.reasons[: MAX_REASONS - len(warnings)]:
            lines.add(f"{say(language, 'card_why')}:")
            for reason in reasons:
                lines.add(f"• {short(reason, MAX_REASON)}")
        if approval.explanation:
            lines.add(f"{say(language, 'card_model_says')}:")
            lines.add(short(approval.explanation, MAX_EXPLANATION), MessageEntity.BLOCKQUOTE)
    if pending and sandbox and approval.tool == "run_in_terminal":
        lines.add(say(language, "card_unconfined", level=sandbox), MessageEntity.ITALIC)
    if approval.undo and (pending or approval.revert):
        lines.add(say(language, "card_undo", undo=short(approval.undo, MAX_UNDO)))
    if pending and approval.code:
        name = short(approval.code.user_name, MAX_NAME)
        lines.add(say(language, "card_code", name=name, code=approval.code.digits), MessageEntity.BOLD)
    elif pending and approval.second_step:
        lines.add(say(language, "card_second_step", why=short(approval.second_step, MAX_NAME)))
    lines.add(footer(approval, language))
    return lines.rendered(), keyboard(approval, language, more=more, revert_after=revert_after)


def add_lines(lines: "Lines", approval: Approval, language: str) -> None:
    """Add what the call would do, as much of it as there is room for."""
    room = MAX_COMMAND
    for line in approval.lines:
        block = line.code and (not line.label or "\n" in line.text)
        label = f"{short(label_of(line, language), MAX_LABEL)}:" if line.label else ""
        label += ("\n" if block else " ") if label else ""
        room -= utf16_len(label) + 1
        if room < 1:
            break
        text = short(line.text, room)
        # What has no label is quoted: it is the thing itself, a post's text.
        kind = None if label else MessageEntity.BLOCKQUOTE
        if line.code:
            kind = MessageEntity.PRE if block else MessageEntity.CODE
        lines.add(text, kind, label=label)
        room -= utf16_len(text)


def label_of(line: CardLine, language: str) -> str:
    """Return a line's label in a language, if it is one that tools use."""
    key = f"card_line_{line.label.lower().replace(' ', '_')}"
    return say(language, key) if key in TEXTS else line.label


def grant_rule(approval: Approval, language: str) -> list[str]:
    """Return in words what a grant given here covers; a grant keeps exactly this."""
    name = short(approval.asker_name or str(approval.asker_id), MAX_NAME)
    rule = [say(language, "card_grant", cwd=short(approval.cwd, MAX_FOLDER), name=name)]
    if approval.grant_files:
        files = short(", ".join(approval.grant_files), MAX_FILES)
        rule.append(say(language, "card_grant_files", files=files))
    return rule


def undoing(approval: Approval, language: str) -> str:
    """Return the line that says whether what ran will be undone."""
    revert = approval.revert
    assert revert is not None
    return say(
        language,
        f"card_revert_{revert.state.value}",
        minutes=f"{revert.after / 60:g}",
        time=clock_time(revert.due_at or approval.created_at),
        name=short(revert.name, MAX_NAME),
        outcome=short(revert.outcome, MAX_OUTCOME),
    )


def verdict(approval: Approval, language: str) -> str:
    """Return the first line of a decided card."""
    at = clock_time(approval.decided_at or approval.created_at)
    name = short(approval.decided_name or str(approval.decided_by or ""), MAX_NAME)
    mark = {Status.APPROVED: "✅", Status.DENIED: "⛔", Status.EXPIRED: "⌛", Status.CANCELLED: "🚫"}
    line = f"{mark[approval.status]} {say(language, f'card_{approval.status}', name=name, time=at)}"
    return f"{line}: {short(approval.reason, MAX_SAID)}" if approval.reason else line


def footer(approval: Approval, language: str) -> str:
    parts = [say(language, "card_folder", cwd=short(approval.cwd, MAX_FOLDER))]
    if approval.asker_name:
        parts.append(say(language, "card_asked_by", name=short(approval.asker_name, MAX_NAME)))
    if approval.status is Status.PENDING:
        parts.append(say(language, "card_until", time=clock_time(approval.expires_at)))
    parts.append(f"#{approval.digest[:8]}")
    return " · ".join(parts)


def keyboard(
    approval: Approval, language: str, *, more: bool = False, revert_after: float = REVERT_AFTER
) -> InlineKeyboardMarkup | None:
    def button(key: str, verb: Verb, style: str | None = None, **values: object) -> InlineKeyboardButton:
        # Old clients ignore the style, so the words alone must do.
        data = f"a:{approval.id}:{verb}"
        return InlineKeyboardButton(say(language, key, **values), callback_data=data, style=style)

    if more:
        rows = [[button(LASTING[lasting], verb)] for verb, lasting in GRANTS.items()]
        return InlineKeyboardMarkup([*rows, [button("button_back", Verb.BACK)]])
    match approval.status:
        case Status.PENDING:
            rows = [
                [
                    button("button_approve", Verb.APPROVE, "success"),
                    button("button_deny", Verb.DENY, "danger"),
                ],
                [button("button_deny_why", Verb.DENY_WHY)],
            ]
            if approval.tool == "run_in_terminal":
                rows[1].append(button("button_change", Verb.CHANGE))
            if approval.grant_key:
                rows[1].append(button("button_more", Verb.MORE))
            if approval.undo:
                minutes = f"{revert_after / 60:g}"
                rows.append([button("button_guarded", Verb.GUARDED, "success", minutes=minutes)])
            return InlineKeyboardMarkup(rows)
        case Status.EXPIRED:
            return InlineKeyboardMarkup([[button("button_again", Verb.AGAIN)]])
    if approval.revert and approval.revert.state is Reverting.ARMED:
        return InlineKeyboardMarkup(
            [[button("button_keep", Verb.KEEP, "success"), button("button_undo", Verb.UNDO)]]
        )
    return None


def clock_time(at: float) -> str:
    """Return hours and minutes in the server's own time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def short(text: str, units: int) -> str:
    """Return what a person shall see of `text`, every character of it shown, at most so much."""
    return cut(visible(text), units)


def cut(text: str, units: int) -> str:
    """Return at most so many UTF-16 units of `text`, marked when something is missing."""
    if utf16_len(text) <= units:
        return text
    kept = text.encode("utf-16-le")[: (units - 1) * 2].decode("utf-16-le", "ignore")
    return kept + "…"


class Lines:
    """Text with entities, built line by line; offsets are UTF-16 units."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._entities: list[MessageEntity] = []
        self._length = 0

    def add(self, line: str, entity: str | None = None, *, label: str = "") -> None:
        """Add a line; `label` stands before it, outside of the entity."""
        if self._lines:
            self._length += 1
        length = utf16_len(line)
        self._length += utf16_len(label)
        if entity and length:
            self._entities.append(MessageEntity(entity, self._length, length))
        self._lines.append(label + line)
        self._length += length

    def rendered(self) -> Rendered:
        return Rendered("\n".join(self._lines), tuple(self._entities))
