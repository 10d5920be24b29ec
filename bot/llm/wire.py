"""What the clients of one API have in common: send, read, and correct a request once."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import httpx

from bot.errors import LLMMalformed
from bot.llm import ids, opaque
from bot.llm.auth import Auth
from bot.llm.base import LLMResponse, Prompt, TextDelta
from bot.llm.refusals import LimitTooHigh, OpaqueRefused, UnsupportedParameter
from bot.llm.sequence import Arranged, arrange
from bot.llm.sse import EventDecoder
from bot.llm.transport import READ_TIMEOUT, Decoder, Event, post
from bot.messages import ToolDefinition


class Reply(Protocol):
    """What has come of one reply so far."""

    def take(self, event: Event) -> str:
        """Take one event in and return the text it adds. Events of unknown type change nothing.

        Raises:
            AttributeError, KeyError, TypeError, IndexError: The event is not what the API promises.
            LLMError: It says that the reply failed.
        """
        ...

    def response(self, provider: str, model: str, arranged: Arranged) -> LLMResponse:
        """Return the whole reply.

        Raises:
            LLMMalformed: The stream ended before the reply did; calls begun are void.
        """
        ...


class WireClient(ABC):
    """A model behind one wire format; a subclass maps a prompt to a body and events to a reply."""

    supports_native_tools = True
    id_style: ClassVar[ids.IdStyle] = ids.ANTHROPIC
    decoder: ClassVar[Callable[[], Decoder]] = EventDecoder

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        provider: str,
        url: str,
        key: str,
        model: str,
        max_tokens: int | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        self.provider = provider
        self.model = model
        self.max_tokens = max_tokens
        self.known_tools: Sequence[ToolDefinition] = ()
        self.left_out: set[str] = set()
        self._http = http
        self._url = url
        self._key = key
        self._headers = {"content-type": "application/json", **(headers or {})}
        self._auth = auth
        self._read_timeout = read_timeout

    @abstractmethod
    def body(self, prompt: Prompt, arranged: Arranged) -> dict[str, Any]:
        """Return the body of a request."""

    @abstractmethod
    def reply(self) -> Reply:
        """Return an empty reply."""

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        if prompt.tools:
            self.known_tools = prompt.tools
        arranged = arrange(prompt, self.id_style)
        reply = self.reply()
        async with aclosing(self._events(prompt, arranged)) as events:
            async for event in events:
                try:
                    text = reply.take(event)
                except (AttributeError, KeyError, TypeError, IndexError) as exc:
                    raise LLMMalformed(f"unreadable event from {self.provider}: {exc!r}") from None
                if text:
                    yield TextDelta(text)
        yield reply.response(self.provider, self.model, arranged)

    async def _events(self, prompt: Prompt, arranged: Arranged) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(self._post(self.body(prompt, arranged))) as events:
                async for event in events:
                    yield event
            return
        except LimitTooHigh as exc:
            lower = exc.below(self.max_tokens or 0)
            if lower is None:
                raise
            self.max_tokens = lower
        except UnsupportedParameter as exc:
            self.left_out.add(exc.parameter)
        except OpaqueRefused:
            prompt = replace(prompt, transcript=opaque.forget(prompt.transcript))
            arranged = arrange(prompt, self.id_style)
        async with aclosing(self._post(self.body(prompt, arranged))) as events:
            async for event in events:
                yield event

    def _post(self, body: dict[str, Any]) -> AsyncGenerator[Event, None]:
        for name in self.left_out:
            body.pop(name, None)
        return post(
            self._http,
            self._url,
            body,
            headers=self._headers,
            provider=self.provider,
            key=self._key,
            auth=self._auth,
            decoder=type(self).decoder,
            read_timeout=self._read_timeout,
        )
