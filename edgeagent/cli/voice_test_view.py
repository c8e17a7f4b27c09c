"""A voice test at a terminal, as it goes on: lines to say, a meter, and what was heard. Runs on the main thread."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Final

from edgeagent.check.voice_plan import PlannedLine
from edgeagent.check.voice_score import Attempt
from edgeagent.cli import streams
from edgeagent.cli.listen_view import meter
from edgeagent.cli.streams import toned
from edgeagent.cli.text import one_line
from edgeagent.stt.hearing import Level

_EVERY_S: Final = 0.09
"""Between two drawings of the meter."""
_CLEAR: Final = "\r\x1b[2K"
_INDENT: Final = " " * 10
_ASKED: Final = {
    "command": "please say",
    "talk": "please say",
    "stop": "please say",
    "wake": "please say",
    "stop_over": "while I talk, say",
}


class StageView:
    """Shows a test as it goes on: on stdout, or with ``--json`` on stderr.

    Attributes:
        json: As given.
    """

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self._stream = sys.stderr if json else streams.stdout()
        self._colour = streams.coloured(self._stream)
        self._utf8 = streams.is_utf8(self._stream)
        self._animated = streams.animated(self._stream)
        self._listening = self._drawn = False
        self._drawn_s = 0.0

    def begin(self, device: str, count: int) -> None:
        """Shows what is about to happen."""
        self.tell(f"{count} sentences through {device}; Ctrl-C ends it, and reports what there is")

    def tell(self, text: str) -> None:
        self._line(toned(one_line(text), "dim", colour=self._colour))

    def doing(self, text: str) -> None:
        """Shows what takes a while; on a terminal only."""
        if self._animated:
            self._write(f"{_CLEAR}{toned(one_line(text) + ' …', 'dim', colour=self._colour)}")
            self._drawn = True

    def ask(self, number: int, count: int, line: PlannedLine) -> None:
        self._listening = False
        asked = f"{number:>3} of {count}  {_ASKED[line.kind]}: "
        self._line(asked + toned(one_line(line.text), "bold", colour=self._colour))

    def listen(self, line: PlannedLine) -> None:
        self._listening = True

    def level(self, level: Level) -> None:
        if self._listening and self._animated and time.monotonic() - self._drawn_s >= _EVERY_S:
            self._drawn_s = time.monotonic()
            self._write(f"{_CLEAR}{_INDENT}{meter(level, utf8=self._utf8)}")
            self._drawn = True

    def show(self, attempt: Attempt) -> None:
        self._listening = False
        mark, tone = self._mark(attempt.right)
        told = ", ".join(_of(attempt))
        clipped = toned("  clipped", "warning", colour=self._colour) if attempt.sound.clipped else ""
        self._line(f"{_INDENT}{toned(mark, tone, colour=self._colour)} {told}{clipped}")

    def move(self, distance: str) -> None:
        self._line(toned(f"please go to: {one_line(distance)}", "name", colour=self._colour))
        if sys.stdin.isatty():
            sys.stderr.write("Enter when you are there ")
            sys.stderr.flush()
            sys.stdin.readline()

    def end(self) -> None:
        """Takes the meter away."""
        self._listening = False
        if self._drawn:
            self._drawn = False
            self._write(_CLEAR)

    def _mark(self, right: bool) -> tuple[str, streams.Tone]:
        if right:
            return ("✓" if self._utf8 else "ok"), "name"
        return ("✗" if self._utf8 else "NO"), "warning"

    def _line(self, text: str) -> None:
        self.end()
        if self.json:
            streams.tell(text)
        else:
            streams.answer(text)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise streams.OutputError(f"the terminal is gone: {error.strerror}") from error


def _of(attempt: Attempt) -> Iterator[str]:
    """Tells in pieces how a line was heard."""
    words = one_line(attempt.heard)
    yield (words if attempt.understood else f"{words} (not understood)".strip()) if words else "nothing was heard"
    match attempt.line.kind:
        case "command":
            return
        case "talk":
            if attempt.commands:
                yield f"taken for: {', '.join(sorted(attempt.commands))}"
            elif attempt.denied:
                yield "held for a moment"
        case _ if not attempt.caught:
            yield "not caught"
        case _:
            yield "caught" if attempt.caught_s is None else f"caught after {attempt.caught_s:.2f} s"
