"""From stored to seen: in order, retried until it arrives, resent at most once (design 7, 8; T3, T4, T6)."""

import asyncio
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from telegram import Bot
from telegram.error import NetworkError, TimedOut

from bot.demo import Emulator, Person, close, hang, refuse, serve, slow
from bot.messages import Conversation
from bot.store.base import Effect, Status
from bot.store.sqlite import SqliteStore
from bot.telegram.fate import fate
from bot.telegram.outbox import MAX_STAND_INS
from tests.store.check import check
from tests.telegram.conftest import HERE, Office, OpenOffice, bot_on, card_of, question, saying, settle

BOB = Conversation(8)
GROUP = -500
MARK = "↻ (may be a repeat"


def texts(person: Person) -> list[str]:
    return [message.text for message in person.screen().messages]


def content_of(emulator: Emulator, file_id: str) -> str:
    stored = emulator.world.files.find(file_id)
    assert stored is not None
    return stored.data.decode()


def error_of(folder: Path, key: str) -> str:
    """Read beside the store what it keeps of an effect that was given up."""
    with closing(sqlite3.connect(folder / "kai.db")) as db:
        [(error,)] = db.execute("SELECT error FROM outbox WHERE key LIKE ?", (key + "%",)).fetchall()
    return str(error)


# ── answers and notices ────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_arrives_formatted(office: Office, alice: Person) -> None:
    await office.post(saying("It is **done**."))

    message = await alice.chat.expect("It is done.")
    assert message.covered("bold") == ["done"]


async def test_what_was_stored_first_arrives_first(office: Office, alice: Person) -> None:
    await office.post(*(saying(f"answer {i}") for i in range(20)))

    await office.done()
    assert texts(alice) == [f"answer {i}" for i in range(20)]


async def test_a_notice_is_not_read_as_markdown(office: Office, alice: Person) -> None:
    await office.post(Effect("n1", HERE, "notice", {"text": "a_b_c is **not** bold"}))

    message = await alice.chat.expect("a_b_c is **not** bold")
    assert message.covered("bold") == []


async def test_len_silent_drop_a_long_answer_comes_in_parts_and_whole(office: Office, alice: Person) -> None:
    paragraphs = [f"{i} " + "word " * 180 for i in range(7)]
    await office.post(saying("\n\n".join(paragraphs)))

    await office.done()
    assert 2 <= len(texts(alice)) <= 5
    assert "\n".join(texts(alice)).split() == "\n\n".join(paragraphs).split()


