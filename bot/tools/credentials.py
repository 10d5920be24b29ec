"""Credentials of tools: `<folder>/<name>.env`, read when a tool needs them.

Names may be shown to anyone, values to nobody.
"""

import os
import stat
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path

from bot.errors import ToolError

LARGEST = 64 << 10
"""Bytes of a credential file."""


class Credentials:
    """The credential files of a folder that only this user can read.

    Args:
        folder: Need not exist; may be relative to nothing: absolute.
        learn: Told of every value as it is read, for the redactor: a file may be new or changed.
    """

    def __init__(self, folder: Path, learn: Callable[[str], None] = lambda value: None) -> None:
        self._folder = folder
        self._learn = learn

    @property
    def folder(self) -> Path:
        return self._folder

    def names(self) -> list[str]:
        """Return `file: KEY, KEY` for each file, for the prompt; unreadable ones by their name alone."""
        shown = []
        for name in self._files():
            try:
                keys = ", ".join(sorted(self.read(name)))
            except ToolError:
                keys = ""
            shown.append(f"{name}: {keys}" if keys else name)
        return shown

    def values(self) -> list[str]:
        """Return every value of every file, with and without a hex prefix, for the redactor.

        A file whose mode is too open is read here all the same: what it holds must be hidden even more.
        """
        values: list[str] = []
        for name in self._files():
            try:
                found = _parse(_text_of(self._folder / name))
            except (OSError, UnicodeDecodeError):
                continue
            for value in found.values():
                values += spellings(value)
        return values

    def problems(self) -> list[str]:
        """Return one sentence for each file that tools will refuse, for `check`; may be empty."""
        problems = []
        for name in self._files():
            try:
                self.read(name)
            except ToolError as error:
                problems.append(str(error))
        return problems

    def read(self, name: str, *required: str) -> Mapping[str, str]:
        """Return the values of one file; those empty are left out.

        Raises:
            ToolError: `NotConfigured`, naming the file and the keys it wants; `EACCES` when others than this
                user can read it. Never a value.
        """
        path = self._folder / name
        wanted = f"; it needs {', '.join(required)}" if required else ""
        try:
            self._check_modes(path)
            values = {key: value for key, value in _parse(_text_of(path)).items() if value}
        except FileNotFoundError as error:
            raise ToolError("NotConfigured", f"there is no {str(path)!r}{wanted}") from error
        except UnicodeDecodeError:
            # Not chained: the error holds the bytes that could not be read.
            raise ToolError("NotConfigured", f"{str(path)!r} is not UTF-8 text{wanted}") from None
        except OSError as error:
            raise ToolError("EACCES", f"{str(path)!r} can't be read: {error.strerror}") from error
        for value in values.values():
            for spelling in spellings(value):
                self._learn(spelling)
        if missing := [key for key in required if key not in values]:
            raise ToolError("NotConfigured", f"{str(path)!r} lacks {', '.join(missing)}{wanted}")
        return values

    def _check_modes(self, path: Path) -> None:
        for place, mode in ((self._folder, 0o700), (path, 0o600)):
            status = place.stat()
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise ToolError(
                    "EACCES",
                    f"{str(place)!r} can be read by others (mode {stat.S_IMODE(status.st_mode):04o});"
                    f" not used until: chmod {mode:o} {place}",
                )
            if status.st_uid not in (os.geteuid(), 0):
                raise ToolError("EACCES", f"{str(place)!r} belongs to another user, {status.st_uid}")

    def _files(self) -> list[str]:
        try:
            return sorted(path.name for path in self._folder.iterdir() if path.suffix == ".env")
        except OSError:
            return []


def spellings(value: str) -> list[str]:
    """Return the ways a secret may be written that the redactor does not find by itself."""
    if value.startswith("["):
        bare = "".join(value.split())  # a key of Solana's tools, as numbers
        return [value, bare, bare.replace(",", ", ")]
    bare = value.removeprefix("0x").removeprefix("0X")
    if len(bare) >= 32 and all(digit in "0123456789abcdefABCDEF" for digit in bare):
        return [value, bare.lower(), bare.upper()]
    return [value]


def _text_of(path: Path) -> str:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as stream:
        return stream.read(LARGEST).decode("utf-8-sig")


def _parse(text: str) -> dict[str, str]:
    from dotenv.parser import parse_stream  # 25 ms, and not needed by a bot without credentials

    found = {}
    for binding in parse_stream(StringIO(text)):
        if binding.key is not None and not binding.error:
            found[binding.key] = (binding.value or "").strip()
    return found
