"""Only people on the list (design.md, invariant 12; requirements T1, T2)."""

from pathlib import Path

from bot.demo import Emulator
from tests.e2e.harness import puppet, town

RISKY = "run rm -rf ./old && echo gone >> ./ran"


async def test_a_stranger_is_told_his_id_once_and_nothing_more(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        mallory = here.emulator.person(666, "Mallory")
        first = mallory.start()
        await mallory.chat.expect("I don't know you. Your id is 666")

        mallory.send("run ls")
        mallory.send("/status")
        mallory.send("/stop")
        mallory.edit(first, "run ls")
        mallory.send_document("a.txt", b"x", caption="run ls")
        await mallory.chat.expect_nothing(0.5)
        await here.emulator.expect_all_taken()

        assert not here.model.requests
        here.alice.send("/stop")
        await here.alice.chat.expect("Nothing is running.")
        await here.stop()
        assert here.violations() == []


async def test_a_stranger_in_a_listed_group_may_talk_there_but_decides_nothing(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator, ALLOWED_IDS="-500") as here:
        carol = here.emulator.person(9, "Carol")
        group = emulator.group(-500, "Ops", [here.alice, carol])
        carol.send("@kai_test_bot " + RISKY, group)
        card = await group.expect("asked by Carol")

        toast = await carol.press("Approve", card).answered()
        carol.send("yes", group, reply_to=card)
        await group.expect("Words don't approve")
        carol.send("@kai_test_bot /status", group)
        await group.expect("for admins")
        carol.start()
        await carol.chat.expect("I don't know you. Your id is 9")

        assert toast.alert
        assert "Only an admin" in toast.text
        assert card.find_button("Approve") is not None
        assert not (here.work / "ran").exists()


async def test_in_a_group_that_is_not_listed_only_listed_people_are_heard(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator) as here:
        mallory = here.emulator.person(666, "Mallory")
        group = emulator.group(-900, "Elsewhere", [mallory, here.alice])
        mallory.send("@kai_test_bot hello", group)
        mallory.send("/help@kai_test_bot", group)
        mallory.send("@kai_test_bot hello", group, anonymous=True)
        await group.expect_nothing(0.5)
        await here.emulator.expect_all_taken()

        here.alice.send("@kai_test_bot say hello", group)
        await group.expect("hello")

        assert len(here.model.requests) == 1


async def test_in_a_group_that_is_not_listed_a_members_question_goes_to_the_admin(tmp_path: Path) -> None:
    emulator = Emulator(flood=False, privacy=False)
    async with town(tmp_path, puppet, emulator=emulator) as here:
        group = emulator.group(-900, "Elsewhere", [here.bob])
        here.bob.send("@kai_test_bot " + RISKY, group)
        await group.expect("The question went to the admins")
        card = await here.alice.chat.expect("asked by Bob")

        await here.alice.press("Deny", card).answered()
        await group.expect("It came to an error.")

        assert "May I run this" not in group.screen().text


async def test_a_strangers_press_on_a_forwarded_button_decides_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        mallory = here.emulator.person(666, "Mallory", started=True)
        here.alice.send(RISKY)
        card = await here.alice.chat.expect("rm -rf ./old")
        approve = card.find_button("Approve")
        assert approve is not None

        toast = await mallory.press_stale(approve, card).answered()

        assert "Only an admin" in toast.text
        assert card.find_button("Approve") is not None
        assert not (here.work / "ran").exists()
