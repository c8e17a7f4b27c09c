"""The agent's server on a thread of its own, over stdin and stdout or over HTTP.

Nothing but messages goes to the stream that stands for stdout. A client that leaves ends the server of stdin; the main
thread waits outside of the event loop, so that a signal never waits for a client.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from edgeagent.mcp_agent.agent_server import on_thread
from edgeagent.web.access import Access, allowed_names
from edgeagent.web.server import configured

LINE_MAX_BYTES: Final = 1024 * 1024
"""Bytes of a message from stdin."""
CONNECTIONS_MAX: Final = 32
"""Connections at once; a further request is answered with 503."""
CLIENTS_MAX: Final = 256
"""Sessions of clients over HTTP. A client that dies leaves one behind, and must not keep the next one's stop away."""
CLIENT_IDLE_S: Final = 600.0
"""Seconds until the session of a client that asks for nothing ends."""
PATH: Final = "/mcp"
HOST: Final = "127.0.0.1"
_CHUNK_BYTES: Final = 65_536
_JOIN_S: Final = 1.0
"""Seconds for the thread to end."""


class Serving:
    """Runs a server on the thread ``mcp-server`` until it ends by itself, or ``close``. A context manager.

    Args:
        serve: The server, as a coroutine function.
    """

    def __init__(self, serve: Callable[[], Awaitable[None]]) -> None:
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # the SDK logs every message that does not fit
        self._serve = serve
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._work, name="mcp-server", daemon=True)

    def wait(self) -> None:
        """Waits for the end.

        Raises:
            Exception: The server failed.
        """
        self._ended.wait()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Ends the server. Safe to call again."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(_JOIN_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._run())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again where the end is waited for
            self._error = error
        self._ended.set()

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        await self._serve()


async def serve_streams(server: Server[Any], stdin: int, stdout: int) -> None:
    """Serves one client until its stream ends.

    Args:
        stdin: Descriptor of a stream of messages, a line each. What is no message is passed over.
        stdout: Descriptor of what takes messages and nothing else.
    """
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()

    def post(item: SessionMessage | Exception | None) -> None:
        work = received.aclose() if item is None else received.send(item)
        asyncio.run_coroutine_threadsafe(work, loop).result()

    def read() -> None:
        gone = (RuntimeError, CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError)
        with suppress(OSError, *gone):
            for line in _lines(stdin):
                post(_message(line))
            post(None)

    async def write() -> None:
        async with to_send:
            async for sent in to_send:
                data = sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:  # a client that does not read keeps this thread, and no stop that it sends
                    await on_thread(partial(_write, stdout, data), name="mcp-stdout")
                except OSError:  # nobody reads any more
                    group.cancel_scope.cancel()
        written.set()

    written = anyio.Event()
    threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await server.run(incoming, outgoing, server.create_initialization_options())
        await outgoing.aclose()
        with anyio.move_on_after(_JOIN_S):
            await written.wait()
        group.cancel_scope.cancel()


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _lines(file: int) -> Iterator[bytes]:
    """Reads the lines of a file as they come; of one that is too long only the beginning, which is no message.

    A Python stream would not do: the interpreter can't end while a thread waits in one. The same is true of writing.
    """
    line, skipping = b"", False
    while chunk := os.read(file, _CHUNK_BYTES):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if not skipping:
                yield line + end
            line, skipping = b"", False
        line += rest
        if len(line) > LINE_MAX_BYTES:
            if not skipping:
                yield line
            line, skipping = b"", True
    if line and not skipping:
        yield line


def _message(line: bytes) -> SessionMessage | Exception:
    if len(line) > LINE_MAX_BYTES:
        return ValueError(f"a message has more than {LINE_MAX_BYTES} bytes")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def serve_http(server: Server[Any], listening: socket.socket, token: str) -> None:
    """Serves the clients that know the token, by the rules of ``Access``."""
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=HOST, max_sessions=CLIENTS_MAX, session_idle_timeout=CLIENT_IDLE_S
    )
    guarded = Access(app, names=allowed_names(HOST), token=token)
    running = uvicorn.Server(configured(guarded, connections=CONNECTIONS_MAX))
    try:
        await running.serve(sockets=[listening])
    except asyncio.CancelledError:
        if running.started:
            await running.lifespan.shutdown()  # which else logs that it was cancelled
        raise
