"""Choice of what was probably said, among candidates from two recognisers and from the app's own sentences.

Whisper hears people, rooms and noise better than PocketSphinx, and writes what is near to what was said: "dry forward
two meters". So candidates are made of its text by exchanging few words at a time for those that stand there in a
sentence of the app, or in what PocketSphinx heard; each is scored by how well it fits the sound (Whisper), by how
strange it is to the app, and by how far it is from what PocketSphinx heard. Knows no sound. Any thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.stop_phrases import FEW
from edgeagent.english.tokens import NEGATIONS
from edgeagent.english.word_data import lists
from edgeagent.errors import ConfigError
from edgeagent.stt.choice import NOBODY_DB, Hypotheses, KnownRuns
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.whisper_model import Fit

OF_STRANGE: Final = -1.1
OF_DISTANCE: Final = -0.4
"""The score of a candidate is Whisper's log probability, and this for each three words in a row that no sentence of the
app has, and for each word in which it differs from what PocketSphinx heard with the app's model. Set on 609 utterances:
commands and talk by heart and joe, higher, lower, faster and slower than they are measured, and by awb and kal, in a
room and over a motor, a fan and pink noise at 10 dB. Of the 459 by heart and joe 285 were right as Whisper wrote them,
329 so; at least one candidate was right of 383. A conditional logit weighs the app more (332), and then free speech
of people gets worse: recordings in a room have 10.2 % of their words wrong in place of 9.3."""
FREE: Final = 0.6
"""Share of the words of the best candidate from which on it is no sentence of the app, if so many threes are strange
to it: then Whisper's own text stands. Of 2,178 words of recordings of people and of their beginnings, in a room, over a
motor and in pink noise, 1,253 are wrong as the best candidate has them, and 1,218 so; of 901 words of commands there 90
and 89. With 0.7 and 0.8 it is nearly the same."""
LACKS: Final = 3
"""Different words that the best candidate has less than Whisper's own text, from which on that stands: part of what was
said would be lost. Of the recordings 4 words more are right."""

BASE: Final = 1.2
OF_MARGIN: Final = 0.58
OF_TOKEN: Final = 1.5
OF_APART: Final = -0.8
OF_CLEAR: Final = 0.11
OF_UNKNOWN: Final = -1.2
"""The logit of the probability that the best candidate is right: what it begins with, and what it gains for its lead
over the next one, for Whisper's mean log probability of a token, for the share of words that differ from
PocketSphinx's, for each 10 dB of the speech over the noise, and for the share of threes that no sentence of the app
has. A logistic regression on 741 utterances, of which 620 are right: commands and talk by heart and joe at 0.9 to 1.1
of their pitch and speed, and recordings of people, in a room, half of them over a motor or a fan at 8 to 14 dB."""
LEAST: Final = 0.6
"""Least probability of what is understood. Of the 548 commands among those utterances 480 are understood: the texts of
468 make nano do what was said, of 6 something else, and of 6 nothing. So are 116 of the 153 that ask for nothing, of
which none makes it do anything, and 4 of 90 pieces of people who speak four other languages. With 0.5 it is 489, 7 and
129; and of 186 commands of the benchmark, half of them over a motor, 166 and 170 were right in two runs, 9 and 6 wrong,
in place of 167 and 4."""
LEAST_LIKELY: Final = 0.45
"""The same for a robot at rest, and more words than a stop phrase has: of the commands 22 more, 17 of them with what
was said and one with something else, and of the talk 17."""
LEAST_EXCHANGED: Final = 0.8
"""The same where what was probably said is of another amount or way than Whisper's own text, or forbids what that does
not, or the other way round; and of as few words as a stop phrase has, if no sentence of the app has them: "halt" was
heard as "8"."""
RESEMBLES: Final = 0.34
"""Share of the words of what was probably said by which a hypothesis of PocketSphinx, or what that forbids, may differ,
or one word if that is more: where it forbids, and what was probably said does not, that is not understood; where only
another of its best paths does, it needs ``LEAST_EXCHANGED``. In noise PocketSphinx hears "not the printer" for "open
your gripper". Of 144 prohibitions by heart and joe, 96 of them over a motor or a fan, 143 were heard as such without
it, and the other was not understood."""

_MOST: Final = 7
"""Candidates beside Whisper's own that are scored; each costs a pass of its decoder."""
_NEAR: Final = 30
_LEAST_NEAR: Final = 55.0
"""Sentences of the app that are looked at: the nearest, by the letters; and the least likeness of them in per cent."""
_VERY_NEAR: Final = 85.0
"""A sentence so near is looked at, whatever its words."""
_LEAST_ALIKE: Final = 50.0
_LEAST_HEARD: Final = 30.0
"""Least likeness of the words that are exchanged, in per cent; what PocketSphinx heard in their place needs less."""
_HEARD_FIRST: Final = 30.0
_LONGEST: Final = 3
"""Words that are exchanged at a time."""
_SPELLED: Final = re.compile(r"(?<![\d.,])\d{5,}(?![\d.,]*\d)")
_WORDS: Final = lists("heard")
_SOUNDS_LIKE: Final = _WORDS.table("sounds_like")
_OPPOSITES: Final = tuple(tuple(map(_WORDS.words, line.split("|"))) for line in _WORDS.lines("opposites"))
_OF_NOISE: Final = frozenset(_WORDS.texts("of_noise"))
_NEARLY: Final = 2.0
"""A candidate that fits the sound so much worse than the best one, or better, may as well have been said: if it means
another thing, neither is understood, whatever the app knows."""
_NO_SHARE: Final = 0.01
"""Share of the probability below which a candidate was not said."""
_EDITS: Final = 8
_OTHERS: Final = 3
_MOST_MARGIN: Final = 6.0
_LEAST_TOKEN: Final = -6.0
_MOST_APART: Final = 1.5
_MOST_CLEAR_DB: Final = 50.0


