"""Guesses at words that were not understood: "did you say: back up?", and the yes that makes the guess count.

Runs on the conversation's thread. Times are seconds of the device's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from edgeagent.english.answers import Control, control_of, is_only_no, yes_or_no
from edgeagent.english.asking import may_ask
from edgeagent.english.completeness import Phrases
from edgeagent.english.tokens import NEGATIONS, words_of
from edgeagent.stt.confirming import occurrences
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.speech_queue import SpeechHandle
from edgeagent.voice.utterance import Kind, kind_of

_LEAST_WORDS: Final = 2
_MOST_WORDS: Final = 10
"""Words of the longest question: a person who hears a longer one has forgotten how it began."""
LEAST_GUESS: Final = 0.2
"""Least confidence. In the simulated room the commands of flite's people that were heard right and not understood had
0.24 to 0.81, what was heard wrong 0.10 to 0.67."""
_LEAST_STATEMENT: Final = 0.4
"""The same for what is neither a command nor a question by any rule: "sound an alarm"."""
_ANSWER_S: Final = 12.0
"""Seconds after the question in which a yes belongs to it: the question is said in three or four."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A command or question that somebody has probably said, and is asked about.

    Attributes:
        text: What was probably said.
        asked_s: When it was asked.
        question: What the robot says.
    """

    text: str
    asked_s: float
    question: SpeechHandle

    def is_open(self, last: SpeechHandle | None, now_s: float) -> bool:
        """True if a yes would belong to the question: nothing else was said since, and not too long ago.

        Args:
            last: What the robot has said last.
        """
        return last is self.question and now_s <= self.asked_s + _ANSWER_S

    def answered(self, text: str) -> bool | None:
        """True for a clear yes to it, False for a no and nothing else; None: it is something else that was said, or by
        somebody who had not heard the question but for its last word.

        Args:
            text: As it was understood.
        """
        if len(self.question.heard.split()) < len(self.question.text.split()) - 1:
            return None
        answer = yes_or_no(text)
        return None if answer is False and not is_only_no(words_of(text)) else answer


def guessed(
    transcript: Transcript, phrases: Phrases, stop_words: Sequence[str], *, stopped: bool = False
) -> str | None:
    """Returns the part of an utterance that was not understood and is worth a question, because it may ask for
    something.

    None for a prohibition, for what has a stop word in it, and for controls.

    Args:
        stopped: Motion is off. "You can move", which sounds like its contrary, is asked about then; "continue" alone is
            said again as fast.
    """
    text, confidence = transcript.text, transcript.confidence
    if NEGATIONS.search(text) or occurrences(transcript, stop_words):
        return None
    if not _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS or confidence is None or confidence < LEAST_GUESS:
        return None
    if (controlled := control_of(text)) is not None:
        return text if stopped and controlled.control is Control.CONTINUE else None
    kind = kind_of(replace(transcript, understood=True), phrases=phrases)
    probably = kind is Kind.STATEMENT and confidence >= _LEAST_STATEMENT and may_ask(text, phrases)
    return text if probably or kind in (Kind.COMMAND, Kind.QUESTION) else None
