"""Access to a server of the robot's: an ASGI middleware that turns away whoever it does not serve.

A page of another site that runs in a visitor's browser must not reach the robot. Three checks stand against that:

- ``Host`` is a name of the robot's. Against DNS rebinding, where another site's name leads to the robot's address.
- ``Origin`` and ``Sec-Fetch-Site`` are those of the robot's own page. Against forged requests, the ones that only read
  included. Programs send neither header.
- The token, in ``Authorization: Bearer``. A browser never adds that header by itself, as it adds cookies.

Sources: the Fetch standard, the Fetch Metadata specification, RFC 6750, OWASP's cheat sheet on cross-site request
forgery. Knows nothing of what is served. Runs in the event loop of its server.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import ConfigError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LIMIT: Final = 65_536
"""Bytes of the body of a request; a line that is typed has a hundred."""
_LINGER_S: Final = 2.0
"""Seconds for which the rest of a body that was refused is read; as Apache's SECONDS_TO_LINGER."""
_TOKEN_BYTES: Final = 24
"""Random bytes of a token: 192 bits, 32 characters of base64url."""
_TOKEN_CHARS: Final = 32
"""Least characters of a token that is read from a file."""
_FILE_MODE: Final = 0o600
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened to
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Headers of every answer. Pictures come as ``blob:``, because an ``img`` element can't send the token."""


def new_token() -> str:
    """Returns a secret that nobody guesses, in characters that a URL may hold."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def kept_token(path: Path) -> str:
    """Returns the token of a file, which is made with mode 0600 if it is not there. It is the same after a restart.

    Raises:
        ConfigError: The file can't be read or written, other users may read it, or it holds no token.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write_token(path)
        return _read_token(path)
    except OSError as error:
        raise ConfigError(f"the token in {path} cannot be kept: {error.strerror}") from error


def _write_token(path: Path) -> None:
    """Makes the file whole or not at all; one that another process has made meanwhile stays."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "w", encoding="ascii") as file:
            file.write(new_token() + "\n")
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)


def _read_token(path: Path) -> str:
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ConfigError(f"other users may read the token in {path}: delete the file, and a new one is made")
        token = file.read(1024).decode("ascii", "replace").strip()
    if len(token) < _TOKEN_CHARS or not all(char.isalnum() or char in "-_" for char in token) or not token.isascii():
        raise ConfigError(f"{path} holds no token: delete the file, and a new one is made")
    return token


def is_loopback(host: str) -> bool:
    """True for an address, or ``localhost``, that only programs of this machine reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_names(host: str) -> frozenset[str]:
    """Names by which a server that listens to ``host`` may be called, beside addresses, which are always allowed.

    An address in ``Host`` is no sign of DNS rebinding, because that needs a name.
    """
    names = {"localhost", host.lower().strip("[]")}
    if not is_loopback(host):
        own = socket.gethostname().lower().rstrip(".")
        names |= {own, own.partition(".")[0], f"{own.partition('.')[0]}.local"}
    return frozenset(names - _ANY_ADDRESS - {""})


class Access:
    """An ASGI application around another one, which gets only requests that may reach it.

    Every answer, its own ones included, has headers that keep a browser from loading, framing or keeping what it should
    not. WebSockets are refused. Everything but HTTP and WebSockets, such as lifespan, is passed on.

    Args:
        app: Application that answers.
        names: Names that ``Host`` may have, in lower case, beside addresses; see ``allowed_names``.
        token: Secret that ``Authorization: Bearer`` has to hold; None asks for none.
        open_paths: Paths that need no token and may be followed from a link of another site: the page itself, which
            holds no secret.
        most_bytes: Bytes of the body of a request. What is larger is answered with 413 and dropped.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Iterable[str],
        token: str | None,
        open_paths: Iterable[str] = (),
        most_bytes: int = BODY_LIMIT,
    ) -> None:
        self._app = app
        self._names = frozenset(names)
        self._token = None if token is None else token.encode()
        self._open = frozenset(open_paths)
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or has the application answer."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send)
        if (refused := self._refusal(scope)) is not None:
            await _refuse(receive, guarded, *refused)
        elif (body := await _whole_body(receive, self._most_bytes)) is None:
            await _refuse(receive, guarded, 413, f"a body has at most {self._most_bytes} bytes")
        else:
            await self._app(scope, _Replayed(body, receive), guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and text for a request that is turned away; None if it may pass."""
        headers = _headers(scope)
        if headers is None:
            return 400, "a header that decides about access is there twice"
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._is_own(host):
            return 421, "this is not a name of the robot's: use its address, or the one that was printed"
        is_open = scope["path"] in self._open and scope["method"] in ("GET", "HEAD")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scope.get('scheme', 'http')}://{host}":
            return 403, "another site's page may not reach the robot"
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin") and not (
            is_open and headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
        ):
            return 403, "another site's page may not reach the robot"
        if _length(headers) > self._most_bytes:
            return 413, f"a body has at most {self._most_bytes} bytes"
        if self._token is not None and not is_open and not self._knows(headers.get(b"authorization", b"")):
            return 401, "the token is missing or wrong: open the address that edgeagent printed"
        return None

    def _is_own(self, host: str) -> bool:
        """True if ``Host`` is an address or an allowed name, with any port: a tunnel has another one.

        0.0.0.0 is no address that was meant: browsers let pages of other sites reach it.
        """
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, "0"
        if not (port.isascii() and port.isdecimal()):
            return False
        if name.rstrip(".") in self._names:
            return True
        bracketed = name.startswith("[") and name.endswith("]")
        try:
            address = ipaddress.ip_address(name[1:-1] if bracketed else name)
        except ValueError:
            return False
        return (address.version == 6) is bracketed and not address.is_unspecified

    def _knows(self, authorization: bytes) -> bool:
        scheme, _, given = authorization.partition(b" ")
        same = secrets.compare_digest(given.strip(), self._token or b"")
        return scheme.lower() == b"bearer" and same


_DECIDING: Final = frozenset({b"host", b"origin", b"authorization", b"content-length"})


def _headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers by name; None where one that decides stands there twice, because two readers may read two things."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in _DECIDING:
            return None
        found[name] = value
    return found


def _length(headers: dict[bytes, bytes]) -> int:
    """Bytes that the request says its body has; 0 where it does not say, or says nonsense, which servers refuse."""
    try:
        return int(headers.get(b"content-length", b"0"))
    except ValueError:
        return 0


async def _whole_body(receive: Receive, most_bytes: int) -> bytes | None:
    """Reads the body of a request; None if it has more bytes. A body that breaks off is as long as it came."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most_bytes:
            return None
        if not message.get("more_body", False):
            return bytes(body)


class _Replayed:
    """``receive`` of a request whose body was read already: the body in one message, then what comes after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _with_headers(send: Send) -> Send:
    """``send`` that adds the headers of every answer to the application's own, which count where both have one."""

    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            known = {name.lower() for name, _ in own}
            message = {**message, "headers": [*own, *(pair for pair in _HEADERS if pair[0] not in known)]}
        await send(message)

    return adding


async def _refuse(receive: Receive, send: Send, status: int, text: str) -> None:
    """Answers a request that is turned away. Before a connection is closed, what is left of the body is read for a
    while, and dropped: a connection with unread bytes is reset, and the client may lose the answer."""
    body = text.encode() + b"\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if status == 413:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        body = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while (await receive()).get("more_body", False):
                    pass
    await send({"type": "http.response.body", "body": body})
