"""Pronunciation of words that PocketSphinx's dictionary lacks: espeak-ng's phonemes, as PocketSphinx's 39 phones.

Knows no decoder. Any thread; espeak-ng serves one at a time.
"""

# ruff: noqa: RUF001 - IPA has signs that look like letters

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from typing import Final

from edgeagent.errors import RecognitionError
from edgeagent.tts import espeak_library
from edgeagent.tts.speaker import plain

PHONES: Final = frozenset(
    "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH".split()
)
"""The phones of PocketSphinx's English, those of the CMU dictionary without stress."""

_VOICE: Final = "en-us"
_IPA: Final = 0x02  # espeakPHONEMES_IPA of speak_lib.h
_NO_WORD: Final = "a"
_LONGEST: Final = 64
"""Letters of a word; a longer one is cut."""

_FROM_IPA: Final = {
    # three signs and two: what r and l make of a vowel, diphthongs, affricates
    "aɪɚ": "AY ER", "aɪə": "AY AH", "aɪɹ": "AY R", "aʊɚ": "AW ER", "ɔːɹ": "AO R", "ɑːɹ": "AA R", "ɛɹ": "EH R",
    "ɪɹ": "IH R", "ʊɹ": "UH R", "oːɹ": "AO R", "iə": "IY AH", "əl": "AH L", "ɚɹ": "ER", "ɜːɹ": "ER",
    "aɪ": "AY", "aʊ": "AW", "eɪ": "EY", "oʊ": "OW", "əʊ": "OW", "ɔɪ": "OY", "tʃ": "CH", "dʒ": "JH", "ts": "T S",
    "ɑː": "AA", "ɔː": "AO", "iː": "IY", "uː": "UW", "ɜː": "ER", "n̩": "AH N", "m̩": "AH M", "l̩": "AH L",
    "a": "AE", "æ": "AE", "ɑ": "AA", "ɒ": "AA", "ʌ": "AH", "ɐ": "AH", "ə": "AH", "ɔ": "AO", "ɛ": "EH", "e": "EH",
    "ɜ": "ER", "ɚ": "ER", "ɝ": "ER", "ɪ": "IH", "ᵻ": "IH", "i": "IY", "o": "OW", "ʊ": "UH", "u": "UW", "y": "UW",
    "ø": "ER", "œ": "ER",
    "b": "B", "d": "D", "ð": "DH", "f": "F", "ɡ": "G", "g": "G", "h": "HH", "x": "HH", "ç": "HH", "j": "Y", "k": "K",
    "l": "L", "ɫ": "L", "m": "M", "n": "N", "ŋ": "NG", "ɲ": "N Y", "p": "P", "ɹ": "R", "r": "R", "ʁ": "R", "s": "S",
    "ʃ": "SH", "t": "T", "ɾ": "T", "θ": "TH", "v": "V", "w": "W", "z": "Z", "ʒ": "ZH",
}  # fmt: skip
_SIGNS: Final = re.compile("|".join(map(re.escape, sorted(_FROM_IPA, key=len, reverse=True))))
_SPELLED: Final = "ˈˌ"
_FINAL_I: Final = re.compile(r"[^aeo]i$")


def phones_of_ipa(ipa: str) -> list[str]:
    """The phones for a transcription in IPA; signs of stress, length and anything foreign make no sound."""
    plain = ipa.translate(dict.fromkeys(map(ord, _SPELLED)))
    return [phone for sign in _SIGNS.findall(plain) for phone in _FROM_IPA[sign].split()]


def pronunciations(words: Iterable[str]) -> dict[str, list[str]]:
    """Returns how espeak-ng says these words: for each one or more pronunciations, phones with spaces between them.

    A word in -i gets two: espeak-ng says robi like "row by", people say it like "row bee".

    Raises:
        SpeechError: espeak-ng is missing.
        RecognitionError: It has no sound for a word; the text names it.
    """
    with espeak_library.held() as espeak:
        assert espeak is not None  # noqa: S101 - only a stop gives None
        _choose_voice(espeak)
        return {word: list(_variants(word, phones_of_ipa(_ipa(espeak, word)))) for word in words}


def _variants(word: str, phones: list[str]) -> Iterator[str]:
    if not phones:
        raise RecognitionError(f"the word {word!r} can't be heard: espeak-ng knows no sound for it")
    yield " ".join(phones)
    if _FINAL_I.search(word) and phones[-1] == "AY":
        yield " ".join([*phones[:-1], "IY"])


def _choose_voice(espeak: espeak_library.EspeakLibrary) -> None:
    """Make the voice ours: it is the process's, and whoever spoke last has chosen it.

    Speech that was stopped in the middle leaves a letter in espeak-ng 1.52, which comes out before the next word
    ("lidar" began like "double-u"): a word of no interest takes it along.

    Raises:
        RecognitionError: There is no such voice.
    """
    if espeak.find_voice(_VOICE) is None:
        raise RecognitionError(f"espeak-ng has no voice {_VOICE!r} to ask how words sound")
    _ipa(espeak, _NO_WORD)


def _ipa(espeak: espeak_library.EspeakLibrary, word: str) -> str:
    translate = espeak._c.espeak_TextToPhonemes
    translate.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
    translate.restype = ctypes.c_char_p
    left = ctypes.c_char_p(plain(word[:_LONGEST]).encode())
    said = []
    while left.value:  # one clause a call
        said.append((translate(ctypes.byref(left), espeak_library.UTF8, _IPA) or b"").decode())
    return "".join(said)
