"""Is a message for the bot, where does it belong, and what does it say (T2; §6)."""

import json

import pytest
from telegram import Bot, Message, Update

from bot.demo import Emulator, Person
from bot.demo.messages import Message as Said
from bot.messages import Conversation
from bot.telegram.inbound import (
    Command,
    asked_in,
    bare_word,
    code_of,
    command_of,
    conversation_of,
    is_for_another_bot,
    is_for_us,
    text_of,
    written_command,
)

US = "kai_test_bot"
FORUM = -1001


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(flood=False, privacy=False)


def seen(said: Said) -> Message:
    """Return the message as the bot's library reads it."""
    update = Update.de_json(json.loads(json.dumps({"update_id": 1, "message": said.wire()})), None)
    assert update.message is not None
    return update.message


def for_us(said: Said) -> bool:
    return is_for_us(seen(said), 4242424242, US)


def read(said: Said, language: str = "en") -> str:
    return text_of(seen(said), US, language)


# ── where ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_private_chat_has_no_thread(alice: Person) -> None:
    assert conversation_of(seen(alice.send("hi"))) == Conversation(7)


def test_a_topic_is_a_conversation_of_its_own(emulator: Emulator, alice: Person) -> None:
    forum = emulator.supergroup(FORUM, "Ops", [alice], forum=True)
    topic = alice.create_topic(forum, "Deploys")

    assert conversation_of(seen(alice.send("hi", forum, topic=topic))) == Conversation(FORUM, topic.id)


def test_general_has_no_thread(emulator: Emulator, alice: Person) -> None:
    forum = emulator.supergroup(FORUM, "Ops", [alice], forum=True)

    assert conversation_of(seen(alice.send("hi", forum))) == Conversation(FORUM)


def test_general_has_none_even_when_a_server_gives_it_its_number(emulator: Emulator, alice: Person) -> None:
    forum = emulator.supergroup(FORUM, "Ops", [alice], forum=True)
    said = alice.send("hi", forum)
    said.thread, said.is_topic = 1, True

    assert conversation_of(seen(said)) == Conversation(FORUM)


def test_the_thread_of_a_plain_reply_in_a_group_is_no_topic(emulator: Emulator, alice: Person) -> None:
    group = emulator.supergroup(FORUM, "Ops", [alice])
    alice.send("first", group)
    said = alice.send("and this?", group, reply_to=alice.send("that", group))

    assert said.wire()["message_thread_id"] > 1
    assert conversation_of(seen(said)) == Conversation(FORUM)


# ── for whom ───────────────────────────────────────────────────────────────────────────────────────────


def test_alone_with_the_bot_everything_is_for_it(alice: Person) -> None:
    assert for_us(alice.send("hi"))


def test_in_a_group_talk_among_people_is_not(emulator: Emulator, alice: Person) -> None:
    assert not for_us(alice.send("lunch?", emulator.group(-500, "Ops", [alice])))


@pytest.mark.parametrize("text", ["@kai_test_bot df?", "please @KAI_Test_Bot look", "so, @kai_test_bot?"])
def test_in_a_group_a_mention_is(emulator: Emulator, alice: Person, text: str) -> None:
    assert for_us(alice.send(text, emulator.group(-500, "Ops", [alice])))


@pytest.mark.parametrize("text", ["@kai_test_bot2 df?", "mail@kai_test_bot.org", "kai_test_bot"])
def test_what_only_looks_like_a_mention_is_not(emulator: Emulator, alice: Person, text: str) -> None:
    assert not for_us(alice.send(text, emulator.group(-500, "Ops", [alice])))


def test_a_mention_by_name_of_a_bot_is(emulator: Emulator, alice: Person) -> None:
    said = alice.send("Kai, look", emulator.group(-500, "Ops", [alice]))
    said.content["entities"] = [
        {"type": "text_mention", "offset": 0, "length": 3, "user": emulator.bot.wire()}
    ]

    assert for_us(said)


def test_a_mention_in_a_caption_is(emulator: Emulator, alice: Person) -> None:
    group = emulator.group(-500, "Ops", [alice])

    assert for_us(alice.send_photo(chat=group, caption="@kai_test_bot what is this?"))


def test_a_photo_without_words_is_not(emulator: Emulator, alice: Person) -> None:
    assert not for_us(alice.send_photo(chat=emulator.group(-500, "Ops", [alice])))


async def test_a_reply_to_the_bot_is(emulator: Emulator, bot: Bot, alice: Person) -> None:
    group = emulator.group(-500, "Ops", [alice])
    await bot.send_message(-500, "done")

    assert for_us(alice.send("thanks", group, reply_to=group.messages[-1]))


def test_group_other_bot_cmd_a_reply_to_another_bot_is_not(emulator: Emulator, alice: Person) -> None:
    other = emulator.person(99, "Other", username="OtherBot", is_bot=True)
    group = emulator.group(-500, "Ops", [alice, other])

    assert not for_us(alice.send("thanks", group, reply_to=other.send("done", group)))


