"""The people's side: what they see, and waiting for it."""

import asyncio
import re
import time

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot


async def test_the_screen_reads_like_the_app(bot: BareBot, alice: Person) -> None:
    alice.send("deploy")
    markup = {
        "inline_keyboard": [[{"text": "Run", "callback_data": "r"}, {"text": "Deny", "callback_data": "d"}]]
    }
    sent = await bot.do("sendMessage", chat_id=7, text="Sure?", reply_markup=markup)
    await bot.do(
        "editMessageText", chat_id=7, message_id=sent["message_id"], text="Really?", reply_markup=markup
    )
    await bot.do("sendChatAction", chat_id=7, action="typing")

    shown = str(alice.screen())

    assert shown.splitlines() == [
        "── Alice",
        "Alice: deploy",
        "Kai: Really? (edited)",
        "    [Run] [Deny]",
        "(typing)",
    ]


async def test_expect_waits_for_a_message_and_returns_it(bot: BareBot, alice: Person) -> None:
    waiting = asyncio.create_task(alice.chat.expect("hello"))
    await asyncio.sleep(0.05)
    started = time.perf_counter()

    await bot.do("sendMessage", chat_id=7, text="well, hello there")
    message = await waiting

    assert message.text == "well, hello there"
    assert time.perf_counter() - started < 0.05


async def test_expect_finds_what_is_there_already(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="hello")

    assert (await alice.chat.expect("hello", within=0)).text == "hello"


async def test_expect_matches_each_state_once(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="pong 1")
    await alice.chat.expect("pong")

    with pytest.raises(AssertionError):
        await alice.chat.expect("pong", within=0.05)
    await bot.do("editMessageText", chat_id=7, message_id=sent["message_id"], text="pong 2")

    assert (await alice.chat.expect("pong", within=0)).text == "pong 2"


async def test_expect_sees_what_is_shown_now(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="working")
    await bot.do("editMessageText", chat_id=7, message_id=sent["message_id"], text="done")

    with pytest.raises(AssertionError, match="Kai: done"):
        await alice.chat.expect("working", within=0.05)


async def test_expect_takes_expressions_and_predicates(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="exit code 3")

    by_expression = await alice.chat.expect(re.compile(r"code \d"), within=0)
    by_predicate = await alice.chat.expect(lambda message: not message.buttons, within=0)

    assert by_expression is by_predicate


async def test_expect_does_not_take_a_persons_own_words(alice: Person) -> None:
    alice.send("hello")

    with pytest.raises(AssertionError):
        await alice.chat.expect("hello", within=0.05)


async def test_expect_nothing_is_silence(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="before")
    await alice.chat.expect_nothing(0.05)

    waiting = asyncio.create_task(alice.chat.expect_nothing(1))
    await asyncio.sleep(0.05)
    await bot.do("sendMessage", chat_id=7, text="after")

    with pytest.raises(AssertionError, match="after"):
        await waiting


async def test_until_waits_for_a_screen(bot: BareBot, alice: Person) -> None:
    waiting = asyncio.create_task(alice.chat.until(lambda screen: screen.action == "typing"))
    await asyncio.sleep(0.05)

    await bot.do("sendChatAction", chat_id=7, action="typing")

    assert (await waiting).action == "typing"


async def test_until_gives_up_and_shows_the_screen(alice: Person) -> None:
    alice.send("hello?")

    with pytest.raises(AssertionError, match="hello?"):
        await alice.chat.until(lambda screen: len(screen.messages) > 1, within=0.05)


async def test_expect_call_waits_for_an_answered_call(
    bot: BareBot, emulator: Emulator, alice: Person
) -> None:
    waiting = asyncio.create_task(
        emulator.expect_call("sendMessage", where=lambda call: call["text"] == "second")
    )
    await bot.do("sendMessage", chat_id=7, text="first")

    await bot.do("sendMessage", chat_id=7, text="second")

    assert (await waiting).ok
    with pytest.raises(AssertionError, match="sendPhoto"):
        await emulator.expect_call("sendPhoto", within=0.05)


async def test_people_and_chats_have_telegrams_fields(bot: BareBot, emulator: Emulator) -> None:
    eve = emulator.person(9, "Eve", username="eve", last_name="Ng", language="id")
    forum = emulator.supergroup(-1001, "Forum", [eve], forum=True, username="forum", bot="administrator")

    eve.send("a")
    eve.send("b", forum)

    private, public = [update["message"] for update in await bot.updates()]
    assert private["from"] == {
        "id": 9,
        "is_bot": False,
        "first_name": "Eve",
        "last_name": "Ng",
        "username": "eve",
        "language_code": "id",
    }
    assert private["chat"] == {"id": 9, "type": "private", "first_name": "Eve", "username": "eve"}
    assert public["chat"] == {
        "id": -1001,
        "type": "supergroup",
        "title": "Forum",
        "username": "forum",
        "is_forum": True,
    }


async def test_a_service_message_is_named_by_its_event(emulator: Emulator, alice: Person) -> None:
    group = emulator.group(-5, "Ops", [alice], bot="left")

    alice.add_bot(group)

    assert group.messages[-1].kind == "new_chat_members"
    assert group.messages[-1].media is None


