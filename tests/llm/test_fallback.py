"""Requirements F4 to F9."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.clock import SettableClock
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.llm.cooldowns import COOLDOWN, REJECTED_COOLDOWN, Cooldowns, Rest
from bot.llm.fallback import Entry, Fallback, Link, Seam
from tests.llm.samples import Scripted, asking, hear

BUSY = LLMUnavailable("busy")
PASSING = [BUSY, LLMMalformed("cut"), *(LLMRejected("no", reason=r) for r in ("auth", "quota", "model", "too_long", "bad_request"))]  # fmt: skip  # noqa: E501


def chain(*clients: Scripted, now: SettableClock | None = None) -> Fallback:
    names = "abcdef"
    entries = [Entry(f"acme:{names[i]}", client) for i, client in enumerate(clients)]
    return Fallback(entries, now=now or SettableClock())


@pytest.mark.parametrize("error", PASSING, ids=lambda error: getattr(error, "reason", type(error).__name__))
async def test_the_next_takes_over(error: LLMError) -> None:
    heard = await hear(chain(Scripted([error]), Scripted(["hi"])))

    assert heard.message.text == "hi"


async def test_a_refusal_of_the_content_ends_the_chain() -> None:
    second = Scripted(["hi"])

    with pytest.raises(LLMRejected):
        await hear(chain(Scripted([LLMRejected("no", reason="refused")]), second))

    assert second.prompts == []


async def test_the_error_says_why_each_was_skipped() -> None:
    clients = Scripted([LLMRejected("bad key", reason="auth")]), Scripted([LLMMalformed("cut")])

    with pytest.raises(LLMError, match="acme:a: bad key; acme:b: cut"):
        await hear(chain(*clients))


async def test_one_failure_alone_goes_up_as_it_is() -> None:
    with pytest.raises(LLMUnavailable) as caught:
        await hear(chain(Scripted([BUSY])))

    assert caught.value is BUSY


async def test_a_transcript_too_long_for_all_is_said_so_that_it_can_be_shortened() -> None:
    with pytest.raises(LLMRejected) as caught:
        await hear(chain(Scripted([LLMRejected("x", reason="too_long")]), Scripted([BUSY])))

    assert caught.value.reason == "too_long"


async def test_a_client_that_failed_rests_and_comes_back() -> None:
    now = SettableClock()
    first, second = Scripted([BUSY], ["one"]), Scripted(["two"], ["two"])
    client = chain(first, second, now=now)

    said = [(await hear(client)).message.text, (await hear(client)).message.text]
    now.advance(COOLDOWN + 1)
    said.append((await hear(client)).message.text)

    assert said == ["two", "two", "one"]


async def test_rest_grows_with_failures_in_a_row_and_ends_with_a_success() -> None:
    now = SettableClock()
    first = Scripted([BUSY], [BUSY], ["one"], [BUSY], ["one"])
    client = chain(first, Scripted(*[["two"]] * 9), now=now)
    said = []

    for pause in (0, COOLDOWN, COOLDOWN, COOLDOWN, 0, COOLDOWN):
        now.advance(pause)
        said.append((await hear(client)).message.text)

    assert said == ["two", "two", "two", "one", "two", "one"]


@pytest.mark.parametrize("reason", ["auth", "quota", "model"])
async def test_a_refused_key_rests_for_long(reason: str) -> None:
    now = SettableClock()
    first = Scripted([LLMRejected("no", reason=reason)], ["one"])
    client = chain(first, Scripted(*[["two"]] * 3), now=now)

    await hear(client)
    now.advance(REJECTED_COOLDOWN - 1)
    await hear(client)

    assert len(first.prompts) == 1


@pytest.mark.parametrize("reason", ["bad_request", "too_long"])
async def test_a_request_that_was_our_fault_makes_nobody_rest(reason: str) -> None:
    first = Scripted([LLMRejected("no", reason=reason)], ["one"])
    client = chain(first, Scripted(["two"]))

    await hear(client)

    assert (await hear(client)).message.text == "one"


async def test_when_all_rest_the_one_that_is_due_first_is_asked() -> None:
    first = Scripted([LLMUnavailable("busy", retry_after=100)], [])
    second = Scripted([BUSY], ["hi"])
    client = chain(first, second)
    with pytest.raises(LLMUnavailable) as caught:
        await hear(client)

    heard = await hear(client)

    assert heard.message.text == "hi"
    assert caught.value.retry_after == COOLDOWN


async def test_what_was_shown_is_not_shown_again_when_the_next_says_the_same() -> None:
    heard = await hear(chain(Scripted(["The disk", " is", BUSY]), Scripted(["The ", "disk is full."])))

    assert heard.message.text == "The disk is full."


async def test_another_wording_follows_after_a_blank_line() -> None:
    heard = await hear(chain(Scripted(["The disk", BUSY]), Scripted(["Your ", "disk is full."])))

    assert heard.message.text == "The disk\n\nYour disk is full."


PIECES = st.lists(st.text("ab ", min_size=1, max_size=3), max_size=5)


@settings(max_examples=200)
@given(PIECES, PIECES)
def test_a_seam_never_repeats_what_was_shown(shown: list[str], following: list[str]) -> None:
    before, whole = "".join(shown), "".join(following)
    seam = Seam(before)

    joined = "".join(seam.feed(piece) for piece in following) + seam.finish()

    if whole.startswith(before):
        assert before + joined == whole
    elif before.startswith(whole):
        assert joined == ""
    else:
        assert joined == f"\n\n{whole}"


TRIES = st.one_of(
    st.builds(lambda text, error: [*text, error], PIECES, st.sampled_from(PASSING)), PIECES.map(list)
)


@settings(max_examples=200)
@given(st.lists(TRIES, min_size=1, max_size=4))
async def test_any_sequence_of_failures_gives_one_reply_or_one_error(
    tries: list[list[str | Exception]],
) -> None:
    events: list[TextDelta | LLMResponse] = []
    failed = False

    try:
        async for event in chain(*(Scripted(one) for one in tries)).stream(asking()):
            events.append(event)
    except LLMError:
        failed = True

    responses = [event for event in events if isinstance(event, LLMResponse)]
    assert len(responses) == (0 if failed else 1)
    if responses:
        shown = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert responses[0].message.text == shown


async def test_the_neutral_prompt_is_what_the_next_gets() -> None:
    """Requirement F8: it is written anew for the next wire; nothing runs between the two."""
    second, prompt = Scripted(["hi"]), asking()

    await hear(chain(Scripted([BUSY]), second), prompt)

    assert second.prompts[0] is prompt


async def test_native_tools_are_those_of_the_client_that_is_asked() -> None:
    """Requirement N2."""
    client = chain(Scripted([BUSY], native=True), Scripted(["hi"], native=False))

    before = client.supports_native_tools
    await hear(client)

    assert (before, client.supports_native_tools) == (True, False)


async def test_a_transcript_too_long_for_one_is_given_to_those_with_a_larger_window_only() -> None:
    """Requirement F4."""
    too_long = LLMRejected("x", reason="too_long")
    same, larger = Scripted(["no"]), Scripted(["hi"])
    client = Fallback(
        [
            Entry("a:1", Scripted([too_long]), window=100),
            Entry("a:2", same, window=100),
            Entry("a:3", larger, window=200),
        ]
    )

    heard = await hear(client)

    assert (heard.message.text, same.prompts) == ("hi", [])


async def test_a_transcript_too_long_for_the_largest_window_says_so_and_why_each_was_skipped() -> None:
    too_long = LLMRejected("x", reason="too_long")
    client = Fallback([Entry("a:1", Scripted([too_long]), window=9), Entry("a:2", Scripted(), window=9)])

    with pytest.raises(LLMRejected, match="a:1: x; a:2: its window of 9 tokens is no larger") as caught:
        await hear(client)

    assert caught.value.reason == "too_long"


async def test_an_entry_that_takes_no_tools_is_asked_only_when_there_are_none() -> None:
    """Requirement F6."""
    first = Scripted(["text"])
    client = Fallback([Entry("a:1", first, takes_tools=False), Entry("a:2", Scripted(["tools"]))])

    with_tools = (await hear(client)).message.text
    without = (await hear(client, asking(tools=()))).message.text

    assert (with_tools, without) == ("tools", "text")


class Slow(Scripted):
    """Takes its time before it fails."""

    def __init__(self, now: SettableClock, seconds: float) -> None:
        super().__init__()
        self._now, self._seconds = now, seconds

    async def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        self._now.advance(self._seconds)
        raise BUSY
        yield TextDelta("")


async def test_after_the_total_deadline_nobody_else_is_begun_with() -> None:
    """Requirement F7."""
    now, last = SettableClock(), Scripted(["hi"])
    entries = [Entry("a:1", Slow(now, 11)), Entry("a:2", last)]

    with pytest.raises(LLMUnavailable, match="a:2: not asked, 10 s were over"):
        await hear(Fallback(entries, now=now, deadline=10))

    assert last.prompts == []


async def test_chains_that_share_their_rests_leave_alone_what_failed_in_another() -> None:
    """Requirement F5."""
    now = SettableClock()
    rests = Cooldowns(now=now)
    first = Scripted([BUSY])
    for _ in range(2):
        chain = Fallback(
            [Entry("a:1", first, "k"), Entry("a:2", Scripted(["hi"]), "k")], now=now, cooldowns=rests
        )
        await hear(chain)

    assert len(first.prompts) == 1


@pytest.mark.parametrize(
    ("error", "resting"),
    [
        (LLMRejected("no", reason="auth"), ["a:1", "a:2"]),
        (LLMRejected("no", reason="quota"), ["a:1", "a:2"]),
        (LLMRejected("no", reason="model"), ["a:1"]),
        (BUSY, ["a:1"]),
        (LLMRejected("no", reason="too_long"), []),
        (LLMRejected("no"), []),
        (LLMMalformed("cut"), []),
    ],
)
def test_what_rests_is_what_the_failure_was_about(error: LLMError, resting: list[str]) -> None:
    rests = Cooldowns(now=SettableClock())

    rests.failed("a:1", "key", error)

    asked = [("a:1", "key"), ("a:2", "key"), ("a:1x", "other key")]
    assert [model for model, key in asked if rests.rest(model, key)] == resting


def test_the_longest_wait_asked_for_is_kept_and_a_success_ends_it() -> None:
    rests = Cooldowns(now=SettableClock())

    rests.failed("a:1", "key", LLMUnavailable("busy", retry_after=500))
    asked = rests.rest("a:1", "key")
    rests.succeeded("a:1", "key")

    assert (asked, rests.rest("a:1", "key")) == (500, 0)


async def test_how_the_chain_stands_can_be_read() -> None:
    now = SettableClock(1000.0)
    slow_down = LLMUnavailable("acme answered 429: slow down, sk-… is over its limit", retry_after=90)
    client = chain(Scripted([slow_down]), Scripted(["hi"], ["hi"]), Scripted(), now=now)
    before = client.links()

    await hear(client)
    resting = client.links()
    now.advance(91)
    after = client.links()

    assert before == [Link("acme:a"), Link("acme:b"), Link("acme:c")]
    rest = Rest(until=1090.0, why="acme answered 429", failures=1)
    assert resting == [Link("acme:a", rest=rest), Link("acme:b", answered=1000.0), Link("acme:c")]
    assert after == [Link("acme:a"), Link("acme:b", answered=1000.0), Link("acme:c")]


async def test_only_the_newest_answer_is_the_last() -> None:
    now = SettableClock(1000.0)
    client = chain(Scripted([BUSY], ["one"]), Scripted(["two"]), now=now)
    await hear(client)
    now.advance(COOLDOWN + 1)

    await hear(client)

    assert client.links() == [Link("acme:a", answered=1031.0), Link("acme:b")]


def test_the_longer_rest_of_a_model_and_its_key_is_the_one_that_counts() -> None:
    rests = Cooldowns(now=SettableClock(1000.0))

    rests.failed("a:1", "key", LLMUnavailable("a answered 500"))
    rests.failed("a:2", "key", LLMRejected("a refused the key (401)", reason="auth"))

    [first, second] = [rests.resting(model, "key") for model in ("a:1", "a:2")]
    assert first == second == Rest(1000 + REJECTED_COOLDOWN, "a refused the key (401)")
    assert rests.resting("a:1", "other key") is None