@dataclass(frozen=True, slots=True)
class Best:
    """Text that was probably said, in spoken words, empty if none; the probability that it is right, and if that is
    enough, or would be for a robot at rest. Where it is not, and nothing but other candidates speaks against it, all
    that may have been said, each with its share of the probability: Whisper's own text, and then the likeliest."""

    text: str
    probability: float
    understood: bool
    likely: bool = False
    possible: tuple[tuple[str, float], ...] = ()


class AppSentences:
    """The sentences of an app, as the ears know them.

    Args:
        sentences: In spoken words.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = list(dict.fromkeys(sentences))
        self._known = KnownRuns(self._sentences)

    def candidates(self, text: str, heard: Hypotheses) -> list[str]:
        """Returns what may have been said instead of a text, the likeliest first.

        Only what is likelier before anything was heard: the text fits the sound best, so nothing else can win.

        Args:
            text: Whisper's, in spoken words.
            heard: By PocketSphinx.
        """
        near = [*heard.texts, *heard.app.others[:_OTHERS]]
        found = {*heard.texts, *_edited(text.split(), self._edits(text, near))}
        least = self.prior(text, heard)
        priors = {each: self.prior(each, heard) for each in sorted(found)}
        likelier = [each for each, prior in priors.items() if prior > least]
        return sorted(likelier, key=lambda each: -priors[each])[:_MOST]

    def prior(self, text: str, heard: Hypotheses) -> float:
        """Score of a text without Whisper: how well it suits the app and what PocketSphinx heard."""
        apart = _distance(text, heard.app.text) if heard.app.words else 0
        return OF_STRANGE * self.strange(text) + OF_DISTANCE * apart

    def strange(self, text: str) -> int:
        """Counts three words in a row that no sentence of the app has."""
        return self._known.unknown(text)

    def _edits(self, text: str, heard: Sequence[str]) -> list[tuple[int, int, str]]:
        """Words that may have been misheard, from and to, and what may have been said; the likeliest first."""
        found: dict[tuple[int, int, str], float] = {}
        words = text.split()
        near = process.extract(text, self._sentences, scorer=fuzz.ratio, limit=_NEAR, score_cutoff=_LEAST_NEAR)
        for other in heard:
            for edit, alike in _exchanged(words, other.split(), _LEAST_HEARD):
                found[edit] = alike + _HEARD_FIRST
        for other, likeness, _ in near:
            least = 0.0 if likeness >= _VERY_NEAR else _LEAST_ALIKE
            for edit, alike in _exchanged(words, other.split(), least):
                if not means_another(" ".join(words[edit[0] : edit[1]]), edit[2]):
                    found[edit] = max(alike, found.get(edit, 0.0))
        return sorted(found, key=lambda edit: -found[edit])[:_EDITS]


def as_written(spoken: str) -> str:
    """Spoken words as Whisper would write them: "drive two meters" is "Drive 2 meters."""
    text = inverse_normalised(spoken)
    return f"{text[:1].upper()}{text[1:]}."


