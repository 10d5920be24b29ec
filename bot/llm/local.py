"""A small model inside this process: llama.cpp through xllamacpp, on a file that is fetched once and checked.

It is there to try the bot with a model and without an account. What half a billion weights say is often
wrong, so: its replies are held to a grammar (one shell command, or plain words), its examples destroy
nothing, and whatever it thinks of the risk, every command of it claims to be high and waits for a person.
"""

import asyncio
import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import httpx

from bot.errors import ConfigError, LLMMalformed, LLMUnavailable
from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.messages import (
    AssistantMessage,
    Message,
    Notice,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    current_turn,
)

URL = (
    "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
)
"""The publisher's own file: Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, Apache-2.0, 491,400,064 bytes."""
SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
NAME = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"

TRIES = 4
RETRY_PAUSE = 1.0
TELL_EVERY = 2.0
"""Seconds between two lines of progress."""

WINDOW = 4096
MAX_TOKENS = 256
RECENT_CHARS = 5000
"""Of the conversation; with the examples before it this stays well within the window."""
RESULT_CHARS = 1500
MAX_CALLS = 3
"""In one turn; after that only words are allowed, for it would go on for ever."""

Say = Callable[[str], None]

# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────


def model_file(environ: Mapping[str, str]) -> Path:
    """Return where the model is, or would be put: `LOCAL_MODEL_FILE`, else the user's cache."""
    if given := environ.get("LOCAL_MODEL_FILE", "").strip():
        return Path(given).expanduser().absolute()
    home = Path(environ.get("HOME") or Path.home())
    xdg = Path(environ.get("XDG_CACHE_HOME", ""))
    return (xdg if xdg.is_absolute() else home / ".cache") / "kai-bot" / NAME


def local_problems(environ: Mapping[str, str]) -> list[str]:
    """Return what keeps the local model from being used."""
    problems = engine_problems()
    if not (path := model_file(environ)).is_file():
        problems.append(
            f"the local model is not at {str(path)!r}: fetch it with 'make demo MODEL=local', "
            "or name a GGUF file in LOCAL_MODEL_FILE"
        )
    return problems


def engine_problems() -> list[str]:
    if find_spec("xllamacpp") is not None:
        return []
    return [
        "the local model needs xllamacpp: 'make demo MODEL=local', or pip install 'kai-bot[local]'; "
        "if it can't be had for this machine, install Ollama, or set LLM_MODEL to a provider"
    ]


async def make_ready(environ: Mapping[str, str], say: Say, *, sha256: str = SHA256) -> Path:
    """Return the model's file; fetch it first when it is not there.

    A file that is there already is the owner's choice and is not checked; what is fetched always is.

    Raises:
        ConfigError: The engine is missing, or the file can't be had or is not the right one.
    """
    if problems := engine_problems():
        raise ConfigError(*problems)
    path = model_file(environ)
    if not path.is_file():
        await fetch(environ.get("LOCAL_MODEL_URL", "").strip() or URL, path, say, sha256=sha256)
    return path


async def fetch(url: str, path: Path, say: Say, *, sha256: str, pause: float = RETRY_PAUSE) -> None:
    """Fetch a file once. What has come so far stays in `<path>.part`, and the next try goes on from there.

    Args:
        sha256: Of the whole file, in hexadecimal.
        pause: Seconds before the next try after a cut.

    Raises:
        ConfigError: It could not be fetched (the part stays), or is another file (nothing stays).
    """
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    say(f"fetching the model from {httpx.URL(url).host} to {path}")
    trouble = ""
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as http:
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(pause * attempt)
            try:
                await _go_on(http, url, part, say)
                break
            except httpx.HTTPStatusError as error:
                trouble = f"answered {error.response.status_code}"
                if error.response.status_code < 500:
                    raise _not_fetched(trouble) from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                trouble = str(error) or type(error).__name__
        else:
            raise _not_fetched(trouble)
    say("checking it")
    found = await asyncio.to_thread(_sha256, part)
    if found != sha256:
        part.unlink()
        raise ConfigError(
            f"the model was refused and deleted: its SHA-256 is {found}, and must be {sha256}; "
            "LOCAL_MODEL_URL may name another place that has the right file"
        )
    part.replace(path)


def _not_fetched(trouble: str) -> ConfigError:
    return ConfigError(
        f"the model could not be fetched: {trouble}. Run the same again to go on where it stopped, set "
        "LOCAL_MODEL_URL to another place, or LOCAL_MODEL_FILE to a GGUF file that is here already"
    )


