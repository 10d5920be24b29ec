"""Files from people: saved under the work folder and named to the model.

Telegram gives a bot files of up to 20 MB: https://core.telegram.org/bots/api#getfile
"""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import localtime, strftime
from typing import Any

from telegram import Bot, Message
from telegram.error import BadRequest, TelegramError

from bot.errors import LLMError
from bot.texts import say

log = logging.getLogger(__name__)

MAX_BYTES = 20 * 1024 * 1024
MAX_NAME = 100
TRIES = 3
PAUSE = 1.0
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
KINDS = ("document", "voice", "audio", "video", "video_note", "animation")

Transcribe = Callable[[Path], Awaitable[str]]
"""Returns what is said in a recording, or raises LLMError."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message; `size` is what Telegram says of it, in bytes."""

    kind: str
    file_id: str
    name: str
    mime: str
    size: int


@dataclass(slots=True)
class Saved:
    """What became of the files of some messages.

    Attributes:
        notes: For the model, one a file.
        images: Paths of pictures that a model may be shown.
        problems: For the person: what could not be taken, and why.
    """

    notes: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Attachments:
    """Fetches files.

    Args:
        folder: Where they go, in a folder for each day; made when first needed.
        transcribe: None when no service is configured.
    """

    def __init__(self, bot: Bot, folder: Path, *, language: str, transcribe: Transcribe | None) -> None:
        self._bot = bot
        self._folder = folder
        self._language = language
        self._transcribe = transcribe

    async def save(self, messages: Sequence[Message]) -> Saved:
        """Save the files of these messages; once more replaces it. A bad file raises nothing."""
        saved = Saved()
        for message in messages:
            if found := attachment_of(message):
                await self._save(message, found, saved)
        return saved

    async def _save(self, message: Message, found: Attachment, saved: Saved) -> None:
        size = in_megabytes(found.size)
        if found.size > MAX_BYTES:
            self._refuse(saved, "file_too_big", found, size)
            return
        day = strftime("%Y-%m-%d", localtime(message.date.timestamp()))
        path = self._folder / day / f"{abs(message.chat_id)}-{message.message_id}-{found.name}"
        try:
            await self._fetch(found.file_id, path)
        except BadRequest as exc:
            log.info("telegram refuses a file: %s", exc)
            too_big = "too big" in str(exc)
            self._refuse(saved, "file_too_big" if too_big else "file_not_fetched", found, size)
            return
        except (TelegramError, OSError) as exc:
            log.warning("a file can't be saved: %s", exc)
            self._refuse(saved, "file_not_fetched", found, size)
            return
        saved.notes.append(say("en", "notice_file", kind=found.kind, path=path, mime=found.mime, size=size))
        if found.mime in IMAGES:
            saved.images.append(str(path))
        if found.kind == "voice":
            await self._hear(path, saved)

    async def _hear(self, path: Path, saved: Saved) -> None:
        if self._transcribe is None:
            saved.problems.append(say(self._language, "voice_unheard"))
            return
        try:
            text = await self._transcribe(path)
        except LLMError as exc:
            log.warning("a voice message can't be transcribed: %s", exc)
            saved.problems.append(say(self._language, "voice_failed"))
            return
        saved.notes.append(say("en", "notice_voice", text=text.strip()))

    async def _fetch(self, file_id: str, path: Path) -> None:
        for left in reversed(range(TRIES)):
            try:
                file = await self._bot.get_file(file_id)
                content = await file.download_as_bytearray()
                break
            except BadRequest:
                raise
            except TelegramError as exc:
                if not left:
                    raise
                log.info("a file did not come, trying again: %s", exc)
                await asyncio.sleep(PAUSE)
        await asyncio.to_thread(write, path, bytes(content))

    def _refuse(self, saved: Saved, key: str, found: Attachment, size: str) -> None:
        saved.problems.append(say(self._language, key, name=found.name, size=size))
        saved.notes.append(say("en", "notice_no_file", kind=found.kind, name=found.name, size=size))


def attachment_of(message: Message) -> Attachment | None:
    """Return the file of a message; of a photo, its largest size. None when there is none."""
    if message.photo:
        photo = message.photo[-1]
        return Attachment("photo", photo.file_id, "photo.jpg", "image/jpeg", photo.file_size or 0)
    for kind in KINDS:
        media: Any = getattr(message, kind)
        if media is None:
            continue
        mime = getattr(media, "mime_type", None) or "application/octet-stream"
        name = getattr(media, "file_name", None) or f"{kind}.{extension(kind, mime)}"
        return Attachment(kind, media.file_id, safe_name(name), mime, media.file_size or 0)
    return None


def extension(kind: str, mime: str) -> str:
    if kind in ("voice", "audio"):
        return "ogg" if "ogg" in mime or kind == "voice" else "mp3"
    return "mp4" if kind in ("video", "video_note", "animation") else "bin"


def safe_name(name: str) -> str:
    """Return a file name that stays in its folder and can be typed: letters, digits, dots, dashes."""
    name = re.sub(r"[^\w.+-]+", "_", name.rpartition("/")[2]).lstrip(".-_")
    stem, dot, ending = name.rpartition(".")
    if dot and len(ending) <= 10:
        return f"{stem[: MAX_NAME - len(ending)] or 'file'}.{ending}"
    return name[:MAX_NAME] or "file"


def in_megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
