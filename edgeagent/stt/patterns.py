"""The ways a key phrase is listened for: in the midst of talk, by itself between two pauses, after "please", and by
itself over the robot's own voice.

PocketSphinx's keyword search weighs a phrase against any sounds at all. A short phrase is found in all kinds of talk
("top", "shop", "it's not"), so it has to be very sure of itself there; said between pauses, or with a word that goes
with a command, much less will do. Pure functions, on any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final, Literal

from edgeagent.errors import ConfigError

LEAST: Final = 3
"""Phones of a phrase; with less it is heard in any talk."""
SHORT: Final = 5
"""A phrase of at most so many phones is listened for in several ways; a longer one is rare enough in talk."""

_PAUSE: Final = "SIL"  # at least 30 ms
_BEFORE: Final = f"{_PAUSE} {_PAUSE} {_PAUSE}"
_AMID: Final = 30
"""Powers of ten between a short phrase by itself and the same one in the midst of talk. All such figures were set on
flite's kal and seven voices of espeak-ng, those of words beside it made stricter after false alarms of others."""
_AT_END: Final = 24
_LONG_AFTER: Final = -6
"""A longer pause after it: a little looser, a little later."""
_OVER_VOICE: Final = -12
"""A short phrase by itself while the robot speaks: what its voice leaves of the word is less like it, and the ears know
what of it is the robot's own. Another person's talk over the robot's is taken for a stop word more often, 13 times in
six minutes in place of once; it interrupts the robot anyway, and the transcript denies it. ``docs/figures.md`` has
the gain."""
_EARLY: Final = -16
"""Looser still over the robot's first words: more of its voice is left, which fills the pauses beside the word."""
_LED: Final = {"robot": ("R OW B AA T", 10), "please": ("P L IY Z", 14), "wait": ("W EY T", 12), "no": ("N OW", 14),
               "now": ("N AW", 14), "okay": ("K EY", 16)}  # fmt: skip
"""Words that lead to a command, their phones, and by how many powers of ten they are stricter. Stricter than their own
false alarms ask for: the breath after a "please" at the end of a sentence is like "stop" in a whisper."""
_FOLLOWED: Final = {"now": ("N AW", -4), "it": ("IH T", 4), "please": ("P L IY Z", -8), "there": ("DH EH R", 0),
                    "right": ("R AY T", -8), "moving": ("M UW V IH NG", -8), "the": ("DH AH", 12)}  # fmt: skip
_VOWELS: Final = {"AA": "AO", "AO": "AA"}
"""Which of the two is said depends on where a person is from: stop in London, halt in California."""
_MOST_WAYS: Final = 8
_LOOSEST, _STRICTEST = 60, 0
"""Thresholds as powers of a tenth: 1e-60 and 1."""


When = Literal["always", "speaking", "early"]
"""At any time; while the robot speaks; over its first words, from which an echo was subtracted that was not learnt."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to listen for a phrase."""

    phones: str
    stricter: int = 0
    """Than the phrase's own threshold, in powers of ten."""
    when: When = "always"
    """Condition that must hold at the end of the phrase, or it does not count."""

    def threshold(self, of_phrase: float) -> float:
        """PocketSphinx's threshold, from 1e-60 (hears it everywhere) to 1."""
        return float(min(10.0**-_STRICTEST, max(10.0**-_LOOSEST, of_phrase * 10.0**self.stricter)))


def phone_patterns(words: Sequence[str], known: Mapping[str, Sequence[str]]) -> list[Pattern]:
    """All ways to listen for a phrase of these words.

    Args:
        known: The pronunciations of each word, phones with spaces between them.

    Raises:
        ConfigError: It has less than ``LEAST`` sounds.
    """
    ways = [
        " ".join(way) for way in islice(product(*(dict.fromkeys(known[word]) for word in words)), _MOST_WAYS)
    ]  # keyword search takes one pronunciation of a word, unless it is given others
    if len(ways[0].split()) < LEAST:
        raise ConfigError(
            f"the key phrase {' '.join(words)!r} has less than {LEAST} sounds ({ways[0]}): it would be heard everywhere"
        )
    if not is_short(ways[0]):
        return [Pattern(way) for way in _vowels(ways)]
    alone = [pattern for way in _vowels(ways) for pattern in _paused(way)]
    over = [replace(pattern, stricter=pattern.stricter + _OVER_VOICE, when="speaking") for pattern in alone]
    early = [replace(pattern, stricter=pattern.stricter + _EARLY, when="early") for pattern in over]
    return [*alone, *_in_company(ways[0]), *over, *early]


def is_short(phones: str) -> bool:
    """True if a phrase of these phones turns up in all kinds of talk."""
    return len(phones.split()) <= SHORT


def _vowels(ways: Sequence[str]) -> list[str]:
    others = [" ".join(_VOWELS.get(phone, phone) for phone in way.split()) for way in ways]
    return list(dict.fromkeys([*ways, *others]))[:_MOST_WAYS]


def _paused(way: str) -> Iterator[Pattern]:
    yield Pattern(way, _AMID)
    yield Pattern(f"{way} {_PAUSE}", _AT_END)
    yield Pattern(f"{_BEFORE} {way} {_PAUSE}")
    yield Pattern(f"{_BEFORE} {way} {_PAUSE} {_PAUSE}", _LONG_AFTER)


def _in_company(way: str) -> Iterator[Pattern]:
    for phones, stricter in _LED.values():
        yield Pattern(f"{phones} {way} {_PAUSE}", stricter)
    for phones, stricter in _FOLLOWED.values():
        yield Pattern(f"{_BEFORE} {way} {phones}", stricter)
