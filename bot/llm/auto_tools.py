"""Tools in fields of their own where the model takes them, as text where it does not."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.refusals import ToolsUnsupported

log = logging.getLogger(__name__)


class AutoTools:
    """Asks the native client until it says that the model takes no tools; from then on the other one.

    The refusal comes before anything is shown, so the turn it meets goes on as if nothing had happened.
    """

    def __init__(self, native: LLMClient, text: LLMClient) -> None:
        self._native = native
        self._text = text
        self._takes_tools = True

    @property
    def supports_native_tools(self) -> bool:
        return self._takes_tools and self._native.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        if self.supports_native_tools:
            try:
                async with aclosing(self._native.stream(prompt)) as events:  # type: ignore[type-var]
                    async for event in events:
                        yield event
                return
            except ToolsUnsupported as exc:
                log.warning("tools are written as text from now on: %s", exc)
                self._takes_tools = False
        async with aclosing(self._text.stream(prompt)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event
