"""Signs that a process that owes something works, or hangs: told from outside, by what the kernel says of it.

A process that computes is alive however long it takes, also one that waits for a processor on a busy machine. One that
was stopped, or waits for something though there is something to do, is not: that is known within a fraction of a
second, and without its help, since an engine in C may keep the interpreter's lock for as long as it likes. Linux only;
elsewhere nothing is known. Whoever looks holds a lock.
"""

from __future__ import annotations

import array
import fcntl
import os
import sys
import termios
from dataclasses import dataclass
from pathlib import Path
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


LOOK_S: Final = 0.1
"""Between two looks at a process that has something to do."""
IDLE_LOOK_S: Final = 0.25
"""The same of one that has not."""
STILL_S: Final = 0.3
"""A process that has something to read and has not run for so long, though the machine would let it, hangs: one that
waits for a message is woken by it at once. Counted in looks: a time in which nobody could look is one."""

_RUNS: Final = frozenset("RD")
"""States in /proc: it computes or waits for a processor; it waits for the disk, which no kill would make faster."""
_STOPPED: Final = frozenset("Tt")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK") if sys.platform == "linux" else 100


@dataclass(frozen=True, slots=True)
class VitalSigns:
    """Of a process, at one moment."""

    state: str
    """As in /proc, such as R."""
    cpu_s: float
    """Seconds that the process has computed since it began, to a hundredth."""
    switches: int
    """Times that the process was given a processor, or gave it up."""

    @classmethod
    def of(cls, pid: int) -> VitalSigns | None:
        """None where the kernel does not tell, and for a process that has ended."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            status = Path(f"/proc/{pid}/status").read_bytes()
            switches = sum(
                int(line.rpartition(b":")[2]) for line in status.splitlines() if b"voluntary_ctxt_switches" in line
            )
            return cls(fields[0].decode(), (int(fields[11]) + int(fields[12])) / _TICKS_PER_S, switches)
        except (OSError, ValueError, IndexError):
            return None

    @property
    def stopped(self) -> bool:
        return self.state in _STOPPED

    def still_since(self, before: VitalSigns) -> bool:
        """True if the process has not run since then, and does not wait for a processor or a disk."""
        return self.state not in _RUNS and (self.cpu_s, self.switches) == (before.cpu_s, before.switches)


class Stillness:
    """Time that a process has been still while it had something to do, one look after the other."""

    def __init__(self) -> None:
        self.signs: VitalSigns | None = None
        """At the last look."""
        self.with_work_s = 0.0
        """For so long it has been still, and something to read lay before it."""
        self.silent_s = 0.0
        """For so long it has been still, and owed an answer."""

    def look(self, signs: VitalSigns | None, since_s: float, *, unread: bool, owes: bool) -> None:
        """
        Args:
            since_s: Since the last look; no look counts for more than ``LOOK_S``.
            unread: Something was sent that it has not read.
            owes: It was asked, and nothing has come.
        """
        still = signs is not None and self.signs is not None and signs.still_since(self.signs)
        counted_s = min(since_s, LOOK_S)
        held = unread or (signs is not None and signs.stopped)
        self.with_work_s = self.with_work_s + counted_s if still and held else 0.0
        self.silent_s = self.silent_s + counted_s if still and owes else 0.0
        self.signs = signs


def unread_bytes(descriptor: int) -> int:
    """Counts the bytes in a pipe, seen from either end; 0 where that is not told."""
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]
