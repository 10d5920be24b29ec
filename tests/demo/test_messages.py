"""Sending, editing, deleting: what passes and the exact words of what does not (facts/telegram §3.1)."""

from typing import Any

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot

NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the "
    "same as a current content and reply markup of the message"
)
KEYBOARD: dict[str, Any] = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}


@pytest.mark.parametrize("text", ["", None])
async def test_no_text_is_refused(bot: BareBot, alice: Person, text: str | None) -> None:
    assert await bot.refused("sendMessage", chat_id=7, text=text) == "Bad Request: message text is empty"


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("editMessageText", {"message_id": 1}, "message text is empty"),
        ("editMessageText", {"text": "x"}, "message identifier is not specified"),
        ("deleteMessage", {}, "message identifier is not specified"),
        ("deleteMessages", {"message_ids": []}, "message identifiers are not specified"),
        ("deleteMessages", {"message_ids": [*range(1, 102)]}, "too many message identifiers specified"),
        ("sendMessage", {"text": "x", "reply_parameters": "5"}, "object expected as reply parameters"),
    ],
)
async def test_missing_and_misshapen_parameters_are_refused(
    bot: BareBot, alice: Person, method: str, params: dict[str, Any], problem: str
) -> None:
    assert await bot.refused(method, chat_id=7, **params) == f"Bad Request: {problem}"


async def test_only_spaces_are_refused(bot: BareBot, alice: Person) -> None:
    assert await bot.refused("sendMessage", chat_id=7, text=" \n ") == "Bad Request: text must be non-empty"


async def test_4096_units_pass_and_one_more_does_not(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="x" * 4096)

    assert await bot.refused("sendMessage", chat_id=7, text="x" * 4097) == "Bad Request: message is too long"


async def test_an_emoji_counts_as_two_units_when_strict(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="😀" * 2048)

    assert "message is too long" in await bot.refused("sendMessage", chat_id=7, text="😀" * 2049)


async def test_an_emoji_counts_as_one_code_point_when_not_strict() -> None:
    emulator = Emulator(strict=False, flood=False)
    emulator.person(7, started=True)
    async with BareBot.of(emulator) as bot:
        await bot.do("sendMessage", chat_id=7, text="😀" * 4096)

        assert "message is too long" in await bot.refused("sendMessage", chat_id=7, text="😀" * 4097)


async def test_more_than_32768_bytes_are_refused_before_parsing(bot: BareBot, alice: Person) -> None:
    text = "<b>" + "</b><b>" * 5000 + "</b>"

    answer = await bot.refused("sendMessage", chat_id=7, text=text, parse_mode="HTML")

    assert answer == "Bad Request: text is too long"


async def test_link_preview_options_are_kept(bot: BareBot, alice: Person) -> None:
    options = {"is_disabled": True}

    sent = await bot.do("sendMessage", chat_id=7, text="https://a.io", link_preview_options=options)
    place = {"chat_id": 7, "message_id": sent["message_id"]}
    edited = await bot.do("editMessageText", **place, text="https://b.io", link_preview_options=options)

    assert sent["link_preview_options"] == edited["link_preview_options"] == options


async def test_the_length_counts_after_parsing(bot: BareBot, alice: Person) -> None:
    text = "<b>" + "x" * 4096 + "</b>"

    sent = await bot.do("sendMessage", chat_id=7, text=text, parse_mode="HTML")

    assert len(sent["text"]) == 4096


async def test_spaces_around_are_trimmed_and_entities_follow(bot: BareBot, alice: Person) -> None:
    bold = {"type": "bold", "offset": 3, "length": 5}

    sent = await bot.do("sendMessage", chat_id=7, text="\n  bold  ", entities=[bold])

    assert sent["text"] == "bold"
    assert sent["entities"] == [{"type": "bold", "offset": 0, "length": 4}]


