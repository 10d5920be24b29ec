"""The embedded model: its file is fetched once and checked, its words are held to a form, its commands ask.

The server is real HTTP on this machine. The engine is llama.cpp where a model file is named in
`LOCAL_TEST_MODEL`, and a function that streams like it elsewhere: half a gigabyte is no part of a test run.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.errors import ConfigError, LLMMalformed, LLMUnavailable
from bot.llm import local
from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.llm.local import EXAMPLES, LocalModel, fetch, frame, grammar, messages, model_file
from bot.llm.providers import build_client, open_http, provider_problems
from bot.messages import AssistantMessage, Message, Risk, ToolCall, ToolDefinition, ToolResult, UserMessage
from bot.safety import classify

MODEL = os.urandom(300_000)
SUM = hashlib.sha256(MODEL).hexdigest()
SHELL = ToolDefinition("run_in_terminal", "", {})


@dataclass(slots=True)
class Shelf:
    """A server with one file; `cuts` says after how many bytes each answer breaks off, 0 for not at all."""

    data: bytes = MODEL
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    status: int = 200
    asked: list[str] = field(default_factory=list)
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        found = re.search(r"(?i)^range: bytes=(\d+)-", head, re.MULTILINE)
        start = int(found[1]) if found and self.ranges else 0
        self.asked.append(found[1] if found else "whole")
        cut = self.cuts.pop(0) if self.cuts else 0
        if self.status != 200:
            writer.write(f"HTTP/1.1 {self.status} No\r\nContent-Length: 0\r\n\r\n".encode())
        elif start >= len(self.data):
            writer.write(b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n")
        else:
            body = self.data[start:]
            status = (
                f"206 Partial\r\nContent-Range: bytes {start}-{len(self.data) - 1}/{len(self.data)}"
                if start
                else "200 OK"
            )
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            writer.write(body[:cut] if cut else body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def shelf(**fields: Any) -> AsyncIterator[Shelf]:
    here = Shelf(**fields)
    server = await asyncio.start_server(here.answer, "127.0.0.1", 0)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/model.gguf"
    async with server:
        yield here


async def get(here: Shelf, path: Path, said: list[str] | None = None, sha256: str = SUM) -> None:
    await fetch(here.url, path, (said if said is not None else []).append, sha256=sha256, pause=0.01)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_file_is_fetched_checked_and_told(tmp_path: Path) -> None:
    said: list[str] = []
    async with shelf() as here:
        await get(here, tmp_path / "cache" / "m.gguf", said)

    assert (tmp_path / "cache" / "m.gguf").read_bytes() == MODEL
    assert any("100%" in line for line in said)
    assert os.listdir(tmp_path / "cache") == ["m.gguf"]


async def test_a_cut_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    async with shelf(cuts=[100_000, 50_000]) as here:
        await get(here, tmp_path / "m.gguf")

    assert here.asked == ["whole", "100000", "150000"]
    assert (tmp_path / "m.gguf").read_bytes() == MODEL


async def test_what_an_earlier_run_got_is_used(tmp_path: Path) -> None:
    async with shelf(cuts=[100_000] * 9) as here:
        with pytest.raises(ConfigError, match="go on where it stopped"):
            await get(Shelf(url="http://127.0.0.1:9/none"), tmp_path / "m.gguf")
        (tmp_path / "m.gguf.part").write_bytes(MODEL[:250_000])
        here.cuts.clear()

        await get(here, tmp_path / "m.gguf")

    assert here.asked == ["250000"]
    assert (tmp_path / "m.gguf").read_bytes() == MODEL


async def test_a_server_that_knows_no_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "m.gguf.part").write_bytes(b"x" * 1000)
    async with shelf(ranges=False) as here:
        await get(here, tmp_path / "m.gguf")

    assert (tmp_path / "m.gguf").read_bytes() == MODEL


async def test_a_part_that_is_all_of_it_is_only_checked(tmp_path: Path) -> None:
    (tmp_path / "m.gguf.part").write_bytes(MODEL)
    async with shelf() as here:
        await get(here, tmp_path / "m.gguf")

    assert (tmp_path / "m.gguf").read_bytes() == MODEL


async def test_another_file_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    async with shelf(data=MODEL[:-1] + b"!") as here:
        with pytest.raises(ConfigError, match="refused and deleted: its SHA-256 is"):
            await get(here, tmp_path / "m.gguf")

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (503, 4)])
async def test_a_server_that_has_it_not_is_told_with_what_to_do(
    tmp_path: Path, status: int, tries: int
) -> None:
    async with shelf(status=status) as here:
        with pytest.raises(ConfigError, match=f"answered {status}.*LOCAL_MODEL_URL.*LOCAL_MODEL_FILE"):
            await get(here, tmp_path / "m.gguf")

    assert len(here.asked) == tries


async def test_ready_means_fetched_once(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed; see local.lock")
    environ = {"LOCAL_MODEL_FILE": str(tmp_path / "m.gguf")}
    async with shelf() as here:
        environ["LOCAL_MODEL_URL"] = here.url

        first = await local.make_ready(environ, lambda line: None, sha256=SUM)
        again = await local.make_ready(environ, lambda line: None, sha256=SUM)

    assert first == again == tmp_path / "m.gguf"
    assert here.asked == ["whole"]


def test_the_file_is_where_the_settings_or_the_cache_say() -> None:
    name = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"

    assert model_file({"LOCAL_MODEL_FILE": "/srv/m.gguf"}) == Path("/srv/m.gguf")
    assert model_file({"HOME": "/home/a"}) == Path("/home/a/.cache/kai-bot") / name
    assert model_file({"HOME": "/home/a", "XDG_CACHE_HOME": "/c"}) == Path("/c/kai-bot") / name


def test_a_missing_file_is_a_problem_that_says_how_to_get_it(tmp_path: Path) -> None:
    problems = provider_problems(["local:qwen"], {"LOCAL_MODEL_FILE": str(tmp_path / "none.gguf")})

    assert any("make demo MODEL=local" in problem and "none.gguf" in problem for problem in problems)


# ── what it is told ──────────────────────────────────────────────────────────────────────────────────────


def prompt(*transcript: Message, tools: Sequence[ToolDefinition] = (SHELL,)) -> Prompt:
    return Prompt("", transcript, tools)


def asked(question: str = "how full is the disk?", answered: int = 0) -> Prompt:
    transcript: list[Message] = [UserMessage(question)]
    for number in range(answered):
        call = ToolCall("run_in_terminal", {"command": f"df {number}"})
        transcript += [AssistantMessage("", (call,)), ToolResult(call.id, f"output {number}", duration=0.1)]
    return prompt(*transcript)


def test_no_example_destroys_anything() -> None:
    commands = re.findall(r'"command": "(.*?)"\}\}', " ".join(text for _, text in EXAMPLES))

    assert len(commands) >= 3
    assert [c for c in commands if classify(c, cwd="/srv").risk != Risk.LOW] == []


def test_a_conversation_is_told_after_the_examples() -> None:
    told = messages(asked(answered=1))

    assert told[0]["role"] == "system"
    assert told[-3] == {"role": "user", "content": "how full is the disk?"}
    assert told[-2] == {"role": "assistant", "content": frame("df 0")}
    assert told[-1] == {"role": "user", "content": "<tool_result>\noutput 0\n</tool_result>"}


def test_an_old_conversation_is_left_out_before_the_window_is_full() -> None:
    long: list[Message] = [UserMessage("x" * 2000), AssistantMessage("y" * 2000)] * 5

    told = messages(prompt(*long, UserMessage("and now?")))

    assert sum(len(message["content"]) for message in told) < 4 * local.WINDOW
    assert told[-1]["content"] == "and now?"


def test_a_long_result_keeps_both_ends() -> None:
    told = local.result("a" * 5000 + "z")

    assert len(told) < 1600
    assert "z\n</tool_result>" in told


@pytest.mark.parametrize(
    ("prompted", "may_call"),
    [(asked(), True), (asked(answered=2), True), (asked(answered=3), False), (prompt(tools=()), False)],
)
def test_it_may_call_a_few_times_and_then_only_speak(prompted: Prompt, may_call: bool) -> None:
    assert ("call" in grammar(prompted)) == may_call


# ── what it says ─────────────────────────────────────────────────────────────────────────────────────────


def engine(
    *pieces: str, finish: str = "stop", seen: list[Mapping[str, Any]] | None = None
) -> Callable[[Path, int], local.Complete]:
    """Return an engine that streams these pieces, as llama.cpp's chunks are."""

    def complete(body: Mapping[str, Any], take: Callable[[Mapping[str, Any]], bool]) -> None:
        if seen is not None:
            seen.append(body)
        for piece in pieces:
            if take({"choices": [{"delta": {"content": piece}, "finish_reason": None}]}):
                return
        take({"choices": [{"delta": {}, "finish_reason": finish}]})
        take({"choices": [], "usage": {"prompt_tokens": 500, "completion_tokens": 7}})

    return lambda path, threads: complete


