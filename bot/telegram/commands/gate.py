"""Commands about the gate: what may run unasked, what was decided, how a command would be judged."""

from datetime import datetime
from typing import TYPE_CHECKING

from bot.messages import Conversation
from bot.store.base import AuditEvent, Effect
from bot.telegram.cards import LASTING, short
from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

MAX_COMMAND = 200
MAX_LINE = 160
LINES, MOST_LINES = 15, 50


async def grants(face: "TelegramFace", asked: Asked) -> str:
    await face.store.enqueue([await grants_effect(face, asked.conversation, f"grants:{asked.update_id}")])
    return ""


async def grants_effect(face: "TelegramFace", where: Conversation, key: str) -> Effect:
    """Return the list of grants with a button to revoke each."""
    held = await face.store.grants(face.now())
    if not held:
        return Effect(key, where, "notice", {"text": say(face.language, "no_grants")})
    lines, buttons = [say(face.language, "grants_listed")], []
    for number, grant in enumerate(held, 1):
        lines.append(
            say(
                face.language,
                "grant_line",
                number=number,
                command=short(grant.command, MAX_COMMAND),
                rule=grant.rule,
                lasting=say(face.language, LASTING[grant.lasting]),
                time=moment(grant.expires_at),
                name=short(grant.given_name, MAX_COMMAND),
                uses=grant.uses,
            )
        )
        buttons.append([say(face.language, "button_revoke", number=number), f"g:{grant.id}"])
    return Effect(key, where, "notice", {"text": "\n\n".join(lines), "buttons": buttons})


def read_press(data: str | None) -> str | None:
    """Return the grant that a button revokes; None when it is no such button."""
    kind, _, grant_id = (data or "").partition(":")
    return grant_id if kind == "g" and grant_id else None


async def audit(face: "TelegramFace", asked: Asked) -> str:
    word = asked.command.argument
    count = min(max(int(word), 1), MOST_LINES) if word.isascii() and word.isdigit() else LINES
    events = await face.store.audit(count)
    return "\n".join(audit_line(event) for event in reversed(events)) or say(face.language, "no_audit")


def audit_line(event: AuditEvent) -> str:
    """Return one line of the audit for people: when, what, who, which call and how it went."""
    detail = event.detail
    who = detail.get("name") or (f"user {event.user_id}" if event.user_id else "")
    what = detail.get("arguments") or detail.get("undo") or detail.get("reason") or ""
    parts = [
        moment(event.at),
        event.action,
        who,
        detail.get("risk", ""),
        detail.get("tool", ""),
        detail.get("outcome", ""),
        f"#{str(detail['digest'])[:8]}" if detail.get("digest") else "",
        what,
    ]
    return short(" · ".join(str(part) for part in parts if part), MAX_LINE)


async def policy(face: "TelegramFace", asked: Asked) -> str:
    command = asked.command.argument
    if not command:
        return say(face.language, "policy_usage")
    cwd = (await face.store.conversation_state(asked.conversation)).cwd
    return face.policy(command, cwd or str(face.status.work_dir))


def moment(at: float) -> str:
    """Return date and time in the server's own time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
