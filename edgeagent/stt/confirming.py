"""Confirmation of key phrases that a spotter heard: some are the robot's own, and others the transcript denies.

Leftovers of the robot's voice may sound like a phrase, and the robot may say one. ``OwnVoice`` judges by the echo
canceller's word on each frame: whether there is something in it that the loudspeaker does not explain. The ears' thread
tells, any thread asks.

Functions compare a phrase with the transcript, by the rules of ``edgeagent.english.stop_phrases``; also one that the
spotter missed. Pure, on any thread.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from edgeagent.english.stop_phrases import (
    FEW,
    HEARD_FOR_ANY_WORD,
    HEARD_FOR_STOP,
    MENTION,
    Verdict,
    is_forbidden,
    is_inflected,
    places,
    sounds_like,
    verdict,
)
from edgeagent.errors import ConfigError
from edgeagent.stt.hearing import HeardWord, RecognisedText
from edgeagent.stt.phrases import spoken_words

_KEPT: Final = 300
"""Frames of 10 ms."""
_WORD_S: Final = 0.7
"""Before the end of the phrase: that of a spotter begins too early, with the pause before it."""
_BEFORE_S: Final = 0.25
"""Seconds before the robot began to speak; what was said earlier is no part of a word that ends in its speech."""
_PAUSE: Final = 12
"""Frames without a person that end what was said before the robot began; the silence before the last sound of "stop" is
shorter."""
_LEAST: Final = 11
"""Frames with a person in them. In the simulated room the words of a person had at least 20, up to an echo 6 dB louder
than his voice, and what was taken for a word in the robot's own voice at most 9; of 72 stop words at -6 dB 64 pass."""
_LEAST_SURE: Final = 6
"""The same where the spotter is sure of the word. In 20 minutes of the robot's own speech in the simulated room, at -20
to +6 dB, what it was sure of had at most one. Just after a long silence the echo is learnt anew, and a person's "stop"
at 0 dB has 8."""


