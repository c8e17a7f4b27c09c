"""Typing errors in most words of a short sentence: "folow mee", "trun lfet", "go to teh fridg".

A wrong word is never another word that people say to a robot, and numbers, "on" and "off" stay, so the meaning does too.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import Final

import lexicon

from edgeagent.train import dressing

LONGEST: Final = 7
"""Words of a sentence that is mistyped as a whole."""
HASTE: Final = 0.06
"""Share of what is said to the house robot that is typed in haste."""
_SHORT: Final = {
    "the": ("teh", "hte", "th", "tje"), "and": ("adn", "an", "nad", "amd"), "you": ("yuo", "yu", "yoy", "u"), "your": ("yuor", "yor", "ur", "youre"), "are": ("aer", "ar", "r"), "for": ("fro", "fpr", "4"),
    "get": ("gte", "gett", "geet"), "put": ("ptu", "putt", "pur"), "how": ("hwo", "hoow"), "me": ("mee", "em", "mme"), "my": ("ym", "myy"), "to": ("ot", "too", "tp", "2"), "go": ("og", "goo", "gp"), "is": ("si", "iz"), "it": ("ti", "itt"),
    "in": ("ni", "inn"), "cup": ("cpu", "cupp", "cuup"), "what": ("waht", "wat", "whta", "wht"), "where": ("wher", "were", "wehre", "whre"), "stop": ("sotp", "stpo", "stopp"), "follow": ("folow", "follw", "fallow", "folllow"),
    "turn": ("trun", "tunr", "turnn"), "left": ("lfet", "letf", "leftt", "lef"), "right": ("rihgt", "rigth", "rigt", "rught"), "light": ("lihgt", "ligth", "ligt", "lite"), "lights": ("lihgts", "ligths", "ligts"),
    "kitchen": ("kichen", "kitchn", "kithcen", "ktichen"), "fridge": ("fridg", "frige", "firdge", "fridgde"), "battery": ("batery", "battry", "batterry", "battrey"), "timer": ("tmier", "timr", "timmer"), "minutes": ("minuts", "mintues", "minuets"),
    "meters": ("metrs", "meteres", "mtrs"), "metres": ("metrs", "meters", "mtres"), "degrees": ("degres", "degreess", "deegrees"), "forward": ("foward", "forwrad", "forwad"), "back": ("bakc", "bac", "bck"), "backwards": ("backwrads", "bakwards"),
    "please": ("pleas", "plese", "plaese", "pls"), "bring": ("brign", "brng", "birng"), "drive": ("drvie", "driev", "drve"), "here": ("heer", "hre"), "come": ("coem", "cmoe", "comme"), "bedroom": ("bedrom", "bedroon", "bedorom"),
    "bathroom": ("bathrom", "bahtroom", "batroom"), "living": ("livng", "liivng"), "garage": ("garge", "gargae", "garrage"), "balcony": ("balcny", "balconny", "blacony"), "hallway": ("halway", "hallwya"), "office": ("offce", "ofice", "offcie"),
}  # fmt: skip
"""What becomes of frequent words."""
_KEPT: Final = dressing.NUMBERS | frozenset(("on", "off", "of", "up", "no", "not", "don't", "dont", "never", "min", "mins", "sec", "secs", "inch", "inches", "feet", "foot", "yard", "yards", "hour", "hours", "first", "before", "after"))  # fmt: skip
_SHARE: Final = 0.7
_LEAST: Final = 4


@cache
def _known() -> frozenset[str]:
    """Every word of the phrase files and of the flat."""
    files = sorted((Path(__file__).parent / "corpus").glob("*.txt"))
    words = {word for file in files for word in re.findall(r"[a-z]+", file.read_text(encoding="utf-8"))}
    return frozenset(words | set(lexicon.COMMON_WORDS) | set(lexicon.UNKNOWN_OBJECTS) | set(lexicon.UNKNOWN_PLACES))


def _slip(word: str, rng: random.Random) -> str:
    i = rng.randint(0, len(word) - 2)
    return rng.choice(
        (
            word[: i + 1] + word[i + 2 :],
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[: i + 1] + word[i:],
            word[: i + 1] + rng.choice(dressing.BESIDE.get(word[i + 1], word[i + 1])) + word[i + 2 :],
            word[: i + 1] + rng.choice(dressing.BESIDE.get(word[i], word[i])) + word[i + 1 :],
        )
    )


def _mistyped(word: str, rng: random.Random) -> str:
    low = word.lower()
    if low in _KEPT or rng.random() > _SHARE:
        return word
    if low in _SHORT and rng.random() < 0.7:
        return rng.choice(_SHORT[low])
    if len(low) < _LEAST or not low.isalpha():
        return word
    wrong = _slip(low, rng)
    return word if wrong in _known() else wrong


def mistyped(text: str, rng: random.Random) -> str:
    """A short sentence with errors in most of its words; a longer one as it is."""
    words = text.split()
    if len(words) > LONGEST:
        return text
    return " ".join(_mistyped(word, rng) for word in words)
