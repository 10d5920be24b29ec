"""Scripted trouble, over real connections: what the client sees and whether the method took effect."""

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from bot.demo import Emulator, Person, close, hang, refuse, serve, slow
from tests.demo.bare import BareBot


@pytest.fixture
async def far(emulator: Emulator, alice: Person) -> AsyncIterator[BareBot]:
    """The bot on the other end of a TCP connection."""
    async with serve(emulator) as url, httpx.AsyncClient(base_url=url, timeout=0.5) as client:
        yield BareBot(client, emulator.token)


async def test_a_status_is_answered_so_many_times(far: BareBot, emulator: Emulator, alice: Person) -> None:
    emulator.fail("sendMessage", 429, retry_after=33, times=2)

    answers = [await far.answer("sendMessage", chat_id=7, text="x") for _ in range(3)]

    assert [body["ok"] for body in answers] == [False, False, True]
    assert answers[0]["parameters"] == {"retry_after": 33}
    assert answers[0]["description"] == "Too Many Requests: retry after 33"
    assert len(alice.chat.messages) == 1


async def test_a_fault_may_be_for_one_chat(
    far: BareBot, emulator: Emulator, alice: Person, bob: Person
) -> None:
    emulator.fail("sendMessage", 500, chat=alice.chat)

    assert (await far.answer("sendMessage", chat_id=8, text="x"))["ok"]
    assert await far.refused("sendMessage", chat_id=7, text="x") == "Internal Server Error"


async def test_a_star_spares_get_updates(far: BareBot, emulator: Emulator) -> None:
    emulator.fail("*", 502)

    assert await far.updates() == []
    assert await far.refused("getMe") == "Bad Gateway"


async def test_a_broken_proxy_answers_html(far: BareBot, emulator: Emulator) -> None:
    emulator.fail("getMe", refuse(502, body=b"<html>Bad Gateway</html>"))

    response = await far.client.post(f"/bot{far.token}/getMe")

    assert (response.status_code, response.text) == (502, "<html>Bad Gateway</html>")
    assert response.headers["content-type"].startswith("text/html")


async def test_latency_delays_a_good_answer(far: BareBot, emulator: Emulator) -> None:
    emulator.fail("getMe", slow(before=0.2))
    started = time.perf_counter()

    await far.do("getMe")

    assert time.perf_counter() - started > 0.19


async def test_an_answer_after_the_clients_patience_was_still_sent(
    far: BareBot, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", slow(after=2))

    with pytest.raises(httpx.ReadTimeout):
        await far.do("sendMessage", chat_id=7, text="once")

    assert [message.text for message in alice.chat.messages] == ["once"]


@pytest.mark.parametrize(("runs", "shown"), [(True, ["x"]), (False, [])])
async def test_a_closed_connection_before_or_after_the_effect(
    far: BareBot, emulator: Emulator, alice: Person, runs: bool, shown: list[str]
) -> None:
    emulator.fail("sendMessage", close(runs=runs))

    with pytest.raises(httpx.RemoteProtocolError):
        await far.do("sendMessage", chat_id=7, text="x")

    assert [message.text for message in alice.chat.messages] == shown


@pytest.mark.parametrize(("runs", "shown"), [(True, ["x"]), (False, [])])
async def test_never_answering_before_or_after_the_effect(
    far: BareBot, emulator: Emulator, alice: Person, runs: bool, shown: list[str]
) -> None:
    emulator.fail("sendMessage", hang(runs=runs))

    with pytest.raises(httpx.ReadTimeout):
        await far.do("sendMessage", chat_id=7, text="x")
    await asyncio.sleep(0.05)

    assert [message.text for message in alice.chat.messages] == shown
    assert emulator.calls("sendMessage")[0].status is None
    assert (await far.answer("getMe"))["ok"]


async def test_a_half_open_poll_hangs_while_others_work(
    far: BareBot, emulator: Emulator, alice: Person
) -> None:
    emulator.half_open()

    with pytest.raises(httpx.ReadTimeout):
        await far.updates(timeout=1)
    alice.send("hi")

    assert len(await far.updates()) == 1


async def test_a_client_that_left_its_poll_leaves_no_poll_behind(far: BareBot, emulator: Emulator) -> None:
    with pytest.raises(httpx.ReadTimeout):
        await far.updates(timeout=30)
    await asyncio.sleep(0.05)

    assert not emulator.updates.polling


async def test_in_process_a_closed_connection_is_the_same_error(bot: BareBot, emulator: Emulator) -> None:
    emulator.fail("getMe", close(runs=False))

    with pytest.raises(httpx.RemoteProtocolError):
        await bot.do("getMe")


async def test_downloads_meet_faults_too(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    message = alice.send_document("a.txt", b"x")
    assert message.media
    path = (await bot.do("getFile", file_id=message.media["file_id"]))["file_path"]
    emulator.fail("file", 500)

    first = await bot.client.get(f"/file/bot{bot.token}/{path}")
    second = await bot.client.get(f"/file/bot{bot.token}/{path}")

    assert (first.status_code, second.status_code) == (500, 200)


async def test_cleared_faults_are_forgotten(bot: BareBot, emulator: Emulator) -> None:
    emulator.fail("getMe", 500, times=99)

    emulator.faults.clear()

    await bot.do("getMe")
