"""https://core.telegram.org/bots/api#making-requests and the server's own refusals (facts/telegram §4.3)."""

import json

import pytest

from bot.demo import Emulator, Person
from tests.demo.bare import BareBot


async def test_the_answer_is_ok_and_result(bot: BareBot) -> None:
    body = await bot.answer("getMe")

    assert body["ok"] is True
    assert body["result"]["is_bot"] is True
    assert body["result"]["username"] == "kai_test_bot"


async def test_get_with_a_query_works(bot: BareBot, alice: Person) -> None:
    response = await bot.client.get(f"/bot{bot.token}/sendMessage", params={"chat_id": 7, "text": "hi"})

    assert response.json()["result"]["text"] == "hi"


async def test_a_form_works(bot: BareBot, alice: Person) -> None:
    response = await bot.client.post(f"/bot{bot.token}/sendMessage", data={"chat_id": "7", "text": "é & ="})

    assert response.json()["result"]["text"] == "é & ="


async def test_a_multipart_body_without_files_works(bot: BareBot, alice: Person) -> None:
    parts = {"chat_id": (None, "7"), "text": (None, "hi")}

    response = await bot.client.post(f"/bot{bot.token}/sendMessage", files=parts)

    assert response.json()["result"]["text"] == "hi"


async def test_json_values_may_be_objects_or_json_text(bot: BareBot, alice: Person) -> None:
    markup = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}

    as_object = await bot.do("sendMessage", chat_id=7, text="x", reply_markup=markup)
    as_text = await bot.do("sendMessage", chat_id="7", text="x", reply_markup=json.dumps(markup))

    assert as_object["reply_markup"] == as_text["reply_markup"] == markup


async def test_method_names_are_case_insensitive(bot: BareBot, emulator: Emulator) -> None:
    await bot.do("GETME")

    assert emulator.calls()[0].method == "getMe"


@pytest.mark.parametrize(
    ("token", "description"),
    [
        ("nonsense", "Unauthorized: invalid token specified"),
        ("123456:AAnotherBotsWellShapedToken", "Unauthorized"),
    ],
)
async def test_another_token_is_unauthorized(bot: BareBot, token: str, description: str) -> None:
    response = await bot.client.post(f"/bot{token}/getMe")

    assert response.status_code == 401
    assert response.json() == {"ok": False, "error_code": 401, "description": description}


async def test_closing_is_for_local_servers(bot: BareBot) -> None:
    body = await bot.answer("close")

    assert (body["error_code"], body["parameters"]) == (429, {"retry_after": 600})


async def test_an_unknown_method_is_not_found(bot: BareBot) -> None:
    assert await bot.refused("sendTelepathy") == "Not Found: method not found"


async def test_a_path_outside_the_api_is_not_found(bot: BareBot) -> None:
    response = await bot.client.get("/whatever")

    assert response.status_code == 404
    assert response.json()["description"] == "Not Found"


async def test_bytes_that_are_no_utf8_are_refused(bot: BareBot, alice: Person) -> None:
    response = await bot.client.post(
        f"/bot{bot.token}/sendMessage",
        content=b"chat_id=7&text=%ff%fe",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )

    assert response.json()["description"] == "Bad Request: strings must be encoded in UTF-8"


async def test_half_a_surrogate_pair_is_refused(bot: BareBot, alice: Person) -> None:
    response = await bot.client.post(
        f"/bot{bot.token}/sendMessage",
        content=b'{"chat_id":7,"text":"x\\ud83d"}',
        headers={"Content-Type": "application/json"},
    )

    assert response.json()["description"] == "Bad Request: strings must be encoded in UTF-8"


async def test_every_call_is_logged_with_its_outcome(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    await bot.do("sendMessage", chat_id=7, text="hi")
    await bot.refused("sendMessage", chat_id=99, text="hi")

    first, second = emulator.calls("sendMessage")
    assert (first.ok, first["chat_id"], first["text"], first.time) == (True, 7, "hi", emulator.clock())
    assert (second.status, second.description) == (400, "Bad Request: chat not found")


async def test_the_log_keeps_only_so_many_calls() -> None:
    emulator = Emulator(calls_kept=3)
    async with BareBot.of(emulator) as bot:
        for _ in range(5):
            await bot.do("getMe")

    assert len(emulator.calls("getMe")) == 3


async def test_a_body_that_claims_more_than_50_mb_is_not_read(bot: BareBot, emulator: Emulator) -> None:
    response = await bot.client.post(
        f"/bot{bot.token}/sendDocument", content=b"x", headers={"Content-Length": str(60 * 1024 * 1024)}
    )

    assert response.status_code == 413
    assert response.json()["description"] == "Request Entity Too Large"
    assert emulator.calls("sendDocument")[0].status == 413


async def test_a_broken_json_body_is_refused(bot: BareBot) -> None:
    response = await bot.client.post(
        f"/bot{bot.token}/getMe", content=b"{oops", headers={"Content-Type": "application/json"}
    )

    assert response.json()["description"] == "Bad Request: can't parse JSON object"


async def test_a_missing_file_is_not_found(bot: BareBot) -> None:
    response = await bot.client.get(f"/file/bot{bot.token}/documents/file_9.txt")

    assert response.status_code == 404
