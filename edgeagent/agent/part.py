"""One agent's part in a run: who plays it, and what was said to and by it. A handoff adds a part to the run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from edgeagent.agent.run_options import Options
from edgeagent.context import AgentContext
from edgeagent.hooks.chain import HookChain
from edgeagent.journal.records import with_results
from edgeagent.llm import LLM
from edgeagent.messages import Message, copied
from edgeagent.tools import ToolRegistry

if TYPE_CHECKING:
    from edgeagent.agent.agent import Agent

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
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
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
            copies[i] = messages[i].copy()
        return copies

    def _take(self, messages: Sequence[Message]) -> None:
        known = len(self._messages)
        self._messages += messages
        self._copies += copied(messages)
        changeable = [i for i, m in enumerate(messages, known) if m.tool_calls or m.data is not None]
        for i in changeable:
            if self._messages[i].data is not None:
                self._with_data.append(i)
            else:
                self._arguments += [call.arguments for call in self._messages[i].tool_calls]
                self._copied_arguments += [call.arguments for call in self._copies[i].tool_calls]


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
