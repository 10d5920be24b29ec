"""Recordings are written down by a service, or it is clear why not."""

from pathlib import Path

import httpx
import pytest

from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.transcribe import transcribe


async def ask(answer: httpx.Response | Exception, path: Path) -> str:
    def handle(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    path.write_bytes(b"OggS")
    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as http:
        return await transcribe(http, "http://voice.test/v1/", "key", "whisper-1", path)


async def test_the_text_is_returned(tmp_path: Path) -> None:
    assert await ask(httpx.Response(200, json={"text": "hello"}), tmp_path / "v.ogg") == "hello"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(500), LLMUnavailable),
        (httpx.Response(429), LLMUnavailable),
        (httpx.ConnectError("down"), LLMUnavailable),
        (httpx.Response(401), LLMRejected),
        (httpx.Response(400), LLMRejected),
        (httpx.Response(200, text="<html>"), LLMMalformed),
        (httpx.Response(200, json={"no": "text"}), LLMMalformed),
        (httpx.Response(200, json={"text": 5}), LLMMalformed),
        (httpx.Response(200, json=["x"]), LLMMalformed),
    ],
)
async def test_anything_else_is_an_error_that_says_who_can_act(
    answer: httpx.Response | Exception, error: type[LLMError], tmp_path: Path
) -> None:
    with pytest.raises(error):
        await ask(answer, tmp_path / "v.ogg")
