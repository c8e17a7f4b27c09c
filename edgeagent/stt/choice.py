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

import numpy as np

from edgeagent.english.tokens import NEGATIONS
from edgeagent.english.word_data import lists
from edgeagent.stt.hearing import HeardWord, RecognisedText

ENGINE: Final = "pocketsphinx"

LEAD: Final = 0.5
"""Least lead of the app's hypothesis over the general one: natural logarithm of the path score times 10,000, per frame.
Set on flite's kal and espeak-ng's en-gb, neither of which the measurements use."""
LEAST_APP: Final = 0.5
"""Least probability that what the app's model makes of an utterance is right."""
BASE: Final = 1.98
OF_WORDS: Final = 0.51
OF_LEAD: Final = 0.2
OF_GENERAL: Final = 0.14
OF_UNKNOWN: Final = -3.72
OF_NEGATIONS: Final = -0.91
"""The logit of that probability: what it begins with, and what it gains for the logit of the product of its words'
confidences, for its lead over the general model, for the logit of that one's confidence, for the share of three words
in a row that no sentence of the app has (confidence by how far a language model backs off: Uhrik and Ward, Eurospeech
1997), and for a negation that was almost heard. A logistic regression on 136 commands and 200 sentences that ask for
nothing, by flite's kal and espeak-ng's en-gb, alone and in a room of 0.3 s; the measurements use neither. Of the
commands it accepts 233 of 544 rightly and 27 wrongly, and 12 of 800 others that would do something; a least confidence
and differences to it accepted 214, 36 and 28."""
LEAST_FORBIDDEN: Final = 0.8
"""Least probability where a negation was almost heard: "don't grab" that came out as "go and grab" had 0.64, and "you
needn't go" that came out as "you need to go" 0.78."""
LEAST_SHORT: Final = 0.45
"""Least confidence besides, of what is short or allows something."""
LEAST_GENERAL: Final = 0.4
"""Least confidence of what the general model makes of it: 95 % of what is heard right of kal's other talk has 0.43
or more. Of twenty foreign sentences of espeak-ng it lets one to three pass, by what was heard before."""

LEAST_ACOUSTIC: Final = -5.0
"""Least acoustic score of what the general model is not sure of: a small closed model is sure of itself in any
language. What is heard right of flite's people stays over it (kal's lowest is -4.87); the commands that the app's model
makes of espeak-ng's foreign speech are at -4.3 to -5.5, and those over it had confidences under 0.45."""
LEAST_STRANGE: Final = 0.5
"""Least confidence of the general model there; of thirteen foreign sentences it had 0.45 at most."""

LEAST_APP_NOISY: Final = 0.6
"""Least probability in heavy noise. Of 68 commands of kal in steady and motor noise 10 dB under it, after the noise
suppression, 40 are understood rightly and none wrongly, and 2 of 100 other sentences would do something; with 0.5 it
is 43, 1 and 3."""
LEAST_NOISY: Final = 0.8
"""Least confidence there of what the general model makes of it, and of what is short."""
QUIET_DB: Final = 30.0
"""Over the noise, as ``snr_db`` tells it after the noise suppression: from here on down more confidence is asked for.
Speech in a quiet room has 35 and more, with noise 10 dB under the voice at the microphone 6 to 27."""
LOUD_DB: Final = 20.0
"""From here on down all of that is asked for."""
NOBODY_DB: Final = 8.0
"""Below it nothing is understood: noise alone has 0 to 9."""

_WORDS: Final = lists("heard")
_HALVES: Final = _WORDS.phrases("halves")

_LEAST: Final = 1e-12
_MARGIN: Final = 0.02
"""Confidences of 0 and 1 are not so sure."""
_MOST_LEAD: Final = 6.0
"""A greater one tells no more."""
_ENDS: Final = ("<s>", "</s>")
_SHORT: Final = 3
"""Words of what is short: a "yes", "carry on"."""
_ALLOWED: Final = re.compile(r"you (?:can|may)\b")
"""Sentences that allow motion again, and sound like their contrary."""
_ALLOWED_AMONG: Final = 2
"""No such one is understood where one of so many best paths of a model has a negation. Of 96 that allow motion, by slt,
rms, awb and kal, alone and in a room, 61 are understood so, and none of 200 that forbid it; without this 74 and 2."""
_TOLD: Final = 10
"""Of the best paths of each model, as what else it may have been; of more, most commands almost have a "don't"."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Words that one model heard in an utterance."""

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


NOTHING: Final = Hypothesis((), None, 0.0, -math.inf)


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """Hypotheses of both models for an utterance, and how many dB the speech is over the noise."""

    app: Hypothesis = NOTHING
    general: Hypothesis = NOTHING
    clear_db: float = math.inf

    @property
    def texts(self) -> list[str]:
        """Those of both, without those that are empty."""
        return list(dict.fromkeys(one.text for one in (self.app, self.general) if one.text))


