"""Links to servers of tools: to a process, over stdin and stdout, and to one that runs already, over streamable HTTP.

Both run in the event loop of the thread ``mcp-tools``. A server that floods is read as slowly as ``Pace`` says, so that
its pipe fills and the server waits; one that writes garbage or a message without an end is ended. The log of a process
comes from its stderr. Knows no tools.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import httpx2
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from edgeagent.mcp_tools.offered_tools import one_line
from edgeagent.mcp_tools.server_settings import SERVED, ServerSettings
from edgeagent.parent import dying_with_us

logger = logging.getLogger(__name__)
MESSAGE_MAX_BYTES: Final = 4 * 1024 * 1024
"""Bytes of one message, the SDK's own limit for requests. A picture of a few megapixels fits."""
GARBAGE_MAX: Final = 100
"""Lines on stdout that are no messages, of one process."""
MESSAGES_MAX: Final = 300
"""Messages a second that are read. More of them make the interpreter late for sound."""
LARGE_BYTES: Final = 8192
"""Bytes of a message that count as one of ``MESSAGES_MAX``; a larger one counts as many."""
TOO_MANY_VALUES: Final = "it sent a message of more than {} values; message_values under [[mcp]] allows more"
"""Reason for the end of a server. Reading 4 MB of many small values keeps the interpreter's lock, and so a stop, for a
second."""
LOG_MAX_BYTES: Final = 256 * 1024
"""Bytes of stderr a second that are read."""
LOG_LINES_MAX: Final = 20
"""Lines of stderr a second that are logged; the others are counted."""
GRACE_S: Final = 0.4
"""Seconds from the end of stdin to SIGTERM, and from that to SIGKILL; both fit into the end of a command."""
_LINE_CHARS: Final = 400
_CHUNK_BYTES: Final = 16_384
_LAST_WORDS_S: Final = 0.01
"""Seconds for what a process that has ended still has on stderr."""
_SECOND_S: Final = 1.0


class Ended:
    """End of a connection: set once, with the reason."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.why = ""

    def set(self, why: str) -> None:
        """Ends the connection; the first reason stays."""
        if not self._event.is_set():
            self.why = why
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class Pace:
    """Lets so many things pass in a second, and has the reader wait for the next second then, or a later one if what
    it takes is more than that."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._until_s = 0.0

    async def take(self, count: int = 1) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._until_s:
            self._until_s, self._left = now_s + _SECOND_S, self._most
        self._left -= count
        if self._left < 0:
            self._until_s += -self._left // self._most * _SECOND_S
            await asyncio.sleep(self._until_s - now_s)


def values_of(message: bytes) -> int:
    """Values of a message at most, counted without reading it: what separates and opens them. A text with commas counts
    for more than it is."""
    return sum(map(message.count, (b",", b":", b"[", b"{")))


def _shown(line: bytes) -> str:
    """A line of a server's, for people."""
    return one_line(line[: 4 * _LINE_CHARS].decode(errors="replace"), _LINE_CHARS)


@asynccontextmanager
async def process_link(server: ServerSettings, ended: Ended) -> AsyncIterator[tuple[Any, Any]]:
    """Starts a server and yields the streams of its messages, as the SDK's transports do; ends the server after it.

    Args:
        ended: Set when the process ends or misbehaves.

    Raises:
        OSError: It can't be started.
    """
    process = _start(server)
    link = _ProcessLink(server, process, ended)
    try:
        await link.open()
        async with anyio.create_task_group() as group:
            for work in (link.read, link.write, link.log, link.watch):
                group.start_soon(work)
            try:
                yield link.incoming, link.outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await link.stop()
                group.cancel_scope.cancel()
    finally:
        link.close()


def _start(server: ServerSettings) -> subprocess.Popen[bytes]:
    program = server.program
    if program is None:
        raise FileNotFoundError(f"there is no program {server.command[0]!r} any more")
    return subprocess.Popen(
        dying_with_us([os.path.abspath(program), *server.command[1:]]),  # noqa: PTH100 - a link keeps its own name
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**get_default_environment(), SERVED: "1", **server.env},
        cwd=server.cwd,
        start_new_session=True,  # Ctrl-C at the terminal is edgeagent's alone
    )


