"""The one place that knows every part: it builds model, robot, agent and session from the settings.

Without ``--app`` that is the house robot. Nothing here prints or reads anything.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from edgeagent import events
from edgeagent.agent import Agent, Options
from edgeagent.config import Config
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.llm import LLM
from edgeagent.session import Session

if TYPE_CHECKING:
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.robot import HouseRobot

_log = logging.getLogger(__name__)

NAME: Final = "robi"
INSTRUCTIONS: Final = "You are the house robot of a small flat. Act with the tools; answer in one short sentence."
"""The nano model is trained with exactly these words."""
MAX_TOOL_HOPS: Final = 6
"""Turns with tools for one request (contract, section 7): enough for a model that makes one call a turn."""
_CLOSE_S: Final = 5.0
"""How long the end waits for a model or a tool that does not stop."""

Subscriber = Callable[[events.Event], object]


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


def build(config: Config, *, live: bool = False) -> App:
    """Everything that a conversation needs; close it, or use it as a context manager.

    Args:
        live: Lets the time of the simulated flat pass while nothing moves. Without it, what happens depends on the
            seed and on what is said, however slow the model is.

    Raises:
        ConfigError: The app file is missing or wrong; the text has its line.
        ModelError: The model can't be used.
    """
    return App(config, live=live)


class App:
    """An agent that is ready to talk to.

    Attributes:
        agent: Who answers.
        session: The conversation with it.
        robot: The simulated house robot; None with an app file.
        say_at_start: What an app file wants to be printed first.
    """

    def __init__(self, config: Config, *, live: bool = False) -> None:
        self.config: Final = config
        self.robot: HouseRobot | None = None
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
                self._adopt(self._file.agent(self._configured_llm))
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
        """What was set and has no effect."""
        if "model" in self.config.given and self.llm is not self._llm:
            return [f"the model {self.config.model} is not used: the app brings its own, {self.llm.name}"]
        return []

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
        from edgeagent.robot import HouseRobot

        llm = self._configured_llm()
        robot = HouseRobot(seed=self.config.seed, speed=self.config.speed, on_timer=self._speak_up)
        self.robot = robot
        options = Options(max_tool_hops=MAX_TOOL_HOPS)
        agent = Agent(NAME, INSTRUCTIONS, llm=llm, tools=robot.tools, latch=robot.latch, options=options)
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
        self.agent = agent
        self.session = Session(agent, options=options)

    def _options(self, options: Options, deadline_s: float) -> Options:
        changes: dict[str, Any] = {"deadline_s": deadline_s}
        if self.config.max_tokens is not None:
            changes["max_tokens"] = self.config.max_tokens
        if self.config.temperature is not None:
            changes["temperature"] = self.config.temperature
        return replace(options, **changes)

    def _end_session(self) -> None:
        """Aborts the run that may go on, and waits for it only so long: what hangs must not keep us from ending."""
        self.session.abort("safety_stop")
        closing = threading.Thread(target=self.session.close, name="close", daemon=True)
        closing.start()
        closing.join(_CLOSE_S)
        if closing.is_alive():
            _log.warning("a model or a tool has not stopped after %g s; it is left behind", _CLOSE_S)

    def _speak_up(self, text: str) -> None:
        if not self._closing:
            self.session.follow_up(text, wake=True)


class Deadline:
    """Ends a run when its simulated time is over: a subscriber to the events of the house robot's agent.

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


@dataclass(frozen=True, slots=True)
class AppFile:
    """A builder's Python file: an ``agent``, or ``build(llm)`` that returns one."""

    path: Path
    module: ModuleType

    @classmethod
    def load(cls, path: Path) -> AppFile:
        """Imports the file, with its folder on the path.

        Raises:
            ConfigError: It is not there, it raises, or it defines neither name.
        """
        path = path.expanduser()
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there"
            raise ConfigError(f"{path} {what}; --app needs a Python file that defines agent, or build(llm)")
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        name = f"_app_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path.resolve())
        if spec is None or spec.loader is None:
            raise ConfigError(f"{path} is no Python file; --app needs one whose name ends in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses of the file look their module up
        file = cls(path, module)
        file._guarded(functools.partial(spec.loader.exec_module, module))
        return file

    def agent(self, llm: Callable[[], LLM]) -> Agent:
        """The file's agent, with a model.

        Args:
            llm: Makes the configured model; called if the file needs it.

        Raises:
            ConfigError: There is no agent, or ``build`` raised.
            ModelError: The configured model can't be used.
        """
        build = getattr(self.module, "build", None)
        if hasattr(self.module, "agent"):
            what, agent = "agent", self.module.agent
        elif callable(build):
            model = llm()
            what, agent = "what build(llm) returns", self._guarded(functools.partial(build, model))
        else:
            raise ConfigError(f"{self.path} defines neither agent nor build(llm); it needs one of them")
        if not isinstance(agent, Agent):
            raise ConfigError(f"{self.path}: {what} should be an edgeagent.Agent, not {type(agent).__name__}")
        if agent.llm is None:
            agent.llm = llm()
        return agent

    @property
    def say_at_start(self) -> str:
        text = getattr(self.module, "say_at_start", "")
        if not isinstance(text, str):
            raise ConfigError(f"{self.path}: say_at_start should be a text, not {type(text).__name__}")
        return text

    def close(self) -> None:
        """Calls the file's ``close()``, if it has one."""
        close = getattr(self.module, "close", None)
        if not callable(close):
            return
        try:
            close()
        except Exception as error:  # noqa: BLE001 - the builder's code; everything else has to be closed too
            _log.warning("%s: close() raised %s", self._place(error), self._told(error))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        """Runs the builder's code; whatever it raises becomes an error with the line in this file."""
        try:
            return call()
        except (Exception, SystemExit) as error:  # a script's sys.exit() must not end us silently
            raise ConfigError(f"{self._place(error)}: {self._told(error)}") from error

    def _place(self, error: BaseException) -> str:
        line = self._line(error)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def _line(self, error: BaseException) -> int | None:
        """The last line of this file on the way to the error."""
        mine = str(self.path.resolve())
        if isinstance(error, SyntaxError) and error.filename == mine:
            return error.lineno
        line, trace = None, error.__traceback__
        if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
            line = self._first_line_of_build()  # it was not even entered: it takes other arguments
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == mine:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _first_line_of_build(self) -> int | None:
        code = getattr(getattr(self.module, "build", None), "__code__", None)
        return None if code is None else int(code.co_firstlineno)

    def _told(self, error: BaseException) -> str:
        """The error in one line."""
        if isinstance(error, EdgeAgentError):
            return str(error)
        kind, text = type(error).__name__, str(error)
        if isinstance(error, SyntaxError):
            elsewhere = error.filename != str(self.path.resolve())
            text = f"{error.msg} ({error.filename}:{error.lineno})" if elsewhere else error.msg
        elif isinstance(error, SystemExit):
            return f"it called sys.exit({error.code!r}), and an app file only defines things"
        return f"{kind}: {text}" if text else kind