async def hear(model: LocalModel, question: Prompt | None = None) -> tuple[list[str], LLMResponse]:
    events = [event async for event in model.stream(question or asked())]
    response = events[-1]
    assert isinstance(response, LLMResponse)
    return [event.text for event in events if isinstance(event, TextDelta)], response


async def test_plain_words_stream_and_are_counted() -> None:
    model = LocalModel(Path("m"), open_engine=engine("It is ", "25% full."))

    deltas, response = await hear(model, asked(answered=1))

    assert deltas == ["It is ", "25% full."]
    assert response.message == AssistantMessage("It is 25% full.")
    assert response.usage is not None
    assert (response.usage.input, response.usage.output) == (500, 7)


async def test_a_figure_that_no_result_stands_behind_becomes_a_call() -> None:
    forms: list[str] = []

    def complete(body: Mapping[str, Any], take: Callable[[Mapping[str, Any]], bool]) -> None:
        forms.append(body["grammar"])
        text = frame("df -h /") if body["grammar"] == local.CALL_ONLY else "The disk is 25% full."
        take({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]})

    deltas, response = await hear(LocalModel(Path("m"), open_engine=lambda path, threads: complete))

    assert forms == [local.EITHER, local.CALL_ONLY]
    assert deltas == []
    assert response.message.tool_calls[0].arguments["command"] == "df -h /"


