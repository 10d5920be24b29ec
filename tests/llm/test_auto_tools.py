from bot.demo.model_server import Reply
from bot.llm.auto_tools import AutoTools
from bot.llm.text_tools import TextTools
from tests.llm.samples import asking, hear, line, one_step


async def test_a_model_that_takes_no_tools_is_asked_in_text_in_the_same_turn_and_from_then_on() -> None:
    """Requirements N2 and N3."""
    uptime = Reply('<tool_use>{"name": "uptime", "arguments": {}}</tool_use>')
    async with line("openai", [uptime, Reply("Up.")], model="scripted-text") as here:
        client = AutoTools(here.client, TextTools(here.client))
        before = client.supports_native_tools

        first = await hear(client)
        second = await hear(client, asking(*one_step()))

    assert (before, client.supports_native_tools) == (True, False)
    assert [call.name for call in first.message.tool_calls] == ["uptime"]
    assert second.message.text == "Up."
    assert len(here.server.refusals) == 1


async def test_a_model_that_takes_tools_gets_them() -> None:
    async with line("openai", [Reply("Hi.")]) as here:
        await hear(AutoTools(here.client, TextTools(here.client)))

    assert here.server.requests[0].tools
