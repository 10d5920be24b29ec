"""Pictures as the model services take them: what each refuses, in its own words.

Sources: https://platform.claude.com/docs/en/build-with-claude/vision,
https://platform.openai.com/docs/guides/images-vision,
https://ai.google.dev/gemini-api/docs/image-understanding,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html, and the error texts quoted in
public issues. That Gemini and Ollama refuse pictures in a reply is stricter than anything they say.
"""

# ruff: noqa: E501 - the services' own words stay on one line, to be searched for

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.demo.model_rules import Refused, Traits

FORMATS = ("jpeg", "png", "gif", "webp")
DATA_URL = re.compile(r"data:(?P<type>[^;,]*);base64,(?P<data>.*)\Z", re.S)
OPENAI_BYTES = 50_000_000
OPENAI_COUNT = 500
ANTHROPIC_CHARS = 5 * 1024 * 1024
ANTHROPIC_COUNT = 100
GEMINI_CHARS = 20_000_000
BEDROCK_BYTES = 3_750_000
BEDROCK_COUNT = 20


def decoded(data: object) -> bytes:
    """Return the bytes of base64 text; empty for anything else."""
    if not isinstance(data, str):
        return b""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def kind(content: bytes) -> str:
    """Return the format by the first bytes; empty for what no service knows."""
    if content[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if content[:4] == b"\x89PNG":
        return "png"
    if content[:3] == b"GIF":
        return "gif"
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


def in_url(url: object) -> bytes:
    """Return the bytes in a `data:` URL; empty for anything else."""
    found = DATA_URL.match(url) if isinstance(url, str) else None
    return decoded(found["data"]) if found else b""


def check_openai_images(body: Mapping[str, Any], traits: Traits) -> None:
    """Raise Refused where chat completions would, for content in parts."""
    for index, message in enumerate(body["messages"]):
        if isinstance(message.get("content"), list):
            _check_chat_content(index, message["role"], message["content"], traits)
    _check_sums([image for message in body["messages"] for image in images_in(message.get("content"))])


def check_responses_images(body: Mapping[str, Any], traits: Traits) -> None:
    """Raise Refused where Responses would, for content in parts."""
    for index, item in enumerate(body["input"]):
        if isinstance(item.get("content"), list):
            _check_responses_content(f"input[{index}]", item["role"], item["content"], traits)
    _check_sums([image for item in body["input"] for image in images_in(item.get("content"))])


def check_anthropic_images(body: Mapping[str, Any], traits: Traits) -> None:
    """Raise Refused where the Messages API would."""
    count = 0
    for index, message in enumerate(body["messages"]):
        for number, block in enumerate(message["content"] if isinstance(message["content"], list) else ()):
            if block.get("type") == "image":
                count += 1
                _check_anthropic_image(f"messages.{index}.content.{number}", message["role"], block, traits)
    if count > ANTHROPIC_COUNT:
        raise Refused(f"messages: too many images and documents: {count} + 0 > {ANTHROPIC_COUNT}")


def images_in(content: object) -> tuple[bytes, ...]:
    """Return the pictures of a message's content, in any of the shapes."""
    found: list[bytes] = []
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "image_url", "image_url": {"url": url}} | {"type": "input_image", "image_url": url}:
                found.append(in_url(url))
            case {"type": "image", "source": {"data": data}} | {"inlineData": {"data": data}}:
                found.append(decoded(data))
            case {"image": {"source": {"bytes": data}}}:
                found.append(decoded(data))
    return tuple(found)


def _check_chat_content(index: int, role: str, content: Sequence[Mapping[str, Any]], traits: Traits) -> None:
    for number, part in enumerate(content):
        where = f"messages[{index}].content[{number}]"
        match part.get("type"):
            case "text":
                if not isinstance(part.get("text"), str):
                    raise _missing(f"{where}.text")
            case "image_url":
                if role != "user":
                    raise Refused(
                        f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '{role}' contains an image URL.",
                        param=f"messages[{index}]",
                        code="invalid_value",
                    )
                image = part.get("image_url")
                if not isinstance(image, Mapping) or "url" not in image:
                    raise _missing(f"{where}.image_url.url")
                if not traits.vision:
                    raise Refused(
                        "Invalid content type. image_url is only supported by certain models.",
                        param=f"messages.[{index}].content.[{number}].type",
                    )
                _check_data_url(f"{where}.image_url.url", image["url"])
            case other:
                raise Refused(
                    f"Invalid value: '{other}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
                    param=where,
                    code="invalid_value",
                )


def _check_responses_content(
    where: str, role: str, content: Sequence[Mapping[str, Any]], traits: Traits
) -> None:
    for number, part in enumerate(content):
        at, given = f"{where}.content[{number}]", part.get("type")
        takes = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
        if given not in takes:
            raise Refused(
                f"Invalid value: '{given}'. Supported values are: {' and '.join(map(repr, takes))}.",
                param=f"{at}.type",
                code="invalid_value",
            )
        if given == "input_image":
            if role != "user":
                raise Refused(f"Invalid '{at}': images are only allowed for role 'user'.", param=at)
            if not traits.vision:
                raise Refused("This model does not support image inputs.", param=at)
            if "image_url" not in part:
                raise _missing(f"{at}.image_url")
            _check_data_url(f"{at}.image_url", part["image_url"])
        elif not isinstance(part.get("text"), str):
            raise _missing(f"{at}.text")