async def _go_on(http: httpx.AsyncClient, url: str, part: Path, say: Say) -> None:
    have = part.stat().st_size if part.exists() else 0
    async with http.stream("GET", url, headers={"Range": f"bytes={have}-"} if have else {}) as answer:
        if answer.status_code == 416:  # nothing is left to fetch; the checksum tells whether it is all
            return
        answer.raise_for_status()
        if answer.status_code != 206 or not answer.headers.get("Content-Range", "").startswith(
            f"bytes {have}-"
        ):
            have = 0
        left = int(answer.headers.get("Content-Length", 0))
        total, told = have + left, time.monotonic()
        with part.open("ab" if have else "wb") as file:
            async for chunk in answer.aiter_raw():
                file.write(chunk)
                have += len(chunk)
                if time.monotonic() - told >= TELL_EVERY:
                    told = time.monotonic()
                    say(progress(have, total))
        if total and have < total:
            raise httpx.ReadError("the connection was cut")
        say(progress(have, total))


def progress(have: int, total: int) -> str:
    if not total:
        return f"  {have / 1e6:.0f} MB"
    return f"  {have / 1e6:.0f} of {total / 1e6:.0f} MB ({100 * have // total}%)"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ── what it is told, and how it may answer ───────────────────────────────────────────────────────────────

SYSTEM = " ".join(
    """
You are Kai, an assistant on a Linux server. To find something out, or to do something, write one shell
command as <tool_use>{"name": "run_in_terminal", "arguments": {"command": "..."}}</tool_use> and nothing else.
You get its output in a <tool_result>. Then answer in one or two short sentences, only from that output. When
no command is needed, just answer. Never guess what a command would print.
""".split()
)


def frame(command: str) -> str:
    """Return a call as the model writes it."""
    body = {"name": "run_in_terminal", "arguments": {"command": command}}
    return f"<tool_use>{json.dumps(body, ensure_ascii=False)}</tool_use>"


def result(text: str) -> str:
    """Return a result as the model reads it."""
    if len(text) > RESULT_CHARS:
        text = f"{text[: RESULT_CHARS // 2]}\n…\n{text[-RESULT_CHARS // 2 :]}"
    return f"<tool_result>\n{text}\n</tool_result>"


# Nothing here deletes, stops or installs: a small model copies its examples.
EXAMPLES: Sequence[tuple[str, str]] = (
    ("user", "hi there"),
    ("assistant", "Hello! What shall I look at on the server?"),
    ("user", "how full is the disk?"),
    ("assistant", frame("df -h /")),
    ("user", result("Filesystem  Size  Used Avail Use% Mounted on\n/dev/sda1    40G   10G   30G  25% /")),
    ("assistant", "The disk is 25% full: 10G of 40G are used and 30G are free."),
    ("user", "which processes use the most memory?"),
    ("assistant", frame("ps -eo pid,rss,comm --sort=-rss | head -n 6")),
    ("user", result("  PID   RSS COMMAND\n  812 91820 postgres\n  640 40112 nginx")),
    ("assistant", "postgres uses the most (about 92 MB), then nginx (about 40 MB)."),
    ("user", "show the last lines of /var/log/syslog"),
    ("assistant", frame("tail -n 20 /var/log/syslog")),
    ("user", result("tail: cannot open '/var/log/syslog': No such file or directory")),
    ("assistant", "There is no file /var/log/syslog on this server."),
    ("user", "thanks"),
    ("assistant", "You're welcome."),
)

_CALL = (
    r"""call ::= "<tool_use>{\"name\": \"run_in_terminal\", \"arguments\": {\"command\": \"" """
    r"""char{1,400} "\"}}</tool_use>" """
    "\n"
    r"""char ::= [^"\\\x00-\x1f] | "\\" ["\\/nt] """
    "\n"
)
_WORDS = r"words ::= [^<\x00-\x09] [^<\x00-\x09]{0,1500}" + "\n"
EITHER = f"root ::= call | words\n{_CALL}{_WORDS}"
CALL_ONLY = f"root ::= call\n{_CALL}"
WORDS_ONLY = f"root ::= words\n{_WORDS}"


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """Return the conversation as the engine takes it: examples first, then the newest that fits."""
    said: list[tuple[str, str]] = []
    room = RECENT_CHARS
    for message in reversed(prompt.transcript):
        role, text = written(message)
        if said and len(text) > room:
            break
        room -= len(text)
        if text:
            said.append((role, text))
    return [
        {"role": role, "content": text} for role, text in (("system", SYSTEM), *EXAMPLES, *reversed(said))
    ]


def written(message: Message) -> tuple[str, str]:
    """Return a message's role and text."""
    match message:
        case AssistantMessage(text, calls):
            commands = [str(call.arguments.get("command", "")) for call in calls]
            return "assistant", "\n".join([*filter(None, [text]), *map(frame, filter(None, commands))])
        case ToolResult(text=text, is_error=is_error, code=code):
            return "user", result(f"[{code}] {text}" if is_error and code else text)
        case UserMessage(text) | Notice(text):
            return "user", text


def grammar(prompt: Prompt) -> str:
    """Return how it may answer now."""
    calls = sum(isinstance(message, ToolResult) for message in current_turn(prompt.transcript))
    offered = any(tool.name == "run_in_terminal" for tool in prompt.tools)
    return EITHER if offered and calls < MAX_CALLS else WORDS_ONLY


