"""One run of one agent: the loop, its queues, its budget, its stop, and its handoffs."""

from edgeagent.agent.agent import Agent
from edgeagent.agent.handle import RunHandle
from edgeagent.agent.orchestrator import Orchestrator, RunControl
from edgeagent.agent.plan_execute import PlanThenExecute
from edgeagent.agent.result import RunResult, RunState
from edgeagent.agent.run_options import Options, QueueMode, ToolMode
from edgeagent.context import AgentContext

__all__ = [
    "Agent",
    "AgentContext",
    "Options",
    "Orchestrator",
    "PlanThenExecute",
    "QueueMode",
    "RunControl",
    "RunHandle",
    "RunResult",
    "RunState",
    "ToolMode",
]
