"""Confirmation of key phrases: what the transcript says of what the spotter heard, or missed.

The rules on words are ``edgeagent.english.stop_phrases``'s. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from edgeagent.english.stop_phrases import FEW, Verdict, is_forbidden, is_inflected, places, sounds_like, verdict
from edgeagent.errors import ConfigError
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.transcriber import HeardWord, Transcript

_SURE: Final = 0.5
"""Confidence from which a transcript is certain."""
_MOST: Final = 500
"""Words that are read; nobody says more in a turn."""


def confirm(transcript: Transcript | str, phrase: str) -> Verdict:
    """Judges whether the key phrase in a transcript is a command.

    "stop", "robot stop" and "please stop now" are; "don't stop", "the bus stop is far" and "stop sign" are denied. A
    short or uncertain transcript without the phrase is unclear, since the recogniser may have misheard what the spotter
    heard right; so is a phrase in the middle of a sentence that no rule knows. An uncertain transcript denies only if
    nothing else that the recogniser may have heard is short, or has anything like the phrase. A word of another script
    is a word like any other.
    """
    text, sure = _read(transcript)
    words, wanted = _words(text), _words(phrase)
    verdicts = {
        verdict(words, at, at + len(wanted))
        for at in range(len(words) - len(wanted) + 1)
        if wanted and words[at : at + len(wanted)] == wanted
    }
    if not verdicts:
        if sure:
            return "denied" if len(words) > FEW or is_inflected(words, wanted) else "unclear"
        return "denied" if nothing_like(transcript, phrase) else "unclear"
    if "confirmed" in verdicts:
        return "confirmed"
    return "unclear" if "unclear" in verdicts else "denied"


def missed(transcript: Transcript | str, phrases: Iterable[str]) -> str | None:
    """The first of the key phrases that a transcript has as a command, for when the spotter heard none.

    Also one behind no more than a word that no rule knows: "max stop" calls a robot by its name.
    """
    text, sure = _read(transcript)
    words = _words(text)

    def called(wanted: list[str], judged: Verdict) -> bool:
        return judged == "unclear" and sure and len(words) == len(wanted) + 1 and words[1:] == wanted

    verdicts = ((phrase, confirm(transcript, phrase)) for phrase in phrases)
    return next((one for one, judged in verdicts if judged == "confirmed" or called(_words(one), judged)), None)


def occurrences(transcript: Transcript | str, phrases: Iterable[str]) -> int:
    """Counts how often a transcript has any of the phrases, whatever was meant."""
    return len(places(_words(_read(transcript)[0]), map(_words, phrases)))


def starts(words: Iterable[HeardWord], phrases: Iterable[str]) -> list[float]:
    """Returns the beginning of each of those phrases."""
    timed = [(part, word.start_s) for word in words for part in _words(word.text)]
    return [timed[at][1] for at in places([part for part, _ in timed], map(_words, phrases))]


def forbids(transcript: Transcript | str, phrases: Iterable[str], *, after: int = 0) -> bool:
    """True if a transcript has the phrases more than ``after`` times, and a negator governs each of the rest."""
    words = _words(_read(transcript)[0])
    found = places(words, map(_words, phrases))[after:]
    return bool(found) and all(is_forbidden(words[:at]) for at in found)


def _read(transcript: Transcript | str) -> tuple[str, bool]:
    if isinstance(transcript, str):
        return transcript, True
    confident = transcript.confidence is None or transcript.confidence >= _SURE
    return transcript.text, transcript.final and transcript.understood and confident


def nothing_like(transcript: Transcript | str, phrase: str) -> bool:
    """True if all that a recogniser can think of is longer than a command to stop, and sounds like none."""
    wanted = _words(phrase)
    if isinstance(transcript, str) or not transcript.final or not transcript.others:
        return False
    heard = [_words(text) for text in (transcript.text, *transcript.others)]
    if any(len(words) <= FEW for words in heard):
        return False
    return not any(sounds_like(word, one) for words in heard for word in set(words) for one in wanted)


def _words(text: str) -> list[str]:
    """A recogniser may write any language; what can't be said in English stays as it is."""
    text = re.sub(r"[^\w\s'’.,%-]", " ", text)  # noqa: RUF001 - an apostrophe
    try:
        return spoken_words(text)[:_MOST]
    except ConfigError:
        return [part for word in text.split()[:_MOST] for part in _spoken_or_kept(word)]


def _spoken_or_kept(word: str) -> list[str]:
    try:
        return spoken_words(word)
    except ConfigError:
        return [word.lower()]
