"""The emulator on a real port of this machine, for whole processes and real network faults."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.demo.emulator import Emulator

LARGEST_FRAME = 32 * 1024 * 1024
"""Bytes of a WebSocket message: a file of 20 MB, the most Telegram gives a bot, as base64."""


class CuttableProtocol(H11Protocol):
    """Tells the app its connection, so that a scripted fault can cut it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


@asynccontextmanager
async def serve(emulator: Emulator, port: int = 0, *, app: Starlette | None = None) -> AsyncIterator[str]:
    """Serve on 127.0.0.1 in the running loop; yields the base URL, such as `http://127.0.0.1:43210`.

    The bot's API URL is the base URL (python-telegram-bot wants `{base}/bot` and `{base}/file/bot`). On
    leaving, open connections are cut.

    Args:
        emulator: What to serve.
        port: 0 takes a free one.
        app: What answers in place of `emulator.app`; it should have `emulator.api_routes`.

    Raises:
        OSError: The port is taken.
    """
    listener = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # so that asyncio sets NODELAY
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listener:
        listener.bind(("127.0.0.1", port))
        config = uvicorn.Config(
            app or emulator.app,
            http=CuttableProtocol,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            date_header=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=75,
            ws_max_size=LARGEST_FRAME,
        )
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        emulator.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield emulator.base_url
        finally:
            for accepting in server.servers:
                accepting.close()
            for connection in list(server.server_state.connections):
                transport: Any = connection.transport
                transport.abort()
            if answering := list(server.server_state.tasks):
                _, late = await asyncio.wait(answering, timeout=0.1)
                for task in late:
                    task.cancel()
            await emulator.close()
