"""Commands about the model: which one answers here, what it may use, what it has used."""

import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from telegram import Message

from bot.messages import Conversation
from bot.store.base import Effect, Spending
from bot.telegram import inbound
from bot.telegram.commands.bill import bill, prices_from
from bot.telegram.commands.row import Asked, Pressed
from bot.telegram.png import bars
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

DAYS = 30


async def model(face: "TelegramFace", asked: Asked) -> str:
    wanted = asked.command.argument
    if not wanted:
        await face.store.enqueue([await choice(face, asked.conversation, f"models:{asked.update_id}")])
        return ""
    if wanted not in face.desk.models:
        if not face.people.may_decide(asked.user_id):
            return say(face.language, "model_not_listed")
        if problems := face.desk.model_problems(wanted):
            return "\n".join(problems)
    await choose(face, asked.conversation, wanted)
    return say(face.language, "model_chosen", model=wanted)


async def choice(face: "TelegramFace", where: Conversation, key: str) -> Effect:
    """Return the list of models with a button for each."""
    models, chosen = face.desk.models, (await face.store.conversation_state(where)).model
    others = [name for name in face.desk.keyed() if not any(m.startswith(f"{name}:") for m in models)]
    text = say(face.language, "model_now", model=chosen or models[0])
    if others:
        text += "\n" + say(face.language, "model_others", names=", ".join(others))
    buttons = [
        [f"{'✓ ' if spec == (chosen or models[0]) else ''}{spec}"[:64], f"m:{short_name(spec)}"]
        for spec in models
    ]
    return Effect(key, where, "notice", {"text": text, "buttons": buttons})


async def press_model(face: "TelegramFace", pressed: Pressed) -> str:
    message = pressed.query.message
    spec = next((m for m in face.desk.models if short_name(m) == pressed.argument), None)
    if spec is None or not isinstance(message, Message):
        return say(face.language, "toast_unknown")
    await choose(face, inbound.conversation_of(message), spec)
    said = say(face.language, "model_chosen", model=spec)
    await face.rewrite(message, said)
    return said


async def choose(face: "TelegramFace", where: Conversation, spec: str) -> None:
    await face.store.choose_model(where, "" if spec == face.desk.models[0] else spec)


def short_name(spec: str) -> str:
    """Return what a button carries for a model: stable, and never too long."""
    return hashlib.sha256(spec.encode()).hexdigest()[:12]


async def tools(face: "TelegramFace", asked: Asked) -> str:
    lines = [
        f"• {tool.name} – {tool.description.split('. ')[0].strip().rstrip('.')}" for tool in face.desk.tools
    ]
    return "\n".join(lines)


async def usage(face: "TelegramFace", asked: Asked) -> str:
    now = datetime.fromtimestamp(face.now()).astimezone()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    names = await face.store.names()
    parts, seen = [], list[Spending]()
    for key, since in (("usage_today", today), ("usage_month", today.replace(day=1))):
        rows = await face.store.spending(since.timestamp())
        total = sum(row.input + row.output for row in rows)
        seen += rows
        lines = bill(face.language, rows, names)
        parts.append("\n".join([say(face.language, key, tokens=f"{total:,}"), *lines]))
    if prices := prices_from(face.language, seen):
        parts.append(prices)
    first = today - timedelta(days=DAYS - 1)
    by_day = await face.store.spent_by_day(first.timestamp(), DAYS)
    text = "\n\n".join(parts)
    if not any(by_day):
        return text
    path = face.desk.files / f"usage-{asked.update_id}.png"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(bars(by_day))
    caption = say(face.language, "usage_chart", days=DAYS, most=f"{max(by_day):,}")
    await face.store.enqueue(
        [
            Effect(
                f"usage:{asked.update_id}",
                asked.conversation,
                "photo",
                {"path": str(path), "caption": caption},
            )
        ]
    )
    return text
