"""The one conversation that every framework plays, and the clock on it. Standard library only, no framework.

``turns`` calls of ``noop``, one a turn, then a text. What is timed is a framework's own part of a turn: from the moment
in which the scripted model has its answer to the moment in which it is asked again. A contender makes its answers
before a run begins, so that building them costs nobody anything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Final, Generic, TypeVar

INSTRUCTIONS: Final = "You are a robot. Act with the tools."
TASK: Final = "go"
FINAL: Final = "done"
_WARM_UP_RUNS: Final = 3

Answer = TypeVar("Answer")
_seen: list[int] = []


def noop(x: int) -> str:
    """Does nothing.

    Args:
        x: Any number.
    """
    _seen.append(x)
    return "ok"


class Script(Generic[Answer]):
    """Answers in order.

    Args:
        call: The answer that calls ``noop`` with this x.
        final: The answer that ends the run.
    """

    def __init__(self, turns: int, call: Callable[[int], Answer], final: Answer) -> None:
        _seen.clear()
        self._answers = [*(call(x) for x in range(turns)), final]
        self._asked_s: list[float] = []
        self._answered_s: list[float] = []

    def answer(self) -> Answer:
        """The next answer. Called first thing when the framework asks its model."""
        self._asked_s.append(perf_counter())
        answer = self._answers[len(self._answered_s)]
        self._answered_s.append(perf_counter())
        return answer

    def turns_ms(self, reply: object) -> list[float]:
        """Milliseconds of each turn, once the run has ended with this reply.

        Raises:
            RuntimeError: Not every tool ran once and in order, or the reply is another: the figures would be of
                something else.
        """
        expected = list(range(len(self._answers) - 1))
        if reply != FINAL or _seen != expected or len(self._asked_s) != len(self._answers):
            raise RuntimeError(f"asked {len(self._asked_s)} times, {len(_seen)} tools ran, the reply is {reply!r}")
        return [(asked - answered) * 1e3 for answered, asked in zip(self._answered_s, self._asked_s[1:], strict=False)]


def serve(run: Callable[[int], list[float]]) -> None:
    """A contender's ``main``: for each line of stdin one run, whose milliseconds are a line of JSON.

    Args:
        run: Plays a fresh agent for so many turns.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, required=True)
    arguments = parser.parse_args()

    for _ in range(_WARM_UP_RUNS):
        run(arguments.turns)
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        print(json.dumps(run(arguments.turns)), flush=True)
