"""Tells what each reply cost."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.messages import Usage

OnUsage = Callable[[str, Usage], None]
"""Takes the model, as its provider names it, and the tokens of one reply."""


class Metered:
    """Reports the usage of every whole reply, once; a reply whose provider did not count is not reported."""

    def __init__(self, inner: LLMClient, on_usage: OnUsage) -> None:
        self._inner = inner
        self._on_usage = on_usage

    @property
    def supports_native_tools(self) -> bool:
        return self._inner.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        async with aclosing(self._inner.stream(prompt)) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, LLMResponse) and event.usage is not None:
                    self._on_usage(event.model, event.usage)
                yield event
