"""Utterances on their way through a recogniser: the thread "transcriber", and what it was given to do.

The ears' thread gives it work and never waits for it. A result that is not wanted any more is stopped, and never told.
Knows no device and no end of speech.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Final, Protocol, runtime_checkable

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import RecognitionError
from edgeagent.stop import JOIN_S
from edgeagent.stt.hearing import (
    EarlyLook,
    FinalTranscript,
    HearingEvent,
    Judged,
    PartialTranscript,
    RecognisedText,
    Transcriber,
    Trouble,
)

log: Final = logging.getLogger("edgeagent.stt")

PART: Final = "transcriber"
"""Of ``Trouble``."""
_NOTHING: Final[Samples] = np.zeros(0, np.float32)


@runtime_checkable
class Costly(Protocol):
    """A transcriber that knows what a decode costs; None before the first. Speculation depends on it."""

    @property
    def cost_s(self) -> float | None: ...


@runtime_checkable
class EarlyLooking(Protocol):
    """A transcriber that can hear the beginning of an utterance while it goes on.

    Attributes:
        doubted: Phrases that may have been said just now; any thread sets them. They are looked for in a short
            utterance, and in what an early look hears: each is ``excluded`` from the transcript if no text with it fits
            the sound nearly as well.
    """

    doubted: Sequence[str]

    def look_early(self, told: Callable[[RecognisedText], object]) -> None:
        """Begins to hear what was fed until now, and calls ``told`` on another thread if there are words in it. Ends
        without where ``finish`` comes before."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A transcriber that can begin to decode before it is told that an utterance has ended."""

    def expect_end(self, expected: bool) -> None:
        """A pause has begun: if ``finish`` is next, all that was said was fed before. False: speech goes on. Again True
        without that: the pause begins only now. ``begin`` voids it."""
        ...


@runtime_checkable
class Idling(Protocol):
    """A transcriber that works elsewhere, and can be waited for."""

    def wait_idle(self, timeout_s: float = 10.0) -> bool: ...


@dataclass(slots=True, eq=False)
class _Decode:
    """One end of an utterance on its way."""

    utterance: int
    at_s: float
    stop: Event = field(default_factory=Event)
    void: bool = False
    asked_s: float = field(default_factory=time.monotonic)
    begun_s: float = 0.0
    """Both by the wall's clock."""


