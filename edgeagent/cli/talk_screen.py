"""A conversation aloud at a terminal: what was said scrolls up; below it what is being said, the state, a line to type.

Everything here runs on the main thread, in one event loop; the threads of runs and of the voice post to it.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

from edgeagent.app import App
from edgeagent.app.conversation import Conversation
from edgeagent.cli import exits, streams
from edgeagent.cli.activity import Line, latch_line
from edgeagent.cli.approvals import YES
from edgeagent.cli.chat import what_to_say
from edgeagent.cli.keyboard import keyboard, open_history
from edgeagent.cli.listen_view import meter
from edgeagent.cli.screen import MARK, SlashCompleter, print_above
from edgeagent.cli.slash import is_slash
from edgeagent.cli.streams import toned
from edgeagent.cli.talk_button import TalkButton
from edgeagent.cli.talk_slash import TALK_HELP, TalkSlash
from edgeagent.cli.talk_view import Item, TalkLines
from edgeagent.cli.text import one_line, printable, shortened, utterance
from edgeagent.robot.latch import LatchState
from edgeagent.voice.turn_states import State

_EVERY_S: Final = 0.1
"""Between two drawings of the last lines."""
_COLOURS: Final = {
    State.ASLEEP: "fg:ansibrightblack",
    State.LISTENING: "",
    State.HEARING: "fg:ansigreen",
    State.THINKING: "fg:ansiyellow",
    State.ACTING: "fg:ansiblue",
    State.SPEAKING: "fg:ansicyan",
    State.HELD: "fg:ansimagenta",
}
_DIM: Final = "fg:ansibrightblack"
_STOPPED: Final = "fg:ansired bold"


class TalkScreen:
    """One conversation. ``run`` once."""

    def __init__(self, app: App, conversation: Conversation) -> None:
        self._app = app
        self._conversation = conversation
        self._colour = streams.coloured(streams.stdout())
        self._utf8 = streams.is_utf8(streams.stdout())
        self._lines = TalkLines(app.agent.name)
        self._button = TalkButton() if conversation.dialogue.settings.push_to_talk else None
        self._interrupted_s = -exits.AGAIN_S
        self._code: int | None = None
        self._slash = TalkSlash(
            app, conversation, self._print, self._complain, colour=self._colour, width=self._columns
        )

    def run(self) -> int:
        """Talks until somebody leaves. Returns the exit code; the terminal is as it was before."""
        return asyncio.run(self._converse())

    async def _converse(self) -> int:
        loop = asyncio.get_running_loop()
        self._prompt: PromptSession[str] = PromptSession(
            input=keyboard(),
            message=self._message,
            history=open_history(),
            key_bindings=self._keys(),
            completer=SlashCompleter(TALK_HELP),
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            erase_when_done=True,
            refresh_interval=_EVERY_S,
        )
        self._prompt.default_buffer.accept_handler = self._accept
        endings = [
            self._conversation.subscribe(lambda event: self._post(loop, event)),
            self._conversation.latch.subscribe(lambda state, reason: self._post(loop, latch_line(state, reason))),
        ]
        try:
            with exits.signals(loop, self._signals()), streams.own_screen(), patch_stdout(raw=True):
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
        leaving = {number: partial(self._leave, 128 + number) for number in exits.TERMINATION}
        return {signal.SIGINT: self._interrupt, **leaving}

    def _began(self) -> None:
        """The prompt is there; a signal may have come before it."""
        loop = asyncio.get_running_loop()
        loop.call_soon(exits.rewire)
        if self._code is not None:
            loop.call_soon(self._prompt.app.exit)
            return
        name = toned(printable(self._app.agent.name), "name", colour=self._colour)
        how = "hold space, or press it, to talk" if self._button else "speak, or type"
        self._print(f"{name} {toned(f'on {self._app.llm.name} is ready: {how}', 'dim', colour=self._colour)}")
        self._show(Line("/help for help · Ctrl-C stops it, twice leaves"))
        if hint := what_to_say(self._app):
            self._show(Line(hint))
        if self._app.say_at_start:
            self._print(printable(self._app.say_at_start))
        if self._button is not None:
            loop.call_later(_EVERY_S, self._look_at_button)

    # --- what is typed ----------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        empty = Condition(lambda: not self._prompt.default_buffer.text)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d", filter=empty)
        def _(event: KeyPressEvent) -> None:
            self._leave(exits.OK)

        @keys.add(" ", filter=empty & Condition(lambda: self._button is not None))
        def _(event: KeyPressEvent) -> None:
            if self._button is not None:
                self._press(self._button)

        return keys

    def _press(self, button: TalkButton) -> None:
        before = button.down
        button.press(time.monotonic())
        if button.down is not before:
            self._conversation.push_to_talk(button.down)

    def _look_at_button(self) -> None:
        if self._button is None or self._code is not None:
            return
        before = self._button.down
        self._button.look(time.monotonic())
        if before and not self._button.down:
            self._conversation.push_to_talk(False)
        asyncio.get_running_loop().call_later(_EVERY_S, self._look_at_button)

    def _accept(self, buffer: Buffer) -> bool:
        """A line was entered. Returns False: the prompt goes on with an empty one."""
        said = utterance(buffer.text)
        if not said:
            return False
        self._interrupted_s = -exits.AGAIN_S  # a Ctrl-C before it and one after it are not two in a row
        self._print(f"{toned(MARK, 'bold', colour=self._colour)}{said}")
        if not is_slash(said):
            asked = self._conversation.dialogue.robot.person.waiting
            self._conversation.dialogue.hear("yes" if asked and said.casefold() in YES else said, typed=True)
        elif not self._slash.run(said):
            self._leave(exits.OK)
        return False

    def _interrupt(self) -> None:
        """Ctrl-C: stops what the robot does and says; twice, leaves."""
        now_s = time.monotonic()
        again = now_s - self._interrupted_s <= exits.AGAIN_S
        self._interrupted_s = now_s
        if again:
            self._leave(exits.OK)
            return
        exits.staying()
        self._conversation.stop("Ctrl-C")
        self._show(Line("Ctrl-C again leaves; so does Ctrl-D"))

    def _leave(self, code: int) -> None:
        if self._code is None:
            self._code = code
            if self._prompt.app.is_running:
                self._prompt.app.exit()

    # --- what happens -----------------------------------------------------------------------------------------------

    def _post(self, loop: asyncio.AbstractEventLoop, item: Item) -> None:
        """On any thread."""
        if self._code is None and item is not None:
            loop.call_soon_threadsafe(self._take, item)

    def _take(self, item: Item) -> None:
        if item is None:
            return
        for line in [item] if isinstance(item, Line) else self._lines.lines(item):
            self._show(line)

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _message(self) -> StyleAndTextTuples:
        """The lines of the prompt."""
        return [*self._being_said(), ("", "\n"), *self._status(), ("", "\n"), ("bold", MARK)]

    def _being_said(self) -> StyleAndTextTuples:
        """Returns what the robot says, or what is understood so far of a person."""
        room = max(self._columns() - 1, 10)
        heard, rest = (one_line(part) for part in self._saying())
        if heard or rest:
            name = f"{printable(self._app.agent.name)}: "
            said = _tail(f"{heard} " if heard and rest else heard, max(room - len(name), 10))
            return [
                ("fg:ansicyan", name + said),
                (_DIM, shortened(rest, max(room - len(name) - len(said), 1))),
            ]
        return [(_DIM, _tail(one_line(self._lines.partial), room))]

    def _saying(self) -> tuple[str, str]:
        dialogue = self._conversation.dialogue
        return dialogue.robot.queue.saying(dialogue.ears.now_s)

    def _status(self) -> StyleAndTextTuples:
        state, latch = self._conversation.state, self._conversation.latch
        level = self._conversation.dialogue.level
        shown: StyleAndTextTuples = [(_COLOURS[state], f"{'●' if self._utf8 else '*'} {state:<9} ")]
        if self._button is not None and not self._button.down:
            shown.append((_DIM, "(space to talk) "))
        elif level is not None:
            shown.append(("", meter(level, utf8=self._utf8)))
        if self._lines.latency_s is not None:
            shown.append((_DIM, f" · answered after {self._lines.latency_s:.2f} s"))
        if latch.state is LatchState.TRIPPED:
            shown.append((_STOPPED, " · STOPPED"))
        elif latch.state is LatchState.HELD:
            shown.append(("fg:ansiyellow", " · held"))
        return shown

    def _show(self, line: Line) -> None:
        self._print(toned(line.text, line.tone, colour=self._colour))

    def _complain(self, text: str) -> None:
        self._show(Line(text, "error"))

    def _columns(self) -> int:
        return streams.width(streams.stdout())

    def _print(self, text: str) -> None:
        print_above(self._prompt.app, text)


def _tail(text: str, room: int) -> str:
    """The end of a text that is too long."""
    return text if len(text) <= room else f"…{text[len(text) - room + 1 :]}"
