"""One request: what is sent, and what each failure of the network is called."""

import json
from collections.abc import Callable

import httpx
import pytest

from bot.errors import LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.transport import Event, post

Handler = Callable[[httpx.Request], httpx.Response]


async def events(handler: Handler, body: dict[str, object] | None = None) -> list[Event]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as http:
        stream = post(http, "http://model/x", body or {}, headers={"x-key": "k"}, provider="acme", key="k")
        return [event async for event in stream]


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadTimeout("x"),
        httpx.ConnectTimeout("x"),
        httpx.PoolTimeout("x"),
        httpx.ConnectError("x"),
        httpx.ReadError("x"),
        httpx.RemoteProtocolError("x"),
        httpx.UnsupportedProtocol("x"),
        httpx.InvalidURL("x"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_network_failure_before_the_answer_is_unavailable(error: Exception) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(LLMUnavailable, match="acme"):
        await events(fail)


async def test_it_waits_ten_seconds_to_connect_and_two_minutes_between_pieces() -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, text="data: [DONE]\n\n")

    await events(answer)

    assert (seen[0]["connect"], seen[0]["read"]) == (10.0, 120.0)


async def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        return httpx.Response(200, text="data: [DONE]\n\n")

    await events(answer, {"text": "é\ud83d"})

    assert json.loads(seen[0]) == {"text": "é?"}


async def test_a_page_of_a_proxy_is_not_quoted() -> None:
    with pytest.raises(LLMUnavailable) as caught:
        await events(lambda request: httpx.Response(502, text="<html>nginx</html>"))

    assert str(caught.value) == "acme answered 502"


async def test_a_redirect_is_an_error_and_not_followed() -> None:
    with pytest.raises(LLMRejected, match="acme redirects"):
        await events(lambda request: httpx.Response(307, headers={"location": "http://elsewhere/"}))


async def test_a_body_that_cannot_be_unpacked_is_malformed() -> None:
    broken = httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"not gzip"))

    with pytest.raises(LLMMalformed):
        await events(lambda request: broken)
