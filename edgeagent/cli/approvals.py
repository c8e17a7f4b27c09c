"""Questions to a person at the terminal: of a command, and of a robot at work, whose tool may do what can't be undone
or asks something itself. Those are called on threads of runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from edgeagent.cli import streams
from edgeagent.cli.activity import call_text
from edgeagent.cli.text import printable, shortened
from edgeagent.errors import ConfigError
from edgeagent.messages import ToolCall
from edgeagent.views import Answer, Unanswered

YES: Final = frozenset({"y", "yes", "ok", "allow"})
YES_OR_NO: Final = "[y/N]"
"""End of a question that only a clear yes answers with yes."""
_QUESTION_CHARS: Final = 200


class Approvals:
    """Asks by a function that shows a text and waits for a line.

    Args:
        read: Returns the line, or None if nobody can answer.
        always: Allow everything without asking.
    """

    def __init__(self, read: Callable[[str], str | None], *, always: bool = False) -> None:
        self._read = read
        self._always = always

    def confirm(self, name: str, arguments: dict[str, Any]) -> bool:
        """Asks whether a destructive tool may run; anything but a clear yes is a no."""
        if self._always:
            return True
        told = shortened(call_text(ToolCall("", name, arguments)), _QUESTION_CHARS)
        return is_yes(self._read(f"allow {told}? {YES_OR_NO} "))

    def question(self, questions: list[str], answer: Answer) -> None:
        """Asks one after the other; the answers are one text. Where nobody is there to answer, that is told at once."""
        given = []
        for question in questions:
            line = self._read(f"{shortened(printable(question), _QUESTION_CHARS)} ")
            if line is None:
                answer.put(Unanswered("nobody is there to answer"))
                return
            given.append(line)
        answer.put("\n".join(given))


def is_yes(line: str | None) -> bool:
    """True if a line is a clear yes."""
    return line is not None and line.strip().casefold() in YES


def allowed(question: str) -> bool:
    """Asks whether a command may do something.

    Raises:
        ConfigError: Nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to be asked: say --yes")
    return is_yes(typed(question))


def typed(question: str) -> str | None:
    """Reads what is typed at a terminal; None at its end. Text from a pipe is what to ask, and no answer."""
    if not sys.stdin.isatty():
        return None
    streams.prompt(question)
    return sys.stdin.readline() or None
