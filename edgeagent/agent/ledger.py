"""The books of one run: the turn that goes on, its calls, and the budget that they count against.

Kept by the loop's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from edgeagent.agent.run_options import Options
from edgeagent.messages import Message, ToolCall, ToolResult, Usage
from edgeagent.tools import GoalHandle


@dataclass(slots=True)
class LastTurn:
    """The turn that goes on, or the last one: a model call, and the results of its calls."""

    number: int = 0
    is_open: bool = False
    reply: Message | None = None
    results: Sequence[ToolResult] = ()
    streaming: Message | None = None
    """The reply as far as the model has come; None when no model is at work."""
    offered: frozenset[str] | None = None
    """Names of the tools that the last request held, which are all that its reply may call."""
    in_words: bool = False
    """The next reply answers in words: the last one named tools that there are not."""
    hidden_replies: int = 0
    """Replies of the whole run that were not told, because they have the shape of calls and none may run."""
    faults: dict[str, str] = field(default_factory=dict)
    """Of the calls of a reply that does not fit its tools: why, by the call's id; empty for one that would fit."""


@dataclass(slots=True)
class CallLedger:
    """All calls of a run by their ids."""

    asked: dict[str, tuple[ToolCall, str]] = field(default_factory=dict)
    """Each call and the agent that made it, in the order asked."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    goals: dict[str, GoalHandle] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Calls that have started and not ended."""

    def note(self, calls: Iterable[ToolCall], agent: str) -> None:
        """Keeps the calls of an agent for the result, as they are asked for and again as they were made."""
        for call in calls:
            self.asked[call.id] = call, agent


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
        self.usage = Usage()
        """Tokens of the whole run."""
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
