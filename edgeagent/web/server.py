"""A server of the robot's on a thread of its own: uvicorn, in an event loop that nothing else runs in.

Its end keeps nobody waiting: the thread is a daemon, and ``end`` waits for nothing.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import ipaddress
import math
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from edgeagent.errors import ConfigError
from edgeagent.web.access import ASGIApp

GONE_S: Final = 20.0
"""Seconds after which a connection ends whose other side takes nothing, such as a phone that has left."""
_HEADER_LIMIT: Final = 16_384
"""Bytes of the head of a request."""
_MOST_CONNECTIONS: Final = 64
"""Connections at once; a further request is answered with 503."""
_FULL_SHARE: Final = 0.5
"""Share of all connections, from which on a new one takes the place of one that asks for nothing."""
_GRACE_S: Final = 1
"""Whole seconds that answers have at the end."""
_SIOCGIFADDR: Final = 0x8915
"""Request for an interface's IPv4 address, from Linux's sockios.h."""


class AddressError(ConfigError):
    """Raised for a port that is taken, or an address that the machine does not have: later it may be otherwise."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free.

    Raises:
        AddressError: The port is taken, or the machine has no such address.
        ConfigError: The port is not allowed, or that is no address.
    """
    numeric = "127.0.0.1" if host.lower() == "localhost" else host.strip("[]")
    try:
        ipaddress.ip_address(numeric)
    except ValueError as error:
        raise ConfigError(f"{host!r} is no address, such as 127.0.0.1 or 0.0.0.0; no name is looked up") from error
    try:
        family, *_, address = socket.getaddrinfo(numeric, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0]
        both = numeric == "::" and socket.has_dualstack_ipv6()
        listening = socket.create_server(address[:2], family=family, dualstack_ipv6=both)
    except OSError as error:
        passing = error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL)
        raise (AddressError if passing else ConfigError)(_told(host, port, error)) from error
    # Linux hands these to every connection that is accepted.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio sets it only where proto is TCP
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(GONE_S * 1000))
    return listening


def _told(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} of {host} is taken by another program: name another one, or 0 for any that is free"
        case errno.EACCES:
            return f"port {port} of {host} is not allowed here: name one from 1024 on"
        case errno.EADDRNOTAVAIL:
            return f"this machine has no address {host}: 127.0.0.1 is its own, 0.0.0.0 is every one that it has"
    return f"{host}:{port} cannot be listened to: {error.strerror or os.strerror(error.errno or 0)}"


def own_addresses(host: str) -> list[str]:
    """Addresses by which others reach a server that listens to ``host``: for 0.0.0.0 those of all networks."""
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - compared with
        return [host]
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:  # nothing is sent
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has no address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return sorted(found, key=lambda address: address.startswith("127."))


class Connection(H11Protocol):
    """A connection, for uvicorn's ``http``. One that is too many takes the place of the oldest that asks for nothing,
    or has not asked to the end: whoever only connects must not keep a stop away."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Makes room for the new one."""
        super().connection_made(transport)
        self._since_s = self.loop.time()
        waiting = [one for one in self.connections if isinstance(one, Connection) and one is not self and one._waits]
        room = (self.limit_concurrency or math.inf) * _FULL_SHARE  # requests that are gone end a moment later
        if len(self.connections) >= room and waiting:
            oldest = min(waiting, key=lambda one: one._since_s)
            oldest.transport.abort()
            self.connections.discard(oldest)

    def data_received(self, data: bytes) -> None:
        """Takes what comes; garbage behind an answer that has begun ends the connection, and with it the answer."""
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # uvicorn wants to answer once more
            self.transport.abort()
        cycle: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing() and cycle is not None:  # ``connection_lost`` comes a turn of the loop later
            cycle.disconnected = True
            cycle.message_event.set()

    @property
    def _waits(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request, whatever uvicorn declares
        return cycle is None or cycle.response_complete or cycle.more_body


def configured(app: ASGIApp, *, connections: int) -> uvicorn.Config:
    """Settings of uvicorn for a server of the robot's: no logs, nothing that a proxy says, and room for a stop.

    Args:
        connections: At most at once; a further request is answered with 503.
    """
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=connections,
        h11_max_incomplete_event_size=_HEADER_LIMIT,
        timeout_graceful_shutdown=_GRACE_S,
    )


class WebServer:
    """Serves an application from a socket until ``end``.

    Args:
        app: ASGI application, with ``Access`` around it.
        listening: Socket of ``listen``; closed at the end.
        on_end: Called in the event loop when the end begins.
    """

    def __init__(self, app: ASGIApp, listening: socket.socket, on_end: Callable[[], object] = lambda: None) -> None:
        self._socket = listening
        self._on_end = on_end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = uvicorn.Server(configured(app, connections=_MOST_CONNECTIONS))
        self._thread = threading.Thread(target=self._serve, name="web", daemon=True)

    def start(self) -> None:
        """Serves from now on."""
        self._thread.start()

    def end(self) -> None:
        """Begins the end, and waits for nothing. Safe to call again, on any thread."""
        self._server.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._on_end)

    def join(self, timeout_s: float) -> bool:
        """Waits for the end. False when the time was over first."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        with self._socket:
            asyncio.run(self._until_end())

    async def _until_end(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])
