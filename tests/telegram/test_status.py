"""What `/status` says (§6)."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from telegram import Bot
from telegram.error import RetryAfter

from bot import __version__
from bot.agent.lanes import Job, Lanes
from bot.clock import SettableClock
from bot.demo import Emulator, Person, refuse
from bot.llm.cooldowns import Rest
from bot.llm.fallback import Link
from bot.store.base import StoredUpdate
from bot.store.sqlite import SqliteStore
from bot.telegram.poller import Poller
from bot.telegram.send_gate import Priority, SendGate
from bot.telegram.status import Status, duration, memory, size, time_of_day
from tests.telegram.conftest import FAST, HERE, end, question, saying, settle


@pytest.fixture
def now() -> SettableClock:
    return SettableClock(1_700_000_600.0)


Page = Callable[..., Status]


@pytest.fixture
def page(bot: Bot, store: SqliteStore, now: SettableClock, tmp_path: Path) -> Page:
    async def handle(update: StoredUpdate) -> None: ...

    def built(*notes: str, work_dir: Path = tmp_path) -> Status:
        return Status(
            store=store,
            lanes=Lanes(),
            gate=SendGate(FAST),
            poller=Poller(bot=bot, inbox=store, handle=handle, now=now),
            model="anthropic:sonnet",
            work_dir=work_dir,
            started_at=now() - 3725,
            now=now,
            notes=lambda: list(notes),
        )

    return built


async def test_it_names_server_version_uptime_and_model(page: Page) -> None:
    text = await page().text()

    assert text.startswith("Server: ")
    assert f"Kai {__version__}, up 1 h 2 min, " in text
    assert "Model: anthropic:sonnet" in text
    assert all(word in text for word in ("Load: ", "Memory: ", "Disk: ", "Database: "))


async def test_before_the_first_poll_it_says_never(page: Page) -> None:
    assert "Last poll: never\n" in await page().text()


async def test_it_says_how_long_ago_the_last_poll_ended(
    page: Page, emulator: Emulator, alice: Person, now: SettableClock
) -> None:
    status = page()
    alice.send("hi")
    running = asyncio.create_task(status.poller.run())
    await settle(lambda: status.poller.last_poll is not None)
    await end(running)
    now.advance(12)

    assert "Last poll: 12 s ago\n" in await status.text()


async def test_trouble_with_polling_is_named(page: Page, emulator: Emulator) -> None:
    status = page()
    emulator.fail("getUpdates", refuse(409))
    running = asyncio.create_task(status.poller.run())
    await settle(lambda: bool(status.poller.trouble))
    await end(running)

    assert "Last poll: never (another program polls with the same token" in await status.text()


async def test_it_counts_what_waits(page: Page, store: SqliteStore) -> None:
    status = page()
    await store.receive([StoredUpdate(1, "{}"), StoredUpdate(2, "{}"), StoredUpdate(3, "{}")], 0)
    await store.enqueue([saying("one"), saying("two")])
    status.lanes.put(HERE, Job(lambda: asyncio.sleep(60)))
    status.lanes.put(HERE, Job(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0.01)

    text = await status.text()

    assert "Waiting: 3 in the inbox, 1 in lanes, 2 in the outbox, 0 chats held back" in text
    await status.lanes.close()


async def test_it_counts_the_chats_held_back(page: Page) -> None:
    status = page()

    async def refused() -> None:
        raise RetryAfter(timedelta(seconds=30))

    waiting = asyncio.create_task(status.gate.run(7, Priority.ANSWER, refused))
    await settle(lambda: status.gate.held() == 1)

    assert "1 chats held back" in await status.text()
    await status.gate.close()
    await end(waiting)


async def test_it_counts_open_questions_and_the_age_of_the_oldest(page: Page, store: SqliteStore) -> None:
    await store.ask([question("a"), question("b", created_at=1_700_000_500.0)], [])

    assert "Open questions: 2, the oldest 10 min 0 s\n" in await page().text()


async def test_no_question_is_open(page: Page) -> None:
    assert "Open questions: 0\n" in await page().text()


async def test_notes_come_last(page: Page) -> None:
    assert (await page("The database was damaged").text()).endswith("\nThe database was damaged")


async def test_a_work_folder_that_is_gone_is_no_reason_to_say_nothing(page: Page, tmp_path: Path) -> None:
    text = await page(work_dir=tmp_path / "gone").text()

    assert "Disk: unknown" in text
    assert "Model: " in text


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (3e9, "3.0 GB"), (4e12, "4.0 TB")],
)
def test_sizes_are_for_people(count: float, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5.9, "5 s"), (65, "1 min 5 s"), (3660, "1 h 1 min"), (90_000, "1 d 1 h"), (86_400 * 30, "30 d 0 h")],
)
def test_durations_are_for_people(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_memory_is_read_from_the_kernel() -> None:
    used, _, total = memory().removesuffix(" used").partition(" of ")

    assert used.split()[1] in ("MB", "GB")
    assert total.split()[1] in ("MB", "GB", "TB")


async def test_it_names_failed_services_and_the_last_backup(page: Page, now: SettableClock) -> None:
    status = page()

    async def failed() -> list[str]:
        return ["nginx.service", "cert.timer"]

    status.failed_units = failed
    status.last_backup = lambda: now() - 7200
    text = await status.text()

    assert "⚠️ Failed units: nginx.service, cert.timer" in text
    assert "last backup 2 h 0 min ago" in text
    assert "Grants in force: 0" in text


async def test_where_nobody_knows_of_services_and_backups_it_says_so_or_nothing(page: Page) -> None:
    status = page()

    async def nobody() -> None:
        return None

    status.failed_units = nobody
    text = await status.text()

    assert "Failed units" not in text
    assert "last backup never" in text


CHAIN = [
    Link("acme:big", rest=Rest(1_700_000_690.0, "acme answered 429")),
    Link("acme:small", answered=1_700_000_600.0),
    Link("other:spare"),
]


@pytest.mark.parametrize(
    ("language", "title", "rests", "answered"),
    [
        ("en", "Models, in this order:", "rests until", "answered last"),
        ("id", "Model, urut begini:", "istirahat sampai", "terakhir menjawab"),
        ("pt", "Modelos, nesta ordem:", "descansa até", "respondeu por último"),
    ],
)
async def test_of_a_chain_it_says_who_answered_last_and_who_rests_until_when_and_why(
    page: Page, language: str, title: str, rests: str, answered: str
) -> None:
    status = page()
    status.links, status.language = lambda: CHAIN, language

    text = await status.text()

    shown = [
        title,
        f"⏸ acme:big {rests} {time_of_day(1_700_000_690)}: acme answered 429",
        f"✓ acme:small {answered}, {time_of_day(1_700_000_600)}",
        "• other:spare",
    ]
    assert "\n".join(shown) + "\nLast poll" in text
    assert "Model: " not in text


async def test_a_model_that_rests_is_said_to_rest_even_where_it_was_the_last_to_answer(page: Page) -> None:
    status = page()
    status.links = lambda: [Link("a:1", answered=1.0, rest=Rest(1_700_000_690.0, "a answered 500"))]

    text = await status.text()

    assert "⏸ a:1 rests until" in text
    assert "answered last" not in text
