"""A node between the wallet and the real one: it passes questions on, or is scripted to fail at them."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

Answer = dict[str, Any] | int | None
"""A JSON-RPC answer, whose `status` is HTTP's; an HTTP status alone; or nothing: the connection is cut."""

Pass = Callable[[], dict[str, Any]]
"""Asks the real node and returns its answer."""


@dataclass(slots=True)
class Proxy:
    """Attributes: `on` holds what happens instead, by method; `asked` every method asked, in order."""

    url: str = ""
    on: dict[str, Callable[[list[Any], Pass], Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """The raw bytes of every eth_sendRawTransaction, in hex."""

    released: threading.Event = field(default_factory=threading.Event)

    def hold(self, method: str) -> threading.Event:
        """Let a method wait, the real node not hearing of it, until the test ends; return "it is waiting"."""
        waiting = threading.Event()

        def held(params: list[Any], ask: Pass) -> Answer:
            waiting.set()
            self.released.wait(30)
            return None

        self.on[method] = held
        return waiting

    def pause(self, method: str) -> threading.Event:
        """Let a method wait until `released`, then go on as usual; return "it is waiting"."""
        waiting = threading.Event()

        def held(params: list[Any], ask: Pass) -> Answer:
            waiting.set()
            self.released.wait(30)
            return ask()

        self.on[method] = held
        return waiting

    def hold_answer(self, method: str) -> threading.Event:
        """The same, but the real node is asked first: only its answer is lost."""
        waiting = threading.Event()

        def held(params: list[Any], ask: Pass) -> Answer:
            ask()
            waiting.set()
            self.released.wait(30)
            return None

        self.on[method] = held
        return waiting


@contextmanager
def run_proxy(upstream: str) -> Iterator[Proxy]:
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))
            method, params = question["method"], question["params"]
            proxy.asked.append(method)
            if method == "eth_sendRawTransaction":
                proxy.sent.append(params[0])

            def ask() -> dict[str, Any]:
                answer: dict[str, Any] = client.post(upstream, json=question).json()
                return answer

            answer = proxy.on[method](params, ask) if method in proxy.on else ask()
            if answer is None:
                self.close_connection = True
                return
            status, body = (answer, {}) if isinstance(answer, int) else (200, dict(answer))
            status = body.pop("status", status)
            raw = json.dumps({"jsonrpc": "2.0", "id": question["id"], **body}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            pass

    client = httpx.Client(trust_env=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
        client.close()


def says(code: int, message: str, *, status: int = 200) -> Callable[[list[Any], Pass], Answer]:
    """Return a node's refusal, with its HTTP status."""
    return lambda params, ask: {"error": {"code": code, "message": message}, "status": status}
