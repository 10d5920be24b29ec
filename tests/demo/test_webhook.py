"""Webhook delivery to a real server on loopback (https://core.telegram.org/bots/api#setwebhook)."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot

Answer = tuple[int, bytes]


class Receiver:
    """A bare HTTP server: keeps what was posted, answers what `reply` says."""

    def __init__(self, reply: Callable[[dict[str, Any]], Awaitable[Answer]]) -> None:
        self.reply = reply
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.arrived = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import json

        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                self.bodies.append(body)
                self.headers.append(headers)
                self.arrived.set()
                status, content = await self.reply(body)
                writer.write(
                    f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.bodies) < count:
                self.arrived.clear()
                await self.arrived.wait()


async def fine(_: dict[str, Any]) -> Answer:
    return 200, b""


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[str]:
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        server.close()


@pytest.fixture
async def receiver(emulator: Emulator) -> AsyncIterator[Receiver]:
    yield Receiver(fine)
    await emulator.close()


async def test_updates_are_posted_with_the_secret(
    bot: BareBot, emulator: Emulator, alice: Person, receiver: Receiver
) -> None:
    async with receiving(receiver) as url:
        alice.send("waiting")
        await bot.do("setWebhook", url=url, secret_token="s3cret")
        alice.send("later")
        await receiver.wait_for(2)
        await emulator.close()

    assert [body["message"]["text"] for body in receiver.bodies] == ["waiting", "later"]
    assert receiver.headers[0]["x-telegram-bot-api-secret-token"] == "s3cret"


async def test_a_failed_delivery_is_repeated_and_reported(
    bot: BareBot, emulator: Emulator, alice: Person, receiver: Receiver
) -> None:
    async def once_bad(_: dict[str, Any]) -> Answer:
        return (500 if len(receiver.bodies) == 1 else 200), b""

    receiver.reply = once_bad
    async with receiving(receiver) as url:
        await bot.do("setWebhook", url=url)
        alice.send("hi")
        await receiver.wait_for(1)
        await asyncio.sleep(0.1)
        info = await bot.do("getWebhookInfo")
        await receiver.wait_for(2)
        await asyncio.sleep(0.1)
        after = await bot.do("getWebhookInfo")
        await emulator.close()

    assert info["pending_update_count"] == 1
    assert info["last_error_message"] == "Wrong response from the webhook: 500 X"
    assert after["pending_update_count"] == 0
    assert receiver.bodies[0] == receiver.bodies[1]


async def test_order_is_kept_per_chat_and_chats_do_not_wait_for_each_other(
    bot: BareBot, emulator: Emulator, alice: Person, bob: Person, receiver: Receiver
) -> None:
    free = asyncio.Event()

    async def hold_alice(body: dict[str, Any]) -> Answer:
        if body["message"]["from"]["id"] == 7:
            await free.wait()
        return 200, b""

    receiver.reply = hold_alice
    async with receiving(receiver) as url:
        await bot.do("setWebhook", url=url)
        alice.send("a1")
        alice.send("a2")
        bob.send("b1")
        await receiver.wait_for(2)
        await asyncio.sleep(0.05)
        before = sorted(body["message"]["text"] for body in receiver.bodies)
        free.set()
        await receiver.wait_for(3)
        await emulator.close()

    assert before == ["a1", "b1"]
    assert receiver.bodies[-1]["message"]["text"] == "a2"


async def test_max_connections_bounds_what_is_under_way(
    bot: BareBot, emulator: Emulator, alice: Person, bob: Person, receiver: Receiver
) -> None:
    free = asyncio.Event()

    async def hold(_: dict[str, Any]) -> Answer:
        await free.wait()
        return 200, b""

    receiver.reply = hold
    async with receiving(receiver) as url:
        await bot.do("setWebhook", url=url, max_connections=1)
        alice.send("a")
        bob.send("b")
        await receiver.wait_for(1)
        await asyncio.sleep(0.1)
        assert len(receiver.bodies) == 1
        free.set()
        await receiver.wait_for(2)
        await emulator.close()


async def test_the_answer_may_be_a_method(
    bot: BareBot, emulator: Emulator, alice: Person, receiver: Receiver
) -> None:
    async def speak(_: dict[str, Any]) -> Answer:
        return 200, b'{"method": "sendMessage", "chat_id": 7, "text": "from the hook"}'

    receiver.reply = speak
    async with receiving(receiver) as url:
        await bot.do("setWebhook", url=url)
        alice.send("hi")
        await alice.chat.expect("from the hook")
        await emulator.close()


async def test_a_refused_method_in_the_answer_is_logged_and_delivery_goes_on(
    bot: BareBot, emulator: Emulator, alice: Person, receiver: Receiver
) -> None:
    async def speak_badly(_: dict[str, Any]) -> Answer:
        return 200, b'{"method": "sendMessage", "chat_id": 99, "text": "x"}'

    receiver.reply = speak_badly
    async with receiving(receiver) as url:
        await bot.do("setWebhook", url=url)
        alice.send("one")
        alice.send("two")
        await receiver.wait_for(2)
        call = await emulator.expect_call("sendMessage", after=1)
        await emulator.close()

    assert call.description == "Bad Request: chat not found"


async def test_nobody_listening_is_reported(
    bot: BareBot, emulator: Emulator, alice: Person, receiver: Receiver
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        await bot.do("setWebhook", url=f"http://127.0.0.1:{taken.getsockname()[1]}/hook")
        alice.send("hi")
        await asyncio.sleep(0.2)

    assert (await bot.do("getWebhookInfo"))["last_error_message"] == "Connection refused"


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"url": "ftp://x"}, "bad webhook: An HTTPS URL must be provided for webhook"),
        ({"url": "https://x.io", "secret_token": "sp ace"}, "secret token contains unallowed characters"),
        ({"url": "https://x.io", "secret_token": "x" * 257}, "secret token is too long"),
    ],
)
async def test_a_bad_webhook_is_refused(bot: BareBot, params: dict[str, Any], problem: str) -> None:
    assert await bot.refused("setWebhook", **params) == f"Bad Request: {problem}"


async def test_webhook_info_never_tells_the_secret(bot: BareBot) -> None:
    await bot.do(
        "setWebhook", url="https://bot.test/hook", secret_token="s3cret", allowed_updates=["message"]
    )

    info = await bot.do("getWebhookInfo")

    assert (info["url"], info["max_connections"]) == ("https://bot.test/hook", 40)
    assert info["allowed_updates"] == ["message"]
    assert "s3cret" not in str(info)
