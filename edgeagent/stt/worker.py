"""A recogniser in a process of its own: started, asked, killed when it hangs, and started again.

Knows nothing of sound. A supervising thread starts each process and reads its answers, since Linux ties "die with your
parent" to the thread that made the child; a second one writes, so that no caller waits for a full pipe; a third one
looks whether the process lives. Every method may be called by any thread.

A process hangs if it was stopped, or waits for something else while there is something to do; or if it has computed for
longer than the work that it was given allows. One that a busy machine lets compute little does not.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
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
from edgeagent.stop import STOP_POLL_S
from edgeagent.stt.child import Message, WorkerReply, read_message, write_message
from edgeagent.stt.vital_signs import IDLE_LOOK_S, LOOK_S, STILL_S, Stillness, VitalSigns, unread_bytes

log: Final = logging.getLogger("edgeagent.stt")

START_TIMEOUT_S: Final = 20.0
"""A process that has not said by then that it is ready is killed."""
HANG_S: Final = 0.5
"""Seconds that a process that was asked may wait for something else, or compute beyond the work that it was given."""
STARVED_S: Final = 10.0
"""Seconds by the wall's clock that a process may take beyond ``HANG_S``, on a machine that is busy with other
things."""
UNSEEN_S: Final = 0.5
"""The same where the kernel does not tell what a process does."""
QUEUE_BYTES: Final = 1 << 22
"""Bytes that may wait to be written: two minutes of sound."""
MOST_FAILURES: Final = 5
"""After so many starts in a row that failed, none follows; one that has served before is tried again now and then."""

_PAUSES_S: Final = (0.0, 0.0, 0.5, 1.0, 2.0)
"""Before a start, by the number of failures before it."""
_LATER_S: Final = 30.0
"""Before a start after ``MOST_FAILURES``."""
_SETTLED_S: Final = 10.0
"""One that ends before it has served for so long counts as a failure for the next pause."""
_PING_EVERY_S: Final = 0.25
_JOIN_S: Final = 2.0
_STDERR_SHOWN: Final = 400
_RUN: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from edgeagent.stt.child import main; main()"


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """Change of a worker's process."""

    worker: str
    kind: Literal["started", "died", "hung", "failed"]
    """``failed``: it could not be started; with ``final``, which comes before it has ever served, no start follows."""
    reason: str = ""
    restarts: int = 0
    after_s: float = 0.0
    """For ``started``: since the one before it was lost."""
    final: bool = False


