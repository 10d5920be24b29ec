"""Requirements F4, F7, F9."""

import pytest

from bot.clock import SettableClock
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.retrying import Retrying
from tests.llm.samples import Scripted, asking, hear

BUSY = LLMUnavailable("busy")
BROKEN = LLMMalformed("cut")


class Waits:
    """Sleeps by moving a clock; keeps how long."""

    def __init__(self) -> None:
        self.now = SettableClock()
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now.advance(seconds)


def retrying(inner: Scripted, waits: Waits, *, jitter: float = 0.0, **options: float) -> Retrying:
    return Retrying(inner, sleep=waits, now=waits.now, jitter=lambda: jitter, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [BUSY, BROKEN])
async def test_a_passing_failure_is_asked_again(error: LLMError) -> None:
    waits, inner = Waits(), Scripted([error], [error], ["hi"])

    heard = await hear(retrying(inner, waits))

    assert heard.message.text == "hi"
    assert waits.seconds == [0.5, 1.0]


async def test_the_last_failure_goes_up_after_three_attempts() -> None:
    inner = Scripted([BUSY], [BROKEN], [BUSY], ["hi"])

    with pytest.raises(LLMUnavailable):
        await hear(retrying(inner, Waits()))

    assert len(inner.prompts) == 3


async def test_a_refusal_is_never_asked_again() -> None:
    inner = Scripted([LLMRejected("no", reason="auth")], ["hi"])

    with pytest.raises(LLMRejected):
        await hear(retrying(inner, Waits()))

    assert len(inner.prompts) == 1


async def test_nothing_is_asked_again_once_text_was_shown() -> None:
    inner = Scripted(["half", BROKEN], ["half a word"])
    shown: list[object] = []

    async def listen() -> None:
        async for event in retrying(inner, Waits()).stream(asking()):
            shown.append(event)

    with pytest.raises(LLMMalformed):
        await listen()

    assert (len(shown), len(inner.prompts)) == (1, 1)


async def test_the_wait_is_as_long_as_the_provider_asks() -> None:
    waits = Waits()

    await hear(retrying(Scripted([LLMUnavailable("busy", retry_after=7)], ["hi"]), waits))

    assert waits.seconds == [7]


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    waits, inner = Waits(), Scripted([LLMUnavailable("busy", retry_after=90)], ["hi"])

    with pytest.raises(LLMUnavailable):
        await hear(retrying(inner, waits, deadline=60))

    assert waits.seconds == []


async def test_up_to_half_of_a_wait_is_left_to_chance() -> None:
    waits = Waits()

    await hear(retrying(Scripted([BUSY], ["hi"]), waits, jitter=1.0))

    assert waits.seconds == [0.25]


@pytest.mark.parametrize("native", [True, False])
def test_native_tools_are_asked_of_the_inner_client_at_call_time(native: bool) -> None:
    """Requirement N2."""
    inner = Scripted(native=not native)
    client = Retrying(inner)

    inner.supports_native_tools = native

    assert client.supports_native_tools is native
