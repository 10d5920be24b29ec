"""Posts as they are kept: handed over once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.clock import SettableClock
from bot.store.posts import Post, PostState
from tests.store.samples import TOPIC
from tests.tools.wallet.town import WalletStore

NOW = 1_700_000_000.0
PLANNED = Post("c1", TOPIC, "kai", "Grüße 👋\0", "f1", NOW)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[WalletStore]:
    async with WalletStore.open(tmp_path / "kai.db", clock=SettableClock(NOW)) as opened:
        assert isinstance(opened, WalletStore)
        yield opened


async def test_a_plan_comes_back_as_it_was_and_gives_way_to_a_later_one(store: WalletStore) -> None:
    later = replace(PLANNED, text="other", fingerprint="f2")

    assert await store.plan_post(PLANNED) == PLANNED
    assert await store.plan_post(later) == later


async def test_it_is_handed_over_once(store: WalletStore) -> None:
    await store.plan_post(PLANNED)

    first = await asyncio.gather(*(store.sending_post("c1", NOW + 1) for _ in range(5)))

    assert sorted(first) == [False, False, False, False, True]
    assert await store.plan_post(replace(PLANNED, text="other")) == replace(
        PLANNED, state=PostState.SENDING, sent_at=NOW + 1
    )


async def test_what_is_out_stays_out(store: WalletStore) -> None:
    await store.plan_post(PLANNED)
    await store.sending_post("c1", NOW)
    await store.finish_post("c1", PostState.POSTED, post_id="9")

    await store.finish_post("c1", PostState.FAILED, error="late")

    assert await store.post("c1") == replace(PLANNED, state=PostState.POSTED, post_id="9", sent_at=NOW)


async def test_the_window_counts_what_may_be_out(store: WalletStore) -> None:
    for n, state in enumerate([PostState.POSTED, PostState.UNKNOWN, PostState.FAILED, None]):
        await store.plan_post(replace(PLANNED, call_id=f"c{n}"))
        await store.sending_post(f"c{n}", NOW + n)
        if state:
            await store.finish_post(f"c{n}", state)
    await store.plan_post(replace(PLANNED, call_id="c9"))

    assert [post.call_id for post in await store.posts_since(NOW - 1)] == ["c0", "c1", "c3"]
    assert [post.call_id for post in await store.posts_since(NOW)] == ["c1", "c3"]


async def test_a_group_that_migrates_takes_its_posts_along(store: WalletStore) -> None:
    await store.plan_post(PLANNED)

    await store.migrate_chat(TOPIC.chat_id, -100555)

    assert await store.post("c1") == replace(PLANNED, conversation=replace(TOPIC, chat_id=-100555))
