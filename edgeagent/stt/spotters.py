"""Key phrases: PocketSphinx listens for all of them, and a network for the stop words that it has learnt.

For a learnt word both have a vote. The network's own is enough; PocketSphinx's, which knows more people and is more
easily deceived by machines and other words, counts where the network finds the word at least possible. Of the phrases
that make motion wait for a moment the network tells as well, by itself.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from edgeagent.audio.device import Samples
from edgeagent.stt.hearing import RATE_HZ, SpottedPhrase
from edgeagent.stt.key_phrases import REST_AFTER_S, KeywordSpotter, SpotterOptions
from edgeagent.stt.stop_network import WAITS, learnt
from edgeagent.stt.stop_votes import StopVotes

__all__ = ["KeyPhraseSpotter", "PhraseListener"]

POSSIBLE, PROBABLE = 0.1, 0.5
"""Probability by the network from which on PocketSphinx is believed, and the same while the robot speaks, of whose "on
my way" PocketSphinx makes "halt". ``docs/figures.md`` has the cost of the first."""
_AROUND_S: Final = (-0.6, 0.3)
"""Beside the end of a word as PocketSphinx tells it, where the network is asked."""
_SAME_S: Final = 0.6
"""Ends of words that are so near to each other are those of one word."""
_LEAD_S: Final = 1.2
"""Of a time in which nobody spoke, the network hears so much when somebody speaks again: that is how far it looks back.
With half a second, 4 of 6 stop words over noise were heard that are all heard so."""
_GAP_S: Final = 0.5
"""A block that is so far from where the last ended is of another clock, or follows something that was lost."""


class PhraseListener(Protocol):
    """Listens for phrases in one stream, and calls back for each."""

    on_keyword: Callable[[SpottedPhrase], object]

    def feed(
        self,
        samples: Samples,
        at_s: float | None = None,
        *,
        raw: Samples | None,
        played: Samples | None,
        nobody: bool,
        speaking: bool,
        early: bool,
    ) -> None: ...
    def suspected(self, begin_s: float, end_s: float) -> SpottedPhrase | None: ...
    def flush(self) -> None: ...
    def wait_idle(self, timeout_s: float = 10.0) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Block:
    """A block as ``feed`` was given it."""

    at_s: float
    raw: Samples
    samples: Samples
    played: Samples | None
    """None while the robot is silent."""


