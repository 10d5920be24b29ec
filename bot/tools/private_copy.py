"""Copies of files that only this user may read."""

import shutil
from pathlib import Path


def copy_privately(source: Path, target: Path) -> None:
    """Copy a file's content; the target is private before anything is in it, its folder is made.

    Raises:
        OSError: The source can't be read or the target can't be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
