"""What people send besides a line of text: pictures, files, albums, recordings, pastes; marks on it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo import Emulator, serve
from bot.demo.messages import Message
from bot.demo.model_server import Reply
from tests.e2e.harness import Town, puppet, town
from tests.llm.samples import environ_for

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def asked(here: Town) -> list[str]:
    return [request.last_user_text for request in here.model.requests]


def inbox(here: Town) -> dict[str, bytes]:
    """Return what was saved, by the end of its name."""
    files = [path for path in (here.work / "inbox").rglob("*") if path.is_file()]
    return {path.name.split("-", 2)[2]: path.read_bytes() for path in files}


async def test_a_file_is_saved_in_the_work_folder_and_named_to_the_model(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_document(
            "../../etc/my notes.txt", b"milk", caption="what is in it?", mime="text/plain"
        )
        await here.alice.chat.expect("You said", within=15)

        assert inbox(here) == {"my_notes.txt": b"milk"}
        [text] = asked(here)
        [path] = (here.work / "inbox").rglob("*my_notes.txt")
        assert text.startswith("what is in it?\n[document from the person, saved as ")
        assert f"{path} (text/plain" in text


async def test_a_picture_is_kept_with_its_message_for_a_model_that_sees(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_photo(PNG)
        await here.alice.chat.expect("You said", within=15)
        await here.stop()

        assert inbox(here) == {"photo.jpg": PNG}
        assert stored_images(here) == [[str(path) for path in (here.work / "inbox").rglob("*photo.jpg")]]


@pytest.mark.parametrize("wire", ["openai", "anthropic", "text"])
async def test_a_photo_with_a_caption_reaches_a_model_that_sees_with_exactly_its_bytes(
    tmp_path: Path, wire: str
) -> None:
    async with town(tmp_path, puppet, wire=wire) as here:
        here.alice.send_photo(PNG, caption="what is it?")
        await here.alice.chat.expect("You said", within=15)
        here.alice.send("and now?")
        await here.alice.chat.expect("and now?", within=15)
        await here.stop()

        first, second = here.model.requests
        assert first.messages[-1].images == (PNG,)
        assert first.last_user_text.startswith("what is it?\n[photo from the person, saved as ")
        assert second.messages[: len(first.messages)] == first.messages
        assert here.model.refusals == []
        assert here.violations() == []


async def test_an_album_reaches_a_model_that_sees_in_its_order(tmp_path: Path) -> None:
    jpeg = b"\xff\xd8\xff\xe0" + bytes(400)
    async with town(tmp_path, puppet, wire="anthropic") as here:
        here.alice.send_album([("a.jpg", PNG), ("b.jpg", jpeg)], caption="compare these")
        await here.alice.chat.expect("You said", within=15)

        assert here.model.requests[-1].messages[-1].images == (PNG, jpeg)


async def test_a_model_without_vision_gets_the_path_in_words(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, start=False) as here:
        here.settings |= environ_for(here.settings["ANTHROPIC_BASE_URL"])
        here.settings |= {"LLM_MODEL": "deepseek:scripted-strict"}
        await here.start()
        here.alice.send_photo(PNG, caption="what is it?")
        await here.alice.chat.expect("You said", within=15)

        [path] = (here.work / "inbox").rglob("*photo.jpg")
        [request] = here.model.requests
        assert request.messages[-1].images == ()
        assert f"saved as {path} (image/jpeg" in request.last_user_text
        assert f"[You don't see the picture {path}: this model takes no pictures.]" in request.last_user_text


async def test_a_model_that_turns_out_not_to_see_answers_all_the_same(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, LLM_MODEL="custom:scripted-blind") as here:
        here.alice.send_photo(PNG, caption="what is it?")
        await here.alice.chat.expect("You said", within=15)
        here.alice.send("and now?")
        await here.alice.chat.expect("and now?", within=15)

        assert len(here.model.refusals) == 1
        assert "this model takes no pictures" in here.model.requests[-1].messages[0].text


async def test_a_picture_that_the_bot_then_loses_ends_no_conversation(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_photo(PNG, caption="what is it?")
        await here.alice.chat.expect("You said", within=15)
        [path] = (here.work / "inbox").rglob("*photo.jpg")
        path.unlink()
        here.alice.send("and now?")
        await here.alice.chat.expect("and now?", within=15)

        assert "it is not there any more" in here.model.requests[-1].messages[0].text


def stored_images(here: Town) -> list[list[str]]:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(here.database)) as db:
        rows = db.execute("SELECT body FROM messages WHERE kind = 'user' ORDER BY id").fetchall()
    return [json.loads(body).get("images", []) for (body,) in rows]


async def test_an_album_is_one_question(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_album([("a.jpg", b"first"), ("b.jpg", b"second")], caption="compare these")
        await here.alice.chat.expect("You said", within=15)
        await here.alice.chat.expect_nothing(1.5)

        [text] = asked(here)
        assert text.startswith("compare these")
        assert text.count("[photo from the person") == 2
        assert len(list((here.work / "inbox").rglob("*photo.jpg"))) == 2


async def test_in_edited_a_preview_that_changed_under_a_file_is_no_new_message(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        message = here.alice.send_document("a.txt", b"milk", caption="what is in it?")
        await here.alice.chat.expect("You said", within=15)

        here.alice.refresh(message)
        await here.alice.chat.expect_nothing(1)
        here.alice.edit(message, "what is not in it?")
        await here.alice.chat.expect("what is not in it?")

        assert len(asked(here)) == 2


async def test_a_group_album_is_for_us_when_its_caption_names_us(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.bob.send_album([("a.jpg", b"1"), ("b.jpg", b"2")], group, caption="@kai_test_bot compare")
        await group.expect("You said", within=15)

        [text] = asked(here)
        assert text.count("[photo from the person") == 2


async def test_a_file_over_20_mb_is_refused_in_plain_words(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_document("film.mkv", b"x", size=30_000_000)
        said = await here.alice.chat.expect("20 MB", within=15)
        here.alice.send_document("film.mkv", b"x", size=30_000_000, caption="shorten it")
        await here.alice.chat.expect("You said", within=15)

        assert said.text.startswith("film.mkv has 30.0 MB; Telegram gives bots only files up to 20 MB")
        [text] = asked(here)
        assert "could not be received" in text


async def test_a_voice_message_without_a_service_says_what_is_missing(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send_voice(b"OggS recording")
        await here.alice.chat.expect("TRANSCRIBE_URL", within=15)
        await here.alice.chat.expect_nothing(0.5)

        assert inbox(here) == {"voice.ogg": b"OggS recording"}
        assert asked(here) == []


@asynccontextmanager
async def transcriber(answer: Response, seen: list[tuple[str, str, bytes]]) -> AsyncIterator[str]:
    async def write_down(request: Request) -> Response:
        async with request.form() as form:
            file = form["file"]
            assert not isinstance(file, str)
            key = request.headers.get("authorization", "")
            seen.append((key, str(form["model"]), await file.read()))
        return answer

    app = Starlette(routes=[Route("/v1/audio/transcriptions", write_down, methods=["POST"])])
    async with serve(Emulator(), app=app) as url:
        yield f"{url}/v1"


async def test_a_voice_message_is_written_down_by_the_configured_service(tmp_path: Path) -> None:
    seen: list[tuple[str, str, bytes]] = []
    async with (
        transcriber(JSONResponse({"text": "how full is the disk?"}), seen) as url,
        town(tmp_path, puppet, TRANSCRIBE_URL=url, TRANSCRIBE_API_KEY="voice-key-123") as here,
    ):
        here.alice.send_voice(b"OggS recording")
        await here.alice.chat.expect("how full is the disk?", within=15)

        assert seen == [("Bearer voice-key-123", "whisper-1", b"OggS recording")]


async def test_a_service_that_fails_is_said_in_plain_words(tmp_path: Path) -> None:
    async with (
        transcriber(Response("no", 500), []) as url,
        town(tmp_path, puppet, TRANSCRIBE_URL=url) as here,
    ):
        here.alice.send_voice(b"OggS recording")

        await here.alice.chat.expect("did not write down", within=15)


# ── pastes, waiting, marks ─────────────────────────────────────────────────────────────────────────────


async def test_a_paste_that_the_app_cut_is_one_question(tmp_path: Path) -> None:
    async with town(tmp_path, lambda request: Reply("Read it.")) as here:
        paste = " ".join(f"line{number}" for number in range(1500))
        here.alice.send(paste)
        await here.alice.chat.expect("Read it.", within=15)
        await here.alice.chat.expect_nothing(1.5)
        await here.stop()

        [text] = asked(here)
        assert text == paste
        assert here.violations() == []


async def test_messages_while_busy_are_told_once_that_they_wait(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("wait 4")
        await until(lambda: bool(here.model.requests))
        first = here.alice.send("say one")
        here.alice.send("say two")
        told = await here.alice.chat.expect("I'll get to this after it", within=5)
        await here.alice.chat.until(lambda s: s.text.count("two") == 2, within=15)

        assert here.alice.screen().text.count("I'll get to this after it") == 1
        assert told.sender.is_bot
        assert reaction(first) in ("👀", "👌")


async def test_a_message_is_marked_as_received_and_then_as_done(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        message = here.alice.send("wait 2")
        await until(lambda: reaction(message) == "👀", within=15)
        await here.alice.chat.expect("waited 2")

        await until(lambda: reaction(message) == "👌")


async def test_reactions_off_marks_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, REACTIONS="off") as here:
        here.alice.send("wait 1.5")
        await here.alice.chat.expect("waited 1.5", within=15)

        assert not here.emulator.calls("setMessageReaction")


def reaction(message: Message) -> str:
    marks = [mark for user, found in message.reactions.items() if user != 7 for mark in found]
    return str(marks[0]["emoji"]) if marks else ""


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