@pytest.mark.parametrize("chat_id", [99, -500, "@nobody", "word"])
async def test_an_unknown_chat_is_not_found(bot: BareBot, alice: Person, chat_id: object) -> None:
    assert await bot.refused("sendMessage", chat_id=chat_id, text="x") == "Bad Request: chat not found"


async def test_no_chat_is_refused(bot: BareBot) -> None:
    assert await bot.refused("sendMessage", text="x") == "Bad Request: chat_id is empty"


async def test_a_bot_cannot_write_first(bot: BareBot, emulator: Emulator) -> None:
    stranger = emulator.person(id=9, name="Eve")

    answer = await bot.refused("sendMessage", chat_id=9, text="hi")
    stranger.start()
    await bot.do("sendMessage", chat_id=9, text="hi")

    assert answer == "Forbidden: bot can't initiate conversation with a user"


async def test_a_blocked_bot_is_forbidden(bot: BareBot, alice: Person) -> None:
    alice.block()

    for method, params in [("sendMessage", {"text": "x"}), ("sendChatAction", {"action": "typing"})]:
        answer = await bot.refused(method, chat_id=7, **params)
        assert answer == "Forbidden: bot was blocked by the user"


async def test_blocking_and_unblocking_are_told(bot: BareBot, alice: Person) -> None:
    alice.block()
    alice.unblock()

    first, second = [update["my_chat_member"] for update in await bot.updates()]
    assert (first["old_chat_member"]["status"], first["new_chat_member"]["status"]) == ("member", "kicked")
    assert (second["old_chat_member"]["status"], second["new_chat_member"]["status"]) == ("kicked", "member")
    await bot.do("sendMessage", chat_id=7, text="back")


async def test_a_bot_cannot_write_to_bots(bot: BareBot, emulator: Emulator) -> None:
    emulator.person(99, "Other", is_bot=True)

    answer = await bot.refused("sendMessage", chat_id=99, text="x")

    assert answer == "Forbidden: bot can't send messages to bots"


