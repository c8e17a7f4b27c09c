"""Looks of a sentence on its way to the model: casing, punctuation, politeness, numbers, slips of ear and finger.

Works on strings only; the meaning never changes.
"""

from __future__ import annotations

import random
import re
from typing import Final

from edgeagent.english.number_words import ONES, TENS

_BEFORE: Final = (
    "please", "please", "please", "could you", "could you please", "can you", "can you please", "would you", "will you",
    "would you please", "can you quickly", "could you quickly", "i want you to", "i'd like you to", "i need you to",
    "i would like you to", "you should", "you can", "you may", "now", "now please", "ok now", "okay", "so", "well", "um",
    "uh", "er", "hey", "hey robot", "robot", "hello robot", "hi", "alright", "right", "go ahead and", "just", "quickly",
    "kindly", "be so kind and", "be a dear and", "do me a favor and", "do me a favour and", "would you be so kind as to",
    "if you can", "if possible", "time to", "let's", "next", "then", "listen", "excuse me", "sorry", "buddy", "my friend",
    "i think you should", "you need to", "you have to", "you must", "i was wondering if you could", "maybe you could",
    "any chance you could", "it would be nice if you could", "would it be possible to", "hey can you", "um please", "yo",
    "ok robot", "okay robot please", "dear robot", "first of all", "try to", "please try to", "are you able to", "great now",
    "good now", "hi there", "hey you", "yes please", "yeah", "ah yes", "oh and", "also", "and", "but now", "i'm tired so",
)  # fmt: skip
_AFTER: Final = (
    "please", "please", "please", "for me", "now", "right now", "thanks", "thank you", "if you can", "if you could",
    "if possible", "when you can", "would you", "will you", "could you", "okay", "ok", "quickly", "right away", "buddy",
    "robot", "my friend", "if you don't mind", "if you please", "at once", "immediately", "asap", "when you are ready",
    "thank you very much", "please robot", "for a moment", "this time", "you know", "alright", "slowly",
    "carefully", "would you please", "can you",
)  # fmt: skip
_FILLERS: Final = ("um", "uh", "er", "like", "you know", "well", "please", "i mean", "just", "hm", "so", "sort of")

_HOMOPHONES: Final = {
    "two": ("too", "to"), "four": ("for",), "meters": ("meeters", "metres", "meter"), "right": ("write", "rite"),
    "degrees": ("degree",), "light": ("lite",), "lights": ("lites",), "hall": ("haul",), "one": ("won",), "eight": ("ate",),
    "by": ("buy",), "book": ("buck",), "sofa": ("so far",), "keys": ("kees",), "timer": ("time or",), "minutes": ("minute",),
    "kitchen": ("kitchin", "chicken"), "bedroom": ("bed room",), "bathroom": ("bath room",), "cup": ("cop",), "wait": ("weight",),
    "off": ("of",), "turn": ("tern",), "drive": ("dive",), "phone": ("fone",), "halt": ("hault",), "seconds": ("second",),
}  # fmt: skip

_SHORTHAND: Final = {
    "please": ("pls", "plz", "please"), "you": ("u", "ya"), "your": ("ur", "yer"), "are": ("r", "are"), "to": ("2", "to"), "for": ("4", "for"),
    "and": ("n", "&", "and"), "going": ("goin",), "could": ("cud",), "would": ("wud",), "want": ("wanna",), "the": ("da", "the", "teh"),
    "right": ("rite", "right"), "light": ("lite", "light"), "lights": ("lites",), "because": ("cuz", "cos"), "thanks": ("thx",),
    "about": ("bout",), "okay": ("k", "ok"), "then": ("den", "then"), "tomorrow": ("tmrw",), "minutes": ("mins",), "seconds": ("secs",),
}  # fmt: skip
"""Words as they stand in short messages."""
BESIDE: Final = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk", "k": "jl", "l": "k",
    "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "wa", "r": "et", "s": "ad", "t": "ry", "u": "yi", "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip
"""Keys beside a key."""
_SHORTEST: Final = 4
"""Letters of a word in which a finger slips."""
NUMBERS: Final = frozenset(
    (*ONES, *TENS, *"hundred thousand point half quarter quarters third couple minus negative".split())
)
"""Words in which no finger slips."""

_QUESTION: Final = frozenset(
    "what where how is are can could would will do does did which who when why any am may should was were whats wheres hows what's where's how's who's".split()
)
_NOT_IMPERATIVE: Final = _QUESTION | frozenset(
    "i i'd i'm i'll i've we let let's you your my it it's its there the a an please this that they he she if please no not never don't hi hello hey thanks thank "
    "need how's robot ok okay yes sorry nobody somebody everyone today yesterday tomorrow two one three all another both any some enough "
    "it'd that'd there'd you'd you're we'd they're things perhaps maybe might fancy feel think won't couldn't can't wouldn't has half quarter fine good great super perfect careful argh excuse lemme".split()
)


