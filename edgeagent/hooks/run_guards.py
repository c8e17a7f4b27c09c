"""Guards that bound a run: against repeated calls, too many tokens, and results that are too long for the prompt.

A model that asks for the same thing over and over is warned, then stopped. That is counted per run and once per turn,
so that a reply may hold the same call several times ("turn left four times"), and only while nothing is new: the call
comes to the same as before, and nothing moved or changed in between. Knows nothing of the loop: it sets
``ctx.no_more_tools``, and the loop makes its next model call the last.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import AfterLLM, AfterTool, BaseHook, BeforeTool, FirePoint, HookResult, Payload, counted
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.tools import Tool
from edgeagent.tools.tool import OUTPUT_LIMIT, capped

WARNING: Final = "Warning: "
"""Beginning of a line that this guard adds to a result, for the model alone."""
_ENCODER: Final = json.JSONEncoder(sort_keys=True, default=repr)
_FAILED: Final = frozenset({"error", "invalid", "unknown", "timed_out"})
_WHOLE_BELOW: Final = 2**53
"""Size from which a float no longer tells neighbouring whole numbers apart."""

_Outcome = tuple[Status, str]
"""Status and text of a result."""


@dataclass(frozen=True, slots=True)
class _Streak:
    """Turns with one call in which nothing was new."""

    turns: int
    last_turn: int
    outcomes: frozenset[_Outcome]
    """Outcomes of the call in each of those turns."""
    between: frozenset[tuple[str, _Outcome]] | None
    """Calls that may have changed something between two of these turns, and what they came to: the same each time, or
    it is no cycle. None after one turn."""


@dataclass(slots=True)
class _Counts:
    """Requests of one run so far."""

    turn: int = 0
    streaks: dict[str, _Streak] = field(default_factory=dict)
    """By the key of a call."""
    changes: list[tuple[int, str, _Outcome]] = field(default_factory=list)
    """Turn, key and outcome of each call that succeeded and is not read-only."""
    asked: dict[str, str] = field(default_factory=dict)
    """The keys of this turn's calls, by their ids."""
    outcomes: dict[str, set[_Outcome]] = field(default_factory=dict)
    """Outcomes of this turn's calls, by their keys."""
    done: set[str] = field(default_factory=set)
    """Keys of this turn's calls that were skills and succeeded."""
    moved: bool = False
    """Something has moved in this turn, or was destroyed: what is asked again may come to something else."""
    failures: Counter[str] = field(default_factory=Counter)
    """Turns in a row in which a tool failed, by its name."""
    failing: frozenset[str] = frozenset()
    """Tools that have failed too often before this turn."""
    seen: set[str] = field(default_factory=set)
    """Tools whose failures are settled for this turn."""

    def nth(self, key: str) -> int:
        """Which turn of its streak the present one is for a call, if the call comes to the same again."""
        streak = self.streaks.get(key)
        if streak is None:
            return 1
        return streak.turns + 1 if streak.between in (None, self._between(key, streak)) else 2

    def is_new(self, key: str, outcome: _Outcome) -> bool:
        """True for an outcome that the call did not have in its last turn."""
        streak = self.streaks.get(key)
        return streak is None or outcome not in streak.outcomes

    def next_turn(self, max_tool_errors: int) -> None:
        """Counts the present turn, now that its results are known, and begins another."""
        for key in set(self.asked.values()) - self.done:
            streak = self.streaks.get(key)
            outcomes = frozenset(self.outcomes.get(key, ()))
            if streak is None or outcomes != streak.outcomes:
                self.streaks[key] = _Streak(1, self.turn, outcomes, None)
            else:
                self.streaks[key] = _Streak(self.nth(key), self.turn, outcomes, self._between(key, streak))
        if self.moved:
            self.streaks.clear()
            self.changes.clear()
        self.asked, self.outcomes, self.done, self.moved = {}, {}, set(), False
        self.failing = frozenset(name for name, count in self.failures.items() if count >= max_tool_errors)
        self.seen.clear()
        self.turn += 1

    def _between(self, key: str, streak: _Streak) -> frozenset[tuple[str, _Outcome]]:
        return frozenset(
            (other, outcome)
            for turn, other, outcome in self.changes
            if streak.last_turn <= turn < self.turn and other != key
        )


