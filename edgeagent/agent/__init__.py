"""One run of one agent: the loop, its queues, its budget, its stop, and its handoffs."""

from edgeagent.agent.agent import Agent
from edgeagent.agent.orchestrator import Orchestrator, PlanThenExecute, RunControl
from edgeagent.agent.run_handle import RunHandle
from edgeagent.agent.run_options import Options, QueueMode, RunResult, RunState, ToolMode
from edgeagent.context import AgentContext
from edgeagent.front import front

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

__getattr__ = front(
    __name__,
    {
        "ledger": "INTERRUPTED",
        "log": "EventLog",
        "run_options": "CALLBACKS CHOICES",
    },
)
