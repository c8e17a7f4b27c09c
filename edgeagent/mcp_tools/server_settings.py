"""Settings of a server of tools: ``[[mcp]]``, checked. Knows no server and needs no extra."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from edgeagent.errors import ConfigError
from edgeagent.extras import install, lacking

logger = logging.getLogger(__name__)

SERVED: Final = "EDGEAGENT_SERVED"
"""Variable of every server that is started. An edgeagent that has it starts none itself, so that no chain begins where
both read the same settings."""
MESSAGE_VALUES: Final = 50_000
"""Values of one message, unless the settings say otherwise. So many keep the interpreter's lock for about 30 ms."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,23}")
"""A name of 24 characters leaves 40 of 64 to the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One ``[[mcp]]``. Either ``command`` or ``url`` is set."""

    name: str
    """Beginning of the names of its tools."""
    command: tuple[str, ...] = ()
    """Program and arguments that start the server."""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    url: str = ""
    token_file: Path | None = None
    remote: bool = False
    """True if the URL may be another machine's."""
    timeout_s: float | None = None
    """Seconds for a call; None: ``Options.tool_timeout_s``."""
    message_values: int = MESSAGE_VALUES
    """Values that one message of the server may have."""
    motion: bool = False
    """True if the tools that change something obey the safety latch."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ServerSettings:
        """Checks the settings of one server.

        Raises:
            ConfigError: A setting is missing, or two of them contradict each other.
        """
        name = given.get("name", "")
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f'[[mcp]] needs a name, such as name = "files": a letter, then letters, digits, _ and -, '
                f"24 characters at most; not {name!r}"
            )
        made = cls(**given)
        if bool(made.command) == bool(made.url):
            raise ConfigError(f"[[mcp]] {name}: set either command, to start a server, or url, to reach one that runs")
        other = ("token_file", "remote") if made.command else ("env", "cwd")
        if wrong := [key for key in other if key in given]:
            raise ConfigError(f"[[mcp]] {name}: {wrong[0]} goes with {'url' if made.command else 'command'}")
        (made._check_command if made.command else made._check_url)()
        return made

    def _check_command(self) -> None:
        if self.cwd is not None and not self.cwd.is_dir():
            raise ConfigError(f"[[mcp]] {self.name}: the folder {self.cwd} is not there")
        if any("\0" in word for word in self.command) or self.program is None:
            raise ConfigError(
                f"[[mcp]] {self.name}: there is no program {self.command[0]!r}; name one on PATH, or a path"
            )

    @property
    def program(self) -> str | None:
        """Path of the program; None if there is none. A relative path begins at ``cwd``."""
        name = self.command[0]
        return shutil.which(str((self.cwd or Path.cwd()) / name) if "/" in name else name)

    def _check_url(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(f"[[mcp]] {self.name}: {self.url!r} is no URL: {error}") from None
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            raise ConfigError(f"[[mcp]] {self.name}: write a URL such as http://127.0.0.1:8000/mcp, not {self.url!r}")
        if not self.remote and not _is_loopback(host):
            raise ConfigError(
                f"[[mcp]] {self.name}: {host} is another machine, and nothing leaves the robot by itself; "
                "remote = true allows it"
            )

    def token(self) -> str | None:
        """Reads the token that the server asks for; None if it asks for none.

        Raises:
            ConfigError: The file can't be read, or holds no token.
        """
        if self.token_file is None:
            return None
        try:
            token = self.token_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"[[mcp]] {self.name}: cannot read {self.token_file}: {error}") from None
        if not re.fullmatch(r"[!-~]{1,4096}", token):
            raise ConfigError(f"[[mcp]] {self.name}: {self.token_file} should hold one token and nothing else")
        return token


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_settings(given: Iterable[Mapping[str, Any]]) -> list[ServerSettings]:
    """Checks all ``[[mcp]]``. Returns none for an edgeagent that is a server itself.

    Raises:
        ConfigError: One is wrong, two have one name or may give tools one name, or the extra is not installed.
    """
    servers = [ServerSettings.of(one) for one in given]
    names = [server.name for server in servers]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"two [[mcp]] are called {twice[0]!r}; give one another name")
    if pairs := [(one, other) for one in names for other in names if other.startswith(f"{one}_")]:
        one, other = pairs[0]
        raise ConfigError(
            f"a tool of the [[mcp]] {one!r} may have the name of one of {other!r}: give one a name that the other does "
            "not begin with"
        )
    if servers:
        need_package("[[mcp]]")
    if servers and os.environ.get(SERVED):
        logger.warning("[[mcp]] is not used, because this edgeagent is a server of tools itself")
        return []
    return servers


def need_package(what: str) -> None:
    """Refuses what needs the official SDK where it is not installed.

    Raises:
        ConfigError: The text names the command that installs it.
    """
    if lacking("mcp"):
        raise ConfigError(f"{what} needs the package mcp, not installed here: {install('mcp')}")
