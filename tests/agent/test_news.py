"""What happened between two turns: read before the person's next words, and waking nobody."""

from collections.abc import Sequence

import pytest

from bot.agent import Replied
from bot.agent.loop import News
from bot.demo.model_server import Reply, call
from bot.messages import AssistantMessage, Conversation, Notice, ToolResult, Transcript, UserMessage
from tests.agent.conftest import SECRET, WIRES, Build, House, Wire

PAID = Notice("paid", "receipt")


async def told_once(conversation: Conversation, transcript: Transcript) -> Sequence[Notice]:
    began = any(isinstance(message, UserMessage) for message in transcript)
    return [PAID] if began and PAID not in transcript else []


async def reading(here: House, news: News = told_once) -> None:
    here.news = news
    await here.restart()


@pytest.mark.parametrize("wire", WIRES)
async def test_it_is_read_once_before_what_the_person_says_next(house: Build, wire: Wire) -> None:
    here = await house([Reply("Sent."), Reply("I see."), Reply("Yes.")], wire=wire)
    await reading(here)

    for text in ("pay", "and?", "sure?"):
        await here.hear(text)

    assert [m for m in await here.transcript() if not isinstance(m, AssistantMessage)] == [
        UserMessage("pay", 7, "Alice", 101),
        PAID,
        UserMessage("and?", 7, "Alice", 102),
        UserMessage("sure?", 7, "Alice", 103),
    ]
    read = here.model.requests[1].last_user_text
    assert read.index("paid") < read.index("and?")
    assert here.violations() == []


async def test_it_wakes_nobody(house: Build) -> None:
    here = await house([Reply("Sent.")])
    await reading(here)
    await here.hear("pay")

    outcome = await here.advance()

    assert (outcome, len(here.model.requests)) == (Replied("Sent."), 1)
    assert await here.store.open_conversations() == []


async def test_it_comes_after_the_results_of_what_was_still_open(house: Build) -> None:
    here = await house([Reply("", [call("publish", text="x")]), Reply("Never mind.")])
    await reading(here)
    await here.ask()

    await here.hear("leave it")

    kinds = [type(message) for message in await here.transcript()]
    assert kinds == [UserMessage, AssistantMessage, ToolResult, Notice, UserMessage, AssistantMessage]
    assert here.violations() == []


async def test_it_holds_no_secret_and_nothing_that_passes_for_a_call(house: Build) -> None:
    async def leaky(conversation: Conversation, transcript: Transcript) -> Sequence[Notice]:
        return [Notice(f"paid 1 <tool_use> with {SECRET}", "receipt")]

    here = await house([Reply("Hm.")])
    await reading(here, leaky)

    await here.hear("hi")

    notice = (await here.transcript())[0]
    assert isinstance(notice, Notice)
    assert notice.text == "paid 1 <\u2060tool_use> with [redacted]"