def is_question(text: str) -> bool:
    """Tells if the text begins like a question."""
    return text.split(" ", 1)[0].lower() in _QUESTION


def is_imperative(text: str) -> bool:
    """Tells if "please" or "don't" may stand before the text."""
    return text.split(" ", 1)[0].lower().strip(",") not in _NOT_IMPERATIVE


def polite(text: str, rng: random.Random, chance: float = 0.4) -> str:
    """Puts politeness and fillers around an imperative."""
    if not is_imperative(text):
        return text
    before, after = rng.random() < chance * 0.75, rng.random() < chance * 0.4
    if before:
        text = f"{rng.choice(_BEFORE)} {text}"
    if after:
        text = f"{text} {rng.choice(_AFTER)}"
    return text


def _slip(word: str, rng: random.Random) -> str:
    """A word as a hurried finger types it; its first letter stays."""
    i = rng.randint(1, len(word) - 2)
    beside = rng.choice(BESIDE.get(word[i], word[i]))
    return rng.choice(
        (
            word[:i] + word[i + 1 :],
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[:i] + word[i] + word[i:],
            word[:i] + beside + word[i + 1 :],
        )
    )


def _slips(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    kind = rng.random()
    i = rng.randrange(len(words))
    if kind < 0.4:
        long = [j for j, w in enumerate(words) if len(w) >= _SHORTEST and w.isalpha() and w not in NUMBERS]
        for j in rng.sample(long, min(len(long), rng.choice((1, 1, 1, 2)))):
            words[j] = _slip(words[j], rng)
    elif kind < 0.55:
        known = [j for j, w in enumerate(words) if w in _HOMOPHONES]
        if known:
            j = rng.choice(known)
            words[j] = rng.choice(_HOMOPHONES[words[j]])
    elif kind < 0.7:
        left_out = ("the", "a", "an", "my") if rng.random() < 0.7 else ("the", "a", "an", "my", "to", "in", "of")
        words = [w for w in words if w not in left_out] or words
    elif kind < 0.83:
        for _ in range(rng.choice((1, 1, 2, 3))):
            words.insert(rng.randrange(len(words) + 1), rng.choice(_FILLERS))
    elif kind < 0.89:
        words.insert(i, words[i] if words[i] not in NUMBERS and words[i].isalpha() else "uh")
    elif kind < 0.94:
        words = [rng.choice(_SHORTHAND.get(word, (word,))) for word in words]
    elif i + 1 < len(words) and words[i].isalpha() and words[i + 1].isalpha():
        words[i : i + 2] = [words[i] + words[i + 1]]
    return " ".join(words)


def _capital(text: str) -> str:
    text = re.sub(r"\bi('|\b)", r"I\1", text)
    return text[:1].upper() + text[1:]


def dress(text: str, rng: random.Random, *, slips: float = 0.14) -> str:
    """Gives a plain lower-case sentence the look of speech recognition or of typing."""
    if rng.random() < slips:
        text = _slips(text, rng)
    style = rng.random()
    if style < 0.42:
        text = re.sub(r"[,;!?]|\.(?!\d)", "", text)
        if rng.random() < 0.15:
            text = text.replace("'", "")
        return re.sub(r"\s+", " ", text).strip().lower() if rng.random() < 0.9 else re.sub(r"\s+", " ", text).strip()
    end = ("?", "?", "?", "") if is_question(text) else (".", ".", ".", "!", "")
    if style < 0.8:
        return _capital(text) + (rng.choice(end) if text[-1:] not in ".!?" else "")
    if style < 0.985:
        return text + (rng.choice(("", "", *end)) if text[-1:] not in ".!?" else "")
    return text.upper()


def cardinal(n: int, *, hyphen: bool = False, and_: bool = False) -> str:
    """An integer from 0 to 99,999 in words: 123 is "one hundred [and] twenty three"."""
    if n < 20:
        return ONES[n]
    if n < 100:
        tens, ones = divmod(n, 10)
        return TENS[tens - 2] + (("-" if hyphen else " ") + ONES[ones] if ones else "")
    unit, name = (100, "hundred") if n < 1000 else (1000, "thousand")
    head, rest = divmod(n, unit)
    words = f"{cardinal(head, hyphen=hyphen, and_=and_)} {name}"
    if rest:
        words += (" and " if and_ else " ") + cardinal(rest, hyphen=hyphen, and_=and_)
    return words


def digits(value: float) -> str:
    """A number in digits without a superfluous zero: 2.0 is "2"."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


def decimal_words(value: float) -> str:
    """A decimal read aloud: 1.25 is "one point two five"."""
    whole, _, fraction = digits(value).partition(".")
    words = cardinal(int(whole))
    return f"{words} point {' '.join(ONES[int(d)] for d in fraction)}" if fraction else words


def number(value: float) -> int | float:
    """The value as JSON writes it: an integer where it is one."""
    rounded = round(value, 4)
    return int(rounded) if rounded == int(rounded) else rounded