def as_spoken(written: str) -> str:
    """Whisper's text in spoken words. Digits in a row without a comma were said one by one: a quantity has commas."""
    written = _SPELLED.sub(lambda found: " ".join(found[0]), written)
    try:
        return " ".join(spoken_words(written))
    except ConfigError:  # a word of another script
        return " ".join(written.lower().split())


def with_phrase(text: str, phrase: str) -> list[str]:
    """Returns a text with a phrase in place of one or two of its last words, or beside the last."""
    words = text.split()
    ends = [(at, at + 1) for at in range(len(words))][-4:] + [(at, at + 2) for at in range(len(words) - 1)][-2:]
    ends += [(at, at) for at in range(len(words) + 1)][-2:]
    return [" ".join((*words[:begin], phrase, *words[end:])) for begin, end in ends]


def with_call(text: str, call: str) -> list[str]:
    """Returns a text with a call before it, and in place of as many of its first words, or one more or less."""
    words, count = text.split(), len(call.split())
    ends = {0, *range(count - 1, count + 2)} & set(range(len(words) + 1))
    return [" ".join((call, *words[end:])) for end in sorted(ends)]


def calls_in(text: str, call: str) -> list[str]:
    """Returns a text with a call in place of as many of its words, or one more or less, wherever; those of
    ``with_call`` first."""
    words, count = text.split(), len(call.split())
    lengths = range(max(1, count - 1), count + 2)
    within = [(at, at + length) for at in range(1, len(words)) for length in lengths if at + length <= len(words)]
    return [*with_call(text, call), *(" ".join((*words[:at], call, *words[end:])) for at, end in within)]


def written_with(text: str, phrase: str) -> list[str]:
    """Lists a few words with a phrase among them, and the phrase by itself, as Whisper would write them."""
    spoken = dict.fromkeys((phrase, *with_phrase(text, phrase), f"{phrase} {text}"))
    own, beside = as_written(text), as_written(phrase)
    return [*map(as_written, spoken), f"{beside} {own}", f"{own} {beside}"]


def best_of(
    app: AppSentences,
    fits: Sequence[tuple[str, Fit]],
    heard: Hypotheses,
) -> Best:
    """Returns what was probably said.

    Args:
        fits: The candidates, at least one, Whisper's own first.
        heard: By PocketSphinx.
    """
    fits = _without_repeats(fits)
    scores = {text: fit.log_prob + app.prior(text, heard) for text, fit in fits}
    best = max(scores, key=lambda text: scores[text])
    own = fits[0][0]
    lacks = len(set(own.split())) - len(set(best.split())) >= LACKS
    if best and (lacks or app.strange(best) >= FREE * len(best.split())):  # it is no sentence of the app
        best, scores = own, {text: fit.log_prob for text, fit in fits}
    lead = min((scores[best] - score for text, score in scores.items() if text != best), default=_MOST_MARGIN)
    words, fit = best.split(), dict(fits)[best]
    count = max(1, len(words))
    logit = (
        BASE
        + OF_TOKEN * max(fit.log_prob / max(1, fit.tokens), _LEAST_TOKEN)
        + OF_APART * min(_distance(best, heard.app.text) / count, _MOST_APART)
        + OF_CLEAR * min(heard.clear_db, _MOST_CLEAR_DB) / 10
        + OF_UNKNOWN * app.strange(best) / count
    )
    alone, right = (1 / (1 + math.exp(-logit - OF_MARGIN * by)) for by in (_MOST_MARGIN, min(lead, _MOST_MARGIN)))
    forbids = _forbids(best)
    contrary, perhaps = (
        not forbids and any(_forbids_nearly(text, best) for text in texts)
        for texts in (heard.texts, heard.app.others[:_OTHERS])
    )
    strange = len(words) <= FEW and app.strange(best)  # it may have been a stop word
    least = LEAST_EXCHANGED if perhaps or strange or means_another(own, best) else LEAST
    rivals = [text for text, other in fits if other.log_prob > fit.log_prob - _NEARLY]
    clear = bool(words) and heard.clear_db >= NOBODY_DB
    certain = clear and not contrary and not any(means_another(rival, best) for rival in rivals)
    understood = certain and right >= least
    likely = certain and len(words) > FEW and LEAST_LIKELY <= right < least == LEAST and not forbids
    text = "" if best in _OF_NOISE and not understood else best
    possible: tuple[tuple[str, float], ...] = ()
    if text and clear and not (understood or likely or contrary or perhaps or forbids) and alone >= LEAST:
        possible = _shares(scores, own)
    if any(_forbids(one) for one, _ in possible):
        possible = ()
    return Best(text, right, understood, likely, possible)