class KeyPhraseSpotter:
    """Listens for phrases by PocketSphinx and, for stop words that have no threshold of the builder's, by the network.

    Args:
        phrases: As ``KeywordSpotter`` has them.
        on_keyword: Called for each hit, on the thread of ``feed`` or on one of PocketSphinx's; calls may overlap, but a
            word is told once. False: it does not count, so that the same phrase may be found again at once.
        options: Those of ``KeywordSpotter``.

    Attributes:
        on_keyword: As given; may be another one later.
        learnt: The phrases that the network listens for, among those given; where it listens for one, also for
            ``stop_network.WAITS``.
        sphinx: PocketSphinx's spotter.

    Raises:
        ConfigError: There is no phrase, one can't be said, or a threshold is none.
        RecognitionError: PocketSphinx, onnxruntime or the network's file is missing, or a process does not start.
    """

    def __init__(
        self,
        phrases: Mapping[str, float | None],
        on_keyword: Callable[[SpottedPhrase], object],
        options: SpotterOptions | None = None,
    ) -> None:
        self.on_keyword = on_keyword
        self.learnt = tuple(learnt(phrases))
        given = {phrase.casefold() for phrase in phrases}
        self._words = (*self.learnt, *(phrase for phrase in WAITS if phrase not in given))
        """Phrases that the network would be given; the others are PocketSphinx's alone."""
        self._network = StopVotes(self._words) if self.learnt else None
        self._telling = threading.Lock()
        self._told_s = dict.fromkeys(self._words, -math.inf)
        self._undecided: set[str] = set()
        """Words of which somebody is being told."""
        self._fed_s = self._silent_s = 0.0
        self._rest: deque[_Block] = deque()
        """Blocks that nobody listens to unless something follows."""
        self._lost = False
        """True if some before them is gone."""
        self.sphinx = KeywordSpotter(phrases, self._heard_by_sphinx, options)

    def feed(
        self,
        samples: Samples,
        at_s: float | None = None,
        *,
        raw: Samples | None = None,
        played: Samples | None = None,
        nobody: bool = False,
        speaking: bool = False,
        early: bool = False,
    ) -> None:
        """The next block; does not wait.

        Args:
            samples: At 16 kHz, 10 ms or any other length.
            at_s: The time of its first sample; by default the blocks follow one another from 0.
            raw: As many samples of the microphone, for the network: with the noise that a suppressor takes out, and the
                robot's own voice. None: ``samples``.
            played: As many samples of the loudspeaker, a second before their echo at most; they count while the robot
                speaks.
            nobody, speaking, early: As ``KeywordSpotter.feed`` has them; the network needs only the first.
        """
        at_s = self._fed_s if at_s is None else at_s
        if self._network is not None:
            if abs(at_s - self._fed_s) > _GAP_S:
                self._forget()
            self._silent_s = self._silent_s + len(samples) / RATE_HZ if nobody else 0.0
            heard, spoken = samples.copy(), None if played is None or not speaking else played.copy()
            self._rest.append(_Block(at_s, heard if raw is None else raw.copy(), heard, spoken))
            if self._silent_s > REST_AFTER_S:
                while self._rest and self._rest[0].at_s < at_s - _LEAD_S:
                    self._rest.popleft()
                    self._lost = True
            else:
                self._listen(self._network)
        self._fed_s = at_s + len(samples) / RATE_HZ
        self.sphinx.feed(samples, at_s, nobody=nobody, speaking=speaking, early=early)

    def suspected(self, begin_s: float, end_s: float) -> SpottedPhrase | None:
        """Returns the learnt word that was most likely to end between two times, told or not. Any thread.

        None where none is learnt, or nothing was heard.
        """
        return None if self._network is None else self._network.likeliest(begin_s, end_s)

    def flush(self) -> None:
        """Forgets all that was fed before."""
        self._forget()
        self.sphinx.flush()

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Waits until all that was fed has been listened to; False if it was not in time."""
        return self.sphinx.wait_idle(timeout_s)

    def close(self) -> None:
        """Ends PocketSphinx's process. Safe to call again."""
        self.sphinx.close()

    def _listen(self, network: StopVotes) -> None:
        """Has the network hear what it has not heard yet."""
        rest, self._rest = self._rest, deque()
        if self._lost:
            self._lost = False
            network.reset()
        for block in rest:
            for keyword in network.process(block.raw, block.at_s, left=block.samples, played=block.played):
                if self.tell(keyword) is False:
                    network.refuse(keyword.phrase)

    def _forget(self) -> None:
        self._silent_s, self._lost = 0.0, False
        self._rest.clear()
        if self._network is not None:
            self._network.reset()
            with self._telling:
                self._told_s = dict.fromkeys(self._words, -math.inf)

    def _heard_by_sphinx(self, keyword: SpottedPhrase) -> object:
        if self._network is None or keyword.phrase not in self.learnt:
            return self.on_keyword(keyword)
        before_s, after_s = _AROUND_S
        least = PROBABLE if self._network.speaks(keyword.end_s) else POSSIBLE
        if self._network.likely(keyword.phrase, keyword.end_s + before_s, keyword.end_s + after_s) < least:
            return False
        return self.tell(keyword)

    def tell(self, keyword: SpottedPhrase) -> object:
        """Tells of a learnt word, once."""
        with self._telling:
            before_s = self._told_s[keyword.phrase]
            # what one of them is unsure of may be refused, and what the other is sure of not
            undecided = keyword.sure and keyword.phrase in self._undecided
            if abs(keyword.end_s - before_s) < _SAME_S and not undecided:
                return None
            self._told_s[keyword.phrase] = keyword.end_s
            self._undecided.add(keyword.phrase)
        counts = self.on_keyword(keyword)
        with self._telling:
            self._undecided.discard(keyword.phrase)
            if counts is False and self._told_s[keyword.phrase] == keyword.end_s:
                self._told_s[keyword.phrase] = before_s
        return counts
