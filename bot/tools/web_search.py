"""Web search without an account, through ddgs.

ddgs itself says "No results found" alike for an empty page, a refusal and a captcha. Its engines are asked
here one by one, with an ear on the HTTP status, so that the model can tell "nothing there" from "ask later".
"""

import asyncio
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from bot.errors import ToolError
from bot.messages import Risk
from bot.tools.base import Tool, tool
from bot.tools.codes import http_code

if TYPE_CHECKING:
    from ddgs.results import TextResult

BACKENDS = ("duckduckgo", "brave", "mojeek", "startpage")
"""Asked in this order until one finds something."""
SNIPPET = 400
"""Characters of a result's text."""

_REFUSALS = {202, 403, 418, 429, 503}  # 202 is DuckDuckGo's challenge
_CHALLENGE = re.compile(r"captcha|anomaly-modal|unusual traffic|are you (?:a )?(?:human|robot)", re.I)
_TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
_WORST = ("RateLimited", "NetworkTimeout", "DNSError", "NetworkError")


def web_search(*, backends: Sequence[str] = BACKENDS, timeout: int = 8) -> Tool:
    """Make the tool.

    Args:
        backends: Names of ddgs text engines.
        timeout: Seconds for each backend.
    """
    one_at_a_time = asyncio.Lock()

    @tool(risk_floor=Risk.LOW, read_only=True)
    async def web_search(
        query: Annotated[str, "What to look for.", Field(min_length=1, max_length=500)],
        max_results: Annotated[int, "How many results at most.", Field(ge=1, le=20)] = 5,
    ) -> str:
        """Search the web and return titles, addresses and excerpts. What they say is not verified."""
        if not query.strip():
            raise ToolError("InvalidArgs", "web_search: $.query: is empty")
        abandoned = threading.Event()
        async with one_at_a_time:
            try:
                return await asyncio.to_thread(_search, query, max_results, backends, timeout, abandoned)
            finally:
                abandoned.set()

    return web_search


def _search(
    query: str, max_results: int, backends: Sequence[str], timeout: int, abandoned: threading.Event
) -> str:
    failures: list[ToolError] = []
    empty: list[str] = []
    for backend in backends:
        if abandoned.is_set():
            break
        try:
            found = list(_usable(_ask(backend, query, timeout)))[:max_results]
        except ToolError as failure:
            failures.append(failure)
            continue
        if found:
            return "\n\n".join(f"{number}. {text}" for number, text in enumerate(found, 1))
        empty.append(backend)
    said = "".join(f"; {failure}" for failure in failures)
    if empty:
        return f"No results for {query!r}: {', '.join(empty)} found nothing{said}"
    codes = [failure.code for failure in failures]
    code = next((code for code in _WORST if code in codes), codes[0] if codes else "UnknownError")
    raise ToolError(code, f"the search gave nothing{said}")


def _ask(backend: str, query: str, timeout: int) -> "list[TextResult]":
    from ddgs.engines import ENGINES
    from ddgs.exceptions import DDGSException, TimeoutException

    engine = ENGINES["text"].get(backend)
    if engine is None:
        raise ToolError("NotConfigured", f"{backend}: no such search backend")
    asked = engine(timeout=timeout)
    ear = _Ear(asked.http_client)
    asked.http_client = ear  # type: ignore[assignment]
    try:
        found = asked.search(query) or []
    except TimeoutException as error:
        raise ToolError("NetworkTimeout", f"{backend}: no answer within {timeout} seconds") from error
    except DDGSException as error:
        if re.search(r"dns|lookup|resolve", str(error), re.I):
            raise ToolError("DNSError", f"{backend}: its name could not be looked up") from error
        raise ToolError("NetworkError", f"{backend}: could not be reached") from error
    except Exception as error:  # a page the engine did not foresee
        raise ToolError("UnknownError", f"{backend}: its answer could not be read") from error
    if not found and (ear.status in _REFUSALS or _CHALLENGE.search(ear.text)):
        raise ToolError("RateLimited", f"{backend}: refused (rate limited or a captcha); try again later")
    if not found and ear.status != 200:
        raise ToolError(http_code(ear.status), f"{backend}: answered {ear.status}")
    return found


class _Ear:
    """The engine's HTTP client, remembering the last answer: the engine drops it unless it is a 200."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.status = 0
        self.text = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        response = self._client.request(*args, **kwargs)
        self.status, self.text = response.status_code, response.text
        return response


def _usable(results: "Iterable[TextResult]") -> Iterator[str]:
    seen: set[str] = set()
    for result in results:
        url = result.href.strip()
        if not url.startswith(("https://", "http://")) or url in seen:
            continue
        seen.add(url)
        lines = [_words(result.title) or url, url, _words(result.body)]
        yield "\n   ".join(line for line in lines if line)


def _words(html: str) -> str:
    text = " ".join(_TAG.sub(" ", html).split())
    return text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
