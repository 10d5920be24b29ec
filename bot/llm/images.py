"""Which pictures of a transcript a model is shown, and their bytes.

What is sent must not change from one request to the next, or the provider's cache of the prefix is lost. So
the rule looks only at the transcript, from its beginning on: pictures are shown until they would be too many
or too big together; then the oldest go, message by message, until half the room is free again. Between two
such moments nothing that was sent before changes.
"""

import base64
import os
import stat
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from bot.llm.base import Picture, Prompt
from bot.llm.table import Sight
from bot.messages import Message, UserMessage

TOKENS = 1600
"""What a picture costs, for estimates: Claude counts pixels / 750, most others 250 to 2,000 a picture.

Source: https://platform.claude.com/docs/en/build-with-claude/vision
"""
HEAD = 1024
NAMES = {"jpeg": "JPEG", "png": "PNG", "gif": "GIF", "webp": "WebP"}

GONE = "it is not there any more, or can't be read"
BLIND = "this model takes no pictures"
OLDER = "there are too many newer ones"
ASIDE = "the service could not take it"


@dataclass(frozen=True, slots=True)
class _Found:
    """A picture's file before its bytes are read; `problem` says why it can't be shown."""

    path: str
    format: str = ""
    size: int = 0
    problem: str = ""


def has_images(prompt: Prompt) -> bool:
    """Whether anybody sent a picture."""
    return any(isinstance(message, UserMessage) and message.images for message in prompt.transcript)


def look(prompt: Prompt, sight: Sight | None, aside: Set[str] = frozenset()) -> Prompt:
    """Return the prompt with its pictures read; those not shown are named in the words of their message.

    Reads files, so it belongs into a thread. A file that is gone, too large or no picture raises nothing.

    Args:
        sight: None for a model without vision.
        aside: Paths of pictures not to show, since the service refused them.
    """
    shown = _shown(prompt.transcript, sight, aside) if sight else {}
    pictures: dict[str, Picture] = {}
    transcript: list[Message] = []
    for index, message in enumerate(prompt.transcript):
        if not isinstance(message, UserMessage) or not message.images:
            transcript.append(message)
            continue
        seen: list[str] = []
        unseen: list[str] = []
        for found in shown.get(index) or [_Found(path, problem=BLIND) for path in message.images]:
            picture = None if found.problem else _read(found)
            if picture is None:
                unseen.append(f"[You don't see the picture {found.path}: {found.problem or GONE}.]")
            else:
                pictures[found.path] = picture
                seen.append(found.path)
        transcript.append(
            replace(message, text="\n".join(filter(None, [message.text, *unseen])), images=tuple(seen))
        )
    return replace(prompt, transcript=transcript, pictures=pictures)


def _shown(transcript: Sequence[Message], sight: Sight, aside: Set[str]) -> dict[int, list[_Found]]:
    """Return the pictures of each message, by its place, those that are not shown with the reason."""
    messages: dict[int, list[_Found]] = {}
    window: list[int] = []
    for index, message in enumerate(transcript):
        if isinstance(message, UserMessage) and message.images:
            messages[index] = _first_that_fit(
                [_inspect(path, sight, aside) for path in message.images], sight
            )
            window.append(index)
            if _fit([found for at in window for found in messages[at]], sight, share=1):
                continue
            while len(window) > 1:
                oldest = window.pop(0)
                # Whatever has become of the file since: what stands here must not change any more.
                messages[oldest] = [replace(found, problem=OLDER) for found in messages[oldest]]
                if _fit([found for at in window for found in messages[at]], sight, share=0.5):
                    break
    return messages


def _first_that_fit(pictures: list[_Found], sight: Sight) -> list[_Found]:
    """Cut one message down to what a request takes."""
    kept: list[_Found] = []
    for found in pictures:
        fits = found.problem or _fit([one for one in (*kept, found) if not one.problem], sight, share=1)
        kept.append(found if fits else replace(found, problem="there are too many in one message"))
    return kept


def _fit(pictures: Sequence[_Found], sight: Sight, *, share: float) -> bool:
    """Whether they have room. One that can't be shown takes a place too, or its loss would move others."""
    total = sum(found.size for found in pictures)
    return len(pictures) <= share * sight.count and total <= share * sight.total


def _inspect(path: str, sight: Sight, aside: Set[str]) -> _Found:
    if path in aside:
        return _Found(path, problem=ASIDE)
    opened = _open(path)
    if opened is None:
        return _Found(path, problem=GONE)
    descriptor, size = opened
    try:
        found = format_of(os.read(descriptor, HEAD))
    except OSError:
        return _Found(path, problem=GONE)
    finally:
        os.close(descriptor)
    if found not in sight.formats:
        takes = ", ".join(NAMES[name] for name in sight.formats)
        return _Found(path, problem=f"only still {takes} can be shown")
    if size > sight.size:
        return _Found(path, problem=f"it has {size / 1e6:.1f} MB, and {sight.size / 1e6:.1f} MB can be shown")
    return _Found(path, found, size)


def _read(found: _Found) -> Picture | None:
    opened = _open(found.path)
    if opened is None:
        return None
    with open(opened[0], "rb") as file:
        try:
            # What has changed in the moment since the look at it is for the service to refuse.
            content = file.read(found.size)
        except OSError:
            return None
    return Picture(f"image/{found.format}", base64.b64encode(content).decode())


def _open(path: str) -> tuple[int, int] | None:
    """Open a plain file and tell its size. What tools may have put in its place could block for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return descriptor, status.st_size
    os.close(descriptor)
    return None


def format_of(head: bytes) -> str:
    """Return `jpeg`, `png`, `gif` or `webp` by the first bytes; empty for anything else, or if it moves.

    The name and what Telegram says of it don't count: services compare the type with the bytes.
    """
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith((b"GIF87a", b"GIF89a")):
        # OpenAI takes "non-animated GIF" only: https://platform.openai.com/docs/guides/images-vision
        return "" if b"NETSCAPE2.0" in head[:HEAD] else "gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        # https://developers.google.com/speed/webp/docs/riff_container#extended_file_format
        moves = head[12:16] == b"VP8X" and len(head) > 20 and head[20] & 0x02
        return "" if moves else "webp"
    return ""
