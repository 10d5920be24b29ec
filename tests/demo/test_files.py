"""Files: 50 MB up, 20 MB down, photos 10 MB. https://core.telegram.org/bots/api#sending-files"""

import json

import pytest

from bot.demo import Emulator, Person
from bot.demo.files import DOWNLOAD_LIMIT, PHOTO_LIMIT, UPLOAD_LIMIT
from tests.demo.bare import BareBot

TEXT = ("log.txt", b"hello", "text/plain")


async def test_a_document_goes_up_and_comes_back(bot: BareBot, alice: Person) -> None:
    body = await bot.upload("sendDocument", {"document": TEXT}, chat_id="7", caption="the log")
    document = body["result"]["document"]

    path = (await bot.do("getFile", file_id=document["file_id"]))["file_path"]
    response = await bot.client.get(f"/file/bot{bot.token}/{path}")

    assert (document["file_name"], document["mime_type"], document["file_size"]) == (
        "log.txt",
        "text/plain",
        5,
    )
    assert response.content == b"hello"
    assert alice.chat.messages[-1].text == "the log"


async def test_attach_names_a_part(bot: BareBot, alice: Person) -> None:
    body = await bot.upload("sendDocument", {"part1": TEXT}, chat_id="7", document="attach://part1")

    assert body["result"]["document"]["file_name"] == "log.txt"


async def test_a_known_file_id_is_sent_again(bot: BareBot, alice: Person) -> None:
    first = (await bot.upload("sendDocument", {"document": TEXT}, chat_id="7"))["result"]

    again = await bot.do("sendDocument", chat_id=7, document=first["document"]["file_id"])

    assert again["document"] == first["document"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (None, "there is no document in the request"),
        ("attach://missing", "there is no document in the request"),
        ("BQACunknown", "wrong file identifier/HTTP URL specified"),
        ("https://a.io/x.pdf", "failed to get HTTP URL content"),
    ],
)
async def test_a_file_that_is_not_there_is_refused(
    bot: BareBot, alice: Person, document: str | None, problem: str
) -> None:
    assert await bot.refused("sendDocument", chat_id=7, document=document) == f"Bad Request: {problem}"


async def test_an_empty_file_is_refused(bot: BareBot, alice: Person) -> None:
    body = await bot.upload("sendDocument", {"document": ("a.txt", b"", "text/plain")}, chat_id="7")

    assert body["description"] == "Bad Request: file must be non-empty"


async def test_more_than_50_mb_are_too_large(bot: BareBot, alice: Person) -> None:
    exact = await bot.upload("sendDocument", {"document": ("a", bytes(UPLOAD_LIMIT), "x/y")}, chat_id="7")
    over = await bot.upload("sendDocument", {"document": ("a", bytes(UPLOAD_LIMIT + 1), "x/y")}, chat_id="7")

    assert exact["ok"]
    assert (over["error_code"], over["description"]) == (413, "Request Entity Too Large")


async def test_a_photo_has_10_mb_at_most(bot: BareBot, alice: Person) -> None:
    body = await bot.upload(
        "sendPhoto", {"photo": ("a.jpg", bytes(PHOTO_LIMIT + 1), "image/jpeg")}, chat_id="7"
    )

    assert body["description"] == f"Bad Request: file of size {PHOTO_LIMIT + 1} bytes is too big for a photo"


@pytest.mark.parametrize(("size", "accepted"), [(DOWNLOAD_LIMIT, True), (DOWNLOAD_LIMIT + 1, False)])
async def test_20_mb_come_down_and_no_more(bot: BareBot, alice: Person, size: int, accepted: bool) -> None:
    message = alice.send_voice(size=size)
    assert message.media

    body = await bot.answer("getFile", file_id=message.media["file_id"])

    assert body.get("description") == (None if accepted else "Bad Request: file is too big")


async def test_an_unknown_file_id_is_invalid(bot: BareBot) -> None:
    assert await bot.refused("getFile", file_id="nothing") == "Bad Request: invalid file_id"
    assert await bot.refused("getFile") == "Bad Request: file_id not specified"


async def test_downloads_want_the_token_too(bot: BareBot, alice: Person) -> None:
    response = await bot.client.get("/file/bot123456:AAnotherBotsWellShapedToken/documents/file_0.txt")

    assert response.status_code == 401


@pytest.mark.parametrize("kind", ["photo", "voice", "audio", "video", "animation"])
async def test_every_kind_keeps_its_field(bot: BareBot, alice: Person, kind: str) -> None:
    body = await bot.upload(f"send{kind.title()}", {kind: ("a.bin", b"data", "x/y")}, chat_id="7")

    assert kind in body["result"]
    assert alice.chat.messages[-1].kind == kind


async def test_a_photo_is_a_list_of_sizes(bot: BareBot, alice: Person) -> None:
    body = await bot.upload("sendPhoto", {"photo": ("a.jpg", b"data", "image/jpeg")}, chat_id="7")

    widths = [size["width"] for size in body["result"]["photo"]]
    assert widths == sorted(widths)
    assert len(widths) > 1


