"""What every client promises, whichever API is behind it and whichever way its tool calls travel."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.model_server import ModelRequest, Reply, ScriptedCall, call
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.messages import (
    AssistantMessage,
    Message,
    Notice,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tests.llm.samples import ALL, JPEG, NATIVE, PNG, TOOLS, asking, connect, hear, line, one_step

every_client = pytest.mark.parametrize("kind", ALL)
native_client = pytest.mark.parametrize("kind", NATIVE)
UNCOUNTED = ("ollama", "stackspot as text")
"""Wires that say nothing of cached tokens."""

CHUNKS = [Reply(chunk=1), Reply(chunk=3, write=7), Reply(write=1), Reply(chunk=2, write=5), Reply()]


def simple(calls: tuple[ToolCall, ...]) -> list[tuple[str, object]]:
    return [(call.name, dict(call.arguments)) for call in calls]


@every_client
@pytest.mark.parametrize("cut", CHUNKS, ids=lambda reply: f"{reply.chunk}-{reply.write}")
async def test_text_arrives_whole_however_it_is_cut(kind: str, cut: Reply) -> None:
    text = "Naïve café 👩‍👩‍👧 is up.\n\nAll 3 of them."

    async with line(kind, [replace(cut, text=text)]) as here:
        heard = await hear(here.client)

    assert heard.message.text == text
    assert heard.response.stop_reason == "end"


@every_client
async def test_text_arrives_as_it_is_said(kind: str) -> None:
    async with line(kind, [Reply("one two three", chunk=4, pace=0.01)]) as here:
        heard = await hear(here.client)

    assert len(heard.deltas) > 1


@every_client
@pytest.mark.parametrize("cut", CHUNKS, ids=lambda reply: f"{reply.chunk}-{reply.write}")
async def test_a_call_arrives_whole_however_it_is_cut(kind: str, cut: Reply) -> None:
    reply = replace(cut, text="Looking.", calls=[call("run_in_terminal", command='echo "é" && ls')])

    async with line(kind, [reply]) as here:
        heard = await hear(here.client)

    assert heard.message.text.strip() == "Looking."
    assert simple(heard.message.tool_calls) == [("run_in_terminal", {"command": 'echo "é" && ls'})]
    assert heard.response.stop_reason == "tool_calls"


@every_client
async def test_a_call_without_text_is_a_reply(kind: str) -> None:
    async with line(kind, [Reply(calls=[call("uptime")])]) as here:
        heard = await hear(here.client)

    assert (heard.message.text, simple(heard.message.tool_calls)) == ("", [("uptime", {})])


@every_client
async def test_several_calls_keep_their_order_and_get_ids_of_their_own(kind: str) -> None:
    asked = [call("web_search", query="a"), call("uptime"), call("web_search", query="b")]

    async with line(kind, [Reply(calls=asked, chunk=3)]) as here:
        heard = await hear(here.client)

    calls = heard.message.tool_calls
    assert simple(calls) == [("web_search", {"query": "a"}), ("uptime", {}), ("web_search", {"query": "b"})]
    assert len({one.id for one in calls}) == 3


@every_client
async def test_a_call_with_text_after_it_still_counts(kind: str) -> None:
    async with line(kind, [Reply("First.", [call("uptime")], after="It is up 3 days.")]) as here:
        heard = await hear(here.client)

    assert simple(heard.message.tool_calls) == [("uptime", {})]
    assert heard.message.text.startswith("First.")


@native_client
@pytest.mark.parametrize(
    "arguments", ['{"command": "ls', "[1]", '{"command": "ls", "command": "rm"}', '{"a": NaN}']
)
async def test_native_arguments_that_cannot_be_read_are_a_problem_of_the_call(
    kind: str, arguments: str
) -> None:
    async with line(kind, [Reply(calls=[ScriptedCall("run_in_terminal", arguments)])]) as here:
        heard = await hear(here.client)

    [broken] = heard.message.tool_calls
    assert broken.problem
    assert broken.arguments == {}


@pytest.mark.parametrize("kind", ["openai as text", "anthropic as text"])
async def test_arguments_as_text_that_cannot_be_read_are_a_problem_of_the_reply(kind: str) -> None:
    asked = [call("uptime"), ScriptedCall("run_in_terminal", '{"command": "ls", "command": "rm"}')]

    async with line(kind, [Reply("Now.", asked)]) as here:
        heard = await hear(here.client)

    assert heard.response.problem is not None
    assert simple(heard.message.tool_calls) == [("uptime", {})]
    assert "command" not in heard.message.text


@every_client
async def test_a_call_cut_at_the_token_limit_does_not_come_out_to_run(kind: str) -> None:
    finish = "length" if kind.startswith("openai") else "max_tokens"
    reply = Reply(
        "Now.", [ScriptedCall("run_in_terminal", '{"command": "rm -rf /var/www/old')], finish=finish
    )
    if "as text" in kind:
        reply = Reply(
            'Now.\n<tool_use>{"name": "run_in_terminal", "arguments": {"command": "rm -rf /var', finish=finish
        )

    async with line(kind, [reply]) as here:
        heard = await hear(here.client)

    assert heard.response.stop_reason == "length"
    assert all(one.problem for one in heard.message.tool_calls)
    assert heard.response.problem is not None or heard.message.tool_calls
    assert "rm" not in heard.message.text


@native_client
async def test_a_call_cut_at_the_token_limit_does_not_run_even_if_it_looks_whole(kind: str) -> None:
    """Requirement N10."""
    finish = "length" if kind == "openai" else "max_tokens"
    asked = [call("uptime"), call("run_in_terminal", command="rm -rf /var/www")]

    async with line(kind, [Reply(calls=asked, finish=finish)]) as here:
        heard = await hear(here.client)

    assert [bool(one.problem) for one in heard.message.tool_calls] == [False, True]
    assert heard.message.tool_calls[1].arguments == {}


@every_client
async def test_a_result_goes_back_in_its_envelope_after_its_call(kind: str) -> None:
    async with line(kind, [Reply("3 days.")]) as here:
        await hear(here.client, asking(*one_step()))

    request = here.server.requests[-1]
    seen = request.results[0].text if request.results else request.last_user_text
    assert "step 1/12" in seen
    assert "n0nce" in seen
    assert "up 3 days" in seen
    assert here.server.refusals == []


@every_client
async def test_an_error_result_is_marked_with_its_code(kind: str) -> None:
    """Requirement F2."""
    async with line(kind, [Reply("It failed.")]) as here:
        await hear(here.client, asking(*one_step(is_error=True, code="ExitCode:2")))

    request = here.server.requests[-1]
    seen = request.results[0].text if request.results else request.last_user_text
    assert seen.count("[ERROR:ExitCode:2]") == 1
    if kind in ("anthropic", "gemini"):
        assert request.results[0].is_error


@every_client
async def test_steps_are_counted_within_the_turn_from_one(kind: str) -> None:
    again = ToolCall("uptime", {}, id="fedcba9876543210")
    transcript = [
        *one_step(),
        AssistantMessage("Up."),
        *one_step()[:1],
        AssistantMessage("", (again,)),
        ToolResult(again.id, "four days"),
        AssistantMessage("", (replace(again, id="f00", provider_id=""),)),
        ToolResult("f00", "five days"),
    ]

    async with line(kind, [Reply("Up.")]) as here:
        await hear(here.client, asking(*transcript))

    body = str(here.server.requests[-1].body)
    assert body.count("step 1/12") == 2
    assert body.count("step 2/12") == 1


@every_client
@pytest.mark.parametrize(
    "transcript",
    [
        [AssistantMessage("Hi, I am Kai."), UserMessage("hello")],
        [UserMessage("one"), UserMessage("two")],
        [UserMessage(""), AssistantMessage("  "), UserMessage(" \n")],
        [UserMessage("one"), AssistantMessage("two"), AssistantMessage("three"), UserMessage("four")],
        [*one_step(), Notice("careful", "loop"), UserMessage("and now?")],
        [*one_step()[:2], UserMessage("never mind")],
        [ToolResult("gone", "orphan"), UserMessage("hello")],
        [
            *one_step(),
            AssistantMessage("", (ToolCall("no such tool!", {}, provider_id="functions.x:0"),)),
            UserMessage("what?"),
        ],
        [*one_step(), AssistantMessage("Up."), *one_step()],
        [UserMessage("\ud83d half a pair")],
    ],
    ids=lambda transcript: f"{len(transcript)}",
)
async def test_no_transcript_is_refused(kind: str, transcript: list[Message]) -> None:
    """Requirements H1 and N7: whatever the store holds, the strict services take it."""
    async with line(kind, [Reply("Fine.")]) as here:
        heard = await hear(here.client, asking(*transcript))

    assert heard.message.text == "Fine."
    assert here.server.refusals == []


@every_client
async def test_a_history_with_calls_is_taken_when_the_prompt_has_no_tools(kind: str) -> None:
    """Requirement N4."""
    async with line(kind, [Reply("Up 3 days.")]) as here:
        heard = await hear(here.client, asking(*one_step(), tools=()))

    assert heard.message.text == "Up 3 days."
    assert here.server.refusals == []


@native_client
async def test_without_tools_to_offer_the_known_ones_are_sent_and_forbidden(kind: str) -> None:
    """Requirement N4: the cache of the turn before still fits."""
    async with line(kind, [Reply("Looking.", [call("uptime")]), Reply("Up.")]) as here:
        await hear(here.client, asking())
        await hear(here.client, asking(*one_step(), tools=()))

    offered, forbidden = here.server.requests
    if kind == "ollama":
        # It has no way to forbid tools, and takes a history with calls without them.
        assert forbidden.tools == ()
    else:
        assert forbidden.tools == offered.tools
        assert (offered.tool_choice, forbidden.tool_choice) == ("auto", "none")


@native_client
async def test_tools_are_sent_in_the_same_order_whatever_order_they_come_in(kind: str) -> None:
    async with line(kind, [Reply("a"), Reply("b")]) as here:
        await hear(here.client, asking(tools=TOOLS))
        await hear(here.client, asking(tools=TOOLS[::-1]))

    first, second = here.server.requests
    assert first.body == second.body
    assert list(first.tools) == sorted(first.tools)


@every_client
async def test_what_was_sent_before_is_sent_again_byte_for_byte(kind: str) -> None:
    """Caches of prefixes live on it (requirement N9)."""
    step = one_step()

    async with line(kind, [Reply("a"), Reply("b")]) as here:
        await hear(here.client, asking(*step))
        await hear(here.client, asking(*step, AssistantMessage("Up."), UserMessage("thanks")))

    first, second = here.server.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert (first.system, first.tools) == (second.system, second.tools)


@every_client
async def test_people_are_named_only_where_there_are_several(kind: str) -> None:
    alone = asking(UserMessage("one", 1, "Ann"), AssistantMessage("so"), UserMessage("two", 1, "Ann"))
    group = asking(UserMessage("one", 1, "Ann"), AssistantMessage("so"), UserMessage("two", 2, "Bob\nAnn: x"))

    async with line(kind, [Reply("a"), Reply("b")]) as here:
        await hear(here.client, alone)
        await hear(here.client, group)

    said = [[m.text for m in request.messages if m.role == "user"] for request in here.server.requests]
    assert said == [["one", "two"], ["Ann: one", "Bob Ann: x: two"]]


@every_client
async def test_a_picture_goes_in_with_exactly_its_bytes_or_is_named_in_words(
    kind: str, tmp_path: Path
) -> None:
    """The service refuses what is not as it wants it."""
    first, second = tmp_path / "a.jpg", tmp_path / "b.bin"
    first.write_bytes(PNG)
    second.write_bytes(JPEG)
    question = UserMessage("compare", images=(str(first), str(second)))

    async with line(kind, [Reply("Alike.")]) as here:
        heard = await hear(here.client, asking(question))

    [seen] = here.server.requests[-1].messages
    assert heard.message.text == "Alike."
    assert here.server.refusals == []
    assert seen.text.startswith("compare")
    if kind == "stackspot as text":
        assert seen.text.count("[You don't see the picture ") == 2
        assert str(first) in seen.text
    else:
        assert seen.images == (PNG, JPEG)
        assert seen.text == "compare"


@every_client
async def test_a_picture_shown_before_is_shown_again_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Requirement N9."""
    (path := tmp_path / "a.png").write_bytes(PNG)
    asked = [UserMessage("what is it?", images=(str(path),)), *one_step()[1:]]

    async with line(kind, [Reply("a"), Reply("b")]) as here:
        await hear(here.client, asking(*asked))
        await hear(here.client, asking(*asked, AssistantMessage("Up."), UserMessage("thanks")))

    first, second = here.server.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert here.server.refusals == []


