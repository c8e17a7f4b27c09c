"""Stop words by the network in three streams of one moment: the microphone, what is left of it without the robot's own
voice, and what the loudspeaker plays.

The microphone alone has every stop word of a person as it was said, and the robot's own; what is left of it has a
person's over a loud echo, and is blurred over a soft one. A word that the loudspeaker does not play is not the robot's
own. Knows nothing of what was meant. ``likely`` and ``likeliest`` may be asked on any thread, the rest is one thread's.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from edgeagent.audio.device import Samples
from edgeagent.stt.hearing import SpottedPhrase
from edgeagent.stt.stop_network import StopNetwork

__all__ = ["StopVotes"]

OWN: Final = 0.3
"""Probability of a word in what the loudspeaker plays from which on the microphone's is the robot's own. In 42 minutes
of its own speech at -12 to +6 dB, each word that the network was sure of in the microphone had 0.63 there at least."""
_FOREIGN, _CLEAR = 0.1, 0.95
"""The same under which a word is certainly somebody else's, and the probability that it needs in what is heard. A word
that the robot says is somebody else's if it is as clear in what is left: in 65 minutes of the robot's own speech at -20
to +6 dB four had 0.79 to 0.86 there."""
_PLAYED_S: Final = (-1.3, 0.3)
"""Beside the end of a word, when it may have been played: a sound system may keep a second of sound."""
_TAIL_S: Final = 0.2
"""Seconds after the robot's speech in which a word may end that began in it."""


class StopVotes:
    """Listens for stop words in a microphone, with the robot's own voice in it or without.

    Args:
        words: Some of ``stop_network.WORDS`` and ``WAITS``.

    Raises:
        RecognitionError: onnxruntime or the network's file is missing, or the file is not this network.
    """

    def __init__(self, words: Collection[str]) -> None:
        self._words = tuple(words)
        self._microphone = StopNetwork(words)
        self._left, self._played = self._microphone.twin(), self._microphone.twin()
        self._hears_left = False
        self._spoke_until_s = -math.inf

    def reset(self) -> None:
        """Forgets what was heard: what follows has nothing to do with it."""
        for network in (self._microphone, self._left, self._played):
            network.reset()
        self._hears_left, self._spoke_until_s = False, -math.inf

    def process(
        self, microphone: Samples, at_s: float, *, left: Samples, played: Samples | None = None
    ) -> list[SpottedPhrase]:
        """Hears the next block.

        Args:
            microphone: At 16 kHz in [-1, 1], any number.
            at_s: Time of the first sample, in seconds.
            left: As many samples without the robot's own voice.
            played: As many samples as the loudspeaker played them, a second before their echo at most; None: it is
                silent.

        Returns:
            The words that have just ended, usually none.
        """
        if played is not None:
            self._spoke_until_s = at_s
            self._played.process(played, at_s)
        found = self._others(self._microphone.process(microphone, at_s), self._microphone)
        before, self._hears_left = self._hears_left, at_s <= self._spoke_until_s + _TAIL_S
        if not self._hears_left:
            return found
        if not before:
            self._left.reset()
        found += self._others(self._left.process(left, at_s), self._left, unless_clear=True)
        return [
            replace(keyword, foreign=keyword.score >= _CLEAR and self._said(keyword) < _FOREIGN) for keyword in found
        ]

    def refuse(self, word: str) -> None:
        """Lets a word be found again at once: the one that was found did not count."""
        self._microphone.refuse(word)
        self._left.refuse(word)

    def speaks(self, at_s: float) -> bool:
        """True if a word that ends then may have been said in the robot's newest speech. Any thread."""
        return at_s < self._spoke_until_s + _TAIL_S

    def likely(self, word: str, begin_s: float, end_s: float) -> float:
        """Returns how likely a word was at most, from 0 to 1, between two times, and not the robot's own; 1 if not all
        of that was heard, because the stream began later or three seconds have passed."""
        left = self._left.most(word, begin_s, end_s)
        own = self._is_own(word, begin_s, end_s)
        return left if own else max(left, self._microphone.likely(word, begin_s, end_s))

    def likeliest(self, begin_s: float, end_s: float) -> SpottedPhrase | None:
        """Returns the stop word that was most likely to end between two times, told or not, and not the robot's own;
        None if nothing was heard then, or three seconds have passed."""
        own = [word for word in self._words if self._is_own(word, begin_s, end_s)]
        found = (self._left.likeliest(begin_s, end_s), self._microphone.likeliest(begin_s, end_s, but=own))
        return max((word for word in found if word is not None), key=lambda word: word.score, default=None)

    def _others(
        self, found: list[SpottedPhrase], network: StopNetwork, *, unless_clear: bool = False
    ) -> list[SpottedPhrase]:
        """Lists the words but for the robot's own, after each of which another may come at once.

        Args:
            unless_clear: A clear stop word is none of the robot's own.
        """
        own = [
            word
            for word in found
            if self._is_own(word.phrase, word.end_s, word.end_s)
            and not (unless_clear and word.score >= _CLEAR and not word.waits)
        ]
        for word in own:
            network.refuse(word.phrase)
        return [word for word in found if word not in own]

    def _said(self, keyword: SpottedPhrase) -> float:
        """Probability that the robot itself has said a word."""
        before_s, after_s = _PLAYED_S
        return self._played.most(keyword.phrase, keyword.end_s + before_s, keyword.end_s + after_s)

    def _is_own(self, word: str, begin_s: float, end_s: float) -> bool:
        """True if a word that ends in the robot's speech, between two times, is one that it said."""
        before_s, after_s = _PLAYED_S
        return self.speaks(begin_s) and self._played.most(word, begin_s + before_s, end_s + after_s) >= OWN
