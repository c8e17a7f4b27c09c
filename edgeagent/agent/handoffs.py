"""The tools by which an agent hands over to others, and an agent as a tool of another one."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Self, TypeVar

from edgeagent.agent.run_handle import RunHandle
from edgeagent.agent.run_options import Options
from edgeagent.context import AgentContext
from edgeagent.events import Event
from edgeagent.messages import ToolResult
from edgeagent.tools import GoalCancelled, Handoff, Tool, ToolContext, tool


class HandoffTarget(Protocol):
    """An agent, as its callers know it."""

    name: str
    description: str
    options: Options
    handoffs: list[Self]

    def start(
        self,
        task: str,
        *,
        context: AgentContext,
        options: Options,
        stop_event: threading.Event,
        observer: Callable[[Event], object],
    ) -> RunHandle: ...


_Agent = TypeVar("_Agent", bound=HandoffTarget)


def handoff_tool(target: HandoffTarget) -> Tool:
    """``handoff_to_<name>``, with the name as it is if a tool may have it: the target goes on with the request."""
    name = target.name if re.fullmatch(r"[\w-]+", target.name) else _identifier(target.name)
    description = f"Hand the request over to {target.name}. {target.description}".strip()

    @tool(name=f"handoff_to_{name}", description=description, on_interrupt="cancel")
    def hand_over(task: str | None = None, reason: str = "") -> Handoff:
        """Hands over.

        Args:
            task: What to do; leave it out to pass on what was asked.
            reason: Why.
        """
        return Handoff(target, task, reason)

    return hand_over


def agent_tool(agent: HandoffTarget, name: str | None, description: str | None) -> Tool:
    """A tool that asks an agent and returns its reply; its events are the call's progress."""

    @tool(
        name=name or _identifier(agent.name),
        description=description or agent.description or f"Ask {agent.name}.",
        on_interrupt="finish",  # the agent heeds the stop, and may wait for a tool of its own
        resources=(f"agent {agent.name}",),  # it plays one run at a time
    )
    def ask(task: str, call: ToolContext) -> ToolResult:
        """Asks.

        Args:
            task: What to do.

        Raises:
            GoalCancelled: The agent was stopped.
        """
        context = call.agent.child()
        context.within = (*context.within, call.call_id)
        context.llm = call.agent.llm  # for an agent that has none of its own
        result = agent.start(
            task,
            context=context,
            options=guarded(agent.options, call.agent.options),
            stop_event=call.stop_event,
            observer=call.progress,
        ).result()
        late = call.agent.deadline is not None and time.monotonic() >= call.agent.deadline
        if result.reason == "aborted" and (late or call.stop_event.is_set() or call.agent.should_stop()):
            raise GoalCancelled(f"{agent.name} was stopped")
        if result.reason in ("error", "aborted"):
            return ToolResult.error(result.error or result.reply or f"{agent.name} was stopped")
        return ToolResult.ok(result.reply)

    return ask


def reached(agent: _Agent) -> list[_Agent]:
    """The agent, and all that it may hand over to: each once, depth first, because a handoff may lead back."""
    found: dict[int, _Agent] = {}
    waiting = [agent]
    while waiting:
        each = waiting.pop()
        if id(each) not in found:
            found[id(each)] = each
            waiting += reversed(each.handoffs)
    return list(found.values())


def guarded(own: Options, callers: Options) -> Options:
    """An agent's own options; what guards its caller's tools guards its tools too, unless it has a guard of its own."""
    return replace(own, policy_check=own.policy_check or callers.policy_check, confirm=own.confirm or callers.confirm)


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "agent"
