"""Confirmation of key phrases: what the transcript says of what the spotter heard, or missed.

English. Rules on words, no model. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from edgeagent.errors import ConfigError
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.transcriber import HeardWord, Transcript

Verdict = Literal["confirmed", "denied", "unclear"]

_NEGATORS: Final = frozenset(
    "don't dont not never didn't doesn't won't can't cannot couldn't wouldn't shouldn't mustn't isn't aren't wasn't "
    "haven't hasn't nobody nothing without non".split()
)
_BETWEEN: Final = frozenset(
    "you i we they he she it to want need have ever even just dare please him her them me think should would let make "
    "going gonna wanna try really all do did be so that suddenly simply ask asked tell told say said can could".split()
)
"""Words that may stand between a negator and what it forbids: "don't you ever stop"."""
_NOUN_BEFORE: Final = frozenset(
    "the a an this these those next last first second third final previous every each any some one another my your our "
    "his her their bus tram train metro subway truck rest pit full glottal whistle door of at coffee lunch fuel brief "
    "sudden complete".split()
)
"""The phrase is a noun after these: "the bus stop"."""
_NOUN_AFTER: Final = frozenset(
    "sign signs light lights lamp watch watches button buttons word words gap codon bit bits motion sale press cock is "
    "was has".split()
)
"""... and before these: "stop sign", "the next stop is"."""
_TALK_BEFORE: Final = frozenset(
    "to i we they he she who which did does do when if where why how until till before after people buses trains cars "
    "will might may must used always usually often sometimes".split()
)
"""A sentence about stopping: "when does it stop", "I stop here every day"."""
_ADDRESS: Final = frozenset(
    "please robot robi hey hi hello ok okay now just oh no nope wait stop halt right alright whoa woah hold on listen "
    "sorry and then but so could can would will you yes yeah enough emergency quick quickly immediately i said say "
    "must uh um ah hm well come that's it's good fine there everything everyone look careful watch out god god's sake "
    "for damn thanks thank goodness".split()
)
"""Words that may stand before a command that begins a sentence."""
_BREAKS: Final = frozenset("no wait now please and then but okay ok robot stop halt so hey oh alright".split())
"""Words after which a command may begin in the middle of a sentence: "go to the kitchen no stop"."""
_QUESTIONS: Final = frozenset("when where why how who what which does did do is are was were has have if".split())
"""A sentence that begins with one of these asks about stopping; "could you", "can you" and "will you" ask for it."""
_THIRD: Final = frozenset("i it he she they we the this that my your his her our their".split())
_MODALS: Final = frozenset("will would could should might may can must".split())
_ENDINGS: Final = ("s", "es", "d", "ed", "ing")
_SURE: Final = 0.5
_SHORT: Final = 3
_ALIKE: Final = 3
"""Words that differ in no more than one letter of so many may be the same, misheard."""
_TALK_WORDS: Final = 4
_FEW_AFTER: Final = 1
_GREETINGS: Final = frozenset({"hey", "hi", "hello", "ok", "okay"})
_OPENERS: Final = frozenset("and but so well oh hey robot please okay ok".split())
_MOST: Final = 500


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
        _verdict(words, at, at + len(wanted))
        for at in range(len(words) - len(wanted) + 1)
        if wanted and words[at : at + len(wanted)] == wanted
    }
    if not verdicts:
        if sure:
            return "denied" if len(words) > _SHORT or _inflected(words, wanted) else "unclear"
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

    def called(wanted: list[str], verdict: Verdict) -> bool:
        return verdict == "unclear" and sure and len(words) == len(wanted) + 1 and words[1:] == wanted

    verdicts = ((phrase, confirm(transcript, phrase)) for phrase in phrases)
    return next((one for one, verdict in verdicts if verdict == "confirmed" or called(_words(one), verdict)), None)


def occurrences(transcript: Transcript | str, phrases: Iterable[str]) -> int:
    """Counts how often a transcript has any of the phrases, whatever was meant."""
    return len(_places(_words(_read(transcript)[0]), phrases))


def starts(words: Iterable[HeardWord], phrases: Iterable[str]) -> list[float]:
    """Returns the beginning of each of those phrases."""
    timed = [(part, word.start_s) for word in words for part in _words(word.text)]
    return [timed[at][1] for at in _places([part for part, _ in timed], phrases)]


def forbids(transcript: Transcript | str, phrases: Iterable[str], *, after: int = 0) -> bool:
    """True if a transcript has the phrases more than ``after`` times, and a negator governs each of the rest."""
    words = _words(_read(transcript)[0])
    found = _places(words, phrases)[after:]
    return bool(found) and all(_forbidden(words[:at]) for at in found)


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
    if any(len(words) <= _SHORT for words in heard):
        return False
    return not any(_alike(word, one) for words in heard for word in set(words) for one in wanted)


def _places(words: list[str], phrases: Iterable[str]) -> list[int]:
    """Finds the phrases in a text, without those that are a part of another one: "stop" of "emergency stop"."""
    found = [(at, at + len(one)) for one in map(_words, phrases) if one for at in _found(words, one)]
    return sorted(
        {
            at
            for at, end in found
            if not any(begin <= at and end <= last and (at, end) != (begin, last) for begin, last in found)
        }
    )


def _found(words: list[str], wanted: list[str]) -> list[int]:
    return [at for at in range(len(words) - len(wanted) + 1) if words[at : at + len(wanted)] == wanted]


def _alike(word: str, wanted: str) -> bool:
    """True if a word may be another one that was misheard, by the letters: top, step, and stock are like stop."""
    return _distance(word, wanted) <= len(wanted) // _ALIKE


def _distance(left: str, right: str) -> int:
    """Letters to add, take away or exchange."""
    row = list(range(len(right) + 1))
    for count, letter in enumerate(left, 1):
        above, row[0] = row[0], count
        for place, other in enumerate(right, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != other))
    return row[-1]


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


def _verdict(words: list[str], start: int, end: int) -> Verdict:
    """Judges one occurrence by the words around it."""
    before, after = words[:start], words[end:]
    if _forbidden(before) or (after and after[0] in _NOUN_AFTER) or (before and before[-1] in _NOUN_BEFORE):
        return "denied"
    if before[-2:-1] in (["a"], ["an"]):  # "a short stop"
        return "denied"
    if before == ["you"] and len(after) > _FEW_AFTER:
        return "denied"
    if before[-2:] == ["you", "must"] and len(after) <= _FEW_AFTER:
        return "confirmed"
    led = all(word in _ADDRESS for word in before) or (before[0] in _GREETINGS and len(before) <= _SHORT)
    if led or before[-1] in _BREAKS:
        # "will you stop", "can you please stop" ask for it; "i will stop" tells
        tells = before and before[-1] in _TALK_BEFORE and before[-2:] != ["you", "will"] and "said" not in before
        return "denied" if tells else "confirmed"
    if before[-1] in _TALK_BEFORE | _MODALS or _asks(before):
        return "denied"
    return "denied" if len(words) > _TALK_WORDS and after else "unclear"


def _asks(before: list[str]) -> bool:
    """True if a sentence that begins like this is a question about the phrase."""
    first = next((place for place, word in enumerate(before) if word not in _OPENERS), None)
    if first is None:
        return False
    told = before[first : first + 2]
    return told[0] in _QUESTIONS or (told[0] in _MODALS and told[-1] in _THIRD)


def _inflected(words: list[str], wanted: list[str]) -> bool:
    """True if the phrase's only word is there in another form: stopped, stopping, unstoppable."""
    if len(wanted) != 1:
        return False
    stem = wanted[0].rstrip("e")
    forms = {base + ending for base in (wanted[0], stem, stem + stem[-1:]) for ending in _ENDINGS}
    return any(word in forms or word.startswith(f"un{stem}") for word in words)


def _forbidden(before: list[str]) -> bool:
    """True if a negator governs what follows: next to it, or with nothing but small words between."""
    for place in range(len(before) - 1, -1, -1):
        word = before[place]
        if word in _NEGATORS:
            return True
        if word == "no" and before[place + 1 : place + 2] == ["need"]:
            return True
        if word not in _BETWEEN and word != "need":
            return False
    return False
