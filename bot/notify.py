"""Tell systemd how we are, in its own datagrams.

Source: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

import contextlib
import os
import socket
from collections.abc import Mapping


class Notifier:
    """Speaks to the socket in `$NOTIFY_SOCKET`; says nothing where there is none.

    Attributes:
        watchdog_interval: Seconds between two calls of `watchdog`, half of what systemd allows; None when it
            does not watch this process.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # "@" stands for the abstract namespace, whose names begin with a zero byte.
        self._address = "\0" + path[1:] if path.startswith("@") else path
        usec = environ.get("WATCHDOG_USEC", "")
        watched = (
            usec.isdecimal()
            and int(usec) > 0
            and environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        )
        self.watchdog_interval = int(usec) / 2_000_000 if watched else None

    def ready(self) -> None:
        """Start-up is over."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Set the line that `systemctl status` shows."""
        self._send(f"STATUS={' '.join(text.split())}")

    def watchdog(self) -> None:
        """Still alive; systemd restarts a service that falls silent."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Shutting down on purpose."""
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        # A full or vanished socket must neither end nor hold up the bot: the next word tells as much.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(state.encode(), self._address)
