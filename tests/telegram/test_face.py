"""The face as a whole: groups that move, what fails inside, what is asked again (issue 2 §5, §6; L8, L10)."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from telegram import Update

from bot.agent.lanes import Job
from bot.demo import Emulator
from bot.demo.chats import Chat
from bot.demo.faults import slow
from bot.demo.model_server import ModelRequest, Reply, call
from bot.messages import Conversation, ToolResult, UserMessage
from bot.store.base import StoredUpdate
from bot.store.sqlite import SqliteStore
from tests.e2e.harness import ADMIN, BOB, puppet, shell
from tests.e2e.indoors import House, house
from tests.store.check import check

OLD, NEW = -500, -1001557912345
US = "@kai_test_bot"
HERE = Conversation(ADMIN)


async def until(look: Callable[[], object], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


# ── a group gets a new id ──────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def ops(
    folder: Path, script: Callable[[ModelRequest], Reply] = puppet
) -> AsyncIterator[tuple[House, Chat]]:
    """Build the house with a group in it."""
    emulator = Emulator(flood=False, privacy=False)
    async with house(folder, script, emulator=emulator, ALLOWED_IDS=f"{BOB},{OLD}") as here:
        yield here, emulator.group(OLD, "Ops", [here.alice, here.bob])
    assert check(folder / "state" / "kai.db") == []


async def moved(here: House, group: Chat) -> Chat:
    """Move the group, and tell the bot as a refused send would."""
    new = here.emulator.migrate(group, NEW, announce=False)
    await here.kai.face.migrate(OLD, NEW)
    return new


async def test_group_migrate_a_decision_just_before_is_acted_on_in_the_new_chat(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} run rm -rf ./old && echo gone >> ./ran", group)
        card = await group.expect("rm -rf ./old")
        held = asyncio.Event()

        async def hold() -> None:
            await held.wait()

        here.kai.lanes.put(Conversation(OLD), Job(hold))
        await here.alice.press("Approve", card).answered()
        new = await moved(here, group)
        held.set()
        await new.expect("It came to a result.")

        assert (here.work / "ran").read_text() == "gone\n"


async def test_group_migrate_a_command_that_runs_meanwhile_is_reported_once_and_right(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} run touch ./begun; sleep 0.5; rm -rf ./old", group)
        card = await group.expect("rm -rf ./old")
        await here.alice.press("Approve", card).answered()
        await until((here.work / "begun").exists)

        new = await moved(here, group)
        await new.expect("It came to a result.")
        transcript = await here.kai.store.load(Conversation(NEW))

        assert [m.code for m in transcript if isinstance(m, ToolResult)] == [""]
        assert await here.kai.store.load(Conversation(OLD)) == []
        assert "interrupted" not in new.screen().text
        assert new.screen().text.count("It came to") == 1


async def test_group_migrate_a_command_approved_meanwhile_is_not_taken_for_another(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} run touch ./begun; sleep 0.5; rm -rf ./a || then || rm -rf ./b", group)
        first, second = await group.expect("rm -rf ./a"), await group.expect("rm -rf ./b")
        await here.alice.press("Approve", second).answered()
        await here.alice.press("Approve", first).answered()
        await until((here.work / "begun").exists)

        new = await moved(here, group)
        await new.expect("It came to a result and a result.")


async def test_group_migrate_what_waited_is_heard_in_the_new_chat_with_what_was_said(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} wait 0.6", group)
        await until(lambda: here.model.requests)
        here.bob.send(f"{US} and now?", group)
        await until(lambda: here.kai.lanes.waiting() == 1)

        new = await moved(here, group)
        await new.expect("waited 0.6")
        await new.expect("and now?")

        assert "waited 0.6" in str(here.model.requests[-1].messages)
        assert await here.kai.store.load(Conversation(OLD)) == []


async def test_group_migrate_what_was_not_handled_before_a_restart_is_heard_in_the_new_chat(
    tmp_path: Path,
) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} remember the milk", group)
        await group.expect("You said")
        late = here.bob.send(f"{US} and now?", group)
        await group.expect("Bob: and now?")
        new = await moved(here, group)
    raw = json.dumps({"update_id": 900_000, "message": late.wire()})
    async with SqliteStore.open(tmp_path / "state" / "kai.db") as store:
        await store.receive([StoredUpdate(900_000, raw)], 0.0)

    async with house(tmp_path, puppet, emulator=here.emulator, ALLOWED_IDS=f"{BOB},{OLD}") as again:
        await new.expect("and now?")

    [request] = again.model.requests
    assert "remember the milk" in str(request.messages)


# ── what fails inside ──────────────────────────────────────────────────────────────────────────────────


async def test_l8_each_turn_that_fails_is_told_also_without_an_update_of_its_own(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_text("You are Kai.")
    async with house(tmp_path, puppet, SOUL_FILE=str(soul)) as here:
        here.alice.start()
        await here.alice.chat.expect("/stop")
        soul.unlink()

        for number in (1, 2):
            await here.kai.store.append(HERE, [UserMessage(f"number {number}", ADMIN, "Alice", None)])
            await here.kai.face.recover()
            await here.alice.chat.expect("Something went wrong inside")


async def test_l8_a_message_whose_handling_failed_is_kept_without_secrets_and_its_person_told(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, puppet) as here:
        said = here.alice.send("hello")
        await here.alice.chat.expect("You said: hello")
        wire = {"update_id": 900_000, "message": said.wire()}
        await here.kai.store.receive([StoredUpdate(900_000, json.dumps(wire))], here.clock())
        update = Update.de_json(wire, here.kai.app.bot)

        await here.kai.app.process_error(update, RuntimeError(f"no route to {here.emulator.token}"))
        await here.alice.chat.expect("Something went wrong inside")

        assert await here.kai.store.unhandled() == []
        assert here.emulator.token not in database_text(tmp_path)
        assert "no route to" in database_text(tmp_path)


def database_text(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "state" / "kai.db")) as db:
        return "\n".join(db.iterdump())


async def test_what_a_command_answers_holds_no_secret(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send(f"/policy curl {here.emulator.token}")

        said = await here.alice.chat.expect("curl")

        assert here.emulator.token not in said.text


# ── asking again ───────────────────────────────────────────────────────────────────────────────────────


async def test_asking_again_for_two_closes_neither(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        asked = [line for line in request.last_user_text.splitlines() if line.startswith("rm ")]
        if request.results or not asked:
            return Reply("All done.")
        return Reply("", [shell(command) for command in asked])

    async with house(tmp_path, script) as here:
        here.alice.send("rm -rf ./a\nrm -rf ./b")
        first, second = await here.alice.chat.expect("rm -rf ./a"), await here.alice.chat.expect("rm -rf ./b")
        await here.later(2000)
        await here.alice.chat.expect("All done.")
        await here.alice.chat.until(lambda screen: str(screen).count("Ask again") == 2)

        await here.alice.press("Ask again", first).answered()
        again = await here.alice.chat.expect(lambda shown: "May I run" in shown.text)
        await here.alice.press("Ask again", second).answered()
        await here.emulator.expect_all_taken()
        await asyncio.sleep(0.2)
        open_now = [question.command for question in await here.kai.store.pending_approvals()]
        await here.alice.press("Deny", again).answered()
        await here.alice.chat.expect(lambda shown: "May I run" in shown.text and "rm -rf ./b" in shown.text)

        assert open_now == ["rm -rf ./a"]


@pytest.mark.parametrize("word", ["👍", "👎"])
async def test_a_thumb_is_a_word_and_approves_nothing(tmp_path: Path, word: str) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("run rm -rf ./old")
        card = await here.alice.chat.expect("rm -rf ./old")

        here.alice.send(word, reply_to=card)
        await here.alice.chat.expect("Words don't approve" if word == "👍" else "It came to an error.")

        assert (card.find_button("Approve") is not None) == (word == "👍")


# ── stopping ───────────────────────────────────────────────────────────────────────────────────────────


async def test_l7_stop_drops_a_paste_that_is_still_being_gathered(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("paste " * 680)
        here.alice.send("/stop")
        said = await here.alice.chat.expect("paste paste")
        await here.alice.chat.expect_nothing(1.2)

        assert "will not be answered" in said.text
        assert not here.model.requests
        assert await here.kai.store.unhandled() == []


async def test_what_was_asked_again_and_stopped_can_be_asked_again(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        command = request.last_user_text.splitlines()[-1]
        return Reply("All done.") if request.results else Reply("", [shell(command)])

    async with house(tmp_path, script) as here:
        here.alice.send("rm -rf ./a")
        card = await here.alice.chat.expect("May I run")
        await here.later(2000)
        await here.alice.chat.expect("All done.")
        await here.alice.chat.until(lambda screen: "Ask again" in str(screen))
        here.alice.send("rm -rf ./b")
        await here.alice.chat.expect(lambda shown: "May I run" in shown.text and "./b" in shown.text)
        await here.alice.press("Ask again", card).answered()
        here.alice.send("/stop")
        await here.alice.chat.expect("Stopped")

        await here.alice.press("Ask again", card).answered()
        await here.alice.chat.expect(lambda shown: "May I run" in shown.text and "./a" in shown.text)


# ── who may end a turn ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", ["/stop", "/new", "/cancel"])
async def test_a_turn_of_somebody_else_is_not_ended_by_a_command(tmp_path: Path, words: str) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} run rm -rf ./old", group)
        card = await group.expect("rm -rf ./old")

        here.bob.send(f"{words}{US}", group)
        await group.expect("Only who asked for this")

        assert card.find_button("Approve") is not None


async def test_a_turn_is_ended_by_its_asker_and_by_an_admin(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        for person in (here.bob, here.alice):
            here.bob.send(f"{US} run rm -rf ./old", group)
            await group.expect("May I run this?")

            person.send(f"/stop{US}", group)
            await group.expect("Stopped.")


async def test_when_nothing_runs_anybody_on_the_list_begins_anew(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} say hello", group)
        await group.expect("hello")

        here.bob.send(f"/new{US}", group)
        await group.expect("A new conversation")


async def test_retry_of_a_question_of_somebody_else_ends_nothing(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.alice.send(f"{US} run rm -rf ./old", group)
        card = await group.expect("rm -rf ./old")

        here.bob.send(f"/retry{US}", group)
        await group.expect("somebody else's")

        assert card.find_button("Approve") is not None


async def test_retry_is_handled_only_when_its_question_is_stored(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("say hello")
        await here.alice.chat.expect("hello")
        held = asyncio.Event()

        async def hold() -> None:
            await held.wait()

        here.kai.face._lanes.put(HERE, Job(hold, label="held"))
        here.alice.send("say wait for me")
        here.kai.face.hear_again(HERE, UserMessage("say again", ADMIN, "Alice"), update_id=77)
        await here.kai.store.receive([StoredUpdate(77, "{}")], 0.0)
        waiting = [update.update_id for update in await here.kai.store.unhandled()]
        held.set()
        await here.alice.chat.expect("again")

        assert 77 in waiting
        assert 77 not in [update.update_id for update in await here.kai.store.unhandled()]


async def test_a_press_whose_handling_failed_is_told(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("run rm -rf ./old")
        card = await here.alice.chat.expect("rm -rf ./old")
        with closing(sqlite3.connect(tmp_path / "state" / "kai.db")) as other:
            other.execute("ALTER TABLE approvals RENAME TO approvals_gone")

            toast = await here.alice.press("Approve", card).answered()
            other.execute("ALTER TABLE approvals_gone RENAME TO approvals")

        assert "Nothing was decided" in toast.text


async def test_what_is_sent_to_another_chat_holds_no_secret(tmp_path: Path) -> None:
    def sends(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("done")
        return Reply("", [call("send_telegram", chat_id=BOB, text="the key is test-key-of-the-model")])

    async with house(tmp_path, sends, ANTHROPIC_API_KEY="test-key-of-the-model") as here:
        here.alice.send("tell Bob")
        card = await here.alice.chat.expect(lambda message: message.find_button("Approve") is not None)
        await here.alice.press("Approve", card).answered()

        said = await here.bob.chat.expect("the key is")

        assert "test-key-of-the-model" not in said.text


async def test_while_a_file_is_fetched_only_who_sent_it_may_stop(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        carol = here.emulator.person(9, "Carol", started=True)
        carol.join(group)
        here.bob.send(f"{US} say hello", group)
        await group.expect("hello")
        here.emulator.fail("getFile", slow(after=30))
        carol.send_document("log.txt", b"all well", group, caption=f"{US} what is this?")
        await until(lambda: here.kai.face._lanes.busy(Conversation(OLD)))

        here.bob.send(f"/stop{US}", group)
        await group.expect("Only who asked for this")
        carol.send(f"/stop{US}", group)
        await group.expect("Stopped.")


async def test_retry_leaves_what_others_said_meanwhile(tmp_path: Path) -> None:
    async with ops(tmp_path) as (here, group):
        here.bob.send(f"{US} wait 3", group)
        await until(lambda: here.model.requests)
        here.alice.send(f"{US} say not forgotten", group)
        await here.emulator.expect_all_taken()

        here.bob.send(f"/retry{US}", group)
        await group.expect("not forgotten", within=10)
        await group.expect("waited 3", within=10)


async def test_new_says_what_it_dropped(tmp_path: Path) -> None:
    async with house(tmp_path, puppet) as here:
        here.alice.send("wait 20")
        await until(lambda: here.model.requests)
        here.alice.send("say one more thing")
        await here.emulator.expect_all_taken()

        here.alice.send("/new")
        said = await here.alice.chat.expect("A new conversation")

        assert "• say one more thing" in said.text


async def test_group_migrate_the_group_may_be_written_to_under_its_new_id(tmp_path: Path) -> None:
    def sends(request: ModelRequest) -> Reply:
        if request.results:
            return Reply("done")
        return Reply("", [call("send_telegram", chat_id=NEW, text="from afar")])

    async with ops(tmp_path, sends) as (here, group):
        new = await moved(here, group)
        here.alice.send("tell the group")
        card = await here.alice.chat.expect(lambda message: message.find_button("Approve") is not None)
        await here.alice.press("Approve", card).answered()

        await new.expect("from afar")