class OwnVoice:
    """The last seconds, frame by frame."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: deque[tuple[float, bool, bool]] = deque(maxlen=_KEPT)

    def take(self, end_s: float, *, person: bool | None, loud: bool) -> None:
        """The next frame, which ends at ``end_s``.

        Args:
            person: There is a person in it; None: the loudspeaker is silent.
            loud: It is louder than the room: a person, where the loudspeaker is silent.
        """
        found = loud if person is None else person
        with self._lock:
            self._frames.append((end_s, found, person is not None))

    def explains(self, end_s: float, *, sure: bool = False) -> bool:
        """True if a phrase that ends then is nothing but the robot's own voice.

        Args:
            sure: The spotter has no doubt that the phrase was said, by whomever.
        """
        with self._lock:
            heard = [frame for frame in self._frames if end_s - _WORD_S < frame[0] <= end_s]
        began_s = next((at_s for at_s, _, spoken in heard if spoken), None)
        if len(heard) <= _LEAST or began_s is None:
            return False
        before = [person for at_s, person, _ in heard if began_s - _BEFORE_S <= at_s < began_s]
        after = [person for at_s, person, _ in heard if at_s >= began_s]
        return sum(_unbroken(before)) + sum(after) < (_LEAST_SURE if sure else _LEAST)


def _unbroken(persons: Sequence[bool]) -> Sequence[bool]:
    """The last frames, from the last pause on."""
    for end in range(len(persons), _PAUSE - 1, -1):
        if not any(persons[end - _PAUSE : end]):
            return persons[end:]
    return persons


_SURE: Final = 0.5
"""Confidence from which a transcript is certain."""
_MOST_SURE: Final = 0.7
"""The same where a transcript that goes on, or a short one, denies a command to stop. Of 85 that an early look could
hear in noise at 10 dB, 4 are denied at ``_SURE`` and none so; of 444 short ones, 2 ("halt" heard as "oh") and none."""
_MOST: Final = 500
"""Words that are read; nobody says more in a turn."""


def confirm(transcript: RecognisedText | str, phrase: str) -> Verdict:
    """Judges whether the key phrase in a transcript is a command.

    "stop", "robot stop" and "please stop now" are; "don't stop", "the bus stop is far" and "stop sign" are denied. A
    short or uncertain transcript without the phrase is unclear, since the recogniser may have misheard what the spotter
    heard right; so is a phrase in the middle of a sentence that no rule knows, and one that only another text has which
    the recogniser may have heard. An uncertain transcript denies only if nothing that the recogniser may have heard is
    short, or has anything like the phrase; a short one that has the phrase, only by a "don't", because what is around
    the word in "roll my stop" is as doubtful as all of it, and so are three words before it in "i'm on my stop". A word
    of another script is a word like any other. Nothing but "oh" or "huh", however often, is unclear.
    """
    text, sure = _read(transcript)
    words, wanted = _words(text), _words(phrase)
    if _is_any_word(words):
        return "unclear"
    few = not sure and (len(words) <= FEW or (len(words) == FEW + 1 and words[-len(wanted) :] == wanted))
    verdicts = {
        _of_few(words, at, at + len(wanted)) if few else verdict(words, at, at + len(wanted))
        for at in places(words, [wanted])
    }
    if not verdicts:
        if sure:
            long = len(words) > FEW and not _perhaps(transcript, wanted)
            return "denied" if long or is_inflected(words, wanted) else "unclear"
        final = isinstance(transcript, str) or transcript.final
        other = final and _is_other_form(words, wanted) and not _perhaps(transcript, wanted)
        return "denied" if other or nothing_like(transcript, phrase) else "unclear"
    if "confirmed" in verdicts:
        return "confirmed"
    return "unclear" if "unclear" in verdicts else "denied"


def _is_any_word(words: Sequence[str]) -> bool:
    """True if a recogniser has heard something short, and knows no word for it."""
    return bool(words) and HEARD_FOR_ANY_WORD.issuperset(words)


def _is_other_form(words: list[str], wanted: list[str]) -> bool:
    """True if a long sentence tells of somebody, and has the phrase in another form: "the elevator stopped between two
    floors".

    Not where a command may stand, at its end or behind a word that begins one: "i said stopped right now".
    """
    if len(words) <= FEW or words[0] not in MENTION.third:
        return False
    return MENTION.address.isdisjoint(words) and is_inflected(words[1:-1], wanted)


def _of_few(words: list[str], start: int, end: int) -> Verdict:
    """Judges an occurrence among so few doubtful words that only a negator denies it."""
    judged = verdict(words, start, end)
    return "unclear" if judged == "denied" and not is_forbidden(words[:start]) else judged


def missed(transcript: RecognisedText | str, phrases: Iterable[str]) -> str | None:
    """The first of the key phrases that a transcript has as a command, for when the spotter heard none.

    Also one behind no more than a word that no rule knows: "max stop" calls a robot by its name.
    """
    text, sure = _read(transcript)
    words = _words(text)

    def called(wanted: list[str], judged: Verdict) -> bool:
        return judged == "unclear" and sure and len(words) == len(wanted) + 1 and words[1:] == wanted

    verdicts = ((phrase, confirm(transcript, phrase)) for phrase in phrases)
    return next((one for one, judged in verdicts if judged == "confirmed" or called(_words(one), judged)), None)


def possible(transcript: RecognisedText, suspected: str, phrases: Sequence[str], *, brief: bool = False) -> str | None:
    """The stop word that both the recogniser and the spotter think possible in what was not understood.

    The text is nothing but "oh" or the like, or it is in the text, and no word around it denies it ("ruby stop"), or
    fits the sound in place of a text that has none of the phrases in any form. None where "don't stop" may have been
    said. Where "halt" was said, "stop" fits the sound better.

    Args:
        brief: It is no longer than a command, and the spotter all but sure: what fits the sound does not count.
    """
    words, wanted = _words(transcript.text), {phrase: _words(phrase) for phrase in phrases}
    if suspected in transcript.excluded or any(forbids(other, phrases) for other in transcript.others):
        return None
    if _is_any_word(words) and (brief or not transcript.understood):
        return suspected
    if transcript.understood:
        return None
    alike = {suspected, "stop"} if suspected == "halt" else {suspected}
    if places(words, wanted.values()) or any(is_inflected(words, one) for one in wanted.values()):
        written = wanted.get(suspected, [])
        judged = {verdict(words, at, at + len(written)) for at in places(words, [written])}
        return suspected if judged and "denied" not in judged else None
    if brief:
        forbidden = any(is_forbidden(words[:at]) for at in range(1, len(words)))
        return None if forbidden else suspected
    return next((word for word in transcript.far_stops if word in alike and word in wanted), None)


def begins(transcript: RecognisedText, phrase: str) -> bool:
    """True if a transcript begins with the phrase."""
    wanted = _words(phrase)
    return _words(transcript.text)[: len(wanted)] == wanted


def occurrences(transcript: RecognisedText | str, phrases: Iterable[str]) -> int:
    """Counts how often a transcript has any of the phrases, whatever was meant."""
    return len(places(_words(_read(transcript)[0]), map(_words, phrases)))


def has_form(text: str, phrase: str) -> bool:
    """True if a text has the phrase, or its word in another form, whatever was meant."""
    words, wanted = _words(text), _words(phrase)
    return bool(places(words, [wanted])) or is_inflected(words, wanted)


def starts(words: Iterable[HeardWord], phrases: Iterable[str]) -> list[float]:
    """Returns the beginning of each of those phrases."""
    timed = [(part, word.start_s) for word in words for part in _words(word.text)]
    return [timed[at][1] for at in places([part for part, _ in timed], map(_words, phrases))]


def forbids(transcript: RecognisedText | str, phrases: Iterable[str], *, after: int = 0) -> bool:
    """True if a transcript has the phrases more than ``after`` times, and a negator governs each of the rest."""
    words = _words(_read(transcript)[0])
    found = places(words, map(_words, phrases))[after:]
    return bool(found) and all(is_forbidden(words[:at]) for at in found)


def _read(transcript: RecognisedText | str) -> tuple[str, bool]:
    if isinstance(transcript, str):
        return transcript, True
    confident = transcript.confidence is None or transcript.confidence >= _SURE
    return transcript.text, transcript.final and transcript.understood and confident


def nothing_like(transcript: RecognisedText | str, phrase: str) -> bool:
    """True if all that a recogniser can think of is longer than a command to stop, and sounds like none.

    One that can think of a single text has to be confident of its words.
    """
    wanted = _words(phrase)
    if isinstance(transcript, str) or not transcript.final:
        return False
    if not transcript.others and (transcript.confidence or 0.0) < _SURE:
        return False
    heard = [_words(text) for text in (transcript.text, *transcript.others)]
    if any(len(words) <= FEW for words in heard):
        return False
    return not any(sounds_like(word, one) for words in heard for word in set(words) for one in wanted)


def excludes(transcript: RecognisedText, phrase: str, phrases: Iterable[str]) -> bool:
    """True if a recogniser is most confident of words that are like none of the phrases, and has looked for the one in
    vain: it fits the sound far worse, and was not heard by itself instead.

    That denies it where the transcript is too short to be believed otherwise.
    """
    text, sure = _read(transcript)
    if not sure or (transcript.confidence or 0.0) < _MOST_SURE:
        return False
    heard, wanted = set(_words(text)), {word for each in (phrase, *phrases) for word in _words(each)}
    alike = any(sounds_like(word, one) for word in heard for one in wanted)
    instead = phrase in transcript.others
    return phrase in transcript.excluded and not instead and not alike and HEARD_FOR_STOP.isdisjoint(heard)


def is_unlike_stops(transcript: RecognisedText, phrases: Iterable[str]) -> bool:
    """True if words have none of the phrases in any form, and a recogniser is not most confident of them."""
    words = _words(transcript.text)
    mentions = any(places(words, [wanted]) or is_inflected(words, wanted) for wanted in map(_words, phrases))
    return not mentions and transcript.confidence is not None and transcript.confidence < _MOST_SURE


def unlike(transcript: RecognisedText, phrase: str) -> bool:
    """True if a recogniser is most confident of words that are nothing like a phrase, or what is heard for "stop"."""
    confident = (transcript.confidence or 0.0) >= _MOST_SURE
    heard = {word for text in (transcript.text, *transcript.others) for word in _words(text)}
    return confident and nothing_like(transcript, phrase) and HEARD_FOR_STOP.isdisjoint(heard)


def _perhaps(transcript: RecognisedText | str, wanted: list[str]) -> bool:
    """True if another text that a recogniser may have heard has the phrase."""
    others = () if isinstance(transcript, str) else transcript.others
    return any(places(_words(text), [wanted]) for text in others)


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
