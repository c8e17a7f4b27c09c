"""Replies of the robot: which text of a run is one, and its lines on a terminal while it grows."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.utils import get_cwidth

from edgeagent import events
from edgeagent.agent.loop import NO_REPLY
from edgeagent.cli.text import printable


class Replies:
    """One event after the other, of the runs of one agent."""

    def __init__(self) -> None:
        self._spoke = False

    def take(self, event: events.Event) -> str:
        """The text that is complete with this event, or an empty one."""
        match event:
            case events.AgentStart():
                self._spoke = False
            case events.MessageEnd(message=message) if message.role == "assistant" and message.text:
                self._spoke = True
                return message.text
            case events.AgentEnd(reason="budget") if not self._spoke:
                return NO_REPLY
        return ""


class Flow:
    """One message of the robot.

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
