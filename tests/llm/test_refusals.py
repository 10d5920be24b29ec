"""Requirement F3: status first, then type, words last."""

import pytest

from bot import clock
from bot.errors import LLMError, LLMRejected, LLMUnavailable
from bot.llm.refusals import (
    BodyTooLarge,
    ImagesRefused,
    Refusal,
    ServerFailed,
    ToolsUnsupported,
    error_of,
    read_refusal,
    seconds_to_wait,
)


def judge(status: int, body: object) -> LLMError:
    refusal = read_refusal(status, body)
    assert refusal is not None
    return error_of("acme", refusal)


def reason(error: LLMError) -> str:
    if isinstance(error, LLMRejected):
        return error.reason
    return "LLMUnavailable" if isinstance(error, LLMUnavailable) else type(error).__name__


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (
            429,
            {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "x"}},
            "quota",
        ),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "400 requests"}}, "LLMUnavailable"),
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, "too_long"),
        (400, {"error": {"code": "content_filter", "message": "x"}}, "refused"),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "auth"),
        (400, {"error": {"code": "model_not_found", "message": "x"}}, "model"),
        (400, {"error": {"message": "The model `x` does not exist"}}, "model"),
        (400, {"error": {"message": "status 429 and 503 are numbers"}}, "bad_request"),
        (401, {"error": "unauthorized"}, "auth"),
        (404, {"error": {"message": "No endpoints found that support tool use."}}, "bad_request"),
        (404, None, "model"),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "bad"}]}, "bad_request"),
        (502, "<html>", "LLMUnavailable"),
        (200, {"error": {"code": 429, "message": "slow down"}}, "LLMUnavailable"),
        (200, {"error": {"code": 402, "message": "no credit"}}, "quota"),
        (200, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "LLMUnavailable"),
        (200, {"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}, "bad_request"),
        (200, {"error": {"message": "something odd"}}, "LLMUnavailable"),
        (200, {"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, "auth"),
        (200, {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "LLMUnavailable"),
        (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota"),
        (200, {"base_resp": {"status_code": 1027, "status_msg": "new sensitive"}}, "refused"),
        (200, {"base_resp": {"status_code": 9999, "status_msg": "?"}}, "LLMUnavailable"),
        (200, {"type": "response.failed", "response": {"error": {"code": "server_error"}}}, "LLMUnavailable"),
        (
            200,
            {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}},
            "LLMUnavailable",
        ),
        (200, {"type": "error", "code": "context_length_exceeded", "message": "x"}, "too_long"),
        (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "x"}}], "bad_request"),
        (200, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}, "LLMUnavailable"),
        (429, {"error": {"status": "RESOURCE_EXHAUSTED", "message": "x"}}, "LLMUnavailable"),
        (200, {"error": {"type": "throttlingException", "message": "x"}}, "LLMUnavailable"),
        (200, {"error": {"type": "validationException", "message": "x"}}, "bad_request"),
        (400, {"message": "Input is too long for requested model."}, "too_long"),
        (403, {"message": "The security token included in the request is expired"}, "auth"),
        (424, {"message": "model error"}, "LLMUnavailable"),
        (
            200,
            {"object": "error", "message": "x", "type": "invalid_request_error", "code": 3230},
            "bad_request",
        ),
    ],
)
def test_an_error_is_judged(status: int, body: object, expected: str) -> None:
    assert reason(judge(status, body)) == expected


BODIES = [{"choices": []}, {"error": None}, {}, [], "ok", {"base_resp": {"status_code": 0}, "choices": []}]


def test_google_says_in_the_body_how_long_to_wait() -> None:
    details = [{"@type": "…Help"}, {"@type": "…RetryInfo", "retryDelay": "37s"}]

    refusal = read_refusal(429, {"error": {"code": 429, "message": "x", "details": details}})

    assert refusal is not None
    assert refusal.retry_after == 37


@pytest.mark.parametrize("body", BODIES)
def test_a_body_without_error_is_none(body: object) -> None:
    assert read_refusal(200, body) is None


