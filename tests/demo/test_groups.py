"""Groups: privacy, membership, migration, topics (facts/telegram §3.3)."""

import pytest

from bot.demo import Emulator, Person
from bot.demo.chats import Chat
from tests.demo.bare import BareBot


@pytest.fixture
def group(emulator: Emulator, alice: Person, bob: Person) -> Chat:
    return emulator.supergroup(-1001, "Ops", [alice, bob])


@pytest.fixture
def forum(emulator: Emulator, alice: Person) -> Chat:
    return emulator.supergroup(-1002, "Forum", [alice], forum=True, bot="administrator")


async def seen(bot: BareBot) -> list[str]:
    return [update["message"].get("text", "") for update in await bot.updates() if "message" in update]


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("hello all", False),
        ("@kai_test_bot hello", False),
        ("/start@kai_test_bot", True),
        ("/start@KAI_TEST_BOT", True),
        ("/start@OtherBot", False),
        ("/start", False),
        ("please /ask@kai_test_bot hi", True),
    ],
)
async def test_privacy_mode_lets_only_addressed_commands_through(
    bot: BareBot, alice: Person, group: Chat, text: str, heard: bool
) -> None:
    alice.send(text, group)

    assert await seen(bot) == ([text] if heard else [])


async def test_a_bare_command_comes_through_when_the_bot_wrote_last(
    bot: BareBot, emulator: Emulator, alice: Person, group: Chat
) -> None:
    other = emulator.person(99, "Other", username="other_bot", is_bot=True)
    group.members[99] = "member"
    await bot.do("sendMessage", chat_id=group.id, text="ready")
    alice.send("/one", group)
    other.send("me too", group)

    alice.send("/two", group)

    assert await seen(bot) == ["/one"]


async def test_replies_to_the_bot_come_through_and_replies_to_others_do_not(
    bot: BareBot, alice: Person, bob: Person, group: Chat
) -> None:
    await bot.do("sendMessage", chat_id=group.id, text="ready")
    ours = group.messages[-1]
    theirs = bob.send("hm", group)

    alice.send("yes", group, reply_to=ours)
    alice.send("no", group, reply_to=theirs)

    assert await seen(bot) == ["yes"]


async def test_an_admin_bot_hears_everything(bot: BareBot, alice: Person, group: Chat) -> None:
    alice.promote_bot(group)

    alice.send("hello all", group)

    assert await seen(bot) == ["hello all"]


async def test_without_privacy_the_bot_hears_everything() -> None:
    emulator = Emulator(privacy=False)
    alice = emulator.person(7)
    group = emulator.group(-5, "Ops", [alice])
    async with BareBot.of(emulator) as bot:
        alice.send("hello all", group)

        assert await seen(bot) == ["hello all"]
        assert (await bot.do("getMe"))["can_read_all_group_messages"] is True


async def test_other_bots_are_never_heard(
    bot: BareBot, emulator: Emulator, alice: Person, group: Chat
) -> None:
    alice.promote_bot(group)
    other = emulator.person(99, "Other", is_bot=True)
    group.members[99] = "member"

    other.send("/start@kai_test_bot", group)

    assert await seen(bot) == []


async def test_an_anonymous_admin_is_the_group_anonymous_bot(
    bot: BareBot, alice: Person, group: Chat
) -> None:
    alice.send("/stop@kai_test_bot", group, anonymous=True)

    message = (await bot.updates())[0]["message"]
    assert message["from"]["username"] == "GroupAnonymousBot"
    assert message["sender_chat"]["id"] == group.id