def seems_made_up(text: str) -> bool:
    """Whether words that no result stands behind state a fact: a figure, a path, a name in code."""
    return not text.startswith("<") and re.search(r"[0-9`/]", text) is not None


def read(text: str, *, cut: bool) -> AssistantMessage:
    """Return what a whole reply says.

    Raises:
        LLMMalformed: It is a call that was cut off or can't be read.
    """
    if not text.startswith("<"):
        return AssistantMessage(text.strip())
    try:
        body = json.loads(text.removeprefix("<tool_use>").removesuffix("</tool_use>"))
        command = str(body["arguments"]["command"])
    except (ValueError, KeyError, TypeError) as error:
        how = "was cut off" if cut else "can't be read"
        raise LLMMalformed(f"local: a call of the model {how}") from error
    return AssistantMessage("", (ToolCall("run_in_terminal", {"command": command, "risk": "high"}),))


# ── the engine ───────────────────────────────────────────────────────────────────────────────────────────

Chunk = Mapping[str, Any]
Complete = Callable[[Mapping[str, Any], Callable[[Chunk], bool]], Any]
"""Runs one chat completion in the calling thread; gives every chunk of the stream to a function that returns
whether to stop."""


def open_engine(path: Path, threads: int) -> Complete:
    """Load the model; takes a second or two and some 0.7 GB.

    Raises:
        LLMUnavailable: The file can't be loaded.
    """
    engine = import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(path)
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # It listens on a port of this machine whether one needs it or not; nobody knows this key.
    params.api_keys = [secrets.token_urlsafe(24)]
    try:
        server = engine.Server(params)
    except Exception as error:
        raise LLMUnavailable(f"local: {path.name!r} can't be loaded") from error
    return server.handle_chat_completions  # type: ignore[no-any-return]


@dataclass(slots=True)
class Said:
    """One completion, as far as it has come."""

    text: str = ""
    stop: str = "stop"
    usage: Usage = Usage()


class LocalModel:
    """The client. The model is loaded when first asked; one question at a time.

    Args:
        path: A GGUF file.
        threads: That compute; more than there are cores is much slower than fewer.
        open_engine: Loads the model.
    """

    supports_native_tools = True

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        open_engine: Callable[[Path, int], Complete] = open_engine,
    ) -> None:
        self._path = path
        self._threads = threads or max(1, min(4, os.cpu_count() or 1))
        self._open = open_engine
        self._complete: Complete | None = None
        self._one_at_a_time = asyncio.Lock()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        form = grammar(prompt)
        # Before there is a result, words are held back until it is clear that nothing in them is made up.
        held = form == EITHER and not any(isinstance(m, ToolResult) for m in current_turn(prompt.transcript))
        async with self._one_at_a_time:
            if self._complete is None:
                self._complete = await asyncio.to_thread(self._open, self._path, self._threads)
            said = Said()
            async with aclosing(self._say(self._complete, prompt, form, said)) as pieces:
                async for piece in pieces:
                    if not held:
                        yield TextDelta(piece)
            if held and seems_made_up(said.text):
                said = Said()
                async for _ in self._say(self._complete, prompt, CALL_ONLY, said):
                    pass
        message = read(said.text, cut=said.stop == "length")
        if held and message.text:
            yield TextDelta(message.text)
        stop: Literal["end", "tool_calls", "length"] = "length" if said.stop == "length" else "end"
        yield LLMResponse(message, said.usage, "tool_calls" if message.tool_calls else stop, self._path.stem)

    async def _say(
        self, complete: Complete, prompt: Prompt, form: str, said: "Said"
    ) -> AsyncGenerator[str, None]:
        """Ask once; yield words as they come, and note everything in `said`."""
        asked = {
            "messages": messages(prompt),
            "grammar": form,
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": True,
        }
        async with aclosing(self._chunks(complete, asked)) as chunks:
            async for chunk in chunks:
                if counted := chunk.get("usage"):
                    said.usage = Usage(counted.get("prompt_tokens", 0), counted.get("completion_tokens", 0))
                for choice in chunk.get("choices", ()):
                    said.stop = choice.get("finish_reason") or said.stop
                    piece = choice.get("delta", {}).get("content") or ""
                    said.text += piece
                    if piece and not said.text.startswith("<"):
                        yield piece

    async def _chunks(self, complete: Complete, asked: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Run a completion in a thread and yield its chunks; leaving early makes it stop."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        left = threading.Event()

        def take(chunk: Chunk) -> bool:
            if not left.is_set():
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            return left.is_set()

        def run() -> None:
            try:
                complete(asked, take)
            finally:
                if not left.is_set():
                    loop.call_soon_threadsafe(chunks.put_nowait, None)

        working = asyncio.create_task(asyncio.to_thread(run))
        try:
            while (chunk := await chunks.get()) is not None:
                if "error" in chunk:
                    raise LLMUnavailable(f"local: {chunk['error'].get('message', 'the engine failed')!r}")
                yield chunk
            await working
        finally:
            left.set()
            if not working.done():
                await asyncio.wait({working})
