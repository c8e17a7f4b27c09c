"""A chat from a pipe: every line is run to its end before the next is read.

Replies and what slash commands tell go to stdout, everything else to stderr. Runs on the main thread.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.app import App
from edgeagent.cli import streams
from edgeagent.cli.activity import Activity, Approvals, AskedLine, Line, Replies
from edgeagent.cli.chat_stops import ChatStops
from edgeagent.cli.slash import Again, Slash, is_slash
from edgeagent.cli.streams import is_yes
from edgeagent.cli.web_door import map_of
from edgeagent.errors import BusyError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.web import PageActions

_POLL_S: Final = 0.02
"""Seconds between two tries to start a run; a session that has become idle tells nobody."""
_PROMPT: Final = "> "


class LineScript:
    """Plays the lines of stdin to an app."""

    def __init__(self, app: App, *, always: bool = False) -> None:
        self._app = app
        self._activity = Activity()
        self._replies = Replies()
        self._events: SimpleQueue[events.Event | AskedLine] = SimpleQueue()
        self._lines = streams.lines(sys.stdin.buffer)
        app.person = Approvals(self._ask, always=always)
        self._stops = ChatStops(app, Line.tell)
        self._slash = Slash(app, self._stops, streams.answer, partial(streams.tell, tone="error"))
        app.subscribe(self._events.put)

    def door(self) -> PageActions:
        """Functions that a page may ask for: a script has its own lines, so the page looks on and stops."""
        from edgeagent.web import PageActions

        return PageActions(
            name=self._app.agent.name,
            model=self._app.llm.name,
            latch=self._stops.latch,
            stop=self._stops.stop,
            move_again=self._stops.rearm,
            draw_map=map_of(self._app),
        )

    def play(self) -> None:
        """Until the end of stdin, or /quit."""
        self._prompt()
        for line in self._lines:
            said = streams.utterance(line)
            if is_slash(said):
                if not self._obey(said):
                    return
            elif said and not self._stops.take(said):
                self._until_end(self._start(said))
            self._prompt()

    def _obey(self, said: str) -> bool:
        """Does what a slash command says. False means: leave."""
        if not self._slash.run(said):
            return False
        if (woken := self._slash.take_woken()) is not None:
            self._until_end(woken)
        again = self._slash.take_again()
        if again is None:
            return True
        answer = self._next_line(again.question) if again.question else "y"
        if is_yes(answer):
            self._ask_again(again)
            return True
        streams.tell("not asked again")
        if is_slash(answer or ""):
            return self._obey(answer or "")
        self._stops.take(answer or "", asked=True)
        return True

    def _ask_again(self, again: Again) -> None:
        try:
            self._until_end(self._slash.ask_again(again))
        except EdgeAgentError as error:
            streams.complain(str(error))

    def _until_end(self, handle: RunHandle) -> None:
        """Shows what happens until a run has ended."""
        ended = False
        while not ended:
            event = self._events.get()
            self._show(event)
            ended = isinstance(event, events.AgentEnd) and event.run_id == handle.id
        handle.wait()

    def _start(self, said: str) -> RunHandle:
        """Starts a run, after the one that an app may have begun by itself."""
        while True:
            try:
                return self._app.session.start(said)
            except BusyError:
                with suppress(Empty):
                    self._show(self._events.get(timeout=_POLL_S))

    def _ask(self, question: str) -> str | None:
        """On a thread of the run: the next line of the script is the answer."""
        asked = AskedLine(question)
        self._events.put(asked)
        return asked.answer.get()

    def _next_line(self, question: str) -> str | None:
        """The next line of the script, which answers a question; None at its end."""
        streams.prompt(streams.printable(question))
        line = next(self._lines, None)
        streams.tell("" if line is None else streams.printable(line))
        return None if line is None else streams.utterance(line)

    def _show(self, event: events.Event | AskedLine) -> None:
        if isinstance(event, AskedLine):
            event.answer.put(self._next_line(event.text))
            return
        for line in self._activity.lines(event):
            line.tell()
        if reply := self._replies.take(event):
            streams.answer(streams.printable(reply))

    def _prompt(self) -> None:
        """For a person at a terminal that cannot do more."""
        if sys.stdin.isatty():
            streams.prompt(_PROMPT)
