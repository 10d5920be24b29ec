"""The client that reads pictures, and asks again without those that are refused."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest

from bot.demo.model_server import ModelRequest, ModelServer, Reply, Traits, call, serve_model
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm import build_client
from bot.llm.anthropic import Anthropic
from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.llm.connect import connect
from bot.llm.refusals import (
    BodyTooLarge,
    ImagesRefused,
    LimitTooHigh,
    OpaqueRefused,
    ServerFailed,
    ToolsUnsupported,
    UnsupportedParameter,
)
from bot.llm.seeing import Seeing
from bot.llm.table import Sight, find
from bot.messages import Message, ToolResult, UserMessage
from tests.llm.samples import JPEG, PNG, Scripted, asking, environ_for, hear, one_step

BLIND = ImagesRefused("no pictures", blind=True)
BAD = ImagesRefused("could not process image", blind=False)


def picture(folder: Path, name: str, content: bytes = PNG) -> UserMessage:
    (folder / name).write_bytes(content)
    return UserMessage("what is it?", images=(str(folder / name),))


def shown(client: Scripted) -> list[list[str]]:
    return [sorted(Path(path).name for path in prompt.pictures) for prompt in client.prompts]


async def test_without_pictures_a_prompt_goes_through_as_it_is() -> None:
    inner = Scripted(["Hi."])
    prompt = asking()

    await hear(Seeing(inner, Sight()), prompt)

    assert inner.prompts[0] is prompt


async def test_files_are_not_read_in_the_event_loop(tmp_path: Path) -> None:
    threads: list[str] = []

    class Noting(Sequence[Message]):
        def __init__(self, messages: list[Message]) -> None:
            self._messages = messages

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            return self._messages[index]

        def __len__(self) -> int:
            return len(self._messages)

        def __iter__(self):  # type: ignore[no-untyped-def]
            threads.append(threading.current_thread().name)
            return iter(self._messages)

    prompt = Prompt("", Noting([picture(tmp_path, "a")]), nonce="n")

    await hear(Seeing(Scripted(["A cat."]), Sight()), prompt)

    assert threads[0] == "MainThread"
    assert len(threads) > 1
    assert "MainThread" not in threads[1:]


async def test_a_model_without_eyes_is_asked_again_in_words_and_never_again_with_pictures(
    tmp_path: Path,
) -> None:
    inner = Scripted([BLIND], ["I can't."], ["Still not."])
    client = Seeing(inner, Sight())

    for _ in range(2):
        await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"], [], []]


async def test_a_refused_picture_is_put_aside_and_the_others_stay(tmp_path: Path) -> None:
    """A file that stays in the conversation for good must not end it."""
    inner = Scripted(["A cat."], [BAD], ["I can't see the second."], ["A dog."])
    client = Seeing(inner, Sight())
    good, bad, later = (picture(tmp_path, name) for name in ("good", "later-bad", "new"))

    await hear(client, asking(good))
    await hear(client, asking(good, bad))
    await hear(client, asking(good, bad, later))

    assert shown(inner) == [["good"], ["good", "later-bad"], ["good"], ["good", "new"]]


async def test_pictures_that_were_taken_once_go_too_when_they_are_refused_later(tmp_path: Path) -> None:
    inner = Scripted(["A cat."], [BAD], ["Hm."])
    client = Seeing(inner, Sight())

    for _ in range(2):
        await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"], ["a"], []]


async def test_a_request_of_too_many_bytes_is_asked_again_without_its_pictures(tmp_path: Path) -> None:
    inner = Scripted([BodyTooLarge("413")], ["I can't see it."])

    heard = await hear(Seeing(inner, Sight()), asking(picture(tmp_path, "a")))

    assert heard.message.text == "I can't see it."
    assert shown(inner) == [["a"], []]


@pytest.mark.parametrize("error", [BLIND, BAD, BodyTooLarge("413")])
async def test_a_refusal_of_pictures_where_none_were_sent_is_an_error(error: LLMRejected) -> None:
    gone = UserMessage("?", images=("/nowhere/a.png",))

    with pytest.raises(type(error)):
        await hear(Seeing(Scripted([error]), Sight()), asking(gone))


async def test_a_refusal_after_the_first_words_is_not_asked_again(tmp_path: Path) -> None:
    """Nothing is shown twice (requirement F7)."""
    inner = Scripted(["A ca", BAD])

    with pytest.raises(ImagesRefused):
        await hear(Seeing(inner, Sight()), asking(picture(tmp_path, "a")))

    assert len(inner.prompts) == 1


async def test_another_error_is_no_reason_to_hide_pictures(tmp_path: Path) -> None:
    inner = Scripted([LLMUnavailable("busy")], ["A cat."])
    client = Seeing(inner, Sight())

    with pytest.raises(LLMUnavailable):
        await hear(client, asking(picture(tmp_path, "a")))
    await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"], ["a"]]


async def test_native_tools_are_asked_about_at_call_time() -> None:
    inner = Scripted()
    client = Seeing(inner, Sight())
    before = client.supports_native_tools

    inner.supports_native_tools = False

    assert (before, client.supports_native_tools) == (True, False)


async def test_a_picture_that_no_service_can_read_is_left_out_over_http(tmp_path: Path) -> None:
    """The bytes change between the look and the service's own."""
    server = ModelServer(lambda request: Reply("I can't see it."))

    class Spoiling:
        """Sends the picture as the wrong type, as a damaged file would be."""

        supports_native_tools = True

        def __init__(self, inner: Anthropic) -> None:
            self._inner = inner

        def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
            for one in prompt.pictures.values():
                object.__setattr__(one, "media_type", "image/webp")
            return self._inner.stream(prompt)

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        wire = Anthropic(http, provider="anthropic", base_url=url, key="test-key", model="scripted")
        heard = await hear(Seeing(Spoiling(wire), Sight()), asking(picture(tmp_path, "a")))

    assert heard.message.text == "I can't see it."
    assert [text.partition(": ")[2] for _, text in server.refusals] == [
        "Image does not match the provided media type image/webp"
    ]


