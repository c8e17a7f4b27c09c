"""Words to systemd: that a conversation listens, that it is alive, that it ends (sd_notify(3), sd_watchdog_enabled(3)).

A few bytes through the local socket that systemd names; without systemd nothing is sent. Runs on the main thread.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Final

_SHARE: Final = 3
"""Words of life in one interval of the watchdog."""


class Notifier:
    """Tells systemd of one command.

    The variables of systemd are taken out of the environment, so that no process of the command answers for it.
    """

    def __init__(self) -> None:
        address = os.environ.pop("NOTIFY_SOCKET", "")
        microseconds = os.environ.pop("WATCHDOG_USEC", "")
        meant = os.environ.pop("WATCHDOG_PID", "") in ("", str(os.getpid()))
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._every_s = int(microseconds) / 1e6 / _SHARE if meant and microseconds.isdecimal() else float("inf")
        self._told_s = time.monotonic()
        self._ended = False

    @property
    def serves(self) -> bool:
        """True if systemd has started this process and wants to be told."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """The conversation listens."""
        self._tell("READY=1", status)

    def waiting(self, status: str, longer_s: float) -> None:
        """The start takes longer, for that many seconds from now at least."""
        self._tell(f"EXTEND_TIMEOUT_USEC={round(longer_s * 1e6)}", status)

    def status(self, status: str) -> None:
        self._tell(status=status)

    def look(self, alive: Callable[[], bool]) -> None:
        """Tells of life, as often as the watchdog wants that; call more often.

        Args:
            alive: Asked when it is time; after a False nothing is told, and the watchdog ends the process in the end.
        """
        now_s = time.monotonic()
        if now_s - self._told_s >= self._every_s and alive():
            self._told_s = now_s
            self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        """The end: nothing moves any more, and the rest is closed. Told once."""
        if not self._ended:
            self._ended = True
            self._tell("STOPPING=1", "it ends")

    def _tell(self, word: str = "", status: str = "") -> None:
        if not self._address:
            return
        told = f"STATUS={' '.join(status.split())}" if status else ""
        text = "\n".join(filter(None, (word, told)))
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door:
                door.setblocking(False)
                door.sendto(text.encode("utf-8", "replace"), self._address)
        except OSError:  # systemd restarts, or is full; a robot does not stop for that
            pass
