"""What a provider's error means, whatever shape it comes in.

Judged by status first, then by the type or code the provider gives, and by its words last (requirement F3).
Sources: https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors,
https://openrouter.ai/docs/api/reference/errors-and-debugging
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from bot import clock
from bot.errors import LLMError, LLMRejected, LLMUnavailable

MAX_TEXT = 300


class UnsupportedParameter(LLMRejected):
    """The model does not take a parameter of the request; one corrected request may follow.

    Attributes:
        parameter: Its name at the top level of the body.
    """

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class LimitTooHigh(LLMRejected):
    """The model does not write as much as the request allows it to.

    Attributes:
        numbers: Those in the provider's words; the limit is among them.
    """

    def __init__(self, message: str, *, numbers: Sequence[int]) -> None:
        super().__init__(message)
        self.numbers = tuple(numbers)

    def below(self, sent: int) -> int | None:
        """Return the limit to ask for instead of the one sent; None if the words give none."""
        return max((number for number in self.numbers if 0 < number < sent), default=None)


class OpaqueRefused(LLMRejected):
    """A signature or hidden part that was sent back no longer holds; without them the request may do."""


class ToolsUnsupported(LLMRejected):
    """The model takes no tool definitions; it may still be asked with tools written as text."""


class ImagesRefused(LLMRejected):
    """The pictures of the request were refused; without them it may do.

    Attributes:
        blind: Whether the model takes none at all; else one of these can't be taken.
    """

    def __init__(self, message: str, *, blind: bool) -> None:
        super().__init__(message)
        self.blind = blind


class BodyTooLarge(LLMRejected):
    """The request has too many bytes, whatever its tokens: a gateway's limit, or the pictures'."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="too_long")


class ServerFailed(LLMUnavailable):
    """The provider broke (5xx) and did not say that it is busy: an outage, or something in the request.

    Attributes:
        images: Whether its words are about pictures.
    """

    def __init__(self, message: str, *, images: bool = False) -> None:
        super().__init__(message)
        self.images = images


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as the provider worded it, before it is judged.

    Attributes:
        retry_after: Seconds to wait, when the body says so.
    """

    status: int
    kind: str = ""
    code: str = ""
    parameter: str = ""
    text: str = ""
    retry_after: float | None = None


ERROR_TYPES = {"error", "response.failed"}
"""Types of events that are errors (Anthropic, OpenAI's Responses)."""


_STATUS_OF_KIND = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "billing_error": 402,
    "insufficient_quota": 402,
    "insufficient_balance": 402,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "context_length_exceeded": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
    "timeout_error": 504,
    "api_error": 500,
    "server_error": 500,
    "invalid_request_error": 400,
    # Google: https://cloud.google.com/apis/design/errors
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
    "INTERNAL": 500,
    # Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "validationException": 400,
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
}
_QUOTA = {"insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance"}
_TOO_LONG = {"context_length_exceeded", "request_too_large", "string_above_max_length"}
_REFUSED = {"content_filter", "content_policy_violation", "data_inspection_failed", "moderation_error"}
_MODEL = {"model_not_found", "invalid_model", "unknown_model"}

