"""Plays utterances and knows what of them was heard.

``fill`` runs in the device's callback and waits for nothing: it shares only queues and single attributes with the other
threads, which the interpreter reads and writes whole. Knows nothing of text or synthesis.
"""

from __future__ import annotations

import bisect
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """``source[:end]`` has been said when this word has; it sounds from ``at_s`` to ``until_s`` of its utterance."""

    end: int
    at_s: float
    until_s: float


class HeardText:
    """The words of one utterance, in the order in which they are spoken. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: list[SpokenWord] = []

    def add(self, *words: SpokenWord) -> None:
        """Words that will be spoken after those that are there."""
        with self._lock:
            self._words.extend(words)

    def end(self, heard_s: float) -> int:
        """The offset in the source up to which it was heard: a word counts when more than half of it has sounded.

        Args:
            heard_s: Seconds of the utterance that have left the loudspeaker.
        """
        with self._lock:
            count = bisect.bisect_left(self._words, heard_s, key=lambda word: (word.at_s + word.until_s) / 2)
            return self._words[count - 1].end if count else 0


_FADE_S: Final = 0.005
"""Long enough that no click is heard, shorter than the shortest block."""
_VOLUME_S: Final = 0.05
"""In which another volume is reached."""
_MARKS: Final = 200
"""Blocks whose times are remembered: two seconds of them, more than any latency that is usable."""
_CONTINUOUS: Final = 0.5
"""Samples by which the next stretch may be early or late and still go on where the last one ended."""


class Utterance:
    """One stretch of speech, sentence after sentence without a gap.

    Attributes:
        handed: Samples that were given to the device.
        complete: Nothing more will be written to it.
        starved: Blocks for which there was too little, though it was not complete.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.handed = 0
        self.written = 0
        self.complete = False
        self.dropped = False
        self.starved = 0

    @property
    def ended(self) -> bool:
        """All of it was given to the device, or it was flushed."""
        return self.dropped or (self.complete and self.handed >= self.written)

    @property
    def handed_s(self) -> float:
        """Seconds of it that were given to the device, and will be heard when its latency is over."""
        return self.handed / self.rate_hz

    @property
    def queued_s(self) -> float:
        """Seconds that wait to be played."""
        return 0.0 if self.dropped else (self.written - self.handed) / self.rate_hz


