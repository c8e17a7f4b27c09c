"""Waits for a person's answer without waiting for ever."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from edgeagent.errors import EdgeAgentError

logger = logging.getLogger(__name__)
_POLL_S: Final = 0.02
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
    while not done.wait(_POLL_S):
        if time.monotonic() >= end_s or stopping():
            return None
    if errors:
        raise errors[0]
    return answers[0]
