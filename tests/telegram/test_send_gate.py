"""One gate per chat: who goes first, who waits, what is dropped (T4, design 8)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from telegram import Bot
from telegram.error import BadRequest, RetryAfter, TimedOut

from bot.demo import Emulator, Person
from bot.telegram.send_gate import Dropped, Priority, Rates, SendGate
from tests.telegram.conftest import FAST, end, settle

CHAT, OTHER, GROUP = 7, 8, -500
Sender = Callable[[], Awaitable[str]]


class Log:
    """What was sent, and when."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.times: list[float] = []

    def send(self, name: str) -> Sender:
        async def send() -> str:
            self.names.append(name)
            self.times.append(time.monotonic())
            return name

        return send


def refused_once(log: Log, name: str, seconds: float) -> Sender:
    """A sending that is answered 429 the first time."""
    refused: list[str] = []

    async def send() -> str:
        if not refused:
            refused.append(name)
            raise RetryAfter(timedelta(seconds=seconds))
        return await log.send(name)()

    return send


async def test_it_returns_what_the_sending_returned() -> None:
    assert await SendGate(FAST).run(CHAT, Priority.ANSWER, Log().send("hello")) == "hello"


async def test_the_most_urgent_goes_first() -> None:
    gate, log, open_ = SendGate(FAST), Log(), asyncio.Event()

    async def running() -> None:
        await open_.wait()

    first = asyncio.create_task(gate.run(CHAT, Priority.TYPING, running))
    await asyncio.sleep(0)
    queued = [asyncio.create_task(gate.run(CHAT, p, log.send(p.name))) for p in reversed(Priority)]
    await asyncio.sleep(0)
    open_.set()
    await asyncio.gather(first, *queued)

    assert log.names == ["APPROVAL", "ANSWER", "ERROR", "PROGRESS", "TYPING"]


async def test_what_is_equally_urgent_keeps_its_order() -> None:
    gate, log = SendGate(FAST), Log()

    await asyncio.gather(*(gate.run(CHAT, Priority.ANSWER, log.send(str(i))) for i in range(20)))

    assert log.names == [str(i) for i in range(20)]


async def test_one_sending_at_a_time_goes_to_a_chat() -> None:
    gate, at_once, most = SendGate(FAST), 0, 0

    async def send() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        at_once -= 1

    await asyncio.gather(*(gate.run(CHAT, Priority.ANSWER, send) for _ in range(5)))

    assert most == 1


async def test_a_slow_chat_does_not_slow_another() -> None:
    gate, log = SendGate(FAST), Log()
    slow = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, lambda: asyncio.sleep(5)))
    await asyncio.sleep(0)

    async with asyncio.timeout(0.5):
        await gate.run(OTHER, Priority.ANSWER, log.send("other"))

    assert log.names == ["other"]
    await end(slow)
    await gate.close()


async def test_a_429_is_waited_for_and_the_sending_made_again() -> None:
    gate, log = SendGate(FAST), Log()
    began = time.monotonic()

    assert await gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.2)) == "answer"

    assert log.times[0] - began >= 0.2


async def test_a_429_holds_back_everything_for_that_chat() -> None:
    gate, log = SendGate(FAST), Log()
    began = time.monotonic()
    held = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.2)))
    await settle(lambda: gate.held() == 1)

    await gate.run(CHAT, Priority.APPROVAL, log.send("card"), counts=False)

    assert log.times[0] - began >= 0.2
    await held


async def test_a_429_holds_back_no_other_chat() -> None:
    gate, log = SendGate(FAST), Log()
    began = time.monotonic()
    held = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.3)))
    await settle(lambda: gate.held() == 1)

    await gate.run(OTHER, Priority.PROGRESS, log.send("other"), droppable=True)

    assert log.times[0] - began < 0.2
    await held


async def test_what_got_a_429_keeps_its_place() -> None:
    gate, log = SendGate(FAST), Log()
    first = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "first", 0.1)))
    await settle(lambda: gate.held() == 1)

    await gate.run(CHAT, Priority.ANSWER, log.send("second"))

    assert log.names == ["first", "second"]
    await first