class LoopDetectorHook(BaseHook):
    """Warns of repeated calls at AFTER_TOOL, blocks them at BEFORE_TOOL; AFTER_LLM begins a turn.

    Calls are the same when the tool gets the same: 1, 1.0 and "1" for a number, or its default. A skill that succeeded
    is not counted, because a robot may patrol, and ends all streaks; so does any other tool that moves or destroys.
    A tool that is not read-only ends a streak unless the same call came to the same in the turns before (a cycle).

    Args:
        warn_at: The turn of a streak in which the result gets a warning.
        block_at: The turn of a streak in which the call is blocked and tools end.
        max_tool_errors: Failures of one tool in a row, one a turn; its next call is blocked and tools end.

    Raises:
        ConfigError: A number is below 1, or ``block_at`` is not above ``warn_at``.
    """

    points = frozenset({FirePoint.AFTER_LLM, FirePoint.BEFORE_TOOL, FirePoint.AFTER_TOOL})
    priority = -500
    quick = True

    def __init__(self, warn_at: int = 3, block_at: int = 4, max_tool_errors: int = 3) -> None:
        self.warn_at = counted("LoopDetectorHook(warn_at={})", warn_at)
        self.block_at = counted("LoopDetectorHook(block_at={})", block_at)
        self.max_tool_errors = counted("LoopDetectorHook(max_tool_errors={})", max_tool_errors)
        if block_at <= warn_at:
            raise ConfigError(f"LoopDetectorHook(block_at={block_at}): it should be above warn_at, which is {warn_at}")

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        # sub-agents share the state of a run; one that works as a tool has turns within a turn, and begins anew with
        # each call
        counts: _Counts = ctx.state_of(self).setdefault("/".join((*ctx.within, ctx.agent_name)), _Counts())
        match payload:
            case AfterLLM():
                counts.next_turn(self.max_tool_errors)
            case BeforeTool(call=call):
                return self._refusal(counts, ctx, call)
            case AfterTool(call=call, result=result):
                return self._noted(counts, ctx, call, result)
        return None

    def _refusal(self, counts: _Counts, ctx: AgentContext, call: ToolCall) -> HookResult | None:
        key = counts.asked[call.id] = _key(call.name, call.arguments, ctx.tool_of(call))
        reason = None
        if counts.nth(key) >= self.block_at:
            turns = _turns(counts.nth(key) - 1)
            reason = f"{call.name} was already called with the same arguments in {turns}; answer with what you know"
        elif call.name in counts.failing:
            reason = f"{call.name} failed {_times(self.max_tool_errors)}; say that it failed"
        if reason is None:
            return None
        ctx.no_more_tools = True
        return HookResult.block(reason)

    def _noted(self, counts: _Counts, ctx: AgentContext, call: ToolCall, result: ToolResult) -> HookResult | None:
        tool = ctx.tool_of(call)
        key = counts.asked.get(call.id)
        if key is None:  # an unknown or invalid call, which has not come to the gate
            key = counts.asked[call.id] = _key(call.name, call.arguments if call.raw is None else call.raw, tool)
            if counts.nth(key) >= self.block_at or call.name in counts.failing:
                ctx.no_more_tools = True
        outcome = result.status, result.text
        self._keep(counts, key, tool, outcome)
        warnings = []
        nth = 1 if counts.is_new(key, outcome) else counts.nth(key)
        if self.warn_at <= nth < self.block_at:
            turns = _turns(nth)
            warnings.append(
                f"{WARNING}{call.name} was now called with the same arguments in {turns}. Do not call it so again."
            )
        if self._fails(counts, call, result):
            failures = _times(self.max_tool_errors)
            warnings.append(f"{WARNING}{call.name} failed {failures}. Do not call it again.")
        if not warnings:
            return None
        text = "\n".join([*([result.text] if result.text else []), *warnings])
        return HookResult.replace(AfterTool(call, replace(result, text=text)))

    def _keep(self, counts: _Counts, key: str, tool: Tool | None, outcome: _Outcome) -> None:
        """Keeps what a call came to, and what that may have changed."""
        counts.outcomes.setdefault(key, set()).add(outcome)
        if tool is None or outcome[0] != "ok":
            return
        traits = tool.traits
        if traits.is_skill:
            counts.done.add(key)
        if traits.read_only:
            return
        if traits.is_skill or traits.motion or traits.destructive:
            counts.moved = True
        else:
            counts.changes.append((counts.turn, key, outcome))

    def _fails(self, counts: _Counts, call: ToolCall, result: ToolResult) -> bool:
        """Counts failures, one a turn. True at the last one that is let pass."""
        failed = result.status in _FAILED
        if not failed:
            counts.failures[call.name] = 0
        elif call.name not in counts.seen:
            counts.failures[call.name] += 1
        # a success settles the whole turn: which of two parallel results comes first is chance
        counts.seen.add(call.name)
        return failed and counts.failures[call.name] == self.max_tool_errors


