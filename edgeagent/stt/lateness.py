"""Lateness of the ears behind their device, and what is dropped when they are behind. One thread, the ears'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BEHIND_S: Final = 2.0
"""Seconds by the wall's clock; ears that are so late are behind."""
LOST_S: Final = 10.0
"""Seconds by the wall's clock; ears that are so late drop sound until they are not."""


@dataclass(frozen=True, slots=True)
class Late:
    """Verdict on a block of a stream that may be late."""

    drop: bool
    begins: bool = False
    """True if the block is the first one that is dropped."""
    said: str = ""
    """For a person, if there is news."""
    over: bool = False
    """The news are good."""


class Lateness:
    """Of block after block."""

    def __init__(self) -> None:
        self._behind = False
        self._dropped_s = 0.0

    def of(self, late_s: float, length_s: float) -> Late:
        """A block of that length, which was delivered so long ago."""
        if late_s <= BEHIND_S:
            if not self._behind:
                return Late(drop=False)
            lost = f"; {self._dropped_s:.1f} s of sound were dropped" if self._dropped_s else ""
            self._behind, self._dropped_s = False, 0.0
            return Late(drop=False, said=f"they keep up again{lost}", over=True)
        said = "" if self._behind else f"they are {late_s:.1f} s behind: this machine is too busy"
        self._behind = True
        if late_s <= LOST_S and not self._dropped_s:
            return Late(drop=False, said=said)
        begins = not self._dropped_s
        self._dropped_s += length_s
        return Late(drop=True, begins=begins, said=said)
