"""Which pictures are shown, and what stands for those that are not."""

import base64
import os
from pathlib import Path

import pytest

from bot.llm.base import Picture, Prompt
from bot.llm.images import format_of, has_images, look
from bot.llm.table import Sight
from bot.messages import AssistantMessage, Message, UserMessage
from tests.llm.samples import GIF, JPEG, PNG, WEBP

MOVING_GIF = GIF[:13] + b"!\xff\x0bNETSCAPE2.0\x03\x01" + GIF[13:]
MOVING_WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02" + bytes(300)


def saved(folder: Path, name: str, content: bytes = PNG) -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


def album(folder: Path, count: int, content: bytes = PNG, name: str = "x") -> UserMessage:
    paths = tuple(saved(folder, f"{name}{number}", content) for number in range(count))
    return UserMessage("look", images=paths)


EYES = Sight()


def seen(*messages: Message, sight: Sight | None = EYES, aside: frozenset[str] = frozenset()) -> Prompt:
    return look(Prompt("", messages), sight, aside)


def images(prompt: Prompt) -> list[int]:
    return [len(message.images) for message in prompt.transcript if isinstance(message, UserMessage)]


def said(prompt: Prompt) -> str:
    [message] = prompt.transcript
    assert isinstance(message, UserMessage)
    return message.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [(PNG, "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp"), (MOVING_GIF, ""), (MOVING_WEBP, ""),
     (b"%PDF-1.7", ""), (b"<svg/>", ""), (b"BM" + bytes(60), ""),
     (b"RIFF\x10\x00\x00\x00WAVE", ""), (b"", "")],
)  # fmt: skip
def test_the_format_is_read_from_the_bytes(content: bytes, expected: str) -> None:
    assert format_of(content) == expected


def test_a_picture_is_read_and_its_message_left_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path, "photo.jpg")
    message = UserMessage("what is it?", images=(path,))

    prompt = seen(message)

    assert prompt.transcript == [message]
    assert prompt.pictures == {path: Picture("image/png", base64.b64encode(PNG).decode())}


def test_a_model_that_does_not_see_gets_words(tmp_path: Path) -> None:
    path = saved(tmp_path, "photo.jpg")

    prompt = seen(UserMessage("what is it?", images=(path,)), sight=None)

    assert said(prompt) == f"what is it?\n[You don't see the picture {path}: this model takes no pictures.]"
    assert (images(prompt), prompt.pictures) == ([0], {})


def test_a_file_that_is_gone_is_named_in_words(tmp_path: Path) -> None:
    prompt = seen(UserMessage("what is it?", images=(str(tmp_path / "gone.png"),)))

    assert "gone.png: it is not there any more" in said(prompt)
    assert images(prompt) == [0]


def test_a_file_of_another_kind_is_named_in_words(tmp_path: Path) -> None:
    prompt = seen(UserMessage("?", images=(saved(tmp_path, "fake.png", b"<svg/>"),)))

    assert "fake.png: only still JPEG, PNG, GIF, WebP can be shown" in said(prompt)


def test_a_format_that_this_model_does_not_take_is_named_in_words(tmp_path: Path) -> None:
    prompt = seen(UserMessage("?", images=(saved(tmp_path, "a.gif", GIF),)), sight=Sight(("jpeg", "png")))

    assert "a.gif: only still JPEG, PNG can be shown" in said(prompt)


def test_a_file_that_is_too_large_is_named_in_words_and_one_of_just_the_size_is_shown(tmp_path: Path) -> None:
    large, just = (
        saved(tmp_path, f"{size}", PNG + bytes(size - len(PNG))) for size in (3_750_001, 3_750_000)
    )

    prompt = seen(UserMessage("?", images=(large, just)))

    assert "it has 3.8 MB, and 3.8 MB can be shown" in said(prompt)
    assert list(prompt.pictures) == [just]


def test_words_come_even_where_there_was_no_text(tmp_path: Path) -> None:
    prompt = seen(UserMessage("", images=("/nowhere/a.png",)))

    assert said(prompt).startswith("[You don't see")


