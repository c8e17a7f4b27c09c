"""The books of one run: the turn that goes on, its calls, the budget they count against; and copies of its history.

Kept by the loop's thread; any thread may ask for copies.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any, Final

from edgeagent.agent.run_options import Options
from edgeagent.llm.protocol import ToolChoice
from edgeagent.messages import Message, Status, ToolCall, ToolResult, Usage, copied
from edgeagent.tools import GoalHandle, Tool


@dataclass(slots=True)
class LastTurn:
    """The turn that goes on, or the last one: a model call, and the results of its calls."""

    number: int = 0
    is_open: bool = False
    reply: Message | None = None
    results: Sequence[ToolResult] = ()
    streaming: Message | None = None
    """The reply as far as the model has come; None when no model is at work."""
    offered: dict[str, Tool | None] = field(default_factory=dict)
    """Tools of its request by their names, which are all that its reply may call; None for the agent's own one."""
    tool_choice: ToolChoice = "auto"
    """Of its request: the calls of a reply to "none" do not run."""
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
_NEVER_RAN: Final[frozenset[Status]] = frozenset(
    {"unknown", "invalid", "blocked", "declined", "denied", "skipped", "not_run"}
)
"""Statuses of calls whose body did not begin."""


class Budget:
    """Counts turns and hops against the limits; several grants add up to the ceiling at most."""

    def __init__(self, options: Options) -> None:
        self._max_turns = options.max_turns
        self._max_hops = options.max_tool_hops
        self.calls = 0
        """Model calls of the whole run."""
        self.hops = 0
        """Turns of the whole run with calls that were looked at."""
        self.usage = Usage()
        """Tokens of the whole run."""
        self._turns_left = options.max_turns
        self._hops_left = options.max_tool_hops

    def spend_turn(self) -> None:
        self.calls += 1
        self._turns_left -= 1

    def spend_hop(self, results: Iterable[ToolResult]) -> None:
        """Counts a turn with calls; against the limit only if a tool ran in it."""
        self.hops += 1
        if self._hops_left is not None and any(result.status not in _NEVER_RAN for result in results):
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


# --- copies of a history ----------------------------------------------------------------------------------------------


INTERRUPTED: Final = "(the user interrupted here)"


def marker() -> Message:
    """Stands after a reply that was interrupted."""
    return Message.user(INTERRUPTED, origin="marker")


def cut(messages: Sequence[Message], message_id: str, text: str) -> list[Message] | None:
    """The messages with one reply cut, and a marker after it and its results. None if it is not there."""
    for i, message in enumerate(messages):
        if message.id != message_id or message.role != "assistant":
            continue
        if message.text == text:
            return list(messages)
        end = i + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        marked = end < len(messages) and messages[end].origin == "marker"
        return [
            *messages[:i],
            replace(message, text=text),
            *messages[i + 1 : end],
            *([] if marked else [marker()]),
            *messages[end:],
        ]
    return None


class Copies:
    """Copies are given out, so that what a hook, a subscriber or a model changes reaches neither history nor a later
    request.

    Copying all of a long history for every request would take longer than the rest of a turn. So what was copied for
    the last request serves again, as long as nobody has changed it: then all of it is copied anew.

    Args:
        for_model: The copies lack what no model is sent back: its reasoning, and replies as it wrote them.
    """

    def __init__(self, *, for_model: bool = False) -> None:
        self._lock = threading.Lock()
        self._for_model = for_model
        self._forget()

    def _forget(self) -> None:
        self._messages: list[Message] = []
        self._copies: list[Message] = []
        self._arguments: list[dict[str, Any]] = []
        """Of all calls in the messages: all that can be changed in them, beside their data."""
        self._copied_arguments: list[dict[str, Any]] = []
        self._with_data: list[int] = []
        """Where there are data, which are copied each time: a builder's own need not be comparable."""

    def of(self, messages: Sequence[Message]) -> list[Message]:
        with self._lock:
            known = len(self._messages)
            same = len(messages) >= known and all(map(is_, self._messages, messages))
            if not same or self._arguments != self._copied_arguments:
                self._forget()
                known = 0
            self._take(messages[known:])
            copies = list(self._copies)
            with_data = list(self._with_data)
        for i in with_data:
            copies[i] = self._given(messages[i].copy())
        return copies

    def _given(self, message: Message) -> Message:
        if self._for_model and (message.thinking or message.raw is not None):
            return replace(message, thinking="", raw=None)
        return message

    def _take(self, messages: Sequence[Message]) -> None:
        known = len(self._messages)
        self._messages += messages
        self._copies += map(self._given, copied(messages))
        changeable = [i for i, m in enumerate(messages, known) if m.tool_calls or m.data is not None]
        for i in changeable:
            if self._messages[i].data is not None:
                self._with_data.append(i)
            else:
                self._arguments += [call.arguments for call in self._messages[i].tool_calls]
                self._copied_arguments += [call.arguments for call in self._copies[i].tool_calls]
