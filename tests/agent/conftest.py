"""A house for the agent: real store, real tools, real clients, a scripted model; no Telegram."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import httpx
import pytest

from bot.agent import Agent, Event, Limits, Outcome, Paused
from bot.agent.loop import News, no_news
from bot.agent.prompt import Soul
from bot.agent.steps import Calls
from bot.clock import SettableClock
from bot.demo.model_server import KEY, ModelServer, Reply, Script
from bot.llm.base import LLMClient
from bot.llm.providers import build_client
from bot.messages import AssistantMessage, Conversation, Message, Risk, ToolCall, ToolResult, UserMessage
from bot.redact import Redactor
from bot.safety import Gate, classify
from bot.store.base import Approval, Effect, Status
from bot.store.sqlite import SqliteStore
from bot.tools import Tool, ToolContext, Tools, tool
from bot.tools.card import Preview
from bot.tools.environment import scrub
from bot.tools.process import Commands
from bot.tools.terminal import run_in_terminal
from tests.llm.samples import as_written
from tests.store.check import check

HERE = Conversation(7)
ALICE = 7
SECRET = "the-very-secret-value-0123"
Wire = Literal["openai", "anthropic", "text"]
WIRES: tuple[Wire, ...] = ("openai", "anthropic", "text")
AskWhere = Callable[[Conversation, int | None], Sequence[Conversation]]


@tool(risk_floor=Risk.LOW, read_only=True)
async def look(seconds: float, mark: str = "") -> str:
    """Take so long and change nothing."""
    await asyncio.sleep(seconds)
    return f"looked {mark}"


@tool(risk_floor=Risk.MEDIUM)
async def note(context: ToolContext, text: str, seconds: Annotated[float, "How long it takes."] = 0.0) -> str:
    """Add a line to the notes."""
    await asyncio.sleep(seconds)
    with (context.work_dir / "notes").open("a") as notes:
        notes.write(f"{text}\n")
    return f"noted {text}"


@tool(risk_floor=Risk.HIGH)
async def publish(context: ToolContext, text: str, seconds: float = 0.0) -> str:
    """Add a line to the notes, for all the world to see."""
    with (context.work_dir / "notes").open("a") as notes:
        notes.write(f"published {text}\n")
    await asyncio.sleep(seconds)
    return f"published {text}"


@tool(risk_floor=Risk.LOW, read_only=True)
async def explode() -> str:
    """Fail in a way nobody foresaw."""
    raise RuntimeError(f"inside, with {SECRET}")


@dataclass(slots=True)
class House:
    """An agent over a file; it can be closed and opened again, as by a restart.

    Attributes:
        events: What was watched, oldest first.
        limits: Of the agent.
        previews, tool_timeout: Of its tools, from the next restart on; `news` of the agent likewise.
    """

    folder: Path
    model: ModelServer
    clock: SettableClock
    wire: Wire
    limits: Limits
    language: str
    ask_where: AskWhere
    result_chars: int
    agent: Agent = field(init=False)
    store: SqliteStore = field(init=False)
    events: list[Event] = field(default_factory=list)
    said: int = 100
    redactor: Redactor = field(default_factory=lambda: Redactor([SECRET]))
    previews: dict[str, Preview] = field(default_factory=dict)
    tool_timeout: float = 10.0
    news: News = no_news
    _llm: LLMClient = field(init=False)
    _calls: Calls = field(init=False)
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def notes(self) -> list[str]:
        """The lines that the acting tools left."""
        path = self.work / "notes"
        return path.read_text().splitlines() if path.exists() else []

    async def restart(self) -> None:
        """Forget everything that is not in the file."""
        await self._open.aclose()
        self.store = await self._open.enter_async_context(
            SqliteStore.open(self.folder / "kai.db", clock=self.clock)
        )
        shell = Commands(scrub(os.environ))
        self._open.push_async_callback(shell.close)
        transport = httpx.ASGITransport(self.model.app)
        http = await self._open.enter_async_context(httpx.AsyncClient(transport=transport))
        environ = {
            "CUSTOM_BASE_URL": "http://model.test/v1",
            "CUSTOM_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": "http://model.test",
            "ANTHROPIC_API_KEY": KEY,
        }
        model = {
            "openai": "custom:scripted",
            "anthropic": "anthropic:scripted",
            "text": "custom:scripted-text",
        }
        tools: list[Tool] = [look, note, publish, explode, run_in_terminal(shell)]
        self._calls = Calls(
            tools=Tools(tools, self.previews),
            gate=Gate(classify),
            store=self.store,
            redactor=self.redactor,
            ask_where=self.ask_where,
            work_dir=self.work,
            output_dir=self.folder / "outputs",
            approval_ttl=600,
            tool_timeout=self.tool_timeout,
            result_chars=self.result_chars,
            language=self.language,
            now=self.clock,
        )
        self._llm = build_client(
            (model[self.wire],), environ, http, tools_mode="text" if self.wire == "text" else "native"
        )
        self.agent = self.agent_with(self.limits)

    def agent_with(self, limits: Limits) -> Agent:
        """Return another agent over the same store, tools and model."""
        return Agent(
            llm=self._llm,
            calls=self._calls,
            store=self.store,
            soul=Soul(self.folder / "SOUL.md"),
            redactor=self.redactor,
            limits=limits,
            user="kai",
            work_dir=self.work,
            news=self.news,
            language=self.language,
            now=self.clock,
        )

    async def close(self) -> None:
        await self._open.aclose()

    async def hear(self, text: str, *, by: int = ALICE, name: str = "Alice") -> Outcome:
        self.said += 1
        message = UserMessage(text, by, name, self.said)
        return await self.agent.hear(HERE, message, watch=self.events.append)

    async def advance(self) -> Outcome:
        return await self.agent.advance(HERE, watch=self.events.append)

    async def ask(self, text: str = "do it") -> tuple[Approval, ...]:
        """Say something that must lead to questions; return them."""
        outcome = await self.hear(text)
        assert isinstance(outcome, Paused), outcome
        return outcome.approvals

    async def decide(
        self, approval: Approval, status: Status = Status.APPROVED, *, reason: str = ""
    ) -> Approval | None:
        return await self.store.decide(
            approval.id, status, at=self.clock(), by=ALICE, name="Alice", reason=reason
        )

    async def transcript(self) -> Sequence[Message]:
        return await self.store.load(HERE)

    async def results(self) -> list[ToolResult]:
        """Return every result, in the order of the calls."""
        transcript = await self.transcript()
        found = {m.call_id: m for m in transcript if isinstance(m, ToolResult)}
        return [found[call.id] for call in calls_in(transcript) if call.id in found]

    async def effects(self, kind: str) -> list[Effect]:
        """Return what was stored to be seen, of a kind, oldest first."""
        return [stored.effect for stored in await self.store.unsent() if stored.effect.kind == kind]

    async def notices(self) -> list[str]:
        return [str(effect.payload["text"]) for effect in await self.effects("notice")]

    def audit(self) -> list[str]:
        with closing(sqlite3.connect(self.folder / "kai.db")) as db:
            return [action for (action,) in db.execute("SELECT action FROM audit ORDER BY id")]

    def everything_stored(self) -> str:
        """Return all of the database as text."""
        with closing(sqlite3.connect(self.folder / "kai.db")) as db:
            return "\n".join(db.iterdump())

    def violations(self) -> list[str]:
        """Return what the model server refused and what the file should not say."""
        return [*(text for _, text in self.model.refusals), *check(self.folder / "kai.db")]


def calls_in(transcript: Sequence[Message]) -> list[ToolCall]:
    return [call for m in transcript if isinstance(m, AssistantMessage) for call in m.tool_calls]


def anywhere(conversation: Conversation, asker: int | None) -> Sequence[Conversation]:
    return (conversation,)


Build = Callable[..., Awaitable[House]]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Build]:
    """Return a function that builds the house; what it built is closed after the test."""
    async with AsyncExitStack() as stack:

        async def build(
            script: Script | Sequence[Reply],
            *,
            wire: Wire = "openai",
            limits: Limits | None = None,
            language: str = "en",
            ask_where: AskWhere = anywhere,
            result_chars: int = 2000,
        ) -> House:
            if not callable(script) and wire == "text":
                script = [as_written("as text", reply) for reply in script]
            (tmp_path / "work").mkdir()
            (tmp_path / "SOUL.md").write_text("You are Kai.")
            built = House(
                tmp_path,
                ModelServer(script),
                SettableClock(),
                wire,
                limits or Limits(),
                language,
                ask_where,
                result_chars,
            )
            await built.restart()
            stack.push_async_callback(built.close)
            return built

        yield build


@asynccontextmanager
async def in_flight(doing: Awaitable[Outcome]) -> AsyncIterator[asyncio.Future[Outcome]]:
    """Do something beside the block; what is not over at its end is cancelled."""
    task = asyncio.ensure_future(doing)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def eventually(look: Callable[[], bool], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)
