"""Long work in words: a skill that starts is announced, and a silence that lasts is filled.

Told of the events of the runs, on their threads, and of the time, on the conversation's. Decides by the device's clock
only; what is said goes through the speech queue. Announcements are no part of the history: no model wrote them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from edgeagent import events
from edgeagent.errors import BusyError
from edgeagent.hooks import BaseHook, BeforeLLM, FirePoint, HookResult
from edgeagent.messages import Message, ToolCall
from edgeagent.voice.speech_queue import SpeechHandle, SpeechQueue

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


logger = logging.getLogger(__name__)

_ENDED = " has ended: "
"""As ``Agent.detached_ended`` words it."""


class GoalReports(BaseHook):
    """Answers the end of a detached goal itself, and shows later requests the end as the result of the call.

    History has both, the message and what was said. A goal that was stopped or replaced needs no answer.

    Args:
        tell: What is said of a tool's result, by the tool's name and the result's text.
    """

    points = frozenset({FirePoint.BEFORE_LLM})

    def __init__(self, tell: Callable[[str, str], str]) -> None:
        self._tell = tell

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM) -> HookResult | None:
        newest = payload.messages[-1] if payload.messages else None
        if newest is not None and newest.origin == "follow_up" and (ended := _ended(newest)):
            return HookResult.end_turn(self._tell(*ended))
        shown = with_ends(payload.messages)
        return None if len(shown) == len(payload.messages) else HookResult.replace(replace(payload, messages=shown))


def with_ends(messages: Sequence[Message]) -> list[Message]:
    """Puts the end of each detached call in place of the result that says that the call goes on.

    An end whose call is not there stays as it is. Of several calls of one tool the oldest ends first.
    """
    shown: list[Message] = []
    going: list[int] = []
    for message in messages:
        name, text = _ended(message) or ("", "")
        place = next((place for place in going if shown[place].name == name), None)
        if place is not None:
            going.remove(place)
            shown[place] = replace(shown[place], text=text)
            continue
        if message.status == "detached":
            going.append(len(shown))
        shown.append(message)
    return shown


def _ended(message: Message) -> tuple[str, str] | None:
    """The tool and its result, if that is what a message tells."""
    if message.role != "user" or message.origin not in ("follow_up", "note"):
        return None
    name, is_told, text = message.text.partition(_ENDED)
    return (name, text) if is_told and name.replace("_", "").replace("-", "").isalnum() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncerSettings:
    """Settings of what the robot says about its own doing, and when."""

    filler: str = "One moment."
    """Empty: none."""
    filler_s: float = 2.5
    """Silence of a run, which has neither spoken nor ended, until the filler; once a run."""
    grace_s: float = 0.03
    """A skill that ends sooner is not announced: it was refused, or is done."""
    again_s: float = 5.0
    """After an announcement, the next skills of a run begin without one for so long."""


@dataclass(slots=True)
class _Starting:
    """A skill that was started at a time, and is not announced yet."""

    text: str
    at_s: float


@dataclass(slots=True)
class _Watched:
    """The run that goes on."""

    run_id: str
    began_s: float
    """Its silence counts from then, or from the last answer of a person."""
    spoke: bool = False
    """True if the run has said something since it began."""
    spoke_in_turn: bool = False
    """True if the run has said something with the calls of this turn."""
    filled: bool = False
    announced_s: float | None = None


class Announcer:
    """Says "On my way to the kitchen." when that starts, and "One moment." when nothing else is heard for long.

    Args:
        queue: What is said goes there.
        clock: The device's.
        is_announced: Whether a tool is, by its name: skills are.
        tell: The announcement of a call; empty for none.
        is_asking: Whether a tool waits for a person's answer; then there is no filler.
    """

    def __init__(
        self,
        queue: SpeechQueue,
        clock: Callable[[], float],
        *,
        is_announced: Callable[[str], bool],
        tell: Callable[[ToolCall], str],
        is_asking: Callable[[], bool],
        settings: AnnouncerSettings,
    ) -> None:
        self._queue, self._clock, self._settings = queue, clock, settings
        self._is_announced, self._tell, self._is_asking = is_announced, tell, is_asking
        self._lock = threading.Lock()
        self._run: _Watched | None = None
        self._starting: dict[str, _Starting] = {}
        self._said: dict[str, SpeechHandle] = {}
        """By the call, its announcement as long as the call goes on."""
        self._filler: SpeechHandle | None = None

    # --- the run's thread -------------------------------------------------------------------------------------------

    def __call__(self, event: events.Event) -> None:
        """Takes an event of a run."""
        match event:
            case events.AgentStart():
                with self._lock:
                    self._run = _Watched(event.run_id, self._clock())
            case events.TurnStart():
                with self._lock:
                    if self._run is not None:
                        self._run.spoke_in_turn = False
            case events.MessageUpdate(channel="text", delta=delta) if delta.strip():
                self._spoken()
            case events.MessageEnd(message=message) if message.role == "assistant" and message.text.strip():
                self._spoken()
            case events.ToolExecutionStart(call=call) if self._is_announced(call.name):
                self.begins(call)
            case events.ToolExecutionEnd(call=call):
                self._end(call)
            case events.AgentEnd():
                self.forget()

    def _spoken(self) -> None:
        with self._lock:
            if self._run is not None:
                self._run.spoke = self._run.spoke_in_turn = True
            filler, self._filler = self._filler, None
        _take_back(filler)

    def begins(self, call: ToolCall) -> None:
        """Takes note of a skill that begins, or is about to; one is announced once. Any thread."""
        try:
            text = self._tell(call)
        except Exception:  # the builder's code: whoever else follows the run hears of the call nevertheless
            logger.exception("the announcement of %s raised", call.name)
            return
        with self._lock:
            known = call.id in self._starting or call.id in self._said
            if text and not known and self._run is not None and not self._run.spoke_in_turn:
                self._starting[call.id] = _Starting(text, self._clock())

    def _end(self, call: ToolCall) -> None:
        with self._lock:
            self._starting.pop(call.id, None)
            said = self._said.pop(call.id, None)
        _take_back(said)

    def forget(self) -> None:
        """Drops the announcements that the run's end, or a stop, has overtaken; a detached skill ends with its run, and
        goes on. Any thread."""
        with self._lock:
            waiting = [*self._said.values(), *([] if self._filler is None else [self._filler])]
            self._run, self._filler = None, None
            self._starting.clear()
            self._said.clear()
        for handle in waiting:
            _take_back(handle)

    # --- the conversation's thread ----------------------------------------------------------------------------------

    def tick(self, now_s: float) -> None:
        """Says what is due. Before the queue's tick, so that it is said with it.

        Args:
            now_s: The device's clock.
        """
        with self._lock:
            run = self._run
            if run is None:
                return
            grace_s, again_s = self._settings.grace_s, self._settings.again_s
            due = [call_id for call_id, item in self._starting.items() if now_s - item.at_s >= grace_s]
            for call_id in due:
                text = self._starting.pop(call_id).text
                if run.announced_s is None or now_s - run.announced_s >= again_s:
                    run.announced_s = now_s
                    if (handle := self._aside(text)) is not None:
                        self._said[call_id] = handle
            if self._needs_filler(run, now_s):
                run.filled = True
                self._filler = self._aside(self._settings.filler)

    def _needs_filler(self, run: _Watched, now_s: float) -> bool:
        """True if the run is silent for long: nothing of it was heard, and nothing else is."""
        if run.filled or run.spoke or run.announced_s is not None or not self._settings.filler:
            return False
        if self._is_asking():
            run.began_s = now_s
        return now_s - max(run.began_s, self._queue.last_sound_s) >= self._settings.filler_s

    def _aside(self, text: str) -> SpeechHandle | None:
        try:
            return self._queue.aside(text)
        except BusyError as error:  # the builder says more than the robot can
            logger.warning("not announced: %s", error)
            return None


def _take_back(handle: SpeechHandle | None) -> None:
    """An announcement that is being said is said to its end."""
    if handle is not None and not handle.begun:
        handle.cancel()
