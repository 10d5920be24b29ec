"""X11 against a server that checks every signature: posted once, or it says why not."""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.clock import SettableClock
from bot.demo.x_server import KEYS, XServer, serve_x
from bot.errors import ToolError
from bot.messages import Conversation, ToolCall
from bot.store.posts import Post, PostState
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.card import CardDetails
from bot.tools.post_twitter import Poster, Weighed, post_twitter, read_image, weigh, x_api_url
from tests.tools.wallet.town import WalletStore, write_credentials

HERE = Conversation(7)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@dataclass(slots=True)
class Desk:
    """A poster with its server and store."""

    x: XServer
    url: str
    poster: Poster
    store: WalletStore
    folder: Path
    clock: SettableClock

    @property
    def work_dir(self) -> Path:
        return self.folder / "work"

    async def show(self, call: ToolCall) -> CardDetails:
        assert Tools([post_twitter(self.poster)]).check(call) is None
        return await self.poster.preview(call, HERE, self.work_dir)

    async def run(self, call: ToolCall) -> ToolOutcome:
        context = ToolContext(HERE, call.id, self.work_dir, self.work_dir, self.folder)
        return await Tools([post_twitter(self.poster)]).run(call, context)

    async def post(self, call: ToolCall) -> ToolOutcome:
        await self.show(call)
        return await self.run(call)

    async def row(self, call_id: str) -> Post:
        post = await self.store.post(call_id)
        assert post is not None
        return post

    async def state(self, call: ToolCall) -> PostState:
        return (await self.row(call.id)).state


def posting(text: str = "Hello, world", image: str = "", call_id: str = "c1") -> ToolCall:
    return ToolCall("post_twitter", {"text": text} | ({"image_path": image} if image else {}), call_id)