async def test_a_public_group_has_a_name(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    group = emulator.supergroup(-1001, "Ops", [alice], username="OpsRoom")

    sent = await bot.do("sendMessage", chat_id="@opsroom", text="x")

    assert sent["chat"] == {"id": group.id, "type": "supergroup", "title": "Ops", "username": "OpsRoom"}


async def test_a_reply_to_another_chat_is_external(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    group = emulator.supergroup(-1001, "Ops", [alice])
    message = alice.send("in the group", group)
    parameters = {"message_id": message.id, "chat_id": group.id}

    sent = await bot.do("sendMessage", chat_id=7, text="x", reply_parameters=parameters)

    assert sent["external_reply"]["message_id"] == message.id
    assert "reply_to_message" not in sent


async def test_a_deleted_account_is_forbidden(bot: BareBot, alice: Person) -> None:
    alice.user.deactivated = True

    assert await bot.refused("sendMessage", chat_id=7, text="x") == "Forbidden: user is deactivated"


async def test_a_reply_names_the_message_once(bot: BareBot, alice: Person) -> None:
    first = alice.send("first")
    second = alice.send("second", reply_to=first)

    sent = await bot.do("sendMessage", chat_id=7, text="x", reply_parameters={"message_id": second.id})

    assert sent["reply_to_message"]["text"] == "second"
    assert "reply_to_message" not in sent["reply_to_message"]


async def test_a_reply_to_nothing_is_refused_unless_allowed(bot: BareBot, alice: Person) -> None:
    parameters = {"message_id": 12345}

    answer = await bot.refused("sendMessage", chat_id=7, text="x", reply_parameters=parameters)
    allowed = parameters | {"allow_sending_without_reply": True}
    sent = await bot.do("sendMessage", chat_id=7, text="x", reply_parameters=allowed)

    assert answer == "Bad Request: message to be replied not found"
    assert "reply_to_message" not in sent


async def test_a_quote_must_be_in_the_message(bot: BareBot, alice: Person) -> None:
    message = alice.send("one two three")
    good = {"message_id": message.id, "quote": "two"}

    sent = await bot.do("sendMessage", chat_id=7, text="x", reply_parameters=good)
    answer = await bot.refused("sendMessage", chat_id=7, text="x", reply_parameters=good | {"quote": "four"})

    assert sent["quote"] == {"text": "two", "position": 4, "is_manual": True}
    assert answer == "Bad Request: QUOTE_TEXT_INVALID"


async def test_an_edit_changes_text_and_drops_the_keyboard(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a", reply_markup=KEYBOARD)

    edited = await bot.do("editMessageText", chat_id=7, message_id=sent["message_id"], text="b")

    assert edited["text"] == "b"
    assert "edit_date" in edited
    assert "reply_markup" not in edited


async def test_the_same_text_and_keyboard_are_not_modified(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a", reply_markup=KEYBOARD)
    same = {"chat_id": 7, "message_id": sent["message_id"], "text": "a", "reply_markup": KEYBOARD}

    assert await bot.refused("editMessageText", **same) == NOT_MODIFIED
    await bot.do("editMessageText", **same | {"reply_markup": None})


async def test_other_entities_alone_are_a_change(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="bold")

    edited = await bot.do(
        "editMessageText", chat_id=7, message_id=sent["message_id"], text="*bold*", parse_mode="MarkdownV2"
    )

    assert edited["entities"][0]["type"] == "bold"


async def test_the_same_keyboard_is_not_modified(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a", reply_markup=KEYBOARD)
    place = {"chat_id": 7, "message_id": sent["message_id"]}

    assert await bot.refused("editMessageReplyMarkup", **place, reply_markup=KEYBOARD) == NOT_MODIFIED
    assert "reply_markup" not in await bot.do("editMessageReplyMarkup", **place)
    assert await bot.refused("editMessageReplyMarkup", **place) == NOT_MODIFIED


async def test_editing_nothing_is_refused(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("editMessageText", chat_id=7, message_id=999, text="x")

    assert answer == "Bad Request: message to edit not found"


async def test_editing_somebody_elses_message_is_refused(bot: BareBot, alice: Person) -> None:
    message = alice.send("mine")

    answer = await bot.refused("editMessageText", chat_id=7, message_id=message.id, text="x")

    assert answer == "Bad Request: message can't be edited"


async def test_a_deleted_message_cannot_be_edited(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a")
    await bot.do("deleteMessage", chat_id=7, message_id=sent["message_id"])

    answer = await bot.refused("editMessageText", chat_id=7, message_id=sent["message_id"], text="x")

    assert answer == "Bad Request: message to edit not found"


async def test_a_deleted_message_is_gone_from_the_screen(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="oops")

    await bot.do("deleteMessage", chat_id=7, message_id=sent["message_id"])

    assert alice.chat.messages == []
    answer = await bot.refused("deleteMessage", chat_id=7, message_id=sent["message_id"])
    assert answer == "Bad Request: message to delete not found"


async def test_after_48_hours_a_message_stays(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="old")

    emulator.clock.advance(48 * 3600 + 1)

    answer = await bot.refused("deleteMessage", chat_id=7, message_id=sent["message_id"])
    assert answer == "Bad Request: message can't be deleted for everyone"


async def test_other_peoples_group_messages_are_the_admins_to_delete(
    bot: BareBot, emulator: Emulator, alice: Person
) -> None:
    group = emulator.supergroup(-1001, "Ops", [alice])
    message = alice.send("hi", group)

    answer = await bot.refused("deleteMessage", chat_id=group.id, message_id=message.id)
    alice.promote_bot(group)
    await bot.do("deleteMessage", chat_id=group.id, message_id=message.id)

    assert answer == "Bad Request: message can't be deleted"


async def test_deleting_many_skips_the_missing(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a")

    await bot.do("deleteMessages", chat_id=7, message_ids=[sent["message_id"], 9999])

    assert alice.chat.messages == []


async def test_typing_shows_for_five_seconds(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    await bot.do("sendChatAction", chat_id=7, action="typing")

    assert alice.screen().action == "typing"
    emulator.clock.advance(5.1)
    assert alice.screen().action is None


async def test_a_message_ends_typing(bot: BareBot, alice: Person) -> None:
    await bot.do("sendChatAction", chat_id=7, action="typing")

    await bot.do("sendMessage", chat_id=7, text="done")

    assert alice.screen().action is None


async def test_an_unknown_action_is_refused(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendChatAction", chat_id=7, action="sleeping")

    assert answer == "Bad Request: wrong parameter action in request"


async def test_a_copy_has_no_origin_and_a_forward_has(bot: BareBot, alice: Person) -> None:
    message = alice.send("hi")
    source = {"chat_id": 7, "from_chat_id": 7, "message_id": message.id}

    copy = await bot.do("copyMessage", **source)
    forward = await bot.do("forwardMessage", **source)

    assert [*copy] == ["message_id"]
    assert forward["forward_origin"]["sender_user"]["id"] == 7
    assert [m.text for m in alice.chat.messages] == ["hi", "hi", "hi"]


async def test_a_forward_cannot_be_edited(bot: BareBot, alice: Person) -> None:
    message = alice.send("hi")
    forward = await bot.do("forwardMessage", chat_id=7, from_chat_id=7, message_id=message.id)

    answer = await bot.refused("editMessageText", chat_id=7, message_id=forward["message_id"], text="x")

    assert answer == "Bad Request: message can't be edited"


@pytest.mark.parametrize(("method", "done"), [("copyMessage", "copied"), ("forwardMessage", "forwarded")])
async def test_a_service_message_stays_where_it_is(
    bot: BareBot, emulator: Emulator, alice: Person, bob: Person, method: str, done: str
) -> None:
    group = emulator.group(-5, "Ops", [alice])
    bob.join(group)
    joined = group.messages[-1]

    answer = await bot.refused(method, chat_id=7, from_chat_id=-5, message_id=joined.id)

    assert answer == f"Bad Request: message can't be {done}"


async def test_copying_nothing_is_refused(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("copyMessage", chat_id=7, from_chat_id=7, message_id=404)

    assert answer == "Bad Request: message to copy not found"


async def test_pinning_and_unpinning(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="rules")

    await bot.do("pinChatMessage", chat_id=7, message_id=sent["message_id"])
    assert (await bot.do("getChat", chat_id=7))["pinned_message"]["text"] == "rules"
    await bot.do("unpinChatMessage", chat_id=7)

    assert "pinned_message" not in await bot.do("getChat", chat_id=7)
    assert await bot.refused("unpinChatMessage", chat_id=7) == "Bad Request: message to unpin not found"


@pytest.mark.parametrize(("emoji", "accepted"), [("👀", True), ("❤️", True), ("🥑", False)])
async def test_only_the_listed_reactions_pass(
    bot: BareBot, alice: Person, emoji: str, accepted: bool
) -> None:
    message = alice.send("hi")
    reaction = [{"type": "emoji", "emoji": emoji}]

    body = await bot.answer("setMessageReaction", chat_id=7, message_id=message.id, reaction=reaction)

    assert body["ok"] is accepted
    assert body.get("description") == (None if accepted else "Bad Request: REACTION_INVALID")


async def test_reactions_are_a_list(bot: BareBot, alice: Person) -> None:
    message = alice.send("hi")

    answer = await bot.refused(
        "setMessageReaction", chat_id=7, message_id=message.id, reaction={"emoji": "👀"}
    )

    assert answer == "Bad Request: expected an Array of ReactionType"


async def test_a_bot_has_one_reaction_a_message(bot: BareBot, alice: Person) -> None:
    message = alice.send("hi")
    two = [{"type": "emoji", "emoji": "👀"}, {"type": "emoji", "emoji": "👍"}]

    answer = await bot.refused("setMessageReaction", chat_id=7, message_id=message.id, reaction=two)

    assert answer == "Bad Request: REACTIONS_TOO_MANY"