class Transcription:
    """Has a transcriber hear utterances, one after the other.

    Args:
        transcriber: Closed at the end.
        emit: Told of ``PartialTranscript``, ``FinalTranscript`` and ``Trouble`` on this thread, and of ``EarlyLook`` on
            one of the transcriber's.
        now: The device's clock.
        limit_s: A decode that takes longer, by the wall's clock, is given up; one that has waited longer for those
            before it is not begun: nobody expects an answer to that any more.
    """

    def __init__(
        self,
        transcriber: Transcriber,
        emit: Callable[[HearingEvent], None],
        now: Callable[[], float],
        *,
        limit_s: float,
    ) -> None:
        self._transcriber, self._emit, self._now, self._limit_s = transcriber, emit, now, limit_s
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._telling = threading.Lock()
        self._asked: _Decode | None = None
        """The newest one that may still turn out to be void."""
        self._running: _Decode | None = None
        self._utterance = 0
        self._open = False
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=PART, daemon=True)
        self._thread.start()

    # --- the ears' thread -------------------------------------------------------------------------------------------

    @property
    def cost_s(self) -> float | None:
        """Seconds that a decode costs; None where that is not known, or does not matter."""
        return self._transcriber.cost_s if isinstance(self._transcriber, Costly) else None

    def begin(self, utterance: int, samples: Samples) -> None:
        """An utterance from its beginning on; also again, when what was decoded of it is void."""
        self._queue.put(partial(self._begin, utterance, samples))

    def feed(self, samples: Samples) -> None:
        """Continues the utterance."""
        if len(samples):
            self._queue.put(partial(self._feed, samples))

    def doubt(self, phrases: Sequence[str]) -> None:
        """Tells a transcriber that can look for them which phrases may have been said just now. Any thread."""
        if isinstance(self._transcriber, EarlyLooking):
            self._transcriber.doubted = phrases

    def look_early(self, utterance: int, at_s: float) -> None:
        """Has what was fed of the utterance until then heard before its end, where the transcriber can."""
        self._queue.put(partial(self._look_early, utterance, at_s))

    def expect_end(self, expected: bool) -> None:
        """A pause has begun that may be the end of the utterance; False: it was not."""
        self._queue.put(partial(self._expect_end, expected))

    def finish(self, utterance: int, at_s: float) -> None:
        """The utterance has ended, at a time of the device's clock: it is decoded."""
        self._asked = decode = _Decode(utterance, at_s)
        self._queue.put(partial(self._finish, decode))

    def judge(self, utterance: int, samples: Samples, judge: Callable[[Samples], float]) -> None:
        """A turn-end model hears the utterance before it is decoded."""
        self._queue.put(partial(self._judge, utterance, samples, judge))

    def void(self) -> None:
        """Makes a decode void, because the utterance had not ended: the result, if there is none yet, is never told."""
        with self._telling:
            if self._asked is not None:
                self._asked.void = True
                self._asked.stop.set()
                self._asked = None

    def expire(self) -> None:
        """Gives up a decode that takes too long."""
        decode = self._running
        if decode is not None and not decode.stop.is_set() and time.monotonic() - decode.begun_s > self._limit_s:
            self._say(f"there is no transcript after {self._limit_s:g} s; it is given up")
            decode.stop.set()  # the empty transcript comes after that

    def call(self, told: Callable[[], object]) -> None:
        """Calls it when all that was asked for until now is done, and the transcriber has nothing left to tell."""
        self._queue.put(self._wait_idle)
        self._queue.put(told)

    def close(self) -> None:
        """Ends what is going on, and the transcriber."""
        self._closing = True
        self.void()
        if (running := self._running) is not None:
            running.stop.set()
        self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
        self._transcriber.close()

    # --- the transcriber's thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            if self._closing:
                continue
            try:
                call()
            except Exception as error:  # whatever engine a builder has brought
                log.exception("the transcriber failed")
                self._say(f"it failed: {error}")

    def _begin(self, utterance: int, samples: Samples) -> None:
        self._utterance, self._open = utterance, True
        self._transcriber.begin()
        self._feed(samples)

    def _feed(self, samples: Samples) -> None:
        known = self._transcriber.feed(samples)
        if known is not None and known.text:
            self._emit(PartialTranscript(self._utterance, known))

    def _look_early(self, utterance: int, at_s: float) -> None:
        if self._open and isinstance(self._transcriber, EarlyLooking):
            self._transcriber.look_early(lambda text: self._emit(EarlyLook(utterance, text, at_s)))

    def _expect_end(self, expected: bool) -> None:
        if self._open and isinstance(self._transcriber, Foreseeing):
            self._transcriber.expect_end(expected)

    def _judge(self, utterance: int, samples: Samples, judge: Callable[[Samples], float]) -> None:
        try:
            self._emit(Judged(utterance, judge(samples)))
        except RecognitionError as error:
            self._say(str(error))

    def _wait_idle(self) -> None:
        if self._open and isinstance(self._transcriber, Idling):  # what has ended was waited for already
            self._transcriber.wait_idle()
            self._feed(_NOTHING)

    def _finish(self, decode: _Decode) -> None:
        if decode.stop.is_set():
            return
        self._open = False
        decode.begun_s = time.monotonic()
        self._running = decode
        transcript = self._overtaken(decode) or self._decoded(decode)
        self._running = None
        with self._telling:  # or it would be told after speech was said to go on
            if decode.void or self._closing:
                return
            if self._asked is decode:
                self._asked = None
            self._emit(FinalTranscript(decode.utterance, transcript, decode.at_s, max(self._now() - decode.at_s, 0.0)))

    def _overtaken(self, decode: _Decode) -> RecognisedText | None:
        """Nothing, in place of what comes too late."""
        if decode.begun_s - decode.asked_s <= self._limit_s:
            return None
        self._say(f"people say more than it can follow: what was said {self._limit_s:g} s ago is left out")
        return RecognisedText("", understood=False, engine=self._transcriber.name)

    def _decoded(self, decode: _Decode) -> RecognisedText:
        """Decodes an utterance; where the words can't be known, the transcript is empty."""
        name = self._transcriber.name
        try:
            transcript = self._transcriber.finish(decode.stop)
        except RecognitionError as error:
            if not decode.stop.is_set():
                self._say(str(error))
        except Exception as error:  # whatever engine a builder has brought
            log.exception("the transcriber failed")
            self._say(f"it failed: {error}")
        else:
            if transcript.final:
                return transcript
        return RecognisedText("", understood=False, engine=name)

    def _say(self, text: str) -> None:
        self._emit(Trouble(PART, text))