async def test_a_caption_has_1024_units(bot: BareBot, alice: Person) -> None:
    fits = await bot.upload("sendDocument", {"document": TEXT}, chat_id="7", caption="x" * 1024)
    over = await bot.upload("sendDocument", {"document": TEXT}, chat_id="7", caption="x" * 1025)

    assert fits["ok"]
    assert over["description"] == "Bad Request: message caption is too long"


async def test_a_caption_is_formatted_and_can_be_replaced_in_a_copy(bot: BareBot, alice: Person) -> None:
    form = {"chat_id": "7", "caption": "<b>log</b>", "parse_mode": "HTML"}
    sent = (await bot.upload("sendDocument", {"document": TEXT}, **form))["result"]
    source = {"chat_id": 7, "from_chat_id": 7, "message_id": sent["message_id"]}

    await bot.do("copyMessage", **source)
    await bot.do("copyMessage", **source, caption="other")

    assert sent["caption_entities"] == [{"type": "bold", "offset": 0, "length": 3}]
    _, copy, renamed = alice.chat.messages
    assert (copy.text, copy.covered("bold")) == ("log", ["log"])
    assert (renamed.text, renamed.entities) == ("other", [])


async def test_a_caption_is_edited_and_a_text_is_not_there(bot: BareBot, alice: Person) -> None:
    sent = (await bot.upload("sendDocument", {"document": TEXT}, chat_id="7", caption="a"))["result"]
    place = {"chat_id": 7, "message_id": sent["message_id"]}

    edited = await bot.do("editMessageCaption", **place, caption="b")

    assert edited["caption"] == "b"
    answer = await bot.refused("editMessageText", **place, text="c")
    assert answer == "Bad Request: there is no text in the message to edit"


async def test_a_text_has_no_caption_to_edit(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="a")

    answer = await bot.refused("editMessageCaption", chat_id=7, message_id=sent["message_id"], caption="b")

    assert answer == "Bad Request: there is no caption in the message to edit"


@pytest.mark.parametrize("count", [1, 11])
async def test_an_album_has_two_to_ten_files(bot: BareBot, alice: Person, count: int) -> None:
    media = [{"type": "document", "media": f"attach://f{i}"} for i in range(count)]
    files = {f"f{i}": TEXT for i in range(count)}

    body = await bot.upload("sendMediaGroup", files, chat_id="7", media=json.dumps(media))

    assert not body["ok"]


async def test_an_album_shares_one_group_id(bot: BareBot, alice: Person) -> None:
    media = [{"type": "photo", "media": f"attach://f{i}", "caption": f"c{i}"} for i in range(2)]

    body = await bot.upload("sendMediaGroup", {"f0": TEXT, "f1": TEXT}, chat_id="7", media=json.dumps(media))

    first, second = body["result"]
    assert first["media_group_id"] == second["media_group_id"]
    assert (first["caption"], second["caption"]) == ("c0", "c1")


async def test_an_album_is_a_list(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendMediaGroup", chat_id=7, media={"type": "photo"})

    assert answer == "Bad Request: expected an Array of InputMedia"


async def test_a_document_is_not_sent_as_a_photo(bot: BareBot, alice: Person) -> None:
    sent = (await bot.upload("sendDocument", {"document": TEXT}, chat_id="7"))["result"]

    answer = await bot.refused("sendPhoto", chat_id=7, photo=sent["document"]["file_id"])

    assert answer == "Bad Request: can't use file of type Document as Photo"


async def test_documents_and_photos_do_not_mix_in_an_album(bot: BareBot, alice: Person) -> None:
    media = [{"type": "photo", "media": "attach://f0"}, {"type": "document", "media": "attach://f1"}]

    body = await bot.upload("sendMediaGroup", {"f0": TEXT, "f1": TEXT}, chat_id="7", media=json.dumps(media))

    assert body["description"] == "Bad Request: can't use the media of the specified type in the album"


async def test_a_persons_album_is_as_many_updates_with_one_caption(bot: BareBot, alice: Person) -> None:
    alice.send_album([("a.jpg", b"1"), ("b.jpg", b"2"), ("c.jpg", b"3")], caption="look")

    messages = [update["message"] for update in await bot.updates()]
    assert len({message["media_group_id"] for message in messages}) == 1
    assert [message.get("caption") for message in messages] == ["look", None, None]


async def test_a_persons_file_can_be_fetched(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    alice.send_document("notes.md", b"# hi", caption="/read this")

    message = (await bot.updates())[0]["message"]
    file = await bot.do("getFile", file_id=message["document"]["file_id"])
    response = await bot.client.get(f"/file/bot{bot.token}/{file['file_path']}")
    assert response.content == b"# hi"
    assert message["caption_entities"][0]["type"] == "bot_command"
