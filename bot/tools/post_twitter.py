"""Posting on X, as a tool: shown whole before, sent once, and never again by itself.

API: https://docs.x.com/x-api/posts/create-post, https://docs.x.com/x-api/media/upload-media
"""

import asyncio
import hashlib
import json
import logging
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from time import gmtime, strftime
from types import ModuleType
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from bot import clock
from bot.errors import ToolError
from bot.messages import Conversation, Risk, ToolCall
from bot.store.posts import Post, Posts, PostState
from bot.tools.base import Tool, ToolContext, tool
from bot.tools.card import CardDetails, CardLine
from bot.tools.codes import http_code
from bot.tools.credentials import Credentials

log = logging.getLogger(__name__)

API_URL = "https://api.x.com"
FILE = "twitter.env"
KEYS = ("X_API_KEY", "X_API_SECRET", "X_ACCESS_TOKEN", "X_ACCESS_SECRET")
TIMEOUT = 30.0
LONGEST = 280
"""Weighted: https://docs.x.com/fundamentals/counting-characters"""
LARGEST_IMAGE = 5_000_000
"""Bytes: https://docs.x.com/x-api/media/quickstart/best-practices"""
IMAGE_STARTS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
WINDOW, POSTS_A_WINDOW = 900.0, 100
"""Seconds, and posts a user may make in them: https://docs.x.com/x-api/fundamentals/rate-limits"""
DAY = 86_400.0

MAY_BE_OUT = "the same text may be out already: its outcome was unknown. Look at the profile first"

PRICES_OF = "2026-11"
PRICE, PRICE_WITH_LINK = "0.015", "0.20"
"""US dollars a post, pay per use, as of `PRICES_OF`: https://docs.x.com/x-api/getting-started/pricing"""


def post_twitter(poster: "Poster") -> Tool:
    @tool(risk_floor=Risk.HIGH, keeps_time=True)
    async def post_twitter(
        context: ToolContext,
        text: Annotated[
            str, "The whole post, 280 characters as X counts them. It is never cut.", Field(min_length=1)
        ],
        image_path: Annotated[str | None, "A PNG, JPEG or GIF in the work folder, up to 5 MB."] = None,
    ) -> str:
        """Post on X (Twitter). A person must approve each post; it is sent once.

        Never call it again because an outcome is unknown. A thread is only for when the person asks for one.
        """
        return await poster.post(context.call_id, text, image_path, context.cwd)

    return post_twitter


