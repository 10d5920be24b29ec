"""X8: real ddgs engines, real primp and lxml, against a page on this machine."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import pytest
from ddgs.engines import ENGINES

from bot.messages import Risk, ToolCall
from bot.tools import ToolContext, ToolOutcome, Tools
from bot.tools.web_search import web_search
from tests.tools.processes import eventually

BACKENDS = ("duckduckgo", "mojeek")

DUCKDUCKGO = """<html><body>{}</body></html>"""
RESULT = '<div class="body"><h2>{title}</h2><a href="{url}">{body}</a></div>'
FOUND = DUCKDUCKGO.format(
    RESULT.format(
        title="Kai &amp; co", url="https://kai.example/?a=1&amp;b=2", body="&lt;b&gt;An&lt;/b&gt; agent"
    )
    + RESULT.format(title="Two", url="https://two.example/", body="Second")
    + RESULT.format(title="Again", url="https://two.example/", body="Twice")
    + RESULT.format(title="Bad", url="javascript:alert(1)", body="No link")
)
NOTHING = "<html><body>No results.</body></html>"
MOJEEK = (
    "<html><body><ul class='results'><li><h2><a href='https://mojeek.example/'>Third</a></h2>"
    "<p class='s'>way</p></li></ul></body></html>"
)


@dataclass
class Site:
    """Two search engines on one port."""

    answers: dict[str, tuple[int, str, float]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, backend: str, status: int = 200, page: str = NOTHING, delay: float = 0.0) -> None:
        self.answers[backend] = (status, page, delay)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    for backend in BACKENDS:
        site.answer(backend)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            backend = self.path.strip("/").split("?")[0]
            length = int(self.headers.get("content-length") or 0)
            self.rfile.read(length)
            with site.lock:
                site.asked.append(backend)
                site.at_once += 1
                site.most_at_once = max(site.most_at_once, site.at_once)
            status, page, delay = site.answers[backend]
            time.sleep(delay)
            with site.lock:
                site.at_once -= 1
            self.send_response(status)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(page.encode())))
            self.end_headers()
            self.wfile.write(page.encode())

        do_POST = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    before = {backend: ENGINES["text"][backend].search_url for backend in BACKENDS}
    for backend in BACKENDS:
        ENGINES["text"][backend].search_url = f"http://127.0.0.1:{server.server_port}/{backend}"
    yield site
    for backend in BACKENDS:
        ENGINES["text"][backend].search_url = before[backend]
    server.shutdown()
    server.server_close()


async def search(
    context: ToolContext, arguments: Mapping[str, object] = MappingProxyType({}), timeout: int = 5
) -> ToolOutcome:
    tools = Tools([web_search(backends=BACKENDS, timeout=timeout)])
    return await tools.run(ToolCall("web_search", {"query": "kai", **arguments}), context)


def test_searching_only_reads() -> None:
    tool = web_search()

    assert (tool.risk_floor, tool.read_only) == (Risk.LOW, True)


async def test_results_come_with_whole_addresses_and_without_markup(site: Site, context: ToolContext) -> None:
    site.answer("duckduckgo", page=FOUND)

    outcome = await search(context)

    assert outcome.text == (
        "1. Kai & co\n   https://kai.example/?a=1&b=2\n   An agent\n\n"
        "2. Two\n   https://two.example/\n   Second"
    )
    assert site.asked == ["duckduckgo"]


async def test_no_more_results_than_asked_for(site: Site, context: ToolContext) -> None:
    site.answer("duckduckgo", page=FOUND)

    outcome = await search(context, {"max_results": 1})

    assert "two.example" not in outcome.text


@pytest.mark.parametrize("status", [200, 202, 403, 429, 500])
async def test_the_next_backend_is_asked_when_one_gives_nothing(
    site: Site, context: ToolContext, status: int
) -> None:
    site.answer("duckduckgo", status)
    site.answer("mojeek", page=MOJEEK)

    outcome = await search(context)

    assert outcome.text == "1. Third\n   https://mojeek.example/\n   way"
    assert site.asked == ["duckduckgo", "mojeek"]


async def test_finding_nothing_is_a_result_and_says_so(site: Site, context: ToolContext) -> None:
    outcome = await search(context)

    assert not outcome.is_error
    assert outcome.text == "No results for 'kai': duckduckgo, mojeek found nothing"


async def test_nothing_found_beside_a_refusal_says_both(site: Site, context: ToolContext) -> None:
    site.answer("duckduckgo", 429)

    outcome = await search(context)

    assert not outcome.is_error
    assert "mojeek found nothing; duckduckgo: refused" in outcome.text


@pytest.mark.parametrize(
    ("status", "page"),
    [(429, ""), (403, "no"), (202, "<html></html>"), (200, "<html><div class='anomaly-modal'></div></html>")],
)
async def test_being_refused_is_not_finding_nothing(
    site: Site, context: ToolContext, status: int, page: str
) -> None:
    for backend in BACKENDS:
        site.answer(backend, status, page)

    outcome = await search(context)

    assert (outcome.is_error, outcome.code) == (True, "RateLimited")


async def test_a_broken_server_is_told_by_its_status(site: Site, context: ToolContext) -> None:
    for backend in BACKENDS:
        site.answer(backend, 500)

    assert (await search(context)).code == "HTTP:500"


async def test_no_answer_in_time_is_a_timeout(site: Site, context: ToolContext) -> None:
    for backend in BACKENDS:
        site.answer(backend, delay=1.5)

    outcome = await search(context, timeout=1)

    assert outcome.code == "NetworkTimeout"


async def test_a_closed_port_is_the_networks_fault(site: Site, context: ToolContext) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for backend in BACKENDS:
            ENGINES["text"][backend].search_url = f"http://127.0.0.1:{taken.getsockname()[1]}/"

        outcome = await search(context)

    assert outcome.code == "NetworkError"


async def test_searches_wait_for_each_other(site: Site, context: ToolContext) -> None:
    site.answer("duckduckgo", page=FOUND, delay=0.1)
    tools = Tools([web_search(backends=BACKENDS)])

    await asyncio.gather(*(tools.run(ToolCall("web_search", {"query": f"{n}"}), context) for n in range(3)))

    assert (len(site.asked), site.most_at_once) == (3, 1)


async def test_a_cancelled_search_asks_nobody_else(site: Site, context: ToolContext) -> None:
    site.answer("duckduckgo", delay=0.3)
    task = asyncio.create_task(search(context))
    assert await eventually(lambda: site.asked != [])

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.5)

    assert site.asked == ["duckduckgo"]


@pytest.mark.parametrize(
    "arguments", [{"query": ""}, {"query": "  "}, {"max_results": 0}, {"max_results": 99}]
)
async def test_bad_arguments_ask_nobody(
    site: Site, context: ToolContext, arguments: dict[str, object]
) -> None:
    outcome = await search(context, arguments)

    assert (outcome.code, site.asked) == ("InvalidArgs", [])
