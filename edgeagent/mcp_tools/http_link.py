"""A server of tools that runs already, reached by streamable HTTP. Runs in the event loop of ``mcp-tools``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from edgeagent.mcp_tools.process_link import (
    LARGE_BYTES,
    MESSAGE_MAX_BYTES,
    MESSAGES_MAX,
    TOO_MANY_VALUES,
    Pace,
    values_of,
)
from edgeagent.mcp_tools.server_settings import ServerSettings

CONNECT_S: Final = 5.0
"""Seconds for a connection, and for sending a request."""


@asynccontextmanager
async def http_link(server: ServerSettings) -> AsyncIterator[tuple[Any, Any]]:
    """Yields the streams of a server's messages, as the SDK's transports do.

    Proxies and certificates of the environment do not count, because a call must not leave the robot by itself.

    Raises:
        ConfigError: The file of the token can't be read.
    """
    token = server.token()
    headers = {"accept-encoding": "identity"} | ({} if token is None else {"authorization": f"Bearer {token}"})
    timeout = httpx2.Timeout(CONNECT_S, read=None)  # a call has its own limit, and a stream of events none
    transport = _LimitedTransport(server.message_values)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=timeout, trust_env=False) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Refuses answers that are too large or packed; the SDK limits events of a stream, and no other answers."""

    def __init__(self, values_max: int) -> None:
        super().__init__(trust_env=False)
        self._values_max = values_max

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError("the answer is packed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - it is an async transport's
        has_events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = (_PacedStream if has_events else _LimitedStream)(response.stream, self._values_max)
        return response


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of an answer, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, values_max: int) -> None:
        self._stream, self._values_max, self._values = stream, values_max, 0

    def _count(self, part: bytes) -> None:
        """Counts the values of a message.

        Raises:
            RemoteProtocolError: They are too many.
        """
        self._values += values_of(part)
        if self._values > self._values_max:
            raise httpx2.RemoteProtocolError(TOO_MANY_VALUES.format(self._values_max))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > MESSAGE_MAX_BYTES:
                raise httpx2.RemoteProtocolError(f"an answer has more than {MESSAGE_MAX_BYTES // 1024**2} MB")
            self._count(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _PacedStream(_LimitedStream):
    """A stream of events, which are read as slowly as the messages of a process."""

    _blank = True
    """True while nothing has come of the present line. A space is something, because it ends no event."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pace = Pace(MESSAGES_MAX)
        async for chunk in self._stream:
            await pace.take(chunk.count(b"data:") + len(chunk) // LARGE_BYTES)
            self._count_events(chunk)
            yield chunk

    def _count_events(self, chunk: bytes) -> None:
        """Counts the values of each event; an empty line ends one."""
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                self._values = 0 if self._blank else self._values
                self._blank = True
            self._blank = self._blank and not part.strip(b"\r")
            self._count(part)