async def test_being_added_is_told_twice(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    group = emulator.group(-5, "Late", [alice], bot="left")

    alice.add_bot(group)

    change, message = await bot.updates()
    assert change["my_chat_member"]["new_chat_member"]["status"] == "member"
    assert message["message"]["new_chat_members"][0]["username"] == "kai_test_bot"


@pytest.mark.parametrize(
    ("kind", "status", "description"),
    [
        ("group", "kicked", "Forbidden: bot was kicked from the group chat"),
        ("group", "left", "Forbidden: bot is not a member of the group chat"),
        ("supergroup", "kicked", "Forbidden: bot was kicked from the supergroup chat"),
        ("supergroup", "left", "Forbidden: bot is not a member of the supergroup chat"),
    ],
)
async def test_a_bot_outside_is_forbidden(
    bot: BareBot, emulator: Emulator, alice: Person, kind: str, status: str, description: str
) -> None:
    make = emulator.group if kind == "group" else emulator.supergroup
    group = make(-5, "Ops", [alice])
    group.members[emulator.bot.id] = "kicked" if status == "kicked" else "left"

    assert await bot.refused("sendMessage", chat_id=-5, text="x") == description


async def test_a_kicked_bot_hears_nothing_more(bot: BareBot, alice: Person, group: Chat) -> None:
    alice.remove_bot(group)

    alice.send("/start@kai_test_bot", group)

    (update,) = await bot.updates()
    assert update["my_chat_member"]["new_chat_member"]["status"] == "kicked"


async def test_an_admin_bot_is_told_of_members_when_it_asks(
    bot: BareBot, emulator: Emulator, alice: Person, bob: Person
) -> None:
    await bot.updates(allowed_updates=["chat_member"])
    group = emulator.supergroup(-1009, "New", [alice], bot="administrator")

    bob.join(group)
    bob.leave(group)

    changes = [update["chat_member"]["new_chat_member"]["status"] for update in await bot.updates()]
    assert changes == ["member", "left"]


async def test_leaving_makes_the_bot_a_stranger(bot: BareBot, group: Chat) -> None:
    await bot.do("leaveChat", chat_id=group.id)

    answer = await bot.refused("sendMessage", chat_id=group.id, text="x")
    assert answer == "Forbidden: bot is not a member of the supergroup chat"


async def test_a_migrated_group_answers_with_its_new_id(
    bot: BareBot, emulator: Emulator, alice: Person
) -> None:
    group = emulator.group(-500, "Ops", [alice])

    emulator.migrate(group, -1001557912345, announce=False)

    body = await bot.answer("sendMessage", chat_id=-500, text="x")
    assert (body["error_code"], body["description"]) == (
        400,
        "Bad Request: group chat was upgraded to a supergroup chat",
    )
    assert body["parameters"] == {"migrate_to_chat_id": -1001557912345}
    await bot.do("sendMessage", chat_id=-1001557912345, text="x")
    assert await bot.updates() == []


def test_nobody_writes_in_a_migrated_group(emulator: Emulator, alice: Person) -> None:
    group = emulator.group(-500, "Ops", [alice])
    emulator.migrate(group, -1001557912345)

    with pytest.raises(ValueError, match="has become -1001557912345"):
        alice.send("hi", group)


async def test_a_migration_is_announced_in_both_chats(
    bot: BareBot, emulator: Emulator, alice: Person
) -> None:
    group = emulator.group(-500, "Ops", [alice])

    emulator.migrate(group, -1001557912345)

    old, new = [update["message"] for update in await bot.updates()]
    assert (old["chat"]["id"], old["migrate_to_chat_id"]) == (-500, -1001557912345)
    assert (new["chat"]["id"], new["migrate_from_chat_id"]) == (-1001557912345, -500)


async def test_a_topic_message_carries_its_thread_and_the_topics_creation(
    bot: BareBot, alice: Person, forum: Chat
) -> None:
    topic = alice.create_topic(forum, "Build")
    alice.send("hi", forum, topic=topic)

    message = (await bot.updates())[-1]["message"]
    assert (message["message_thread_id"], message["is_topic_message"]) == (topic.id, True)
    assert message["reply_to_message"]["forum_topic_created"]["name"] == "Build"


async def test_the_bot_answers_in_a_topic(bot: BareBot, alice: Person, forum: Chat) -> None:
    topic = alice.create_topic(forum, "Build")

    sent = await bot.do("sendMessage", chat_id=forum.id, message_thread_id=topic.id, text="x")

    assert sent["message_thread_id"] == topic.id
    assert [m.text for m in alice.screen(forum, topic=topic).messages if m.text] == ["x"]


async def test_a_reply_lands_in_the_topic_of_what_it_answers(
    bot: BareBot, alice: Person, forum: Chat
) -> None:
    topic = alice.create_topic(forum, "Build")
    asked = alice.send("hi", forum, topic=topic)

    answered = await bot.do(
        "sendMessage", chat_id=forum.id, text="x", reply_parameters={"message_id": asked.id}
    )
    again = alice.send("thanks", forum, reply_to=forum.messages[-1])

    assert answered["message_thread_id"] == topic.id
    assert again.thread == topic.id


async def test_expect_and_typing_keep_topics_apart(bot: BareBot, alice: Person, forum: Chat) -> None:
    one, two = alice.create_topic(forum, "One"), alice.create_topic(forum, "Two")
    await bot.do("sendMessage", chat_id=forum.id, message_thread_id=one.id, text="hello")
    await bot.do("sendChatAction", chat_id=forum.id, message_thread_id=two.id, action="typing")

    with pytest.raises(AssertionError):
        await forum.expect("hello", within=0.05, topic=two)
    await forum.expect("hello", within=0, topic=one)

    assert alice.screen(forum, topic=one).action is None
    assert alice.screen(forum, topic=two).action == "typing"


async def test_general_has_no_thread_and_refuses_one(bot: BareBot, alice: Person, forum: Chat) -> None:
    alice.send("hi", forum)
    message = (await bot.updates())[-1]["message"]

    answer = await bot.refused("sendMessage", chat_id=forum.id, message_thread_id=1, text="x")
    sent = await bot.do("sendMessage", chat_id=forum.id, text="x")

    assert "message_thread_id" not in message
    assert answer == "Bad Request: message thread not found"
    assert "message_thread_id" not in sent


async def test_a_missing_topic_is_not_found(bot: BareBot, alice: Person, forum: Chat) -> None:
    for method, params in [("sendMessage", {"text": "x"}), ("sendChatAction", {"action": "typing"})]:
        answer = await bot.refused(method, chat_id=forum.id, message_thread_id=999, **params)
        assert answer == "Bad Request: message thread not found"


async def test_a_thread_in_a_private_chat_without_topics_is_not_found(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("sendMessage", chat_id=7, message_thread_id=5, text="x")

    assert answer == "Bad Request: message thread not found"


async def test_private_topics_work_where_the_bot_has_them() -> None:
    emulator = Emulator(topics=True)
    alice = emulator.person(7, started=True)
    async with BareBot.of(emulator) as bot:
        topic = await bot.do("createForumTopic", chat_id=7, name="Session")
        sent = await bot.do("sendMessage", chat_id=7, message_thread_id=topic["message_thread_id"], text="x")

        assert sent["is_topic_message"] is True
        assert (await bot.do("getMe"))["has_topics_enabled"] is True
        assert alice.chat.topics[topic["message_thread_id"]].name == "Session"


async def test_a_closed_topic_is_for_admins(
    bot: BareBot, emulator: Emulator, alice: Person, forum: Chat
) -> None:
    topic = alice.create_topic(forum, "Build")
    alice.promote_bot(forum, admin=False)
    alice.close_topic(forum, topic)

    answer = await bot.refused("sendMessage", chat_id=forum.id, message_thread_id=topic.id, text="x")
    alice.promote_bot(forum)
    await bot.do("sendMessage", chat_id=forum.id, message_thread_id=topic.id, text="x")

    assert answer == "Bad Request: TOPIC_CLOSED"


async def test_the_bot_manages_topics(bot: BareBot, forum: Chat) -> None:
    made = await bot.do("createForumTopic", chat_id=forum.id, name="One")
    place = {"chat_id": forum.id, "message_thread_id": made["message_thread_id"]}

    await bot.do("editForumTopic", **place, name="Two")
    await bot.do("closeForumTopic", **place)
    assert await bot.refused("closeForumTopic", **place) == "Bad Request: TOPIC_NOT_MODIFIED"
    await bot.do("reopenForumTopic", **place)
    assert forum.topics[made["message_thread_id"]].name == "Two"
    await bot.do("deleteForumTopic", **place)

    answer = await bot.refused("sendMessage", **place, text="x")
    assert answer == "Bad Request: message thread not found"


async def test_topic_mistakes_are_refused(bot: BareBot, alice: Person, forum: Chat) -> None:
    made = await bot.do("createForumTopic", chat_id=forum.id, name="One")
    place = {"chat_id": forum.id, "message_thread_id": made["message_thread_id"]}
    elsewhere = {"chat_id": forum.id, "message_thread_id": 999}

    assert await bot.refused("createForumTopic", chat_id=forum.id) == "Bad Request: TOPIC_TITLE_EMPTY"
    answer = await bot.refused("createForumTopic", chat_id=forum.id, name="x" * 129)
    assert answer == "Bad Request: TOPIC_TITLE_TOO_LONG"
    assert await bot.refused("editForumTopic", **place, name="One") == "Bad Request: TOPIC_NOT_MODIFIED"
    assert await bot.refused("reopenForumTopic", **place) == "Bad Request: TOPIC_NOT_MODIFIED"
    assert await bot.refused("closeForumTopic", **elsewhere) == "Bad Request: TOPIC_ID_INVALID"
    alice.promote_bot(forum, admin=False)
    answer = await bot.refused("createForumTopic", chat_id=forum.id, name="Two")
    assert answer == "Bad Request: not enough rights to create a topic"


async def test_topics_need_a_forum(bot: BareBot, group: Chat) -> None:
    answer = await bot.refused("createForumTopic", chat_id=group.id, name="x")

    assert answer == "Bad Request: the chat is not a forum"


async def test_a_reply_in_a_plain_supergroup_carries_a_thread_but_is_no_topic(
    bot: BareBot, alice: Person, group: Chat
) -> None:
    await bot.do("sendMessage", chat_id=group.id, text="ready")
    ours = group.messages[-1]

    alice.send("yes", group, reply_to=ours)

    message = (await bot.updates())[0]["message"]
    assert message["message_thread_id"] == ours.id
    assert "is_topic_message" not in message
    await bot.do("sendMessage", chat_id=group.id, message_thread_id=ours.id, text="fine")


async def test_supergroups_number_their_own_messages(bot: BareBot, emulator: Emulator, alice: Person) -> None:
    one, two = emulator.supergroup(-1001, "A", [alice]), emulator.supergroup(-1002, "B", [alice])

    first, second = alice.send("x", one), alice.send("x", two)

    assert first.id == second.id == 1


async def test_a_reply_from_another_chat_is_external(bot: BareBot, alice: Person, group: Chat) -> None:
    elsewhere = alice.send("original", group)

    alice.send("what about this?", reply_to=elsewhere, quote="orig")

    message = (await bot.updates())[0]["message"]
    assert message["external_reply"]["chat"]["id"] == group.id
    assert message["quote"]["text"] == "orig"
    assert "reply_to_message" not in message


async def test_members_and_admins(bot: BareBot, alice: Person, bob: Person, group: Chat) -> None:
    owner = await bot.do("getChatMember", chat_id=group.id, user_id=7)
    member = await bot.do("getChatMember", chat_id=group.id, user_id=8)
    admins = await bot.do("getChatAdministrators", chat_id=group.id)

    assert (owner["status"], member["status"]) == ("creator", "member")
    assert [admin["user"]["id"] for admin in admins] == [7]
    assert await bot.do("getChatMemberCount", chat_id=group.id) == 3
    answer = await bot.refused("getChatMember", chat_id=group.id, user_id=404)
    assert answer == "Bad Request: user not found"
    answer = await bot.refused("getChatAdministrators", chat_id=7)
    assert answer == "Bad Request: there are no administrators in the private chat"


async def test_only_an_admin_bot_pins(bot: BareBot, alice: Person, group: Chat) -> None:
    message = alice.send("rules", group)
    rights = "Bad Request: not enough rights to manage pinned messages in the chat"

    assert await bot.refused("pinChatMessage", chat_id=group.id, message_id=message.id) == rights
    assert await bot.refused("unpinChatMessage", chat_id=group.id) == rights
    alice.promote_bot(group)
    await bot.do("pinChatMessage", chat_id=group.id, message_id=message.id)


async def test_a_private_chat_cannot_be_left(bot: BareBot, alice: Person) -> None:
    assert await bot.refused("leaveChat", chat_id=7) == "Forbidden: bot can't leave private chats"


async def test_a_member_needs_a_user_id(bot: BareBot, alice: Person) -> None:
    answer = await bot.refused("getChatMember", chat_id=7, user_id=0)

    assert answer == "Bad Request: invalid user_id specified"


async def test_a_chat_that_was_never_opened_is_not_found(bot: BareBot, emulator: Emulator) -> None:
    emulator.person(9, "Eve")

    assert await bot.refused("getChat", chat_id=9) == "Bad Request: chat not found"


def test_outsiders_cannot_write(emulator: Emulator, group: Chat) -> None:
    with pytest.raises(ValueError, match="is not in 'Ops'"):
        emulator.person(9, "Eve").send("hi", group)
