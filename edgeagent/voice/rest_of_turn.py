"""Motion that waits while the person who has asked for it may go on: "turn left … sorry, I mean right".

Holds the safety latch only where a motion call is about to begin. Times are seconds of the device's clock.
"""

from __future__ import annotations

from itertools import count
from typing import Final

from edgeagent.robot.latch import SafetyLatch

_REASON: Final = "somebody who may go on"
"""Why motion is held."""
_NUMBERS: Final = count(1)


class RestOfTurn:
    """The time in which a person may go on. On the conversation's thread, except where a method says otherwise.

    Args:
        latch: Motion obeys it. It is held here under a name of its own, so that nobody else's hold is released.
    """

    def __init__(self, latch: SafetyLatch) -> None:
        self._latch = latch
        self._owner = f"{_REASON} {next(_NUMBERS)}"
        self._until_s: float | None = None
        self._holds = False

    @property
    def until_s(self) -> float | None:
        """Time until which the person may go on; None: nobody may."""
        return self._until_s

    @property
    def holds(self) -> bool:
        """True if motion waits for it."""
        return self._holds

    def begin(self, until_s: float) -> None:
        """Has motion that is about to begin, or waits already, wait until then."""
        self._until_s = until_s

    def hold(self) -> bool:
        """Holds motion that is about to begin. On the tool's thread. False: nobody may go on."""
        until_s = self._until_s
        if until_s is None:
            return False
        self._latch.hold(_REASON, owner=self._owner)
        self._holds = True
        if self._until_s is None:  # it has ended meanwhile
            self.end()
        return True

    def tick(self, now_s: float) -> None:
        """Ends it when its time has come."""
        if self._until_s is not None and now_s >= self._until_s:
            self.end()

    def end(self) -> None:
        """Nobody goes on: what waits begins. Any thread."""
        self._until_s, self._holds = None, False
        self._latch.release(owner=self._owner)