async def test_more_than_five_messages_go_as_a_file(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    whole = "\n\n".join(f"{i} " + "word " * 180 for i in range(30))
    await office.post(saying(whole))

    await office.done()
    first, file = alice.screen().messages
    assert whole.startswith(first.text[:1000])
    assert "the whole of it is in the file" in file.text
    assert file.media is not None
    assert file.media["file_name"] == "answer.md"
    assert content_of(emulator, file.media["file_id"]) == whole


async def test_an_answer_with_nothing_to_see_is_closed_and_holds_nobody(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    await office.post(saying("\u200b", key="blank"), saying("next"))

    await office.done()
    assert texts(alice) == ["next"]


async def test_in_a_group_the_first_part_names_what_it_answers(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    group = emulator.group(GROUP, "Ops", [alice])
    asked = alice.send("/ask@kai_test_bot how long?", group)
    await office.post(saying("word " * 1500, Conversation(GROUP), reply_to=asked.id))

    await office.done()
    replies = [call["reply_parameters"] for call in emulator.calls("sendMessage")]
    assert replies[0]["message_id"] == asked.id
    assert replies[1] is None


async def test_topic_keep_everything_goes_to_its_topic(
    office: Office, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    forum = emulator.supergroup(-1001, "Ops", [alice], forum=True)
    topic = alice.create_topic(forum, "Deploys")
    where = Conversation(forum.id, topic.id)
    (tmp_path / "log.txt").write_text("all well")
    await office.ask(question(conversation=where), where)

    await office.post(saying("hi", where), Effect("f", where, "file", {"path": str(tmp_path / "log.txt")}))

    await office.done()
    sent = [call for call in emulator.calls() if call.method != "getMe"]
    assert len(sent) == 3
    assert {call["message_thread_id"] for call in sent} == {topic.id}


async def test_a_file_arrives_under_its_name(
    office: Office, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")

    await office.post(Effect("f", HERE, "file", {"path": str(tmp_path / "x.bin"), "name": "report.bin"}))

    message = await alice.chat.expect(lambda m: m.kind == "document")
    assert message.media is not None
    assert message.media["file_name"] == "report.bin"


async def test_a_slow_chat_holds_no_other(
    office: Office, emulator: Emulator, alice: Person, bob: Person
) -> None:
    emulator.fail("sendMessage", slow(before=2), chat=alice.chat)

    await office.post(saying("slow"), saying("quick", BOB))

    await bob.chat.expect("quick", within=1)
    assert texts(alice) == []


async def test_a_429_is_waited_for_and_nothing_lost(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", 429, retry_after=1)

    await office.post(saying("one"), saying("two"))

    await office.done()
    assert texts(alice) == ["one", "two"]


async def test_what_is_stored_while_it_runs_is_sent_too(office: Office, alice: Person) -> None:
    await office.post(saying("one"))
    await office.done()

    await office.post(saying("two"))

    await alice.chat.expect("two")


async def test_what_the_last_process_left_is_sent(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person
) -> None:
    await store.enqueue([saying("left over")])

    async with open_office(bot) as office:
        await office.done()

    assert texts(alice) == ["left over"]


async def test_flush_sends_what_is_stored(office: Office, emulator: Emulator, alice: Person) -> None:
    emulator.fail("sendMessage", slow(before=0.2))
    await office.store.enqueue([saying("bye")])

    await office.outbox.flush(3)

    assert texts(alice) == ["bye"]


async def test_flush_ends_in_time(office: Office, emulator: Emulator, alice: Person) -> None:
    emulator.fail("sendMessage", slow(before=3))
    await office.store.enqueue([saying("bye")])

    async with asyncio.timeout(1):
        await office.outbox.flush(0.1)

    assert texts(alice) == []


# ── what Telegram refuses ──────────────────────────────────────────────────────────────────────────────


async def test_md_unbalanced_refused_formatting_goes_as_the_same_text_plain_once(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", refuse(400, "Bad Request: can't parse entities: unsupported start tag"))

    await office.post(saying("It is **done**."))

    await office.done()
    [message] = alice.screen().messages
    assert message.text == "It is done."
    assert message.entities == []


async def test_a_plain_text_that_is_refused_too_is_not_tried_for_ever(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", refuse(400, "Bad Request: can't parse entities"), times=2)

    await office.post(saying("It is **done**."), saying("next"))

    await office.done()
    assert texts(alice) == ["next"]


async def test_what_a_person_who_blocked_the_bot_would_get_is_closed_with_its_error(
    office: Office, alice: Person, bob: Person, tmp_path: Path
) -> None:
    alice.block()

    await office.post(saying("for nobody"), saying("for bob", BOB))

    await office.done()
    assert texts(bob) == ["for bob"]
    assert "bot was blocked by the user" in error_of(tmp_path, "answer:for nobody")


async def test_a_missing_file_is_closed_and_holds_nobody(
    office: Office, alice: Person, tmp_path: Path
) -> None:
    await office.post(Effect("f", HERE, "file", {"path": str(tmp_path / "gone")}), saying("next"))

    await office.done()
    assert texts(alice) == ["next"]
    assert "FileNotFoundError" in error_of(tmp_path, "f")


async def test_group_migrate_what_waits_moves_and_is_delivered_once(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    group = emulator.group(GROUP, "Ops", [alice])
    supergroup = emulator.migrate(group, -1001557912345, announce=False)

    await office.post(saying("one", Conversation(GROUP)), saying("two", Conversation(GROUP)))

    await office.done()
    assert [m.text for m in supergroup.messages if m.sender.is_bot] == ["one", "two"]
    assert office.migrations[0] == (GROUP, supergroup.id)


async def test_a_token_that_is_refused_costs_no_answer(
    store: SqliteStore, open_office: OpenOffice, emulator: Emulator, bot: Bot, alice: Person
) -> None:
    emulator.fail("sendMessage", refuse(401))

    async with open_office(bot) as office:
        await office.post(saying("kept"))
        await office.done()

    assert texts(alice) == ["kept"]


# ── what becomes of a request nobody answered ──────────────────────────────────────────────────────────


async def test_what_never_left_is_sent_until_it_arrives_and_only_once(
    emulator: Emulator, alice: Person, open_office: OpenOffice
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with (
        bot_on(f"http://127.0.0.1:{port}", emulator.token, initialize=False) as bot,
        open_office(bot) as office,
    ):
        await office.post(saying("at last"))
        await asyncio.sleep(0.2)
        async with serve(emulator, port):
            await office.done()

    assert texts(alice) == ["at last"]


async def test_net_send_timeout_dup_what_telegram_took_is_seen_once(
    emulator: Emulator, alice: Person, open_office: OpenOffice, tmp_path: Path
) -> None:
    emulator.fail("sendMessage", slow(after=1))
    async with (
        serve(emulator) as url,
        bot_on(url, emulator.token, read_timeout=0.3) as bot,
        open_office(bot) as office,
    ):
        await office.post(saying("once"), saying("next"))
        await office.done()

    assert texts(alice) == ["once", "next"]
    assert "telegram took it" in error_of(tmp_path, "answer:once")
    assert check(tmp_path / "kai.db") == []


async def test_a_connection_cut_after_telegram_took_it_repeats_it_once_and_says_so(
    emulator: Emulator, alice: Person, open_office: OpenOffice
) -> None:
    emulator.fail("sendMessage", close(runs=True))
    async with serve(emulator) as url, bot_on(url, emulator.token) as bot, open_office(bot) as office:
        await office.post(saying("**once**"))
        await office.done()

    first, second = alice.screen().messages
    assert first.text == "once"
    assert second.text.startswith(MARK)
    assert second.text.endswith("\nonce")
    assert second.covered("bold") == ["once"]


async def test_a_connection_cut_again_and_again_makes_no_third_copy_and_loses_nothing(
    emulator: Emulator, alice: Person, open_office: OpenOffice
) -> None:
    emulator.fail("sendMessage", close(runs=True), times=2)
    emulator.fail("editMessageText", close(runs=True))
    async with serve(emulator) as url, bot_on(url, emulator.token) as bot, open_office(bot) as office:
        await office.post(saying("**once**"))
        await office.done(within=10)

    first, left, last = alice.screen().messages
    assert first.text == "once"
    assert left.text == last.text.removesuffix("\nonce")
    assert last.text.startswith(MARK)
    assert last.covered("bold") == ["once"]


async def test_a_repeat_whose_message_is_deleted_before_its_text_is_there_is_sent_whole(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    for fault in (close(runs=False), slow(), close(runs=False)):
        emulator.fail("sendMessage", fault)
    emulator.fail("editMessageText", 400, description="Bad Request: message to edit not found")

    await office.post(saying("once"))

    await office.done(within=10)
    assert texts(alice)[-1].startswith(MARK)
    assert texts(alice)[-1].endswith("\nonce")


async def test_repeats_that_are_never_answered_have_an_end(
    emulator: Emulator, alice: Person, open_office: OpenOffice, tmp_path: Path
) -> None:
    emulator.fail("sendMessage", close(runs=True), times=99)
    async with serve(emulator) as url, bot_on(url, emulator.token) as bot, open_office(bot) as office:
        await office.post(saying("once"))
        await office.done(within=30)

    copies = [text for text in texts(alice) if text.endswith("once")]
    assert len(copies) == 3
    assert len(texts(alice)) == len(copies) + MAX_STAND_INS
    assert "may not have arrived" in error_of(tmp_path, "answer:once")


async def test_a_file_whose_connection_breaks_is_sent_once_more_and_then_closed_with_an_error(
    office: Office, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("all well")
    emulator.fail("sendDocument", close(runs=True), times=9)

    await office.post(Effect("f", HERE, "file", {"path": str(tmp_path / "log.txt")}), saying("next"))

    await office.done(within=10)
    assert len(emulator.calls("sendDocument")) == 2
    assert "sent twice" in error_of(tmp_path, "f")
    assert texts(alice)[-1] == "next"


async def test_a_file_that_was_being_sent_at_each_of_two_deaths_is_not_lost(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("all well")
    await store.enqueue([Effect("f", HERE, "file", {"path": str(tmp_path / "log.txt")})])
    [stored] = await store.unsent()
    await store.sending(stored.id)
    await store.sending(stored.id, resend=True)

    async with open_office(bot) as office:
        await office.done()

    [file] = alice.screen().messages
    assert file.media is not None
    assert file.text.startswith(MARK)


async def test_a_connection_cut_before_telegram_took_it_loses_nothing(
    emulator: Emulator, alice: Person, open_office: OpenOffice
) -> None:
    emulator.fail("sendMessage", close(runs=False))
    async with serve(emulator) as url, bot_on(url, emulator.token) as bot, open_office(bot) as office:
        await office.post(saying("not lost"))
        await office.done()

    [message] = alice.screen().messages
    assert message.text.endswith("not lost")


async def test_the_one_resend_is_not_made_in_the_same_breath(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", refuse(502))

    await office.post(saying("after the bad gateway"))

    await office.done()
    first, second = emulator.calls("sendMessage")
    assert second.time - first.time >= 0.5
    assert first.status == 502
    assert texts(alice)[0].endswith("after the bad gateway")


async def test_a_process_that_died_while_sending_repeats_it_once_with_the_mark(
    store: SqliteStore, open_office: OpenOffice, emulator: Emulator, bot: Bot, alice: Person
) -> None:
    emulator.fail("sendMessage", hang(runs=True))
    async with open_office(bot) as office:
        await office.post(saying("cut short"))
        await alice.chat.expect("cut short")
        await asyncio.sleep(0.05)

    async with open_office(bot) as office:
        await office.done()

    assert texts(alice)[0] == "cut short"
    assert texts(alice)[1].startswith(MARK)
    assert len(texts(alice)) == 2


async def test_a_process_that_died_twice_before_anything_left_has_lost_nothing(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person
) -> None:
    await store.enqueue([saying("cut short"), saying("next")])
    [stored, _] = await store.unsent()
    await store.sending(stored.id)
    await store.sending(stored.id, resend=True)

    async with open_office(bot) as office:
        await office.done()

    repeat, following = texts(alice)
    assert repeat.startswith(MARK)
    assert repeat.endswith("\ncut short")
    assert following == "next"


async def test_a_process_that_died_while_its_repeat_was_held_back_has_lost_nothing(
    store: SqliteStore, open_office: OpenOffice, emulator: Emulator, bot: Bot, alice: Person
) -> None:
    await store.enqueue([saying("cut short")])
    [stored] = await store.unsent()
    await store.sending(stored.id)
    emulator.fail("sendMessage", 429, retry_after=60)
    async with open_office(bot) as held:
        await settle(lambda: held.gate.held() == 1)

    async with open_office(bot) as office:
        await office.done()

    [repeat] = texts(alice)
    assert repeat.startswith(MARK)
    assert repeat.endswith("\ncut short")


async def test_a_repeat_is_not_forgotten_when_the_one_before_it_was_not_sent(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person
) -> None:
    await store.enqueue([saying("cut short")])
    [stored] = await store.unsent()
    await store.sending(stored.id, resend=True)
    await store.not_sent(stored.id)

    async with open_office(bot) as office:
        await office.done()

    [repeat] = texts(alice)
    assert repeat.startswith(MARK)


async def test_a_repeat_that_telegram_took_without_an_answer_is_still_finished_by_an_edit(
    store: SqliteStore, open_office: OpenOffice, emulator: Emulator, alice: Person
) -> None:
    await store.enqueue([saying("cut short")])
    [stored] = await store.unsent()
    await store.sending(stored.id)
    emulator.fail("sendMessage", slow(after=1))

    async with (
        serve(emulator) as url,
        bot_on(url, emulator.token, read_timeout=0.3) as bot,
        open_office(bot) as office,
    ):
        await office.done()

    left, repeat = texts(alice)
    assert repeat == f"{left}\ncut short"
    assert len(emulator.calls("editMessageText")) == 1


async def test_a_repeat_that_surely_did_not_leave_is_still_one_after_a_death(
    store: SqliteStore, open_office: OpenOffice, emulator: Emulator, bot: Bot, alice: Person
) -> None:
    emulator.fail("sendMessage", hang(runs=True))
    async with open_office(bot) as office:
        await office.post(saying("cut short"))
        await alice.chat.expect("cut short")
        await asyncio.sleep(0.05)
    async with (
        bot_on("http://127.0.0.1:9", emulator.token, initialize=False) as cut_off,
        open_office(cut_off),
    ):
        await asyncio.sleep(0.2)

    async with open_office(bot) as office:
        await office.done()

    first, second = texts(alice)
    assert first == "cut short"
    assert second.startswith(MARK)


async def test_parts_that_arrived_are_not_sent_again(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person
) -> None:
    await store.enqueue([saying("\n\n".join(f"{i} " + "word " * 180 for i in range(7)))])
    [stored] = await store.unsent()
    await store.sending(stored.id)
    await store.part_sent(stored.id, 101, last=False)

    async with open_office(bot) as office:
        await office.done()

    assert not any(text.startswith(("0 ", MARK)) for text in texts(alice))
    assert texts(alice)[-1].split()[-181] == "6"


async def test_the_longest_part_has_room_for_the_mark(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", refuse(502))

    await office.post(saying("😀" * 3900))

    await office.done()
    assert "".join(texts(alice)).count("😀") == 3900


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (httpx.ConnectError(""), "not sent"),
        (httpx.ConnectTimeout(""), "not sent"),
        (httpx.PoolTimeout(""), "not sent"),
        (httpx.ReadTimeout(""), "sent"),
        (httpx.WriteTimeout(""), "unknown"),
        (httpx.ReadError(""), "unknown"),
        (httpx.RemoteProtocolError(""), "unknown"),
        (None, "not sent"),  # a 5xx in Telegram's own words
    ],
)
def test_what_a_network_error_says_about_the_request(cause: Exception | None, expected: str) -> None:
    exc = TimedOut() if isinstance(cause, httpx.TimeoutException) else NetworkError("")
    exc.__cause__ = cause

    assert fate(exc) == expected


# ── cards ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_arrives_with_its_buttons_and_is_remembered(office: Office, alice: Person) -> None:
    await office.ask(question())

    card = await alice.chat.expect("rm -rf build")
    await office.done()
    assert [b.text for row in card.buttons for b in row][:3] == ["Approve", "Deny", "Deny and say why"]
    found = await office.store.approval_at(7, card.id)
    assert found is not None
    assert found.id == "a1"


async def test_that_a_card_was_shown_is_told_by_the_conversation_of_its_question(
    office: Office, alice: Person, bob: Person
) -> None:
    await office.ask(question(conversation=BOB), HERE)

    await settle(lambda: office.shown == [BOB])
    assert "rm -rf build" in alice.screen().text


async def test_appr_long_callback_data_a_card_of_a_long_cyrillic_call_is_accepted(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    await office.ask(question("A" * 16, tool="перевести_деньги_немедленно", command='{"кому": "всем"}' * 9))

    card = await alice.chat.expect("кому")
    assert all(len(b.data.encode()) <= 64 for row in card.buttons for b in row)


async def test_a_card_too_long_to_show_sends_the_file_before_any_button(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    command = "echo " + "x" * 5000
    await office.ask(question(command=command))

    await office.done()
    file, card = alice.screen().messages
    assert file.media is not None
    assert content_of(emulator, file.media["file_id"]) == command
    assert file.buttons == []
    assert card.find_button("Approve")


async def test_without_its_file_a_card_too_long_to_show_has_no_button(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendDocument", 400, description="Bad Request: file refused")

    await office.ask(question(command="echo " + "x" * 5000))

    await office.done()
    assert alice.screen().messages == ()
    assert office.undeliverable == ["a1"]


async def test_a_card_decided_before_it_was_sent_is_never_shown(
    store: SqliteStore, open_office: OpenOffice, bot: Bot, alice: Person
) -> None:
    await store.ask([question()], [card_of(question())])
    await store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")

    async with open_office(bot) as office:
        await office.done()

    assert texts(alice) == []


async def test_a_card_decided_while_it_waits_to_be_sent_never_shows_live_buttons(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", 429, retry_after=1)
    await office.ask(question())
    await settle(lambda: office.gate.held() == 1)

    await office.store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")

    await office.done()
    sent = [call for call in emulator.calls("sendMessage") if call.ok]
    assert [call["reply_markup"] for call in sent] == [None]
    assert "Denied by Alice" in alice.screen().text


async def test_a_card_decided_while_it_is_on_its_way_loses_its_buttons(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    emulator.fail("sendMessage", slow(after=0.3))
    await office.ask(question(conversation=BOB), HERE)
    await alice.chat.expect("May I run this?")

    await office.store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")

    await alice.chat.expect("Denied by Alice")
    await office.done()
    assert all(message.buttons == [] for message in alice.screen().messages)


async def test_a_decision_is_shown_on_every_copy_of_the_card(
    office: Office, alice: Person, bob: Person
) -> None:
    await office.ask(question(), HERE, BOB)
    await office.done()

    await office.store.decide("a1", Status.APPROVED, at=1_700_000_100, by=8, name="Bob")

    for person in (alice, bob):
        card = await person.chat.expect("Approved by Bob")
        assert card.buttons == []


async def test_edit_not_modified_counts_as_success(office: Office, emulator: Emulator, alice: Person) -> None:
    await office.ask(question())
    await office.done()

    await office.post(Effect("u1", HERE, "card_update", {"approval_id": "a1"}), saying("next"))

    await office.done()
    [edit] = emulator.calls("editMessageText")
    assert edit.status == 400
    assert texts(alice)[-1] == "next"


async def test_an_edit_that_got_no_answer_is_made_again(
    emulator: Emulator, office: Office, alice: Person
) -> None:
    await office.ask(question())
    await office.done()
    emulator.fail("editMessageText", close(runs=False))

    await office.store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")

    await alice.chat.expect("Denied by Alice")


async def test_a_deleted_card_holds_nobody(office: Office, emulator: Emulator, alice: Person) -> None:
    await office.ask(question())
    card = await alice.chat.expect("May I run this?")
    await office.done()
    alice.delete(card)

    await office.store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")
    await office.post(saying("next"))

    await office.done()
    assert texts(alice) == ["next"]


async def test_a_card_nobody_can_be_shown_is_reported(
    office: Office, emulator: Emulator, alice: Person, bob: Person
) -> None:
    alice.block()
    bob.block()

    await office.ask(question(), HERE, BOB)

    await office.done()
    await settle(lambda: bool(office.undeliverable))
    assert set(office.undeliverable) == {"a1"}


@pytest.mark.parametrize("blocked", [7, 8])
async def test_a_card_one_admin_can_see_is_not_undeliverable_because_another_cannot(
    office: Office, emulator: Emulator, alice: Person, bob: Person, blocked: int
) -> None:
    (alice if blocked == 7 else bob).block()
    emulator.fail("sendMessage", slow(before=0.3), chat=(bob if blocked == 7 else alice).chat)

    await office.ask(question(), HERE, BOB)

    await office.done()
    await asyncio.sleep(0.05)
    assert office.undeliverable == []


async def test_a_card_in_a_migrated_group_moves_no_other_conversation(
    office: Office, emulator: Emulator, alice: Person
) -> None:
    group = emulator.group(GROUP, "Ops", [alice])
    await office.ask(question(), HERE, Conversation(GROUP))
    await office.done()
    emulator.migrate(group, -1001557912345, announce=False)

    await office.store.decide("a1", Status.DENIED, at=1_700_000_100, by=7, name="Alice")

    await alice.chat.expect("Denied by Alice")
    await office.done()
    assert all(old == GROUP for old, _ in office.migrations)
