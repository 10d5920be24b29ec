"""No sequence of failures, over real wires, runs a tool twice or shows a text twice (requirements F8, F9)."""

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.agent import Agent, Limits, Replied
from bot.agent.outcomes import Event, Typing
from bot.agent.prompt import Soul
from bot.agent.steps import Calls
from bot.clock import SettableClock
from bot.demo.model_server import ModelRequest, ModelServer, Reply, call, serve_model
from bot.llm.base import LLMClient
from bot.llm.connect import connect
from bot.llm.fallback import Entry, Fallback
from bot.llm.providers import with_tools
from bot.llm.retrying import Retrying
from bot.llm.table import find
from bot.messages import UserMessage, pending_calls
from bot.redact import Redactor
from bot.safety import Gate, classify
from bot.store.sqlite import SqliteStore
from bot.tools import Tools
from tests.agent.conftest import HERE, anywhere, note
from tests.llm.samples import as_written, environ_for
from tests.store.check import check

CHAIN = ("custom:scripted", "anthropic:scripted", "gemini:scripted", "ollama:scripted-text", "xai:scripted")
STEPS = 2
FAULTS = [
    Reply(status=429, retry_after=1),
    Reply(status=500),
    Reply(status=529),
    Reply(status=401),
    Reply(status=404),
    Reply(status=400, error="nonsense"),
    Reply(fault="cut_before"),
    Reply(fault="error_body"),
    Reply(fault="cut"),
    Reply(fault="error"),
]
"""Every class of failure; the last two come in the middle of what is said."""


@dataclass(slots=True)
class Model:
    """Notes one thing a step, then is done; each request may be met by a fault instead.

    Attributes:
        wordings: Different models may say the same in different words.
    """

    faults: Iterator[Reply | None]
    wordings: Sequence[str]
    served: int = 0

    def __call__(self, request: ModelRequest) -> Reply:
        step = str(request.body).count("noted ")
        wording = self.wordings[self.served % len(self.wordings)]
        self.served += 1
        said = f"{wording} step {step}."
        whole = Reply(said, [call("note", text=f"{step}")] if step < STEPS else [], chunk=3, thinking="hm")
        kind = "as text" if request.body["model" if "model" in request.body else "x"] == TEXT else ""
        whole = as_written(kind, whole)
        fault = next(self.faults, None)
        if fault is None:
            return whole
        return replace(
            whole, **{name: getattr(fault, name) for name in ("status", "error", "retry_after", "fault")}
        )


TEXT = "scripted-text"


async def turn(
    folder: Path, faults: Sequence[Reply | None], wordings: Sequence[str], order: Sequence[str]
) -> tuple[list[str], list[Event], bool, list[str]]:
    """Let one turn run through a chain; return what was noted, what was watched, and what is wrong."""
    now = SettableClock()
    server = ModelServer(Model(iter(faults), wordings))

    async def pass_time(seconds: float) -> None:
        now.advance(seconds)

    def entry(spec: str) -> Entry:
        row, model = find(spec, environ)
        client: LLMClient = with_tools(connect(row, model, "test-key", environ, http), "auto")
        retried = Retrying(client, attempts=2, deadline=10, sleep=pass_time, now=now)
        return Entry(spec, retried, credential=row.name, window=row.window)

    work = folder / "work"
    work.mkdir()
    (folder / "SOUL.md").write_text("You are Kai.")
    events: list[Event] = []
    async with (
        SqliteStore.open(folder / "kai.db", clock=now) as store,
        serve_model(server) as url,
        httpx.AsyncClient() as http,
    ):
        environ = environ_for(url)
        redactor = Redactor()
        calls = Calls(
            tools=Tools([note]),
            gate=Gate(classify),
            store=store,
            redactor=redactor,
            ask_where=anywhere,
            work_dir=work,
            output_dir=folder / "outputs",
            now=now,
        )
        agent = Agent(
            llm=Fallback([entry(spec) for spec in order], now=now),
            calls=calls,
            store=store,
            soul=Soul(folder / "SOUL.md"),
            redactor=redactor,
            limits=Limits(),
            work_dir=work,
            now=now,
        )
        outcome = await agent.hear(HERE, UserMessage("note it", 7, "Alice", 1), watch=events.append)
        transcript = await store.load(HERE)
        wrong = [*check(folder / "kai.db"), *(str(one) for one in pending_calls(transcript))]
    notes = (work / "notes").read_text().splitlines() if (work / "notes").exists() else []
    return notes, events, isinstance(outcome, Replied), wrong


def shown(events: Sequence[Event]) -> list[str]:
    """Return what was shown, step by step: what was written between two tool runs."""
    steps = [""]
    for event in events:
        match event:
            case Typing(text):
                steps[-1] += text
            case _ if steps[-1]:
                steps.append("")
    return [step for step in steps if step]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from([None, *FAULTS]), max_size=12),
    st.sampled_from([["I note"], ["I note", "Noting"]]),
    st.permutations(CHAIN).map(lambda order: order[:3]),
)
async def test_no_sequence_of_failures_runs_a_tool_twice_or_shows_a_text_twice(
    faults: list[Reply | None], wordings: list[str], order: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes, events, replied, wrong = await turn(Path(folder), faults, wordings, order)

    assert notes == [str(step) for step in range(len(notes))]
    assert len(notes) == STEPS or not replied
    assert wrong == []
    for step in shown(events):
        assert all(
            step.count(f"{words} step {number}.") <= 1 for words in wordings for number in range(STEPS + 1)
        )


async def test_every_class_of_failure_at_every_position_is_got_over(tmp_path: Path) -> None:
    """Two entries; one fault, at each of the requests of the turn."""
    for number, (fault, position) in enumerate(itertools.product(FAULTS, range(STEPS + 1))):
        folder = tmp_path / str(number)
        folder.mkdir()

        notes, events, replied, wrong = await turn(folder, [None] * position + [fault], ["I note"], CHAIN[:2])

        assert (notes, replied, wrong) == (["0", "1"], True, []), (fault, position)
        assert "".join(shown(events)).count("I note step 2.") == 1
