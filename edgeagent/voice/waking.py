"""Wake words in what was said. Pure functions, on any thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgeagent.voice.turn import Turn

_CALL_S: Final = 0.4
"""Speech that ends so soon after the wake word was nothing else."""


def without_wake_word(text: str, phrases: Iterable[str]) -> str:
    """What was said after the wake word, or all of it where it does not begin with one."""
    for phrase in phrases:
        if text.casefold().startswith(phrase.casefold()):
            return text[len(phrase) :].lstrip(" ,.!?")
    return text.strip()


def only_called(turn: Turn) -> bool:
    """Whether it was the wake word and no more, though the recogniser did not know it."""
    understood = turn.transcript is not None and turn.transcript.understood
    if understood or turn.woken_s is None or turn.soft_end_s is None:
        return False
    return turn.soft_end_s - turn.woken_s <= _CALL_S
