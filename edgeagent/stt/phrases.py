"""Phrases that an app's people say, as sentences of spoken words for the ears' language model.

Knows no recogniser and no dictionary. Pure functions, on any thread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from edgeagent.characters import plain_apostrophes
from edgeagent.english.normalise import speakable
from edgeagent.english.tokens import NEGATION
from edgeagent.errors import ConfigError

NEGATIONS: Final = NEGATION.texts("spoken")
"""A closed model that has no word for "don't" hears a command in a sentence that forbids it."""

_NEGATED: Final = re.compile(rf"\b(?:{'|'.join(sorted(NEGATION.forbids))})\b")
_LONGEST: Final = 1_000
"""Characters of a phrase."""
_SHOWN: Final = 60
_PLAIN: Final = re.compile(r"[A-Za-z',.!? ]*+")
_PUNCTUATION: Final = re.compile(r"[\s,.;:!?…\"'“”‘’()\[\]/&–—-]*+")  # noqa: RUF001 - dashes and quotes of all kinds
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)*")
_NAMES_EACH: Final = 8
"""A phrase with a name is also heard with this many others of the same kind."""
_NEGATED_SHARE: Final = 5
"""One phrase in so many is also heard with each negation: enough for the words, and no command gets less likely."""


def spoken_words(text: str) -> list[str]:
    """A text as a person says it: lower case, numbers and units in words, no punctuation.

    "Drive 2.5 m, please!" is drive two point five meters please. A language model hears numbers so; the rules on
    sentences read them in digits (``edgeagent.english.words_of``).

    Raises:
        ConfigError: A word has nothing that can be said in English; the text names the word.
    """
    text = plain_apostrophes(unicodedata.normalize("NFC", text))
    if not _PLAIN.fullmatch(text):
        for word in text.split():
            _check(word, text)
        text = _folded(speakable(text).text)
    return _WORD.findall(text.lower())


def _check(word: str, text: str) -> None:
    """A word that would vanish without a sound is an error of whoever wrote it."""
    if _PUNCTUATION.fullmatch(word) or any(char.isascii() and char.isalnum() for char in _folded(word)):
        return
    if re.search("[a-z]", _folded(speakable(word).text).lower()):  # %, +, °C
        return
    letters = any(char.isalpha() for char in word)
    reason = "has no letters of the English alphabet" if letters else "has no letters"
    raise ConfigError(f"{word[:_SHOWN]!r} in the phrase {text[:_SHOWN]!r} {reason}, so nobody can say it")


def _folded(text: str) -> str:
    """Without accents: café is cafe."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def sentences(phrases: Iterable[str], *, names: Iterable[Sequence[str]] = (), negate: bool | None = None) -> list[str]:
    """Everything that the app's language model is built of, one sentence of spoken words each, in a settled order.

    Args:
        phrases: Example utterances of the app, its agent and its tools; names of tools count as phrases too.
        names: Groups of names of one kind, such as all rooms: a phrase that holds one of them is heard with the others
            too, and each name is a sentence of its own, since it may be the answer to a question.
        negate: Also add "don't", "never" and the like before some of the phrases; None: where no phrase says them.

    Raises:
        ConfigError: A phrase is empty, too long, or has a word that can't be said; the text names it.
    """
    spoken = list(dict.fromkeys(_spoken_phrases(phrases)))
    groups = [list(dict.fromkeys(_spoken_phrases(group))) for group in names]
    made = [*spoken, *_exchanged(spoken, groups), *(name for group in groups for name in group)]
    if negate is None:
        negate = not any(_NEGATED.search(phrase) for phrase in spoken)
    if negate:
        made += [f"{negation} {phrase}" for phrase in spoken[::_NEGATED_SHARE] for negation in NEGATIONS]
    return made


def _spoken_phrases(phrases: Iterable[str]) -> Iterator[str]:
    for number, phrase in enumerate(phrases, 1):
        if not isinstance(phrase, str):
            raise ConfigError(f"phrase {number} is a {type(phrase).__name__}, not a text")
        if len(phrase) > _LONGEST:
            raise ConfigError(f"phrase {number}, {phrase[:_SHOWN]!r}…, is longer than {_LONGEST} characters")
        if words := spoken_words(phrase.replace("_", " ")):
            yield " ".join(words)
        else:
            raise ConfigError(f"phrase {number}, {phrase[:_SHOWN]!r}, has no words")


def _exchanged(spoken: list[str], groups: list[list[str]]) -> Iterator[str]:
    """The phrases that hold a name, with others of its kind in its place; all names get their turn."""
    for group in groups:
        if not group:
            continue
        longest_first = sorted(group, key=len, reverse=True)
        holds = re.compile(rf"(?<![\w'])(?:{'|'.join(map(re.escape, longest_first))})(?![\w'])")
        turn = 0
        for phrase in spoken:
            if found := holds.search(phrase):
                for step in range(min(_NAMES_EACH, len(group))):
                    name = group[(turn + step) % len(group)]
                    if name != found[0]:
                        yield phrase[: found.start()] + name + phrase[found.end() :]
                turn += _NAMES_EACH
