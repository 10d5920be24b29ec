"""A conversation may choose its model; a choice that can't be asked any more falls back."""

from collections.abc import AsyncIterator

from bot.errors import ConfigError
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.chosen import Chosen
from bot.messages import AssistantMessage, UserMessage


class Named:
    """Answers with its name."""

    supports_native_tools = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | LLMResponse]:
        yield LLMResponse(AssistantMessage(self.name))


async def answer(client: LLMClient, model: str) -> str:
    prompt = Prompt("", [UserMessage("hi")], model=model)
    [response] = [event async for event in client.stream(prompt)]
    assert isinstance(response, LLMResponse)
    return response.message.text


async def test_the_model_of_the_prompt_is_asked_and_connected_once() -> None:
    connected: list[str] = []

    def connect(model: str) -> LLMClient:
        connected.append(model)
        return Named(model)

    client = Chosen(Named("usual"), connect)

    answers = [await answer(client, model) for model in ("", "a:1", "b:2", "a:1")]

    assert answers == ["usual", "a:1", "b:2", "a:1"]
    assert connected == ["a:1", "b:2"]


async def test_what_cant_be_connected_falls_back() -> None:
    def connect(model: str) -> LLMClient:
        raise ConfigError("A_API_KEY is not set")

    assert await answer(Chosen(Named("usual"), connect), "a:1") == "usual"
