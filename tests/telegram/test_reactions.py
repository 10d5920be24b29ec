"""Marks on a message: received, done; a quick turn needs none, and none is worth an error."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from telegram import Bot

from bot.demo import Emulator, Person
from bot.telegram.reactions import DONE, RECEIVED, Reactions
from bot.telegram.send_gate import SendGate
from tests.telegram.conftest import FAST, settle


@pytest.fixture
async def gate() -> AsyncIterator[SendGate]:
    gate = SendGate(FAST)
    yield gate
    await gate.close()


@pytest.fixture
async def reactions(bot: Bot, gate: SendGate) -> AsyncIterator[Reactions]:
    reactions = Reactions(bot, gate, after=0.1)
    yield reactions
    await reactions.close()


def asked_in(message_id: int | None) -> Callable[[], Awaitable[int | None]]:
    async def asked() -> int | None:
        return message_id

    return asked


def marks(emulator: Emulator) -> list[str]:
    return [call["reaction"][0]["emoji"] for call in emulator.calls("setMessageReaction")]


async def test_a_turn_that_takes_a_while_is_marked_and_marked_done(
    reactions: Reactions, emulator: Emulator, alice: Person
) -> None:
    message = alice.send("hello")
    async with reactions.turn(7, asked_in(message.id)) as turn:
        await settle(lambda: marks(emulator) == [RECEIVED])
        turn.done = True

    await settle(lambda: marks(emulator) == [RECEIVED, DONE])


async def test_a_quick_turn_is_not_marked(reactions: Reactions, emulator: Emulator, alice: Person) -> None:
    async with reactions.turn(7, asked_in(alice.send("hello").id)) as turn:
        turn.done = True
    await asyncio.sleep(0.2)

    assert marks(emulator) == []


async def test_a_message_that_waited_is_marked_once_and_done_however_quick_its_turn(
    reactions: Reactions, emulator: Emulator, alice: Person
) -> None:
    message = alice.send("hello")
    reactions.received(7, message.id)
    reactions.received(7, message.id)
    await settle(lambda: marks(emulator) == [RECEIVED])
    async with reactions.turn(7, asked_in(message.id)) as turn:
        turn.done = True

    await settle(lambda: marks(emulator) == [RECEIVED, DONE])


async def test_a_turn_that_is_not_answered_is_not_done(
    reactions: Reactions, emulator: Emulator, alice: Person
) -> None:
    async with reactions.turn(7, asked_in(alice.send("hello").id)):
        await settle(lambda: marks(emulator) == [RECEIVED])
    await asyncio.sleep(0.1)

    assert marks(emulator) == [RECEIVED]


async def test_off_marks_nothing(bot: Bot, gate: SendGate, emulator: Emulator, alice: Person) -> None:
    reactions = Reactions(bot, gate, on=False, after=0.05)
    message = alice.send("hello")
    reactions.received(7, message.id)
    async with reactions.turn(7, asked_in(message.id)) as turn:
        await asyncio.sleep(0.1)
        turn.done = True
    await asyncio.sleep(0.1)

    assert marks(emulator) == []


async def test_a_turn_that_nobody_asked_for_and_a_chat_that_refuses_disturb_nothing(
    reactions: Reactions, emulator: Emulator, alice: Person
) -> None:
    message = alice.send("hello")
    emulator.fail("setMessageReaction", 400, times=9)
    for asked in (None, message.id):
        async with reactions.turn(7, asked_in(asked)) as turn:
            await asyncio.sleep(0.15)
            turn.done = True

    await settle(lambda: [c.status for c in emulator.calls("setMessageReaction")][:1] == [400])


async def test_a_burst_of_messages_is_not_a_burst_of_marks(
    reactions: Reactions, emulator: Emulator, alice: Person
) -> None:
    for message in [alice.send(f"number {number}") for number in range(50)]:
        reactions.received(7, message.id)
    await asyncio.sleep(0.2)

    assert 1 <= len(marks(emulator)) <= 5
