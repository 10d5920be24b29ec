"""A picture in the exact shape that each vendor's documentation shows; the sources are named in each wire."""

from typing import Any

import httpx
import pytest

from bot.llm import ids
from bot.llm.anthropic import request_body as anthropic_body
from bot.llm.base import Picture, Prompt
from bot.llm.bedrock import Bedrock
from bot.llm.gemini import Gemini
from bot.llm.ollama import Ollama
from bot.llm.openai_chat import request_body as openai_body
from bot.llm.responses import Responses
from bot.llm.sequence import arrange
from bot.llm.stackspot import StackSpot
from bot.llm.text_tools import as_text
from bot.llm.wire import WireClient
from bot.messages import AssistantMessage, Message, Notice, UserMessage

CAT = Picture("image/png", "Y2F0")
DOG = Picture("image/jpeg", "ZG9n")
WIRES: dict[str, type[WireClient]] = {
    "responses": Responses, "gemini": Gemini, "ollama": Ollama, "bedrock": Bedrock, "stackspot": StackSpot,
}  # fmt: skip
SHAPES: dict[str, Any] = {
    "openai": {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,Y2F0"}},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,ZG9n"}},
            {"type": "text", "text": "which is it?"},
        ],
    },
    "responses": {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": "data:image/png;base64,Y2F0"},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,ZG9n"},
            {"type": "input_text", "text": "which is it?"},
        ],
    },
    "anthropic": {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Y2F0"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "ZG9n"}},
            {"type": "text", "text": "which is it?", "cache_control": {"type": "ephemeral"}},
        ],
    },
    "gemini": {
        "role": "user",
        "parts": [
            {"inlineData": {"mimeType": "image/png", "data": "Y2F0"}},
            {"inlineData": {"mimeType": "image/jpeg", "data": "ZG9n"}},
            {"text": "which is it?"},
        ],
    },
    "ollama": {"role": "user", "content": "which is it?", "images": ["Y2F0", "ZG9n"]},
    "bedrock": {
        "role": "user",
        "content": [
            {"image": {"format": "png", "source": {"bytes": "Y2F0"}}},
            {"image": {"format": "jpeg", "source": {"bytes": "ZG9n"}}},
            {"text": "which is it?"},
        ],
    },
}


async def mapped(wire: str, prompt: Prompt) -> dict[str, Any]:
    match wire:
        case "openai":
            return openai_body(prompt, arrange(prompt, ids.OPENAI), provider="p", model="m")
        case "anthropic":
            arranged = arrange(prompt, ids.ANTHROPIC)
            return anthropic_body(prompt, arranged, provider="p", model="m", max_tokens=9)
    async with httpx.AsyncClient() as http:
        client = WIRES[wire](http, provider="p", url="http://x", key="k", model="m")
        return client.body(prompt, arrange(prompt, client.id_style))


def asking(*messages: Message, **pictures: Picture) -> Prompt:
    return Prompt("", messages, pictures=pictures)


def said(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body.get("messages") or body.get("input") or body["contents"]
    return found


@pytest.mark.parametrize("wire", SHAPES)
async def test_pictures_stand_before_the_words_about_them_in_the_wire_s_own_shape(wire: str) -> None:
    prompt = asking(UserMessage("which is it?", images=("cat", "dog")), cat=CAT, dog=DOG)

    assert said(await mapped(wire, prompt)) == [SHAPES[wire]]


@pytest.mark.parametrize("wire", SHAPES)
async def test_a_picture_that_is_not_shown_leaves_the_message_as_it_would_be_without(wire: str) -> None:
    with_path = asking(UserMessage("which is it?", images=("cat",)))
    without = asking(UserMessage("which is it?"))

    assert await mapped(wire, with_path) == await mapped(wire, without)


@pytest.mark.parametrize("wire", SHAPES)
async def test_pictures_of_messages_that_become_one_all_stay(wire: str) -> None:
    prompt = asking(
        UserMessage("which", images=("cat",)),
        Notice("(go on)", "loop"),
        UserMessage("is it?", images=("dog",)),
        cat=CAT,
        dog=DOG,
    )

    [message] = said(await mapped(wire, prompt))

    assert "Y2F0" in str(message)
    assert str(message).index("Y2F0") < str(message).index("ZG9n")


@pytest.mark.parametrize("wire", SHAPES)
async def test_a_picture_stays_with_its_message_when_the_conversation_goes_on(wire: str) -> None:
    prompt = asking(
        UserMessage("one", images=("cat",)), AssistantMessage("A cat."), UserMessage("two"), cat=CAT
    )

    first, *later = said(await mapped(wire, prompt))

    assert "Y2F0" in str(first)
    assert "Y2F0" not in str(later)


async def test_stackspot_has_no_place_for_pictures() -> None:
    prompt = asking(UserMessage("which is it?", images=("cat",)), cat=CAT)

    assert "Y2F0" not in str(await mapped("stackspot", prompt))


def test_pictures_survive_when_tools_are_written_as_text() -> None:
    prompt = asking(UserMessage("which is it?", images=("cat",)), cat=CAT)

    written = as_text(prompt)

    assert written.transcript == [UserMessage("which is it?", images=("cat",))]
    assert written.pictures == {"cat": CAT}