@pytest.mark.parametrize("put", ["folder", "fifo", "link", "nul"])
def test_what_is_no_plain_file_is_named_in_words_and_never_waited_for(tmp_path: Path, put: str) -> None:
    path = tmp_path / "photo.jpg"
    match put:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(saved(tmp_path, "secret.png"))
        case "nul":
            path = Path(f"{path}\0")

    prompt = seen(UserMessage("?", images=(str(path),)))

    assert "it is not there any more" in said(prompt)


def test_a_picture_put_aside_is_named_in_words(tmp_path: Path) -> None:
    bad, good = saved(tmp_path, "bad"), saved(tmp_path, "good")

    prompt = seen(UserMessage("?", images=(bad, good)), aside=frozenset({bad}))

    assert "bad: the service could not take it" in said(prompt)
    assert list(prompt.pictures) == [good]


def test_when_there_are_too_many_the_oldest_messages_go_until_half_the_room_is_free(tmp_path: Path) -> None:
    messages = [album(tmp_path, 1, name=f"{number}-") for number in range(5)]
    sight = Sight(count=4)

    full, over = seen(*messages[:4], sight=sight), seen(*messages, sight=sight)

    assert images(full) == [1, 1, 1, 1]
    assert images(over) == [0, 0, 0, 1, 1]
    assert "there are too many newer ones" in str(over.transcript[0])


def test_when_they_are_too_big_together_the_oldest_messages_go(tmp_path: Path) -> None:
    messages = [album(tmp_path, 1, name=f"{number}-") for number in range(5)]

    prompt = seen(*messages, sight=Sight(total=4 * len(PNG)))

    assert images(prompt) == [0, 0, 0, 1, 1]


def test_what_was_sent_changes_once_in_many_pictures_and_then_stays(tmp_path: Path) -> None:
    messages: list[Message] = [album(tmp_path, 1, name=f"{number}-") for number in range(60)]
    sent = [seen(*messages[:count]).transcript for count in range(1, 61)]

    changes = sum(
        list(later[: len(earlier)]) != list(earlier) for earlier, later in zip(sent, sent[1:], strict=False)
    )

    assert changes == 4


def test_what_becomes_of_files_no_longer_shown_changes_nothing(tmp_path: Path) -> None:
    messages = [album(tmp_path, 1, name=f"{number}-") for number in range(21)]
    before = seen(*messages)

    saved(tmp_path, "0-0", b"overwritten")
    (tmp_path / "1-0").unlink()

    assert images(before)[:11] == [0] * 11
    assert seen(*messages) == before


def test_an_album_is_shown_whole_even_if_all_before_it_must_go(tmp_path: Path) -> None:
    first, second = album(tmp_path, 10, name="a"), album(tmp_path, 15, name="b")

    assert images(seen(first, AssistantMessage("Nice."), second)) == [0, 15]


def test_of_more_than_a_request_takes_the_first_are_shown(tmp_path: Path) -> None:
    prompt = seen(album(tmp_path, 8), sight=Sight(count=5))

    assert images(prompt) == [5]
    assert said(prompt).count("there are too many in one message") == 3


def test_a_picture_beyond_the_room_keeps_its_own_reason(tmp_path: Path) -> None:
    many = album(tmp_path, 6).images

    prompt = seen(UserMessage("look", images=(*many, str(tmp_path / "gone"))), sight=Sight(count=5))

    assert said(prompt).count("there are too many in one message") == 1
    assert "gone: it is not there any more" in said(prompt)


def test_the_same_file_in_two_messages_is_one_picture(tmp_path: Path) -> None:
    path = saved(tmp_path, "a")

    prompt = seen(UserMessage("look", images=(path,)), UserMessage("again", images=(path,)))

    assert (images(prompt), len(prompt.pictures)) == ([1, 1], 1)


def test_a_prompt_has_images_only_when_somebody_sent_one() -> None:
    assert has_images(Prompt("", [UserMessage("a"), UserMessage("b", images=("/x",))]))
    assert not has_images(Prompt("", [UserMessage("a"), AssistantMessage("b")]))