@every_client
async def test_a_model_that_takes_no_pictures_is_asked_again_without_and_remembered(
    kind: str, tmp_path: Path
) -> None:
    (path := tmp_path / "a.png").write_bytes(PNG)
    question = asking(UserMessage("what is it?", images=(str(path),)))
    script = lambda request: Reply("I can't see it.")  # noqa: E731

    async with line(kind, script, model="scripted-blind") as here:
        heard = await hear(here.client, question)
        await hear(here.client, question)

    assert heard.message.text == "I can't see it."
    assert len(here.server.refusals) == (0 if kind == "stackspot as text" else 1)
    assert [f"[You don't see the picture {path}: " in r.last_user_text for r in here.server.requests] == [
        True,
        True,
    ]


@every_client
async def test_usage_counts_cached_tokens_once(kind: str) -> None:
    used = Usage(input=100, output=10, cache_read=0 if kind in UNCOUNTED else 60, cache_write=0)

    async with line(kind, [Reply("Hi.", usage=used)]) as here:
        heard = await hear(here.client)

    assert heard.response.usage == used
    assert heard.response.model == "scripted"


@every_client
async def test_an_empty_reply_is_a_reply(kind: str) -> None:
    async with line(kind, [Reply("")]) as here:
        heard = await hear(here.client)

    assert (heard.message.text, heard.message.tool_calls) == ("", ())