def _key(name: str, arguments: dict[str, Any] | str, tool: Tool | None) -> str:
    """Equal for calls with which a tool gets the same."""
    if isinstance(arguments, str):
        return f"{name} {arguments}"
    given = {} if tool is None else tool.parameters.get("properties", {})
    defaults = {key: rule["default"] for key, rule in given.items() if "default" in rule}
    return f"{name} {_ENCODER.encode(_plain(defaults | arguments))}"


def _plain(value: Any) -> Any:
    """The value, with each whole number as an int."""
    match value:
        case float() if value.is_integer() and abs(value) < _WHOLE_BELOW:
            return int(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
    return value


def without_warnings(result: str) -> str:
    """The text of a result without what the guard has added, which is nothing to say."""
    return result.partition(f"\n{WARNING}")[0]


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


# --- tokens, and characters of a result -------------------------------------------------------------------------------


SPENT: Final = "I have used up the tokens for this request."
"""The reply of a run that reached its limit."""
_EARLIER: Final = "earlier"
_SPENT: Final = "spent"


class TokenBudgetHook(BaseHook):
    """BEFORE_LLM: ends the run once its model calls have taken ``max_tokens``, prompts and replies together.

    A call that is under way is never cut: the last one may go beyond. ON_RUN_START notes what history was there before.
    BEFORE_TOOL only counts, because a handoff leaves the history behind in which its call stands.

    Raises:
        ConfigError: ``max_tokens`` is no whole number from 1 on.
    """

    points = frozenset({FirePoint.ON_RUN_START, FirePoint.BEFORE_LLM, FirePoint.BEFORE_TOOL})

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = counted("TokenBudgetHook(max_tokens={})", max_tokens)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if point is FirePoint.ON_RUN_START:
            if ctx.depth == 0:  # an agent that was handed over to spends from the same budget
                state[_EARLIER] = {message.id for message in ctx.history()}
                state[_SPENT] = {}
            return None
        if _count(state, ctx) < self.max_tokens or point is not FirePoint.BEFORE_LLM:
            return None
        return HookResult.end_turn(SPENT)


def _count(state: dict[str, Any], ctx: AgentContext) -> int:
    """Tokens of this run so far; what was counted once stays counted."""
    spent: dict[str, int] = state.setdefault(_SPENT, {})
    earlier: set[str] = state.setdefault(_EARLIER, set())
    for message in ctx.history():
        if message.usage is not None and message.id not in earlier:
            spent[message.id] = message.usage.input_tokens + message.usage.output_tokens
    return sum(spent.values())


class ToolOutputCapHook(BaseHook):
    """AFTER_TOOL, last: cuts the middle out of a long result and says so in it; ``value`` stays as it is.

    Args:
        limit: Characters that may stay.

    Raises:
        ConfigError: ``limit`` is no whole number from 1 on.
    """

    points = frozenset({FirePoint.AFTER_TOOL})
    priority = -1000
    concurrent = True

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self.limit = counted("ToolOutputCapHook(limit={})", limit)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        text = capped(payload.result.text, self.limit)
        if text == payload.result.text:
            return None
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))
