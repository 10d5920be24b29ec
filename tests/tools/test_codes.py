"""F1: the code of an error."""

import asyncio
import errno
import os
import socket
import ssl
import subprocess

import httpx
import pytest

from bot.errors import ToolError
from bot.tools.codes import NAMED, code_of, signal_code

REQUEST = httpx.Request("GET", "http://x/")


def status(code: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("no", request=REQUEST, response=httpx.Response(code, request=REQUEST))


@pytest.mark.parametrize("number", NAMED)
def test_a_system_error_has_its_own_name(number: int) -> None:
    assert code_of(OSError(number, os.strerror(number))) == errno.errorcode[number]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ToolError("Denied", "no"), "Denied"),
        (ToolError("é" * 40, "no"), "?" * 32),
        (asyncio.CancelledError(), "Canceled"),
        (TimeoutError(), "Timeout"),
        (subprocess.TimeoutExpired("x", 1), "Timeout"),
        (subprocess.CalledProcessError(2, "x"), "ExitCode:2"),
        (subprocess.CalledProcessError(-9, "x"), "Signal:KILL"),
        (httpx.ReadTimeout("x"), "NetworkTimeout"),
        (httpx.ConnectError("x"), "NetworkError"),
        (status(404), "HTTP:404"),
        (status(429), "RateLimited"),
        (socket.gaierror(-2, "Name or service not known"), "DNSError"),
        (ssl.SSLError(1, "bad certificate"), "NetworkError"),
        (RecursionError(), "PanicError"),
        (OSError(errno.ENOTEMPTY, "Directory not empty"), "UnknownError"),
        (ValueError("x"), "UnknownError"),
    ],
)
def test_an_error_alone(error: BaseException, code: str) -> None:
    assert code_of(error) == code


def raised_from(cause: BaseException, error: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def raised_while(context: BaseException, error: BaseException) -> BaseException:
    error.__context__ = context
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (raised_from(ConnectionRefusedError(111, "x"), httpx.ConnectError("x")), "ECONNREFUSED"),
        (raised_while(FileNotFoundError(2, "x"), ValueError("x")), "ENOENT"),
        (raised_from(ExceptionGroup("x", [ConnectionResetError(104, "x")]), OSError("x")), "ECONNRESET"),
        (raised_from(ValueError("x"), raised_while(OSError(2, "x"), RuntimeError())), "UnknownError"),
        (raised_from(ToolError("NotConfigured", "x"), OSError(2, "x")), "NotConfigured"),
        (
            raised_from(raised_from(socket.gaierror(-2, "x"), OSError(113, "x")), httpx.ConnectTimeout("x")),
            "DNSError",
        ),
    ],
)
def test_an_error_and_what_it_came_from(error: BaseException, code: str) -> None:
    assert code_of(error) == code


def test_a_circle_of_causes_ends() -> None:
    error = ValueError()
    error.__cause__ = RuntimeError()
    error.__cause__.__cause__ = error

    assert code_of(error) == "UnknownError"


async def test_a_closed_port_names_itself_through_a_real_client() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.ConnectError) as caught:
                await client.get(f"http://127.0.0.1:{taken.getsockname()[1]}/")

    assert code_of(caught.value) == "ECONNREFUSED"


@pytest.mark.parametrize(("number", "code"), [(9, "Signal:KILL"), (15, "Signal:TERM"), (60, "Signal:60")])
def test_signals_have_names(number: int, code: str) -> None:
    assert signal_code(number) == code
