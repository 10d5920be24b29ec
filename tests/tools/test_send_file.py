"""T6: which files can be sent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.messages import Conversation, ToolCall
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.send_file import LARGEST, send_file
from tests.tools.conftest import HERE

Sent = list[tuple[Conversation, Path, str]]


@pytest.fixture
def sent() -> Sent:
    return []


async def send(sent: Sent, context: ToolContext, path: str) -> ToolOutcome:
    async def deliver(conversation: Conversation, file: Path, name: str) -> None:
        sent.append((conversation, file, name))

    return await Tools([send_file(deliver)]).run(ToolCall("send_file", {"path": path}), context)


async def test_a_file_goes_to_the_current_conversation(
    sent: Sent, context: ToolContext, work_dir: Path
) -> None:
    (work_dir / "a.txt").write_text("hello")

    outcome = await send(sent, context, "a.txt")

    assert sent == [(HERE, work_dir / "a.txt", "a.txt")]
    assert outcome.text == "handed over for sending: a.txt (5 bytes)"


async def test_a_path_may_be_absolute(sent: Sent, context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("hello")

    await send(sent, context, str(tmp_path / "b"))

    assert sent == [(HERE, tmp_path / "b", "b")]


async def test_the_largest_file_still_goes(sent: Sent, context: ToolContext, work_dir: Path) -> None:
    (work_dir / "big").touch()
    os.truncate(work_dir / "big", LARGEST)

    await send(sent, context, "big")

    assert len(sent) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing", "ENOENT"),
        (".", "EISDIR"),
        ("pipe", "EINVAL"),
        ("empty", "EINVAL"),
        ("too big", "EINVAL"),
        ("empty/x", "ENOTDIR"),
        ("a\0b", "InvalidArgs"),
        ("", "InvalidArgs"),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_a_code(
    sent: Sent, context: ToolContext, work_dir: Path, path: str, code: str
) -> None:
    os.mkfifo(work_dir / "pipe")
    (work_dir / "empty").touch()
    (work_dir / "too big").touch()
    os.truncate(work_dir / "too big", LARGEST + 1)

    outcome = await send(sent, context, path)

    assert (outcome.code, sent) == (code, [])


@contextmanager
def as_nobody() -> Iterator[None]:
    if os.geteuid() != 0:  # nobody special already
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


async def test_a_file_that_may_not_be_read(sent: Sent, context: ToolContext) -> None:
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        closed = os.open(f"{folder}/closed", os.O_WRONLY | os.O_CREAT, 0)
        os.write(closed, b"x")
        os.close(closed)

        with as_nobody():
            outcome = await send(sent, context, f"{folder}/closed")

    assert (outcome.code, sent) == ("EACCES", [])