async def test_something_more_urgent_overtakes_while_the_chat_is_held() -> None:
    gate, log = SendGate(FAST), Log()
    answer = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.2)))
    await settle(lambda: gate.held() == 1)

    await gate.run(CHAT, Priority.APPROVAL, log.send("card"))
    await answer

    assert log.names == ["card", "answer"]


async def test_what_uses_no_rate_does_not_wait_for_it() -> None:
    gate, log = SendGate(Rates(private=0.001, private_burst=1)), Log()
    await gate.run(CHAT, Priority.ANSWER, log.send("first"))
    slow = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, log.send("second")))
    await asyncio.sleep(0.01)

    async with asyncio.timeout(0.5):
        await gate.run(CHAT, Priority.APPROVAL, log.send("card"), counts=False)

    assert log.names == ["first", "card"]
    await end(slow)
    await gate.close()


async def test_progress_is_dropped_while_the_chat_is_held() -> None:
    gate, log = SendGate(FAST), Log()
    answer = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.1)))
    await settle(lambda: gate.held() == 1)

    with pytest.raises(Dropped):
        await gate.run(CHAT, Priority.TYPING, log.send("typing"), droppable=True, counts=False)

    await answer
    assert log.names == ["answer"]


async def test_progress_that_gets_a_429_is_dropped_and_holds_the_chat() -> None:
    gate, log = SendGate(FAST), Log()

    with pytest.raises(Dropped):
        await gate.run(CHAT, Priority.PROGRESS, refused_once(log, "line", 0.2), droppable=True)

    assert gate.held() == 1
    assert log.names == []


async def test_progress_queued_before_a_429_is_dropped_after_it() -> None:
    gate, log = SendGate(FAST), Log()
    answer = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.1)))
    line = asyncio.create_task(gate.run(CHAT, Priority.PROGRESS, log.send("line"), droppable=True))
    await settle(lambda: gate.held() == 1)

    outcomes = await asyncio.gather(answer, line, return_exceptions=True)

    assert outcomes[0] == "answer"
    assert isinstance(outcomes[1], str | Dropped)


async def test_progress_never_takes_the_last_of_a_burst() -> None:
    gate, log = SendGate(Rates(private=0.001, private_burst=2)), Log()
    await gate.run(CHAT, Priority.PROGRESS, log.send("line"), droppable=True)

    with pytest.raises(Dropped):
        await gate.run(CHAT, Priority.PROGRESS, log.send("another line"), droppable=True)
    async with asyncio.timeout(0.5):
        await gate.run(CHAT, Priority.ANSWER, log.send("answer"))

    assert log.names == ["line", "answer"]


async def test_after_a_burst_a_private_chat_gets_its_rate() -> None:
    gate, log = SendGate(Rates(private=20, private_burst=3)), Log()

    await asyncio.gather(*(gate.run(CHAT, Priority.ANSWER, log.send(str(i))) for i in range(5)))

    assert log.times[2] - log.times[0] < 0.05
    assert 0.09 <= log.times[4] - log.times[2] < 0.3


async def test_a_group_has_a_rate_of_its_own() -> None:
    gate, log = SendGate(Rates(private=1000, group=20, group_burst=1)), Log()

    await asyncio.gather(*(gate.run(GROUP, Priority.ANSWER, log.send(str(i))) for i in range(3)))

    assert log.times[2] - log.times[0] >= 0.09


async def test_all_chats_together_have_a_rate() -> None:
    gate, log = SendGate(Rates(private=1000, overall=30)), Log()
    began = time.monotonic()

    await asyncio.gather(*(gate.run(chat, Priority.ANSWER, log.send(str(chat))) for chat in range(1, 37)))

    assert time.monotonic() - began >= 6 / 30 - 0.02


async def test_the_standing_rates_are_those_of_telegram() -> None:
    rates = Rates()

    assert (rates.private, round(rates.group * 60), rates.overall) == (1.0, 20, 30.0)


