"""A chat from a pipe: every line is run to its end before the next is read.

Replies and what slash commands tell go to stdout, everything else to stderr. Runs on the main thread.
"""

from __future__ import annotations

import sys
from queue import Empty, SimpleQueue
from typing import Final

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.app import App
from edgeagent.cli import streams, text
from edgeagent.cli.activity import Activity
from edgeagent.cli.replies import Replies
from edgeagent.cli.slash import Slash, is_slash
from edgeagent.errors import BusyError

_POLL_S: Final = 0.02
_PROMPT: Final = "> "


class Script:
    """Plays the lines of stdin to an app."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._activity = Activity()
        self._replies = Replies()
        self._events: SimpleQueue[events.Event] = SimpleQueue()
        colour = streams.coloured(sys.stdout)
        self._slash = Slash(app, streams.answer, colour=colour, width=lambda: streams.width(sys.stdout))
        app.subscribe(self._events.put)

    def play(self) -> None:
        """Until the end of stdin, or /quit."""
        self._prompt()
        for line in text.lines(sys.stdin.buffer):
            said = text.utterance(line)
            if is_slash(said):
                if not self._slash.run(said):
                    return
            elif said:
                self._run(said)
            self._prompt()

    def _run(self, said: str) -> None:
        handle = self._start(said)
        while not handle.wait(0):
            self._show_next(_POLL_S)
        while self._show_next(0):
            pass

    def _start(self, said: str) -> RunHandle:
        """Starts a run, after the one that an app may have begun by itself."""
        while True:
            try:
                return self._app.session.start(said)
            except BusyError:
                self._show_next(_POLL_S)

    def _show_next(self, timeout_s: float) -> bool:
        """Shows the next event; False when there was none in that time."""
        try:
            event = self._events.get(timeout=timeout_s) if timeout_s else self._events.get_nowait()
        except Empty:
            return False
        for line in self._activity.lines(event):
            streams.tell(text.shortened(line.text, streams.width(sys.stderr)), line.tone)
        reply = self._replies.take(event)
        if reply:
            streams.answer(text.printable(reply))
        return True

    def _prompt(self) -> None:
        """For a person at a terminal that cannot do more."""
        if sys.stdin.isatty():
            sys.stderr.write(_PROMPT)
            sys.stderr.flush()
