"""Steps of equal length by the wall's clock, on a thread of their own. Knows nothing of what a step is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from edgeagent.errors import AudioError

logger = logging.getLogger(__name__)

_LATE_S: Final = 0.1
"""Seconds that the steps may fall behind before that time is given up as lost."""
_JOIN_S: Final = 10.0


class Pacer:
    """Calls ``step`` every ``step_s`` seconds, and ``lost`` when it has fallen behind for good."""

    def __init__(self, step: Callable[[], None], lost: Callable[[], None], *, step_s: float) -> None:
        self._step = step
        self._lost = lost
        self._step_s = step_s
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._failure: Exception | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """The first step is taken after ``step_s``."""
        self._ending.clear()
        self._failure = None
        self._thread = threading.Thread(target=self._run, name="simulated-room", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No step is taken after this, except the one that calls it. Raises what a step raised. Safe to call again."""
        self._ending.set()
        if self._thread is threading.current_thread():
            return
        if self._thread is not None:
            self._thread.join(_JOIN_S)
            if self._thread.is_alive():
                raise AudioError(f"a callback of the simulated room has not returned for {_JOIN_S:.0f} s")
        self._thread = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        due_s = time.monotonic() + self._step_s
        try:
            while not self._ending.wait(max(due_s - time.monotonic(), 0.0)):
                self._step()
                due_s += self._step_s
                if time.monotonic() - due_s > _LATE_S:
                    self._lost()
                    due_s = time.monotonic()
        except Exception as error:  # a callback's; stop() raises it
            logger.exception("the simulated room stopped")
            self._failure = error