UNKNOWN = {
    "openai": [
        '{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","mood":{"a":[1]}}}],"extra":1}',
        '{"choices":[],"prompt_filter_results":[]}',
        '{"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop","logprobs":null}]}',
        "[DONE]",
    ],
    "anthropic": [
        '{"type":"message_start","message":{"model":"scripted","usage":{"input_tokens":1,"server_tool_use":null}}}',
        '{"type":"mood","mood":"good"}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":null}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}',
        '{"type":"content_block_stop","index":0}',
        '{"type":"content_block_start","index":1,"content_block":{"type":"hologram"}}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
        '{"type":"message_stop"}',
    ],
    "responses": [
        '{"type":"response.created","response":{"status":"queued"}}',
        '{"type":"response.mood","mood":"good"}',
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"hologram_call"}}',
        '{"type":"response.output_text.delta","output_index":1,"delta":"Hi.","logprobs":[]}',
        '{"type":"response.completed","response":{"status":"completed","output":[],"usage":null}}',
    ],
    "gemini": [
        '{"candidates":[{"content":{"parts":[{"text":"Hi."},{"hologram":{}}]}}],"mood":1}',
        '{"candidates":[{"finishReason":"STOP","safetyRatings":[]}],"usageMetadata":{"x":1}}',
    ],
    "ollama": [
        '{"message":{"role":"assistant","content":"Hi.","mood":1},"done":false}',
        '{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","extra":[]}',
    ],
    "bedrock": [
        '{"messageStart":{"role":"assistant","p":"abc"}}',
        '{"mood":{"good":true}}',
        '{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Hi."}}}',
        '{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"citation":{}}}}',
        '{"messageStop":{"stopReason":"end_turn","additionalModelResponseFields":{}}}',
    ],
    "stackspot": ['{"message":"Hi.","mood":1}', '{"stop_reason":"stop","tokens":{},"extra":[]}'],
}


