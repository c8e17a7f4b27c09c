"""Which of two hypotheses of an utterance counts, and whether it is understood.

The app's hypothesis counts where its path score per frame beats the general one's by a threshold (design.md, section
6). What neither explains is not understood. Knows no sound and no process. Any thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Final

from edgeagent.stt.types import HeardWord, Transcript

ENGINE: Final = "pocketsphinx"

LEAD: Final = 0.5
"""Least lead of the app's hypothesis over the general one: natural logarithm of the path score times 10,000, per frame.
Set on flite's kal and espeak-ng's en-gb, neither of which the measurements use."""
LEAST_APP: Final = 0.45
"""Least confidence, a geometric mean over the words, of what the app's model makes of an utterance."""
AS_SAID: Final = -0.25
"""So much less is asked for where every three words of it follow one another in a sentence of the app, begin and end
included, and there are more than three. (Confidence by how far a language model backs off: Uhrik and Ward, Eurospeech
1997.) Of 200 commands of kal and en-gb+f2 in a room with reverberation, 7 of 13 with a confidence of 0.3 to 0.45 are
right where every three are known."""
SALAD: Final = 0.25
"""So much more where not even every two are: of 36 over 0.45 4 are right."""
LEAST_GENERAL: Final = 0.4
"""Least confidence of what the general model makes of it: 95 % of what is heard right of kal's other talk has 0.43
or more. Of twenty foreign sentences of espeak-ng it lets one to three pass, by what was heard before."""

LEAST_ACOUSTIC: Final = -5.0
"""Least acoustic score of what the general model is not sure of: a small closed model is sure of itself in any
language. What is heard right of flite's people stays over it (kal's lowest is -4.87); the commands that the app's model
makes of espeak-ng's foreign speech are at -4.3 to -5.5, and those over it less sure than ``LEAST_APP``."""
LEAST_STRANGE: Final = 0.5
"""Least confidence of the general model there; of thirteen foreign sentences it had 0.45 at most."""

LEAST_NOISY: Final = 0.8
"""Least confidence in heavy noise, with the same differences. Of 96 commands and 96 other sentences of kal and en-gb+f2
in steady and motor noise 10 dB under them, after the noise suppression, 13 commands are understood rightly, 3 wrongly
and no other sentence; with 0.7 it is 14, 6 and 2."""
QUIET_DB: Final = 30.0
"""Over the noise, as ``snr_db`` tells it after the noise suppression: from here on down more confidence is asked for.
Speech in a quiet room has 35 and more, with noise 10 dB under the voice at the microphone 6 to 27."""
LOUD_DB: Final = 20.0
"""From here on down ``LEAST_NOISY`` is asked for."""
NOBODY_DB: Final = 8.0
"""Below it nothing is understood: noise alone has 0 to 9."""

NEGATIONS: Final = re.compile(r"\b(?:not|never|nobody|cannot|don't|\w+n't)\b")
"""A command is not understood where only the other model heard one of these, or the app's model almost."""
_HALVES: Final = (["half", "a"], ["half", "an"])
"""Some say "a half a meter", and a breath before "half" is heard as an "a"."""
_SUBJECTS: Final = frozenset("i you we they he she it this that there these those nobody somebody".split())

