"""Systemd for a robot that is always on: the text of its unit, the place of the unit, and words to systemd.

The words tell that a conversation listens, that it is alive, that it ends (sd_notify(3), sd_watchdog_enabled(3)): a few
bytes through the local socket that systemd names; without systemd nothing is sent. Runs no program; main thread.
"""

from __future__ import annotations

import grp
import os
import pwd
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from edgeagent.errors import ConfigError

NAME: Final = "edgeagent"
"""Name of the unit, unless another one is wanted."""
MARK: Final = "# Written by edgeagent service install, which writes it anew. Changes of yours: systemctl edit"
"""First line of every unit of ours; a file without it is somebody's own."""
GROUPS: Final = ("audio", "dialout", "gpio", "i2c", "spi", "video")
"""Groups that may use sound cards, serial lines, pins, buses and cameras, where a system has them."""
WATCHDOG_S: Final = 30
"""Seconds without a word of life after which systemd ends the process and starts it again."""
START_LIMIT_S: Final = 300
"""Seconds until it listens; a sound card that comes late makes that longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit as it is to be written."""

    name: str
    system: bool
    """True for the machine's systemd, False for that of a user."""
    command: tuple[str, ...]
    """Program, by its absolute path, and arguments."""
    folder: Path
    """The current folder of the command."""
    user: str = ""
    """Whose process it is, with the machine's systemd."""

    @property
    def path(self) -> Path:
        """Place in which systemd looks for it."""
        return unit_path(self.name, system=self.system)

    @property
    def text(self) -> str:
        """The file.

        Raises:
            ConfigError: A path or an argument has a line end in it, or is no UTF-8.
        """
        own = self._system_lines() if self.system else ()
        lines = (
            MARK,
            "[Unit]",
            "Description=edgeagent, a robot that listens",
            f"After={'' if self.system else 'pipewire.service pulseaudio.service '}sound.target",
            "# started again however often it fails: nobody is there to reset a unit that was given up",
            "StartLimitIntervalSec=0",
            "",
            "[Service]",
            "Type=notify",
            "NotifyAccess=main",
            f"ExecStart={' '.join(quoted(word, first=not at) for at, word in enumerate(self.command))}",
            f"WorkingDirectory={_escaped(str(self.folder))}",
            "StandardInput=null",
            f"TimeoutStartSec={START_LIMIT_S}",
            f"WatchdogSec={WATCHDOG_S}",
            "# SIGTERM, because edgeagent stops what moves when it comes, also when Python hangs",
            "WatchdogSignal=SIGTERM",
            "# every process gets the signal: the driver of a base zeroes its motors by itself then",
            "KillMode=control-group",
            "TimeoutStopSec=10",
            "Restart=on-failure",
            "RestartSec=2",
            "# wrong settings, or a model that is not here: another start would say the same",
            "RestartPreventExitStatus=2 3",
            "SuccessExitStatus=143",
            "UMask=0077",
            "NoNewPrivileges=yes",
            "LockPersonality=yes",
            "RestrictSUIDSGID=yes",
            *own,
            "",
            "[Install]",
            f"WantedBy={'multi-user' if self.system else 'default'}.target",
        )
        return "\n".join(lines) + "\n"

    def _system_lines(self) -> tuple[str, ...]:
        groups = " ".join(known_groups())
        return (
            f"User={self.user}",
            *((f"SupplementaryGroups={groups}",) if groups else ()),
            "# the driver of a base asks for a real-time priority, and keeps its memory in place",
            "LimitRTPRIO=10",
            "LimitMEMLOCK=128M",
            "# the thread that drives shares the interpreter with the others, and a transcript has a second to deny a",
            "# stop word: all of them go before other programs",
            "Nice=-10",
            "ProtectSystem=full",
            "ProtectKernelTunables=yes",
            "ProtectKernelModules=yes",
            "ProtectControlGroups=yes",
            "PrivateTmp=yes",
        )


def unit_path(name: str, *, system: bool) -> Path:
    """Path of a unit, there or not.

    Raises:
        ConfigError: That is no name of a unit.
    """
    if not name or not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ConfigError(f"--name {name!r}: write letters, digits, - and _")
    folder = Path("/etc/systemd/system") if system else platformdirs.user_config_path() / "systemd" / "user"
    return folder / f"{name}.service"


def program() -> tuple[str, ...]:
    """Command that starts edgeagent as this process was started, with absolute paths.

    Links are kept: where ``current`` is a link to a version, the unit follows it.
    """
    started = Path(sys.argv[0])
    if started.name == NAME and started.is_file() and os.access(started, os.X_OK):
        return (str(started.absolute()),)
    return (str(Path(sys.executable).absolute()), "-m", "edgeagent")


def known_groups() -> list[str]:
    """Those of ``GROUPS`` that this machine has."""
    known = {group.gr_name for group in grp.getgrall()}
    return [name for name in GROUPS if name in known]


def missing_groups() -> list[str]:
    """Those of ``GROUPS`` that this machine has and this user is not in."""
    mine = {grp.getgrgid(number).gr_name for number in os.getgroups()} if os.getuid() else set(GROUPS)
    return [name for name in known_groups() if name not in mine]


def run_as() -> str:
    """Name of the user that a unit of the machine's runs as: who has called sudo, or who calls.

    Raises:
        ConfigError: Only root is known.
    """
    name = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    if name == "root":
        raise ConfigError("a robot should not run as root: say --user NAME, or call it with sudo as that user")
    return name


def check_user(name: str) -> str:
    """The name, if there is such a user.

    Raises:
        ConfigError: There is none.
    """
    try:
        return pwd.getpwnam(name).pw_name
    except KeyError:
        raise ConfigError(f"--user {name}: this machine has no such user") from None


def quoted(argument: str, *, first: bool = False) -> str:
    """An argument as ``ExecStart=`` wants it (systemd.service(5), "Command lines").

    Args:
        first: It is the program itself, in which systemd replaces no variables.
    """
    plain = _escaped(argument) if first else _escaped(argument).replace("$", "$$")
    if argument and not set(argument) & set(" \t\"'\\;") and argument.isprintable():
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escaped(text: str) -> str:
    if "\n" in text or "\r" in text or "\0" in text:
        raise ConfigError(f"{text!r} has a line end in it, which no unit can hold")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{text!r} is no UTF-8, which a unit has to be: rename it") from None
    return text.replace("%", "%%")


def command(arguments: Sequence[str]) -> tuple[str, ...]:
    """``edgeagent talk --wait`` with further arguments."""
    return (*program(), "talk", "--wait", *arguments)


# --- words to systemd -------------------------------------------------------------------------------------------------

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
