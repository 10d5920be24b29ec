"""Twenty people talk and approve for a minute while the bot is killed again and again, at any point.

Answers are shown while they are written: half of the people get drafts, in the chats of the others drafts are
refused and a message grows. Half of what is said takes the model long enough for that.

What must hold: every message is answered once and in order, no command runs twice, no question is decided
twice, and the database is whole. The one thing Telegram can't promise is whether a message that was being
sent at the very moment of a kill arrived; such a one comes once more and says so, and no third time.
"""

import asyncio
import json
import os
import random
import re
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest

from bot.demo import Person
from bot.demo.model_server import ModelRequest, Reply
from tests.e2e.harness import Town, shell, town

SECONDS = float(os.environ.get("KILL_SECONDS", "60"))
PEOPLE = range(101, 121)
REPEAT = "may be a repeat"
NO_DRAFTS = "Bad Request: TEXTDRAFT_PEER_INVALID"
END = "that is all."


def obey(request: ModelRequest) -> Reply:
    """Do the task that was named, or just say its number."""
    kind, number = re.findall(r"(task|talk) ([0-9-]+)", request.last_user_text)[-1]
    if kind == "talk":
        slowly = 0.22 if number[-1] in "02468" else 0.0
        return Reply(f"You talked. I **heard {number}**, so much is sure, and {END}", chunk=8, pace=slowly)
    if not request.results:
        return Reply("", [shell(f"rm -f ./none; echo {number} >> ./ran", risk="high")])
    known = "unknown" if "outcome unknown" in request.results[0].text else "known"
    return Reply(f"finished {number}, outcome {known}")


@pytest.mark.timeout(SECONDS + 120)
async def test_killed_at_any_point_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    dice = random.Random(4)
    ids = ",".join(map(str, PEOPLE))
    async with town(tmp_path, obey, ADMIN_IDS=ids, SEND_RATE="1000", LOG_LEVEL="WARNING") as here:
        deadline = time.monotonic() + SECONDS
        people = [here.emulator.person(number, f"P{number}", started=True) for number in PEOPLE]
        for person in people[::2]:
            here.emulator.fail("sendMessageDraft", 400, description=NO_DRAFTS, times=10**9, chat=person.chat)
        said = [asyncio.create_task(talk(person, deadline, random.Random(person.id))) for person in people]

        kills = 0
        while time.monotonic() < deadline:
            if dice.random() < 0.5:  # else it may be starting yet, for as long as a busy machine makes it
                await here.emulator.expect_poll(within=30)
            await asyncio.sleep(dice.uniform(0.2, 3.5))
            await here.restart()
            kills += 1
        numbers = await asyncio.gather(*said)
        await here.emulator.expect_poll()  # or it is stopped before it listens to signals
        exit_code = await here.stop()

        assert exit_code == 0
        assert kills > SECONDS / 6
        assert here.emulator.calls("sendMessageDraft")
        assert here.emulator.calls("editMessageText")
        assert here.violations() == []
        assert decided_twice(here) == []
        ran = Counter((here.work / "ran").read_text().split())
        assert [number for number, times in ran.items() if times > 1] == []
        for person, wanted in zip(people, numbers, strict=True):
            check_chat(person, wanted, ran)
        assert not here.model.refusals


async def talk(person: Person, deadline: float, dice: random.Random) -> list[str]:
    """Say one thing after the other and approve what is asked; return the numbers of what was said."""
    said: list[str] = []
    while time.monotonic() < deadline:
        number = f"{person.id}-{len(said)}"
        said.append(number)
        if dice.random() < 0.5:
            person.send(f"talk {number}")
            await person.chat.expect(re.compile(rf"heard {number}\b.*{END}"), within=60)
            continue
        person.send(f"task {number}")
        card = await person.chat.expect(f"echo {number} >>", within=60)
        await asyncio.sleep(dice.uniform(0, 0.3))
        if approve := card.find_button("Approve"):
            person.press_stale(approve, card)
        await person.chat.expect(f"finished {number}", within=60)
    return said


def check_chat(person: Person, wanted: list[str], ran: Counter[str]) -> None:
    answers = [
        (found[2], message.text)
        for message in person.chat.messages
        if message.sender.is_bot and (found := re.search(r"(heard|finished) ([0-9-]+)", message.text))
    ]
    whole = {number for number, text in answers if END in text or "outcome" in text}
    fresh = [number for number, text in answers if REPEAT not in text]
    repeated = Counter(number for number, text in answers if REPEAT in text)

    once = list(dict.fromkeys(number for number, _ in answers))
    assert once == wanted, person.screen()
    assert whole == set(wanted), person.screen()
    assert max(Counter(fresh).values(), default=0) <= 1, person.screen()
    assert max(repeated.values(), default=0) <= 1, person.screen()
    for number, text in answers:
        if "outcome known" in text:
            assert ran[number] == 1, number


def decided_twice(here: Town) -> list[str]:
    """Return the questions with more than one decision in the audit."""
    with sqlite3.connect(here.database) as db:
        rows = db.execute("SELECT detail FROM audit WHERE action LIKE 'approval_%'").fetchall()
    decisions = Counter(json.loads(detail)["approval_id"] for (detail,) in rows)
    return [approval_id for approval_id, times in decisions.items() if times > 1]
