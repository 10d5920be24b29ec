"""JSON-RPC over HTTP to one of several nodes of a chain."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot.errors import ToolError

TIMEOUT = 10.0
"""Seconds for one node to answer."""

TRY_ANOTHER = {429, -32005, -32004, -32601, -32603, -32016, -32097}
"""JSON-RPC errors that are the node's trouble, not the question's: rate limits, methods it lacks, its inside.
https://eips.ethereum.org/EIPS/eip-1474#error-codes"""


class RpcError(ToolError):
    """A node understood the question and said no.

    Attributes:
        number: JSON-RPC's code; 3 is a revert.
        data: What came with it; a revert's reason in hex, for one.
        final: Whether it is about the question, and not the node's own trouble.

    Args:
        status: HTTP's, with which it came.
    """

    def __init__(self, number: int, message: str, data: object = None, *, status: int = 200) -> None:
        super().__init__("EINVAL", f"the node says: {message}")
        self.number = number
        self.message = message
        self.data = data
        self.final = number not in TRY_ANOTHER and status != 429 and status < 500


class Unasked(ToolError):
    """The question never got to the node, so that nothing can have come of it."""


class Node:
    """One address to ask. Its path may hold a key, so only `name` is ever shown."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._numbers = itertools.count(1)
        self.name = urlsplit(url).hostname or "?"

    async def ask(self, method: str, params: Sequence[object]) -> Any:
        """Return the result of one call.

        Raises:
            RpcError: The node says no.
            Unasked: It can't be reached.
            ToolError: No usable answer, by its code: `NetworkTimeout`, `HTTP:503`, … For a call that changes
                something the outcome is unknown then.
        """
        question = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}
        try:
            response = await self._http.post(self._url, json=question, timeout=TIMEOUT)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            # Not chained, here and below: httpx's own words may hold the address.
            raise Unasked(*self._trouble(_network_code(error), type(error).__name__)) from None
        except httpx.HTTPError as error:
            raise ToolError(*self._trouble(_network_code(error), type(error).__name__)) from None
        try:
            answer = response.json()
            if isinstance(problem := answer.get("error"), dict):
                raise RpcError(
                    int(problem.get("code", 0)),
                    str(problem.get("message", ""))[:300],
                    problem.get("data"),
                    status=response.status_code,
                )
            if response.is_success:
                return answer["result"]
        except (ValueError, AttributeError, KeyError, TypeError):
            if response.is_success:
                raise ToolError(*self._trouble("NetworkError", "no JSON-RPC answer")) from None
        code = "RateLimited" if response.status_code == 429 else f"HTTP:{response.status_code}"
        raise ToolError(*self._trouble(code, f"HTTP status {response.status_code}"))

    def _trouble(self, code: str, what: str) -> tuple[str, str]:
        return code, f"the node at {self.name} gave no answer: {what}"


class Nodes:
    """The nodes of one chain, asked in order until one answers; each first whether it is of the chain.

    Args:
        identify: Returns what a node says the chain is.
        identity: What it must say.
        setting: Where the operator named the nodes, to be told of in errors.
    """

    def __init__(
        self, nodes: Sequence[Node], identify: Callable[[Node], Awaitable[str]], identity: str, setting: str
    ) -> None:
        self._nodes = nodes
        self._identify = identify
        self._identity = identity
        self._setting = setting
        self._checked: set[Node] = set()

    def distrust(self) -> None:
        """Have every node asked again which chain it is of, before it is asked anything else."""
        self._checked.clear()

    async def ask(self, method: str, *params: object) -> Any:
        """Return the result of one call that changes nothing, from the first node that answers.

        Raises:
            RpcError: A node says no.
            ToolError: No node answers, or one is of another chain.
        """
        failures: list[ToolError] = []
        for node in self._nodes:
            try:
                await self._check(node)
                return await node.ask(method, params)
            except RpcError as error:
                if error.final:
                    raise
                failures.append(ToolError("NetworkError", f"the node at {node.name} says: {error.message}"))
            except ToolError as error:
                if error.code == "EINVAL":
                    raise
                failures.append(error)
        raise ToolError(failures[0].code, "; ".join(map(str, failures)))

    async def ask_each(self, method: str, *params: object) -> list[Any]:
        """Return what each node answers: its result, or the RpcError, Unasked or ToolError instead of one."""

        async def ask(node: Node) -> Any:
            try:
                await self._check(node)
            except ToolError as error:
                return Unasked(error.code, str(error))
            try:
                return await node.ask(method, params)
            except ToolError as error:
                return error

        return list(await asyncio.gather(*map(ask, self._nodes)))

    async def _check(self, node: Node) -> None:
        if node in self._checked:
            return
        said = await self._identify(node)
        if said != self._identity:
            raise ToolError(
                "EINVAL",
                f"the node at {node.name} is of chain {said}, not {self._identity}: mend {self._setting}",
            )
        self._checked.add(node)


def _network_code(error: httpx.HTTPError) -> str:
    return "NetworkTimeout" if isinstance(error, httpx.TimeoutException) else "NetworkError"