async def test_a_model_with_neither_tools_nor_eyes_is_asked_in_words(tmp_path: Path) -> None:
    server = ModelServer(lambda request: Reply("Hi."), models={"m": Traits(tools=False, vision=False)})

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = build_client(["ollama:m"], environ_for(url), http)
        heard = await hear(client, asking(picture(tmp_path, "a")))

    assert heard.message.text == "Hi."
    assert [words for _, words in server.refusals] == [
        "registry.ollama.ai/library/m does not support tools",
        "this model does not support image input",
    ]


@pytest.mark.parametrize(
    ("chain", "eyes"),
    [
        (["anthropic:scripted", "stackspot:scripted"], [True, False]),
        (["stackspot:scripted", "openai:scripted"], [False, True]),
        (["openai:scripted", "gemini:scripted"], [True, True]),
        (["deepseek:scripted-strict", "bedrock:anthropic.claude-scripted-v1:0"], [False, True]),
    ],
)
async def test_another_model_takes_over_with_the_eyes_it_has(
    tmp_path: Path, chain: list[str], eyes: list[bool]
) -> None:
    asked = [picture(tmp_path, "a"), *one_step()[1:]]
    server = ModelServer(
        lambda request: Reply(status=402) if len(server.requests) == 1 else Reply("A cat, up 3 days.")
    )

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = build_client(chain, environ_for(url), http)
        heard = await hear(client, asking(*asked))

    assert heard.message.text == "A cat, up 3 days."
    assert [any(message.images for message in request.messages) for request in server.requests] == eyes
    assert server.refusals == []


async def test_thinking_about_a_picture_goes_back_only_while_the_picture_is_shown(tmp_path: Path) -> None:
    """Requirement N6: what a model thought is bound to all that it was shown."""
    transcript: list[Message] = [picture(tmp_path, "a", JPEG)]
    server = ModelServer(
        lambda request: Reply("A cat.") if request.step else Reply("Hm.", [call("uptime")], thinking="a cat?")
    )

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = build_client(["anthropic:scripted"], environ_for(url), http)
        first = (await hear(client, asking(*transcript))).message
        transcript += [first, *(ToolResult(call.id, "up") for call in first.tool_calls)]
        await hear(client, asking(*transcript))
        (tmp_path / "a").unlink()
        await hear(client, asking(*transcript))

    thought = ['"thinking"' in str(request.body).replace("'", '"') for request in server.requests]
    assert thought == [False, True, False]
    assert server.refusals == []