def twitter_env(**changes: str) -> str:
    return "".join(f"{name}={value}\n" for name, value in (KEYS | changes).items())


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    x, clock = XServer(), SettableClock()
    (tmp_path / "work").mkdir()
    credentials = write_credentials(tmp_path / "credentials", twitter=twitter_env())
    async with (
        serve_x(x) as url,
        WalletStore.open(tmp_path / "kai.db", clock=clock) as store,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        assert isinstance(store, WalletStore)
        poster = Poster(
            store=store,
            http=http,
            credentials=credentials,
            work_dir=tmp_path / "work",
            api_url=url,
            now=clock,
            timeout=0.5,
        )
        yield Desk(x, url, poster, store, tmp_path, clock)


async def test_an_approved_post_is_out_and_gives_its_address(desk: Desk) -> None:
    outcome = await desk.post(posting("Hello, 世界 & <you> 👋"))

    assert [post.text for post in desk.x.posts] == ["Hello, 世界 & <you> 👋"]
    assert outcome.text == f"posted: https://x.com/kai_demo/status/{desk.x.posts[0].id}"
    assert await desk.state(posting()) is PostState.POSTED


async def test_the_card_says_what_will_be_seen_and_what_it_costs(desk: Desk) -> None:
    details = await desk.show(posting("See you at 9"))

    lines = {line.label: line.text for line in details.lines}
    assert lines == {
        "Post as": "@kai_demo",
        "": "See you at 9",
        "Length": "12 of 280",
        "Price": "$0.015 (as of 2026-11)",
        "Posts left": "100 in 15 minutes",
    }
    assert (details.warnings, details.second_step, details.image) == ((), "", None)


async def test_a_link_is_dearer_and_counts_23(desk: Desk) -> None:
    details = await desk.show(posting("see https://example.com/a/very/long/path/that/goes/on/and/on"))

    lines = {line.label: line.text for line in details.lines}
    assert (lines["Length"], lines["Price"]) == ("27 of 280", "$0.20 (as of 2026-11)")
    assert details.warnings == ("it holds a link, which makes it dearer",)


async def test_ten_calls_of_one_approval_post_once(desk: Desk) -> None:
    await desk.show(posting())

    outcomes = await asyncio.gather(*(desk.run(posting()) for _ in range(10)))

    assert len({outcome.text for outcome in outcomes}) == 1
    assert (len(desk.x.posts), desk.x.asked.count("/2/tweets")) == (1, 1)


async def test_what_was_not_shown_is_not_posted(desk: Desk) -> None:
    outcome = await desk.run(posting())

    assert (outcome.code, desk.x.posts) == ("not_executed", [])


async def test_another_text_than_the_one_shown_is_not_posted(desk: Desk) -> None:
    await desk.show(posting("one"))

    outcome = await desk.run(posting("two"))

    assert (outcome.code, desk.x.posts) == ("not_executed", [])


class TestImage:
    async def test_it_goes_with_the_post_and_on_the_card(self, desk: Desk) -> None:
        (desk.work_dir / "cat.png").write_bytes(PNG)
        call = posting(image="cat.png")

        details = await desk.show(call)
        await desk.run(call)

        assert details.image == desk.work_dir / "cat.png"
        assert "cat.png, image/png, 48 bytes" in [line.text for line in details.lines]
        assert [post.images for post in desk.x.posts] == [(PNG,)]

    async def test_one_that_changed_after_the_card_is_not_posted(self, desk: Desk) -> None:
        (desk.work_dir / "cat.png").write_bytes(PNG)
        call = posting(image="cat.png")
        shown = await desk.show(call)
        (desk.work_dir / "cat.png").write_bytes(PNG + b"other")

        outcome = await desk.run(call)

        assert (outcome.code, desk.x.posts) == ("not_executed", [])
        assert (await desk.show(call)).fingerprint != shown.fingerprint

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("../secret.png", "EACCES"),
            ("link.png", "EACCES"),
            ("note.txt", "EINVAL"),
            ("big.png", "EINVAL"),
            ("missing.png", "ENOENT"),
            (".", "EINVAL"),
            ("a\0b", "InvalidArgs"),
        ],
    )
    async def test_what_may_not_be_sent(self, desk: Desk, path: str, code: str) -> None:
        (desk.folder / "secret.png").write_bytes(PNG)
        (desk.work_dir / "link.png").symlink_to(desk.folder / "secret.png")
        (desk.work_dir / "note.txt").write_text("no picture")
        (desk.work_dir / "big.png").write_bytes(PNG + bytes(5_000_000))
        await desk.show(posting())

        outcome = await desk.run(posting(image=path))

        assert (outcome.code, desk.x.posts) == (code, [])

    async def test_a_pipe_under_its_name_is_no_picture_and_nobody_waits(self, desk: Desk) -> None:
        os.mkfifo(desk.work_dir / "cat.png")

        with pytest.raises(ToolError, match="no regular file"):
            await desk.show(posting(image="cat.png"))

    def test_a_link_that_takes_its_place_while_it_is_read_is_not_followed(self, tmp_path: Path) -> None:
        secret, inside = tmp_path / "secret.png", tmp_path / "work" / "cat.png"
        secret.write_bytes(PNG)
        inside.parent.mkdir()
        other = inside.with_name("other")
        stop = threading.Event()

        def swap() -> None:
            while not stop.is_set():
                other.write_bytes(PNG + b"ours")
                other.replace(inside)
                other.symlink_to(secret)
                other.replace(inside)

        swapping = threading.Thread(target=swap)
        swapping.start()
        read = list[bytes]()
        try:
            for _ in range(3000):
                with contextlib.suppress(OSError, ToolError):
                    read.append(read_image("cat.png", inside.parent, inside.parent).data)
        finally:
            stop.set()
            swapping.join()

        assert read != []
        assert PNG not in read


