import json

import httpx
import pytest

from bot.demo.model_server import KEY, ModelServer, Reply, Traits, call, serve_model
from bot.errors import LLMRejected
from bot.llm import ids
from bot.llm.openai_chat import ChatQuirks, OpenAIChat, add_details, read_usage
from bot.llm.refusals import ToolsUnsupported
from bot.messages import AssistantMessage, Message, Notice, Opaque, ToolCall, ToolResult, Usage, UserMessage
from tests.llm.samples import asking, hear, line, one_step


async def talk(
    server: ModelServer,
    *prompts: list[Message],
    quirks: ChatQuirks = ChatQuirks(),  # noqa: B008 - a frozen value
    model: str = "scripted",
    max_tokens: int | None = None,
) -> list[str]:
    """Ask for each prompt with one client; return the texts."""
    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = OpenAIChat(
            http,
            provider="custom",
            base_url=f"{url}/v1/",
            key=KEY,
            model=model,
            max_tokens=max_tokens,
            quirks=quirks,
        )
        return [(await hear(client, asking(*prompt))).message.text for prompt in prompts]


HELLO: list[Message] = [UserMessage("hello")]


@pytest.mark.parametrize("first", ["max_tokens", "max_completion_tokens"])
async def test_a_token_limit_refused_by_name_is_sent_under_the_other_from_then_on(first: str) -> None:
    """Requirement N8."""
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[first]
    server = ModelServer([Reply("one"), Reply("two")], models={"scripted": Traits(limit_parameter=other)})

    said = await talk(server, HELLO, HELLO, quirks=ChatQuirks(limit_parameter=first), max_tokens=500)

    assert said == ["one", "two"]
    assert len(server.refusals) == 1
    assert [request.body[other] for request in server.requests] == [500, 500]


async def test_only_one_corrected_request_follows_a_refusal() -> None:
    error = "Unsupported parameter: 'stream_options'"
    server = ModelServer(lambda request: Reply(status=400, error=error))

    with pytest.raises(LLMRejected):
        await talk(server, HELLO)

    assert ["stream_options" in request.body for request in server.requests] == [True, False]


async def test_a_server_that_does_not_know_stream_options_is_asked_without_them_from_then_on() -> None:
    error = "[{'loc': ['body', 'stream_options'], 'msg': 'Extra inputs are not permitted'}]"
    server = ModelServer([Reply(status=422, error=error), Reply("one"), Reply("two")])

    said = await talk(server, HELLO, HELLO)

    assert said == ["one", "two"]
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_model_that_takes_tools_only_without_reasoning_is_asked_not_to_reason() -> None:
    error = "Function tools with reasoning_effort are not supported for scripted in /v1/chat/completions."
    server = ModelServer([Reply(status=400, error=error), Reply("one"), Reply("two")])

    said = await talk(server, HELLO, HELLO)

    assert said == ["one", "two"]
    assert [request.body.get("reasoning_effort") for request in server.requests] == [None, "none", "none"]


async def test_no_token_limit_is_sent_unless_there_is_one() -> None:
    server = ModelServer([Reply("one")])

    await talk(server, HELLO)

    assert not {"max_tokens", "max_completion_tokens"} & set(server.requests[0].body)


async def test_a_model_without_tools_says_so_in_an_error_of_its_own() -> None:
    server = ModelServer([])

    with pytest.raises(ToolsUnsupported):
        await talk(server, HELLO, model="scripted-text")


async def test_mistral_gets_nine_letters_and_a_word_between_tool_and_user() -> None:
    """Requirement N7."""
    server = ModelServer(
        [Reply("fine")], models={"scripted": Traits(ids=ids.MISTRAL.pattern, alternates=True)}
    )
    quirks = ChatQuirks(user_after_tool=False, id_style=ids.MISTRAL)

    said = await talk(server, [*one_step(), Notice("careful", "loop")], quirks=quirks)

    assert (said, server.refusals) == (["fine"], [])


async def test_deepseek_gets_reasoning_with_every_call_even_if_there_was_none() -> None:
    """Requirement N6."""
    server = ModelServer([Reply("fine")])

    await talk(server, one_step(), quirks=ChatQuirks(reasoning_required=True))

    [assistant] = [m for m in server.requests[0].body["messages"] if m["role"] == "assistant"]
    assert assistant["reasoning_content"] == ""