class Worker:
    """One process, always there.

    Args:
        name: For logs and threads.
        service: ``module:factory``; the factory is called with the settings and a function that emits.
        settings: What the factory needs, as JSON values; or what makes them before each start, on the supervising
            thread: files that they name may have gone.
        on_emit: Given what the process says without being asked, on the supervising thread.
        on_event: Told of starts, deaths and hangs, on the supervising thread.
        hang_s: See ``HANG_S``.
    """

    def __init__(
        self,
        name: str,
        service: str,
        settings: dict[str, Any] | Callable[[], dict[str, Any]],
        *,
        on_emit: Callable[[Message], None] | None = None,
        on_event: Callable[[WorkerEvent], None] | None = None,
        hang_s: float = HANG_S,
    ) -> None:
        self.name = name
        self._service = service
        self._settings = settings if callable(settings) else lambda: settings
        self._on_emit, self._on_event, self._hang_s = on_emit, on_event, hang_s
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._to_write = threading.Condition(lock)
        self._to_watch = threading.Condition(lock)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._given_up = ""
        self._closed = False
        self._lost_because: tuple[Literal["died", "hung"], str] | None = None
        self._reading = self._writing = False
        """True while the supervising thread waits for the process, and the writing one is about to hand it
        something."""
        self._outgoing: deque[tuple[Message, bytes]] = deque()
        self._outgoing_bytes = 0
        self._pending: dict[int, WorkerReply] = {}
        self._numbers = 0
        self._pinged_s = 0.0
        self._sent_s = self._done_s = 0.0
        """Work in seconds, of this process: all that was sent, and how much of it is known to be done."""
        self.generation = 0
        """Number of processes so far; what was sent to an earlier one is lost."""
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

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S, stop_event: Event | None = None) -> bool:
        """Wait until the process serves; False if the stop event is set before it does.

        Raises:
            RecognitionError: It does not, and why.
        """
        end_s = time.monotonic() + timeout_s
        with self._changed:
            while not (self._ready or self._given_up or self._closed):
                if stop_event is not None and stop_event.is_set():
                    return False
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    break
                self._changed.wait(left_s if stop_event is None else min(left_s, STOP_POLL_S))
            if not self._ready or self._closed:
                raise RecognitionError(self._given_up or f"{self.name} is not ready after {timeout_s:g} s")
        return True

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
        return True

    def ask(self, op: str, payload: bytes = b"", *, work_s: float = 0.0, **message: Any) -> WorkerReply:
        """Ask. A process that hangs before it has answered is killed, and another one started.

        Args:
            work_s: For how long it may compute for it, on the slowest machine.

        Raises:
            RecognitionError: The process is not there.
        """
        with self._changed:
            if not self._ready:
                raise RecognitionError(self._given_up or f"{self.name} is being started again")
            self._sent_s += work_s
            return self._expect(op, payload, message)

    def ping(self) -> None:
        """Have the process say that it lives, if it has not been asked just now; brings ``waiting_s`` up to date."""
        with self._changed:
            if self._ready:
                self._ping()

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
            self._notify()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)

    def _ping(self) -> None:
        now_s = time.monotonic()
        if now_s - self._pinged_s > _PING_EVERY_S and not any(number < 0 for number in self._pending):
            self._pinged_s = now_s
            self._expect("ping", b"", {}, sign=-1)

    def _expect(self, op: str, payload: bytes, message: Message, *, sign: int = 1) -> WorkerReply:
        self._numbers += 1
        number = sign * self._numbers
        allowed_s = self._hang_s + self._sent_s - self._done_s
        reply = self._pending[number] = WorkerReply(self.name, allowed_s, self._sent_s)
        self._put({"op": op, "id": number, **message}, payload)
        return reply

    def _put(self, message: Message, payload: bytes) -> None:
        self._outgoing.append((message, payload))
        self._outgoing_bytes += len(payload)
        self._to_write.notify_all()

    def _notify(self) -> None:
        """Of a change that may concern every thread."""
        for condition in (self._changed, self._to_write, self._to_watch):
            condition.notify_all()

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    # the supervising thread

    def _supervise(self) -> None:
        failures, lost_s = 0, 0.0
        while True:
            with self._changed:
                # 1. a pause after failures
                pause_s = _LATER_S if self._given_up else _PAUSES_S[min(failures, len(_PAUSES_S) - 1)]
                if self._changed.wait_for(lambda: self._closed, pause_s):
                    return
            # 2. start, and serve until it ends
            try:
                with tempfile.TemporaryFile() as stderr:
                    served_s, reason = self._run(stderr, lost_s)
            except Exception as error:  # noqa: BLE001 - top of a thread
                served_s, reason = 0.0, f"it can't be started: {error}"
            # 3. tell everybody who waits, and whoever listens
            lost_s = time.monotonic()
            failures = 0 if served_s > _SETTLED_S else failures + 1
            with self._changed:
                kind, because = self._lost_because or ("died", reason)
                self._lost_because = None
                self._abandon(because)
                if not served_s and failures >= MOST_FAILURES:
                    self._given_up = f"{self.name} can't be started: {reason}"
                closed, final = self._closed, bool(self._given_up) and not self.generation
                self._notify()
            if closed:
                return
            log.warning("%s %s (%s)%s", self.name, kind, because, "" if final else ": it is started again")
            told = kind if served_s else "failed"
            self._tell(WorkerEvent(self.name, told, because, max(0, self.generation - 1), final=final))
            if final:
                return

    def _run(self, stderr: IO[bytes], lost_s: float) -> tuple[float, str]:
        """One process from its start to its end: for how long it served, and why it ended."""
        arguments = [str(os.getpid()), self._service, json.dumps(self._settings()), json.dumps(_absolute(sys.path))]
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
        ready_s, reason = math.inf, ""
        try:
            with self._changed:
                self._process = process
                if self._closed:
                    self._kill()
            while (message := self._read(process.stdout)) is not None:
                if "ready" in message:
                    timer.cancel()
                    ready_s = time.monotonic()
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
        served_s = max(0.0, time.monotonic() - ready_s)
        return served_s, reason or f"exit status {status}{': ' + said if said else ''}"

    def _read(self, pipe: IO[bytes]) -> Message | None:
        self._reading = True
        told = read_message(pipe)
        self._reading = False
        return told[0] if told is not None else None

    def _serves(self, lost_s: float) -> None:
        with self._changed:
            self._ready = True
            self._given_up = ""
            self.generation += 1
            self._pinged_s = self._sent_s = self._done_s = 0.0
            restarts = self.generation - 1
            self._notify()
        after_s = time.monotonic() - lost_s if lost_s else 0.0
        self._tell(WorkerEvent(self.name, "started", restarts=restarts, after_s=after_s))

    def _answered(self, message: Message) -> None:
        with self._changed:
            pending = self._pending.pop(message["id"], None)
            if pending is not None:
                self._done_s = pending.work_s
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
        except (Exception, SystemExit):
            log.exception("a listener of %s failed", self.name)

    # the writing thread

    def _write(self) -> None:
        while True:
            with self._to_write:
                self._writing = False
                self._to_write.wait_for(lambda: self._closed or (self._ready and self._outgoing))
                process = self._process
                if self._closed or process is None or process.stdin is None:
                    return
                pipe, generation = process.stdin, self.generation
                message, payload = self._outgoing.popleft()
                self._outgoing_bytes -= len(payload)
                self._writing = True
            try:
                write_message(pipe, message, payload)
            except (OSError, ValueError):  # it died: the supervising thread sees it too
                with self._to_write:
                    self._to_write.wait_for(lambda: self._moved_on(generation))  # noqa: B023 - it is waited for here

    def _moved_on(self, generation: int) -> bool:
        return self._closed or not self._ready or self.generation != generation

    # the watching thread

    def _watch(self) -> None:
        with self._to_watch:
            while not self._closed:
                if not self._to_watch.wait_for(lambda: self._ready or self._closed):
                    continue
                generation, stillness, looked_s = self.generation, Stillness(), time.monotonic()
                while not self._moved_on(generation):
                    signs = stillness.signs
                    busy = bool(self._pending or self._outgoing) or (signs is not None and signs.stopped)
                    self._to_watch.wait(LOOK_S if busy else IDLE_LOOK_S)
                    now_s = time.monotonic()
                    if not self._moved_on(generation) and (why := self._hangs(stillness, now_s - looked_s)):
                        self._lost_because = ("hung", why)
                        self._abandon(why)
                        self._ready = False
                        self._kill()
                    looked_s = now_s

    def _hangs(self, stillness: Stillness, since_s: float) -> str:
        """Why the process is taken to hang; nothing if it is not."""
        process = self._process
        assert process is not None  # noqa: S101 - it serves
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        signs = VitalSigns.of(process.pid)
        # what it said and nobody has read yet is an answer perhaps, or what it waits for to be read
        heard = self._reading and not unread_bytes(process.stdout.fileno())
        stillness.look(
            signs,
            since_s,
            unread=heard and unread_bytes(process.stdin.fileno()) > 0,
            owes=heard and bool(self._pending) and not self._outgoing and not self._writing,
        )
        if stillness.with_work_s >= STILL_S:
            return f"it does not run (state {signs.state if signs else '?'})"
        if stillness.silent_s >= self._hang_s:
            return f"it did not answer, and has not run for {self._hang_s:g} s"
        now_s = time.monotonic()
        for pending in self._pending.values():
            if signs is not None and pending.cpu_s is None:
                pending.cpu_s = signs.cpu_s
            took_s, more_s = now_s - pending.asked_s, STARVED_S
            if signs is None or pending.cpu_s is None:
                more_s = UNSEEN_S
            elif heard and signs.cpu_s - pending.cpu_s > pending.allowed_s:
                return f"it did not answer in {signs.cpu_s - pending.cpu_s:.1f} s of computing"
            if heard and took_s > pending.allowed_s + more_s:
                return f"it did not answer in {took_s:.1f} s"
        return ""


def _absolute(paths: list[str]) -> list[str]:
    return [str(Path(path).absolute()) for path in paths]
