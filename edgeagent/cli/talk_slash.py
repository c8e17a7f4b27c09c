"""The slash commands of a conversation aloud: what one would press a button for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final

from edgeagent.app import App
from edgeagent.app.conversation import Conversation
from edgeagent.cli.slash import Slash
from edgeagent.cli.text import shortened
from edgeagent.english.answers import Control, Controlled

TALK_HELP: Final = {
    "/help": "what you can type",
    "/stop": "stops everything; it does not move until /continue",
    "/continue": "allows motion again",
    "/cancel": "ends what it does and says; motion stays allowed",
    "/repeat": "says the last answer again",
    "/louder": "speaks louder",
    "/quieter": "speaks more quietly",
    "/mute": "says nothing aloud any more; again: it does",
    "/map": "where the robot is; also as map.svg and map.png",
    "/tools": "what the robot can do",
    "/model": "the model that answers",
    "/stats": "tokens, speed and memory",
    "/why": "why the last answer: prompt, raw reply, how it was read; /why full folds nothing",
    "/quit": "leave",
}
_CHAT: Final = frozenset({"/map", "/tools", "/model", "/stats", "/why"})
_VOLUME: Final = {"/louder": Control.LOUDER, "/quieter": Control.QUIETER}
_CANCEL: Final = "cancel that"
_SAID: Final = {"/cancel": _CANCEL, "/repeat": "repeat that"}


class TalkSlash:
    """Answers the slash commands of one conversation.

    Args:
        say: Shows an answer, on the caller's thread.
        complain: Shows what was wrong, likewise.
        colour: Whether what it shows may be coloured.
        width: How many columns there are.
    """

    def __init__(
        self,
        app: App,
        conversation: Conversation,
        say: Callable[[str], object],
        complain: Callable[[str], object],
        *,
        colour: bool,
        width: Callable[[], int],
    ) -> None:
        self._conversation = conversation
        self._say = say
        self._complain = complain
        self._chat = Slash(app, say, complain, colour=colour, width=width)
        self._muted = False

    def run(self, line: str) -> bool:
        """Does what a line says. False means: leave."""
        name = line.split(maxsplit=1)[0].lower()
        conversation = self._conversation
        match name:
            case "/help":
                self._chat.rows(TALK_HELP.items())
                self._say("Anything else is heard as if you had said it. Ctrl-C stops, twice leaves.")
            case "/stop":
                conversation.stop("/stop")
            case "/continue":
                if not conversation.rearm():
                    self._complain("nothing is stopped: it may move")
            case "/mute":
                self._muted = not self._muted
                conversation.mute(self._muted)
                self._say("muted; /mute again ends that" if self._muted else "it speaks aloud again")
            case "/quit" | "/exit":
                return False
            case _ if name in _VOLUME:
                conversation.dialogue.robot.obey(Controlled(_VOLUME[name]))
            case "/cancel" if conversation.dialogue.turns.grade(_CANCEL) is None:
                self._complain("nothing goes on that could be cancelled")
            case _ if name in _SAID:
                conversation.hear(_SAID[name])
            case _ if name in _CHAT:
                self._chat.run(line)
            case _:
                near = difflib.get_close_matches(name, TALK_HELP, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TALK_HELP)}"
                self._complain(f"there is no {shortened(name, 40)}; {hint}")
        return True
