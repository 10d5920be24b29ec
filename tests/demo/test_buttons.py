"""Keyboards, presses and their answers: facts/telegram §3.1, §3.3.

https://core.telegram.org/bots/api#inlinekeyboardbutton
"""

from typing import Any

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot

NO_TEXT_BUTTONS = "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
NO_ROWS = 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'
TOO_OLD = "Bad Request: query is too old and response timeout expired or query ID is invalid"


def keyboard(*buttons: dict[str, Any]) -> dict[str, Any]:
    return {"inline_keyboard": [list(buttons)]}


def button(data: str = "a", text: str = "A") -> dict[str, Any]:
    return {"text": text, "callback_data": data}


@pytest.mark.parametrize(
    ("data", "accepted"), [("x" * 64, True), ("x" * 65, False), ("ж" * 32, True), ("ж" * 33, False)]
)
async def test_callback_data_has_64_bytes_not_characters(
    bot: BareBot, alice: Person, data: str, accepted: bool
) -> None:
    body = await bot.answer("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button(data)))

    assert body["ok"] is accepted
    assert body.get("description") == (None if accepted else "Bad Request: BUTTON_DATA_INVALID")


@pytest.mark.parametrize(
    ("markup", "problem"),
    [
        ("{not json", "can't parse reply keyboard markup JSON object"),
        ("[]", "object expected as reply markup"),
        ({"inline_keyboard": [button()]}, NO_ROWS),
        (keyboard({"text": "A"}), NO_TEXT_BUTTONS),
        (keyboard({"text": "A", "callback_data": ""}), NO_TEXT_BUTTONS),
        (keyboard({"callback_data": "a"}), "can't parse inline keyboard button: Can't find field \"text\""),
        ({"inline_keyboard": "A"}, 'field "inline_keyboard" must be of type Array'),
        (
            {"inline_keyboard": [["A"]]},
            "can't parse inline keyboard button: InlineKeyboardButton must be an Object",
        ),
        (
            keyboard({"text": 1, "callback_data": "a"}),
            'can\'t parse inline keyboard button: Field "text" must be of type String',
        ),
        (
            keyboard({"text": "A", "callback_data": 1}),
            'can\'t parse inline keyboard button: Field "callback_data" must be of type String',
        ),
        (
            keyboard(button() | {"style": "loud"}),
            "can't parse inline keyboard button: Invalid button style specified",
        ),
        (keyboard(button(text=" ")), "inline keyboard button text must be non-empty"),
        (
            keyboard({"text": "A", "url": "./x"}),
            "inline keyboard button URL './x' is invalid: Host is invalid",
        ),
        (
            keyboard({"text": "A", "url": "http://localhost/"}),
            "inline keyboard button URL 'http://localhost/' is invalid: Wrong HTTP URL",
        ),
        (keyboard(*[button()] * 9), "reply markup is too long"),
        ({"inline_keyboard": [[button()]] * 101}, "reply markup is too long"),
        (keyboard({"text": "A", "copy_text": {"text": "x" * 257}}), "BUTTON_COPY_TEXT_INVALID"),
    ],
)
async def test_bad_keyboards_are_refused(bot: BareBot, alice: Person, markup: object, problem: str) -> None:
    answer = await bot.refused("sendMessage", chat_id=7, text="?", reply_markup=markup)

    assert answer == f"Bad Request: {problem}"


@pytest.mark.parametrize("markup", [keyboard(*[button()] * 8), {"inline_keyboard": [[button()]] * 100}])
async def test_eight_in_a_row_and_a_hundred_in_all_pass(
    bot: BareBot, alice: Person, markup: dict[str, Any]
) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="?", reply_markup=markup)

    assert sent["reply_markup"] == markup


async def test_styles_are_kept(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button() | {"style": "danger"}))

    assert alice.chat.messages[-1].buttons[0][0].style == "danger"


async def test_a_press_reaches_the_bot_with_message_and_data(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button("yes", "Approve")))

    alice.press("Approve")

    query = (await bot.updates())[-1]["callback_query"]
    assert (query["data"], query["from"]["id"]) == ("yes", 7)
    assert query["message"] == sent
    assert query["chat_instance"]


async def test_an_answer_becomes_the_persons_toast(bot: BareBot, alice: Person, bob: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button()))
    press = alice.press("A")

    await bot.do("answerCallbackQuery", callback_query_id=press.id, text="Noted", show_alert=True)

    toast = await press.answered()
    assert (toast.text, toast.alert, toast.user_id) == ("Noted", True, 7)
    assert alice.toasts() == [toast]
    assert alice.chat.screen(bob.id).toasts == ()


@pytest.mark.parametrize(("age", "accepted"), [(14.9, True), (15.1, False)])
async def test_a_press_can_be_answered_for_15_seconds(
    bot: BareBot, emulator: Emulator, alice: Person, age: float, accepted: bool
) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button()))
    press = alice.press("A")
    emulator.clock.advance(age)

    body = await bot.answer("answerCallbackQuery", callback_query_id=press.id)

    assert body.get("description") == (None if accepted else TOO_OLD)


async def test_a_press_is_answered_once(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button()))
    press = alice.press("A")
    await bot.do("answerCallbackQuery", callback_query_id=press.id)

    assert await bot.refused("answerCallbackQuery", callback_query_id=press.id) == TOO_OLD


async def test_an_unknown_press_is_refused(bot: BareBot) -> None:
    assert await bot.refused("answerCallbackQuery", callback_query_id="1") == TOO_OLD


async def test_a_toast_has_200_units_at_most(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button()))
    press = alice.press("A")

    answer = await bot.refused("answerCallbackQuery", callback_query_id=press.id, text="x" * 201)
    await bot.do("answerCallbackQuery", callback_query_id=press.id, text="x" * 200)

    assert answer == "Bad Request: MESSAGE_TOO_LONG"


async def test_pressing_what_is_not_shown_fails_with_what_is(bot: BareBot, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button("a", "Deny")))

    with pytest.raises(LookupError, match="Deny"):
        alice.press("Approve")


async def test_a_removed_button_can_only_be_pressed_stale(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="?", reply_markup=keyboard(button("yes", "Approve")))
    message = alice.chat.messages[-1]
    shown = message.buttons[0][0]
    await bot.do("editMessageReplyMarkup", chat_id=7, message_id=sent["message_id"])

    with pytest.raises(LookupError):
        alice.press("Approve")
    alice.press_stale(shown, message)

    assert (await bot.updates())[-1]["callback_query"]["data"] == "yes"


async def test_a_link_button_calls_no_bot(bot: BareBot, alice: Person) -> None:
    await bot.do(
        "sendMessage", chat_id=7, text="?", reply_markup=keyboard({"text": "Open", "url": "https://a.io"})
    )

    with pytest.raises(ValueError, match="does not call the bot"):
        alice.press("Open")


async def test_an_edit_takes_no_other_keyboard(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="?")
    markup = {"force_reply": True}

    answer = await bot.refused(
        "editMessageText", chat_id=7, message_id=sent["message_id"], text="!", reply_markup=markup
    )

    assert answer == "Bad Request: inline keyboard expected"