async def test_typing_uses_no_rate() -> None:
    gate, log = SendGate(Rates(private=0.001, private_burst=1)), Log()
    for _ in range(5):
        await gate.run(CHAT, Priority.TYPING, log.send("typing"), droppable=True, counts=False)

    async with asyncio.timeout(0.5):
        await gate.run(CHAT, Priority.ANSWER, log.send("answer"))

    assert log.names == ["typing"] * 5 + ["answer"]


async def test_an_error_goes_to_who_sent_and_stops_nobody_else() -> None:
    gate, log = SendGate(FAST), Log()

    async def refused() -> None:
        raise BadRequest("chat not found")

    first, second = await asyncio.gather(
        gate.run(CHAT, Priority.ANSWER, refused),
        gate.run(CHAT, Priority.ANSWER, log.send("next")),
        return_exceptions=True,
    )

    assert isinstance(first, BadRequest)
    assert second == "next"


async def test_what_nobody_waits_for_any_more_is_not_sent() -> None:
    gate, log = SendGate(FAST), Log()
    held = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.1)))
    await settle(lambda: gate.held() == 1)
    given_up = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, log.send("given up")))
    await asyncio.sleep(0.01)

    await end(given_up)
    await held
    await asyncio.sleep(0.05)

    assert log.names == ["answer"]


async def test_a_callback_is_answered_at_once_though_its_chat_is_held() -> None:
    gate, log = SendGate(FAST), Log()
    held = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.2)))
    await settle(lambda: gate.held() == 1)

    gate.answer(log.send("toast"))
    await settle(lambda: log.names == ["toast"])
    await held

    assert log.names == ["toast", "answer"]


async def test_a_callback_answer_that_comes_too_late_is_no_error() -> None:
    async def late() -> None:
        raise BadRequest("query is too old")

    gate = SendGate()

    gate.answer(late)
    await asyncio.sleep(0.01)

    await gate.close()


async def test_a_chat_is_no_longer_counted_as_held_when_its_time_is_over() -> None:
    gate, log = SendGate(FAST), Log()

    await gate.run(CHAT, Priority.ANSWER, refused_once(log, "answer", 0.05))

    assert gate.held() == 0


async def test_closing_ends_what_waits() -> None:
    gate, log = SendGate(Rates(private=0.001, private_burst=1)), Log()
    await gate.run(CHAT, Priority.ANSWER, log.send("first"))
    waiting = asyncio.create_task(gate.run(CHAT, Priority.ANSWER, log.send("second")))
    await asyncio.sleep(0.01)

    await gate.close()

    assert (await asyncio.gather(waiting, return_exceptions=True))[0].__class__ is asyncio.CancelledError


async def test_what_nobody_waits_for_is_sent_in_its_place() -> None:
    gate, log = SendGate(FAST), Log()

    gate.leave(CHAT, Priority.PROGRESS, log.send("tidy up"))

    assert log.names == []
    await settle(lambda: log.names == ["tidy up"])


async def test_what_nobody_waits_for_may_fail() -> None:
    gate, log = SendGate(FAST), Log()

    async def fails() -> None:
        raise TimedOut

    gate.leave(CHAT, Priority.PROGRESS, fails)
    await gate.run(CHAT, Priority.TYPING, log.send("next"))
    await asyncio.sleep(0.01)

    assert log.names == ["next"]


async def test_flood_edit_a_real_429_is_honoured_to_the_second(
    emulator: Emulator, bot: Bot, alice: Person, bob: Person
) -> None:
    gate = SendGate(FAST)
    emulator.fail("sendMessage", 429, retry_after=1, chat=alice.chat)

    answer = asyncio.create_task(
        gate.run(alice.id, Priority.ANSWER, lambda: bot.send_message(alice.id, "final"))
    )
    await emulator.expect_call("sendMessage")
    await gate.run(bob.id, Priority.ANSWER, lambda: bot.send_message(bob.id, "meanwhile"))
    await answer

    refused, meanwhile, final = emulator.calls("sendMessage")
    assert (refused["chat_id"], meanwhile["chat_id"], final["chat_id"]) == (7, 8, 7)
    assert meanwhile.time - refused.time < 0.5
    assert final.time - refused.time >= 1