_TOO_LONG_TEXT = re.compile(
    r"(prompt|input) is too long|input token count|messages resulted in \d+ tokens"
    r"|context.{0,12}(length|window|limit)|maximum context|too many (input )?tokens"
    r"|reduce the length",
    re.I,
)
_QUOTA_TEXT = re.compile(
    r"credit balance is too low|insufficient (balance|credit|quota)|exceeded your current quota", re.I
)
_KEY_TEXT = re.compile(
    r"(invalid|incorrect|missing) (x-)?api[- ]key|api key (is )?(not valid|invalid)"
    r"|security token .{0,40}(invalid|expired)",
    re.I,
)
_MODEL_TEXT = re.compile(r"\bmodel\b.{0,80}(does not exist|not found|not supported|is not a valid)", re.I)
_TOOLS_TEXT = re.compile(
    r"(does(n't| not)|no) support.{0,20}\b(tools?|function call)|\btools?\b.{0,40}not supported"
    r"|no endpoints found that support tool",
    re.I,
)
_LIMIT_TEXT = re.compile(
    r"(max(_completion|_output)?_tokens|maxTokens|maxOutputTokens|num_predict)"
    r".{0,80}(too large|maximum|at most|valid range|less than or equal|exceed|>)",
    re.I,
)
_OPAQUE_TEXT = re.compile(
    r"thought.?signature|invalid `?signature`?|`?(redacted_)?thinking`?.{0,40}(blocks?|cannot be modified)"
    r"|encrypted content for item|required (following|reasoning) item|reasoning_content is missing",
    re.I,
)
_IMAGE = r"\b(images?(?!/)|image_url|input_image)\b"
_BLIND_TEXT = re.compile(
    rf"(does(n't| not)|do(n't| not)|no endpoints found that) support.{{0,20}}({_IMAGE}|vision|multimodal)"
    rf"|{_IMAGE} (\w+ ){{0,2}}(is|are) (not supported|not enabled|only supported by)"
    r"|not a (multimodal|vision) model|missing data required for image|at most 0 image"
    rf"|unknown variant .?{_IMAGE}|content.{{0,60}}must be (a )?string",
    re.I | re.S,
)
"""OpenAI, OpenRouter, Bedrock, Ollama, llama.cpp, vLLM, DeepSeek and Groq, as others quote them."""
_IMAGE_TEXT = re.compile(r"\bimages?\b|image_url|input_image|inline_?data|mime[ _]?type|media[ _]?type", re.I)
_PARAMETER_TEXT = re.compile(
    r"""(?:unsupported|unknown|unrecognized|unexpected|extra|not permitted|not supported)""", re.I
)
OPTIONAL_PARAMETERS = (
    "max_completion_tokens",
    "max_tokens",
    "stream_options",
    "tool_choice",
    "reasoning_effort",
    "max_output_tokens",
    "prompt_cache_key",
    "parallel_tool_calls",
    "include",
    "num_ctx",
    "think",
)


def error_of(provider: str, refusal: Refusal, *, key: str = "", retry_after: float | None = None) -> LLMError:
    """Return the error to raise. Its message holds no key: not ours, nor the masked one providers echo."""
    kinds = {refusal.kind, refusal.code}
    status = refusal.status
    if status < 400:
        status = next(
            (_STATUS_OF_KIND[kind] for kind in (refusal.code, refusal.kind) if kind in _STATUS_OF_KIND), 500
        )
    text = " ".join(refusal.text.split())[:MAX_TEXT]
    if key:
        text = text.replace(key, "[key]")
    said = f"{provider} answered {status}" + (f": {text}" if text else "")

    if status == 401 or (400 <= status < 500 and _KEY_TEXT.search(refusal.text)):
        return LLMRejected(f"{provider} refused the key ({status})", reason="auth")
    if status == 402 or kinds & _QUOTA or (status in (400, 403) and _QUOTA_TEXT.search(refusal.text)):
        return LLMRejected(said, reason="quota")
    if kinds & _REFUSED:
        return LLMRejected(said, reason="refused")
    if status == 403:
        return LLMRejected(said, reason="auth")
    if _BLIND_TEXT.search(refusal.text):
        return ImagesRefused(said, blind=True)
    if status == 413:
        return BodyTooLarge(said)
    if kinds & _TOO_LONG:
        return LLMRejected(said, reason="too_long")
    if status in (408, 409, 424, 425, 429) or status >= 500:
        if status < 500 or status == 529 or retry_after is not None:
            return LLMUnavailable(said, retry_after=retry_after)
        # No refusal, whatever it says: without pictures in the request it is an outage like any other.
        return ServerFailed(said, images=_is_about_images(refusal.text))
    if 400 <= status < 500 and _OPAQUE_TEXT.search(refusal.text):
        return OpaqueRefused(said)
    if "Encrypted content is not supported" in refusal.text:
        return UnsupportedParameter(said, parameter="include")
    if "reasoning_effort" in refusal.text:
        # Some models take tools here only when they do not reason (OpenAI from GPT-5.4 on).
        return UnsupportedParameter(said, parameter="reasoning_effort")
    if status in (400, 404, 405, 422) and _TOOLS_TEXT.search(refusal.text):
        return ToolsUnsupported(said)
    if status == 404 or kinds & _MODEL:
        return LLMRejected(said, reason="model")
    if _is_about_images(refusal.text):
        return ImagesRefused(said, blind=False)
    if name := _named_parameter(refusal):
        return UnsupportedParameter(said, parameter=name)
    if _TOO_LONG_TEXT.search(refusal.text):
        return LLMRejected(said, reason="too_long")
    if _LIMIT_TEXT.search(refusal.text):
        return LimitTooHigh(said, numbers=[int(number) for number in re.findall(r"\d{1,9}", refusal.text)])
    if _MODEL_TEXT.search(refusal.text):
        return LLMRejected(said, reason="model")
    return LLMRejected(said)


