"""Wake words in what was said. Pure functions, on any thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from edgeagent.english.tokens import after, words_of
from edgeagent.stt.confirming import missed
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.turn import Turn

_CALL_S: Final = 0.4
"""Speech that ends so soon after the wake word was nothing else."""


def without_wake_word(text: str, phrases: Iterable[str]) -> str:
    """Returns the words after the wake word, be it said twice, or all of it where it does not begin with one."""
    phrases = [phrase for phrase in phrases if words_of(phrase)]
    while rests := [rest for phrase in phrases if (rest := after(text, phrase)) is not None]:
        text = min(rests, key=len)
    return text.strip()


def is_called(transcript: Transcript, phrases: Sequence[str]) -> bool:
    """True if an utterance begins with a wake word, or has one as a call: the spotter has missed it."""
    begins = any(after(transcript.text, phrase) is not None for phrase in phrases if words_of(phrase))
    return (transcript.understood and begins) or missed(transcript, phrases) is not None


def only_called(turn: Turn) -> bool:
    """True if the turn was the wake word and no more, though the recogniser did not know it."""
    understood = turn.transcript is not None and turn.transcript.understood
    if understood or turn.woken_s is None or turn.soft_end_s is None:
        return False
    return turn.soft_end_s - turn.woken_s <= _CALL_S
