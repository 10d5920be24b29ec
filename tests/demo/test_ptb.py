"""python-telegram-bot's own Bot and Application, in this process: what it parses, raises and does."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllPrivateChats,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
    Update,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
)
from telegram.ext import Application, CallbackQueryHandler, CommandHandler, MessageHandler, filters
from telegram.request import HTTPXRequest

from bot.demo import Emulator, Person, close
from tests.demo.bare import BareBot


def request(emulator: Emulator) -> HTTPXRequest:
    return HTTPXRequest(httpx_kwargs={"transport": emulator.transport()})


@pytest.fixture
async def ptb(emulator: Emulator, alice: Person) -> AsyncIterator[Bot]:
    base = emulator.base_url
    bot = Bot(
        emulator.token,
        f"{base}/bot",
        f"{base}/file/bot",
        request=request(emulator),
        get_updates_request=request(emulator),
    )
    async with bot:
        yield bot


async def test_initialize_reads_the_bot(ptb: Bot) -> None:
    assert ptb.username == "kai_test_bot"
    assert ptb.can_read_all_group_messages is False


async def test_a_message_with_entities_keyboard_and_reply(ptb: Bot, alice: Person) -> None:
    asked = alice.send("hi")
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data="go")]])

    sent = await ptb.send_message(
        7,
        "bold",
        entities=[MessageEntity("bold", 0, 4)],
        reply_markup=markup,
        reply_parameters=ReplyParameters(asked.id, quote="hi"),
    )

    assert sent.entities[0].type == "bold"
    assert sent.reply_markup == markup
    assert sent.reply_to_message
    assert sent.reply_to_message.text == "hi"
    assert sent.quote
    assert sent.quote.text == "hi"
    assert sent.from_user
    assert sent.from_user.is_bot


async def test_edit_delete_action_and_pin(ptb: Bot, alice: Person) -> None:
    sent = await ptb.send_message(7, "a")

    edited = await ptb.edit_message_text("b", 7, sent.message_id)
    await ptb.pin_chat_message(7, sent.message_id)
    await ptb.set_message_reaction(7, sent.message_id, [ReactionTypeEmoji("👀")])
    await ptb.delete_message(7, sent.message_id)
    await ptb.send_chat_action(7, "typing")

    assert getattr(edited, "text", None) == "b"
    assert alice.screen().action == "typing"


async def test_files_up_and_down(ptb: Bot, alice: Person) -> None:
    sent = await ptb.send_document(7, b"hello", filename="a.txt", caption="c")
    assert sent.document

    file = await sent.document.get_file()

    assert bytes(await file.download_as_bytearray()) == b"hello"
    assert sent.document.file_name == "a.txt"


async def test_a_photo_a_voice_and_an_album(ptb: Bot, alice: Person) -> None:
    photo = await ptb.send_photo(7, b"jpeg")
    voice = await ptb.send_voice(7, b"ogg")
    album = await ptb.send_media_group(7, [InputMediaDocument(b"1"), InputMediaDocument(b"2", caption="two")])

    assert photo.photo[-1].width == 1280
    assert voice.voice
    assert album[0].media_group_id == album[1].media_group_id
    assert album[1].caption == "two"


async def test_chat_members_and_commands(ptb: Bot, emulator: Emulator, alice: Person) -> None:
    emulator.supergroup(-1001, "Ops", [alice], bot="administrator")

    chat = await ptb.get_chat(-1001)
    member = await ptb.get_chat_member(-1001, 7)
    admins = await ptb.get_chat_administrators(-1001)
    await ptb.set_my_commands([BotCommand("help", "h")], scope=BotCommandScopeAllPrivateChats())

    assert chat.title == "Ops"
    assert member.status == "creator"
    assert {admin.user.id for admin in admins} == {7, emulator.bot.id}
    assert [c["command"] for c in alice.commands()] == ["help"]


async def test_topics(ptb: Bot, emulator: Emulator, alice: Person) -> None:
    forum = emulator.supergroup(-1001, "Forum", [alice], forum=True, bot="administrator")

    topic = await ptb.create_forum_topic(forum.id, "Build")
    sent = await ptb.send_message(forum.id, "x", message_thread_id=topic.message_thread_id)

    assert sent.is_topic_message
    assert sent.message_thread_id == topic.message_thread_id


async def test_a_draft(ptb: Bot, alice: Person) -> None:
    assert await ptb.send_message_draft(7, 1, "thinking", api_kwargs={"can_stop": True})

    assert alice.screen().draft


async def test_webhook_info(ptb: Bot) -> None:
    await ptb.set_webhook("https://bot.test/hook", allowed_updates=["message"])

    info = await ptb.get_webhook_info()

    assert info.url == "https://bot.test/hook"
    assert info.allowed_updates == ("message",)


async def test_every_update_parses(ptb: Bot, emulator: Emulator, alice: Person) -> None:
    await ptb.get_updates(allowed_updates=[*Update.ALL_TYPES, "stopped_message_generation"])
    group = emulator.group(-500, "Ops", [alice], bot="left")
    alice.add_bot(group, admin=True)
    message = alice.send("hi", group)
    alice.edit(message, "hey")
    alice.react(message, "👍")
    emulator.migrate(group, -1001557912345)
    alice.send_album([("a.jpg", b"1"), ("b.jpg", b"2")], caption="x")
    alice.send_voice()
    alice.send("see", reply_to=message)
    alice.forward(message)
    alice.block()

    updates = await ptb.get_updates()

    kinds = {kind for update in updates for kind in update.to_dict() if kind != "update_id"}
    assert kinds == {"message", "edited_message", "message_reaction", "my_chat_member"}
    assert any(u.message and u.message.external_reply for u in updates)
    assert any(u.message and u.message.migrate_to_chat_id == -1001557912345 for u in updates)


async def test_errors_arrive_as_ptbs_classes(
    ptb: Bot, emulator: Emulator, alice: Person, bob: Person
) -> None:
    group = emulator.group(-500, "Ops", [alice])
    emulator.migrate(group, -1001)
    bob.block()

    with pytest.raises(BadRequest, match="Message text is empty|message text is empty"):
        await ptb.send_message(7, "")
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await ptb.send_message(8, "x")
    with pytest.raises(ChatMigrated) as migrated:
        await ptb.send_message(-500, "x")
    emulator.fail("sendMessage", 429, retry_after=5)
    with pytest.raises(RetryAfter) as late:
        await ptb.send_message(7, "x")
    emulator.fail("sendMessage", close(runs=False))
    with pytest.raises(NetworkError):
        await ptb.send_message(7, "x")
    await ptb.set_webhook("https://bot.test/hook")
    with pytest.raises(Conflict):
        await ptb.get_updates()

    assert migrated.value.new_chat_id == -1001
    assert late.value._retry_after.total_seconds() == 5


async def test_a_wrong_token_is_invalid(emulator: Emulator) -> None:
    bot = Bot("123456:AAwrongTokenOfAnotherBot", f"{emulator.base_url}/bot", request=request(emulator))

    with pytest.raises(InvalidToken):
        await bot.get_me()
    await bot.shutdown()


async def test_an_application_talks_with_alice(emulator: Emulator, alice: Person) -> None:
    async def on_start(update: Update, _: Any) -> None:
        assert update.message
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Approve", callback_data="yes")]])
        await update.message.reply_text("Run it?", reply_markup=keyboard)

    async def on_press(update: Update, _: Any) -> None:
        assert update.callback_query
        await update.callback_query.answer("ok")
        await update.callback_query.edit_message_text("Approved")

    async def on_text(update: Update, _: Any) -> None:
        assert update.message
        await update.message.reply_text(f"you said {update.message.text}")

    builder = Application.builder().token(emulator.token).base_url(f"{emulator.base_url}/bot")
    app = builder.request(request(emulator)).get_updates_request(request(emulator)).build()
    app.add_handler(CommandHandler("start", on_start))
    app.add_handler(CallbackQueryHandler(on_press))
    app.add_handler(MessageHandler(filters.TEXT, on_text))
    async with app:
        assert app.updater
        await app.updater.start_polling()
        await app.start()

        alice.start()
        card = await alice.chat.expect("Run it?")
        toast = await alice.press("Approve").answered()
        done = await alice.chat.expect("Approved")
        alice.send("bye")
        await alice.chat.expect("you said bye")

        await app.updater.stop()
        await app.stop()

    assert done is card
    assert toast.text == "ok"
    assert done.buttons == []


async def test_two_hundred_messages_keep_their_order(bot: BareBot, emulator: Emulator, ptb: Bot) -> None:
    people = [emulator.person(100 + i, f"P{i}") for i in range(200)]
    for person in people:
        person.send(f"from {person.id}")

    offset, seen = 0, []
    while updates := await ptb.get_updates(offset=offset):
        seen += [update.message.chat.id for update in updates if update.message]
        offset = updates[-1].update_id + 1
    await asyncio.gather(*(ptb.send_message(chat_id, "answer") for chat_id in seen))

    assert seen == [person.id for person in people]
    assert all(person.chat.messages[-1].text == "answer" for person in people)