def _without_repeats(fits: Sequence[tuple[str, Fit]]) -> list[tuple[str, Fit]]:
    """The candidates without those that say another one twice or more, and fit no better: Whisper repeats itself, "turn
    left ninety degrees turn left ninety degrees", and that would be another amount."""
    by_text = dict(fits)

    def repeats(text: str, fit: Fit) -> bool:
        words = text.split()
        firsts = [words[: len(words) // times] for times in range(2, len(words) + 1) if len(words) % times == 0]
        once = (" ".join(first) for first in firsts if first * (len(words) // len(first)) == words)
        return any(one in by_text and by_text[one].log_prob >= fit.log_prob for one in once)

    return [(text, fit) for text, fit in fits if not repeats(text, fit)]


def _shares(scores: Mapping[str, float], own: str) -> tuple[tuple[str, float], ...]:
    """Lists texts with their shares of the probability: Whisper's own, and the others that have any, the likeliest
    first."""
    most = max(scores.values())
    weights = {text: math.exp(score - most) for text, score in scores.items()}
    shares = {text: weight / sum(weights.values()) for text, weight in weights.items()}
    others = [text for text in shares if text != own and text not in _OF_NOISE and shares[text] >= _NO_SHARE]
    return tuple((text, shares[text]) for text in (own, *sorted(others, key=lambda text: -shares[text])))


def _forbids(text: str) -> bool:
    return bool(NEGATIONS.search(text))


def _forbids_nearly(text: str, best: str) -> bool:
    """True if a text forbids, and it or what it forbids has nearly the words of another one."""
    most = max(1, RESEMBLES * len(best.split()))
    return _forbids(text) and min(_distance(part, best) for part in (text, NEGATIONS.split(text)[-1])) <= most


def _distance(text: str, other: str) -> int:
    """Words to add, take away or exchange."""
    return Levenshtein.distance(text.split(), other.split())


def _exchanged(words: list[str], other: list[str], least: float) -> Iterable[tuple[tuple[int, int, str], float]]:
    """Words that stand in another sentence where few others stand, and how alike they are in per cent."""
    for tag, begin, end, from_, to in SequenceMatcher(None, words, other, autojunk=False).get_opcodes():
        if tag != "replace" or end - begin > _LONGEST or to - from_ > _LONGEST:
            continue
        alike = fuzz.ratio("".join(words[begin:end]), "".join(other[from_:to]))
        if alike >= least:
            yield (begin, end, " ".join(other[from_:to])), alike


def means_another(text: str, instead: str) -> bool:
    """True if it is another amount or way, or forbids what was not forbidden: that must be heard, and not guessed."""
    if _forbids(text) is not _forbids(instead):
        return True
    if inverse_normalised(text) == inverse_normalised(instead):  # "two and a half" is "two point five"
        return False
    words, others = text.split(), instead.split()
    if len(words) == len(others):
        others = [one if _SOUNDS_LIKE.get(one) == other else other for one, other in zip(words, others, strict=True)]
    amounts, of_others = ([word for word in each if word in _WORDS.amounts] for each in (words, others))
    if amounts != of_others:
        return True
    ways = [tuple(not side.isdisjoint(each) for side in pair) for pair in _OPPOSITES for each in (words, others)]
    return any(way != other and all(map(any, (way, other))) for way, other in zip(ways[::2], ways[1::2], strict=True))


def _edited(words: list[str], edits: Sequence[tuple[int, int, str]]) -> set[str]:
    """Texts with one of the edits, or with two that do not overlap."""
    made = {" ".join((*words[:begin], text, *words[end:])) for begin, end, text in edits}
    for begin, end, text in edits:
        for next_begin, next_end, next_text in edits:
            if end <= next_begin:
                made.add(" ".join((*words[:begin], text, *words[end:next_begin], next_text, *words[next_end:])))
    return made