async def test_in_a_topic_the_bot_made_not_everything_is(emulator: Emulator, bot: Bot, alice: Person) -> None:
    forum = emulator.supergroup(FORUM, "Ops", [alice], forum=True, bot="administrator")
    topic = await bot.create_forum_topic(FORUM, "Reports")

    assert not for_us(alice.send("lunch?", forum, topic=topic.message_thread_id))


# ── commands ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_is_read_with_what_follows(alice: Person) -> None:
    assert command_of(seen(alice.send("/Stop  all of it ")), US) == Command("stop", "all of it")


def test_group_other_bot_cmd_a_command_for_us_is_ours(emulator: Emulator, alice: Person) -> None:
    said = seen(alice.send("/ask@Kai_Test_Bot hi", emulator.group(-500, "Ops", [alice])))

    assert command_of(said, US) == Command("ask", "hi")
    assert is_for_us(said, 4242424242, US)
    assert not is_for_another_bot(said, US)


def test_group_other_bot_cmd_a_command_for_another_is_not_ours(emulator: Emulator, alice: Person) -> None:
    said = seen(alice.send("/start@OtherBot", emulator.group(-500, "Ops", [alice])))

    assert command_of(said, US) is None
    assert not is_for_us(said, 4242424242, US)
    assert is_for_another_bot(said, US)


@pytest.mark.parametrize("said", ["@kai_test_bot /stop now", "@Kai_Test_Bot  /stop@kai_test_bot now"])
def test_a_command_after_our_name_is_ours(alice: Person, said: str) -> None:
    assert command_of(seen(alice.send(said)), US) == Command("stop", "now")


@pytest.mark.parametrize("said", ["@other_bot /stop", "@kai_test_bots /stop", "@kai_test_bot please /stop"])
def test_a_command_after_another_name_or_word_is_none(alice: Person, said: str) -> None:
    assert command_of(seen(alice.send(said)), US) is None


def test_a_command_in_the_middle_is_none(alice: Person) -> None:
    assert command_of(seen(alice.send("say /stop now")), US) is None


@pytest.mark.parametrize(
    "text", ["/etc/hosts has www.example.org in it", "/var/log is full", "/etc/hosts, mail root@example.org"]
)
def test_a_path_is_no_command_of_another_bot(alice: Person, text: str) -> None:
    assert not is_for_another_bot(seen(alice.send(text)), US)


# ── what it says ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["@kai_test_bot df", "  @Kai_Test_Bot, df", "@kai_test_bot: df", "df"])
def test_our_name_before_it_is_left_out(alice: Person, text: str) -> None:
    assert read(alice.send(text)) == "df"


def test_our_name_within_it_stays(alice: Person) -> None:
    assert read(alice.send("who is @kai_test_bot?")) == "who is @kai_test_bot?"


def test_another_name_that_begins_like_ours_stays(alice: Person) -> None:
    assert read(alice.send("@kai_test_bot2 hi")) == "@kai_test_bot2 hi"


def test_a_caption_is_read_like_a_text(alice: Person) -> None:
    assert read(alice.send_photo(caption="what is this?")) == "what is this?"


async def test_in_reply_quote_the_replied_text_and_its_sender_are_named(bot: Bot, alice: Person) -> None:
    for day in ("Monday", "Tuesday"):
        await bot.send_message(7, f"Meeting on {day}")
    monday = alice.chat.messages[0]

    said = alice.send("this one, change the date", reply_to=monday)

    assert read(said) == "(In reply to Kai: “Meeting on Monday”)\nthis one, change the date"


async def test_in_reply_quote_the_quoted_part_goes_before_the_whole(bot: Bot, alice: Person) -> None:
    await bot.send_message(7, "Meeting on Monday, lunch on Friday")

    said = alice.send("change the date", reply_to=alice.chat.messages[0], quote="lunch on Friday")

    assert read(said) == "(In reply to Kai: “lunch on Friday”)\nchange the date"


async def test_in_reply_quote_a_reply_from_another_chat_names_quote_and_sender(
    emulator: Emulator, bot: Bot, alice: Person, bob: Person
) -> None:
    group = emulator.group(-500, "Ops", [alice, bob])
    there = bob.send("disk full on db1", group)

    said = alice.send("look at this", reply_to=there, quote="disk full")

    assert read(said) == "(In reply to Bob: “disk full”)\nlook at this"


@pytest.mark.parametrize("kind", ["channel", "chat"])
def test_a_reply_from_another_chat_names_a_channel_or_group_too(alice: Person, kind: str) -> None:
    said = alice.send("look at this")
    origin = {"type": kind, "date": 1_700_000_000}
    place = {"id": -1005, "title": "News", "type": "channel"}
    origin |= {"chat": place, "message_id": 5} if kind == "channel" else {"sender_chat": place}
    said.content |= {
        "quote": {"text": "disk full", "position": 0},
        "external_reply": {"origin": origin},
    }

    assert read(said) == "(In reply to News: “disk full”)\nlook at this"


