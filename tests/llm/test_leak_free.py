from dataclasses import replace

from bot.demo.model_server import Reply, call
from bot.llm.base import LLMClient
from bot.llm.leak_free import LeakFree
from tests.llm.samples import Heard, Scripted, hear, line

LEAK = '<tool_call>\n{"name": "uptime", "arguments": {}}\n</tool_call>'


async def heard(reply: Reply, kind: str = "openai") -> Heard:
    async with line(kind, [reply]) as here:
        client: LLMClient = LeakFree(here.client)
        return await hear(client)


async def test_markup_in_the_text_of_a_native_client_is_not_shown() -> None:
    """Requirement P11."""
    one = await heard(Reply(f"Looking.\n{LEAK}", chunk=2))

    assert one.message.text.strip() == "Looking."


async def test_a_leaked_call_counts_when_there_is_no_native_one() -> None:
    one = await heard(Reply(LEAK))

    assert [call.name for call in one.message.tool_calls] == ["uptime"]
    assert one.response.stop_reason == "tool_calls"


async def test_a_leaked_call_beside_a_native_one_is_left_out() -> None:
    one = await heard(Reply(LEAK, [call("uptime")]))

    assert [call.provider_id for call in one.message.tool_calls] == ["call_1_0"]


async def test_a_leak_that_cannot_be_read_is_a_problem() -> None:
    one = await heard(Reply('<tool_call>{"name": "uptime", "arguments": {"a": </tool_call>'))

    assert one.response.problem is not None
    assert one.message.tool_calls == ()


async def test_json_in_a_fence_is_for_reading() -> None:
    text = 'So:\n```json\n{"name": "uptime", "arguments": {}}\n```'

    one = await heard(Reply(text))

    assert (one.message.text, one.message.tool_calls, one.response.problem) == (text, (), None)


async def test_an_example_in_a_fence_is_no_problem() -> None:
    text = f"```\n{LEAK}\n```"

    one = await heard(Reply(text))

    assert (one.message.text, one.response.problem) == (text, None)


async def test_plain_text_passes_byte_for_byte() -> None:
    text = "\n Naïve <b>bold</b> & `x < y` [1]\n\n"

    assert (await heard(Reply(text, chunk=3))).message.text == text


async def test_thinking_stays_with_its_reply() -> None:
    one = await heard(Reply("Looking.\n\n", [call("uptime")], thinking="hm"), "anthropic")

    assert one.message.opaque is not None
    assert replace(one.message, tool_calls=(), opaque=None).text == "Looking.\n\n"


def test_native_tools_are_those_of_the_inner_client() -> None:
    assert LeakFree(Scripted()).supports_native_tools
