"""The scripted model refuses of pictures what the services refuse; told by raw requests."""

import base64
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from bot.demo.model_server import ModelServer, Reply, Traits

KEYS = {
    "authorization": "Bearer test-key",
    "x-goog-api-key": "test-key",
    "anthropic-version": "2023-06-01",
}
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{}:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
    "bedrock": "/model/{}/converse-stream",
}
CONTENT = b"\x89PNG\r\n\x1a\n" + bytes(50)
PNG = base64.b64encode(CONTENT).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff" + bytes(50)).decode()
PDF = base64.b64encode(b"%PDF-1.7").decode()


def part(wire: str, data: object = PNG, kind: object = "image/png") -> Any:
    """Return a picture as a wire has it; for Ollama the data alone."""
    match wire:
        case "openai":
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case "responses":
            return {"type": "input_image", "image_url": f"data:{kind};base64,{data}"}
        case "anthropic":
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        case "gemini":
            return {"inlineData": {"mimeType": kind, "data": data}}
        case "bedrock":
            return {"image": {"format": str(kind).removeprefix("image/"), "source": {"bytes": data}}}
    return data


def said(wire: str, parts: list[Any], role: str = "user") -> dict[str, Any]:
    """Return a message with parts and a word."""
    match wire:
        case "openai" | "anthropic":
            return {"role": role, "content": [*parts, {"type": "text", "text": "hi"}]}
        case "responses":
            kind = "output_text" if role == "assistant" else "input_text"
            return {"role": role, "content": [*parts, {"type": kind, "text": "hi"}]}
        case "gemini":
            names = {"assistant": "model"}
            return {"role": names.get(role, role), "parts": [*parts, {"text": "hi"}]}
        case "bedrock":
            return {"role": role, "content": [*parts, {"text": "hi"}]}
    return {"role": role, "content": "hi", "images": parts}


def body(wire: str, *messages: dict[str, Any], model: str = "m") -> dict[str, Any]:
    match wire:
        case "responses":
            return {"model": model, "input": list(messages)}
        case "gemini":
            return {"contents": list(messages)}
        case "bedrock":
            return {"messages": list(messages)}
        case "anthropic":
            return {"model": model, "max_tokens": 9, "messages": list(messages)}
    return {"model": model, "messages": list(messages)}


Ask = Callable[..., Any]


@pytest.fixture
def server() -> ModelServer:
    models = {"m": Traits(), "blind": Traits(vision=False)}
    return ModelServer(lambda request: Reply("Hi."), models=models)


@pytest.fixture
async def ask(server: ModelServer) -> AsyncIterator[Ask]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(server.app), base_url="http://model", headers=KEYS
    ) as client:

        async def refusal(wire: str, *messages: dict[str, Any], model: str = "m") -> str:
            answer = await client.post(PATHS[wire].format(model), json=body(wire, *messages, model=model))
            return "" if answer.status_code == 200 else answer.text.replace('\\"', '"')

        yield refusal


every_wire = pytest.mark.parametrize("wire", PATHS)


@every_wire
async def test_a_picture_is_taken_and_told_to_the_script(wire: str, ask: Ask, server: ModelServer) -> None:
    assert await ask(wire, said(wire, [part(wire), part(wire, JPEG, "image/jpeg")])) == ""

    [message] = server.requests[-1].messages
    assert (message.text, message.images) == ("hi", (CONTENT, base64.b64decode(JPEG)))


@every_wire
@pytest.mark.parametrize("data", ["not base64!", PNG[:-1], f"{PNG}\n", "", 7, None])
async def test_bad_base64_is_refused(wire: str, data: object, ask: Ask) -> None:
    assert await ask(wire, said(wire, [part(wire, data)]))


@every_wire
async def test_what_is_no_picture_is_refused(wire: str, ask: Ask) -> None:
    assert await ask(wire, said(wire, [part(wire, PDF)]))


@pytest.mark.parametrize("wire", [wire for wire in PATHS if wire != "ollama"])
@pytest.mark.parametrize("kind", ["image/jpg", "image/tiff", "image/svg+xml", "PNG", "", None])
async def test_a_media_type_that_no_service_knows_is_refused(wire: str, kind: object, ask: Ask) -> None:
    assert await ask(wire, said(wire, [part(wire, PNG, kind)]))