def read_refusal(status: int, body: object) -> Refusal | None:
    """Return the error a decoded body holds, or None when it holds none.

    Shapes: `{"error": {"type", "code", "param", "message"}}` (OpenAI; OpenRouter's `code` is the status),
    `{"type": "error", "error": {"type", "message"}}` (Anthropic), `{"error": "text"}` (Ollama),
    `{"object": "error", "message", "type", "code"}` or `{"detail": …}` (Mistral and other servers),
    `{"error": {"code", "status", "message", "details"}}`, also in a list (Google), `{"message": …}` (AWS),
    `{"type": "response.failed", "response": {"error": …}}` (Responses) and `{"base_resp": …}` (MiniMax).
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return Refusal(status, text=body if isinstance(body, str) else "") if status >= 400 else None
    if isinstance(verdict := body.get("base_resp"), Mapping):
        return _minimax(status, verdict)
    error = body.get("error")
    if body.get("type") == "response.failed" and isinstance(response := body.get("response"), Mapping):
        error = response.get("error")
    if isinstance(error, str):
        return Refusal(status, text=error)
    if not isinstance(error, Mapping):
        if status < 400 and body.get("object") != "error" and body.get("type") not in ERROR_TYPES:
            return None
        error = body
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600 and status < 400:
        status = code
    text = error.get("message") or error.get("detail") or ""
    return Refusal(
        status,
        kind=_text(error.get("status")) or _text(error.get("type")),
        code=_text(code),
        parameter=_text(error.get("param")),
        text=text if isinstance(text, str) else repr(text),
        retry_after=_retry_delay(error.get("details")),
    )


def _minimax(status: int, verdict: Mapping[str, object]) -> Refusal | None:
    """Read what stands in every MiniMax reply, at status 200 even of a failed one.

    Source: https://platform.minimax.io/docs/api-reference/errorcode
    """
    code = verdict.get("status_code")
    if code in (0, None):
        return None if status < 400 else Refusal(status, text=_text(verdict.get("status_msg")))
    meant = _MINIMAX.get(code, 500) if isinstance(code, int) else 500
    kind = "content_policy_violation" if code in (1026, 1027) else ""
    return Refusal(meant, kind=kind, text=f"{_text(verdict.get('status_msg'))} ({code})")


_MINIMAX = {
    1001: 504, 1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 1039: 429, 1041: 429, 2013: 400,
    2049: 401, 2056: 429,
}  # fmt: skip


def _retry_delay(details: object) -> float | None:
    """Read Google's RetryInfo: `{"retryDelay": "37s"}`."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,6}(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return what `Retry-After` asks for: seconds or an HTTP date; None when it says nothing readable."""
    if milliseconds := headers.get("retry-after-ms"):
        try:
            return max(0.0, float(milliseconds) / 1000)
        except ValueError:
            pass
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - clock.system())
    except ValueError:
        return None


def _is_about_images(text: str) -> bool:
    """Whether pictures are what is wrong; a prompt that is too long "including images" is too long."""
    return bool(_IMAGE_TEXT.search(text) and not _MODEL_TEXT.search(text) and not _TOO_LONG_TEXT.search(text))


def _named_parameter(refusal: Refusal) -> str:
    if refusal.code == "unsupported_parameter" and refusal.parameter in OPTIONAL_PARAMETERS:
        return refusal.parameter
    if _PARAMETER_TEXT.search(refusal.text):
        named = [name for name in OPTIONAL_PARAMETERS if re.search(rf"\b{name}\b", refusal.text)]
        # "Unsupported parameter 'max_tokens', use 'max_completion_tokens'": the first named is refused.
        return min(named, key=refusal.text.index, default="")
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
