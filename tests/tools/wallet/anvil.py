"""A real Ethereum node on this machine: anvil, from the npm package that ships its binary.

https://getfoundry.sh/anvil/overview
"""

import asyncio
import fcntl
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests import lacking

CACHE = Path(__file__).parents[2] / ".cache" / "anvil"
VERSION = "1.7.1"
INSTALL_TIMEOUT = 300.0
"""Seconds; longer than a test may take, for `.ci/run` installs it before the tests."""

RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
RICH_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""Anvil's first account and its well-known key; it holds 10 000 coins."""
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
"""Its second account, whose transactions it signs by itself."""


def anvil_binary() -> Path:
    """Return the binary, installed on first use; skips only where there is no npm, and never in CI."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"@foundry-rs/anvil-{platform.system().lower()}-{machine}"
    binary = CACHE / "node_modules" / package / "bin" / "anvil"
    if binary.exists():
        return binary
    npm = shutil.which("npm")
    if npm is None:
        lacking.skip("NO TRANSFER IS TESTED: npm is missing, and it brings anvil")
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n")
    with (CACHE / "lock").open("a") as lock:
        # Tests run beside each other, in processes of their own.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
            command.append(f"{package}@{VERSION}")
            subprocess.run(command, cwd=CACHE, check=True, capture_output=True, timeout=INSTALL_TIMEOUT)
    return binary


@dataclass(slots=True)
class Anvil:
    """A running node. `url` is its address; `http` is ours, for questions of the test."""

    url: str
    http: httpx.AsyncClient

    async def ask(self, method: str, *params: object) -> Any:
        """Return a result, or fail the test."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = (await self.http.post(self.url, json=question)).json()
        assert "error" not in answer, answer
        return answer["result"]

    async def balance(self, address: str) -> int:
        return int(await self.ask("eth_getBalance", address, "latest"), 16)

    async def nonce(self, address: str) -> int:
        return int(await self.ask("eth_getTransactionCount", address, "latest"), 16)

    async def deploy(self, sender: str, bytecode: str) -> str:
        """Make a contract by an account whose key anvil has; return its address."""
        made = await self.ask("eth_sendTransaction", {"from": sender, "data": "0x" + bytecode})
        for _ in range(500):
            if receipt := await self.ask("eth_getTransactionReceipt", made):
                return str(receipt["contractAddress"])
            await asyncio.sleep(0.01)
        raise AssertionError("the contract was never made")


@asynccontextmanager
async def run_anvil(folder: Path, chain_id: int = 31337) -> AsyncIterator[Anvil]:
    """Run a node with a fresh chain on a free port of this machine."""
    binary = anvil_binary()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    # The binary itself, not npm's wrapper: a kill must reach it.
    command = [str(binary), "--host", "127.0.0.1", "--port", str(port), "--silent", "--threads", "1"]
    command += ["--chain-id", str(chain_id)]
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(*command, env=environ, cwd=folder)
    try:
        async with httpx.AsyncClient(trust_env=False) as http:
            anvil = Anvil(f"http://127.0.0.1:{port}", http)
            deadline = time.monotonic() + 20
            while True:
                try:
                    await anvil.ask("eth_chainId")
                    break
                except httpx.TransportError:
                    assert process.returncode is None, "anvil ended at once"
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.02)
            yield anvil
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


if __name__ == "__main__":
    sys.stdout.write(f"{anvil_binary()}\n")
