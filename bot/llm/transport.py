"""One streamed request: a JSON body out, decoded events in, every failure as one of our errors."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import Any, Protocol

import httpx
import jiter

from bot.errors import LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.auth import Auth
from bot.llm.refusals import ERROR_TYPES, Refusal, error_of, read_refusal, seconds_to_wait
from bot.llm.sse import EventDecoder

READ_TIMEOUT = 120.0
LINGER = 0.5
MAX_ERROR_BODY = 64 * 1024
MAX_BODY = 16 * 1024 * 1024

Event = Mapping[str, Any]


class Decoder(Protocol):
    """Cuts a byte stream into events, each as JSON text."""

    def feed(self, chunk: bytes) -> list[bytes]: ...

    def finish(self) -> list[bytes]: ...


async def post(
    http: httpx.AsyncClient,
    url: str,
    body: Mapping[str, object],
    *,
    headers: Mapping[str, str],
    provider: str,
    key: str,
    auth: Auth | None = None,
    decoder: Callable[[], Decoder] = EventDecoder,
    read_timeout: float = READ_TIMEOUT,
) -> AsyncGenerator[Event, None]:
    """Yield the events of a streamed reply, decoded; a reply that is no stream is one event.

    A body that holds an error is an error whatever its status (requirement N12). The connection closes when
    the generator is closed or its task cancelled.

    Args:
        auth: Makes the headers that depend on the moment or the body. Refused with 401 or 403, it may make
            others, once.
        read_timeout: Seconds of silence.

    Raises:
        LLMUnavailable: Out of reach, silent for too long, overloaded.
        LLMRejected: The provider refused the request.
        LLMMalformed: An event is not JSON, or the connection was cut in the middle.
    """
    # Model text may hold half a surrogate pair; providers refuse the escape, so it becomes a question mark.
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    timeout = httpx.Timeout(connect=10.0, read=read_timeout, write=30.0, pool=30.0)
    began = False
    try:
        async with await _send(http, url, content, headers, timeout, auth) as response:
            if response.is_redirect:
                # Followed, it would carry the key to another host.
                raise LLMRejected(f"{provider} redirects ({response.status_code}); check its base URL")
            if response.status_code != 200:
                refusal = await _refusal(response)
                wait = seconds_to_wait(response.headers)
                raise error_of(
                    provider, refusal, key=key, retry_after=refusal.retry_after if wait is None else wait
                )
            began = True
            if (
                "json" in response.headers.get("content-type", "")
                and "ndjson" not in response.headers["content-type"]
            ):
                yield _checked(await _read(response, MAX_BODY), provider, key)
                return
            cutter = decoder()
            chunks = response.aiter_bytes()
            async for chunk in chunks:
                for data in cutter.feed(chunk):
                    if data == b"[DONE]":
                        yield {"done": True}
                        await _drain(chunks)
                        return
                    yield _checked(data, provider, key)
            for data in cutter.finish():
                if data != b"[DONE]":
                    yield _checked(data, provider, key)
    except httpx.TimeoutException as exc:
        raise LLMUnavailable(f"{provider} did not answer in time ({type(exc).__name__})") from None
    except (httpx.RemoteProtocolError, httpx.ReadError, httpx.DecodingError) as exc:
        if began:
            raise LLMMalformed(f"the stream from {provider} was cut ({type(exc).__name__})") from None
        raise LLMUnavailable(f"{provider} closed the connection ({type(exc).__name__})") from None
    except (httpx.TransportError, httpx.InvalidURL) as exc:
        raise LLMUnavailable(f"cannot reach {provider}: {exc}") from None


@asynccontextmanager
async def _closing(response: httpx.Response) -> AsyncIterator[httpx.Response]:
    try:
        yield response
    finally:
        await response.aclose()


async def _send(
    http: httpx.AsyncClient,
    url: str,
    content: bytes,
    headers: Mapping[str, str],
    timeout: httpx.Timeout,
    auth: Auth | None,
) -> AbstractAsyncContextManager[httpx.Response]:
    while True:
        own = await auth.headers(http, url, content) if auth else {}
        request = http.build_request(
            "POST", url, content=content, headers={**headers, **own}, timeout=timeout
        )
        response = await http.send(request, stream=True)
        if not (auth and response.status_code in (401, 403) and auth.renew()):
            return _closing(response)
        await response.aclose()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end, which is nothing but the end: only then can the connection serve the next request."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            async for _ in chunks:
                pass


def _checked(data: bytes, provider: str, key: str) -> Event:
    try:
        event = jiter.from_json(data)
    except ValueError:
        raise LLMMalformed(f"{provider} sent an event that is not JSON ({len(data)} bytes)") from None
    if not isinstance(event, dict):
        raise LLMMalformed(f"{provider} sent an event that is not an object")
    # The cheap look first: nearly every event is a piece of text.
    if (
        event.get("error")
        or event.get("type") in ERROR_TYPES
        or event.get("object") == "error"
        or "base_resp" in event
    ) and (refusal := read_refusal(200, event)):
        raise error_of(provider, refusal, key=key, retry_after=refusal.retry_after)
    return event


async def _refusal(response: httpx.Response) -> Refusal:
    raw = await _read(response, MAX_ERROR_BODY)
    try:
        body: object = jiter.from_json(raw)
    except ValueError:
        # A proxy's page, not the provider's words: its status says all.
        body = ""
    return read_refusal(max(response.status_code, 400), body) or Refusal(response.status_code)


async def _read(response: httpx.Response, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async with aclosing(response.aiter_bytes()) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > limit:
                break
    return b"".join(parts)[:limit]
