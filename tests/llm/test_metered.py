import pytest

from bot.errors import LLMUnavailable
from bot.llm.metered import Metered
from bot.messages import Usage
from tests.llm.samples import Scripted, hear


async def test_the_usage_of_a_reply_is_reported_once() -> None:
    seen: list[tuple[str, Usage]] = []

    await hear(Metered(Scripted(["hi", " there"]), lambda model, usage: seen.append((model, usage))))

    assert seen == [("scripted", Usage(1, 2))]


async def test_a_failed_reply_is_not_reported() -> None:
    seen: list[Usage] = []

    with pytest.raises(LLMUnavailable):
        await hear(Metered(Scripted(["hi", LLMUnavailable("x")]), lambda model, usage: seen.append(usage)))

    assert seen == []


def test_native_tools_are_those_of_the_inner_client() -> None:
    assert not Metered(Scripted(native=False), lambda model, usage: None).supports_native_tools
