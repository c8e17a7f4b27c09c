"""A recogniser in a process of its own: started, asked, killed when it hangs, and started again.

Knows nothing of sound. A supervising thread starts each process and reads its answers, since Linux ties "die with your
parent" to the thread that made the child; a second one writes, so that no caller waits for a full pipe; a third one
watches the deadlines. Every method may be called by any thread.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO, Any, Final, Literal

from edgeagent.errors import RecognitionError
from edgeagent.stt.child import Message, read_message, write_message

log: Final = logging.getLogger("edgeagent.stt")

START_TIMEOUT_S: Final = 20.0
"""A process that has not said by then that it is ready is killed."""
HANG_S: Final = 1.0
"""So long may a process that is sent messages be silent."""
QUEUE_BYTES: Final = 1 << 22
"""What may wait to be written: two minutes of sound."""
MOST_FAILURES: Final = 5
"""After so many starts in a row that failed, none follows."""

_PAUSES_S: Final = (0.0, 0.0, 0.5, 1.0, 2.0)
"""Before a start, by the number of failures before it."""
_PING_EVERY_S: Final = 0.25
_JOIN_S: Final = 2.0
_STDERR_SHOWN: Final = 400
_RUN: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from edgeagent.stt.child import main; main()"


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """What became of a worker's process."""

    worker: str
    kind: Literal["started", "died", "hung", "failed"]
    """``failed``: it could not be started; with ``final`` no further start follows."""
    reason: str = ""
    restarts: int = 0
    after_s: float = 0.0
    """For ``started``: since the one before it was lost."""
    final: bool = False


class Reply:
    """An answer on its way."""

    def __init__(self, worker: str, deadline_s: float, work_s: float) -> None:
        self.deadline_s = deadline_s
        self.work_s = work_s
        """Of all that was sent until then."""
        self._worker = worker
        self._done = threading.Event()
        self._answer: Message | None = None
        self._error = ""

    def settle(self, answer: Message | None, error: str) -> None:
        """The worker's side."""
        self._answer, self._error = answer, error
        self._done.set()

    def wait(self, stop_event: Event | None = None) -> Message | None:
        """The answer; None if the stop event is set before it is there.

        Raises:
            RecognitionError: The process died, hung or refused.
        """
        while not self._done.wait(None if stop_event is None else _STOP_POLL_S):
            if stop_event is not None and stop_event.is_set():
                return None
        if self._answer is None or self._error:
            raise RecognitionError(f"{self._worker}: {self._error or 'no answer'}")
        return self._answer


