"""A conversation at a terminal: what was said scrolls up, and below it is always a line to type into.

Keys, typed lines and their history are here too. Everything runs on the main thread, in one event loop; other threads
post what they tell to it. Knows nothing of what a line does and what is shown: ``ChatScreen`` and ``TalkScreen`` do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import time
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import platformdirs
from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

from edgeagent.app import App
from edgeagent.cli import exits, streams
from edgeagent.cli.activity import Item, Line
from edgeagent.cli.slash import HELP, Slash, is_slash
from edgeagent.cli.streams import printable, toned, utterance
from edgeagent.cli.watchdog import TERMINATION
from edgeagent.errors import EdgeAgentError


def keyboard() -> Input:
    """The keys of the terminal on stdin."""
    return _Keyboard(sys.stdin) if _is_controlling(sys.stdin.fileno()) else create_input(sys.stdin)


class _Keyboard(Vt100Input):
    def raw_mode(self) -> AbstractContextManager[None]:
        return _raw_but_ctrl_c(super().raw_mode(), self.fileno())


@contextmanager
def _raw_but_ctrl_c(raw: AbstractContextManager[None], file: int) -> Iterator[None]:
    """Raw mode, in which Ctrl-C alone is a signal, and what was typed before stays.

    A robot must not be stopped by Ctrl-Z: a stopped process stops no motor.
    """
    with raw:
        modes = termios.tcgetattr(file)
        modes[tty.LFLAG] |= termios.ISIG | termios.NOFLSH
        off = os.fpathconf(file, "PC_VDISABLE").to_bytes(1, "little")
        for key in (termios.VQUIT, termios.VSUSP):
            modes[tty.CC][key] = off
        termios.tcsetattr(file, termios.TCSANOW, modes)
        yield


def _is_controlling(file: int) -> bool:
    """True if the terminal sends its signals to this process."""
    try:
        return os.tcgetpgrp(file) == os.getpgrp()
    except OSError:
        return False


FILE: Final = "chat_history"


class ChatHistory(FileHistory):
    """A disk that is full, or a file that has gone, costs the history of this line and nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._warned = False

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError as error:
            self._warn(error)
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            streams.warn(f"what you type is not kept for the next chat: {error.strerror}: {error.filename}")


def open_history() -> History:
    """The history of this user; one in memory where there is no folder for it, which is said."""
    try:
        path = platformdirs.user_state_path("edgeagent") / FILE
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        streams.warn(f"what you type is not kept for the next chat: {error.strerror}: {error.filename}")
        return InMemoryHistory()
    return ChatHistory(path)


MARK: Final = "> "
_LOOP_S: Final = 3.0
"""Seconds that another thread waits for the main thread to do what was asked."""
Result = TypeVar("Result")


