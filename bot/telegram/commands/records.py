"""Commands that look back: what was said, all of it as files, the log, a copy of the database."""

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import StoreError
from bot.messages import AssistantMessage, Message, Notice, ToolResult, UserMessage
from bot.store.base import Effect, Said
from bot.store.codec import KINDS
from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

FOUND = 10
AROUND = 80
LINES, MOST_LINES = 20, 100
MAX_UPLOAD = 49_000_000
"""Bytes; Telegram takes 50 MB from a bot. https://core.telegram.org/bots/api#senddocument"""
BACKUPS_KEPT = 3


async def history(face: "TelegramFace", asked: Asked) -> str:
    words = asked.command.argument.split()
    if not words:
        return say(face.language, "history_usage")
    found = await face.store.find_said(asked.conversation.chat_id, words, FOUND)
    if not found:
        return say(face.language, "history_none")
    return "\n\n".join(line(said, words[0]) for said in found)


def line(said: Said, word: str) -> str:
    """Return a found message as one line: when, who, and the text around the word."""
    message = said.message
    who = (message.sender_name or "?") if isinstance(message, UserMessage) else "Kai"
    text = " ".join(message.text.split())
    at = max(0, text.lower().find(word.lower()) - AROUND // 2)
    piece = text[at : at + 2 * AROUND]
    return f"{when(said.at)} · {who}: {'…' if at else ''}{piece}{'…' if at + 2 * AROUND < len(text) else ''}"


async def log(face: "TelegramFace", asked: Asked) -> str:
    if asked.conversation.chat_id < 0:
        return say(face.language, "only_in_private")
    word = asked.command.argument
    count = min(max(int(word), 1), MOST_LINES) if word.isascii() and word.isdigit() else LINES
    return "\n".join(face.desk.log(count)) or say(face.language, "no_audit")


async def export(face: "TelegramFace", asked: Asked) -> str:
    if asked.conversation.chat_id < 0 and not face.people.may_decide(asked.user_id):
        return say(face.language, "admins_only")
    messages = await face.store.everything(asked.conversation)
    if not messages:
        return say(face.language, "no_audit")
    face.desk.files.mkdir(parents=True, exist_ok=True, mode=0o700)
    effects = []
    for ending, content in (("md", as_markdown(messages)), ("json", as_json(messages))):
        path = face.desk.files / f"export-{asked.update_id}.{ending}"
        path.touch(mode=0o600)
        path.write_text(content, encoding="utf-8", errors="replace")
        payload = {"path": str(path), "name": f"conversation.{ending}"}
        effects.append(Effect(f"export:{asked.update_id}:{ending}", asked.conversation, "file", payload))
    await face.store.enqueue(effects)
    return say(face.language, "exported", count=len(messages))


def as_markdown(messages: Sequence[tuple[float, Message]]) -> str:
    """Return a conversation for people to read, oldest first."""
    parts = []
    for at, message in messages:
        match message:
            case UserMessage(text, sender_name=name):
                parts.append(f"## {name or 'Schedule'}, {when(at)}\n\n{text}")
            case AssistantMessage(text, tool_calls=calls):
                parts.append(f"## Kai, {when(at)}\n\n{text}".rstrip())
                parts += [f"`{call.name}`\n\n{fenced(to_text(call.arguments))}" for call in calls]
            case ToolResult(text=text, code=code):
                parts.append(f"Result{f' ({code})' if code else ''}:\n\n{fenced(text)}")
            case Notice(text):
                parts.append(f"> {text}".replace("\n", "\n> "))
    return "\n\n".join(parts) + "\n"


def as_json(messages: Sequence[tuple[float, Message]]) -> str:
    """Return a conversation as a JSON list: `at`, `kind`, and the message's own fields."""
    rows = [{"at": at, "kind": KINDS[type(message)], **asdict(message)} for at, message in messages]
    return json.dumps(rows, indent=1, ensure_ascii=False, default=str)


def fenced(text: str) -> str:
    """Return text in a fence that nothing in it ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def to_text(arguments: object) -> str:
    return json.dumps(arguments, indent=1, ensure_ascii=False, default=str)


async def backup(face: "TelegramFace", asked: Asked) -> str:
    if asked.conversation.chat_id < 0:
        return say(face.language, "only_in_private")
    stamp = datetime.fromtimestamp(face.now()).astimezone().strftime("%Y-%m-%d-%H%M%S")
    path = face.desk.backups / f"kai-{stamp}.db"
    try:
        await face.store.backup(path)
    except StoreError as exc:
        return say(face.language, "backup_failed", why=exc)
    for old in sorted(face.desk.backups.glob("kai-*.db"))[:-BACKUPS_KEPT]:
        old.unlink(missing_ok=True)
    packed = pack(path, face.desk.files)
    if packed.stat().st_size > MAX_UPLOAD:
        packed.unlink()
        return say(face.language, "backup_kept", path=path)
    payload = {"path": str(packed), "name": f"{path.name}.gz"}
    await face.store.enqueue([Effect(f"backup:{asked.update_id}", asked.conversation, "file", payload)])
    return say(face.language, "backup_sent", path=path)


def pack(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    packed = folder / f"{path.name}.gz"
    packed.touch(mode=0o600)
    with path.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    return packed


def last_backup(folder: Path) -> float | None:
    """Return when the newest backup was made; None when there is none."""
    return max((path.stat().st_mtime for path in folder.glob("kai-*.db")), default=None)


def when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
