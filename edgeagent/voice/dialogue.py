"""The conversation: ears, mind and mouth at once.

One thread, "voice", takes turns by the table; everything else only posts to its queue. Two things do not wait for it: a
stop word that is spotted holds motion and speech on the thread that spotted it, and ``stop`` trips the latch on the
caller's. Its clock is the device's, told by the ears, so that it works the same over a loudspeaker and over a simulated
room. Knows no engine and no device.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

from edgeagent import events
from edgeagent.agent.log import Subscribers
from edgeagent.characters import without_escapes
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import words_of
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.session import Session
from edgeagent.stop import JOIN_S
from edgeagent.stt import hearing
from edgeagent.stt.confirming import missed
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent
from edgeagent.tts.mouth import Mouth
from edgeagent.voice.robot_side import RobotSide
from edgeagent.voice.speech_queue import Priority, SpeechHandle
from edgeagent.voice.turn_states import State, TableEvent
from edgeagent.voice.turn_taking import TurnTaking
from edgeagent.voice.voice_settings import DialogueSettings

logger = logging.getLogger(__name__)

LEARN_S: Final = 1.5
"""Until the noise of a room is known, the first words of an utterance are lost in it."""
_QUIET_MARKS: Final = 2
"""Marks in a row between which nothing is done: what the look after the first one finds is done before the second."""
_CLOSING: Final = "the conversation is being closed"
"""Why motion is held: an app may begin a run meanwhile."""

VoiceSubscriber = Callable[[events.Event | events.VoiceEvent], object]


class Dialogue:
    """A conversation with one session.

    Args:
        session: Its agent answers.
        mouth: What speaks.
        make_ears: Called once, with what takes the ears' events; returns ears that are not started.
        latch: The agent's; motion obeys it.
        settings: Barge-in, words, and waiting.

    Attributes:
        latch: The one above.
        ears: What hears.
        robot: What the robot says and does.
        turns: Whose turn it is.
        level: How loud it was last; None before the first sound.
        hears: Set when it has heard the room for ``LEARN_S``.
    """

    def __init__(
        self,
        session: Session,
        mouth: Mouth,
        make_ears: Callable[[Callable[[HearingEvent], None]], Ears],
        *,
        latch: SafetyLatch,
        settings: DialogueSettings,
    ) -> None:
        self.settings = settings
        self.latch = latch
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._done = 0
        self._seen = (0, 0)
        """Blocks of the microphone, and calls of the thread "voice", at the last sign of life."""
        self._quitting = threading.Event()
        self._closing = f"{_CLOSING} {id(self)}"
        self._subscribers = Subscribers[events.Event | events.VoiceEvent]()
        self.level: hearing.Level | None = None
        self.hears = threading.Event()
        self._began_s = math.inf
        """When the first sound came; a sound server may take seconds until then."""
        self.ears = make_ears(self._take)
        self.ears.soft_end_ms = self.settings.preset.soft_end_ms
        self.robot = RobotSide(
            session,
            mouth,
            self.latch,
            self.settings,
            clock=lambda: self.ears.now_s,
            emit=self._emit,
            tell=self._tell,
            on_change=lambda event: self._post(partial(self.turns.change, event)),
        )
        self.turns = TurnTaking(self.ears, self.robot, self.latch, self.settings, emit=self._emit, post=self._post)
        self._may_move = True
        """The latch was not tripped when it was heard of last."""
        self._unsubscribe = self.latch.subscribe(self._latched)
        self._thread = threading.Thread(target=self._work, name="voice", daemon=True)

    def start(self) -> None:
        """Opens ears and mouth.

        Raises:
            AudioError: The device can't be opened; it may be tried again.
        """
        if self._thread.ident is None:  # else it is tried again
            self._thread.start()
            if self.settings.push_to_talk:
                self.ears.listen(False)
        self.ears.open_sound(play=self.robot.playback.fill)

    def quit(self) -> None:
        """Ends what goes on, and begins nothing more; ``close`` does the rest. Any thread."""
        self._quitting.set()
        self.latch.hold(_CLOSING, owner=self._closing)
        self.robot.foresight.leave()
        self.robot.session.abort("safety_stop")

    def close(self) -> None:
        """Ends everything, in whatever state. Safe to call again; session and mouth stay open.

        Raises:
            AudioError: The device has failed meanwhile; everything else is closed nevertheless.
        """
        self._unsubscribe()
        try:
            self.ears.close()
        finally:
            self._queue.put(None)
            if self._thread.is_alive() and self._thread is not threading.current_thread():
                self._thread.join(JOIN_S)
            self.robot.close()
            self.turns.stop_words.close()
            self.latch.release(owner=self._closing)

    @property
    def state(self) -> State:
        """As the table says."""
        return self.turns.state

    def hear(self, text: str, *, typed: bool = False) -> None:
        """Takes a text as if it had been spoken and understood; while somebody speaks, all but a stop phrase waits.

        A text without a word is nothing.

        Args:
            typed: A person has typed the text: "stop" is for the model then, unless the robot moves, speaks or thinks.
        """
        text = without_escapes(text)
        if not words_of(text):
            return
        stops = self.turns.grade(text, typed=typed) is Grade.TRIP
        if stops or (self.robot.busy and missed(text, self.settings.stop_words) is not None):
            self.stop("stop word")
        else:
            self._post(partial(self.turns.type_text, text, typed=typed))

    def say(self, text: str, *, priority: Priority = "normal", interruptible: bool = True) -> SpeechHandle:
        """Has the robot say something: at the next pause, or at once if it is urgent.

        Raises:
            BusyError: Too much waits already.
        """
        return self.robot.queue.say(text, priority=priority, interruptible=interruptible)

    def stop(self, reason: str = "user") -> None:
        """Stops everything, actuators first, then speech and thought; motion stays off until ``rearm``. When it returns
        nothing moves or sounds any more, and the model is told to stop.
        """
        if not self.latch.trip(reason):  # it is tripped already, and the robot may speak or think nevertheless
            self._latched(LatchState.TRIPPED, reason)

    def rearm(self) -> bool:
        """Allows motion again. True if it was off, or waited for a person's "continue"."""
        waited = self.turns.stop_words.move_on()
        if waited:
            self._post(partial(self.turns.fire, TableEvent.GO_ON))
        return self.latch.rearm() or waited

    def push_to_talk(self, down: bool) -> None:
        """The button of a robot that hears only while it is pressed; pressing it interrupts the robot."""
        if down:
            self._post(self.turns.press)
        self.ears.listen(down)

    def subscribe(self, subscriber: VoiceSubscriber) -> Callable[[], None]:
        """Calls it with every event of the runs and of the voice, on whatever thread it happens.

        Raises:
            ConfigError: It is async, or can't be called.
        """
        return self._subscribers.add(subscriber)

    def device(self, state: str, name: str) -> None:
        """Says that a device is "lost" or "back". One that is back is not heard yet: of that the ears tell."""
        self._emit(events.Device, state=state, name=name)
        self._post(partial(self.turns.device, state, part="card"))

    def is_alive(self) -> bool:
        """True if, since it was true last, sound of the microphone was taken up and the thread "voice" has turned.

        Call it now and then, on one thread: for a watchdog that ends a robot that is deaf or hangs.
        """
        now, before = (self.ears.blocks, self._done), self._seen
        alive = now[0] != before[0] and now[1] != before[1]
        if alive:
            self._seen = now
            self._post(lambda: None)  # so that there is something to do until the next call
        return alive

    def settle(self, timeout_s: float = 10.0) -> bool:
        """Waits until nothing more happens unless the device's clock goes on; for tests on a virtual clock."""
        end_s = time.monotonic() + timeout_s
        marks: SimpleQueue[int] = SimpleQueue()
        if not self.ears.settle(timeout_s):  # nothing that is done here makes them hear more
            return False
        before, quiet = -2, 0
        while (left_s := end_s - time.monotonic()) > 0:
            if not self.robot.settle(left_s):
                return False
            self._post(lambda: marks.put(self._done))
            try:
                done = marks.get(timeout=left_s)
            except Empty:
                return False
            quiet = quiet + 1 if done == before + 1 and self._queue.empty() else 0
            before = done
            if quiet == _QUIET_MARKS:
                return True
        return False

    # --- told by others, on their threads ---------------------------------------------------------------------------

    def _post(self, call: Callable[[], object]) -> None:
        self._queue.put(call)

    def _emit(self, kind: type[Any], **fields: Any) -> None:
        self._tell(kind(t=time.monotonic(), run_id=self.robot.runs.run_id, **fields))

    def _tell(self, event: events.Event | events.VoiceEvent) -> None:
        for subscriber in self._subscribers.all:
            try:
                subscriber(event)
            except (Exception, SystemExit):  # the builder's code
                logger.exception("a subscriber of the conversation raised")

    def _take(self, event: HearingEvent) -> None:
        if isinstance(event, hearing.KeywordSpotted) and event.keyword.phrase in self.settings.stop_words:
            self.turns.stop_words.halt()
        elif isinstance(event, hearing.Level):
            self.level = event
            self._began_s = min(self._began_s, event.now_s)
            if event.now_s - self._began_s >= LEARN_S:
                self.hears.set()
        self._post(partial(self.turns.hear, event))

    def _latched(self, state: LatchState, reason: str) -> None:
        self.robot.runs.look_again()
        if state is LatchState.TRIPPED:
            trip = self.turns.stop_words.tripped(self.ears.now_s)
            self.robot.queue.hold(everything=True)
            self.robot.session.abort("safety_stop")
            self._post(partial(self.turns.trip, trip))
        elif not self._may_move:
            self.turns.stop_words.rearmed(self.ears.now_s)
            self._post(partial(self.turns.fire, TableEvent.REARM))
        self._may_move = state is not LatchState.TRIPPED

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            if self._quitting.is_set():
                continue
            try:
                call()
                self.turns.look()
            except (Exception, SystemExit):  # a robot that moves and hears nothing any more would be the worst of all
                logger.exception("the conversation failed, so motion is off")
                self.latch.trip("the conversation failed")
            self._done += 1
            if self._quitting.is_set():  # what it has begun meanwhile
                self.robot.foresight.leave()
                self.robot.session.abort("safety_stop")
