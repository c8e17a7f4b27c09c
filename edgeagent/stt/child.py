"""The inside of a recogniser's process: takes requests from a pipe, one after the other, and answers on another.

Standard library only, since it is the first thing that such a process loads; the engine comes with its service. A
message is two little-endian 32-bit lengths, a JSON object and raw bytes. The process ends with its parent, whichever
way that one ends, and leaves Ctrl-C to it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from threading import Event
from typing import IO, Any, Final, Protocol

from edgeagent.errors import RecognitionError
from edgeagent.parent import die_with
from edgeagent.stop import STOP_POLL_S


class WorkerReply:
    """Request to a process, and its answer.

    Args:
        worker: Who is asked.
        allowed_s: For so long the process may compute until then.
        work_s: Of all that was sent until then.
    """

    def __init__(self, worker: str, allowed_s: float, work_s: float) -> None:
        self.asked_s = time.monotonic()
        self.allowed_s = allowed_s
        self.cpu_s: float | None = None
        """Seconds that the process had computed when somebody first looked after this was asked."""
        self.work_s = work_s
        self._worker = worker
        self._done = threading.Event()
        self._answer: Message | None = None
        self._error = ""

    def settle(self, answer: Message | None, error: str) -> None:
        """The worker's side."""
        self._answer, self._error = answer, error
        self._done.set()

    def wait(self, stop_event: Event | None = None, *, limit_s: float = threading.TIMEOUT_MAX) -> Message | None:
        """The answer; None if it has not come in time, or the stop event is set, though the answer be there.

        Raises:
            RecognitionError: The process died, hung or refused.
        """
        end_s = time.monotonic() + limit_s
        done = False
        while not done:
            left_s = max(end_s - time.monotonic(), 0.0)
            done = self._done.wait(left_s if stop_event is None else min(left_s, STOP_POLL_S))
            if stop_event is not None and stop_event.is_set():
                return None
            if not done and time.monotonic() >= end_s:
                return None
        if self._answer is None or self._error:
            raise RecognitionError(f"{self._worker}: {self._error or 'no answer'}")
        return self._answer


Message = dict[str, Any]
Emit = Callable[[Message], None]
"""Tells the parent something that it did not ask for."""

_LENGTHS: Final = struct.Struct("<II")
_LARGEST: Final = 1 << 28


class Service(Protocol):
    """Work of a process. A request that raises is answered with the error; the process goes on."""

    def handle(self, op: str, message: Message, payload: bytes) -> Message | None:
        """Answers a request; the answer to a message that asks for none is dropped."""
        ...


def write_message(pipe: IO[bytes], message: Message, payload: bytes = b"") -> None:
    """Raises ``OSError`` if nobody reads any more."""
    head = json.dumps(message, separators=(",", ":")).encode()
    pipe.write(_LENGTHS.pack(len(head), len(payload)) + head + payload)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> tuple[Message, bytes] | None:
    """The next message and its bytes; None at the end of the pipe, and for what is no message."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    if max(head_bytes, payload_bytes) > _LARGEST:
        return None
    head, payload = pipe.read(head_bytes), pipe.read(payload_bytes)
    if len(head) < head_bytes or len(payload) < payload_bytes:
        return None
    try:
        message = json.loads(head)
    except ValueError:
        return None
    return (message, payload) if isinstance(message, dict) else None


def main() -> None:
    """``child.py PARENT MODULE:FACTORY SETTINGS``, the settings as JSON."""
    parent, factory, settings = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what an engine prints must not get between the messages
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lock = threading.Lock()

    def emit(message: Message) -> None:
        with lock:
            write_message(replies, message)

    try:
        module, _, name = factory.partition(":")
        service: Service = getattr(importlib.import_module(module), name)(settings, emit)
    except Exception as error:  # noqa: BLE001 - the parent raises it
        emit({"failed": f"{type(error).__name__}: {error}"})
        return
    emit({"ready": os.getpid()})
    _serve(service, sys.stdin.buffer, emit)
    os._exit(0)  # no engine may keep the process by its teardown


def _serve(service: Service, requests: IO[bytes], emit: Emit) -> None:
    while (request := read_message(requests)) is not None:
        message, payload = request
        number = message.get("id")
        try:
            answer = {} if message["op"] == "ping" else service.handle(message["op"], message, payload)
        except Exception as error:  # noqa: BLE001 - the parent raises it
            answer = {"error": f"{type(error).__name__}: {error}"}
            if number is None:
                emit(answer)
        if number is not None:
            emit({"id": number, **(answer or {})})