class KnownRuns:
    """Three words that follow one another in a sentence of the app, its begin and end among them.

    Kept as hashes; as they are, they would take 10 MB for the house robot.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        hashes = (hash(run) for sentence in sentences for run in _runs(sentence, 3))
        self._known = np.unique(np.fromiter(hashes, np.int64))

    def unknown(self, sentence: str) -> int:
        """Counts those of a sentence that no sentence of the app has."""
        runs = np.array([hash(run) for run in _runs(sentence, 3)], np.int64)
        if not len(self._known):
            return len(runs)
        at = np.searchsorted(self._known, runs)
        return int(np.count_nonzero(self._known.take(at, mode="clip") != runs))


class Choice:
    """Chooses between the app's hypothesis and the general one.

    Args:
        known: The sentences that the app's model has learnt from.
        lead: See ``LEAD``.
        least_app, least_general, least_acoustic: See ``LEAST_APP``, ``LEAST_GENERAL``, ``LEAST_ACOUSTIC``; in noise
            more is asked for, see ``LEAST_APP_NOISY``.
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
        known = list(known)
        self._known = KnownRuns(known)
        pairs = (pair for sentence in known if NEGATIONS.search(sentence) for pair in _runs(sentence, 2))
        self._forbidding = frozenset(pair for pair in pairs if NEGATIONS.fullmatch(pair[0]))

    def between(self, app: Hypothesis, general: Hypothesis, clear_db: float = math.inf) -> RecognisedText:
        """The app's hypothesis where it leads, else the general one; in noise a doubtful one is not understood."""
        app = _without_breath(app)
        if app.score is not None and (general.score is None or app.score - general.score >= self._lead):
            best, second, explained = app, general, self._is_sure(app, general, clear_db)
        else:
            best, second = general, app
            sure = general.confidence >= _least(self._least_general, LEAST_NOISY, clear_db)
            explained = sure and not self._perhaps_forbidden(general, app, general)
        if best.acoustic < self._least_acoustic:
            least = max(_least(self._least_general, LEAST_NOISY, clear_db), LEAST_STRANGE)
            explained = explained and general.confidence >= least
        contrary = NEGATIONS.search(second.text) and not NEGATIONS.search(best.text)
        if contrary or self._is_hardly_allowed(best, app, general):
            explained = False
        others = (second.text, *best.others[:_TOLD], *second.others[:_TOLD])
        return RecognisedText(
            self._normalise(best.text),
            best.words,
            best.confidence,
            understood=bool(best.words) and explained and clear_db >= NOBODY_DB,
            engine=f"{ENGINE} {'app' if best is app else 'general'}",
            raw=best.text,
            others=tuple(dict.fromkeys(text for text in others if text and text != best.text)),
        )

    def _is_sure(self, app: Hypothesis, general: Hypothesis, clear_db: float) -> bool:
        allows = len(app.words) <= _SHORT or _ALLOWED.match(app.text)
        if allows and app.confidence < _least(LEAST_SHORT, LEAST_NOISY, clear_db):
            return False
        least = LEAST_FORBIDDEN if self._perhaps_forbidden(app, app, general) else self._least_app
        return self.probability(app, general) >= _least(least, LEAST_APP_NOISY, clear_db)

    def probability(self, app: Hypothesis, general: Hypothesis) -> float:
        """Probability that the app's hypothesis is right; see ``OF_WORDS``."""
        lead = _MOST_LEAD if app.score is None or general.score is None else app.score - general.score
        unknown = self._known.unknown(app.text) / max(1, len(app.words))
        logit = (
            BASE
            + OF_WORDS * _logit(app.confidence ** len(app.words))
            + OF_LEAD * min(max(lead, -_MOST_LEAD / 2), _MOST_LEAD)
            + OF_GENERAL * _logit(general.confidence)
            + OF_UNKNOWN * unknown
            + OF_NEGATIONS * self._perhaps_forbidden(app, app, general)
        )
        return 1 / (1 + math.exp(-logit))

    def _is_hardly_allowed(self, best: Hypothesis, app: Hypothesis, general: Hypothesis) -> bool:
        """True if "you can move" is about as likely to be "you can't move"."""
        others = (*app.others[:_ALLOWED_AMONG], *general.others[:_ALLOWED_AMONG])
        return bool(_ALLOWED.match(best.text)) and any(NEGATIONS.search(other) for other in others)

    def _perhaps_forbidden(self, best: Hypothesis, app: Hypothesis, general: Hypothesis) -> bool:
        """True if a model hears a negation that the best hypothesis lacks, or the app's almost does: "don't grab" comes
        out as "go and grab".

        Of what it almost hears only what somebody says counts: "don't right" is another hearing of "turn right". A
        sentence with a subject has its negation in a syllable: "you needn't go" comes out as "you need to go"; what the
        app's model makes of such a one is doubtful if either almost hears a negation.
        """
        if NEGATIONS.search(best.text):
            return False
        if NEGATIONS.search(app.text) or NEGATIONS.search(general.text):
            return True
        if best is app and len(app.words) > _SHORT and app.words[0].text in _WORDS.subjects:
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
        if not (word.text == "a" and tuple(texts[at + 1 : at + 3]) in _HALVES and texts[at - 1 : at] != ["and"])
    ]
    if len(kept) == len(texts):
        return heard
    return replace(heard, words=tuple(kept), confidence=mean_confidence(word.confidence or 0.0 for word in kept))


def _runs(sentence: str, length: int) -> Iterable[tuple[str, ...]]:
    """The words of a sentence with its begin and end, so many at a time."""
    begin, end = _ENDS
    words = (begin, *sentence.split(), end)
    return zip(*(words[at:] for at in range(length)), strict=False)


def _logit(probability: float) -> float:
    return math.log((probability + _MARGIN) / (1 + _MARGIN - probability))


def _least(quiet: float, noisy: float, clear_db: float) -> float:
    """Least confidence or probability at that many dB over the noise."""
    share = min(1.0, max(0.0, (QUIET_DB - clear_db) / (QUIET_DB - LOUD_DB)))
    return quiet + max(0.0, noisy - quiet) * share
