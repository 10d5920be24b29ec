"""Webhook delivery: in order per chat, several chats at once, again and again until it succeeds.

https://core.telegram.org/bots/api#setwebhook; delays and giving up as the server's source has them.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from bot.demo.params import Params
from bot.demo.refusals import Refusal
from bot.demo.updates import Pending
from bot.demo.world import World

if TYPE_CHECKING:
    import httpx

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
TIMEOUT = 60.0


class WebhookDelivery:
    """Posts the world's updates to its webhook while one is set.

    Args:
        world: Whose updates.
        call: Runs the method that an answer's body may hold.
    """

    def __init__(self, world: World, call: Callable[[str, Params], Awaitable[Any]]) -> None:
        self._world = world
        self._call = call
        self._running: set[asyncio.Task[None]] = set()
        self._busy: set[int] = set()
        self._delays: dict[int, float] = {}
        self._client: httpx.AsyncClient | None = None
        world.updates.on_push(self.look)
        world.updates.on_webhook(self.look)

    def look(self) -> None:
        """Start what can be delivered now: of each chat the oldest update, `max_connections` at once."""
        hook = self._world.webhook
        if not hook:
            return
        seen: set[int] = set()
        for update in self._world.updates.waiting():
            if update.key in seen or len(self._busy) >= hook["max_connections"]:
                continue
            seen.add(update.key)
            if update.key not in self._busy:
                self._busy.add(update.key)
                task = asyncio.ensure_future(self._deliver(update))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Stop delivering."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _deliver(self, update: Pending) -> None:
        try:
            problem, wait = await self._post(update)
            if problem:
                self._world.webhook |= {
                    "last_error_date": int(self._world.clock()),
                    "last_error_message": problem,
                }
                delay = self._delays.get(update.id, FIRST_DELAY)
                self._delays[update.id] = min(delay * 2, LONGEST_DELAY)
                await asyncio.sleep(wait or delay)
            else:
                self._delays.pop(update.id, None)
                self._world.updates.remove(update)
        finally:
            self._busy.discard(update.key)
        self.look()

    async def _post(self, update: Pending) -> tuple[str, float]:
        """Return what went wrong, empty if nothing did, and the seconds the bot asked to wait."""
        import httpx

        hook = self._world.webhook
        if not hook:
            return "Webhook was deleted", 0.0
        headers = {"Content-Type": "application/json"}
        if hook["secret_token"]:
            headers[SECRET_HEADER] = hook["secret_token"]
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=TIMEOUT)
        try:
            response = await self._client.post(hook["url"], content=update.body, headers=headers)
        except httpx.TimeoutException:
            return "Read timeout expired", 0.0
        except httpx.TransportError:
            return "Connection refused", 0.0
        if not response.is_success:
            asked = response.headers.get("retry-after", "")
            problem = f"Wrong response from the webhook: {response.status_code} {response.reason_phrase}"
            return problem, float(asked) if asked.isdecimal() else 0.0
        await self._obey(response)
        return "", 0.0

    async def _obey(self, response: "httpx.Response") -> None:
        """Run the method in the answer's body; its result is told to nobody."""
        try:
            body = response.json()
        except ValueError:
            return
        if isinstance(body, dict) and isinstance(body.get("method"), str):
            values = {
                name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()
            }
            try:
                await self._call(body["method"], Params(values))
            except Refusal:
                return