class Screen(ABC):
    """One conversation, ``run`` once."""

    refresh_s = 0.0
    """Seconds between two drawings of the last lines; 0 draws them when something has changed."""
    owns_stderr = False
    """True if what libraries write to stderr is kept off the terminal."""
    _slash: Slash

    def __init__(self, app: App) -> None:
        self._app = app
        self._interrupted_s = -exits.AGAIN_S
        self._code: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> int:
        """Talks until somebody leaves. Returns the exit code; the terminal is as it was before."""
        return asyncio.run(self._converse())

    async def _converse(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._prompt: PromptSession[str] = PromptSession(
            input=keyboard(),
            message=self._message,
            history=open_history(),
            key_bindings=self._keys(),
            completer=SlashCompleter(HELP[self._slash.door]),
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            erase_when_done=True,
            refresh_interval=self.refresh_s,
        )
        self._prompt.default_buffer.accept_handler = self._accept
        endings = self._subscribed()
        try:
            quiet = streams.own_screen() if self.owns_stderr else nullcontext()
            with exits.signals(self._loop, self._signals()), quiet, patch_stdout(raw=True):
                try:
                    await self._prompt.prompt_async(handle_sigint=False, pre_run=self._began)
                except EOFError:
                    self._leave(exits.OK)
        finally:
            self._code = self._code or exits.OK
            for end in endings:
                end()
        return self._code

    def _signals(self) -> dict[signal.Signals, Callable[[], object]]:
        leaving = {number: partial(self._leave, 128 + number) for number in TERMINATION}
        return {signal.SIGINT: self._interrupt, **leaving}

    def _began(self) -> None:
        """The prompt is there; a signal may have come before it."""
        loop = asyncio.get_running_loop()
        loop.call_soon(exits.rewire)
        if self._code is not None:
            loop.call_soon(self._prompt.app.exit)

    # --- of each door -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _subscribed(self) -> list[Callable[[], object]]:
        """Has ``_post`` called with everything that happens. Returns what ends that."""

    @abstractmethod
    def _enter(self, said: str) -> None:
        """Takes a line that was typed; it may be empty."""

    @abstractmethod
    def _stop(self) -> bool:
        """Obeys Ctrl-C. True if how to leave is to be told."""

    @abstractmethod
    def _take(self, item: Item) -> None:
        """Shows something that has happened."""

    @abstractmethod
    def _message(self) -> StyleAndTextTuples:
        """The lines of the prompt."""

    # --- what is typed ----------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d", filter=Condition(self._is_empty))
        def _(event: KeyPressEvent) -> None:
            self._leave(exits.OK)

        return keys

    def _is_empty(self) -> bool:
        return not self._prompt.default_buffer.text

    def _accept(self, buffer: Buffer) -> bool:
        """A line was entered. Returns False: the prompt goes on with an empty one."""
        self._enter(utterance(buffer.text))
        return False

    def _obeyed(self, said: str) -> bool:
        """Obeys a line if it is a slash command; False if it is none."""
        if not is_slash(said):
            return False
        if not self._slash.run(said):
            self._leave(exits.OK)
        return True

    def _interrupt(self) -> None:
        """Ctrl-C: ends what the robot does; twice, the conversation."""
        now_s = time.monotonic()
        again = now_s - self._interrupted_s <= exits.AGAIN_S
        self._interrupted_s = now_s
        if again:
            self._leave(exits.OK)
            return
        exits.staying()
        if self._stop():
            self._show(Line("Ctrl-C again leaves; so does Ctrl-D"))

    def _leave(self, code: int) -> None:
        if self._code is None:
            self._code = code
            if self._prompt.app.is_running:
                self._prompt.app.exit()

    def _on_loop(self, call: Callable[[], Result]) -> Result:
        """Calls something on the main thread, from another one that waits for it.

        Raises:
            EdgeAgentError: The conversation ends, or the main thread is busy; what the call raises too.
        """
        done: Future[Result] = Future()

        def work() -> None:
            if not done.set_running_or_notify_cancel():  # nobody waits any more
                return
            try:
                done.set_result(call())
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                done.set_exception(error)

        if self._loop is None or self._code is not None:
            raise EdgeAgentError("the conversation has not begun, or ends")
        try:
            self._loop.call_soon_threadsafe(work)
            return done.result(_LOOP_S)
        except (RuntimeError, TimeoutError) as error:
            done.cancel()
            raise EdgeAgentError("the terminal does not take it") from error

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _post(self, item: Item) -> None:
        """On any thread."""
        if self._loop is not None and self._code is None and item is not None:
            self._loop.call_soon_threadsafe(self._take, item)

    def _show(self, line: Line) -> None:
        self._print(toned(line.text, line.tone))

    def _complain(self, text: str) -> None:
        self._show(Line(text, "error"))

    def _name(self) -> str:
        return f"{printable(self._app.agent.name)}: "

    def _print(self, text: str) -> None:
        """A line above the prompt.

        ``run_in_terminal`` would switch the terminal to cooked mode for a moment, and a Ctrl-D that is typed in that
        moment is lost.
        """
        app = self._prompt.app
        if app.is_running:
            app.renderer.erase()
        app.output.write_raw(f"{text}\n")
        app.output.flush()
        app.invalidate()


class SlashCompleter(Completer):
    """Slash commands, with the tab key.

    Args:
        names: Of the commands.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if is_slash(typed):
            yield from (Completion(name, start_position=-len(typed)) for name in self._names if name.startswith(typed))