def _check_sums(images: Sequence[bytes]) -> None:
    if len(images) > OPENAI_COUNT or sum(map(len, images)) > OPENAI_BYTES:
        raise Refused(
            f"Too many images in request. Limit is {OPENAI_COUNT} images and 50MB.", code="too_many_images"
        )


def _check_data_url(where: str, url: object) -> None:
    found = DATA_URL.match(url) if isinstance(url, str) else None
    if found is None:
        raise Refused(
            f"Invalid '{where}'. Expected a valid URL, but got a value with an invalid format.",
            param=where,
            code="invalid_value",
        )
    if found["type"] not in [f"image/{one}" for one in FORMATS]:
        raise Refused(
            f"Invalid '{where}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got unsupported MIME type '{found['type']}'.",
            param=where,
            code="invalid_value",
        )
    content = decoded(found["data"])
    if not content:
        raise Refused("Invalid base64 image_url.", param=where, code="invalid_base64")
    # Only the bytes count here; other servers of this shape want the type to be right as well.
    if f"image/{kind(content)}" != found["type"]:
        raise Refused(
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
            code="invalid_image_format",
        )
    if len(content) > 20_000_000:
        raise Refused(
            "You uploaded an unsupported image. Please make sure your image is below 20 MB in size."
        )


def _missing(name: str) -> Refused:
    return Refused(f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter")


def _check_anthropic_image(where: str, role: str, block: Mapping[str, Any], traits: Traits) -> None:
    if role != "user":
        raise Refused(f"{where}: `image` blocks are only permitted in `user` messages")
    source = block.get("source")
    if not isinstance(source, Mapping):
        raise Refused(f"{where}.image.source: Field required")
    if source.get("type") != "base64":
        raise Refused(
            f"{where}.image.source: Input tag '{source.get('type')}' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'"
        )
    for name in ("media_type", "data"):
        if not isinstance(source.get(name), str):
            raise Refused(f"{where}.image.source.base64.{name}: Field required")
    if not traits.vision:
        raise Refused("This model does not support image inputs")
    if source["media_type"] not in [f"image/{one}" for one in FORMATS]:
        raise Refused(
            f"{where}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        )
    if (size := len(source["data"])) > ANTHROPIC_CHARS:
        raise Refused(
            f"{where}.image.source.base64: image exceeds 5 MB maximum: {size} bytes > {ANTHROPIC_CHARS} bytes"
        )
    content = decoded(source["data"])
    if not content:
        raise Refused(f"{where}.image.source.base64.data: Invalid base64 data")
    if not kind(content):
        raise Refused("Could not process image")
    if f"image/{kind(content)}" != source["media_type"]:
        raise Refused(
            f"{where}.image.source.base64.data: Image does not match the provided media type {source['media_type']}"
        )


def check_gemini_image(where: str, role: str, data: object, traits: Traits) -> None:
    """Raise Refused where generateContent would."""
    if not isinstance(data, Mapping):
        raise _bad(f"Invalid value at '{where}.inline_data'")
    if role != "user":
        raise _bad("Images are only accepted in content with role user.")
    if not traits.vision:
        raise _bad("Image input modality is not enabled for this model")
    if data.get("mimeType") not in ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"):
        raise _bad(f"Unsupported MIME type: {data.get('mimeType', '')}")
    content = decoded(data.get("data"))
    if not content:
        raise _bad(f"Invalid value at '{where}.inline_data.data' (TYPE_BYTES), Base64 decoding failed")
    if f"image/{kind(content)}" != data["mimeType"]:
        raise _bad(
            "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
        )
    if len(data["data"]) > GEMINI_CHARS:
        raise _bad("Request payload size exceeds the limit: 20971520 bytes.")


def _bad(message: str) -> Refused:
    return Refused(message, kind="INVALID_ARGUMENT")


def check_ollama_images(role: str, images: object, traits: Traits) -> None:
    """Raise Refused where Ollama would."""
    if not isinstance(images, list) or not all(isinstance(one, str) for one in images):
        raise Refused(
            "json: cannot unmarshal string into Go struct field ChatRequest.messages.images of type []api.ImageData"
        )
    if images and role != "user":
        raise Refused("images are only taken in user messages")
    if images and not traits.vision:
        raise Refused("this model does not support image input")
    for one in images:
        content = decoded(one)
        if not content:
            raise Refused("illegal base64 data at input byte 0")
        if kind(content) not in ("jpeg", "png"):
            raise Refused("image: unknown format", status=500)


def check_bedrock_image(where: str, role: str, image: object, traits: Traits) -> None:
    """Raise Refused where Converse would."""
    if not isinstance(image, Mapping) or not isinstance(image.get("source"), Mapping):
        raise Refused(f"Missing required parameter in {where}.image: source")
    if image.get("format") not in FORMATS:
        raise Refused(
            f"1 validation error detected: Value at '{where}.member.image.format' failed to satisfy constraint: Member must satisfy enum value set: [jpeg, png, gif, webp]"
        )
    if role != "user":
        raise Refused(
            f"The image field in the ContentBlock object at {where} is only valid for the user role."
        )
    if not traits.vision:
        raise Refused(
            "This model doesn't support the image field for user messages. Remove image and try again."
        )
    content = decoded(image["source"].get("bytes"))
    if not content:
        raise Refused("Unable to decode base64 value of the image field")
    if len(content) > BEDROCK_BYTES:
        raise Refused(f"The image at {where} exceeds the maximum size of 3.75 MB.")
    if kind(content) != image["format"]:
        raise Refused(
            "The model returned the following errors: The provided image does not match the specified image format."
        )
