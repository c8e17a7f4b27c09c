"""The processes below another one, for tests that none is left."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path

_LIMIT_S = 2.0
"""A child's death is a matter of the system's."""


def descendants(pid: int | None = None) -> set[int]:
    """Children of a process and theirs; of this one unless told."""
    found = set[int]()
    for task in Path(f"/proc/{pid or os.getpid()}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # threads and processes end meanwhile
            children = {int(child) for child in (task / "children").read_text(encoding="ascii").split()}
            found |= children.union(*map(descendants, children))
    return found


def left(pids: set[int]) -> list[int]:
    """Those that have not ended, and do not within two seconds."""
    found = []
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if not select.select([handle], [], [], _LIMIT_S)[0]:
            found.append(pid)
        os.close(handle)
    return found