class PlaybackQueue:
    """The loudspeaker's queue of utterances.

    Args:
        rate_hz: Of the loudspeaker; what is written has this rate.

    Attributes:
        volume: Linear, 0 to 1; may be set at any time.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.volume = self._gain = 1.0
        self._live: list[Utterance] = []
        self._queue: deque[tuple[Utterance, Samples]] = deque()
        self._rest: tuple[Utterance, Samples] | None = None
        self._held = False
        self._silent = True
        self._sounding: Utterance | None = None
        self._begin_lock = threading.Lock()
        self._marks: deque[tuple[float, Utterance | None, int, int]] = deque(maxlen=_MARKS)
        self._fade = max(int(rate_hz * _FADE_S), 1)

    # --- any thread -------------------------------------------------------------------------------------------------

    def begin(self) -> Utterance:
        """A new utterance, to be played after those before it."""
        utterance = Utterance(self.rate_hz)
        with self._begin_lock:
            self._live = [*(known for known in self._live if not known.ended), utterance]
        return utterance

    def write(self, utterance: Utterance, samples: Samples) -> None:
        """Queues the next samples of an utterance; a flushed one takes none."""
        if len(samples) and not utterance.dropped:
            utterance.written += len(samples)
            self._queue.append((utterance, samples))

    def finish(self, utterance: Utterance) -> None:
        """Says that an utterance is complete."""
        utterance.complete = True

    def hold(self) -> None:
        """Silence from the next block on; ``resume`` goes on with the sample after the last one that was heard."""
        self._held = True

    def resume(self) -> None:
        """Plays on where it was held."""
        self._held = False

    @property
    def held(self) -> bool:
        return self._held

    def flush(self) -> None:
        """Drops everything from the next block on."""
        for utterance in self._live:
            if not utterance.ended:
                utterance.dropped = True

    @property
    def queued_s(self) -> float:
        """Seconds of all utterances that wait to be played."""
        return sum(utterance.queued_s for utterance in self._live)

    def heard_s(self, utterance: Utterance, now_s: float) -> float:
        """Seconds of an utterance that have left the loudspeaker.

        Args:
            now_s: The device's clock.
        """
        best = None
        for began_s, whose, position, count in list(self._marks):
            if whose is utterance and (began_s <= now_s or best is None):
                best = (began_s, position, count)
        if best is None:  # nothing of it was played yet, or so long ago that nothing of it is left to come
            return utterance.handed_s
        began_s, position, count = best
        out = min(max((now_s - began_s) * self.rate_hz, -position), count)
        return (position + out) / self.rate_hz

    # --- the device's thread ----------------------------------------------------------------------------------------

    def fill(self, block: Samples, dac_s: float) -> None:
        """Writes the next block of the loudspeaker."""
        block[:] = 0.0
        at = 0
        if self._rest is None and self._queue:
            self._rest = self._queue.popleft()
        if self._held or (self._rest is not None and self._rest[0].dropped):
            at = self._fade_out(block, dac_s)
        while at < len(block) and not self._held:
            piece = self._next()
            if piece is None:
                break
            utterance, samples = piece
            count = min(len(samples), len(block) - at)
            block[at : at + count] = samples[:count]
            if self._silent:
                self._ramp(block[at : at + count], up=True)
            self._silent = False
            self._account(utterance, dac_s + at / self.rate_hz, count)
            self._rest = None if count == len(samples) else (utterance, samples[count:])
            at += count
        if at < len(block) and not self._held:
            self._starve(at)
        self._apply_gain(block)

    def _next(self) -> tuple[Utterance, Samples] | None:
        """Returns what is to be played next; what was flushed is skipped."""
        piece, self._rest = self._rest, None
        while piece is None or piece[0].dropped:
            try:
                piece = self._queue.popleft()
            except IndexError:
                return None
        return piece

    def _fade_out(self, block: Samples, dac_s: float) -> int:
        """Ends what was playing within the first milliseconds of the block, and returns how many samples that took.

        What is held is played again later; what was flushed is gone.
        """
        was_silent, self._silent = self._silent, True
        if was_silent or self._rest is None or self._rest[0] is not self._sounding:
            return 0
        utterance, samples = self._rest
        count = min(self._fade, len(block), len(samples))
        block[:count] = samples[:count]
        self._ramp(block[:count], up=False)
        if utterance.dropped:
            self._account(utterance, dac_s, count)
            self._rest = None
        return count

    def _account(self, utterance: Utterance, dac_s: float, count: int) -> None:
        self._sounding = utterance
        if self._marks:
            began_s, whose, position, before = self._marks[-1]
            late = abs(began_s + before / self.rate_hz - dac_s) * self.rate_hz
            if whose is utterance and position + before == utterance.handed and late < _CONTINUOUS:
                self._marks[-1] = (began_s, utterance, position, before + count)
                utterance.handed += count
                return
        self._marks.append((dac_s, utterance, utterance.handed, count))
        utterance.handed += count

    def _starve(self, at: int) -> None:
        """The queue is empty: either all is said, or the mouth is too slow."""
        if self._marks:
            utterance = self._marks[-1][1]
            if utterance is not None and not utterance.complete and not utterance.dropped:
                utterance.starved += 1
        self._silent = True

    def _apply_gain(self, block: Samples) -> None:
        target = self.volume
        if self._gain == target:
            if target != 1.0:
                block *= target
            return
        step = len(block) / (self.rate_hz * _VOLUME_S)
        reached = target if abs(target - self._gain) <= step else self._gain + (step if target > self._gain else -step)
        block *= np.linspace(self._gain, reached, len(block), dtype=np.float32)
        self._gain = reached

    def _ramp(self, samples: Samples, *, up: bool) -> None:
        count = min(self._fade, len(samples))
        ramp = np.linspace(0.0, 1.0, count, dtype=np.float32)
        if up:
            samples[:count] *= ramp
        else:
            samples[:count] *= ramp[::-1]
