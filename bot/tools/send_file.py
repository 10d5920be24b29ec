"""Sending a file to the chat, as a tool."""

import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bot.errors import ToolError
from bot.messages import Conversation, Risk
from bot.tools.base import Tool, ToolContext, tool

LARGEST = 50_000_000
"""Bytes a bot may upload (T6): https://core.telegram.org/bots/api#senddocument says 50 MB."""

DeliverFile = Callable[[Conversation, Path, str], Awaitable[None]]
"""Commits the file at a path, under a name, to the outbox; has done so when it returns."""


def send_file(deliver_file: DeliverFile) -> Tool:
    @tool(risk_floor=Risk.LOW)
    async def send_file(
        context: ToolContext,
        path: Annotated[str, "The file; relative to the current folder, or absolute.", Field(min_length=1)],
    ) -> str:
        """Send a file from the server to this chat, up to 50 MB."""
        file, size = _sendable(context.cwd, path)
        await deliver_file(context.conversation, file, file.name)
        return f"handed over for sending: {file.name} ({size} bytes)"

    return send_file


def _sendable(cwd: Path, path: str) -> tuple[Path, int]:
    if "\0" in path:
        raise ToolError("InvalidArgs", "send_file: $.path: holds a NUL character")
    file = (cwd / Path(path).expanduser()).resolve(strict=True)
    status = file.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ToolError("EISDIR", f"{path!r} is a folder; pack it first")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("EINVAL", f"{path!r} is no regular file")
    if not os.access(file, os.R_OK):
        raise ToolError("EACCES", f"{path!r} may not be read")
    if status.st_size == 0:
        raise ToolError("EINVAL", f"{path!r} is empty, and Telegram takes no empty files")
    if status.st_size > LARGEST:
        raise ToolError("EINVAL", f"{path!r} has {status.st_size} bytes; Telegram takes {LARGEST}")
    return file, status.st_size
