"""How a question looks in the chat, and what its buttons say back.

A button carries only the random id of the approval and a verb; everything else is in the store, so a card
works after a restart and on any copy of it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity

from bot.store.base import Approval, Status
from bot.telegram.render import Rendered, utf16_len, visible
from bot.texts import say

MAX_COMMAND = 2500
MAX_REASONS = 6
MAX_REASON = 120
MAX_EXPLANATION = 300
MAX_SAID = 300
MAX_OUTCOME = 100
MAX_FOLDER = 150
MAX_NAME = 60
"""UTF-16 units: all of them together, the words around them and the mark of a repeat stay below 4096."""


class Verb(StrEnum):
    APPROVE = "y"
    DENY = "n"
    DENY_WHY = "w"
    AGAIN = "r"


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
    return utf16_len(visible(approval.command)) > MAX_COMMAND


def card(approval: Approval, language: str) -> tuple[Rendered, InlineKeyboardMarkup | None]:
    """Return the card's text and buttons, as the approval stands now."""
    lines = Lines()
    if approval.status is Status.PENDING:
        title = "card_title" if approval.tool == "run_in_terminal" else "card_call"
        lines.add(f"⚠️ {say(language, title, tool=short(approval.tool, MAX_NAME))}", MessageEntity.BOLD)
    else:
        lines.add(verdict(approval, language), MessageEntity.BOLD)
    lines.add(short(approval.command, MAX_COMMAND), MessageEntity.PRE)
    if too_long(approval):
        lines.add(say(language, "card_in_file"), MessageEntity.ITALIC)
    if approval.outcome:
        lines.add(f"→ {short(approval.outcome, MAX_OUTCOME)}", MessageEntity.BOLD)
    if approval.status is Status.PENDING:
        if approval.reasons:
            lines.add(f"{say(language, 'card_why')}:")
            for reason in approval.reasons[:MAX_REASONS]:
                lines.add(f"• {short(reason, MAX_REASON)}")
        if approval.explanation:
            lines.add(f"{say(language, 'card_model_says')}:")
            lines.add(short(approval.explanation, MAX_EXPLANATION), MessageEntity.BLOCKQUOTE)
    lines.add(footer(approval, language))
    return lines.rendered(), keyboard(approval, language)


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


def keyboard(approval: Approval, language: str) -> InlineKeyboardMarkup | None:
    def button(key: str, verb: Verb, style: str | None = None) -> InlineKeyboardButton:
        # Old clients ignore the style, so the words alone must do.
        return InlineKeyboardButton(say(language, key), callback_data=f"a:{approval.id}:{verb}", style=style)

    match approval.status:
        case Status.PENDING:
            return InlineKeyboardMarkup(
                [
                    [
                        button("button_approve", Verb.APPROVE, "success"),
                        button("button_deny", Verb.DENY, "danger"),
                    ],
                    [button("button_deny_why", Verb.DENY_WHY)],
                ]
            )
        case Status.EXPIRED:
            return InlineKeyboardMarkup([[button("button_again", Verb.AGAIN)]])
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

    def add(self, line: str, entity: str | None = None) -> None:
        if self._lines:
            self._length += 1
        length = utf16_len(line)
        if entity and length:
            self._entities.append(MessageEntity(entity, self._length, length))
        self._lines.append(line)
        self._length += length

    def rendered(self) -> Rendered:
        return Rendered("\n".join(self._lines), tuple(self._entities))