@pytest.mark.parametrize("wire", [wire for wire in PATHS if wire != "ollama"])
async def test_a_media_type_that_the_bytes_contradict_is_refused(wire: str, ask: Ask) -> None:
    assert await ask(wire, said(wire, [part(wire, JPEG, "image/png")]))


@every_wire
async def test_a_picture_in_a_reply_is_refused(wire: str, ask: Ask) -> None:
    reply = said(wire, [part(wire)], role="assistant")

    assert await ask(wire, said(wire, [part(wire)]), reply, said(wire, []))
    assert not await ask(wire, said(wire, [part(wire)]), said(wire, [], role="assistant"), said(wire, []))


@every_wire
async def test_a_model_without_eyes_refuses_pictures_and_takes_words(wire: str, ask: Ask) -> None:
    assert await ask(wire, said(wire, [part(wire)]), model="blind")
    assert not await ask(wire, said(wire, []), model="blind")


@pytest.mark.parametrize(
    ("wire", "wrong", "words"),
    [
        ("openai", {"type": "image_url"}, "messages[0].content[0].image_url.url"),
        ("openai", {"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"}, "image_url.url"),
        ("openai", {"type": "image_url", "image_url": {"url": "/home/kai/a.png"}}, "Expected a valid URL"),
        ("openai", {"type": "input_image", "image_url": "x"}, "Invalid value: 'input_image'"),
        ("openai", {"type": "text"}, "content[0].text"),
        ("responses", {"type": "input_image"}, "input[0].content[0].image_url"),
        ("responses", {"type": "image_url", "image_url": {"url": "x"}}, "Invalid value: 'image_url'"),
        ("responses", {"type": "text", "text": "hi"}, "Invalid value: 'text'"),
        ("responses", {"type": "input_text"}, "content[0].text"),
        ("anthropic", {"type": "image"}, "image.source: Field required"),
        ("anthropic", {"type": "image", "source": {"type": "base64", "data": PNG}}, "media_type: Field"),
        ("anthropic", {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}, "data: F"),
        ("anthropic", {"type": "image", "source": {"type": "file", "data": PNG}}, "Input tag 'file'"),
        ("gemini", {"inlineData": {"data": PNG}}, "Unsupported MIME type"),
        ("gemini", {"inlineData": PNG}, "Invalid value"),
        ("gemini", part("gemini", base64.b64encode(b"GIF89a").decode(), "image/gif"), "Unsupported MIME"),
        ("bedrock", {"image": {"format": "png"}}, "source"),
        ("bedrock", {"image": {"source": {"bytes": PNG}}}, "enum value set: [jpeg, png, gif, webp]"),
    ],
)
async def test_a_picture_without_all_its_fields_is_refused(
    wire: str, wrong: dict[str, Any], words: str, ask: Ask
) -> None:
    assert words in await ask(wire, said(wire, [wrong]))


async def test_ollama_takes_a_list_of_bare_base64_only(ask: Ask) -> None:
    for images in (PNG, [{"data": PNG}], [f"data:image/png;base64,{PNG}"]):
        assert await ask("ollama", {"role": "user", "content": "hi", "images": images})


@pytest.mark.parametrize(
    ("wire", "size", "words"),
    [
        ("anthropic", 3_932_161, "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"),
        ("bedrock", 3_750_001, "3.75 MB"),
        ("openai", 20_000_001, "below 20 MB"),
        ("gemini", 15_000_001, "payload size exceeds"),
    ],
)
async def test_a_picture_that_is_too_large_is_refused(wire: str, size: int, words: str, ask: Ask) -> None:
    large, just = (base64.b64encode(CONTENT.ljust(n, b"\0")).decode() for n in (size, size - 1))

    assert words in await ask(wire, said(wire, [part(wire, large)]))
    assert not await ask(wire, said(wire, [part(wire, just)]))


@pytest.mark.parametrize(
    ("wire", "most"), [("anthropic", 100), ("bedrock", 20), ("openai", 500), ("responses", 500)]
)
async def test_more_pictures_than_a_request_may_have_are_refused(wire: str, most: int, ask: Ask) -> None:
    assert "oo many images" in await ask(wire, said(wire, [part(wire)] * (most + 1)))
    assert not await ask(wire, said(wire, [part(wire)] * most))
