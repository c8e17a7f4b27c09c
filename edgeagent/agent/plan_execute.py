"""Plan, then execute: another strategy than ReAct, for tasks whose steps are better thought out before the first."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.agent.orchestrator import RunControl
from edgeagent.messages import Message

PLAN: Final = "Write a numbered plan of short steps for this, one a line. Do not call tools yet."
STEP: Final = "Do step {number} now: {text}"
SUMMARY: Final = "Say in one short sentence what was done."
_NUMBERED: Final = re.compile(r"^\s*\d+[.)]\s+(?P<text>\S.*)$")


class PlanThenExecute:
    """One model call for a plan, some for each step, one for the answer. What is steered is taken up between two steps.

    Args:
        max_steps: Further lines of a plan are left out.
        max_calls: Model calls for one step.
    """

    def __init__(self, *, max_steps: int = 8, max_calls: int = 3) -> None:
        self._max_steps = max_steps
        self._max_calls = max_calls

    def run(self, run: RunControl, message: Message | None) -> None:
        """Plans, executes, answers. A reply without a numbered line is the answer itself."""
        if message is not None:
            run.append(message)
        run.append(Message.user(PLAN, origin="continuation"))
        plan = run.complete(tools=())
        steps = steps_of(plan.text)[: self._max_steps]
        for number, text in enumerate(steps, 1):
            for steered in run.drain_steering():
                run.append(steered)
            run.append(Message.user(STEP.format(number=number, text=text), origin="continuation"))
            self._do(run)
        if steps:
            run.append(Message.user(SUMMARY, origin="continuation"))
            run.complete(tools=())

    def _do(self, run: RunControl) -> None:
        for _ in range(self._max_calls):
            reply = run.complete()
            if not reply.tool_calls:
                return
            run.execute(reply.tool_calls)


def steps_of(plan: str) -> list[str]:
    """The numbered lines of a plan."""
    return [found["text"] for line in plan.splitlines() if (found := _NUMBERED.match(line))]
