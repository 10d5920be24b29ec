"""What is said in a recording, by an OpenAI-compatible service.

Source: https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

import asyncio
from pathlib import Path

import httpx

from bot.errors import LLMMalformed, LLMRejected, LLMUnavailable

TIMEOUT = 120.0


async def transcribe(http: httpx.AsyncClient, url: str, key: str, model: str, path: Path) -> str:
    """Return the text of a recording.

    Args:
        url: Of the API, such as `https://api.openai.com/v1`; `/audio/transcriptions` is added.
        key: Empty for a service that wants none.

    Raises:
        LLMUnavailable: It can't be reached, or is overloaded.
        LLMRejected: It does not take the recording, the key or the model.
        LLMMalformed: Its answer holds no text.
    """
    content = await asyncio.to_thread(path.read_bytes)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        response = await http.post(
            f"{url.rstrip('/')}/audio/transcriptions",
            headers=headers,
            data={"model": model, "response_format": "json"},
            files={"file": (path.name, content)},
            timeout=TIMEOUT,
        )
    except httpx.HTTPError as exc:
        raise LLMUnavailable(f"the transcription service can't be reached: {exc!r}") from exc
    if response.status_code >= 500 or response.status_code == 429:
        raise LLMUnavailable(f"the transcription service answered {response.status_code}")
    if response.status_code != 200:
        reason = "auth" if response.status_code in (401, 403) else "bad_request"
        raise LLMRejected(f"the transcription service answered {response.status_code}", reason=reason)
    try:
        text = response.json()["text"]
    except (ValueError, KeyError, TypeError) as exc:
        raise LLMMalformed("the transcription service's answer holds no text") from exc
    if not isinstance(text, str):
        raise LLMMalformed("the transcription service's answer holds no text")
    return text
