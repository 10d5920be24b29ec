"""Files from people: named safely, saved whole, refused in plain words."""

from pathlib import Path

import pytest
from telegram import Bot, Update

from bot.demo import Emulator, Person
from bot.errors import LLMUnavailable
from bot.telegram.attachments import Attachments, safe_name
from bot.telegram.attachments import Saved as SavedFiles


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("notes.txt", "notes.txt"),
        ("../../etc/passwd", "passwd"),
        ("a b\n; rm -rf ~.sh", "a_b_rm_-rf_.sh"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("...", "file"),
        ("", "file"),
        ("übung.pdf", "übung.pdf"),
        ("\u202egpj.exe", "gpj.exe"),
        ("x" * 300 + ".tar.gz", "x" * 98 + ".gz"),
    ],
)
def test_a_name_stays_in_its_folder_and_needs_no_quotes(name: str, safe: str) -> None:
    assert safe_name(name) == safe


async def saved(bot: Bot, emulator: Emulator, folder: Path, *, transcribe=None) -> SavedFiles:  # type: ignore[no-untyped-def]
    import json

    updates = [Update.de_json(json.loads(u.body), bot) for u in emulator.updates.waiting()]
    attachments = Attachments(bot, folder, language="en", transcribe=transcribe)
    return await attachments.save([u.message for u in updates if u.message])


async def test_files_are_saved_whole_by_day_and_chat(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    message = alice.send_document("a.csv", b"1,2\n", mime="text/csv")

    found = await saved(bot, emulator, tmp_path)

    [path] = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert path.name == f"7-{message.id}-a.csv"
    assert path.read_bytes() == b"1,2\n"
    assert found.notes == [f"[document from the person, saved as {path} (text/csv, 0.0 kB)]"]
    assert found.images == found.problems == []


async def test_pictures_are_images_also_when_sent_as_files(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    alice.send_photo(b"jpeg")
    alice.send_document("scan.png", b"png", mime="image/png")

    found = await saved(bot, emulator, tmp_path)

    assert [Path(path).read_bytes() for path in found.images] == [b"jpeg", b"png"]


async def test_a_download_that_breaks_is_tried_again(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    alice.send_document("a.txt", b"whole")
    emulator.fail("file", 502)

    found = await saved(bot, emulator, tmp_path)

    assert found.problems == []
    assert len(found.notes) == 1


async def test_a_download_that_never_comes_is_said(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    alice.send_document("a.txt", b"whole")
    emulator.fail("file", 502, times=9)

    found = await saved(bot, emulator, tmp_path)

    assert found.problems == ["I could not get a.txt (0.0 kB) from Telegram; please send it again."]
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


async def test_over_20_mb_nothing_is_fetched(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    alice.send_document("film.mkv", b"", size=20 * 1024 * 1024 + 1)

    found = await saved(bot, emulator, tmp_path)

    assert "20 MB" in found.problems[0]
    assert not emulator.calls("getFile")


async def test_a_recording_that_is_not_written_down_is_said_and_saved(
    bot: Bot, emulator: Emulator, alice: Person, tmp_path: Path
) -> None:
    async def fails(path: Path) -> str:
        raise LLMUnavailable("down")

    alice.send_voice()

    found = await saved(bot, emulator, tmp_path, transcribe=fails)

    assert "did not write down" in found.problems[0]
    assert len(found.notes) == 1