@every_client
async def test_fields_and_events_nobody_knows_change_nothing(kind: str) -> None:
    events = UNKNOWN[kind.removesuffix(" as text")]

    async with line(kind, [Reply(events=events)]) as here:
        heard = await hear(here.client)

    assert heard.message.text == "Hi."


@every_client
@pytest.mark.parametrize(
    "event",
    [
        "[1]",
        "{",
        '{"type":7,"choices":7,"candidates":7,"message":7}',
        '{"type":"content_block_delta","choices":[7],"candidates":[7]}',
    ],
)
async def test_an_event_that_makes_no_sense_is_malformed(kind: str, event: str) -> None:
    async with line(kind, [Reply(events=[event])]) as here:
        with pytest.raises(LLMMalformed):
            await hear(here.client)


@every_client
@pytest.mark.parametrize("fault", ["cut", "cut_before"])
async def test_a_cut_connection_is_an_error_and_half_a_call_is_none(kind: str, fault: str) -> None:
    """Requirement N11: partial calls are discarded."""
    reply = Reply("Looking.", [call("run_in_terminal", command="ls")], chunk=2)

    async with line(kind, [replace(reply, fault=fault)]) as here:  # type: ignore[arg-type]
        with pytest.raises(LLMMalformed if fault == "cut" else LLMUnavailable):
            await hear(here.client)


