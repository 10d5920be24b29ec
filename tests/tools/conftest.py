import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.messages import Conversation
from bot.tools import ToolContext
from bot.tools.environment import scrub
from bot.tools.process import Commands
from tests.tools.processes import Zombies, uncollected

HERE = Conversation(7, 3)


@pytest.fixture
async def commands() -> AsyncIterator[Commands]:
    commands = Commands(scrub(os.environ))
    yield commands
    await commands.close()


@pytest.fixture
def zombies() -> Zombies:
    """What this test left behind: a worker of the tests adopts what others before it killed."""
    before = frozenset(uncollected())

    def new() -> list[int]:
        return [pid for pid in uncollected() if pid not in before]

    return new


@pytest.fixture
def output_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "outputs"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


MakeContext = Callable[..., ToolContext]


@pytest.fixture
def make_context(output_dir: Path, work_dir: Path) -> MakeContext:
    def make(
        *,
        cwd: Path = work_dir,
        call_id: str = "c1",
        timeout: float = 10.0,
        progress: Callable[[str], None] = lambda line: None,
    ) -> ToolContext:
        return ToolContext(
            conversation=HERE,
            call_id=call_id,
            cwd=cwd,
            work_dir=work_dir,
            output_dir=output_dir,
            progress=progress,
            timeout=timeout,
        )

    return make


@pytest.fixture
def context(make_context: MakeContext) -> ToolContext:
    return make_context()
