"""An answer on its way from a recogniser's process. Settled by one thread, waited for by any."""

from __future__ import annotations

import threading
import time
from threading import Event
from typing import Final

from edgeagent.errors import RecognitionError
from edgeagent.stt.child import Message

STOP_POLL_S: Final = 0.02  # a stop event has no way to wake a waiter on another


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

    def wait(self, stop_event: Event | None = None) -> Message | None:
        """The answer; None if the stop event is set, though the answer be there.

        Raises:
            RecognitionError: The process died, hung or refused.
        """
        done = False
        while not done:
            done = self._done.wait(None if stop_event is None else STOP_POLL_S)
            if stop_event is not None and stop_event.is_set():
                return None
        if self._answer is None or self._error:
            raise RecognitionError(f"{self._worker}: {self._error or 'no answer'}")
        return self._answer
