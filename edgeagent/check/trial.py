"""One model on the tools of one app: their cost, and every case asked in a session of its own. No body ever runs.

The app file is imported, and its hooks, callbacks and subscribers work as in a chat, because they have a say in which
calls are made. Its journal, audit and log are left alone.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Self

from edgeagent import events
from edgeagent.agent import Agent
from edgeagent.agent.handoffs import handoff_tool, reached
from edgeagent.app.file import AppFile
from edgeagent.app.guards import add_guards, found, unfamiliar_tools
from edgeagent.app.outfit import Outfit
from edgeagent.characters import common_length
from edgeagent.check.cases import Case, Expected, calls_text, complete
from edgeagent.config import Config
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.llm import LLM, LLMRequest
from edgeagent.llm.protocol import ToolSpec, load_weights
from edgeagent.messages import Reading, ToolCall, ToolResult
from edgeagent.tools import Tool, ToolRegistry
from edgeagent.tools.signature import ArgumentError

RESULT: Final = "done"
"""The result of every call, in words that any tool could say."""


class StoppedTools(ToolRegistry):
    """A registry that gives out tools without bodies, whatever is put into it."""

    def __init__(self, tools: Iterable[Tool], kept: Iterable[Tool]) -> None:
        super().__init__(tools)
        self.kept = {tool.name: tool for tool in kept}
        """Tools of the agent itself, which move nothing: to hand over."""
        self._stopped: dict[int, tuple[Tool, Tool]] = {}
        """Each tool that was asked for and its twin without a body, by the tool's id."""

    def get(self, name: str) -> Tool | None:
        tool = self.tools.get(name)
        return None if tool is None else self._twin(tool)

    def __iter__(self) -> Iterator[Tool]:
        return iter([self._twin(tool) for tool in self.tools.values()])

    def _twin(self, tool: Tool) -> Tool:
        if tool.name in self.kept:
            return self.kept[tool.name]
        if id(tool) not in self._stopped:
            self._stopped[id(tool)] = (tool, _without_body(tool))
        return self._stopped[id(tool)][1]


def _without_body(tool: Tool) -> Tool:
    twin = copy.copy(tool)
    twin.function = _nothing
    twin.stop = twin.pause = twin.resume = None
    twin.traits = replace(tool.traits, destructive=False, question=False)
    return twin


def _nothing(**arguments: Any) -> str:
    """Stands for every body."""
    return RESULT


_LEFT_OUT: Final = frozenset({"path", "audit", "out", "status", "fallback_models"})
"""Keywords of the file's session that a trial goes without: what it asks is no conversation of the robot, and one
model is measured."""


@dataclass(frozen=True, slots=True)
class ToolCost:
    """The tools of one agent in the prompt of a model."""

    agent: str
    text: str
    """The part of the rendered prompt that the tools make; JSON of each where a model does not show its prompts."""
    tokens: int
    """Tokens that the tools add to every request."""
    each: dict[str, int]
    """Tokens of each tool alone, by name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that the model asked for, and that never came to its body."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, and what became of it."""

    case: Case
    made: tuple[Expected, ...]
    """The calls whose bodies would have run, in the order asked."""
    refused: tuple[Refusal, ...]
    reply: str
    turns: tuple[Reading, ...]
    """Prompt and raw reply of every model call; empty where a model does not tell them."""
    error: str | None
    seconds: float
    stopped: bool = False
    """A hook ended the run, such as a guard that asks back about a number that nobody has said."""

    @property
    def right(self) -> bool:
        return self.error is None and self.case.accepts(self.made)

    @property
    def names_right(self) -> bool:
        """The right tools in the right order, whatever their arguments."""
        names = [call.name for call in self.made]
        return self.error is None and any(
            names == [call.name for call in calls] for calls in (self.case.calls, *self.case.also_right)
        )


def difference(outcome: Outcome) -> str:
    """Tells in one line which calls were right, and which calls came instead."""
    wanted = " or ".join(calls_text(calls) for calls in (outcome.case.calls, *outcome.case.also_right))
    if outcome.error is not None:
        return f"wanted {wanted}, and the run failed: {outcome.error}"
    stopped = "; a hook ended the run" if outcome.stopped else ""
    return f"wanted {wanted}, got {calls_text(outcome.made)}{stopped}"


