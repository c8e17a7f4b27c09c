"""Completeness of sentences, to tell if somebody who pauses after some words is likely done: the app's phrases, and
rules on words.

English. Knows no sound and no model of language: what no rule knows is neither complete nor unfinished. Pure functions,
on any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from edgeagent.english.sentence_rules import (
    CLASS,
    Sentence,
    bare,
    dangles,
    is_question,
    lacks_something,
    sentence,
    without_asking,
    without_leading,
)
from edgeagent.english.stop_phrases import StopPhrases
from edgeagent.english.tokens import words_of
from edgeagent.english.word_data import decide, is_number, says

_SLOT: Final = "#"


class Phrases:
    """Phrases that the people of an app say to it, as far as they tell whether a sentence is whole.

    Args:
        phrases: Example utterances of the app, its agent and its tools. A number stands for every number.
        names: Groups of names of one kind, such as all rooms; each stands for all others of its group.
        stops: Stop words of the app's own.
        called: The robot's names.

    Attributes:
        stops: The robot's stop phrases.
    """

    def __init__(
        self,
        phrases: Iterable[str] = (),
        *,
        names: Iterable[Sequence[str]] = (),
        stops: Iterable[str] = (),
        called: Iterable[str] = (),
    ) -> None:
        groups = [[tuple(words_of(name)) for name in group] for group in names]
        self._names = {name: f"<{number}>" for number, group in enumerate(groups) for name in group if name}
        self._longest = max(map(len, self._names), default=0)
        self._name_starts = {name[:end] for name in self._names for end in range(1, len(name))} - self._names.keys()
        self.stops = StopPhrases(names=called, trips=stops)
        self._patterns = {pattern for phrase in phrases if (pattern := self._pattern(bare(words_of(phrase))))}
        self._starts: dict[tuple[str, ...], set[str]] = {}
        for pattern in self._patterns:
            for end in range(1, len(pattern)):
                self._starts.setdefault(pattern[:end], set()).add(pattern[end])
        self._endings = CLASS.endings | {word for name in self._names for word in name}
        self._endings |= {pattern[-1] for pattern in self._patterns}
        self._verbs = (
            CLASS.verbs | {pattern[0] for pattern in self._patterns if len(pattern) > 1} - CLASS.wh - CLASS.auxiliaries
        )

    def is_unfinished(self, text: str) -> bool:
        """True if a speaker who pauses here probably goes on: "drive to the", "can you", "turn"."""
        said = sentence(text)
        words = said.bare
        if said.open:
            return True
        if not words:
            return bool(said.words) and said.words[-1] in CLASS.opens  # "robot", "um please"
        if said.asked and len(words) == 1:
            return False
        if dangles(words):
            return True
        pattern = self._pattern(words)
        if pattern in self._patterns:  # "pick_up" may be the name of a tool
            return len(pattern) < 3 and lacks_something(words)
        if self._begins_name(words) or lacks_something(words):
            return True
        return self._begins_phrase(pattern) and not self._is_whole(said)

    def is_complete(self, text: str) -> bool:
        """True if a text is a whole command or question, so that nothing more need be waited for.

        A sentence may be neither complete nor unfinished: "the kitchen is nice".
        """
        if self.is_unfinished(text):
            return False
        said = sentence(text)
        words = said.bare
        if not words:
            return False
        pattern = self._pattern(words)
        if pattern in self._patterns:
            return True
        if self._begins_phrase(pattern) and not is_question(words):  # "turn left": by how much may follow
            return False
        return self._is_whole(said)

    def _is_whole(self, said: Sentence) -> bool:
        """True if the rules on words, without the app's phrases, find a question or a command whole."""
        if said.asked:
            return True
        words = said.bare
        if words[-1] not in self._endings and not is_number(words[-1]) and len(words) > 1:
            return False
        doubtful = says("doubtful", words, without_asking(words))
        return not doubtful and (is_question(words) or self.is_command(words))

    def is_command(self, words: list[str]) -> bool:
        """True if words begin as a command does: with a verb, a request, a direction, a distance."""
        words = without_asking(without_leading(words) or words)
        if not words:
            return False
        if (answer := decide("command", words)) is not None:
            return answer == "yes"
        return words[0] in self._verbs or self._pattern(words) in self._patterns

    def begins(self, words: Sequence[str]) -> bool:
        """True if a phrase of the app is, or begins with, the first two words, or all of them."""
        pattern = self._pattern(words)
        return pattern in self._patterns or pattern[:2] in self._starts or pattern[:2] in self._patterns

    def is_name(self, words: Sequence[str]) -> bool:
        """True if words are a name of the app, with an article or without."""
        return tuple(words) in self._names or (words[0] in CLASS.determiners and tuple(words[1:]) in self._names)

    def _pattern(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words with slots for numbers and names."""
        made: list[str] = []
        at = 0
        while at < len(words):
            for size in range(min(self._longest, len(words) - at), 0, -1):
                if slot := self._names.get(tuple(words[at : at + size])):
                    made.append(slot)
                    at += size
                    break
            else:
                made.append(_SLOT if is_number(words[at]) else words[at])
                at += 1
        return tuple(made)

    def _begins_phrase(self, pattern: tuple[str, ...]) -> bool:
        """True if phrases begin like this, and go on with more than what may always follow."""
        return bool(self._starts.get(pattern, set()) - CLASS.connects)

    def _begins_name(self, words: Sequence[str]) -> bool:
        """True if the last words are the first ones of a name, and none: "go to the living"."""
        return any(
            tuple(words[at:]) in self._name_starts and words[at - 1] in CLASS.determiners for at in range(1, len(words))
        )
