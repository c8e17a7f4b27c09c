"""A chat at a terminal: the reply as far as it has come, or what the robot is doing, and below it a line to type into.

On the main thread, except where a method says otherwise.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from edgeagent import events
from edgeagent.app import App
from edgeagent.cli import streams
from edgeagent.cli.activity import Activity, Approvals, AskedLine, Item, Line, Replies, call_text
from edgeagent.cli.chat_stops import ChatStops
from edgeagent.cli.screen import MARK, Screen
from edgeagent.cli.slash import Again, Slash
from edgeagent.cli.streams import YES_OR_NO, is_yes, printable, shortened, toned, utterance
from edgeagent.cli.web_door import ASKS, map_of, obeyed
from edgeagent.errors import BusyError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.web import PageActions, Question


class ChatScreen(Screen):
    """One chat. ``run`` once."""

    def __init__(self, app: App, *, always: bool = False) -> None:
        super().__init__(app)
        self._always = always
        self._asked: deque[AskedLine] = deque()
        self._questions = itertools.count(1)
        self._again: Again | None = None
        """Request to be asked again, once a person has allowed that."""
        self._activity = Activity()
        self._replies = Replies()
        self._flow: Flow | None = None
        self._progress = ""
        self._working = False
        self._spoke = False
        self._stops = ChatStops(app, self._post, on_stop=self._drop_questions)
        self._slash = Slash(app, self._stops, self._print, self._complain)

    def _subscribed(self) -> list[Callable[[], object]]:
        loop = asyncio.get_running_loop()
        self._app.person = Approvals(lambda question: self._ask(loop, question), always=self._always)
        self._app.subscribe(self._post)
        return []

    # --- what is typed ----------------------------------------------------------------------------------------------

    def _enter(self, said: str) -> None:
        if said or self._question():
            gap = "" if self._working else "\n"
            mark = self._question() or MARK
            self._print(f"{gap}{toned(mark, 'bold')}{said}")
            self._hear(said)

    def _ask(self, loop: asyncio.AbstractEventLoop, question: str) -> str | None:
        """On a thread of a run: the next line that is typed is the answer; None when the run ends before it, or the
        time is over."""
        asked = AskedLine(question, next(self._questions))
        loop.call_soon_threadsafe(self._take_question, asked)
        try:
            return asked.answer.get(timeout=self._app.agent.options.confirm_timeout_s)
        except Empty:
            loop.call_soon_threadsafe(self._drop_question, asked)
            return None

    def _take_question(self, asked: AskedLine) -> None:
        self._asked.append(asked)
        self._prompt.app.invalidate()

    def _drop_question(self, dropped: AskedLine) -> None:
        self._asked = deque(asked for asked in self._asked if asked is not dropped)
        self._prompt.app.invalidate()

    def _drop_questions(self) -> None:
        """On any thread, because the page's stop button is on another one."""
        with suppress(IndexError):
            while True:
                self._asked.popleft().answer.put(None)

    def _hear(self, said: str) -> None:
        session = self._app.session
        again, self._again = self._again, None  # whatever is typed but a yes is a no
        if self._obeyed(said) or self._stops.take(said, asked=bool(self._asked or again)):
            return  # of a stop phrase the latch and the run's end say what became
        if again is not None:
            if is_yes(said):
                self._ask_again(again)
            else:
                self._show(Line("not asked again"))
        elif self._asked:
            self._asked.popleft().answer.put(said)
        elif session.agent.is_running:
            if session.context.conversing:  # as who speaks over a robot
                session.abort("barge_in")
            session.steer(said, wake=True)
        else:
            try:
                session.start(said)
            except BusyError:
                session.steer(said, wake=True)  # a timer was faster
            except EdgeAgentError as error:
                self._complain(f"error: {error}")

    def _obeyed(self, said: str) -> bool:
        obeyed = super()._obeyed(said)
        again = self._slash.take_again()
        if again is not None and again.question:
            self._again = again
            self._prompt.app.invalidate()
        elif again is not None:
            self._ask_again(again)
        return obeyed

    def _ask_again(self, again: Again) -> None:
        try:
            self._slash.ask_again(again)
        except EdgeAgentError as error:
            self._complain(f"error: {error}")

    def _question(self) -> str:
        """Question that the next line answers; empty if there is none."""
        if self._again is not None:
            return printable(self._again.question)
        return printable(self._asked[0].text) if self._asked else ""

    # --- the page's, on threads of its own --------------------------------------------------------------------------

    def door(self) -> PageActions:
        """Functions that a page may ask for."""
        from edgeagent.web import PageActions

        return PageActions(
            name=self._app.agent.name,
            model=self._app.llm.name,
            latch=self._stops.latch,
            stop=self._stops.stop,
            move_again=self._stops.rearm,
            enter=self._enter_from_page,
            answer=lambda number, said: self._on_loop(partial(self._answer_from_page, number, utterance(said))),
            question=self._question_for_page,
            draw_map=map_of(self._app),
        )

    def _enter_from_page(self, text: str) -> None:
        said = utterance(text)
        if said and not obeyed(said, self._stops):
            self._on_loop(partial(self._take_from_page, said))

    def _take_from_page(self, said: str) -> None:
        if not (self._asked or self._again):
            self._enter(said)
        elif not self._stops.take(said, asked=True):  # the page had not shown the question
            raise EdgeAgentError(ASKS)

    def _answer_from_page(self, number: int, said: str) -> bool:
        if not self._asked or self._asked[0].number != number:
            return False
        asked = self._asked[0]
        self._print(f"{toned(printable(asked.text), 'bold')}{said}")
        if obeyed(said, self._stops) or self._stops.take(said, asked=True):
            self._again = None
        else:
            self._asked.popleft().answer.put(said)  # no answer to what the terminal is asked
        return True

    def _question_for_page(self) -> Question | None:
        from edgeagent.web import Question

        try:
            asked = self._asked[0]
        except IndexError:
            return None
        text = printable(asked.text).strip()
        return Question(asked.number, text.removesuffix(YES_OR_NO).strip(), text.endswith(YES_OR_NO))

    def _stop(self) -> bool:
        self._again = None
        if self._stops.interrupt():
            return False
        self._prompt.default_buffer.reset()
        return True

    def _leave(self, code: int) -> None:
        super()._leave(code)
        self._drop_questions()

    # --- what happens -----------------------------------------------------------------------------------------------

    def _take(self, item: Item) -> None:
        if isinstance(item, Line):
            self._show(item)
        elif isinstance(item, events.Event):
            self._take_event(item)

    def _take_event(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                self._working, self._spoke = True, False
            case events.MessageUpdate(channel="text", delta=delta):
                self._speak(delta)
            case events.MessageEnd(message=message) if message.role == "assistant":
                if self._flow is None and message.text:
                    self._speak(message.text)
                self._end_speech()
            case events.ToolExecutionUpdate(update=update):
                self._progress = shortened(str(update), 40)
            case events.ToolExecutionStart() | events.ToolExecutionEnd():
                self._progress = ""
            case events.AgentEnd():
                self._working = False
                self._drop_questions()
                self._end(event)
        for line in self._activity.lines(event):
            self._show(line)
        self._prompt.app.invalidate()

    def _speak(self, delta: str) -> None:
        if self._flow is None:
            self._flow = Flow(streams.width, indent=0 if self._spoke else len(self._name()))
        for line in self._flow.feed(delta):
            self._say(line)

    def _end_speech(self) -> None:
        if self._flow is not None:
            for line in self._flow.end():
                self._say(line)
            self._flow = None

    def _end(self, event: events.AgentEnd) -> None:
        if text := self._replies.take(event):
            self._say(text)
        elif event.reason == "completed" and not self._spoke:
            self._show(Line("  (no answer)"))

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _message(self) -> StyleAndTextTuples:
        """The lines of the prompt."""
        shown: StyleAndTextTuples = []
        if self._flow is not None and self._flow.growing:
            shown += [("fg:ansicyan", "" if self._spoke else self._name()), ("", f"{self._flow.growing}\n")]
        elif self._working:
            doing = " ".join(call_text(call) for call in self._activity.running[:1])
            what = " · ".join(part for part in (doing, self._progress) if part)
            shown.append(("fg:ansibrightblack", f"  ⋯ {shortened(what, max(streams.width() - 6, 10))}\n"))
        else:
            shown.append(("", "\n"))
        if question := self._question():
            return [*shown, ("fg:ansiyellow", question)]
        return [*shown, ("bold", MARK)]

    def _say(self, line: str) -> None:
        """A line of the robot's, the first one of a run with its name."""
        name = "" if self._spoke else toned(self._name(), "name")
        self._spoke = True
        self._print(name + line)

    def _show(self, line: Line) -> None:
        text = shortened(line.text, streams.width() - 1)
        self._print(toned(text, line.tone))


class Flow:
    """One message of the robot as lines of a terminal, while it grows.

    Args:
        width: Columns of the terminal, asked again for every line.
        indent: Columns that the first line has less.
    """

    def __init__(self, width: Callable[[], int], *, indent: int = 0) -> None:
        self._width = width
        self._indent = indent
        self._began = False
        self.growing = ""
        """The last line, as far as it has come."""

    def feed(self, delta: str) -> list[str]:
        """Takes the next piece of text. Returns the lines that are full now."""
        text = printable(delta)
        self.growing += text if self._began else text.lstrip()
        self._began = self._began or bool(self.growing)
        *full, self.growing = self.growing.split("\n")
        lines = [piece for line in full for piece in self._wrapped(line)]
        *more, self.growing = self._wrapped(self.growing)
        return lines + more

    def end(self) -> list[str]:
        """Returns what is left."""
        last, self.growing = self.growing.rstrip(), ""
        return [last] if last else []

    def _wrapped(self, line: str) -> list[str]:
        """The line in pieces that fit, cut between words where that is possible."""
        pieces = []
        while True:
            room = max(self._width() - 1 - self._indent, 10)
            if get_cwidth(line) <= room:
                pieces.append(line)
                return pieces
            end = _fitting(line, room)
            space = line.rfind(" ", 1, end + 1)
            cut = space if space > 0 else end
            pieces.append(line[:cut])
            line = line[cut:].lstrip(" ")
            self._indent = 0


def _fitting(line: str, room: int) -> int:
    """Counts the characters of a line that fit into so many columns; at least one."""
    columns = 0
    for index, character in enumerate(line):
        columns += get_cwidth(character)
        if columns > room:
            return max(index, 1)
    return len(line)