def x_api_url(environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return X_API_URL without a slash at the end, X's own by default, and what is wrong with it."""
    url = environ.get("X_API_URL", "").strip().rstrip("/") or API_URL
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    return (url, []) if good else (API_URL, [f"X_API_URL: {url!r} is not an http or https address"])


@dataclass(frozen=True, slots=True)
class Weighed:
    """How X counts a text."""

    length: int
    valid: bool
    links: bool


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, read once: what was shown is what is uploaded."""

    path: Path
    data: bytes
    kind: str


class OAuth1(httpx.Auth):
    """Signs a request as https://datatracker.ietf.org/doc/html/rfc5849 says, HMAC-SHA1.

    JSON and multipart bodies are not part of the signature (section 3.4.1.3.1).
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        from oauthlib.oauth1 import Client  # type: ignore[import-untyped]

        self._client = Client(
            keys["X_API_KEY"],
            client_secret=keys["X_API_SECRET"],
            resource_owner_key=keys["X_ACCESS_TOKEN"],
            resource_owner_secret=keys["X_ACCESS_SECRET"],
        )

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        _, headers, _ = self._client.sign(str(request.url), request.method)
        request.headers["Authorization"] = headers["Authorization"]
        yield request


class Poster:
    """Posts for one account.

    Args:
        work_dir: Images come from below this folder only.
        api_url: Without a slash at the end.
    """

    def __init__(
        self,
        *,
        store: Posts,
        http: httpx.AsyncClient,
        credentials: Credentials,
        work_dir: Path,
        api_url: str = API_URL,
        now: clock.Clock = clock.system,
        timeout: float = TIMEOUT,
    ) -> None:
        self._store = store
        self._http = http
        self._credentials = credentials
        self._work_dir = work_dir
        self._api_url = api_url
        self._now = now
        self._timeout = timeout
        self._accounts: dict[str, str] = {}
        self._left: tuple[int, float] | None = None
        self._lock = asyncio.Lock()

    async def preview(self, call: ToolCall, conversation: Conversation, cwd: Path) -> CardDetails:
        """Find out what the post would be, and keep that as its plan; see `bot.tools.card.Preview`.

        Raises:
            ToolError: It can't be posted: too long, no such image, no keys (`NotConfigured`), the same text
                is out already (`Duplicate`), …
        """
        text, path = str(call.arguments["text"]), call.arguments.get("image_path")
        weighed = await self._weigh(text)
        image = await self._image(str(path), cwd) if path else None
        account = await self._account()
        doubt = await self._may_be_out(account, text)
        left = await self._posts_left()
        if left < 1:
            raise ToolError("RateLimited", f"no posts are left in these {WINDOW / 60:g} minutes")
        planned = await self._store.plan_post(
            Post(call.id, conversation, account, text, fingerprint(account, text, image, doubt), self._now())
        )
        if planned.state is not PostState.PLANNED:
            raise ToolError("Duplicate", f"this call's post was sent already: {planned.state.value}")
        lines = [
            CardLine("Post as", f"@{account}"),
            CardLine("", text),
            CardLine("Length", f"{weighed.length} of {LONGEST}"),
            CardLine("Price", f"${PRICE_WITH_LINK if weighed.links else PRICE} (as of {PRICES_OF})"),
            CardLine("Posts left", f"{left} in {WINDOW / 60:g} minutes"),
        ]
        if image:
            lines.insert(2, CardLine("Image", f"{image.path.name}, {image.kind}, {len(image.data)} bytes"))
        warnings = [MAY_BE_OUT] if doubt else []
        if weighed.links:
            warnings.append("it holds a link, which makes it dearer")
        return CardDetails(
            tuple(lines), tuple(warnings), "", planned.fingerprint, image.path if image else None
        )

    async def post(self, call_id: str, text: str, image_path: str | None, cwd: Path) -> str:
        """Send the planned post of a call, once; return its address.

        Raises:
            ToolError: It was not posted, or nobody knows (`UnknownError`); the message says which.
        """
        # A stop in the middle must not lose what became of it.
        posting = asyncio.create_task(self._post(call_id, text, image_path, cwd))
        try:
            return await asyncio.shield(posting)
        except asyncio.CancelledError:
            posting.add_done_callback(_seen)
            raise

    async def _post(self, call_id: str, text: str, image_path: str | None, cwd: Path) -> str:
        async with self._lock:
            planned = await self._store.post(call_id)
            if planned is None:
                raise ToolError("not_executed", "nobody was shown what this would post; nothing was posted")
            if planned.state is not PostState.PLANNED:
                return said_before(planned)
            await self._weigh(text)
            image = await self._image(image_path, cwd) if image_path else None
            account = await self._account()
            doubt = await self._may_be_out(account, text)
            if fingerprint(account, text, image, doubt) != planned.fingerprint:
                raise ToolError(
                    "not_executed", "what was approved is not what would be posted now; nothing was posted"
                )
            # Before the mark: an image that is uploaded and not posted is seen by nobody.
            body: dict[str, object] = {"text": text}
            if image:
                body["media"] = {"media_ids": [await self._upload(image)]}
            if not await self._store.sending_post(call_id, self._now()):
                raise AssertionError(f"a planned post was sent by somebody else: {call_id!r}")
            return await self._send(planned, body)

    async def _send(self, planned: Post, body: Mapping[str, object]) -> str:
        try:
            response = await self._ask("POST", "/2/tweets", json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            await self._failed(planned, "X could not be reached")
            raise ToolError(network_code(error), "X could not be reached; nothing was posted") from None
        except httpx.HTTPError as error:
            raise await self._unknown(planned, type(error).__name__) from None
        except BaseException:
            await self._store.finish_post(planned.call_id, PostState.UNKNOWN, error="interrupted")
            raise
        if response.is_success:
            post_id = _field(response, "data", "id")
            await self._store.finish_post(planned.call_id, PostState.POSTED, post_id=post_id)
            return posted(planned.account, post_id)
        if response.status_code >= 500:
            raise await self._unknown(planned, f"HTTP status {response.status_code}")
        problem = problem_of(response)
        await self._failed(planned, problem)
        if response.status_code == 403 and "duplicate" in problem.lower():
            raise await self._duplicate(planned)
        raise self._refused(response, "nothing was posted")

    async def _duplicate(self, planned: Post) -> ToolError:
        """X has this text already: so an earlier post whose end nobody saw did go out."""
        for earlier in await self._store.posts_since(self._now() - DAY):
            if earlier.text == planned.text and earlier.state in (PostState.UNKNOWN, PostState.SENDING):
                await self._store.finish_post(earlier.call_id, PostState.POSTED)
                return ToolError(
                    "Duplicate",
                    "X has this text already: the earlier post, whose outcome was unknown, did go out."
                    f" See https://x.com/{planned.account}",
                )
        return ToolError("Duplicate", "X says that this text was posted already; nothing was posted")

    async def _unknown(self, planned: Post, why: str) -> ToolError:
        log.warning("outcome of a post unknown: %s", why)
        await self._store.finish_post(planned.call_id, PostState.UNKNOWN, error=why)
        return unknown(planned)

    async def _failed(self, planned: Post, why: str) -> None:
        await self._store.finish_post(planned.call_id, PostState.FAILED, error=why)

    async def _upload(self, image: Image) -> str:
        try:
            response = await self._ask(
                "POST",
                "/2/media/upload",
                data={"media_category": "tweet_image", "media_type": image.kind},
                files={"media": (image.path.name, image.data, image.kind)},
            )
        except httpx.HTTPError as error:
            raise ToolError(
                network_code(error), f"the image could not be uploaded ({type(error).__name__})"
            ) from None
        if not response.is_success:
            raise self._refused(response, "the image was not taken and nothing was posted")
        return _field(response, "data", "id")

    async def _account(self) -> str:
        """Return the name posts go out under; X is asked once for each access token."""
        token = self._credentials.read(FILE, *KEYS)["X_ACCESS_TOKEN"]
        if token not in self._accounts:
            try:
                response = await self._ask("GET", "/2/users/me")
            except httpx.HTTPError as error:
                raise ToolError(
                    network_code(error), f"X could not be reached ({type(error).__name__})"
                ) from None
            if not response.is_success:
                raise self._refused(response, "the account is unknown")
            self._accounts[token] = _field(response, "data", "username")
        return self._accounts[token]

    async def _ask(self, method: str, path: str, **content: Any) -> httpx.Response:
        auth = OAuth1(self._credentials.read(FILE, *KEYS))
        response = await self._http.request(
            method,
            self._api_url + path,
            auth=auth,
            timeout=self._timeout,
            follow_redirects=False,
            **content,
        )
        if path == "/2/tweets":
            headers = response.headers
            try:
                self._left = int(headers["x-rate-limit-remaining"]), float(headers["x-rate-limit-reset"])
            except (KeyError, ValueError):
                self._left = None
        return response

    def _refused(self, response: httpx.Response, so: str) -> ToolError:
        status = response.status_code
        if status == 401:
            return ToolError("HTTP:401", f"X does not take the keys in {FILE} ({', '.join(KEYS)}); {so}")
        if status == 429:
            try:
                until = strftime("%H:%M UTC", gmtime(float(response.headers["x-rate-limit-reset"])))
            except (KeyError, ValueError, OverflowError):
                until = "a while"
            return ToolError("RateLimited", f"X takes no more until {until}; {so}")
        return ToolError(http_code(status), f"X refuses it: {problem_of(response)}; {so}")

    async def _weigh(self, text: str) -> Weighed:
        if not text.strip():
            raise ToolError("InvalidArgs", "post_twitter: $.text: is empty")
        # 0.7 s at first use, and fifty milliseconds a text after: not on the loop's thread.
        weighed = await asyncio.to_thread(weigh, text)
        if weighed.length > LONGEST:
            over = weighed.length - LONGEST
            raise ToolError(
                "InvalidArgs",
                f"post_twitter: $.text: {over} too long: it counts {weighed.length} of {LONGEST}"
                " (a link counts 23, most Asian letters and emoji 2). Shorten it; it is never cut for you",
            )
        if not weighed.valid:
            raise ToolError("InvalidArgs", "post_twitter: $.text: holds a character that X does not take")
        return weighed

    async def _image(self, path: str, cwd: Path) -> Image:
        return await asyncio.to_thread(read_image, path, cwd, self._work_dir)

    async def _may_be_out(self, account: str, text: str) -> bool:
        """Whether nobody knows if this text is out already; raises `Duplicate` when it surely is."""
        posts = await self._store.posts_since(self._now() - DAY)
        same = [earlier for earlier in posts if (earlier.account, earlier.text) == (account, text)]
        for earlier in same:
            if earlier.state is PostState.POSTED:
                raise ToolError("Duplicate", f"this text is out already: {address(account, earlier.post_id)}")
        return bool(same)

    async def _posts_left(self) -> int:
        now = self._now()
        left = POSTS_A_WINDOW - len(await self._store.posts_since(now - WINDOW))
        if self._left and now < self._left[1]:
            left = min(left, self._left[0])
        return left


def weigh(text: str) -> Weighed:
    """Count as X does; slow at first use."""
    with _lent_resources():
        from twitter_text.extract_urls import extract_urls_with_indices  # type: ignore[import-untyped]
        from twitter_text.parse_tweet import parse_tweet  # type: ignore[import-untyped]
    counted = parse_tweet(text)
    return Weighed(counted.weightedLength, counted.valid, bool(extract_urls_with_indices(text)))


def read_image(path: str, cwd: Path, work_dir: Path) -> Image:
    """Return a picture from below the work folder.

    Raises:
        ToolError: It is elsewhere, too large or no picture. OSError: It can't be read.
    """
    if "\0" in path:
        raise ToolError("InvalidArgs", "post_twitter: $.image_path: holds a NUL character")
    file = (cwd / Path(path)).resolve(strict=True)
    if not file.is_relative_to(work_dir.resolve()):
        raise ToolError("EACCES", f"{path!r} is outside the work folder")
    # A command may put a link or a pipe in its place meanwhile, or in that of a folder above it.
    number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError("EINVAL", f"{path!r} is no regular file")
        if os.readlink(f"/proc/self/fd/{number}") != str(file):
            raise ToolError("EINVAL", f"{path!r} changed while it was opened")
        with open(number, "rb", closefd=False) as opened:
            data = opened.read(LARGEST_IMAGE + 1)
    finally:
        os.close(number)
    if len(data) > LARGEST_IMAGE:
        size = max(status.st_size, len(data))
        raise ToolError("EINVAL", f"{path!r} has {size} bytes; X takes {LARGEST_IMAGE}")
    for start, kind in IMAGE_STARTS.items():
        if data.startswith(start):
            return Image(file, data, kind)
    raise ToolError("EINVAL", f"{path!r} is no PNG, JPEG or GIF")


def fingerprint(account: str, text: str, image: Image | None, doubt: bool) -> str:
    picture = hashlib.sha256(image.data).hexdigest() if image else ""
    return hashlib.sha256(json.dumps([account, text, picture, doubt]).encode()).hexdigest()[:32]


def said_before(post: Post) -> str:
    """Return what became of a post that was handed to X before; it is not sent again.

    Raises:
        ToolError: It failed, or nobody knows.
    """
    match post.state:
        case PostState.POSTED:
            return posted(post.account, post.post_id)
        case PostState.FAILED:
            raise ToolError("not_executed", f"it was not posted: {post.error}")
    raise unknown(post)


def posted(account: str, post_id: str) -> str:
    return f"posted: {address(account, post_id)}"


def address(account: str, post_id: str) -> str:
    return f"https://x.com/{account}" + (f"/status/{post_id}" if post_id else "")


def unknown(post: Post) -> ToolError:
    return ToolError(
        "UnknownError",
        "outcome unknown: it was handed to X and no answer came. Don't post it again; look at the profile:"
        f" https://x.com/{post.account}",
    )


def problem_of(response: httpx.Response) -> str:
    """Return what X says is wrong, in its own words, cut short."""
    said = _field(response, "detail") or _field(response, "title")
    return said[:200] or f"HTTP status {response.status_code}"


def network_code(error: httpx.HTTPError) -> str:
    return "NetworkTimeout" if isinstance(error, httpx.TimeoutException) else "NetworkError"


def _field(response: httpx.Response, *path: str) -> str:
    try:
        found = response.json()
        for name in path:
            found = found[name]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(found)


@contextmanager
def _lent_resources() -> Iterator[None]:
    """Let twitter-text-parser 3.0.0 be imported: it reads a file of its own by setuptools' `pkg_resources`.

    New versions of setuptools lack that module, old ones warn at every use; neither needs to be installed.
    """
    name = "pkg_resources"
    lent = ModuleType(name)
    lent.resource_string = (  # type: ignore[attr-defined]
        lambda module, file: (files(module.rpartition(".")[0]) / file).read_bytes()
    )
    before = sys.modules.get(name)
    sys.modules[name] = lent
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


def _seen(task: "asyncio.Task[str]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.warning("a post whose call was cancelled: %s", error)
