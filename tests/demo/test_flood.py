"""Flood control (facts/telegram §3.3): 1 a second per chat, 20 a minute per group, 30 a second in all."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.demo import Emulator, VirtualClock
from tests.demo.bare import BareBot


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(clock=VirtualClock(1e9))


@pytest.fixture
async def strict(emulator: Emulator) -> AsyncIterator[BareBot]:
    for number in range(1, 60):
        emulator.person(number, started=True)
    async with BareBot.of(emulator) as bot:
        yield bot


async def burst(bot: BareBot, count: int, chat_id: int = 7) -> list[dict[str, Any]]:
    return [await bot.answer("sendMessage", chat_id=chat_id, text="x") for _ in range(count)]


async def test_three_at_once_pass_and_the_fourth_does_not(strict: BareBot) -> None:
    *passed, fourth = await burst(strict, 4)

    assert all(body["ok"] for body in passed)
    assert (fourth["error_code"], fourth["description"]) == (429, "Too Many Requests: retry after 1")
    assert fourth["parameters"] == {"retry_after": 1}


async def test_one_a_second_passes_for_ever(strict: BareBot, emulator: Emulator) -> None:
    for _ in range(100):
        (body,) = await burst(strict, 1)
        assert body["ok"]
        emulator.clock.advance(1)


async def test_after_the_named_time_it_passes(strict: BareBot, emulator: Emulator) -> None:
    wait = (await burst(strict, 4))[-1]["parameters"]["retry_after"]

    emulator.clock.advance(wait)

    assert (await burst(strict, 1))[0]["ok"]


async def test_ignoring_it_makes_it_longer(strict: BareBot) -> None:
    await burst(strict, 3)

    waits = [body["parameters"]["retry_after"] for body in await burst(strict, 5)]

    assert waits == sorted(set(waits))
    assert waits[-1] >= 16


async def test_a_quiet_minute_ends_the_growth(strict: BareBot, emulator: Emulator) -> None:
    await burst(strict, 8)

    emulator.clock.advance(200)

    assert (await burst(strict, 4))[-1]["parameters"]["retry_after"] == 1


async def test_other_chats_go_on(strict: BareBot) -> None:
    await burst(strict, 5)

    assert (await burst(strict, 1, chat_id=8))[0]["ok"]


async def test_edits_count_and_typing_does_not(strict: BareBot) -> None:
    sent = (await burst(strict, 1))[0]["result"]
    for _ in range(10):
        await strict.do("sendChatAction", chat_id=7, action="typing")
    for text in "ab":
        await strict.do("editMessageText", chat_id=7, message_id=sent["message_id"], text=text)

    body = await strict.answer("editMessageText", chat_id=7, message_id=sent["message_id"], text="c")

    assert body["error_code"] == 429


async def test_a_group_has_twenty_a_minute(strict: BareBot, emulator: Emulator) -> None:
    emulator.group(-500, "Ops", [emulator.person(1)])
    sent = 0
    for _ in range(40):
        sent += (await burst(strict, 1, chat_id=-500))[0]["ok"]
        emulator.clock.advance(1)

    assert 20 <= sent <= 33


async def test_an_album_counts_by_its_messages(strict: BareBot) -> None:
    media = [{"type": "document", "media": f"attach://f{i}"} for i in range(3)]
    files = {f"f{i}": ("a.txt", b"x", "text/plain") for i in range(3)}
    import json

    body = await strict.upload("sendMediaGroup", files, chat_id="7", media=json.dumps(media))

    assert body["ok"]
    assert (await burst(strict, 1))[0]["error_code"] == 429


async def test_thirty_a_second_in_all(strict: BareBot) -> None:
    answers = [(await burst(strict, 1, chat_id=number))[0] for number in range(1, 40)]

    assert [body["ok"] for body in answers[:30]] == [True] * 30
    assert answers[30]["error_code"] == 429


async def test_a_blocked_chat_answers_429_to_everything(strict: BareBot, emulator: Emulator) -> None:
    emulator.flood.enabled = False
    emulator.flood.block(33, chat_id=7)

    action = await strict.answer("sendChatAction", chat_id=7, action="typing")
    other = await strict.answer("sendMessage", chat_id=8, text="x")
    emulator.clock.advance(200)
    later = await strict.answer("sendMessage", chat_id=7, text="x")

    assert action["parameters"]["retry_after"] >= 33
    assert other["ok"]
    assert later["ok"]


async def test_a_refused_call_has_no_effect(strict: BareBot, emulator: Emulator) -> None:
    await burst(strict, 10)

    assert len(emulator.chat(7).messages) == 3


async def test_it_can_be_switched_off(strict: BareBot, emulator: Emulator) -> None:
    emulator.flood.enabled = False

    assert all(body["ok"] for body in await burst(strict, 100))
