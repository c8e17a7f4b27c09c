"""Functions that the page may ask of a robot, and the state that no event tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgeagent.robot.latch import LatchState, SafetyLatch


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is open: an answer names the number, so that none is taken for an answer to the next one."""

    number: int
    text: str
    yes_or_no: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageActions:
    """Functions of a conversation, each safe on any thread. None: that is not possible here.

    Args:
        name: Of the robot.
        model: Name of the model that answers.
        latch: What all motion obeys.
        stop: Stops everything, and returns when nothing moves. Its argument is the reason.
        move_again: Allows motion; False if it is not, or was, allowed.
        enter: Takes a line that a person has typed.
        answer: Takes the answer to a question by its number; False if that one is not open any more.
        question: The question that is open.
        mute: Says nothing aloud, or does again.
        muted: True while it says nothing aloud.
        state: State of a conversation aloud.
        level: Loudness and noise floor in dB of full scale, and True while somebody speaks.
        picture: Type and bytes of a map as it is now.
    """

    name: str
    model: str
    latch: SafetyLatch
    stop: Callable[[str], object]
    move_again: Callable[[], bool]
    enter: Callable[[str], object] | None = None
    answer: Callable[[int, str], bool] | None = None
    question: Callable[[], Question | None] = lambda: None
    mute: Callable[[bool], object] | None = None
    muted: Callable[[], bool] = lambda: False
    state: Callable[[], str] | None = None
    level: Callable[[], tuple[float, float, bool] | None] = lambda: None
    picture: Callable[[], tuple[str, bytes]] | None = None

    @property
    def aloud(self) -> bool:
        """True for a conversation aloud."""
        return self.state is not None

    def status(self) -> dict[str, Any]:
        """The state of now, ready for JSON."""
        level, question = self.level(), self.question()
        shown: dict[str, Any] = {
            "latch": str(self.latch.state),
            "reason": self.latch.reason if self.latch.state is not LatchState.FREE else "",
            "level": None if level is None else [round(level[0]), round(level[1]), level[2]],
            "muted": self.muted(),
            "question": None if question is None else [question.number, question.text, question.yes_or_no],
        }
        return shown if self.state is None else {**shown, "state": str(self.state())}
