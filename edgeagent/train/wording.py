"""Other words for a phrase, and sentences with its words that ask for nothing. Strings only; any thread."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Final

from edgeagent.train import dressing

_SAME: Final = (
    "go to|drive to|head to|move to|drive over to|go over to|head over to|get to|proceed to",
    "go back to|return to|drive back to|head back to|come back to",
    "go into|drive into|move into|get into",
    "bring me|get me|fetch me|hand me|give me|pass me",
    "bring|fetch|get|grab",
    "pick up|grab|take|collect|get",
    "pick|collect|fetch|pick up|get",
    "lift|raise",
    "raise|lift|put up|move up",
    "lower|bring down|let down",
    "look at|have a look at|check|inspect|take a look at",
    "check|examine|look at|test|inspect",
    "read|read out|look at",
    "cut|trim",
    "turn on|switch on",
    "turn off|switch off",
    "shut|close",
    "close|shut",
    "start|begin|launch",
    "stop|end|halt",
    "tell me|let me know|say",
    "what is|what's|tell me",
    "how much|what amount of",
    "put|place|set",
    "set|put|change|switch",
    "set the|change the|adjust the|put the",
    "into|in",
    "show|display|show me",
    "play|put on|start",
    "clean|clean up|wipe",
    "i need|i want|i would like|i'd like|i could use|give me",
    "send|deliver|bring",
    "chase away|drive away|scare away|scare off",
    "make|create|produce",
    "measure|check|read|take a reading of",
    "for|for about",
    "to|up to|at",
)
_FAR: Final = frozenset({"to", "for", "into"})
"""Words whose other forms are rare."""
KEPT: Final = frozenset("the a to me i in on at of for is it please and what how".split())
"""Words that tell no tool."""
_GROUPS: Final = tuple(tuple(group.split("|")) for group in _SAME)
_IRREGULAR: Final = dict(
    pair.split(":")
    for pair in (
        "go:went drive:drove cut:cut put:put bring:brought get:got give:gave take:took read:read make:made set:set "
        "shut:shut say:said tell:told find:found send:sent sow:sowed hold:held leave:left run:ran speak:spoke "
        "draw:drew throw:threw feed:fed build:built fly:flew show:showed write:wrote stand:stood"
    ).split()
)
_NOT_ASKED: Final = (
    "if I told you to {}, would you do it",
    "she told me to {}",
    "my boss asked me to {}",
    "I dreamt that I had to {}",
    "I don't want to {}",
    "my father likes to {}",
    "nobody has to {}",
    "the last robot could {} too",
    "I forgot to {} yesterday",
    "I used to {} every day",
)
_DONE: Final = ("I {} yesterday", "I {} myself", "my sister {} this morning", "we {} already", "they {} last week")
ABOUT: Final = (
    "the {} looks nice",
    "I like the {}",
    "we bought a new {}",
    "that is a big {}",
    "there are too many {}s",
    "my neighbour has a {} too",
    "we need more {}s next year",
    "the {} was expensive",
    "I read a book about the {}",
    "do you like the {}",
    "my friend works with {}s",
    "this {} is older than I am",
    "who made the {}",
    "I remember the first {}",
)
_NEGATED: Final = ("don't {}", "do not {}", "please don't {}", "never {}", "you must not {}", "you need not {}")
WONT: Final = ("Okay, I won't.", "All right, I won't.", "Okay, I will not do that.")
HEARD: Final = ("I see.", "Okay.", "All right.", "Good to know.")
AGAIN: Final = ("Sorry, I did not understand that.", "I did not get that.", "Sorry, could you say that again?")
CANNOT: Final = ("I can't do that.", "Sorry, I can't do that.", "I'm sorry, I can't do that.")
JOINTS: Final = (" and ",) * 6 + (
    " then ",
    " and then ",
    ", then ",
    ", ",
    ". then ",
    " and also ",
    ", and ",
    " and after that ",
)
CORRECTIONS: Final = (", no, ", ", sorry, ", ", I mean ", " no wait ", ", no make that ", ", actually ")


def reworded(pieces: list[str | None], rng: random.Random, foreign: Iterable[str]) -> list[str | None]:
    """Exchanges some words of a sentence for others that say the same.

    Args:
        pieces: The sentence; None stands for a value.
        foreign: Words by which other tools are asked for. No word becomes one of them.
    """
    apart = set(foreign)
    made: list[str | None] = []
    for piece in pieces:
        text = piece
        if text is not None:
            for group in rng.sample(_GROUPS, len(_GROUPS)):
                text = _exchanged(text, group, rng, apart)
        made.append(text)
    return made


def _exchanged(text: str, group: tuple[str, ...], rng: random.Random, apart: set[str]) -> str:
    if rng.random() > (0.06 if group[0] in _FAR else 0.3):
        return text
    found = re.search(rf"(?<![\w']){re.escape(group[0])}(?![\w'])", text, re.IGNORECASE)
    others = [other for other in group[1:] if not apart & set(other.split())]
    return text if found is None or not others else text[: found.start()] + rng.choice(others) + text[found.end() :]


def negated(text: str, rng: random.Random) -> str | None:
    """Forbids what a command asks for; None if the text is no command."""
    return rng.choice(_NEGATED).format(_begun_small(text)) if dressing.is_imperative(text) else None


def not_asked(text: str, rng: random.Random) -> str | None:
    """Speaks of what a command asks for, without asking; None if the text is no command."""
    if not dressing.is_imperative(text):
        return None
    verb, _, rest = _begun_small(text).partition(" ")
    if rest and rng.random() < 0.45 and verb.isalpha():
        return rng.choice(_DONE).format(f"{_past(verb)} {rest}")
    return rng.choice(_NOT_ASKED).format(f"{verb} {rest}".strip())


def _past(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    short = len(verb) <= 4 and verb[-1] in "bdgmnpt" and verb[-2:-1] in "aeiou" and verb[-3:-2] not in "aeiou"
    return f"{verb}{verb[-1]}ed" if short else f"{verb}ed"


def _begun_small(text: str) -> str:
    return text if text.startswith("I ") else text[:1].lower() + text[1:]
