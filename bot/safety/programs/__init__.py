"""What data can't say about a program: its own little language, or what it starts.

A handler is named by `handler = "…"` in a rule file. It may only add findings. One file a family.
"""

from bot.safety.programs import (
    archives,
    cloud,
    code,
    containers,
    databases,
    files,
    find,
    git,
    shell,
    system,
    text,
    transfer,
)

__all__ = [
    "archives",
    "cloud",
    "code",
    "containers",
    "databases",
    "files",
    "find",
    "git",
    "shell",
    "system",
    "text",
    "transfer",
]
