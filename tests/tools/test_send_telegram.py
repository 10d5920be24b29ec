"""X9: to whom the model may write."""

import pytest

from bot.messages import Conversation, ToolCall
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.send_telegram import send_telegram
from tests.tools.conftest import HERE

Sent = list[tuple[Conversation, str]]


@pytest.fixture
def sent() -> Sent:
    return []


async def send(sent: Sent, context: ToolContext, **arguments: object) -> ToolOutcome:
    async def deliver(conversation: Conversation, text: str) -> None:
        sent.append((conversation, text))

    tools = Tools([send_telegram(deliver, {5, -100}.__contains__)])
    return await tools.run(ToolCall("send_telegram", arguments), context)


async def test_a_chat_on_the_list_is_written_to(sent: Sent, context: ToolContext) -> None:
    outcome = await send(sent, context, chat_id=-100, text="hello")

    assert sent == [(Conversation(-100), "hello")]
    assert not outcome.is_error


async def test_the_current_chat_is_written_to_in_its_topic(sent: Sent, context: ToolContext) -> None:
    await send(sent, context, chat_id=HERE.chat_id, text="hello")

    assert sent == [(HERE, "hello")]


async def test_any_other_chat_is_denied(sent: Sent, context: ToolContext) -> None:
    outcome = await send(sent, context, chat_id=6, text="hello")

    assert (outcome.code, sent) == ("Denied", [])


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_message_is_not_sent(sent: Sent, context: ToolContext, text: str) -> None:
    outcome = await send(sent, context, chat_id=5, text=text)

    assert (outcome.code, sent) == ("InvalidArgs", [])
