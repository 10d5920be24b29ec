"""Albums and pastes are one message; everything else is delivered at once."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from telegram import Chat, Message, User

from bot.messages import Conversation
from bot.telegram.gather import Gathering, Received, join

LONG = "x" * 4096


def message(
    text: str = "", *, album: str | None = None, user: int = 7, chat: int = 7, number: int = 1
) -> Message:
    return Message(
        number,
        datetime.now(UTC),
        Chat(chat, Chat.PRIVATE if chat > 0 else Chat.GROUP),
        from_user=User(user, "Ann", False),
        text=text or None,
        media_group_id=album,
    )


class Desk:
    def __init__(self) -> None:
        self.delivered: list[list[int]] = []
        self.gathering = Gathering(self.deliver, wait=0.1)

    async def take(self, update_id: int, message: Message) -> None:
        await self.gathering.take(Received(update_id, message, at=0.0))

    async def deliver(self, parts: Sequence[Received]) -> None:
        self.delivered.append([part.update_id for part in parts])


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_plain_message_is_delivered_at_once(desk: Desk) -> None:
    await desk.take(1, message("hello"))

    assert desk.delivered == [[1]]


async def test_an_album_is_delivered_when_no_more_comes(desk: Desk) -> None:
    for number in (1, 2, 3):
        await desk.take(number, message(album="a"))
        await asyncio.sleep(0.05)
    before = list(desk.delivered)
    await asyncio.sleep(0.2)

    assert before == []
    assert desk.delivered == [[1, 2, 3]]


async def test_two_albums_are_two(desk: Desk) -> None:
    await desk.take(1, message(album="a"))
    await desk.take(2, message(album="b"))
    await asyncio.sleep(0.2)

    assert desk.delivered == [[1], [2]]


async def test_a_paste_ends_with_its_first_short_part(desk: Desk) -> None:
    await desk.take(1, message(LONG))
    await desk.take(2, message(LONG))
    await desk.take(3, message("end"))

    assert desk.delivered == [[1, 2, 3]]


async def test_a_long_message_that_nothing_follows_is_delivered_after_the_wait(desk: Desk) -> None:
    await desk.take(1, message(LONG))
    await asyncio.sleep(0.2)
    await desk.take(2, message("later"))

    assert desk.delivered == [[1], [2]]


async def test_people_and_chats_are_gathered_apart(desk: Desk) -> None:
    await desk.take(1, message(LONG, chat=-5))
    await desk.take(2, message("mine", chat=-5, user=8))
    await desk.take(3, message("elsewhere"))
    await asyncio.sleep(0.2)

    assert desk.delivered == [[2], [3], [1]]


async def test_an_album_begun_is_expected(desk: Desk) -> None:
    await desk.take(1, message(album="a"))

    assert desk.gathering.expects(message(album="a"))
    assert not desk.gathering.expects(message(album="b"))
    assert not desk.gathering.expects(message("text"))
    assert not desk.gathering.expects(message(album="a", user=8))
    await asyncio.sleep(0.2)
    assert not desk.gathering.expects(message(album="a"))


@pytest.mark.parametrize(
    ("texts", "whole", "joined"),
    [
        (["one"], [3], "one"),
        (["on", "e"], [4096, 1], "one"),
        (["one", "two"], [4050, 3], "one\ntwo"),
        ([], [], ""),
    ],
)
def test_parts_are_joined_where_they_were_cut(texts: list[str], whole: list[int], joined: str) -> None:
    assert join(texts, whole=whole) == joined


async def test_what_is_taken_away_is_not_delivered(desk: Desk) -> None:
    await desk.take(1, message(LONG, chat=-5))
    await desk.take(2, message(LONG))
    await desk.take(3, message(album="a", chat=-5, user=8))

    taken = desk.gathering.take_away(Conversation(-5))
    await asyncio.sleep(0.2)

    assert [[part.update_id for part in parts] for parts in taken] == [[1], [3]]
    assert desk.delivered == [[2]]
