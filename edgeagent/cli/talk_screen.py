"""A conversation aloud at a terminal: what is being said and the state stand above the line to type into.

On the main thread, except where a method says otherwise; the threads of runs and of the voice post to it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from edgeagent.app import App
from edgeagent.app.conversation import Conversation
from edgeagent.cli import exits, streams
from edgeagent.cli.activity import Item, Line, TalkLines, latch_line
from edgeagent.cli.chat import what_to_say
from edgeagent.cli.listen_view import meter
from edgeagent.cli.screen import MARK, Screen
from edgeagent.cli.slash import TalkSlash
from edgeagent.cli.streams import YES, one_line, printable, shortened, toned
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
FIRST_REPEAT_S: Final = 0.75
"""A second press within this time is the first repetition of a key that is held."""
LET_GO_S: Final = 0.25
"""A key that was held and does not repeat itself for so long was let go."""


class TalkButton:
    """The space bar as a button to talk: held, or pressed once to open the ears and once more to close them.

    A terminal tells of no key that is let go. A key that is held repeats itself, after a quarter to three quarters of
    a second for the first time: from then on the end of the repetition is the end of the press. Times are seconds of
    any clock that does not go back.

    Attributes:
        down: Whether the ears are open.
    """

    def __init__(self) -> None:
        self.down = False
        self._repeats = False
        self._pressed_s = 0.0

    def press(self, now_s: float) -> None:
        """The terminal tells of the key: pressed, or repeated."""
        if not self.down:
            self.down, self._repeats = True, False
        elif self._repeats or now_s - self._pressed_s <= FIRST_REPEAT_S:
            self._repeats = True
        else:
            self.down = False
        self._pressed_s = now_s

    def look(self, now_s: float) -> None:
        """Time passes."""
        if self.down and self._repeats and now_s - self._pressed_s >= LET_GO_S:
            self.down = False


class TalkScreen(Screen):
    """One conversation. ``run`` once."""

    refresh_s = _EVERY_S
    owns_stderr = True

    def __init__(self, app: App, conversation: Conversation) -> None:
        super().__init__(app)
        self._conversation = conversation
        self._utf8 = streams.is_utf8()
        self._lines = TalkLines(app.agent.name)
        self._button = TalkButton() if conversation.dialogue.settings.push_to_talk else None
        self._slash = TalkSlash(app, conversation, self._print, self._complain)

    def _subscribed(self) -> list[Callable[[], object]]:
        return [
            self._conversation.subscribe(self._post),
            self._conversation.latch.subscribe(lambda state, reason: self._post(latch_line(state, reason))),
        ]

    def _began(self) -> None:
        super()._began()
        if self._code is not None:
            return
        name = toned(printable(self._app.agent.name), "name")
        how = "hold space, or press it, to talk" if self._button else "speak, or type"
        self._print(f"{name} {toned(f'on {self._app.llm.name} is ready: {how}', 'dim')}")
        self._show(Line("/help for help · Ctrl-C stops it, twice leaves"))
        if hint := what_to_say(self._app):
            self._show(Line(hint))
        if self._app.say_at_start:
            self._print(printable(self._app.say_at_start))
        if self._button is not None:
            asyncio.get_running_loop().call_later(_EVERY_S, self._look_at_button)

    # --- what is typed ----------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = super()._keys()

        @keys.add(" ", filter=Condition(self._is_empty) & Condition(lambda: self._button is not None))
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

    def _enter(self, said: str) -> None:
        if not said:
            return
        self._interrupted_s = -exits.AGAIN_S  # a Ctrl-C before it and one after it are not two in a row
        self._print(f"{toned(MARK, 'bold')}{said}")
        if not self._obeyed(said):
            asked = self._conversation.dialogue.robot.person.waiting
            self._conversation.dialogue.hear("yes" if asked and said.casefold() in YES else said, typed=True)

    def _stop(self) -> bool:
        self._conversation.stop("Ctrl-C")
        return True

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _take(self, item: Item) -> None:
        for line in self._lines.lines(item):
            self._show(line)

    def _message(self) -> StyleAndTextTuples:
        """The lines of the prompt."""
        return [*self._being_said(), ("", "\n"), *self._status(), ("", "\n"), ("bold", MARK)]

    def _being_said(self) -> StyleAndTextTuples:
        """Returns what the robot says, or what is understood so far of a person."""
        room = max(streams.width() - 1, 10)
        dialogue = self._conversation.dialogue
        heard, rest = (one_line(part) for part in dialogue.robot.queue.saying(dialogue.ears.now_s))
        if heard or rest:
            name = self._name()
            said = _tail(f"{heard} " if heard and rest else heard, max(room - len(name), 10))
            return [
                ("fg:ansicyan", name + said),
                (_DIM, shortened(rest, max(room - len(name) - len(said), 1))),
            ]
        return [(_DIM, _tail(one_line(self._lines.partial), room))]

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


def _tail(text: str, room: int) -> str:
    """The end of a text that is too long."""
    return text if len(text) <= room else f"…{text[len(text) - room + 1 :]}"