UNREADABLE = "Failed to create new sequence: failed to process inputs: image: unknown format"
VAGUE = LLMRejected("acme answered 400")
BROKE = ServerFailed("acme answered 500")
BROKE_ON_IT = ServerFailed(f"acme answered 500: {UNREADABLE}", images=True)


def choking(failure: Reply) -> ModelServer:
    """Serve a model that fails as often as a picture is in the request."""

    def script(request: ModelRequest) -> Reply:
        return failure if any(message.images for message in request.messages) else Reply("I can't see it.")

    return ModelServer(script)


def sent(server: ModelServer) -> list[int]:
    """Return the number of pictures in each request."""
    return [sum(len(message.images) for message in request.messages) for request in server.requests]


@pytest.mark.parametrize(
    ("spec", "failure", "asked"),
    [
        ("ollama:scripted", Reply(status=500, error=UNREADABLE), [1, 0]),
        ("ollama:scripted", Reply(fault="error", error=UNREADABLE), [1, 0]),
        ("openai:scripted", Reply(status=400, error="invalid content type. content must be string"), [1, 0]),
        ("openai:scripted", Reply(status=400, error="nonsense"), [1, 0]),
        ("openai:scripted", Reply(status=500), [1, 1, 0]),
        ("anthropic:scripted", Reply(status=502), [1, 1, 0]),
        ("openai:scripted", Reply(fault="cut_before"), [1, 1, 0]),
        ("anthropic:scripted", Reply("A cat.", thinking="a cat? " * 500, fault="cut"), [1, 1, 0]),
    ],
)
async def test_a_conversation_goes_on_whatever_a_service_says_of_the_picture_it_breaks_on(
    tmp_path: Path, spec: str, failure: Reply, asked: list[int]
) -> None:
    server = choking(failure)
    seen = picture(tmp_path, "a")

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = build_client([spec], environ_for(url), http)
        first = await hear(client, asking(seen))
        second = await hear(client, asking(seen, first.message, UserMessage("and now?")))

    assert [first.message.text, second.message.text] == ["I can't see it."] * 2
    assert sent(server) == [*asked, 0]


@pytest.mark.parametrize(
    ("failure", "asked"), [(Reply(status=500), [1, 1, 0, 1]), (Reply(status=400, error="nonsense"), [1, 0])]
)
async def test_a_failure_without_the_picture_too_is_told_as_it_was_and_hides_nothing(
    tmp_path: Path, failure: Reply, asked: list[int]
) -> None:
    failures = [failure] * len(asked)
    server = ModelServer(lambda request: failures.pop() if failures else Reply("A cat."))
    seen = picture(tmp_path, "a")

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        client = build_client(["openai:scripted"], environ_for(url), http)
        with pytest.raises(
            LLMRejected if failure.status == 400 else LLMUnavailable, match=str(failure.status)
        ):
            await hear(client, asking(seen))
        await hear(client, asking(seen))

    assert sent(server) == [*asked, 1]


@pytest.mark.parametrize("failure", [Reply(status=500), Reply(status=500, error=UNREADABLE)])
async def test_an_outage_without_pictures_is_asked_as_often_as_ever(failure: Reply) -> None:
    server = ModelServer([failure, failure, Reply("Hi.")])

    async with serve_model(server) as url, httpx.AsyncClient() as http:
        await hear(build_client(["ollama:scripted"], environ_for(url), http))

    assert sent(server) == [0, 0, 0]


async def test_a_service_out_of_reach_is_not_asked_without_pictures(tmp_path: Path) -> None:
    tries: list[httpx.Request] = []

    async def count(request: httpx.Request) -> None:
        tries.append(request)

    environ = environ_for("http://127.0.0.1:1")
    async with httpx.AsyncClient(event_hooks={"request": [count]}) as http:
        row, model = find("openai:scripted", environ)
        client = connect(row, model, "test-key", environ, http)
        for _ in range(2):
            with pytest.raises(LLMUnavailable, match="cannot reach"):
                await hear(client, asking(picture(tmp_path, "a")))

    assert len(tries) == 2


