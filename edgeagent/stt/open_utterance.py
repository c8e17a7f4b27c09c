"""The utterance that is open: what the endpointer says of it becomes events, and work for the transcriber.

The events are told at once, and the work is handed over after them, so that no result comes before what it is a result
of. The ears' thread. Knows no device and no clock: it is told the times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from edgeagent.audio.device import Samples
from edgeagent.audio.endpoint import Endpointer, HardEnd, SoftEnd, SpeechResumed, SpeechStarted, VoiceEvent
from edgeagent.stt.hearing import HearingEvent, Trouble
from edgeagent.stt.transcription import PART, Transcription


class OpenUtterance:
    """The open utterance, or the last one.

    Args:
        endpointer: Has its sound.
        transcription: Hears it.
        tell: Told of ``SpeechStarted``, ``SoftEnd``, ``SpeechResumed``, ``HardEnd``, and ``Trouble``.
        speculate_under_s: Decode at the soft end if that costs less; 0: never.

    Attributes:
        number: Number of the utterance; 0 before the first.
        judge: A turn-end model: the probability that the speaker is done, by the sound until the soft end. On the
            transcriber's thread.
    """

    def __init__(
        self,
        endpointer: Endpointer,
        transcription: Transcription,
        tell: Callable[[HearingEvent], None],
        *,
        speculate_under_s: float,
    ) -> None:
        self._endpointer, self._transcription, self._tell = endpointer, transcription, tell
        self._speculate_under_s = speculate_under_s
        self.number = 0
        self.judge: Callable[[Samples], float] | None = None
        self._fed = 0
        """Samples that the transcriber has heard of it."""
        self._soft = False
        self._waits = False
        """True if the utterance has ended softly, but the transcriber has not been told: the end is not certain."""
        self._slow = False
        """True if a decode costs too much to begin before the end is certain."""
        self._faded_at: int | None = None
        """When the utterance faded, as far as the transcriber knows, and so expects its end."""
        self._work: list[Callable[[], object]] = []

    @property
    def voiced(self) -> bool:
        """Somebody speaks: it is open, and has not ended softly."""
        return self._endpointer.speaking and not self._soft

    def take(self, event: VoiceEvent, at_s: float) -> None:
        """Takes an event of the endpointer, and tells of it with times of the device's clock; ``at_s`` is its own."""
        self.number = event.utterance
        match event:
            case SpeechStarted(pre_roll=pre_roll):
                self._soft = self._waits = False
                self._hear_from_start(pre_roll)
            case SoftEnd():
                self._hear_on()
                self._expect_end()
                self._soft, self._waits = True, not self._speculates()
                if self.judge is not None and self._endpointer.speaking:  # else the hard end comes with it
                    sound = self._endpointer.utterance()
                    self._work.append(partial(self._transcription.judge, self.number, sound, self.judge))
                if not self._waits:
                    self._decode(at_s)
            case SpeechResumed():
                if not self._waits:  # what was decoded is void
                    self._hand_over()
                    self._transcription.void()
                    self._hear_from_start(self._endpointer.utterance())
                self._soft = self._waits = False
                self._expect_end()
            case HardEnd(samples=samples):
                self._end(samples, at_s)
        self._tell(_shifted(event, at_s - event.at_s))

    def pass_on(self) -> None:
        """Hands over what there is to do for the transcriber, and what it has not heard yet."""
        self._hear_on()
        self._expect_end()
        self._hand_over()

    def look_early(self, at_s: float) -> None:
        """Has the transcriber hear what was said until now, unless nobody speaks: then it will hear all of it soon."""
        if self.voiced and not self._endpointer.pausing:
            self._transcription.look_early(self.number, at_s)

    def _expect_end(self) -> None:
        """Tells the transcriber when a pause begins that may be the end, and when speech goes on after all."""
        faded_at = self._endpointer.faded_at if self._speculate_under_s else None
        if faded_at != self._faded_at and not self._soft:
            self._faded_at = faded_at
            self._work.append(partial(self._transcription.expect_end, faded_at is not None))

    def _hand_over(self) -> None:
        work, self._work = self._work, []
        for each in work:
            each()

    def _hear_from_start(self, samples: Samples) -> None:
        self._faded_at = None
        self._fed = len(samples)
        self._work.append(partial(self._transcription.begin, self.number, samples))

    def _hear_on(self) -> None:
        if self._endpointer.speaking and (self._waits or not self._soft):
            samples = self._endpointer.utterance(self._fed)
            self._fed += len(samples)
            self._work.append(partial(self._transcription.feed, samples))

    def _decode(self, at_s: float) -> None:
        self._work.append(partial(self._transcription.finish, self.number, at_s))

    def _end(self, samples: Samples, at_s: float) -> None:
        if self._waits:
            self._work.append(partial(self._transcription.feed, samples[self._fed :]))
        elif not self._soft:  # it was cut: more was passed on than belongs to it
            self._hear_from_start(samples)
        if self._waits or not self._soft:
            self._decode(at_s)
        self._soft = self._waits = False

    def _speculates(self) -> bool:
        """True if decoding begins before the end is certain; a change of that is logged."""
        if not self._speculate_under_s:
            return False
        cost_s = self._transcription.cost_s
        slow = cost_s is not None and cost_s > self._speculate_under_s
        if slow is not self._slow:
            self._slow = slow
            when = "when it is certain that an utterance has ended" if slow else "at the first pause again"
            self._tell(
                Trouble(PART, f"a decode takes {cost_s:.1f} s here: it begins {when}", over=not slow, lost=False)
            )
        return not slow


def _shifted(event: VoiceEvent, by_s: float) -> VoiceEvent:
    """Returns an event of the stream's clock with the times of the device's."""
    if isinstance(event, (SpeechStarted, HardEnd)) and event.begin_s is not None:
        return replace(event, at_s=event.at_s + by_s, begin_s=event.begin_s + by_s)
    return replace(event, at_s=event.at_s + by_s)