async def test_all_taken_waits_for_the_confirmation(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    alice.send("hi")
    waiting = asyncio.create_task(emulator.expect_all_taken())
    (update,) = await bot.updates()
    assert not waiting.done()

    await bot.updates(offset=update["update_id"] + 1)

    await waiting


async def test_updates_left_lying_are_told(emulator: Emulator, alice: Person) -> None:
    alice.send("hi")

    with pytest.raises(AssertionError, match="1 updates not taken"):
        await emulator.expect_all_taken(within=0.05)


async def test_expect_poll_waits_for_a_waiting_poll(bot: BareBot, emulator: Emulator) -> None:
    waiting = asyncio.create_task(emulator.expect_poll())
    await asyncio.sleep(0.05)
    assert not waiting.done()

    poll = asyncio.create_task(bot.updates(timeout=30))
    await waiting

    poll.cancel()


async def test_a_poll_that_never_comes_is_told(emulator: Emulator) -> None:
    with pytest.raises(AssertionError, match="no getUpdates"):
        await emulator.expect_poll(within=0.05)


async def test_a_file_is_downloaded_from_its_message(bot: BareBot, alice: Person) -> None:
    await bot.upload("sendDocument", {"document": ("a.txt", b"hello", "text/plain")}, chat_id="7")

    assert alice.download(alice.chat.messages[-1]) == b"hello"
    with pytest.raises(LookupError, match="no file"):
        alice.download(alice.send("text"))


async def test_an_unanswered_press_is_told(bot: BareBot, alice: Person) -> None:
    markup = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=markup)

    with pytest.raises(AssertionError, match="not answered"):
        await alice.press("A").answered(within=0.05)


async def test_a_long_paste_is_split_as_apps_do(bot: BareBot, alice: Person) -> None:
    alice.send("😀" * 3000)

    texts = [update["message"]["text"] for update in await bot.updates()]
    assert [len(text) for text in texts] == [2048, 952]


async def test_an_edit_keeps_the_message_and_is_told(bot: BareBot, alice: Person) -> None:
    message = alice.send("invite Bob")

    again = alice.send("invite Rob", edit_of=message)

    assert again is message
    update = (await bot.updates())[-1]["edited_message"]
    assert (update["message_id"], update["text"]) == (message.id, "invite Rob")
    assert update["edit_date"]


async def test_an_edit_has_its_own_entities(bot: BareBot, alice: Person) -> None:
    message = alice.send("/start")

    alice.edit(message, "please /stop")

    update = (await bot.updates())[-1]["edited_message"]
    assert update["entities"] == [{"type": "bot_command", "offset": 7, "length": 5}]


async def test_a_caption_is_edited_as_a_caption(bot: BareBot, alice: Person) -> None:
    message = alice.send_document("a.txt", b"x", caption="/one")

    alice.edit(message, "two")

    update = (await bot.updates())[-1]["edited_message"]
    assert update["caption"] == "two"
    assert not {"text", "entities", "caption_entities"} & update.keys()


async def test_edits_after_a_block_are_not_told(bot: BareBot, alice: Person) -> None:
    message = alice.send("a")
    alice.block()

    alice.edit(message, "b")

    assert [*(await bot.updates())[-1]][1] == "my_chat_member"


def test_an_album_has_two_files_at_least(alice: Person) -> None:
    with pytest.raises(ValueError, match="2 to 10 files"):
        alice.send_album([("a.jpg", b"x")])


async def test_a_refresh_is_an_edit_with_the_same_text(bot: BareBot, alice: Person) -> None:
    message = alice.send("see https://a.io")

    alice.refresh(message)

    first, second = await bot.updates()
    assert second["edited_message"]["text"] == first["message"]["text"]
    assert "edit_date" in second["edited_message"]


async def test_anything_can_be_put_into_the_queue(bot: BareBot, emulator: Emulator) -> None:
    emulator.updates.push("message", {"poison": True})

    assert (await bot.updates())[0]["message"] == {"poison": True}


def test_nobody_edits_anothers_message(alice: Person, bob: Person) -> None:
    message = bob.send("mine")

    with pytest.raises(ValueError, match="not Alice's"):
        alice.edit(message, "x")


async def test_a_deleted_message_is_gone_and_not_told(bot: BareBot, alice: Person) -> None:
    message = alice.send("oops")

    alice.delete(message)

    assert alice.chat.messages == []
    assert len(await bot.updates()) == 1


async def test_a_deep_link_starts_with_its_payload(bot: BareBot, alice: Person) -> None:
    alice.start("pair123")

    message = (await bot.updates())[0]["message"]
    assert message["text"] == "/start pair123"
    assert message["entities"] == [{"type": "bot_command", "offset": 0, "length": 6}]


async def test_a_forward_tells_its_origin(bot: BareBot, alice: Person, bob: Person) -> None:
    message = bob.send("secret plan")

    alice.forward(message)

    forwarded = (await bot.updates())[-1]["message"]
    assert forwarded["forward_origin"]["sender_user"]["id"] == 8
    assert forwarded["from"]["id"] == 7


def test_who_blocked_the_bot_cannot_write_to_it(alice: Person) -> None:
    alice.block()

    with pytest.raises(ValueError, match="has blocked"):
        alice.send("hi")


def test_entities_can_be_read_as_text(alice: Person) -> None:
    message = alice.send("😀 see https://a.io now")

    assert message.covered("url") == ["https://a.io"]


def test_a_person_is_made_once(emulator: Emulator, alice: Person) -> None:
    assert emulator.person(7) is alice


def test_a_chat_id_is_taken_once(emulator: Emulator, alice: Person) -> None:
    emulator.group(-5, "A", [alice])

    with pytest.raises(ValueError, match="exists already"):
        emulator.group(-5, "B")


def test_a_token_needs_its_shape() -> None:
    with pytest.raises(ValueError, match="token"):
        Emulator("nonsense")
