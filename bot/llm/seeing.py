"""Pictures for models that see, words about them for those that don't."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from bot.errors import LLMRejected
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.images import has_images, look
from bot.llm.refusals import BodyTooLarge, ImagesRefused
from bot.llm.table import Sight

log = logging.getLogger(__name__)


class Seeing:
    """Reads the pictures of a prompt for the client of a wire format, and asks again without what is refused.

    A model that takes no pictures is told of them in words from then on. Of refused pictures those are put
    aside that it has not taken before: one bad file must not end a conversation that holds it for good.
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

    @property
    def supports_native_tools(self) -> bool:
        return self._inner.supports_native_tools

    def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        # Without pictures there is nothing to do, for every piece of every reply.
        return self._stream(prompt) if has_images(prompt) else self._inner.stream(prompt)

    async def _stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        while True:
            seen = await asyncio.to_thread(look, prompt, self._sight, frozenset(self._aside))
            begun = False
            try:
                async with aclosing(self._inner.stream(seen)) as events:  # type: ignore[type-var]
                    async for event in events:
                        begun = True
                        yield event
                self._taken.update(seen.pictures)
                return
            except (ImagesRefused, BodyTooLarge) as exc:
                if begun or not seen.pictures:
                    raise
                self._learn(exc, set(seen.pictures))

    def _learn(self, refused: LLMRejected, shown: set[str]) -> None:
        if isinstance(refused, ImagesRefused) and refused.blind:
            log.warning("pictures are named in words from now on: %s", refused)
            self._sight = None
            return
        log.warning("pictures are left out: %s", refused)
        self._aside |= shown - self._taken or shown
