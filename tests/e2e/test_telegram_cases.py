"""The labelled scenarios of Telegram bots gone wrong, by id, as far as the bot has the parts they need.

Each docstring-like name is the case's id; what is right stands in the case file.
"""

import asyncio
import time
from pathlib import Path

from bot.demo import Emulator
from bot.demo.faults import close, hang, slow
from tests.e2e.harness import puppet, town
from tests.e2e.indoors import house

RISKY = "run rm -rf ./old"


async def test_appr_deadlock_chat_lane(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        begun = time.monotonic()

        toast = await here.alice.press("Approve", card).answered(within=1)
        await here.alice.chat.expect("It came to", within=2)

        assert toast.text == "Approved"
        assert time.monotonic() - begun < 2


async def test_appr_slots_exhausted(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500", SEND_RATE="1000") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot " + RISKY, group)
        card = await group.expect("rm -rf ./old")
        for number in range(300):
            here.bob.send(f"@kai_test_bot number {number:03}", group)
        await here.emulator.expect_all_taken(within=20)

        toast = await here.alice.press("Approve", card).answered(within=1)
        await group.expect("It came to", within=5)
        await here.emulator.expect_call(
            "sendMessage", within=5, where=lambda call: "It came to" in call["text"]
        )

        assert toast.text == "Approved"
        await until(lambda: len(here.model.requests) >= 6)
        heard = [r.last_user_text for r in here.model.requests if "number" in r.last_user_text]
        assert heard == sorted(heard)


async def test_a_press_is_answered_while_a_turn_holds_the_lane_and_300_messages_wait(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        approve = card.find_button("Approve")
        assert approve is not None
        here.alice.send("wait 20")  # moves on: the question is closed and a slow turn begins
        await here.alice.chat.until(lambda screen: "not run: you moved on" in screen.text)
        for number in range(300):
            here.alice.send(f"number {number}")
        await here.emulator.expect_all_taken(within=20)

        toast = await here.alice.press_stale(approve, card).answered(within=1)

        assert "Already decided" in toast.text


async def test_appr_false_success(tmp_path: Path) -> None:
    async with town(tmp_path, puppet, APPROVAL_TTL="1") as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        approve = card.find_button("Approve")
        assert approve is not None
        await asyncio.sleep(1.2)

        toast = await here.alice.press_stale(approve, card).answered()
        await here.alice.chat.until(lambda screen: "Expired" in screen.text, within=8)

        assert "expired" in toast.text
        assert "Approved" not in here.alice.screen().text


async def test_appr_wrong_owner(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot " + RISKY, group)
        card = await group.expect("rm -rf ./old")

        toast = await here.bob.press("Approve", card).answered()

        assert toast.alert
        assert "Only an admin" in toast.text
        assert card.find_button("Approve") is not None


async def test_appr_long_callback_data(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run удалить_очень_важный_файл_с_длинным_именем --навсегда --без_вопросов")

        card = await here.alice.chat.expect("удалить_очень")

        assert all(1 <= len(b.data.encode()) <= 64 for row in card.buttons for b in row)


async def test_in_edited(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        message = here.alice.send("invite Bob")
        await here.alice.chat.expect("You said: invite Bob")

        here.alice.edit(message, "invite Rob")
        await here.alice.chat.expect("invite Rob")
        here.alice.edit(message, "invite Rob")  # a preview or reaction changed, not the text
        await here.alice.chat.expect_nothing(0.5)

        asked = [request.last_user_text for request in here.model.requests]
        assert len(asked) == 2
        assert "edited" in asked[1]


async def test_in_reply_quote(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say The meeting is on Monday at nine.")
        answer = await here.alice.chat.expect("The meeting")

        here.alice.send("this one, change the date", reply_to=answer, quote="on Monday")
        await here.alice.chat.expect("You said")

        asked = here.model.requests[-1].last_user_text
        assert "on Monday" in asked
        assert "Kai" in asked
        assert "at nine" not in asked.replace("say The meeting is on Monday at nine.", "")


async def test_upd_replay(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        for number in range(10):
            here.alice.send(f"number {number}")
            await here.alice.chat.expect(f"number {number}", within=10)
        shown = len(here.alice.chat.messages)
        await asyncio.sleep(0.3)

        for _ in range(4):
            await here.restart()
            await until(lambda: here.emulator.updates.polling)
            await asyncio.sleep(0.3)

        assert len(here.alice.chat.messages) == shown
        assert len(here.model.requests) == 10


async def test_upd_drop_pending(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        await here.kill()
        here.alice.press("Approve", card)
        here.emulator.clock.advance(180)  # the press lives 150 s
        here.bob.send("say first")
        here.bob.send("say second")

        await here.start()
        await here.bob.chat.expect("first", within=10)
        await here.bob.chat.expect("second", within=10)
        toast = await here.alice.press("Approve", card).answered()
        await here.alice.chat.expect("It came to")

        assert toast.text == "Approved"


async def test_net_getupdates_pool(tmp_path: Path) -> None:
    emulator = Emulator(flood=False)
    emulator.fail("getUpdates", close(runs=False), times=3)
    async with house(tmp_path, puppet, emulator=emulator) as here:
        here.alice.send("hello")
        await here.alice.chat.expect("You said: hello", within=10)

        assert here.kai.poller.trouble == ""
        assert len(here.model.requests) == 1


async def test_net_send_timeout_dup(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.emulator.fail("sendMessage", slow(after=25))

        here.alice.send("say hello there")
        await here.alice.chat.expect("hello there", within=30)
        here.alice.send("say something else")
        await here.alice.chat.expect("something else", within=30)

        assert here.alice.screen().text.count("hello there") == 2  # what she said, and the answer


async def test_flood_edit(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.bob.send("say awake")
        await here.bob.chat.expect("awake", within=10)
        here.emulator.fail("sendMessage", 429, retry_after=3, chat=here.alice.chat)
        begun = time.monotonic()

        here.alice.send("say **held back**")
        here.bob.send("say not held back")
        await here.bob.chat.expect("not held back", within=2)
        held = await here.alice.chat.expect("held back", within=10)

        assert time.monotonic() - begun >= 3
        assert held.text == "held back"
        calls = [c for c in here.emulator.calls("sendMessage") if c["chat_id"] == here.alice.id]
        assert [c.status for c in calls] == [429, 200]


async def test_topic_keep(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-1001557912345") as here:
        forum = emulator.supergroup(-1001557912345, "Ops", [here.alice], forum=True, bot="administrator")
        topic = here.alice.create_topic(forum, "Deploys")
        other = here.alice.create_topic(forum, "Lunch")

        here.alice.send("@kai_test_bot " + RISKY, forum, topic=topic)
        card = await forum.expect("rm -rf ./old", topic=topic)
        await here.alice.press("Approve", card).answered()
        await forum.expect("It came to", topic=topic)
        here.alice.send("@kai_test_bot hello", forum, topic=other)
        await forum.expect("You said", topic=other)

        calls = [c for c in here.emulator.calls() if c["chat_id"] == forum.id and c.method.startswith("send")]
        assert {c["message_thread_id"] for c in calls} == {topic.id, other.id}
        assert "rm -rf" not in str(here.model.requests[-1].messages)


async def test_group_migrate(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot " + RISKY, group)
        card = await group.expect("rm -rf ./old")
        await here.kill()
        new = emulator.migrate(group, -1001557912345, announce=False)

        await here.start()
        await here.alice.press("Approve", card).answered(within=10)
        answer = await new.expect("It came to", within=10)

        assert answer.chat is new
        assert new.screen().text.count("It came to") == 1


async def test_group_migrate_announced(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        group = emulator.group(-500, "Ops", [here.alice, here.bob])
        here.alice.send("@kai_test_bot remember the milk", group)
        await group.expect("You said")
        new = emulator.migrate(group, -1001557912345)

        here.bob.send("@kai_test_bot and now?", new)
        await new.expect("You said", within=10)

        assert "remember the milk" in str(here.model.requests[-1].messages)


async def test_group_other_bot_cmd(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="8,-500") as here:
        other = emulator.person(99, "Other", username="other_bot", is_bot=True)
        group = emulator.group(-500, "Ops", [here.alice, other])
        theirs = other.send("beep", group)

        here.alice.send("/start@other_bot", group)
        here.alice.send("nice", group, reply_to=theirs)
        here.alice.send("just talking", group)
        here.alice.send("/help@kai_test_bot", group)
        await group.expect("/stop")

        assert len([m for m in group.messages if m.sender.id == here.emulator.bot.id]) == 1
        assert not here.model.requests


async def test_stop_behind_turn(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("run tail -f /dev/null")
        await here.alice.chat.expect("tail -f /dev/null", within=5)
        here.alice.send("number one")
        begun = time.monotonic()

        here.alice.send("/stop")
        said = await here.alice.chat.expect("Stopped", within=2)

        assert time.monotonic() - begun < 2
        assert "number one" in said.text
        here.alice.send("still there?")
        await here.alice.chat.expect("still there?")


async def test_typing_for_ever(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.emulator.fail("sendMessage", hang())

        here.alice.send("wait 1")
        await asyncio.sleep(3)
        typed = len(here.emulator.calls("sendChatAction"))
        await asyncio.sleep(6)

        assert typed >= 1
        assert len(here.emulator.calls("sendChatAction")) == typed


async def until(look, within: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for something outside any chat."""
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
