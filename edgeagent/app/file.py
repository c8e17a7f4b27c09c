"""A builder's own Python file: imported, asked for its agent, and closed at the end."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, cast

from edgeagent.agent import Agent, Options
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.llm import LLM
from edgeagent.pii import PII
from edgeagent.resources import expanded
from edgeagent.session import Session

_log = logging.getLogger(__name__)
_ELSEWHERE: Final = {"agent", "options"}
"""Keywords of a session that the file says by names of their own."""


class _AppLoader(SourceFileLoader):
    """Compiles an app each time: a compiled file stands for every text of the same second and length."""

    def path_stats(self, path: str) -> NoReturn:
        """Raises OSError, so that no compiled file is read or written."""
        raise OSError(f"{path} is never kept compiled")


@dataclass(frozen=True, slots=True)
class AppFile:
    """A builder's Python file: an ``agent``, or ``build(llm)`` that returns one, and what goes with it."""

    path: Path
    module: ModuleType

    @classmethod
    def load(cls, path: Path) -> AppFile:
        """Imports the file, with its folder on the path.

        Raises:
            ConfigError: It is not there, it raises, or it defines neither name.
        """
        path = expanded(path)
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there"
            raise ConfigError(f"{path} {what}; --app needs a Python file that defines agent, or build(llm)")
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        name = f"_app_{path.stem}"
        loader = _AppLoader(name, str(path.resolve()))
        spec = importlib.util.spec_from_file_location(name, path.resolve(), loader=loader)
        if spec is None or path.suffix != ".py":
            raise ConfigError(f"{path} is no Python file; --app needs one whose name ends in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses of the file look their module up
        file = cls(path, module)
        file._guarded(functools.partial(loader.exec_module, module))
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

    @property
    def phrases(self) -> tuple[str, ...]:
        """Phrases that people say to the app.

        Raises:
            ConfigError: They are no texts.
        """
        phrases = getattr(self.module, "phrases", ())
        listed = isinstance(phrases, list | tuple)
        if not listed or not all(isinstance(phrase, str) for phrase in phrases):
            raise ConfigError(f"{self.path}: phrases should be a list of texts")
        return tuple(phrases)

    def options(self, own: Options) -> Options:
        """The options of its agent: ``options`` of the file, whole or as keyword arguments, or the agent's own.

        Raises:
            ConfigError: They are neither, or there is no such option.
        """
        options = getattr(self.module, "options", None)
        if options is None or isinstance(options, Options):
            return options or own
        changes = self._keywords("options", options, Options)
        return cast(Options, self._guarded(functools.partial(dataclasses.replace, own, **changes)))

    @property
    def session(self) -> dict[str, Any]:
        """Keyword arguments for the session, as the file's ``session`` has them.

        Raises:
            ConfigError: There is no such keyword, or its ``pii`` is none.
        """
        keywords = self._keywords("session", getattr(self.module, "session", {}), Session)
        self._guarded(functools.partial(PII.of, keywords.get("pii")))
        return keywords

    def _keywords(self, name: str, given: object, of: type) -> dict[str, Any]:
        known = set(inspect.signature(of).parameters) - _ELSEWHERE
        if not isinstance(given, dict):
            raise ConfigError(
                f"{self.path}: {name} should be keyword arguments of {of.__name__}, "
                f'such as {{"{min(known)}": ...}}, not {type(given).__name__}'
            )
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}"
                raise ConfigError(f"{self.path}: {name} has {key!r}, which {of.__name__} does not take; {hint}")
        return dict(given)

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
            elsewhere = error.filename not in (None, str(self.path.resolve()))  # of a binary file nothing is told
            text = f"{error.msg} ({error.filename}:{error.lineno})" if elsewhere else error.msg
        elif isinstance(error, SystemExit):
            return f"it called sys.exit({error.code!r}), and an app file only defines things"
        return f"{kind}: {text}" if text else kind
