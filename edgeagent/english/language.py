"""Tells English from other languages and from no language, by words. Rows of data; pure functions, on any thread."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from edgeagent.english import word_classes
from edgeagent.english.number_words import NUMBER_WORDS
from edgeagent.english.sentence_rules import is_number
from edgeagent.english.tokens import words_of
from edgeagent.english.units import UNITS

_ENGLISH: Final = frozenset(
    word
    for words in vars(word_classes).values()
    if isinstance(words, frozenset)
    for word in words
    if isinstance(word, str)
) | frozenset(
    "yes no nope yeah thanks thank sorry good bad nice great hello goodbye morning night much many how kind sure maybe "
    "robot until said ask stopped moving went came been having people home house flat".split()
)
"""Words of the rules on sentences, and a few of small talk. One of them makes a sentence English, if no other language
has more."""
_FOREIGN: Final = frozenset(
    # German, Dutch
    "der das den dem des ein eine einen einem ich du wir ihr sie und oder nicht kein keine bitte zum zur auf mit fahr "
    "fahre geh gehe komm nach vorne hinten links rechts ist sind het een niet naar ga ik jij wij voor achter "
    # French
    "le les un une je tu nous vous et ou pas ne est sont avec dans vers va allez avance recule tourne gauche droite "
    # Spanish, Portuguese, Italian, Romanian
    "el la los las una y con por para favor ve vaya vete anda gira avanza cocina izquierda derecha os um uma nao vá "
    "esquerda direita il lo gli di del della che non vai cucina sinistra destra avanti indietro si sunt "
    # Polish, Czech, Swedish, Danish, Finnish, Turkish, Indonesian
    "nie do jest prosze idz jdi och och att det en ett inte gå til og ikke mene älä git dur lütfen ke "
    "jangan pergi".split()
) - {"do", "um", "os", "di", "si"}
"""Small words and commands of other languages that are no English words."""
_OF_OTHERS: Final = frozenset("die me in am an so a no on to was will as come do he".split())
"""English words that other languages have too: they make no sentence English."""
_SEVERAL: Final = 2
"""One unknown word is a typing error, several are another language."""


def is_english(text: str, known: Collection[str] = ()) -> bool:
    """True if a text may be English. Several words of which none is known are not, nor are those of which most are
    words, or have letters, of other languages.

    A text without words, such as an emoji or a number, is in no other language: True.

    Args:
        known: Further words that count as English: those of an app's tools and phrases.
    """
    words = [word for word in words_of(text) if not is_number(word)]
    foreign = sum(_is_foreign(word, known) for word in words)
    english = sum(word in known or (_is_known(word) and word not in _OF_OTHERS) for word in words)
    return foreign <= english and (len(words) < _SEVERAL or has_english(text, known))


def has_english(text: str, known: Collection[str] = ()) -> bool:
    """True if any word of a text is a known English one; typing errors and made-up words are not."""
    return any(word in known or _is_known(word) for word in words_of(text))


def _is_known(word: str) -> bool:
    return word in _ENGLISH or word in UNITS or word in NUMBER_WORDS


def _is_foreign(word: str, known: Collection[str]) -> bool:
    """True if a word is of another language, or has letters that English does not use."""
    if word in known or _is_known(word):
        return False
    return word in _FOREIGN or any(character.isalpha() and not character.isascii() for character in word)