async def test_a_command_is_a_call_that_claims_to_be_high() -> None:
    written = frame('echo "a\\b" | wc')

    deltas, response = await hear(LocalModel(Path("m"), open_engine=engine(*written)))

    [call] = response.message.tool_calls
    assert deltas == []
    assert call.name == "run_in_terminal"
    assert call.arguments == {"command": 'echo "a\\b" | wc', "risk": "high"}
    assert response.stop_reason == "tool_calls"


async def test_a_command_that_was_cut_off_is_no_command() -> None:
    with pytest.raises(LLMMalformed, match="cut off"):
        await hear(LocalModel(Path("m"), open_engine=engine('<tool_use>{"name": "ru', finish="length")))


async def test_it_is_asked_without_chance_and_within_the_grammar() -> None:
    seen: list[Mapping[str, Any]] = []

    await hear(LocalModel(Path("m"), open_engine=engine("ok", seen=seen)))

    assert seen[0]["temperature"] == 0
    assert seen[0]["grammar"] == local.EITHER


async def test_an_error_of_the_engine_is_told() -> None:
    def complete(_: Mapping[str, Any], take: Callable[[Mapping[str, Any]], bool]) -> None:
        take({"error": {"message": "no memory"}})

    with pytest.raises(LLMUnavailable, match="no memory"):
        await hear(LocalModel(Path("m"), open_engine=lambda path, threads: complete))


async def test_leaving_in_the_middle_stops_the_engine() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def complete(_: Mapping[str, Any], take: Callable[[Mapping[str, Any]], bool]) -> None:
        while not take({"choices": [{"delta": {"content": "a "}}]}):
            pass
        loop.call_soon_threadsafe(stopped.set)

    model = LocalModel(Path("m"), open_engine=lambda path, threads: complete)
    async with aclosing(model.stream(asked(answered=1))) as events:
        async for _ in events:
            break

    await asyncio.wait_for(stopped.wait(), 5)


@pytest.mark.skipif(
    not os.environ.get("LOCAL_TEST_MODEL"), reason="LOCAL_TEST_MODEL names no GGUF file; see make engine"
)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("tools", [(SHELL,), ()], ids=["may call", "words only"])
async def test_llama_cpp_keeps_to_the_grammar(tools: Sequence[ToolDefinition]) -> None:
    environ = {"LOCAL_MODEL_FILE": os.environ["LOCAL_TEST_MODEL"]}
    question = prompt(UserMessage("How full is the disk?"), tools=tools)
    async with open_http() as http:
        client = build_client(["local:test"], environ, http)

        events = [event async for event in client.stream(question)]

    response = events[-1]
    assert isinstance(response, LLMResponse)
    assert bool(response.message.tool_calls) != bool(response.message.text)
    assert tools or not response.message.tool_calls
