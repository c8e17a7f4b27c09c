"""One agent's part in a run: who plays it, and what was said to and by it. A handoff adds a part to the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeagent.agent.copies import Copies
from edgeagent.agent.run_options import Options
from edgeagent.context import AgentContext
from edgeagent.hooks.chain import HookChain
from edgeagent.journal.recovery import with_results
from edgeagent.llm import LLM
from edgeagent.messages import Message, copied
from edgeagent.tools import ToolRegistry

if TYPE_CHECKING:
    from edgeagent.agent.agent import Agent


class Part:
    """State that a run keeps for each agent that plays in it. Changed by the loop's thread only.

    Args:
        messages: History before it; copied. A call without a result gets one: nobody knows what it came to.
        options: As the run's, or the agent's own.
        hooks: All that are called in this part.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        task: Message | None,
        messages: Sequence[Message],
        options: Options,
        context: AgentContext,
        hooks: HookChain,
        llm: LLM,
    ) -> None:
        self.agent = agent
        self.name = agent.name
        self.system = agent.instructions
        self.llm = llm
        self.tools: ToolRegistry = agent.tools
        self.task = task
        self.options = options
        self.context = context
        self.hooks = hooks
        self.history: list[Message] = copied(with_results(messages))
        self.new: list[Message] = []
        self._shown = Copies()

    def introduce(self) -> None:
        """Has the context tell whose part it is."""
        context = self.context
        context.tool_registry, context.llm, context.agent_name = self.tools, self.llm, self.name
        context.system, context.options = self.system, self.options
        context.history = self.shown
        context.no_more_tools = False

    def shown(self) -> tuple[Message, ...]:
        """The history as copies, for whoever asks. Any thread."""
        return tuple(self._shown.of(list(self.history)))

    def add(self, message: Message) -> None:
        """Commits a message to history."""
        self.history.append(message)
        self.new.append(message)

    def replace(self, history: list[Message] | None) -> None:
        """Another history, of which the same is new."""
        if history is not None:
            before = {message.id for message in self.history} - {message.id for message in self.new}
            self.history = history
            self.new = [message for message in history if message.id not in before]