class TestLength:
    async def test_one_over_says_by_how_much_and_asks_nobody(self, desk: Desk) -> None:
        with pytest.raises(ToolError, match="1 too long: it counts 281 of 280") as raised:
            await desk.show(posting("x" * 281))

        assert raised.value.code == "InvalidArgs"
        assert desk.x.asked == []

    async def test_the_whole_length_is_posted_uncut(self, desk: Desk) -> None:
        await desk.post(posting("x" * 280))

        assert desk.x.posts[0].text == "x" * 280

    @pytest.mark.parametrize(
        ("text", "weighed"),
        [
            ("x", Weighed(1, True, False)),
            ("漢字", Weighed(4, True, False)),
            ("👨‍👩‍👧‍👦", Weighed(2, True, False)),
            ("e\u0301", Weighed(1, True, False)),
            ("example.com", Weighed(23, True, True)),
            ("a\ufffe", Weighed(3, False, False)),
        ],
    )
    def test_it_is_counted_as_x_counts(self, text: str, weighed: Weighed) -> None:
        assert weigh(text) == weighed

    @settings(max_examples=40, deadline=None)
    @given(st.text(max_size=60))
    def test_counting_never_fails(self, text: str) -> None:
        assert weigh(text).length >= 0

    async def test_a_character_x_does_not_take(self, desk: Desk) -> None:
        with pytest.raises(ToolError, match="character that X does not take"):
            await desk.show(posting("a\ufffe"))

    @pytest.mark.parametrize("text", ["", "  \n"])
    async def test_nothing_is_no_post(self, desk: Desk, text: str) -> None:
        outcome = await desk.run(posting(text))

        assert outcome.code in ("InvalidArgs", "not_executed")


class TestRefusals:
    @pytest.mark.parametrize("name", sorted(KEYS))
    async def test_one_wrong_key_is_told_without_its_value(self, desk: Desk, name: str) -> None:
        write_credentials(desk.folder / "credentials", twitter=twitter_env(**{name: "wrong-key-here"}))

        with pytest.raises(ToolError, match="X does not take the keys in twitter.env") as raised:
            await desk.show(posting())

        assert raised.value.code == "HTTP:401"
        assert "wrong-key-here" not in str(raised.value)

    async def test_missing_keys_are_named(self, desk: Desk) -> None:
        write_credentials(desk.folder / "credentials", twitter="X_API_KEY=a\nX_ACCESS_TOKEN=\n")

        with pytest.raises(ToolError, match="lacks X_API_SECRET, X_ACCESS_TOKEN, X_ACCESS_SECRET") as raised:
            await desk.show(posting())

        assert raised.value.code == "NotConfigured"

    async def test_a_text_that_is_out_already_is_refused_before_anyone_is_asked(self, desk: Desk) -> None:
        await desk.post(posting())

        with pytest.raises(ToolError, match="out already: https://x.com/kai_demo/status/") as raised:
            await desk.show(posting(call_id="c2"))

        assert raised.value.code == "Duplicate"

    async def test_two_cards_for_one_text_post_it_once(self, desk: Desk) -> None:
        calls = [posting(), posting(call_id="c2")]
        for call in calls:
            await desk.show(call)

        outcomes = await asyncio.gather(*map(desk.run, calls))

        assert [outcome.code for outcome in outcomes] == ["", "Duplicate"]
        assert desk.x.asked.count("/2/tweets") == 1

    async def test_a_post_that_is_out_counts_more_than_one_that_may_be(self, desk: Desk) -> None:
        desk.x.silent = True
        await desk.post(posting())
        desk.x.silent = False
        await desk.store.plan_post(replace(await desk.row("c1"), call_id="c3"))
        await desk.store.sending_post("c3", at=desk.clock())
        await desk.store.finish_post("c3", PostState.POSTED, post_id="5")

        with pytest.raises(ToolError) as raised:
            await desk.show(posting(call_id="c2"))

        assert raised.value.code == "Duplicate"

    async def test_a_text_somebody_else_posted_is_a_duplicate(self, desk: Desk) -> None:
        await desk.post(posting())
        desk.clock.advance(2 * 86_400)

        outcome = await desk.post(posting(call_id="c2"))

        assert (outcome.code, "posted already" in outcome.text) == ("Duplicate", True)
        assert await desk.state(posting(call_id="c2")) is PostState.FAILED

    async def test_an_empty_window_says_until_when(self, desk: Desk) -> None:
        await desk.show(posting())
        desk.x.left, desk.x.reset = 0, 1_700_003_600

        outcome = await desk.run(posting())

        assert (outcome.code, "until 23:13 UTC" in outcome.text) == ("RateLimited", True)
        assert await desk.state(posting()) is PostState.FAILED

    async def test_the_window_is_counted_on_the_card(self, desk: Desk) -> None:
        desk.x.left, desk.x.reset = 8, int(desk.clock()) + 900
        await desk.post(posting("one"))

        details = await desk.show(posting("two", call_id="c2"))

        assert "7 in 15 minutes" in [line.text for line in details.lines]

    async def test_no_one_is_asked_when_the_window_is_used_up(self, desk: Desk) -> None:
        desk.x.left, desk.x.reset = 1, int(desk.clock()) + 900
        await desk.post(posting("one"))

        with pytest.raises(ToolError) as raised:
            await desk.show(posting("two", call_id="c2"))

        assert raised.value.code == "RateLimited"

    async def test_out_of_reach_is_not_posted(self, desk: Desk) -> None:
        await desk.show(posting())
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            desk.poster = elsewhere(desk, f"http://127.0.0.1:{taken.getsockname()[1]}")

            outcome = await desk.run(posting())

        assert (outcome.code, "could not be reached" in outcome.text) == ("NetworkError", True)