class Worker:
    """One process, always there.

    Args:
        name: For logs and threads.
        service: ``module:factory``; the factory is called with the settings and a function that emits.
        settings: What the factory needs, as JSON values.
        on_emit: Given what the process says without being asked, on the supervising thread.
        on_event: Told of starts, deaths and hangs, on the supervising thread.
        hang_s: See ``HANG_S``.
    """

    def __init__(
        self,
        name: str,
        service: str,
        settings: dict[str, Any],
        *,
        on_emit: Callable[[Message], None] | None = None,
        on_event: Callable[[WorkerEvent], None] | None = None,
        hang_s: float = HANG_S,
    ) -> None:
        self.name = name
        self._service, self._settings = service, settings
        self._on_emit, self._on_event, self._hang_s = on_emit, on_event, hang_s
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._given_up = ""
        self._closed = False
        self._lost_because: tuple[Literal["died", "hung"], str] | None = None
        self._outgoing: deque[tuple[Message, bytes]] = deque()
        self._outgoing_bytes = 0
        self._pending: dict[int, Reply] = {}
        self._numbers = 0
        self._pinged_s = 0.0
        self._sent_s = self._done_s = 0.0
        """Work in seconds, of this process: all that was sent, and how much of it is known to be done."""
        self.generation = 0
        """How many processes there were; what was sent to an earlier one is lost."""
        self._threads = [
            threading.Thread(target=target, name=f"{name}-{part}", daemon=True)
            for part, target in (("supervise", self._supervise), ("write", self._write), ("watch", self._watch))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int | None:
        """Of the process that serves; None while there is none."""
        with self._changed:
            return self._process.pid if self._process is not None and self._ready else None

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the process serves.

        Raises:
            RecognitionError: It does not, and why.
        """
        with self._changed:
            done = self._changed.wait_for(lambda: self._ready or self._given_up or self._closed, timeout_s)
            if self._given_up or self._closed or not done:
                raise RecognitionError(self._given_up or f"{self.name} is not ready after {timeout_s:g} s")

    def send(self, op: str, payload: bytes = b"", *, work_s: float = 0.0, **message: Any) -> bool:
        """Send what needs no answer; another thread writes it.

        Args:
            work_s: How long it may take the process; a hang is told from work by it.

        Returns:
            False if it was dropped: the process is not there, or too much waits to be written.
        """
        with self._changed:
            if not self._ready or self._outgoing_bytes + len(payload) > QUEUE_BYTES:
                return False
            self._sent_s += work_s
            self._put({"op": op, **message}, payload)
            self._ping()
            self._changed.notify_all()
        return True

    def ask(self, op: str, payload: bytes = b"", *, work_s: float = 0.0, **message: Any) -> Reply:
        """Ask. A process that has no answer when its work should be done, and ``hang_s`` later, is killed, and another
        one started.

        Raises:
            RecognitionError: The process is not there.
        """
        with self._changed:
            if not self._ready:
                raise RecognitionError(self._given_up or f"{self.name} is being started again")
            self._sent_s += work_s
            reply = self._expect(op, payload, message, self._hang_s)
            self._changed.notify_all()
        return reply

    def ping(self) -> None:
        """Have the process say that it lives, if it has not been asked just now; brings ``waiting_s`` up to date."""
        with self._changed:
            if self._ready:
                self._ping()
                self._changed.notify_all()

    @property
    def waiting_s(self) -> float:
        """Work that was sent and is not known to be done."""
        with self._changed:
            return self._sent_s - self._done_s

    def close(self) -> None:
        """End the process and the threads. Safe to call again, and on any thread."""
        with self._changed:
            self._closed = True
            self._kill()
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)

    def _ping(self) -> None:
        now_s = time.monotonic()
        if now_s - self._pinged_s > _PING_EVERY_S and not any(number < 0 for number in self._pending):
            self._pinged_s = now_s
            self._expect("ping", b"", {}, self._hang_s, sign=-1)

    def _expect(self, op: str, payload: bytes, message: Message, timeout_s: float, *, sign: int = 1) -> Reply:
        self._numbers += 1
        number = sign * self._numbers
        deadline_s = time.monotonic() + timeout_s + self._sent_s - self._done_s
        reply = self._pending[number] = Reply(self.name, deadline_s, self._sent_s)
        self._put({"op": op, "id": number, **message}, payload)
        return reply

    def _put(self, message: Message, payload: bytes) -> None:
        self._outgoing.append((message, payload))
        self._outgoing_bytes += len(payload)

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    # the supervising thread

    def _supervise(self) -> None:
        failures, lost_s = 0, 0.0
        while True:
            with self._changed:
                # 1. a pause after failures
                if self._changed.wait_for(lambda: self._closed, _PAUSES_S[min(failures, len(_PAUSES_S) - 1)]):
                    return
            # 2. start, and serve until it ends
            try:
                with tempfile.TemporaryFile() as stderr:
                    served, reason = self._run(stderr, lost_s)
            except Exception as error:  # noqa: BLE001 - top of a thread
                served, reason = False, f"it can't be started: {error}"
            # 3. tell everybody who waits, and whoever listens
            lost_s = time.monotonic()
            failures = 0 if served else failures + 1
            with self._changed:
                kind, because = self._lost_because or ("died", reason)
                self._lost_because = None
                self._abandon(because)
                closed, final = self._closed, failures >= MOST_FAILURES
                if final:
                    self._given_up = f"{self.name} can't be started: {reason}"
                self._changed.notify_all()
            if closed:
                return
            log.warning("%s %s (%s)%s", self.name, kind, because, "" if final else ": it is started again")
            self._tell(
                WorkerEvent(self.name, kind if served else "failed", because, max(0, self.generation - 1), final=final)
            )
            if final:
                return

    def _run(self, stderr: IO[bytes], lost_s: float) -> tuple[bool, str]:
        """One process from its start to its end: whether it served, and why it ended."""
        arguments = [str(os.getpid()), self._service, json.dumps(self._settings), json.dumps(_absolute(sys.path))]
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C in the terminal is the parent's
        )
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        timer = threading.Timer(START_TIMEOUT_S, process.kill)
        timer.daemon = True
        timer.start()
        served, reason = False, ""
        try:
            with self._changed:
                self._process = process
                if self._closed:
                    self._kill()
            while (told := read_message(process.stdout)) is not None:
                message = told[0]
                if "ready" in message:
                    timer.cancel()
                    served = True
                    self._serves(lost_s)
                elif "failed" in message:
                    reason = str(message["failed"])
                elif "id" in message:
                    self._answered(message)
                elif self._on_emit is not None:
                    self._call(self._on_emit, message)
        finally:
            timer.cancel()
            with self._changed:
                self._ready = False
            process.kill()
            status = process.wait()
            process.stdout.close()
            with contextlib.suppress(OSError):  # what was in its buffer has no reader
                process.stdin.close()
        stderr.seek(0)
        said = stderr.read()[-_STDERR_SHOWN:].decode(errors="replace").strip()
        return served, reason or f"exit status {status}{': ' + said if said else ''}"

    def _serves(self, lost_s: float) -> None:
        with self._changed:
            self._ready = True
            self.generation += 1
            self._pinged_s = self._sent_s = self._done_s = 0.0
            restarts = self.generation - 1
            self._changed.notify_all()
        after_s = time.monotonic() - lost_s if lost_s else 0.0
        self._tell(WorkerEvent(self.name, "started", restarts=restarts, after_s=after_s))

    def _answered(self, message: Message) -> None:
        with self._changed:
            pending = self._pending.pop(message["id"], None)
            if pending is not None:
                self._done_s = pending.work_s
            self._changed.notify_all()
        if pending is not None:
            pending.settle(message, str(message.get("error", "")))

    def _abandon(self, because: str) -> None:
        self._outgoing.clear()
        self._outgoing_bytes = 0
        for pending in self._pending.values():
            pending.settle(None, because)
        self._pending.clear()

    def _tell(self, event: WorkerEvent) -> None:
        if self._on_event is not None:
            self._call(self._on_event, event)

    def _call(self, listener: Callable[[Any], None], value: object) -> None:
        try:
            listener(value)
        except Exception:
            log.exception("a listener of %s failed", self.name)

    # the writing thread

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (self._ready and self._outgoing))
                process = self._process
                if self._closed or process is None or process.stdin is None:
                    return
                pipe, generation = process.stdin, self.generation
                message, payload = self._outgoing.popleft()
                self._outgoing_bytes -= len(payload)
            try:
                write_message(pipe, message, payload)
            except (OSError, ValueError):  # it died: the supervising thread sees it too
                with self._changed:
                    self._changed.wait_for(lambda: self._moved_on(generation))  # noqa: B023 - it is waited for here

    def _moved_on(self, generation: int) -> bool:
        return self._closed or not self._ready or self.generation != generation

    # the watching thread

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                first = min((pending.deadline_s for pending in self._pending.values()), default=None)
                if first is None:
                    self._changed.wait()
                elif (left_s := first - time.monotonic()) > 0:
                    self._changed.wait(left_s)
                else:
                    self._lost_because = ("hung", "it did not answer in time")
                    self._abandon("it did not answer in time")
                    self._ready = False
                    self._kill()


_STOP_POLL_S: Final = 0.02  # a stop event has no way to wake a waiter on another


def _absolute(paths: list[str]) -> list[str]:
    return [str(Path(path).absolute()) for path in paths]