async def test_one_failure_that_is_over_hides_nothing(tmp_path: Path) -> None:
    """Nor does it count for the next one, days later."""
    inner = Scripted([BROKE], ["A cat."], [BROKE], ["A cat."])
    client = Seeing(inner, Sight())

    for fails in (True, False, True, False):
        if fails:
            with pytest.raises(ServerFailed):
                await hear(client, asking(picture(tmp_path, "a")))
        else:
            await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"]] * 4


@pytest.mark.parametrize("error", [VAGUE, BROKE_ON_IT])
async def test_what_was_taken_before_is_not_what_a_guess_puts_aside(tmp_path: Path, error: LLMError) -> None:
    inner = Scripted(["A cat."], [error], ["I can't see the second."], ["Hm."])
    client = Seeing(inner, Sight())
    good, bad = (picture(tmp_path, name) for name in ("good", "late"))

    await hear(client, asking(good))
    await hear(client, asking(good, bad))
    await hear(client, asking(good, bad))

    assert shown(inner) == [["good"], ["good", "late"], ["good"], ["good"]]


@pytest.mark.parametrize("second", [LLMUnavailable("busy"), BAD, LLMMalformed("cut")])
async def test_the_first_error_is_the_one_that_is_told(tmp_path: Path, second: LLMError) -> None:
    inner = Scripted([VAGUE], [second])

    with pytest.raises(LLMRejected) as caught:
        await hear(Seeing(inner, Sight()), asking(picture(tmp_path, "a")))

    assert caught.value is VAGUE


@pytest.mark.parametrize("error", [VAGUE, BROKE_ON_IT])
async def test_a_guess_is_not_made_after_the_first_words(tmp_path: Path, error: LLMError) -> None:
    """Nothing is shown twice (requirement F7)."""
    inner = Scripted(["A ca", error])

    with pytest.raises(type(error)):
        await hear(Seeing(inner, Sight()), asking(picture(tmp_path, "a")))

    assert len(inner.prompts) == 1


async def test_a_reply_that_breaks_off_without_pictures_puts_none_aside(tmp_path: Path) -> None:
    inner = Scripted([VAGUE], ["I ca", LLMMalformed("cut")], ["A cat."])
    client = Seeing(inner, Sight())

    with pytest.raises(LLMMalformed):
        await hear(client, asking(picture(tmp_path, "a")))
    await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"], [], ["a"]]


@pytest.mark.parametrize(
    "error",
    [
        LLMRejected("no", reason="auth"),
        LLMRejected("no", reason="too_long"),
        OpaqueRefused("no"),
        ToolsUnsupported("no"),
        LimitTooHigh("no", numbers=[1]),
        UnsupportedParameter("no", parameter="think"),
        LLMUnavailable("busy", retry_after=1),
    ],
)
async def test_an_error_with_a_reason_of_its_own_is_no_guess_about_pictures(
    tmp_path: Path, error: LLMError
) -> None:
    inner = Scripted([error], [error])
    client = Seeing(inner, Sight())

    for _ in range(2):
        with pytest.raises(type(error)):
            await hear(client, asking(picture(tmp_path, "a")))

    assert shown(inner) == [["a"], ["a"]]


async def test_a_service_that_hangs_up_twice_is_asked_without_the_picture(tmp_path: Path) -> None:
    pictured: list[bool] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = re.findall(rb"content-length: (\d+)", head.lower())
        pictured.append(b"image_url" in await reader.readexactly(int(length)))
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server, httpx.AsyncClient() as http:
        environ = environ_for(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        row, model = find("openai:scripted", environ)
        client = connect(row, model, "test-key", environ, http)
        for _ in range(2):
            with pytest.raises(LLMUnavailable, match="closed the connection"):
                await hear(client, asking(picture(tmp_path, "a")))

    assert pictured == [True, True, False]
