"""Threads that run a builder's code: workers that can be given up, and a wait for a person's answer with an end."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from edgeagent.errors import EdgeAgentError
from edgeagent.stop import STOP_POLL_S

MAX_IDLE: Final = 8
"""As many as work at once, unless ``Options.max_concurrent_tools`` says otherwise."""
IDLE_S: Final = 0.5


class Threads:
    """Starts as many as there is work, and keeps a few of them for a moment. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[ToolThread] = []

    def run(self, work: Callable[[], object], name: str) -> None:
        """Has the work done on a thread of that name, beside all other work and in a context of its own."""
        thread = self._take()
        thread.do(work, name)
        if not thread.ident:
            thread.start()

    def reserve(self) -> ToolThread | None:
        """Sets a thread aside for work that must not wait for one; None if there is none to be had."""
        thread = self._take()
        thread.reserved = True
        if not thread.ident:
            try:
                thread.start()
            except RuntimeError:  # the limit of the system, or the interpreter ends
                return None
        return thread

    def keep(self, thread: ToolThread) -> bool:
        """Called by a thread that has done its work. False: there are enough."""
        with self._lock:
            if len(self._idle) >= MAX_IDLE:
                return False
            self._idle.append(thread)
            return True

    def release(self, thread: ToolThread) -> bool:
        """Called by a thread that has waited long enough. False: there is work for it, or it is reserved."""
        with self._lock:
            if thread not in self._idle:
                return False
            self._idle.remove(thread)
            return True

    def _take(self) -> ToolThread:
        """An idle thread, or one that is to be started."""
        with self._lock:
            while self._idle:
                thread = self._idle.pop()
                if thread.is_alive():  # not so in the child of a fork
                    return thread
        return ToolThread(self)


class ToolThread(threading.Thread):
    """Does what it is given, in the order in which it comes. A reserved one waits for the work of one owner."""

    def __init__(self, pool: Threads) -> None:
        super().__init__(daemon=True)
        self.reserved = False
        self._inbox: SimpleQueue[tuple[Callable[[], object], str]] = SimpleQueue()
        self._pool = pool

    def do(self, work: Callable[[], object], name: str) -> None:
        """Has the work done on this thread, under that name."""
        self._inbox.put((work, name))

    def release(self) -> None:
        """Gives a reserved thread back to its pool once its work is done."""
        self._inbox.put((self._unreserve, "idle"))

    def _unreserve(self) -> None:
        self.reserved = False

    def run(self) -> None:
        while True:
            try:
                work, self.name = self._inbox.get(timeout=IDLE_S)
            except Empty:
                if self._pool.release(self):
                    return
                continue
            contextvars.Context().run(work)
            del work
            if not self.reserved and not self._pool.keep(self):
                return


logger = logging.getLogger(__name__)
T = TypeVar("T")


def ask_person(question: Callable[[], T], *, stopping: Callable[[], bool], timeout_s: float, name: str) -> T | None:
    """Calls a builder's function that may wait for a person, on a thread of its own.

    Returns:
        What it returned; None when the time was over or the run was stopped first.

    Raises:
        EdgeAgentError: It raised what would end a thread, such as SystemExit.
        Exception: Whatever else it raised.
    """
    answers: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        try:
            answers.append(question())
        except BaseException as error:  # the builder's code; raised again where the answer is waited for
            logger.info("%s raised", name, exc_info=True)
            is_plain = isinstance(error, Exception)
            errors.append(error if is_plain else EdgeAgentError(f"{name} raised {type(error).__name__}: {error}"))
        done.set()

    threading.Thread(target=ask, name=name, daemon=True).start()
    end_s = time.monotonic() + timeout_s
    while not done.wait(STOP_POLL_S):
        if time.monotonic() >= end_s or stopping():
            return None
    if errors:
        raise errors[0]
    return answers[0]
