"""Plan of a voice test: the lines that a person is asked to say, of five kinds. Pure functions, any thread.

Equal arguments make equal plans, so that two tests differ by the person, the microphone and the settings alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Final, Literal

from edgeagent.english.word_data import lists
from edgeagent.stt.phrases import spoken_words

Kind = Literal["command", "stop", "stop_over", "talk", "wake"]
"""A command of the app; a stop word in quiet; one while the robot speaks; talk with a stop word in passing; a wake
word."""

SENTENCES: Final = 20
"""Lines of a test unless somebody asks for more or fewer: about three minutes."""
STOPS: Final = ("stop", "halt", "freeze")
"""Stop words of every robot, which its transcripts know even if its spotter does not listen for them."""
STORIES: Final = (
    (
        "Once there was a little robot that lived beside the sea. Every morning it rolled along the beach and looked "
        "for shells. It gave the pretty ones to the children, and the others it took home."
    ),
    (
        "My favourite season is autumn. The leaves turn red and yellow, the air is clear, and everybody drinks tea. "
        "In the evening we sit near the window and watch the rain."
    ),
    (
        "Yesterday I cleaned the whole kitchen. First I carried the cups to the table, then I wiped the floor, and in "
        "the end I found a spoon that had been missing for a year."
    ),
)
"""Told by the robot while a person says a stop word; none has a word like one."""

_SHARES: Final[dict[Kind, float]] = {"command": 0.4, "stop_over": 0.2, "talk": 0.2, "stop": 0.15, "wake": 0.05}
_IN_PASSING: Final = {
    "stop": (
        "the bus stop is far away",
        "she could not stop laughing",
        "my stop is the next one",
        "when does the music stop",
    ),
    "halt": ("the train came to a halt",),
    "freeze": ("the lake will freeze in winter",),
}
_ANY_IN_PASSING: Final = ("the last {} was long ago", "i don't know why they say {} so often")
_WORDS: Final = range(2, 8)
"""Words of a command that a person reads without a slip."""
_PLAIN: Final = re.compile(r"[a-z' ]+")


@dataclass(frozen=True, slots=True)
class PlannedLine:
    """One line to say."""

    text: str
    kind: Kind
    phrase: str = ""
    """The key phrase in it."""
    distance: str = ""
    """Where the person stands, in the builder's words."""


def plan(
    commands: Iterable[str],
    *,
    stop_words: Iterable[str] = ("stop",),
    wake_words: Iterable[str] = (),
    count: int = SENTENCES,
    over: bool = True,
    distances: Sequence[str] = (),
) -> list[PlannedLine]:
    """Draws the lines of a test.

    Args:
        commands: Phrases of the app.
        stop_words, wake_words: Key phrases of the settings.
        count: Lines at each distance.
        over: The robot can speak, so that somebody can speak over it; else those stop words are said in quiet.
        distances: Places, at each of which all lines are said; none: one place without a name.
    """
    stops = list(dict.fromkeys((*stop_words, *STOPS)))
    said = _commands(commands, stops)
    sources: dict[Kind, list[PlannedLine]] = {
        "command": [PlannedLine(text, "command") for text in said],
        "stop_over": [PlannedLine(word, "stop_over" if over else "stop", word) for word in stops],
        "talk": _in_passing(stops),
        "stop": [PlannedLine(word, "stop", word) for word in stops],
        "wake": [PlannedLine(word, "wake", word) for word in dict.fromkeys(wake_words)],
    }
    counts = _counts(count, [kind for kind, lines in sources.items() if lines])
    drawn = [line for kind, wanted in counts.items() for line in islice(cycle(sources[kind]), wanted)]
    random.Random(0).shuffle(drawn)
    return [replace(line, distance=place) for place in distances or ("",) for line in drawn]


def _counts(count: int, kinds: Sequence[Kind]) -> dict[Kind, int]:
    """Lines of each kind: by their shares, and one of each before two of any."""
    counts = dict.fromkeys(kinds, 0)
    for _ in range(count):
        kind = min(kinds, key=lambda kind: (counts[kind] > 0, counts[kind] / _SHARES[kind]))
        counts[kind] += 1
    return counts


def _commands(phrases: Iterable[str], stops: Sequence[str]) -> list[str]:
    """Phrases that are easily read, in a mixed order: those that begin with a verb first, and of equal first words one
    after the other."""
    plain = dict.fromkeys(phrase.lower().rstrip(".!?") for phrase in phrases)
    fit = [
        phrase
        for phrase in plain
        if _PLAIN.fullmatch(phrase) and len(phrase.split()) in _WORDS and not _holds(phrase, stops)
    ]
    fit = fit or [phrase for phrase in plain if spoken_words(phrase) and not _holds(phrase, stops)]
    random.Random(0).shuffle(fit)
    rank: dict[str, int] = {}
    ranked = []
    for phrase in fit:
        first = phrase.split()[0]
        rank[first] = rank.get(first, 0) + 1
        ranked.append((rank[first], first not in lists("classes").verbs, phrase))
    return [phrase for *_, phrase in sorted(ranked, key=lambda one: (one[1], one[0]))]


def _holds(phrase: str, stops: Sequence[str]) -> bool:
    words = set(spoken_words(phrase))
    return any(words.issuperset(spoken_words(stop)) for stop in stops)


def _in_passing(stops: Sequence[str]) -> list[PlannedLine]:
    """Talk in which each stop word stands in passing, the first one's lines first of all."""
    lines = []
    for stop in stops:
        texts = _IN_PASSING.get(stop) or tuple(text.format(stop) for text in _ANY_IN_PASSING)
        lines += [PlannedLine(text, "talk", stop) for text in texts]
    return lines