@pytest.mark.parametrize(
    "text",
    [
        "registry.ollama.ai/library/gemma does not support tools",
        "No endpoints found that support tool use",
        "`tools` is not supported with this model",
    ],
)
def test_a_model_that_takes_no_tools_is_told_apart(text: str) -> None:
    assert isinstance(judge(400, {"error": {"message": text}}), ToolsUnsupported)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (404, "No endpoints found that support image input"),
        (400, "This model doesn't support the image field for user messages. Remove image and try again."),
        (400, "this model does not support image input (ref: b8bd630e)"),
        (400, "Model do not support image input."),
        (400, "Model does not support images. Please use a model that does."),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (500, "this model is missing data required for image input"),
        (400, "m is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (422, "messages[0]: unknown variant `image_url`, expected `text` at line 1"),
        (400, "'messages.1.content' : value must be a string"),
        (400, "invalid content type. content must be string"),
        (400, "Image input modality is not enabled for this model"),
    ],
)
def test_a_model_that_takes_no_pictures_is_told_apart(status: int, text: str) -> None:
    error = judge(status, {"error": {"message": text}})

    assert isinstance(error, ImagesRefused)
    assert error.blind


@pytest.mark.parametrize(
    "text",
    [
        "Could not process image",
        "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes",
        "messages.0.content.0.image.source.base64.data: dimensions exceed max allowed size: 8000 pixels",
        "messages.0.content.0.image.source.base64: Image does not match the provided media type image/png",
        "You uploaded an unsupported image. Please make sure your image is valid.",
        "Unsupported MIME type: image/jpg",
        "The provided image does not match the specified image format.",
        "This model does not support image/tiff",
    ],
)
def test_a_picture_that_is_refused_says_nothing_of_the_model(text: str) -> None:
    error = judge(400, {"error": {"message": text}})

    assert isinstance(error, ImagesRefused)
    assert not error.blind


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (400, "The model `gpt-image-2` does not exist", "model"),
        (404, "models/gemini-2.5-flash-image is not found", "model"),
        (401, "image", "auth"),
        (429, "too many images per minute", "LLMUnavailable"),
        (400, "gemma does not support tools", "bad_request"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum, including images", "too_long"),
    ],
)
def test_a_word_about_pictures_does_not_hide_what_is_wrong(status: int, text: str, expected: str) -> None:
    error = judge(status, {"error": {"message": text}})

    assert not isinstance(error, ImagesRefused)
    assert reason(error) == expected


UNREADABLE = "Failed to create new sequence: failed to process inputs: image: unknown format"
"""Ollama, at status 500 or in the stream."""


@pytest.mark.parametrize(
    ("status", "text", "images"),
    [
        (500, UNREADABLE, True),
        (200, UNREADABLE, True),
        (500, "", False),
        (503, "the model `image` is not found", False),
    ],
)
def test_a_service_that_broke_says_whether_it_was_on_pictures(status: int, text: str, images: bool) -> None:
    error = judge(status, {"error": text})

    assert isinstance(error, ServerFailed)
    assert error.images is images


@pytest.mark.parametrize(
    ("status", "wait"), [(529, None), (503, 7.0), (500, 0.0), (429, None), (408, None), (424, None)]
)
def test_a_service_that_is_busy_did_not_break(status: int, wait: float | None) -> None:
    error = error_of("acme", Refusal(status, text="image"), retry_after=wait)

    assert isinstance(error, LLMUnavailable)
    assert not isinstance(error, ServerFailed)


def test_a_request_of_too_many_bytes_is_told_apart_from_too_many_tokens() -> None:
    large = judge(413, "<html>413 Request Entity Too Large</html>")

    assert isinstance(large, BodyTooLarge)
    assert large.reason == "too_long"
    assert not isinstance(judge(400, {"error": {"code": "context_length_exceeded"}}), BodyTooLarge)


def test_words_of_a_provider_are_kept_short_and_on_one_line() -> None:
    error = judge(500, {"error": {"message": "a\nb " * 1000}})

    assert len(str(error)) < 400
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], expected: float | None) -> None:
    assert seconds_to_wait(headers) == expected


def test_retry_after_may_be_a_date() -> None:
    from email.utils import formatdate

    waited = seconds_to_wait({"retry-after": formatdate(clock.system() + 100, usegmt=True)})

    assert waited is not None
    assert 90 < waited <= 101


def test_an_unavailable_provider_keeps_its_wish() -> None:
    error = error_of("acme", Refusal(429), retry_after=3.0)

    assert isinstance(error, LLMUnavailable)
    assert error.retry_after == 3.0