def elsewhere(desk: Desk, url: str) -> Poster:
    from bot.tools.credentials import Credentials

    return Poster(
        store=desk.store,
        http=httpx.AsyncClient(trust_env=False),
        credentials=Credentials(desk.folder / "credentials"),
        work_dir=desk.work_dir,
        api_url=url,
        now=desk.clock,
    )


class TestUnknown:
    @pytest.fixture(params=["silent", "broken"])
    def how(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    async def test_no_answer_is_unknown_and_never_sent_again(self, desk: Desk, how: str) -> None:
        setattr(desk.x, how, True)

        outcomes = [await desk.post(posting()), await desk.run(posting())]

        assert {outcome.code for outcome in outcomes} == {"UnknownError"}
        assert "look at the profile: https://x.com/kai_demo" in outcomes[0].text
        assert desk.x.asked.count("/2/tweets") == 1

    async def test_asking_again_is_warned_about(self, desk: Desk, how: str) -> None:
        setattr(desk.x, how, True)
        await desk.post(posting())

        details = await desk.show(posting(call_id="c2"))

        assert "may be out already" in details.warnings[0]

    async def test_a_doubt_that_came_after_the_card_makes_a_new_one(self, desk: Desk, how: str) -> None:
        shown = await desk.show(posting(call_id="c2"))
        setattr(desk.x, how, True)
        await desk.post(posting())
        setattr(desk.x, how, False)

        outcome = await desk.run(posting(call_id="c2"))
        again = await desk.show(posting(call_id="c2"))

        assert (outcome.code, desk.x.asked.count("/2/tweets")) == ("not_executed", 1)
        assert (again.fingerprint != shown.fingerprint, len(again.warnings)) == (True, 1)

    async def test_a_duplicate_afterwards_means_that_it_was_posted(self, desk: Desk, how: str) -> None:
        setattr(desk.x, how, True)
        await desk.post(posting())
        setattr(desk.x, how, False)

        outcome = await desk.post(posting(call_id="c2"))

        assert (outcome.code, "did go out" in outcome.text) == ("Duplicate", True)
        assert await desk.state(posting()) is PostState.POSTED
        assert len(desk.x.posts) == 1

    async def test_a_stop_in_the_middle_still_learns_the_end(self, desk: Desk) -> None:
        await desk.show(posting())
        running = asyncio.create_task(desk.run(posting()))
        while "/2/tweets" not in desk.x.asked:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        for _ in range(200):
            if await desk.state(posting()) is PostState.POSTED:
                break
            await asyncio.sleep(0.01)

        assert await desk.state(posting()) is PostState.POSTED

    async def test_after_a_restart_in_the_middle_it_is_unknown(self, desk: Desk) -> None:
        await desk.show(posting())
        await desk.store.sending_post("c1", at=desk.clock())

        outcome = await desk.run(posting())

        assert (outcome.code, desk.x.posts) == ("UnknownError", [])


@pytest.mark.parametrize(
    ("given", "url", "wrong"),
    [
        ("", "https://api.x.com", 0),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9", 0),
        ("ftp://x.example", "https://api.x.com", 1),
        ("x.example", "https://api.x.com", 1),
    ],
)
def test_the_address_of_the_api_is_a_setting(given: str, url: str, wrong: int) -> None:
    read, problems = x_api_url({"X_API_URL": given})

    assert (read, len(problems)) == (url, wrong)