@dataclass(frozen=True, slots=True)
class Report:
    """A model's trial."""

    model: str
    window: int
    agent: str
    costs: tuple[ToolCost, ...]
    notes: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = ()

    @property
    def commands(self) -> tuple[Outcome, ...]:
        """The cases in which calls are right."""
        return tuple(outcome for outcome in self.outcomes if outcome.case.calls)

    @property
    def talk(self) -> tuple[Outcome, ...]:
        """The cases in which no call is right."""
        return tuple(outcome for outcome in self.outcomes if not outcome.case.calls)

    @property
    def missed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.right)

    @property
    def wrong_actions(self) -> tuple[Outcome, ...]:
        """The missed cases in which a body would have run."""
        return tuple(outcome for outcome in self.missed if outcome.made)

    @property
    def exact(self) -> float:
        """Share of all cases that are right; 1 where there are none."""
        right = len(self.outcomes) - len(self.missed)
        return right / len(self.outcomes) if self.outcomes else 1.0  # 1 - 4 / 5 is less than 0.2

    @property
    def share(self) -> float:
        """Share of the window that the tools of the largest agent take."""
        return max(cost.tokens for cost in self.costs) / self.window


class Trial:
    """An app with a model, ready to be asked. A context manager.

    Args:
        config: The settings; ``config.app`` is the app.
        override: The configured model answers, also where the app brings its own.

    Raises:
        ConfigError: There is no app, its file is wrong, or a setting is.
        ModelError: The model can't be used.
    """

    def __init__(self, config: Config, *, override: bool = False) -> None:
        if config.app is None:
            raise ConfigError("whose tools? Name your robot: --app my_robot.py")
        self._file = AppFile.load(config.app)
        try:
            keywords = {name: value for name, value in self._file.session.items() if name not in _LEFT_OUT}
            settings = replace(config, session=None, audit=None, log=None, fallback_models=())
            self._outfit = Outfit(settings, session=keywords)
            self.agent, self.llm = self._agent(override=override)
        except BaseException:
            self._file.close()
            raise

    def _agent(self, *, override: bool) -> tuple[Agent, LLM]:
        """The app's agent without its bodies, and the model that is tried."""
        agent = self._file.agent(self._outfit.llm)
        agent.phrases = tuple(dict.fromkeys((*agent.phrases, *self._file.phrases)))
        if override:
            for each in reached(agent):
                each.llm = None
        llm = agent.llm or self._outfit.llm()
        agent.llm = llm
        for each in reached(agent):
            own = [handoff_tool(target) for target in each.handoffs]
            each.tools = StoppedTools(each.tools, own)
        add_guards(agent, small=self._outfit.helps(llm))
        options = self._outfit.options(self._file.options(agent.options))
        # bodies that can't be undone are stopped as well, so there is nothing to ask a person about
        self._options = replace(options, confirm=None, continue_confirm=None)
        return agent, llm

    @property
    def tools(self) -> list[Tool]:
        """The tools of the agent, and of all that it may hand over to, without their bodies, each name once; to hand
        over is none of them."""
        by_name: dict[str, Tool] = {}
        for each in reached(self.agent):
            kept = each.tools.kept if isinstance(each.tools, StoppedTools) else {}
            by_name |= {tool.name: tool for tool in each.tools if tool.name not in kept}
        return list(by_name.values())

    def load(self) -> None:
        """Loads the weights, if the model can.

        Raises:
            ModelError: They don't load.
        """
        load_weights(self.llm)

    def report(self) -> Report:
        """The cost of the tools, without a case asked yet.

        Raises:
            ModelError: The weights don't load.
        """
        unknown = unfamiliar_tools(self.agent)
        return Report(
            self.llm.name,
            self.llm.context_window,
            self.agent.name,
            tuple(cost_of(each, self.llm) for each in reached(self.agent)),
            (found(unknown),) if unknown else (),
        )

    def ask(self, case: Case) -> Outcome:
        """Asks one case in a session of its own, and waits for its end."""
        began_s = time.monotonic()
        self.agent.clear_all_queues()
        session = self._outfit.session(self.agent, self._options)
        try:
            handle = session.start(case.say)
            log = list(handle.events())
            handle.wait()
            error = handle.error
            reply = "" if error is not None else handle.result().reply
            told = None if error is not None else handle.result().error
        except EdgeAgentError as raised:
            error, log, reply, told = raised, [], "", None
        finally:
            session.abort("safety_stop")
            session.close()
        if error is not None:
            told = str(error) or type(error).__name__
        return self._outcome(case, log, reply, told, time.monotonic() - began_s)

    def _outcome(
        self, case: Case, log: Sequence[events.Event], reply: str, error: str | None, seconds: float
    ) -> Outcome:
        asked: list[ToolCall] = []
        begun: dict[str, ToolCall] = {}
        ended: dict[str, tuple[ToolCall, ToolResult]] = {}
        turns: list[Reading] = []
        stopped = False
        for event in log:
            match event:
                case events.MessageEnd(message=message, reading=reading) if message.role == "assistant":
                    asked += message.tool_calls
                    turns += [] if reading is None else [reading]
                case events.ToolExecutionStart(call=call):
                    begun[call.id] = call
                case events.ToolExecutionEnd(call=call, result=result):
                    ended[call.id] = (call, result)
                case events.AgentEnd(reason="aborted", abort_reason=why):
                    error = error or f"stopped by {why}"
                case events.AgentEnd(reason=reason):
                    stopped = reason == "stopped"
        tools = {tool.name: tool for tool in self.tools}
        made = tuple(_as_called(begun[call.id], tools) for call in asked if call.id in begun and call.name in tools)
        refused = tuple(Refusal(*ended[call.id]) for call in asked if call.id in ended and call.id not in begun)
        return Outcome(case, made, refused, reply, tuple(turns), error, seconds, stopped)

    def run(self, cases: Iterable[Case], told: Callable[[Outcome], object] | None = None) -> Report:
        """Asks every case.

        Args:
            told: Called after each case.

        Raises:
            ModelError: The weights don't load.
        """
        report = self.report()
        outcomes: list[Outcome] = []
        for case in cases:
            outcomes.append(self.ask(case))
            if told is not None:
                told(outcomes[-1])
        return replace(report, outcomes=tuple(outcomes))

    def close(self) -> None:
        """Frees the model and calls the file's ``close()``."""
        self._file.close()
        self._outfit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def cost_of(agent: Agent, llm: LLM) -> ToolCost:
    """The tools of an agent in the prompt of a model.

    Raises:
        ModelError: The weights don't load.
    """
    tools: list[Tool] = list(agent.tools)

    def tokens(offered: Sequence[ToolSpec]) -> int:
        return llm.count_tokens(LLMRequest(system=agent.instructions, tools=offered))

    bare, whole = tokens(()), tokens(tools)
    each = {tool.name: whole - tokens([other for other in tools if other is not tool]) for tool in tools}
    return ToolCost(agent.name, _shown(agent, tools, llm), whole - bare, each)


def _shown(agent: Agent, tools: Sequence[Tool], llm: LLM) -> str:
    """The part of the prompt that the tools make: what differs from the prompt without them."""
    rendered = getattr(llm, "rendered", None)
    if not callable(rendered):
        return "\n".join(f"{tool.name}: {tool.description} {tool.parameters}" for tool in tools)
    whole: str = rendered(LLMRequest(system=agent.instructions, tools=tools))
    bare: str = rendered(LLMRequest(system=agent.instructions))
    begin = common_length(whole, bare)
    end = len(whole) - min(common_length(whole[::-1], bare[::-1]), len(whole) - begin, len(bare) - begin)
    while begin < end and begin and whole[begin - 1] == whole[end - 1]:  # the marker before it is not the one after it
        begin, end = begin - 1, end - 1
    return whole[begin:end].strip("\n")


def _as_called(call: ToolCall, tools: dict[str, Tool]) -> Expected:
    """A call that came to its body, with the arguments as the body would have got them."""
    try:
        return complete(tools[call.name], call.arguments)
    except ArgumentError:  # a hook made something else of arguments that had fitted
        return Expected(call.name, dict(call.arguments))