class _ProcessLink:
    """One process. Its streams are what the SDK reads and writes."""

    def __init__(self, server: ServerSettings, process: subprocess.Popen[bytes], ended: Ended) -> None:
        self._server, self._process, self._ended = server, process, ended
        self._received, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.outgoing, self._to_send = anyio.create_memory_object_stream[SessionMessage](0)
        self._transports: list[asyncio.BaseTransport] = []
        self._last_line = b""

    async def open(self) -> None:
        """Connects the pipes to the event loop."""
        self._stdout = await self._reader(self._process.stdout, MESSAGE_MAX_BYTES)
        self._stderr = await self._reader(self._process.stderr, _CHUNK_BYTES)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, self._process.stdin)
        self._stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self._transports.append(transport)

    async def _reader(self, pipe: Any, limit: int) -> asyncio.StreamReader:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=limit)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._transports.append(transport)
        return reader

    async def read(self) -> None:
        """Passes messages on until stdout ends."""
        async with self._received:
            why = await self._read()
            if not why:
                with anyio.move_on_after(GRACE_S):  # mostly the process ends, and ``watch`` knows how
                    await self._ended.wait()
            self._ended.set(why or "it closed its stdout")  # before whoever waits for an answer learns of the end

    async def _read(self) -> str:
        """Passes messages on, and counts lines that are none. Returns why the server has to end; empty at the end."""
        pace, garbage = Pace(MESSAGES_MAX), 0
        while True:
            try:
                line = await self._stdout.readline()
            except ValueError:
                return f"it sent a message of more than {MESSAGE_MAX_BYTES // 1024**2} MB"
            if not line:
                return ""
            if values_of(line) > self._server.message_values:
                return TOO_MANY_VALUES.format(self._server.message_values)
            await pace.take(1 + len(line) // LARGE_BYTES)
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                garbage += 1
                if garbage == 1:
                    name = self._server.name
                    logger.warning("MCP server %s writes to stdout what is no message: %s", name, _shown(line))
                if garbage > GARBAGE_MAX:
                    return f"it wrote more than {GARBAGE_MAX} lines to stdout that are no messages"
                continue
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._received.send(SessionMessage(message))

    async def write(self) -> None:
        """Sends messages. A server that does not read them is waited for; whoever calls has a time-out."""
        async with self._to_send:
            async for sent in self._to_send:
                data = sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    self._stdin.write(data)
                    await self._stdin.drain()
                except (ConnectionError, RuntimeError):
                    return  # ``watch`` knows why

    async def log(self) -> None:
        """Logs stderr line by line; what is too long or too much is left out."""
        bytes_pace, rest, left_out = Pace(LOG_MAX_BYTES), b"", 0
        second_s, lines = 0.0, 0
        while chunk := await self._stderr.read(_CHUNK_BYTES):
            *whole, rest = (rest + chunk).split(b"\n")
            rest = rest[: 4 * _LINE_CHARS]
            now_s = asyncio.get_running_loop().time()
            if now_s - second_s >= _SECOND_S:
                if left_out:
                    logger.info("MCP server %s: %d more lines", self._server.name, left_out)
                second_s, lines, left_out = now_s, 0, 0
            for line in whole:
                self._last_line = line if line.strip() else self._last_line
                lines += 1
                if lines > LOG_LINES_MAX:
                    left_out += 1
                elif line.strip():
                    logger.info("MCP server %s: %s", self._server.name, _shown(line))
            await bytes_pace.take(len(chunk))
        if rest.strip():
            self._last_line = rest
            logger.info("MCP server %s: %s", self._server.name, _shown(rest))

    async def watch(self) -> None:
        """Tells when the process has ended, also where a child of its own keeps the pipes open."""
        await self._end()
        code = self._process.wait()
        await asyncio.sleep(_LAST_WORDS_S)
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        self._ended.set(f"it ended {how}" + (f": {_shown(self._last_line)}" if self._last_line else ""))

    async def stop(self) -> None:
        """Ends the process and its children: by the end of stdin, SIGTERM, SIGKILL, each after ``GRACE_S``."""
        self._stdin.close()
        if not await self._exits():
            self._signal(signal.SIGTERM)
            await self._exits()
        self._signal(signal.SIGKILL)  # what is left of its session
        await self._exits()

    async def _exits(self) -> bool:
        """True when the process ends within ``GRACE_S``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._end()
        return self._process.poll() is not None

    async def _end(self) -> None:
        """Waits for the end of the process."""
        if self._process.poll() is not None:
            return
        handle = os.pidfd_open(self._process.pid)
        exited = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(handle, exited.set)
        try:
            await exited.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Closes what is open; for the last resort kills the process."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # a driver of the system may hold it
                self._process.wait(GRACE_S)
        for transport in self._transports:
            transport.close()
        for stream in (self._received, self.incoming, self.outgoing, self._to_send):
            stream.close()


# --- a server that runs already ---------------------------------------------------------------------------------------


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