@every_client
async def test_a_stream_that_ends_early_in_good_order_is_malformed(kind: str) -> None:
    first = UNKNOWN[kind.removesuffix(" as text")][:1]

    async with line(kind, [Reply(events=first)]) as here:
        with pytest.raises(LLMMalformed):
            await hear(here.client)


@every_client
async def test_an_error_inside_the_stream_is_an_error(kind: str) -> None:
    async with line(kind, [Reply("Hi there.", chunk=1, fault="error")]) as here:
        with pytest.raises(LLMUnavailable):
            await hear(here.client)


@every_client
async def test_an_error_with_status_200_is_an_error(kind: str) -> None:
    """Requirement N12."""
    async with line(kind, [Reply(fault="error_body")]) as here:
        with pytest.raises(LLMUnavailable):
            await hear(here.client)


@every_client
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_a_busy_service_is_unavailable_for_as_long_as_it_says(kind: str, status: int) -> None:
    """Requirement F4."""
    async with line(kind, [Reply(status=status, retry_after=7)]) as here:
        with pytest.raises(LLMUnavailable) as caught:
            await hear(here.client)

    assert caught.value.retry_after == 7


@every_client
@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (400, "nonsense", "bad_request"),
        (402, "pay first", "quota"),
        (403, "not you", "auth"),
        (404, "gone", "model"),
        (413, "too big", "too_long"),
        (400, "prompt is too long: 200001 tokens > 200000 maximum", "too_long"),
        (400, "This model's maximum context length is 8192 tokens", "too_long"),
        (400, "The input token count (1048577) exceeds the maximum number of tokens allowed", "too_long"),
        (400, "Input is too long for requested model.", "too_long"),
        (400, "Your credit balance is too low to access the Anthropic API", "quota"),
    ],
)
async def test_a_refusal_says_why(kind: str, status: int, error: str, reason: str) -> None:
    """Requirement F3."""
    async with line(kind, [Reply(status=status, error=error)]) as here:
        with pytest.raises(LLMRejected) as caught:
            await hear(here.client)

    assert caught.value.reason == reason


@every_client
async def test_a_wrong_key_is_refused_and_never_repeated(kind: str) -> None:
    """Requirement N16."""
    async with line(kind, [Reply("Hi.")], key="sk-very-secret-key") as here:
        with pytest.raises(LLMRejected) as caught:
            await hear(here.client)

    assert caught.value.reason == "auth"
    assert "sk-very" not in str(caught.value)