def test_a_very_long_quote_is_cut(alice: Person) -> None:
    said = alice.send("what?", reply_to=alice.send("x" * 4000))

    assert read(said).count("x") == 500


def test_a_message_in_a_topic_replies_to_nothing(emulator: Emulator, alice: Person) -> None:
    forum = emulator.supergroup(FORUM, "Ops", [alice], forum=True)
    topic = alice.create_topic(forum, "Deploys")

    assert read(alice.send("@kai_test_bot df", forum, topic=topic)) == "df"


def test_a_quote_is_introduced_in_the_language_of_the_bot(alice: Person) -> None:
    said = alice.send("ganti", reply_to=alice.send("rapat"))

    assert read(said, "id") == "(Membalas Alice: “rapat”)\nganti"


@pytest.mark.parametrize("kind", ["photo", "voice"])
def test_what_has_no_words_says_nothing(alice: Person, kind: str) -> None:
    said = alice.send_photo() if kind == "photo" else alice.send_voice()

    assert read(said) == ""


@pytest.mark.parametrize(
    "word",
    ["yes", "Yes!", " OK ", "ya", "Setuju.", "boleh", "sim", "Pode!", "claro", "ok !", "👍", "👍🏽", "✔️"],
)
def test_a_bare_yes_is_known_in_every_language(word: str) -> None:
    assert bare_word(word) == "yes"


@pytest.mark.parametrize(
    "word", ["no", "No.", "don't", "don’t", "cancel", "tidak", "Jangan!", "não", "NÃO", "negar", "👎🏿", "❌"]
)
def test_a_bare_no_is_known_in_every_language(word: str) -> None:
    assert bare_word(word) == "no"


@pytest.mark.parametrize(
    "text", ["", "?", "yes but not that", "no, the other one", "yesterday", "👍 but later", "🙂"]
)
def test_more_than_a_bare_word_is_none(text: str) -> None:
    assert bare_word(text) is None


# ── cards ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sender", "data", "asked"),
    [
        (4242424242, "a:abc_-9:y", "abc_-9"),
        (99, "a:abc_-9:y", None),
        (4242424242, "s:17", None),
        (4242424242, None, None),
    ],
)
def test_a_card_is_known_by_its_buttons_when_they_are_ours(
    alice: Person, sender: int, data: str | None, asked: str | None
) -> None:
    wire = alice.send("May I run this?").wire()
    wire["from"] = {"id": sender, "is_bot": True, "first_name": "Somebot"}
    if data:
        wire["reply_markup"] = {"inline_keyboard": [[{"text": "Approve", "callback_data": data}]]}
    update = Update.de_json({"update_id": 1, "message": wire}, None)

    assert update.message is not None
    assert asked_in(update.message, 4242424242) == asked


# ── codes and commands in answer to a card ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["0042", " 0042\n", "@kai_test_bot 0042", "@KAI_test_bot  0042"])
def test_four_digits_alone_may_be_a_code(alice: Person, text: str) -> None:
    assert code_of(seen(alice.send(text)), US) == "0042"


@pytest.mark.parametrize(
    "text", ["042", "00421", "0042!", "code 0042", "٠٠٤٢", "@other_bot 0042", "00 42", ""]
)
def test_anything_else_is_no_code(alice: Person, text: str) -> None:
    assert code_of(seen(alice.send(text or " ")), US) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("$ ls -l", "ls -l"),
        ("$ echo 'a'\necho b", "echo 'a'\necho b"),
        ("`ls -l`", "ls -l"),
        ("```\nls -l\n```", "ls -l"),
        ("```bash\nls -l\n```", "ls -l"),
    ],
)
def test_a_message_that_is_all_code_or_begins_like_a_prompt_is_a_command(
    alice: Person, text: str, command: str
) -> None:
    assert written_command(seen(alice.send(text))) == command


@pytest.mark.parametrize(
    "text", ["ls -l", "$5 is too much", "use `ls` instead", "$", "$ ", "``", "`a` or `b`"]
)
def test_other_words_are_a_reason_and_no_command(alice: Person, text: str) -> None:
    assert written_command(seen(alice.send(text))) == ""


def test_code_formatting_over_all_of_it_makes_a_command(alice: Person) -> None:
    said = alice.send("ls -l")
    said.content["entities"] = [{"type": "code", "offset": 0, "length": 5}]

    assert written_command(seen(said)) == "ls -l"


def test_code_formatting_over_a_part_does_not(alice: Person) -> None:
    said = alice.send("try ls -l")
    said.content["entities"] = [{"type": "code", "offset": 4, "length": 5}]

    assert written_command(seen(said)) == ""
