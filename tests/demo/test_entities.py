"""Entities as sent and as detected (facts/telegram §2, §3.1; https://core.telegram.org/bots/api#messageentity)."""

from typing import Any

import pytest

from bot.demo import Person
from bot.demo.entities import detect, settle
from tests.demo.bare import BareBot


def bold(offset: int, length: int) -> dict[str, Any]:
    return {"type": "bold", "offset": offset, "length": length}


@pytest.mark.parametrize(
    ("text", "entity", "problem"),
    [
        ("abc", bold(4, 1), "entity begins after the end of the text at UTF-16 offset 4"),
        (
            "abc",
            bold(1, 5),
            "entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 6",
        ),
        ("a😀b", bold(2, 1), "entity begins in a middle of a UTF-16 symbol at byte offset 5"),
        (
            "a😀b",
            bold(0, 2),
            "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5",
        ),
        ("abc", bold(-1, 1), "receive an entity with incorrect offset -1"),
        ("abc", bold(0, -1), "receive an entity with incorrect length -1"),
        ("abc", {"type": "bold", "length": 1}, "can't parse MessageEntity: Can't find field \"offset\""),
        ("abc", "bold", "can't parse MessageEntity: expected an Object"),
        ("abc", {"offset": 0, "length": 1}, "can't parse MessageEntity: Can't find field \"type\""),
        (
            "abc",
            {"type": "bold", "offset": "0", "length": 1},
            'can\'t parse MessageEntity: Field "offset" must be of type Number',
        ),
        (
            "abc",
            {"type": "text_link", "offset": 0, "length": 1},
            "can't parse MessageEntity: Can't find field \"url\"",
        ),
    ],
)
async def test_entities_outside_the_text_are_refused(
    bot: BareBot, alice: Person, text: str, entity: object, problem: str
) -> None:
    answer = await bot.refused("sendMessage", chat_id=7, text=text, entities=[entity])

    assert answer == f"Bad Request: {problem}"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("/Users/foo/a.md", "URL host is empty"),
        ("#usage", "URL host is empty"),
        ("http://localhost:8080/", "Wrong HTTP URL"),
        ("localhost", "Wrong HTTP URL"),
        ("file:///etc/passwd", "Unsupported URL protocol"),
        ("http://a.io:99999/", "Wrong port number specified in the URL"),
    ],
)
async def test_one_bad_link_refuses_the_whole_message(
    bot: BareBot, alice: Person, url: str, problem: str
) -> None:
    entity = {"type": "text_link", "offset": 0, "length": 1, "url": url}

    answer = await bot.refused("sendMessage", chat_id=7, text="x", entities=[entity])

    assert answer == f"Bad Request: entity URL '{url}' is invalid: {problem}"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.io", "https://a.io/"),
        ("a.io/x", "http://a.io/x"),
        ("HTTPS://a.io?q=1", "https://a.io/?q=1"),
        ("tg://resolve?domain=x", "tg://resolve?domain=x"),
        ("mailto:al@a.io", "http://mailto:al@a.io/"),
    ],
)
async def test_good_links_are_kept_in_full_form(bot: BareBot, alice: Person, url: str, kept: str) -> None:
    entity = {"type": "text_link", "offset": 0, "length": 1, "url": url}

    sent = await bot.do("sendMessage", chat_id=7, text="x", entities=[entity])

    assert sent["entities"][0]["url"] == kept


async def test_a_bad_link_in_markup_is_dropped_not_refused(bot: BareBot, alice: Person) -> None:
    sent = await bot.do("sendMessage", chat_id=7, text="[x](./README.md)", parse_mode="MarkdownV2")

    assert (sent["text"], sent.get("entities")) == ("x", None)


async def test_after_a_hundred_entities_the_rest_is_ignored(bot: BareBot, alice: Person) -> None:
    entities = [bold(i * 2, 1) for i in range(150)]

    sent = await bot.do("sendMessage", chat_id=7, text="x " * 149 + "x", entities=entities)

    assert len(sent["entities"]) == 100


async def test_an_unknown_parse_mode_is_refused(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendMessage", chat_id=7, text="x", parse_mode="reST")

    assert answer == "Bad Request: unsupported parse_mode"


async def test_a_mention_names_the_user(bot: BareBot, alice: Person) -> None:
    entity = {"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 7}}

    sent = await bot.do("sendMessage", chat_id=7, text="x", entities=[entity])

    assert sent["entities"][0]["user"]["first_name"] == "Alice"


async def test_a_mention_of_nobody_is_refused(bot: BareBot, alice: Person) -> None:
    entity = {"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 99}}

    assert (
        await bot.refused("sendMessage", chat_id=7, text="x", entities=[entity])
        == "Bad Request: user not found"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/start now", [("bot_command", 0, 6)]),
        ("/ask@kai_bot x", [("bot_command", 0, 12)]),
        ("see /help", [("bot_command", 4, 5)]),
        ("a/b no/command", []),
        ("😀 https://a.io/x_y.", [("url", 3, 16)]),
        ("go to a.com/x", [("url", 6, 7)]),
        ("al@a.io and @alice", [("email", 0, 7), ("mention", 12, 6)]),
        ("#tag", [("hashtag", 0, 4)]),
        ("plain", []),
    ],
)
def test_the_server_finds_links_and_commands(text: str, found: list[tuple[str, int, int]]) -> None:
    entities = detect(text, [])

    assert [(e["type"], e["offset"], e["length"]) for e in entities] == found


def test_nothing_is_found_inside_code() -> None:
    code = {"type": "code", "offset": 0, "length": 12}

    assert detect("https://a.io", [code]) == [code]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([("bold", 0, 3), ("bold", 3, 3)], [("bold", 0, 6)]),
        ([("bold", 0, 4), ("italic", 2, 4)], [("bold", 0, 4), ("italic", 2, 4)]),
        ([("code", 0, 6), ("bold", 1, 2)], [("code", 0, 6)]),
        ([("bold", 0, 0)], []),
        ([("italic", 2, 2), ("bold", 0, 6)], [("bold", 0, 6), ("italic", 2, 2)]),
    ],
)
def test_entities_are_sorted_merged_and_kept_out_of_code(
    given: list[tuple[str, int, int]], kept: list[tuple[str, int, int]]
) -> None:
    entities = [{"type": kind, "offset": offset, "length": length} for kind, offset, length in given]

    _, settled = settle("abcdef", entities)

    assert [(e["type"], e["offset"], e["length"]) for e in settled] == kept


def test_control_characters_become_spaces_and_carriage_returns_go() -> None:
    text, entities = settle("a\tb\r\nc", [{"type": "bold", "offset": 5, "length": 1}])

    assert text == "a b\nc"
    assert entities == [{"type": "bold", "offset": 4, "length": 1}]
