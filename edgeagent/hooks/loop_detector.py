"""The repetition guard: a model that asks for the same thing over and over is warned, then stopped.

Counted per run and once per turn, so that a reply may hold the same call several times ("turn left four times").
Knows nothing of the loop: it says ``ctx.no_more_tools``, and the loop makes its next model call the last.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from edgeagent.errors import ConfigError
from edgeagent.hooks.types import AfterLLM, AfterTool, BaseHook, BeforeTool, FirePoint, HookResult, Payload
from edgeagent.messages import ToolCall, ToolResult

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

Mark = Literal["warn", "block", "failed"]
WARNING: Final = "Warning: "
"""How a line begins that this guard adds to a result."""
_ENCODER: Final = json.JSONEncoder(sort_keys=True, default=repr)
_FAILED: Final = frozenset({"error", "invalid", "unknown", "timed_out"})


@dataclass(slots=True)
class _Counts:
    """What one run has asked for."""

    turns: Counter[str] = field(default_factory=Counter)
    """In how many turns before this one a call was made, by its key."""
    asked: dict[str, str] = field(default_factory=dict)
    """The keys of this turn's calls, by their ids."""
    done: set[str] = field(default_factory=set)
    """Ids of this turn's calls that were skills and succeeded."""
    marks: dict[str, Mark] = field(default_factory=dict)
    """What is to happen to this turn's calls, by their ids: arguments may be coerced until a call is made."""
    failures: Counter[str] = field(default_factory=Counter)
    """Turns in a row in which a tool failed, by its name."""
    seen: set[str] = field(default_factory=set)
    """Tools whose failures are settled for this turn."""


class LoopDetectorHook(BaseHook):
    """Warns of repeated calls at AFTER_TOOL, blocks them at BEFORE_TOOL; decides both at AFTER_LLM.

    A skill that succeeded is not counted: a robot may patrol.

    Args:
        warn_at: The turn with the same call whose result gets a warning.
        block_at: The turn in which the call is blocked and tools end.
        max_tool_errors: Failures of one tool in a row, one a turn; its next call is blocked and tools end.

    Raises:
        ConfigError: A number is below 1, or ``block_at`` is not above ``warn_at``.
    """

    points = frozenset({FirePoint.AFTER_LLM, FirePoint.BEFORE_TOOL, FirePoint.AFTER_TOOL})
    priority = -500

    def __init__(self, warn_at: int = 3, block_at: int = 4, max_tool_errors: int = 3) -> None:
        given: dict[str, object] = {"warn_at": warn_at, "block_at": block_at, "max_tool_errors": max_tool_errors}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(
                    f"LoopDetectorHook({name}={value!r}): it should be a whole number of turns, at least 1"
                )
        if block_at <= warn_at:
            raise ConfigError(f"LoopDetectorHook(block_at={block_at}): it should be above warn_at, which is {warn_at}")
        self.warn_at = warn_at
        self.block_at = block_at
        self.max_tool_errors = max_tool_errors

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        # sub-agents share the state of a run, and one that works as a tool has turns within a turn
        state = ctx.state_of(self)
        counts: _Counts = state.get(ctx.agent_name) or state.setdefault(ctx.agent_name, _Counts())
        match payload:
            case AfterLLM(tool_calls=calls):
                self._settle(counts)
                self._mark(counts, calls)
                if {"block", "failed"} & set(counts.marks.values()):
                    ctx.no_more_tools = True
            case BeforeTool(call=call):
                return self._refusal(counts, call)
            case AfterTool(call=call, result=result):
                return self._noted(counts, ctx, call, result)
        return None

    def _settle(self, counts: _Counts) -> None:
        """Counts the turn before, now that its results are known."""
        for key in {key for call_id, key in counts.asked.items() if call_id not in counts.done}:
            counts.turns[key] += 1
        counts.done.clear()
        counts.seen.clear()

    def _mark(self, counts: _Counts, calls: tuple[ToolCall, ...]) -> None:
        counts.asked = {call.id: _key(call) for call in calls}
        counts.marks = {}
        for call in calls:
            turn = counts.turns[counts.asked[call.id]] + 1
            if turn >= self.block_at:
                counts.marks[call.id] = "block"
            elif counts.failures[call.name] >= self.max_tool_errors:
                counts.marks[call.id] = "failed"
            elif turn >= self.warn_at:
                counts.marks[call.id] = "warn"

    def _refusal(self, counts: _Counts, call: ToolCall) -> HookResult | None:
        match counts.marks.get(call.id):
            case "block":
                turns = _turns(counts.turns[counts.asked[call.id]])
                return HookResult.block(
                    f"{call.name} was already called with the same arguments in {turns}; answer with what you know"
                )
            case "failed":
                return HookResult.block(f"{call.name} failed {_times(self.max_tool_errors)}; say that it failed")
        return None

    def _noted(self, counts: _Counts, ctx: AgentContext, call: ToolCall, result: ToolResult) -> HookResult | None:
        tool = None if ctx.tool_registry is None else ctx.tool_registry.get(call.name)
        if tool is not None and tool.traits.is_skill and result.status == "ok":
            counts.done.add(call.id)
        failed = result.status in _FAILED
        if not failed:
            counts.failures[call.name] = 0
        elif call.name not in counts.seen:
            counts.failures[call.name] += 1
        # a success settles the whole turn: which of two parallel results comes first is chance
        counts.seen.add(call.name)
        warnings = []
        if counts.marks.get(call.id) == "warn":
            turns = _turns(counts.turns[counts.asked[call.id]] + 1)
            warnings.append(
                f"{WARNING}{call.name} was now called with the same arguments in {turns}. Do not call it so again."
            )
        if failed and counts.failures[call.name] == self.max_tool_errors:
            failures = _times(self.max_tool_errors)
            warnings.append(f"{WARNING}{call.name} failed {failures}. Do not call it again.")
        if not warnings:
            return None
        text = "\n".join([*([result.text] if result.text else []), *warnings])
        return HookResult.replace(AfterTool(call, replace(result, text=text)))


def _key(call: ToolCall) -> str:
    """Equal for calls that ask for the same."""
    if call.raw is not None:
        return f"{call.name} {call.raw}"
    return f"{call.name} {_ENCODER.encode(call.arguments)}"


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"
