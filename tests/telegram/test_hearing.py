"""Messages and open questions: what was said before, what after, and what is a reply to a card (§5)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.demo.faults import slow
from bot.demo.model_server import ModelRequest, Reply
from bot.store.base import Status, StoredUpdate
from bot.store.sqlite import SqliteStore
from tests.e2e.harness import puppet
from tests.e2e.indoors import House, house

RISKY = "run rm -rf ./old"


async def until(look: Callable[[], Awaitable[object]], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not await look():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


async def open_questions(here: House) -> int:
    return len(await here.kai.store.pending_approvals())


async def test_a_word_after_the_question_is_one_however_far_our_clock_is_ahead(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.clock.advance(300)
        alice = here.alice
        here.bob.send(RISKY)
        await alice.chat.expect("rm -rf ./old")

        here.bob.send("say something else")
        await here.bob.chat.expect("something else")
        await alice.chat.until(lambda screen: "not run: you moved on" in screen.text)


async def test_a_word_before_the_question_waits_though_no_card_is_shown_there(tmp_path: Path) -> None:
    async def script(request: ModelRequest) -> Reply:
        if request.last_user_text == RISKY and not request.results:
            await until(lambda: waits(here))
            here.clock.advance(0.1)
        return puppet(request)

    async with house(tmp_path, script) as here:
        alice = here.alice
        here.bob.send(RISKY)
        await until(lambda: asked(here, 1))
        here.bob.send("say too early")
        card = await alice.chat.expect("rm -rf ./old")
        await here.bob.chat.expect("The question went to the admins")
        await here.bob.chat.expect_nothing(0.3)
        still_open = await open_questions(here)

        await alice.press("Approve", card).answered()
        await here.bob.chat.expect("It came to a result.")
        await here.bob.chat.expect("too early")

        assert still_open == 1


@pytest.mark.parametrize(("seconds", "open_then"), [(-10, 1), (10, 0)])
async def test_after_a_restart_telegram_says_what_was_said_before_the_question(
    tmp_path: Path, seconds: int, open_then: int
) -> None:
    async with house(tmp_path, puppet) as here:
        alice = here.alice
        here.bob.send(RISKY)
        await alice.chat.expect("rm -rf ./old")
        [question] = await here.kai.store.pending_approvals()
    said = {**here.bob.send("say hello").wire(), "date": int(question.created_at) + seconds}
    async with SqliteStore.open(tmp_path / "state" / "kai.db") as store:
        await store.receive([StoredUpdate(900_000, json.dumps({"update_id": 900_000, "message": said}))], 0.0)
    here.emulator.updates.drop()

    async with house(tmp_path, puppet, emulator=here.emulator) as again:
        await again.emulator.expect_poll()
        await asyncio.sleep(0.5)

        assert await open_questions(again) == open_then


async def test_a_word_while_the_card_is_on_its_way_waits_for_it(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.emulator.fail("sendMessage", slow(before=0.6))
        here.alice.send(RISKY)
        await until(lambda: open_questions(here))
        here.alice.send("say too early")
        card = await here.alice.chat.expect("rm -rf ./old")

        await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to a result.")
        await here.alice.chat.expect("too early")


async def test_a_reply_to_a_card_is_one_before_we_know_which_message_the_card_is(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.emulator.fail("sendMessage", slow(after=1.0))
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        [question] = await here.kai.store.pending_approvals()
        assert question.cards == ()

        here.alice.send("keep the newest", reply_to=card)
        await until(lambda: decided(here))
        await here.alice.chat.expect("It came to an error.")
        await here.alice.chat.until(lambda screen: "Denied by Alice" in screen.text)

        denied = await here.kai.store.approval(question.id)
        assert denied is not None
        assert (denied.status, denied.reason) == (Status.DENIED, "keep the newest")
        assert card.buttons == []


async def test_the_caption_of_a_picture_in_reply_is_the_reason(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")

        here.alice.send_photo(caption="see what is in there", reply_to=card)
        await here.alice.chat.until(lambda screen: "Denied by Alice" in screen.text)

        assert "see what is in there" in card.text


async def test_in_edited_what_lost_its_beginning_is_another_text(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        message = here.alice.send("not say hello")
        await here.alice.chat.expect("hello")

        here.alice.edit(message, "say hello")
        await until(lambda: asked(here, 2))

        assert here.model.requests[-1].last_user_text.endswith("\nsay hello")


async def test_in_edited_back_to_what_it_was_is_another_text(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        message = here.alice.send("invite Bob")
        await here.alice.chat.expect("You said: invite Bob")
        here.alice.edit(message, "invite Rob")
        await here.alice.chat.expect("invite Rob")

        here.alice.edit(message, "invite Bob")
        await until(lambda: asked(here, 3))

        assert here.model.requests[-1].last_user_text.endswith("\ninvite Bob")


async def test_in_edited_a_preview_that_loads_after_new_says_nothing_again(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        message = here.alice.send("restart it")
        await here.alice.chat.expect("You said: restart it")
        here.alice.send("/new")
        await here.alice.chat.expect("no longer read")

        here.alice.refresh(message)
        await here.alice.chat.expect_nothing(0.3)

        assert len(here.model.requests) == 1


async def test_in_edited_after_the_card_is_a_word_after_the_question(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        message = here.alice.send(RISKY)
        await here.alice.chat.expect("rm -rf ./old")
        here.clock.advance(1)

        here.alice.refresh(message)
        await here.emulator.expect_all_taken()
        open_after_preview = await open_questions(here)
        here.alice.edit(message, "say leave it")
        await here.alice.chat.expect("leave it")

        assert open_after_preview == 1
        assert await open_questions(here) == 0


async def waits(here: House) -> bool:
    return here.kai.lanes.waiting() > 0


async def asked(here: House, times: int) -> bool:
    return len(here.model.requests) >= times


async def decided(here: House) -> bool:
    return await open_questions(here) == 0
