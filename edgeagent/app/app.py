"""The one place that knows every part: it builds model, robot, agent and session from the settings.

Without ``--app`` that is the house robot. Nothing here prints or reads anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from edgeagent import events
from edgeagent.agent import Agent, Options
from edgeagent.app.deadline import Deadline
from edgeagent.app.file import AppFile
from edgeagent.app.guards import add_guards
from edgeagent.app.phrases import house_phrases
from edgeagent.config import Config
from edgeagent.errors import ConfigError, EdgeAgentError, ModelError
from edgeagent.hooks.audit_log import AuditLogHook
from edgeagent.hooks.talk_guard import changes, moves
from edgeagent.llm import LLM
from edgeagent.robot.latch import SafetyLatch
from edgeagent.session import Session
from edgeagent.views import Answer, Callbacks
from edgeagent.voice.telling import Telling

if TYPE_CHECKING:
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.robot import HouseRobot

_log = logging.getLogger(__name__)

NAME: Final = "robi"
INSTRUCTIONS: Final = "You are the house robot of a small flat. Act with the tools; answer in one short sentence."
"""The nano model is trained with exactly these words."""
MAX_TOOL_HOPS: Final = 6
"""Turns with tools for one request (contract, section 7): enough for a model that makes one call a turn."""

Subscriber = Callable[[events.Event], object]


def latch_of(agent: Agent) -> SafetyLatch:
    """The latch that the agent's motion obeys, a new one if it had none.

    Raises:
        ConfigError: The agent's latch is of another kind.
    """
    if agent.latch is None:
        agent.latch = SafetyLatch()
    if not isinstance(agent.latch, SafetyLatch):
        raise ConfigError(
            f"the agent's latch is a {type(agent.latch).__name__}: a conversation needs a SafetyLatch that it can hold"
        )
    return agent.latch


class Person(Protocol):
    """Who is asked while the robot works; called on threads of runs."""

    def confirm(self, name: str, arguments: dict[str, Any], /) -> bool: ...
    def question(self, questions: list[str], answer: Answer, /) -> object: ...


def configured_llm(config: Config) -> LlamaLLM:
    """The model of the settings; its weights are not loaded yet.

    Raises:
        ConfigError: A setting of the engine is wrong.
        ModelError: The model can't be used.
    """
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.llm.settings import EngineSettings

    engine = {name: value for name, value in config.engine.items() if name != "context_window"}
    return LlamaLLM(config.model, context_window=config.engine.get("context_window"), settings=EngineSettings(**engine))


def build(
    config: Config, *, live: bool = False, voice: bool = False, clock: Callable[[], float] = time.monotonic
) -> App:
    """Everything that a conversation needs; close it, or use it as a context manager.

    Args:
        live: Lets the time of the simulated flat pass while nothing moves. Without it, what happens depends on the
            seed and on what is said, however slow the model is.
        voice: People talk to it while it moves: its skills outlive a run that is interrupted.
        clock: What the flat keeps pace with, in seconds; that of a simulated room instead of the wall's.

    Raises:
        ConfigError: The app file is missing or wrong; the text has its line.
        ModelError: The model can't be used.
    """
    return App(config, live=live, voice=voice, clock=clock)


class App:
    """An agent that is ready to talk to.

    Attributes:
        agent: Who answers.
        session: The conversation with it.
        robot: The simulated house robot; None with an app file.
        say_at_start: What an app file wants to be printed first.
        telling: What is said aloud of skills.
        person: Who may be asked while the robot works; without one a tool that can't be undone is declined.
    """

    def __init__(
        self,
        config: Config,
        *,
        live: bool = False,
        voice: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config: Final = config
        self._voice, self._clock = voice, clock
        self.robot: HouseRobot | None = None
        self.telling = Telling()
        self.person: Person | None = None
        self._audit = None if config.audit is None else AuditLogHook(config.audit)
        self._live = live
        self._closing = False
        self._llm: LLM | None = None
        self._subscribers: list[Subscriber] = []
        self._file = None if config.app is None else AppFile.load(config.app)
        self.say_at_start = "" if self._file is None else self._file.say_at_start
        try:
            if self._file is None:
                self._make_house()
            else:
                agent = self._file.agent(self._configured_llm)
                agent.phrases = tuple(dict.fromkeys((*agent.phrases, *self._file.phrases)))
                self._adopt(agent)
        except BaseException:
            if self._file is not None:
                self._file.close()
            raise

    @property
    def llm(self) -> LLM:
        """The model that answers."""
        assert self.agent.llm is not None  # noqa: S101 - both ways to an agent set one
        return self.agent.llm

    @property
    def notes(self) -> list[str]:
        """What was repaired in the session's file, and what was set and has no effect."""
        notes = list(self.session.notices)
        if "model" in self.config.given and self.llm is not self._llm:
            notes.append(f"the model {self.config.model} is not used: the app brings its own, {self.llm.name}")
        return notes

    def load(self) -> None:
        """Loads the weights now and not with the first request, if the model can.

        Raises:
            ModelError: They don't load.
        """
        load = getattr(self.llm, "load", None)
        if callable(load):
            load()

    def renew(self) -> None:
        """A new session, and for the house robot a new flat; model and app file stay."""
        self._end_session()
        if self._file is None:
            if self.robot is not None:
                self.robot.close()
            self._make_house()
        else:
            self._adopt(self.agent)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls it with every event of every run, also after ``renew``; on the run's thread."""
        self._subscribers.append(subscriber)
        self.agent.subscribe(subscriber)

    def close(self) -> None:
        """Stops what runs and moves, and frees everything. Safe to call again."""
        if self._closing:
            return
        self._closing = True
        self._end_session()
        if self.robot is not None:
            self.robot.close()
        if self._file is not None:
            self._file.close()
        if self._llm is not None:
            self._llm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _configured_llm(self) -> LLM:
        """Made once, when it is first asked for: an app may bring its own."""
        if self._llm is None:
            self._llm = configured_llm(self.config)
        return self._llm

    def _make_house(self) -> None:
        from edgeagent.robot import HouseRobot, telling

        self.telling = Telling(announcement=telling.announcement, report=telling.report)
        llm = self._configured_llm()
        robot = HouseRobot(seed=self.config.seed, speed=self.config.speed, on_timer=self._speak_up, clock=self._clock)
        self.robot = robot
        options = Options(max_tool_hops=MAX_TOOL_HOPS)
        if self._voice:
            for tool in robot.tools:
                if tool.traits.is_skill:
                    tool.traits = replace(tool.traits, on_interrupt="detach")
        agent = Agent(
            NAME,
            INSTRUCTIONS,
            llm=llm,
            tools=robot.tools,
            latch=robot.latch,
            options=options,
            phrases=house_phrases(),
        )
        deadline = Deadline(agent, robot, self.config.deadline_s, idle_passes=self._live)
        agent.subscribe(deadline)
        # the wall clock ends a run whose model hangs: then no simulated time passes
        wall_s = self.config.deadline_s * (1 + 1 / self.config.speed)
        self._adopt_with(agent, self._options(agent.options, wall_s))
        for subscriber in self._subscribers:
            agent.subscribe(subscriber)
        if self._live:
            robot.world.start()

    def _adopt(self, agent: Agent) -> None:
        """A session with an agent of an app file; its own deadline counts if it is shorter."""
        agent.clear_all_queues()
        own_s = agent.options.deadline_s
        limit_s = self.config.deadline_s if own_s is None else min(own_s, self.config.deadline_s)
        self._adopt_with(agent, self._options(agent.options, limit_s))

    def _adopt_with(self, agent: Agent, options: Options) -> None:
        if self._audit is not None and self._audit not in agent.hooks:
            agent.hooks.append(self._audit)
        if not self._voice:  # a conversation guards what it hears and what is typed into it
            add_guards(agent, changes if self._file is None else moves)
        self.agent = agent
        try:
            self.session = Session(agent, options=options, path=self.config.session)
        except ModelError:
            raise
        except EdgeAgentError as error:  # another session has the file, or it is no journal: another path is needed
            raise ConfigError(str(error)) from error
        self.session.callbacks = Callbacks(on_question=self._question)

    def _options(self, options: Options, deadline_s: float) -> Options:
        changes: dict[str, Any] = {"deadline_s": deadline_s}
        if self.config.max_tokens is not None:
            changes["max_tokens"] = self.config.max_tokens
        if self.config.temperature is not None:
            changes["temperature"] = self.config.temperature
        if options.confirm is None:
            changes["confirm"] = self._confirm
        return replace(options, **changes)

    def _confirm(self, name: str, arguments: dict[str, Any]) -> bool:
        return self.person is not None and self.person.confirm(name, arguments)

    def _question(self, questions: list[str], answer: Answer) -> None:
        if self.person is not None:
            self.person.question(questions, answer)

    def _end_session(self) -> None:
        """Stops what moves and the run that may go on, and waits for it only so long."""
        self.session.abort("safety_stop")
        self.session.close()

    def _speak_up(self, text: str) -> None:
        if not self._closing:
            self.session.follow_up(text, wake=True)
