"""Loss of the means to tell the robot to stop: what the ears' troubles amount to, and for how long they have lasted.

The conversation's thread. Knows no latch. Times are seconds of the device's clock.
"""

from __future__ import annotations

from typing import Final

from edgeagent.stt.hearing import HearingEvent, PartialWords, Spotted, Transcribed, Trouble

EARS_S: Final = 1.0
"""Ears that fail or are behind for so long hear no stop word in time."""
RECOGNISERS_S: Final = 3.0
"""The same where both the spotter and the transcriber are lost: each is started again within two seconds, as a rule."""
_EARS: Final = frozenset({"ears"})
_RECOGNISERS: Final = frozenset({"keywords", "transcriber"})


class HearingLoss:
    """Parts of the hearing that are lost, and since when."""

    def __init__(self) -> None:
        self._since_s: dict[tuple[str, str], float] = {}
        """By part and source."""

    def take(self, event: HearingEvent, now_s: float) -> None:
        """A part is in trouble, or shows that it works."""
        match event:
            case Trouble(part=part, source=source, lost=True):
                if event.over:
                    self._since_s.pop((part, source), None)
                else:
                    self._since_s.setdefault((part, source), now_s)
            case Spotted():
                self._works("keywords")
            case PartialWords():
                self._works("transcriber")
            case Transcribed(transcript=transcript) if transcript.text:
                self._works("transcriber")

    def deaf(self, now_s: float) -> bool:
        """True if no stop word would be heard in time."""
        return self._lost(_EARS, now_s - EARS_S) or self._lost(_RECOGNISERS, now_s - RECOGNISERS_S)

    def _works(self, part: str) -> None:
        self._since_s = {key: since_s for key, since_s in self._since_s.items() if key[0] != part}

    def _lost(self, parts: frozenset[str], before_s: float) -> bool:
        return parts <= {part for (part, _), since_s in self._since_s.items() if since_s <= before_s}
