"""Calls into a sound system that may never come back, such as those of a server that hangs.

Each runs on a thread of its own, so that the caller waits in Python, where Ctrl-C reaches it, and not for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from edgeagent.errors import AudioError

LIMIT_S: Final = 15.0
"""PulseAudio on a busy machine may take seconds."""

Result = TypeVar("Result")


def patiently(work: Callable[[], Result], *, limit_s: float = LIMIT_S) -> Result:
    """Gives or raises what ``work`` does.

    Raises:
        AudioError: It is not back in time; its thread is left behind.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="audio-call", daemon=True).start()
    if not done.wait(limit_s):
        raise AudioError(f"the sound system did not answer within {limit_s:.0f} s: does its server hang?")
    if errors:
        raise errors[0]
    return results[0]