@every_client
async def test_a_key_quoted_in_any_error_is_taken_out(kind: str) -> None:
    async with line(kind, [Reply(status=500, error="the key test-key broke us")]) as here:
        with pytest.raises(LLMError) as caught:
            await hear(here.client)

    assert "test-key" not in str(caught.value)
    assert "broke us" in str(caught.value)


@every_client
async def test_an_unknown_model_is_refused(kind: str) -> None:
    async with line(kind, [Reply("Hi.")], model="no-such-model") as here:
        with pytest.raises(LLMRejected) as caught:
            await hear(here.client)

    assert caught.value.reason == "model"


@every_client
async def test_a_service_out_of_reach_is_unavailable(kind: str) -> None:
    async with httpx.AsyncClient() as http:
        client = connect(kind, http, "http://127.0.0.1:1")

        with pytest.raises(LLMUnavailable):
            await hear(client)


@every_client
async def test_cancelling_in_mid_stream_hangs_up(kind: str) -> None:
    begun = asyncio.Event()

    async with line(kind, [Reply("a long story " * 20, chunk=5, pace=0.02)]) as here:

        async def listen() -> None:
            async with aclosing(here.client.stream(asking())) as events:  # type: ignore[type-var]
                async for _ in events:
                    begun.set()

        task = asyncio.create_task(listen())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(here.server.hung_up.wait(), 5)

    assert here.server.disconnects == 1


@every_client
async def test_one_connection_serves_request_after_request(kind: str) -> None:
    async with line(kind, lambda request: Reply("Hi.")) as here:
        for _ in range(3):
            await hear(here.client)

    assert here.server.connections == 1


@every_client
async def test_a_whole_turn_leaves_a_history_the_service_takes(kind: str) -> None:
    def script(request: ModelRequest) -> Reply:
        if "step 1/12" in str(request.body):
            return Reply("Up 3 days.")
        if "as text" in kind:
            return Reply('Looking.\n<tool_use>{"name": "uptime", "arguments": {}}</tool_use>')
        return Reply("Looking.", [call("uptime")], thinking="hm")

    async with line(kind, script) as here:
        transcript: list[Message] = [UserMessage("is it up?")]
        first = await hear(here.client, asking(*transcript))
        transcript.append(first.message)
        transcript += [ToolResult(one.id, "up 3 days") for one in first.message.tool_calls]
        second = await hear(here.client, asking(*transcript))

    assert second.message.text == "Up 3 days."
    assert here.server.refusals == []


@every_client
async def test_many_streams_run_side_by_side(kind: str) -> None:
    async with line(kind, lambda request: Reply(request.last_user_text, delay=0.1, chunk=3)) as here:
        heard = await asyncio.gather(*(hear(here.client, asking(UserMessage(f"no. {n}"))) for n in range(40)))

    assert [one.message.text for one in heard] == [f"no. {n}" for n in range(40)]


@native_client
@pytest.mark.parametrize(
    "words",
    [
        "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for m-3-20240307",
        "max_tokens is too large: 8192. This model supports at most 4096 completion tokens.",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
        "`max_completion_tokens` must be less than or equal to `4096`",
    ],
)
async def test_a_limit_above_the_models_own_is_lowered_from_then_on(kind: str, words: str) -> None:
    """Requirement N8."""
    replies = [Reply(status=400, error=words), Reply("one"), Reply("two")]

    async with line(kind, replies, max_tokens=8192) as here:
        said = [(await hear(here.client)).message.text for _ in range(2)]

    assert said == ["one", "two"]
    assert [limit_in(request.body) for request in here.server.requests] == [8192, 4096, 4096]


def limit_in(body: Mapping[str, Any]) -> object:
    """Return the token limit of a request, wherever its wire has it (requirement N8)."""
    inner = [body, *(body.get(name, {}) for name in ("options", "generationConfig", "inferenceConfig"))]
    names = ("max_tokens", "max_output_tokens", "num_predict", "maxOutputTokens", "maxTokens")
    return next(fields[name] for fields in inner for name in names if name in fields)