_LEAST: Final = 1e-12
_ENDS: Final = ("<s>", "</s>")
_CONTROL: Final = 3
"""Words of "you can move", which allows motion again and always sounds a little like its contrary."""
_TOLD: Final = 10
"""Of the best paths of each model, as what else it may have been; of more, most commands almost have a "don't"."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What one model made of an utterance."""

    words: tuple[HeardWord, ...]
    score: float | None
    """Of the whole path, per frame, scaled as ``LEAD``; None if there is none."""
    confidence: float
    """A geometric mean over the words."""
    acoustic: float
    """Of the words alone, per frame, a natural logarithm; what people say is at -2 to -4."""
    others: tuple[str, ...] = ()
    """The best paths."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


class Choice:
    """Chooses between the app's hypothesis and the general one.

    Args:
        known: The sentences that the app's model has learnt from.
        lead: See ``LEAD``.
        least_app, least_general, least_acoustic: See ``LEAST_APP``, ``LEAST_GENERAL``, ``LEAST_ACOUSTIC``; in noise
            more is asked for, see ``LEAST_NOISY``.
        normalise: Makes the text of a transcript from the words as they were spoken.
    """

    def __init__(
        self,
        known: Iterable[str],
        normalise: Callable[[str], str],
        *,
        lead: float = LEAD,
        least_app: float = LEAST_APP,
        least_general: float = LEAST_GENERAL,
        least_acoustic: float = LEAST_ACOUSTIC,
    ) -> None:
        self._normalise = normalise
        self._lead = lead
        self._least_app, self._least_general, self._least_acoustic = least_app, least_general, least_acoustic
        self._runs: set[tuple[str, ...]] = set()
        """Two and three words that follow one another in a sentence of the app."""
        for sentence in known:
            self._runs.update(_runs(sentence, 2), _runs(sentence, 3))
        self._forbidding = frozenset(run for run in self._runs if len(run) == 2 and NEGATIONS.fullmatch(run[0]))

    def between(self, app: Hypothesis, general: Hypothesis, clear_db: float = math.inf) -> Transcript:
        """The app's hypothesis where it leads, else the general one; in noise a doubtful one is not understood."""
        app = _without_breath(app)
        least_app = _least(self._least_app, clear_db) + self._strangeness(app)
        least_general = _least(self._least_general, clear_db)
        if app.score is not None and (general.score is None or app.score - general.score >= self._lead):
            best, explained = app, app.confidence >= least_app
        else:
            best, explained = general, general.confidence >= least_general
        if best.acoustic < self._least_acoustic:
            explained = explained and general.confidence >= max(least_general, LEAST_STRANGE)
        if not NEGATIONS.search(best.text) and self._perhaps_forbidden(best, app, general):
            explained = False
        second = general if best is app else app
        others = (second.text, *best.others[:_TOLD], *second.others[:_TOLD])
        return Transcript(
            self._normalise(best.text),
            best.words,
            best.confidence,
            understood=bool(best.words) and explained and clear_db >= NOBODY_DB,
            engine=f"{ENGINE} {'app' if best is app else 'general'}",
            raw=best.text,
            others=tuple(dict.fromkeys(text for text in others if text and text != best.text)),
        )

    def _strangeness(self, app: Hypothesis) -> float:
        """How much more confidence it needs than others."""
        if not self._runs.issuperset(_runs(app.text, 2)):
            return SALAD
        enough = len(app.words) > _CONTROL  # what allows motion again, and a "yes", are shorter
        return AS_SAID if enough and self._runs.issuperset(_runs(app.text, 3)) else 0.0

    def _perhaps_forbidden(self, best: Hypothesis, app: Hypothesis, general: Hypothesis) -> bool:
        """Whether one of the models hears a negation, or the app's almost: "don't grab" comes out as "go and grab".

        Of what it almost hears only what somebody says counts: "don't right" is another hearing of "turn right". A
        sentence with a subject has its negation in a syllable: "you needn't go" comes out as "you need to go"; what the
        app's model makes of such a one is doubtful if either almost hears a negation.
        """
        if NEGATIONS.search(app.text) or NEGATIONS.search(general.text):
            return True
        if best is app and len(app.words) > _CONTROL and app.words[0].text in _SUBJECTS:
            return any(NEGATIONS.search(other) for other in (*app.others, *general.others))
        pairs = (pair for other in app.others[:_TOLD] for pair in pairwise(other.split()))
        return any(pair in self._forbidding for pair in pairs)


def mean_confidence(confidences: Iterable[float]) -> float:
    """Of words: a geometric mean."""
    return math.exp(fmean(math.log(max(confidence, _LEAST)) for confidence in confidences))


def _without_breath(heard: Hypothesis) -> Hypothesis:
    """Half a meter where "a half a meter" was heard: that there may have been an "a" makes the rest no less sure."""
    texts = [word.text for word in heard.words]
    kept = [
        word
        for at, word in enumerate(heard.words)
        if not (word.text == "a" and texts[at + 1 : at + 3] in _HALVES and texts[at - 1 : at] != ["and"])
    ]
    if len(kept) == len(texts):
        return heard
    return replace(heard, words=tuple(kept), confidence=mean_confidence(word.confidence or 0.0 for word in kept))


def _runs(sentence: str, length: int) -> Iterable[tuple[str, ...]]:
    """The words of a sentence with its begin and end, so many at a time."""
    begin, end = _ENDS
    words = (begin, *sentence.split(), end)
    return zip(*(words[at:] for at in range(length)), strict=False)


def _least(quiet: float, clear_db: float) -> float:
    """Least confidence at that many dB over the noise, where there is such a one without noise."""
    noisy = min(1.0, max(0.0, (QUIET_DB - clear_db) / (QUIET_DB - LOUD_DB)))
    return quiet + max(0.0, LEAST_NOISY - quiet) * noisy