async def test_reasoning_goes_back_with_its_reply() -> None:
    async with line(
        "openai", [Reply("Let me see.", [call("uptime")], thinking="hm", chunk=1), Reply("Up.")]
    ) as here:
        transcript: list[Message] = [UserMessage("is it up?")]
        message = (await hear(here.client, asking(*transcript))).message
        transcript += [message, ToolResult(message.tool_calls[0].id, "yes")]
        await hear(here.client, asking(*transcript))

    [assistant] = [m for m in here.server.requests[-1].body["messages"] if m["role"] == "assistant"]
    assert assistant["reasoning_content"] == "hm"


async def test_reasoning_of_another_provider_stays_away() -> None:
    foreign = Opaque("deepseek", "scripted", ({"prefix": "x"}, {"reasoning_content": "secret"}))

    async with line("openai", [Reply("fine")]) as here:
        await hear(
            here.client, asking(UserMessage("a"), AssistantMessage("b", opaque=foreign), UserMessage("c"))
        )

    assert "secret" not in str(here.server.requests[0].body)


async def test_arguments_go_back_as_valid_json_even_where_they_could_not_be_read() -> None:
    """Requirement N10."""
    broken = ToolCall("uptime", {}, id="0123456789abcdef", problem="not JSON")

    async with line("openai", [Reply("fine")]) as here:
        await hear(
            here.client,
            asking(
                UserMessage("a"), AssistantMessage("", (broken,)), ToolResult(broken.id, "bad", is_error=True)
            ),
        )

    [assistant] = [m for m in here.server.requests[0].body["messages"] if m["role"] == "assistant"]
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {}


@pytest.mark.parametrize(
    "events",
    [
        ['{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'],
        ['{"choices":[{"delta":{"content":"Hi"}}]}', "[DONE]"],
        [
            '{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}',
            '{"choices":null,"usage":{"prompt_tokens":1}}',
        ],
        ['{"choices":[{"delta":{"content":[{"type":"text","text":"Hi"}]},"finish_reason":"stop"}]}'],
        ['{"choices":[{"delta":{"refusal":"Hi"},"finish_reason":"stop"}]}'],
        ['{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'],
    ],
    ids=["no DONE", "no finish", "usage last", "parts", "refusal", "whole message"],
)  # fmt: skip
async def test_a_reply_ends_in_many_ways(events: list[str]) -> None:
    async with line("openai", [Reply(events=events)]) as here:
        heard = await hear(here.client)

    assert heard.message.text == "Hi"


async def test_calls_count_though_the_finish_reason_denies_them() -> None:
    """Requirement N11: what finished is derived from what came."""
    async with line("openai", [Reply(calls=[call("uptime")], finish="stop")]) as here:
        heard = await hear(here.client)

    assert heard.response.stop_reason == "tool_calls"


async def test_a_filtered_reply_is_a_refusal() -> None:
    async with line("openai", [Reply("No.", finish="content_filter")]) as here:
        heard = await hear(here.client)

    assert heard.response.stop_reason == "refusal"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=whole))

    async with httpx.AsyncClient(transport=transport) as http:
        heard = await hear(OpenAIChat(http, provider="custom", base_url="http://x", key="", model="m"))

    assert (heard.message.text, heard.response.usage) == ("Hi.", Usage(3, 1))


async def test_without_a_key_no_authorization_is_sent() -> None:
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(
            200, json={"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        await hear(OpenAIChat(http, provider="ollama", base_url="http://x", key="", model="m"))

    assert "authorization" not in seen[0]


def test_streamed_reasoning_details_are_joined_by_type_and_index() -> None:
    details: list[dict[str, object]] = []

    add_details(details, [{"type": "reasoning.text", "index": 0, "text": "a", "signature": None}])
    add_details(details, [{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}])
    add_details(details, [{"type": "reasoning.encrypted", "index": 1, "data": "x"}])

    assert details == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


def test_usage_reads_cached_and_reasoning_tokens() -> None:
    usage = read_usage(
        {
            "prompt_tokens": 9,
            "completion_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 7},
            "completion_tokens_details": {"reasoning_tokens": 6},
        }
    )

    assert usage == Usage(9, 8, cache_read=7, reasoning=6)


def test_usage_reads_null_as_nothing() -> None:
    usage = read_usage({"prompt_tokens": None, "prompt_tokens_details": None})

    assert usage == Usage()
