"""The one place that knows every part: it builds model, robot, agent and session from the settings.

Without ``--app`` that is the house robot. Nothing here prints or reads anything.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from edgeagent import events
from edgeagent.agent import Agent, Options, RunHandle
from edgeagent.app import guards
from edgeagent.app.agent_phrases import house_phrases
from edgeagent.app.file import AppFile
from edgeagent.app.guards import add_guards
from edgeagent.app.outfit import Outfit
from edgeagent.config import Config
from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError
from edgeagent.llm import LLM
from edgeagent.llm.protocol import load_weights
from edgeagent.pii import PII
from edgeagent.robot.latch import SafetyLatch
from edgeagent.views import Answer, Callbacks, Unanswered
from edgeagent.voice.telling import Telling

if TYPE_CHECKING:
    from edgeagent.house import HouseRobot
    from edgeagent.session import Session

_log = logging.getLogger(__name__)

NAME: Final = "robi"
INSTRUCTIONS: Final = "You are the house robot of a small flat. Act with the tools; answer in one short sentence."
"""The nano model is trained with exactly these words."""
MAX_TOOL_HOPS: Final = 6
"""Turns with tools for one request: enough for a model that makes one call a turn."""

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
    """Person who is asked while the robot works; called on threads of runs."""

    def confirm(self, name: str, arguments: dict[str, Any], /) -> bool: ...
    def question(self, questions: list[str], answer: Answer, /) -> object: ...


def build(
    config: Config, *, live: bool = False, voice: bool = False, clock: Callable[[], float] = time.monotonic
) -> App:
    """Everything that a conversation needs; close it, or use it as a context manager.

    Args:
        live: Lets the time of the simulated flat pass while nothing moves. Without it, what happens depends on the
            seed and on what is said, however slow the model is.
        voice: A conversation is made of it, which guards the model by itself.
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
        self._live = live
        self._closing = False
        self._subscribers: list[Subscriber] = []
        self._file = None if config.app is None else AppFile.load(config.app)
        self.say_at_start = "" if self._file is None else self._file.say_at_start
        try:
            self._outfit = Outfit(config, session={} if self._file is None else self._file.session)
            if self._file is None:
                self._make_house()
            else:
                agent = self._file.agent(self._outfit.llm)
                agent.phrases = tuple(dict.fromkeys((*agent.phrases, *self._file.phrases)))
                self._adopt(agent)
            if not voice:  # a conversation logs what is heard and said too
                self.subscribe(self._outfit.log)
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
    def pii(self) -> PII:
        """Treatment of personal data."""
        return self._outfit.pii

    @property
    def journal(self) -> Path | None:
        """File that keeps the conversation; None if none does."""
        own = None if self._file is None else self._file.session.get("path")
        return self.config.session or (None if own is None else Path(own))

    @property
    def notes(self) -> list[str]:
        """Notes on what was repaired in the session's file, on what was set and has no effect, and on tools that the
        model was not trained for.

        Raises:
            ConfigError: The list of the tools that it was trained for can't be read.
        """
        notes = [*self.session.notices, *self._outfit.notes]
        if self._file is None:
            if tools := guards.unfamiliar_tools(self.agent):
                notes.append(f"{guards.found(tools)}; {guards.PULL}")
            return notes
        if (warning := guards.warning(self.agent, self._file.path)) is not None:
            notes.append(warning)
        if "model" in self.config.given and self._own_llm is not None:
            notes.append(f"the model {self.config.model} is not used: the app brings its own, {self._own_llm.name}")
        unused = [name for name in ("name", "instructions") if self.config.has(name)]
        return notes + [f"{name} is not used: it is the house robot's, and the app brings an agent" for name in unused]

    def load(self) -> None:
        """Loads the weights now and not with the first request, if the model can.

        Raises:
            ModelError: They don't load.
        """
        load_weights(self.llm)

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
        self._outfit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _make_house(self) -> None:
        from edgeagent.house import HouseRobot, command_report

        self.telling = Telling(announcement=command_report.announcement, report=command_report.report)
        llm = self._outfit.llm()
        robot = HouseRobot(seed=self.config.seed, speed=self.config.speed, on_timer=self._speak_up, clock=self._clock)
        self.robot = robot
        options = Options(max_tool_hops=MAX_TOOL_HOPS)
        agent = Agent(
            self.config.name or NAME,
            self.config.instructions or INSTRUCTIONS,
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
        self._adopt_with(agent, replace(self._outfit.options(agent.options), deadline_s=wall_s))
        for subscriber in self._subscribers:
            agent.subscribe(subscriber)
        if self._live:
            robot.world.start()

    def _adopt(self, agent: Agent) -> None:
        """A session with an agent of an app file."""
        assert self._file is not None  # noqa: S101 - only such an agent comes here
        agent.clear_all_queues()
        self._adopt_with(agent, self._outfit.options(self._file.options(agent.options)))

    def _adopt_with(self, agent: Agent, options: Options) -> None:
        if options.confirm is None:
            options = replace(options, confirm=self._confirm)
        self._own_llm = None if self._outfit.made(agent.llm) else agent.llm
        self.agent = agent
        try:
            self.session = self._outfit.session(agent, options)
        except ModelError:
            raise
        except EdgeAgentError as error:  # another session has the file, or it is no journal: another path is needed
            raise ConfigError(str(error)) from error
        self.session.callbacks = Callbacks(on_question=self._question)
        agent.starter = partial(self._start_woken, self.session)
        if not self._voice:  # a conversation guards what it hears and what is typed into it
            add_guards(agent, small=self._outfit.helps(agent.llm))

    def _confirm(self, name: str, arguments: dict[str, Any]) -> bool:
        return self.person is not None and self.person.confirm(name, arguments)

    def _question(self, questions: list[str], answer: Answer) -> None:
        if self.person is None:
            answer.put(Unanswered("nobody is there to answer"))
        else:
            self.person.question(questions, answer)

    def _end_session(self) -> None:
        """Stops what moves and the run that may go on, and waits for it only so long."""
        self.session.abort("safety_stop")
        self.session.close()

    def _start_woken(self, session: Session) -> RunHandle:
        """Starts the run of a message that the builder's own code has sent.

        Raises:
            BusyError: As ``Session.start``; or the session is over, and nothing is done any more.
        """
        if self._closing or session is not self.session:
            _log.warning("the session is closed, so a message that woke %s is not answered", self.agent.name)
            raise BusyError("the session is closed")
        return session.start()

    def _speak_up(self, text: str) -> None:
        if not self._closing:
            self.session.follow_up(text, wake=True)


class Deadline:
    """Deadline of the house robot's runs, in the time of the simulated flat: a subscriber to the events of its agent.

    The time that passes in the flat while the model thinks is given back, so that a slow model has the same deadline.
    """

    def __init__(self, agent: Agent, robot: HouseRobot, limit_s: float, *, idle_passes: bool) -> None:
        self._agent = agent
        self._robot = robot
        self._world = robot.world
        self._limit_s = limit_s
        self._idle_passes = idle_passes
        self._lock = threading.Lock()
        self._run = 0
        self._busy: set[str] = set()
        self._idle_since_s = 0.0
        self._idle_s = 0.0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                with self._lock:
                    self._run += 1
                    self._busy, self._idle_s, self._idle_since_s = set(), 0.0, self._world.time_s
                self._arm(self._limit_s)
            case events.ToolExecutionStart(call=call):
                with self._lock:
                    self._take_idle()
                    self._busy.add(call.id)
            case events.ToolExecutionEnd(call=call):
                with self._lock:
                    self._take_idle()
                    self._busy.discard(call.id)
            case events.AgentEnd():
                with self._lock:
                    self._run += 1

    def _take_idle(self) -> None:
        """Adds the idle time until now; under the lock."""
        now_s = self._world.time_s
        if not self._busy and self._idle_passes:
            self._idle_s += now_s - self._idle_since_s
        self._idle_since_s = now_s

    def _arm(self, seconds: float) -> None:
        run = self._run
        self._world.call_at(self._world.time_s + seconds, lambda: self._over(run))

    def _over(self, run: int) -> None:
        with self._lock:
            if run != self._run:
                return
            self._take_idle()
            given_back_s, self._idle_s = self._idle_s, 0.0
        if given_back_s > 0:
            self._arm(given_back_s)
            return
        self._agent.abort("deadline")
        self._robot.cancel_goals()  # at this very step of the simulation, not when the loop sees the stop
