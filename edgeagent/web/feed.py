"""The pages that look on: each is told what has changed since it was last told, so a slow one is told less often.

A page that connects gets everything, as does one that was away; lines are numbered and told whole, so none is lost and
none is doubled. What a page may ask of a robot is here too, and the state that no event tells. All of it runs in the
server's event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.pii import Mode, redact
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.web.inbox import Inbox
from edgeagent.web.story import Story


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
        draw_map: Returns type and bytes of a map as it is now.
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
    draw_map: Callable[[], tuple[str, bytes]] | None = None

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


_log = logging.getLogger(__name__)

PACE_S: Final = 0.05
"""Seconds between two looks at what has come: 20 a second, whatever happens."""
_LEVEL_S: Final = 0.1
"""Seconds between two looks at the level of a microphone."""
_STATUS_S: Final = 0.5
"""Seconds between two looks at what no event tells, where there is no microphone."""
BEAT_S: Final = 1.0
"""Seconds after which a page is told something, though nothing has changed; the page counts on that."""


class Feed:
    """Everything that pages show of one conversation.

    Args:
        door: State that no event tells.
        inbox: Events, from any thread.
        mode: Treatment of personal data: ``PII.log``.
    """

    def __init__(self, door: PageActions, inbox: Inbox, mode: Mode) -> None:
        self._door, self._inbox, self._mode = door, inbox, mode
        self.story = Story(mode, voice=door.aloud)
        self._changed = asyncio.Event()
        self._over = False
        self._stops = itertools.count(1)
        self.stops = 0
        """Number of the newest stop, by whomever: who allows motion says after which."""

    async def run(self) -> None:
        """Takes events until it is cancelled."""
        loop, waiting = asyncio.get_running_loop(), asyncio.Event()
        self._inbox.serve(lambda: loop.call_soon_threadsafe(waiting.set))
        unsubscribe = self._door.latch.subscribe(self._latched)
        try:
            while True:
                await waiting.wait()
                waiting.clear()
                self.look()
                await asyncio.sleep(PACE_S)
        finally:
            unsubscribe()
            self._inbox.leave()

    def look(self) -> None:
        """Takes what waits, and wakes the pages."""
        items, lost = self._inbox.take()
        for item in items:
            try:
                self.story.take(item, lost=lost)
            except Exception:  # noqa: BLE001 - an app's own values; the page goes on with the next event
                _log.exception("the page cannot show an event")
            lost = 0
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def stopped(self) -> None:
        """Counts a stop. Any thread."""
        self.stops = next(self._stops)

    def close(self) -> None:
        """Has every page told that this was the end."""
        self._over = True
        self._changed.set()

    async def page(self) -> AsyncIterator[dict[str, Any]]:
        """News for one page: all, then changes. Each is taken when the page has room for it."""
        told: dict[str, Any] = {}
        version, told_s = 0, 0.0
        every_s = _LEVEL_S if self._door.aloud else _STATUS_S
        while not self._over:
            changed = self._changed
            status, lines = self._status(), self.story.since(version)
            news = {name: value for name, value in status.items() if name not in told or told[name] != value}
            version, told = self.story.version, status
            if lines or news or time.monotonic() - told_s >= BEAT_S:
                told_s = time.monotonic()
                yield {"now": told_s, "first": self.story.first, **news, **({"lines": lines} if lines else {})}
                await asyncio.sleep(PACE_S)
            try:
                await asyncio.wait_for(changed.wait(), every_s)
            except TimeoutError:
                continue
        yield {"over": True}

    def _latched(self, state: LatchState, reason: str) -> None:
        """On any thread."""
        match state:
            case LatchState.TRIPPED:
                self.stopped()
                self._inbox.note(f"■ stopped ({self._shown(reason)})", "error")
            case LatchState.FREE:
                self._inbox.note("it may move", "dim")

    def _status(self) -> dict[str, Any]:
        status = {
            "state": self.story.state,
            "partial": self.story.partial,
            "picture": None if self.story.picture is None else self.story.picture_version,
            "map": None if self._door.draw_map is None else self.story.map_version,
            "stops": self.stops,
            **self._door.status(),
        }
        status["reason"] = self._shown(status["reason"])
        if status["question"] is not None:
            number, text, yes_or_no = status["question"]
            status["question"] = [number, self._shown(text), yes_or_no]
        return status

    def _shown(self, text: str) -> str:
        return redact(text) if self._mode == "redact" else text
