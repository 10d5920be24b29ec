from bot.llm.base import Prompt
from bot.llm.sequence import enveloped
from bot.messages import ToolCall, ToolResult


def test_without_a_nonce_a_result_is_left_as_it_is() -> None:
    call = ToolCall("uptime", {})

    text = enveloped(Prompt("", ()), 1, [(call, ToolResult(call.id, "up 3 days"))])

    assert "up 3 days" in text
