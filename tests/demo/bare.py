"""A bot without a library: what it sends and what comes back, unchanged."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from bot.demo import Emulator


class BareBot:
    """Calls the API in-process and gives back results or refusals."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client = client
        self.token = token

    @classmethod
    @asynccontextmanager
    async def of(cls, emulator: Emulator) -> AsyncIterator["BareBot"]:
        async with httpx.AsyncClient(
            transport=emulator.transport(), base_url="http://telegram.test", timeout=30
        ) as client:
            yield cls(client, emulator.token)

    async def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the whole body; checks that its error_code is the HTTP status."""
        response = await self.client.post(f"/bot{self.token}/{method}", json=params)
        body: dict[str, Any] = response.json()
        assert response.status_code == body.get("error_code", 200)
        return body

    async def do(self, method: str, **params: Any) -> Any:
        """Return the result of a call that must succeed."""
        body = await self.answer(method, **params)
        assert body["ok"], body
        return body["result"]

    async def refused(self, method: str, **params: Any) -> str:
        """Return the description of a call that must fail."""
        body = await self.answer(method, **params)
        assert not body["ok"], body
        return str(body["description"])

    async def upload(
        self, method: str, files: dict[str, tuple[str, bytes, str]], **params: str
    ) -> dict[str, Any]:
        """Return the whole body of a multipart call."""
        response = await self.client.post(f"/bot{self.token}/{method}", data=params, files=files)
        body: dict[str, Any] = response.json()
        assert response.status_code == body.get("error_code", 200)
        return body

    async def updates(self, **params: Any) -> list[dict[str, Any]]:
        """Return what getUpdates gives now."""
        found: list[dict[str, Any]] = await self.do("getUpdates", **params)
        return found
