"""From a stop word that was spotted to what it meant: the transcript decides, or the time.

Knows neither latch nor loudspeaker. Runs on the conversation's thread. Times are seconds of the device's clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from edgeagent.stt.confirming import confirm, missed
from edgeagent.stt.keywords import Keyword
from edgeagent.stt.types import Transcript

AFTER_SPEECH_S: Final = 1.0
"""So long after the end of the speech an unclear stop word counts (contract, section 4);"""
AFTER_WORD_S: Final = 3.0
"""so long after the word at most."""
ALONE_S: Final = 0.8
"""So long after a word in the robot's own voice it is certain that nobody has spoken: voice activity takes up to half a
second over the robot's voice. Of 58 stop words that people said over it and that were spotted, one was not noticed as
speech, at an echo of +6 dB; so this holds only where nothing moves."""
_APART_S: Final = 0.5
"""The utterance of a word may begin so much after the word ends: voice activity is slower than the spotter."""
_FIRST_S: Final = 0.3
"""A word that begins later after the onset of the speech has others before it."""

Outcome = Literal["trip", "release"]


class StopWatch:
    """The stop words that wait for their transcript.

    Args:
        phrases: All stop words.
    """

    def __init__(self, phrases: Sequence[str]) -> None:
        self._phrases = tuple(phrases)
        self._word: Keyword | None = None
        self._speech_end_s: float | None = None
        self._alone = False
        self.phrase = ""
        """The one that was spotted last."""

    @property
    def waiting(self) -> bool:
        return self._word is not None

    def spotted(self, keyword: Keyword, *, alone: bool = False) -> None:
        """Another stop word: the time begins anew.

        Args:
            alone: The robot speaks, and nobody else was heard: unless somebody is, the word was in its own voice.
        """
        self._alone = alone and (self._word is None or self._alone)
        self._word = keyword
        self.phrase = keyword.phrase
        self._speech_end_s = None

    def speech(self, *, ended_s: float | None) -> None:
        """Somebody speaks (None), or has stopped."""
        self._speech_end_s = ended_s

    def told(self, transcript: Transcript, *, onset_s: float = math.inf) -> Outcome | None:
        """What a transcript of that speech, partial or final, makes of it. Also what the spotter has missed.

        Args:
            onset_s: Of the speech. A partial transcript is a guess that often lacks the "don't" before the word: it
                confirms only a word with which the speech begins.
        """
        if self._word is None:
            return "trip" if transcript.final and missed(transcript, self._phrases) is not None else None
        verdict = confirm(transcript, self._word.phrase)
        if verdict == "confirmed" and not transcript.final and self._word.start_s > onset_s + _FIRST_S:
            return None
        if verdict != "confirmed" and transcript.final and missed(transcript, self._phrases) is not None:
            verdict = "confirmed"
        if verdict == "unclear":
            return None
        self._word = None
        return "trip" if verdict == "confirmed" else "release"

    def begun(self, onset_s: float) -> None:
        """Somebody has begun to speak: it may be that speech which holds the word."""
        self._speech_end_s = None
        if self._word is not None and onset_s <= self._word.end_s + _APART_S:
            self._alone = False

    def due(self, now_s: float) -> Outcome | None:
        """What the word was, if nobody has said in time what was meant: it counts, unless nobody has spoken."""
        if self._word is None:
            return None
        if self._alone and now_s >= self._word.end_s + ALONE_S:
            self._word = None
            return "release"
        by_s = self._word.end_s + AFTER_WORD_S
        if self._speech_end_s is not None:
            by_s = min(by_s, max(self._speech_end_s, self._word.end_s) + AFTER_SPEECH_S)
        if now_s < by_s:
            return None
        self._word = None
        return "trip"

    def forget(self) -> None:
        """It was decided otherwise."""
        self._word = None
