"""A chat at a terminal: what was said scrolls up, and below it is always a line to type into.

Everything here runs on the main thread, in one event loop; the threads of runs post their events to it. Only the last
lines belong to the prompt: the reply as far as it has come, what the robot is doing, and the input.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from prompt_toolkit import Application, PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

from edgeagent import events
from edgeagent.app import App
from edgeagent.cli import exits, streams
from edgeagent.cli.activity import Activity, Line, call_text
from edgeagent.cli.approvals import Approvals
from edgeagent.cli.chat_stops import ChatStops
from edgeagent.cli.keyboard import keyboard, open_history
from edgeagent.cli.replies import Flow, Replies
from edgeagent.cli.slash import HELP, Slash, is_slash
from edgeagent.cli.streams import toned
from edgeagent.cli.text import printable, shortened, utterance
from edgeagent.errors import BusyError, EdgeAgentError

MARK: Final = "> "


class Screen:
    """One chat. ``run`` once."""

    def __init__(self, app: App, *, always: bool = False) -> None:
        self._app = app
        self._asked: deque[tuple[str, SimpleQueue[str | None]]] = deque()
        self._colour = streams.coloured(streams.stdout())
        self._activity = Activity()
        self._replies = Replies()
        self._flow: Flow | None = None
        self._progress = ""
        self._working = False
        self._spoke = False
        self._interrupted_s = -exits.AGAIN_S
        self._code: int | None = None
        self._always = always
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = ChatStops(app, self._show_soon, on_stop=self._drop_questions)
        self._slash = Slash(
            app, self._print, self._complain, stops=self._stops, colour=self._colour, width=self._columns
        )

    def run(self) -> int:
        """Talks until somebody leaves. Returns the exit code; the terminal is as it was before."""
        return asyncio.run(self._converse())

    async def _converse(self) -> int:
        self._loop = loop = asyncio.get_running_loop()
        self._app.person = Approvals(lambda question: self._ask(loop, question), always=self._always)
        self._prompt: PromptSession[str] = PromptSession(
            input=keyboard(),
            message=self._message,
            history=open_history(),
            key_bindings=self._keys(),
            completer=SlashCompleter(HELP),
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            erase_when_done=True,
        )
        self._prompt.default_buffer.accept_handler = self._accept
        self._app.subscribe(lambda event: self._post(loop, event))
        with exits.signals(loop, self._signals()), patch_stdout(raw=True):
            try:
                await self._prompt.prompt_async(handle_sigint=False, pre_run=self._began)
            except EOFError:
                self._leave(exits.OK)
        return self._code or exits.OK

    def _signals(self) -> dict[signal.Signals, Callable[[], object]]:
        leaving = {number: partial(self._leave, 128 + number) for number in exits.TERMINATION}
        return {signal.SIGINT: self._interrupt, **leaving}

    def _began(self) -> None:
        """A signal may have come before there was a prompt to end."""
        asyncio.get_running_loop().call_soon(exits.rewire)
        if self._code is not None:
            asyncio.get_running_loop().call_soon(self._prompt.app.exit)

    # --- what is typed ----------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d", filter=Condition(lambda: not self._prompt.default_buffer.text))
        def _(event: KeyPressEvent) -> None:
            self._leave(exits.OK)

        return keys

    def _accept(self, buffer: Buffer) -> bool:
        """A line was entered. Returns False: the prompt goes on with an empty one."""
        said = utterance(buffer.text)
        if said or self._asked:
            gap = "" if self._working else "\n"
            mark = printable(self._asked[0][0]) if self._asked else MARK
            self._print(f"{gap}{toned(mark, 'bold', colour=self._colour)}{said}")
            self._take(said)
        return False

    def _ask(self, loop: asyncio.AbstractEventLoop, question: str) -> str | None:
        """On a thread of a run: the next line that is typed is the answer; None when the run ends before it, or the
        time is over."""
        answer: SimpleQueue[str | None] = SimpleQueue()
        loop.call_soon_threadsafe(self._take_question, question, answer)
        try:
            return answer.get(timeout=self._app.agent.options.confirm_timeout_s)
        except Empty:
            loop.call_soon_threadsafe(self._drop_question, answer)
            return None

    def _take_question(self, question: str, answer: SimpleQueue[str | None]) -> None:
        self._asked.append((question, answer))
        self._prompt.app.invalidate()

    def _drop_question(self, answer: SimpleQueue[str | None]) -> None:
        self._asked = deque(asked for asked in self._asked if asked[1] is not answer)
        self._prompt.app.invalidate()

    def _drop_questions(self) -> None:
        while self._asked:
            self._asked.popleft()[1].put(None)

    def _take(self, said: str) -> None:
        session = self._app.session
        if is_slash(said):
            if not self._slash.run(said):
                self._leave(exits.OK)
        elif self._stops.take(said, asked=bool(self._asked)):
            pass  # the latch and the run's end say what became of it
        elif self._asked:
            self._asked.popleft()[1].put(said)
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

    def _interrupt(self) -> None:
        """Ctrl-C: ends what the robot does; twice, the chat."""
        now_s = time.monotonic()
        again = now_s - self._interrupted_s <= exits.AGAIN_S
        self._interrupted_s = now_s
        if again:
            self._leave(exits.OK)
            return
        exits.staying()
        if not self._stops.interrupt():
            self._prompt.default_buffer.reset()
            self._show(Line("Ctrl-C again leaves; so does Ctrl-D"))

    def _leave(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self._drop_questions()
            if self._prompt.app.is_running:
                self._prompt.app.exit()

    # --- what happens -----------------------------------------------------------------------------------------------

    def _post(self, loop: asyncio.AbstractEventLoop, event: events.Event) -> None:
        """On the thread of a run."""
        if self._code is None:
            loop.call_soon_threadsafe(self._take_event, event)

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
            self._flow = Flow(self._columns, indent=0 if self._spoke else len(self._name()))
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
            shown.append(("fg:ansibrightblack", f"  ⋯ {shortened(what, max(self._columns() - 6, 10))}\n"))
        else:
            shown.append(("", "\n"))
        if self._asked:
            return [*shown, ("fg:ansiyellow", printable(self._asked[0][0]))]
        return [*shown, ("bold", MARK)]

    def _name(self) -> str:
        return f"{printable(self._app.agent.name)}: "

    def _say(self, line: str) -> None:
        """A line of the robot's, the first one of a run with its name."""
        name = "" if self._spoke else toned(self._name(), "name", colour=self._colour)
        self._spoke = True
        self._print(name + line)

    def _show(self, line: Line) -> None:
        text = shortened(line.text, self._columns() - 1)
        self._print(toned(text, line.tone, colour=self._colour))

    def _show_soon(self, line: Line) -> None:
        """On any thread."""
        if self._loop is not None and self._code is None:
            self._loop.call_soon_threadsafe(self._show, line)

    def _complain(self, text: str) -> None:
        self._show(Line(text, "error"))

    def _columns(self) -> int:
        return streams.width(streams.stdout())

    def _print(self, text: str) -> None:
        print_above(self._prompt.app, text)


def print_above(app: Application[str], text: str) -> None:
    """A line above a prompt.

    ``run_in_terminal`` would switch the terminal to cooked mode for a moment, and a Ctrl-D that is typed in that
    moment is lost.
    """
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
