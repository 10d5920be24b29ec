"""One client that asks the model a conversation has chosen, or the usual chain."""

import logging
from collections.abc import AsyncIterator, Callable

from bot.errors import ConfigError
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta

log = logging.getLogger(__name__)


class Chosen:
    """Asks the model that a prompt names, with the usual chain behind none.

    Args:
        usual: For prompts that name no model.
        connect: Makes the client of a `provider:model`, or raises ConfigError; called once for each, when it
            is first asked. A choice that can't be connected to any more falls back to the usual chain.
    """

    def __init__(self, usual: LLMClient, connect: Callable[[str], LLMClient]) -> None:
        self._usual = usual
        self._connect = connect
        self._clients: dict[str, LLMClient] = {}

    @property
    def supports_native_tools(self) -> bool:
        return self._usual.supports_native_tools

    def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        return self._client(prompt.model).stream(prompt)

    def _client(self, model: str) -> LLMClient:
        if not model:
            return self._usual
        if model not in self._clients:
            try:
                self._clients[model] = self._connect(model)
            except ConfigError as exc:
                log.warning("%s was chosen but can't be asked, using the usual models: %s", model, exc)
                return self._usual
        return self._clients[model]
