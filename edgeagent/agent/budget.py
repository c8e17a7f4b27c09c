"""Budget of a run's model calls (contract, section 7)."""

from __future__ import annotations

from typing import Final

from edgeagent.agent.run_options import Options

CEILING: Final = 100
"""No run makes more model calls than this, whatever was granted."""


class Budget:
    """Counts turns and hops against the limits; several grants add up to the ceiling at most."""

    def __init__(self, options: Options) -> None:
        self._max_turns = options.max_turns
        self._max_hops = options.max_tool_hops
        self.calls = 0
        """Model calls of the whole run."""
        self.hops = 0
        """Turns of the whole run whose tools ran."""
        self._turns_left = options.max_turns
        self._hops_left = options.max_tool_hops

    def spend_turn(self) -> None:
        self.calls += 1
        self._turns_left -= 1

    def spend_hop(self) -> None:
        self.hops += 1
        if self._hops_left is not None:
            self._hops_left -= 1

    @property
    def tools_allowed(self) -> bool:
        """False after the last hop: the model speaks once more, but its calls are not run."""
        return self._hops_left is None or self._hops_left > 0

    @property
    def exhausted(self) -> bool:
        """At the ceiling: not one more call."""
        return self.calls >= CEILING

    @property
    def spent(self) -> bool:
        return self._turns_left <= 0 or self.exhausted

    def grant(self) -> bool:
        """Allows as much again; False at the ceiling."""
        self._turns_left, self._hops_left = self._max_turns, self._max_hops
        return not self.exhausted

    def grant_one(self) -> bool:
        """Allows one more turn; False at the ceiling."""
        self._turns_left = max(self._turns_left, 1)
        return not self.exhausted
