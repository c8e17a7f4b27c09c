"""Whether the robot can still be told to stop: what the ears' troubles amount to, and for how long they have lasted.

The conversation's thread. Knows no latch. Times are seconds of the device's clock.
"""

from __future__ import annotations

from typing import Final

from edgeagent.stt.hearing import HearingEvent, Partial, Spotted, Transcribed, Trouble

EARS_S: Final = 1.0
"""Ears that fail or are behind for so long hear no stop word in time."""
RECOGNISERS_S: Final = 3.0
"""The same where both the spotter and the transcriber are lost: each is started again within two seconds, as a rule."""
_EARS: Final = frozenset({"ears"})
_RECOGNISERS: Final = frozenset({"keywords", "transcriber"})


class HearingLoss:
    """What is lost, and since when."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}

    def take(self, event: HearingEvent, now_s: float) -> None:
        """A part is in trouble, or shows that it works."""
        match event:
            case Trouble(part=part, over=over):
                if over:
                    self._since_s.pop(part, None)
                else:
                    self._since_s.setdefault(part, now_s)
            case Spotted():
                self._since_s.pop("keywords", None)
            case Partial():
                self._since_s.pop("transcriber", None)
            case Transcribed(transcript=transcript) if transcript.text:
                self._since_s.pop("transcriber", None)

    def deaf(self, now_s: float) -> bool:
        """Whether no stop word would be heard in time."""
        return self._lost(_EARS, now_s - EARS_S) or self._lost(_RECOGNISERS, now_s - RECOGNISERS_S)

    def _lost(self, parts: frozenset[str], before_s: float) -> bool:
        return all(self._since_s.get(part, before_s + 1.0) <= before_s for part in parts)
