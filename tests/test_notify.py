"""The notifier against a real datagram socket."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.notify import Notifier


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    name = f"@kai-bot-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(name.replace("@", "\0", 1))
        sock.settimeout(5)
        yield name, sock


@pytest.mark.parametrize(
    ("say", "heard"),
    [
        (Notifier.ready, b"READY=1"),
        (Notifier.watchdog, b"WATCHDOG=1"),
        (Notifier.stopping, b"STOPPING=1"),
        (lambda notifier: notifier.status("all well, 2 waiting"), b"STATUS=all well, 2 waiting"),
    ],
)
def test_each_word_is_one_datagram(
    systemd: tuple[str, socket.socket], say: Callable[[Notifier], None], heard: bytes
) -> None:
    name, sock = systemd

    say(Notifier({"NOTIFY_SOCKET": name}))

    assert sock.recv(1000) == heard


def test_a_status_can_not_smuggle_another_word(systemd: tuple[str, socket.socket]) -> None:
    name, sock = systemd

    Notifier({"NOTIFY_SOCKET": name}).status("well\nSTOPPING=1")

    assert sock.recv(1000) == b"STATUS=well STOPPING=1"


def test_without_systemd_nothing_happens() -> None:
    notifier = Notifier({})

    notifier.ready()

    assert notifier.watchdog_interval is None


def test_a_vanished_socket_does_not_end_the_bot(tmp_path: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).watchdog()


def test_a_full_socket_does_not_hold_up_the_bot(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})

        for _ in range(2000):
            notifier.watchdog()


def test_the_watchdog_is_fed_twice_in_its_time() -> None:
    assert Notifier({"WATCHDOG_USEC": "30000000"}).watchdog_interval == 15.0
    assert Notifier({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}).watchdog_interval == 1.5


@pytest.mark.parametrize(
    "environ",
    [{"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}],
)
def test_a_watchdog_for_nobody_or_another_process_is_not_fed(environ: dict[str, str]) -> None:
    assert Notifier(environ).watchdog_interval is None
