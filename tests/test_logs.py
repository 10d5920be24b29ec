"""Requirement T7: no secret gets past the log, whatever road it takes."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Literal

import httpx
import pytest

from bot.logs import set_up_logging
from bot.redact import MASK, Redactor

TOKEN = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
SECRET = "correct-horse"

log = logging.getLogger("bot.example")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, sys.excepthook, threading.excepthook
    yield
    root.handlers[:], level, sys.excepthook, threading.excepthook = before
    root.setLevel(level)
    logging.captureWarnings(False)
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).setLevel(logging.NOTSET)


def set_up(format: Literal["text", "json"] = "text", level: str = "DEBUG") -> io.StringIO:  # noqa: A002
    stream = io.StringIO()
    set_up_logging(level, format, Redactor([SECRET]), stream=stream, environ={})
    return stream


BOTH = pytest.mark.parametrize("form", ["text", "json"])


@BOTH
def test_the_message_is_redacted(form: Literal["text", "json"]) -> None:
    stream = set_up(form)

    log.info(f"GET https://api.telegram.org/bot{TOKEN}/getMe with {SECRET}")  # noqa: G004

    assert f"GET https://api.telegram.org/bot{MASK}/getMe with {MASK}" in stream.getvalue()


@BOTH
def test_the_arguments_are_redacted(form: Literal["text", "json"]) -> None:
    stream = set_up(form)

    log.info("asked %s for %r", TOKEN, {"password": SECRET})

    assert f"asked {MASK} for {{'password': '{MASK}'}}" in stream.getvalue()


@BOTH
def test_an_exception_and_its_causes_are_redacted(form: Literal["text", "json"]) -> None:
    stream = set_up(form)

    try:
        try:
            raise ValueError(f"bad token {TOKEN}")
        except ValueError as exc:
            raise RuntimeError(f"with {SECRET}") from exc
    except RuntimeError:
        log.exception("failed")

    assert f"ValueError: bad token {MASK}" in stream.getvalue()
    assert f"RuntimeError: with {MASK}" in stream.getvalue()
    assert TOKEN not in stream.getvalue()
    assert SECRET not in stream.getvalue()


@BOTH
def test_the_stack_is_redacted(form: Literal["text", "json"]) -> None:
    stream = set_up(form)

    log.info("here", stack_info=True)  # correct-horse

    assert f"# {MASK}" in stream.getvalue()


@BOTH
def test_a_record_that_can_not_be_formatted_shows_no_arguments(
    form: Literal["text", "json"], capsys: pytest.CaptureFixture[str]
) -> None:
    stream = set_up(form)

    log.info("%d", SECRET)

    assert "a log record could not be written: TypeError (bot.example, test_logs.py:" in stream.getvalue()
    assert SECRET not in stream.getvalue() + capsys.readouterr().err


def test_warnings_go_to_the_log() -> None:
    stream = set_up()

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        logging.captureWarnings(True)
        warnings.warn(f"old way with {SECRET}", stacklevel=1)

    assert f"UserWarning: old way with {MASK}" in stream.getvalue()


def test_an_uncaught_exception_goes_to_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    stream = set_up()
    error = RuntimeError(SECRET)

    sys.excepthook(RuntimeError, error, None)

    assert f"CRITICAL bot: uncaught exception\n    RuntimeError: {MASK}" in stream.getvalue()
    assert capsys.readouterr().err == ""


def test_an_uncaught_exception_in_a_thread_goes_to_the_log() -> None:
    stream = set_up()

    thread = threading.Thread(target=lambda: int(SECRET))
    thread.start()
    thread.join()

    assert f"ValueError: invalid literal for int() with base 10: '{MASK}'" in stream.getvalue()


async def test_httpx_does_not_log_its_urls() -> None:
    stream = set_up()
    transport = httpx.MockTransport(lambda request: httpx.Response(200))

    async with httpx.AsyncClient(transport=transport) as client:
        await client.get(f"https://api.telegram.org/bot{TOKEN}/getMe")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("name", ["httpx", "httpcore.http11", "telegram.Bot", "telegram.ext.Application"])
def test_libraries_that_know_the_token_speak_only_of_trouble(name: str) -> None:
    stream = set_up()

    logging.getLogger(name).info("hello")
    logging.getLogger(name).warning("trouble")

    assert "hello" not in stream.getvalue()
    assert "trouble" in stream.getvalue()


def test_a_json_line_is_one_object() -> None:
    stream = set_up("json")

    log.warning("a\nb \x1b[31m -----BEGIN PRIVATE KEY-----")

    [line] = stream.getvalue().splitlines()
    assert json.loads(line) | {"time": ""} == {
        "time": "",
        "level": "WARNING",
        "logger": "bot.example",
        "message": f"a\nb \x1b[31m {MASK}",
    }
    assert json.loads(line)["time"].endswith("+00:00")


def test_a_message_can_not_forge_a_line_or_move_the_cursor() -> None:
    stream = set_up()

    log.info("a\n2026-01-01 00:00:00,000 INFO bot: approved\r\x1b[2K\u202e")

    [_, second] = stream.getvalue().splitlines()
    assert second == "    2026-01-01 00:00:00,000 INFO bot: approved\\x0d\\x1b[2K\\x202e"


def test_the_level_is_obeyed() -> None:
    stream = set_up(level="WARNING")

    log.info("quiet")

    assert stream.getvalue() == ""


def test_setting_up_again_replaces_the_first() -> None:
    first = set_up()
    second = set_up()

    log.info("once")

    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1


SCRIPT = """
import logging, os, sys
from bot.logs import set_up_logging
from bot.redact import Redactor
status = os.fstat(2)
named = f"{status.st_dev}:{status.st_ino}" if sys.argv[1] == "journal" else "1:2"
set_up_logging("DEBUG", "text", Redactor(), environ={"JOURNAL_STREAM": named})
for level in (10, 20, 30, 40, 50):
    logging.getLogger("bot").log(level, "two\\nlines")
"""


def stderr_of(kind: str) -> str:
    done = subprocess.run([sys.executable, "-c", SCRIPT, kind], stderr=subprocess.PIPE, text=True, check=True)
    return done.stderr


def test_the_journal_gets_a_priority_on_every_line_and_no_time() -> None:
    lines = stderr_of("journal").splitlines()

    assert lines[:2] == ["<7>DEBUG bot: two", "<7>    lines"]
    assert [line[:3] for line in lines[::2]] == ["<7>", "<6>", "<4>", "<3>", "<2>"]


def test_another_stream_than_the_journals_gets_the_time() -> None:
    first = stderr_of("elsewhere").splitlines()[0]

    assert first[:2] == "20"
    assert first.endswith("DEBUG bot: two")


def test_a_closed_stream_is_not_reported_for_ever(tmp_path: os.PathLike[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as stream:
        set_up_logging("INFO", "text", Redactor(), stream=stream, environ={})

        log.info("into the void")

        # Drop what the closed pipe left in the buffer, or closing raises it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
