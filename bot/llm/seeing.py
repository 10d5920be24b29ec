"""Pictures for models that see, words about them for those that don't."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx

from bot.errors import LLMError, LLMMalformed, LLMRejected
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.images import has_images, look
from bot.llm.refusals import BodyTooLarge, ImagesRefused, ServerFailed
from bot.llm.table import Sight

log = logging.getLogger(__name__)


class Seeing:
    """Reads the pictures of a prompt for the client of a wire format, and asks again without what is refused.

    A model that takes no pictures is told of them in words from then on. Of refused pictures those are put
    aside that it has not taken before: one bad file must not end a conversation that holds it for good.

    Not every service says that a picture is what it broke on. So a refusal without a reason, and a second
    failure in a row, are tried once more without them; only if that is answered are they put aside. The
    second attempt comes from `Retrying`, around this: one failure is most often over by then.
    """

    def __init__(self, inner: LLMClient, sight: Sight | None) -> None:
        """Set up a wrapper.

        Args:
            sight: None for a model without vision.
        """
        self._inner = inner
        self._sight = sight
        self._taken: set[str] = set()
        self._aside: set[str] = set()
        self._doubted: set[frozenset[str]] = set()

    @property
    def supports_native_tools(self) -> bool:
        return self._inner.supports_native_tools

    def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        # Without pictures there is nothing to do, for every piece of every reply.
        return self._stream(prompt) if has_images(prompt) else self._inner.stream(prompt)

    async def _stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        guess: frozenset[str] = frozenset()
        failed: LLMError | None = None
        while True:
            seen = await asyncio.to_thread(look, prompt, self._sight, self._aside | guess)
            begun = False
            try:
                async with aclosing(self._inner.stream(seen)) as events:  # type: ignore[type-var]
                    async for event in events:
                        begun = True
                        yield event
                self._settle(set(seen.pictures), guess)
                return
            except LLMError as exc:
                if begun:
                    raise
                if failed:
                    raise failed from None
                shown = set(seen.pictures)
                if not shown:
                    raise
                if isinstance(exc, (ImagesRefused, BodyTooLarge)):
                    self._learn(exc, shown)
                elif guess := self._guess(exc, frozenset(shown - self._taken or shown)):
                    failed = exc
                else:
                    raise

    def _settle(self, taken: set[str], guess: frozenset[str]) -> None:
        self._taken |= taken
        self._doubted = {one for one in self._doubted if not one & (taken | guess)}
        if guess:
            log.warning("pictures are left out: with them the service failed, without them it answered")
            self._aside |= guess

    def _guess(self, exc: LLMError, new: frozenset[str]) -> frozenset[str]:
        """Return the pictures to try without; none when they are hardly the reason, or not yet."""
        if type(exc) is LLMRejected:
            return new if exc.reason == "bad_request" else frozenset()
        if isinstance(exc, ServerFailed) and exc.images:
            return new
        if not isinstance(exc, (ServerFailed, LLMMalformed)) and not _is_cut(exc):
            return frozenset()
        if new not in self._doubted:
            self._doubted.add(new)
            return frozenset()
        # In an outage only every second attempt is asked twice.
        self._doubted.discard(new)
        return new

    def _learn(self, refused: LLMRejected, shown: set[str]) -> None:
        if isinstance(refused, ImagesRefused) and refused.blind:
            log.warning("pictures are named in words from now on: %s", refused)
            self._sight = None
            return
        log.warning("pictures are left out: %s", refused)
        self._aside |= shown - self._taken or shown


def _is_cut(exc: LLMError) -> bool:
    """Whether the service hung up before it answered; not being reached is something else."""
    return isinstance(exc.__context__, (httpx.RemoteProtocolError, httpx.ReadError))
