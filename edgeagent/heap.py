"""Memory that the C library keeps for itself, kept small.

glibc has up to eight arenas for each core, one for each new thread until then, and what a thread has freed stays in its
arena for the next one. Other C libraries keep little: there the functions do nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Final

_ARENA_MAX: Final = -8
"""M_ARENA_MAX of malloc.h."""
_ARENAS: Final = 2
"""With one arena a conversation takes less still, but all threads wait while ``release_memory`` has its lock."""


def _function(name: str) -> Callable[..., Any] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


_MALLOPT: Final = _function("mallopt")
_TRIM: Final = _function("malloc_trim")


def share_arenas() -> None:
    """Has the process make no arena beyond the second, so that new threads share those that are there. Not where the
    environment says how many there are.

    For a process with many threads that each take much memory for a moment: a conversation with both recognisers takes
    448 MB in place of 690.
    """
    said = "arena_max" in os.environ.get("GLIBC_TUNABLES", "") or "MALLOC_ARENA_MAX" in os.environ
    if _MALLOPT is not None and not said:
        _MALLOPT(_ARENA_MAX, _ARENAS)


def release_memory() -> None:
    """Gives memory that was freed back to the system: glibc keeps 40 MB that Whisper's encoder needs once in an
    utterance."""
    if _TRIM is not None:
        _TRIM(0)
