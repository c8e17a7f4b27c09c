"""Motion that waits while the person who has asked for it may go on: "turn left … sorry, I mean right".

Holds the safety latch only where a motion call is about to begin. Times are seconds of the device's clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from edgeagent.english.amounts import tells_amount
from edgeagent.english.inverse import inverse_normalised
from edgeagent.robot.latch import SafetyLatch
from edgeagent.tools import Tool

_REASON: Final = "somebody who may go on"
"""Why motion is held."""
_NUMBERS: Final = count(1)
_AMOUNTS: Final = ("number", "integer")


class RestOfTurn:
    """The time in which a person may go on. On the conversation's thread, except where a method says otherwise.

    Args:
        latch: Motion obeys it. It is held here under a name of its own, so that nobody else's hold is released.
    """

    def __init__(self, latch: SafetyLatch) -> None:
        self._latch = latch
        self._owner = f"{_REASON} {next(_NUMBERS)}"
        self._until_s: float | None = None
        self._amount_until_s: float | None = None
        self._holds = self._for_amount = False
        self._silent_until_s = -math.inf

    @property
    def until_s(self) -> float | None:
        """Time until which the person may go on; None: nobody may."""
        return self._until_s if self._holds and not self._for_amount else self._amount_until_s

    @property
    def holds(self) -> bool:
        """True if motion waits for it."""
        return self._holds

    def begin(self, until_s: float, *, amount_until_s: float | None = None) -> None:
        """Has motion that is about to begin, or waits already, wait until then; what lacks an amount until
        ``amount_until_s``, where that is given and not sooner."""
        self._until_s = until_s
        self._amount_until_s = until_s if amount_until_s is None else max(until_s, amount_until_s)

    def hold(self, *, lacks_amount: bool = False) -> bool:
        """Holds motion that is about to begin. On the tool's thread. False: nobody may go on.

        Args:
            lacks_amount: The motion has an amount that the person has not told.
        """
        until_s = self._amount_until_s if lacks_amount else self._until_s
        if until_s is None or self._silent_until_s >= until_s:
            return False
        if lacks_amount:
            self._for_amount = True
        self._latch.hold(_REASON, owner=self._owner)
        self._holds = True
        if self._until_s is None:  # it has ended meanwhile
            self.end()
        return True

    def tick(self, silent_until_s: float) -> None:
        """Lets motion begin when its time has come.

        Args:
            silent_until_s: Until when it is known that nobody has gone on.
        """
        self._silent_until_s = silent_until_s
        if self._amount_until_s is not None and silent_until_s >= self._amount_until_s:
            self.end()
        elif self._holds and (until_s := self.until_s) is not None and silent_until_s >= until_s:
            self.let_begin()

    def let_begin(self) -> None:
        """Motion that waits begins; what is called for from now on waits as before."""
        self._holds = self._for_amount = False
        self._latch.release(owner=self._owner)

    def end(self) -> None:
        """Nobody goes on: what waits begins. Any thread."""
        self._until_s = self._amount_until_s = None
        self.let_begin()


def lacks_amount(tool: Tool, text: str) -> bool:
    """True if a tool takes a number, and a text tells no amount: "turn left", but not "turn around".

    A number is found where the schema of a parameter names it, by itself or as one of several types; what a ``$ref``
    stands for is not looked at.
    """
    properties = tool.parameters.get("properties")
    schemas = properties.values() if isinstance(properties, dict) else ()
    kinds = {kind for schema in schemas for kind in _kinds(schema)}
    return not kinds.isdisjoint(_AMOUNTS) and not tells_amount(inverse_normalised(text))


def _kinds(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    yield from (each for each in kinds if isinstance(each, str))
    for name in ("anyOf", "oneOf"):
        parts = schema.get(name)
        for part in parts if isinstance(parts, list) else ():
            yield from _kinds(part)
