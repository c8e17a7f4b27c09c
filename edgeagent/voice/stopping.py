"""From a stop word that was spotted to what it meant: the transcript decides, or the time.

Knows neither latch nor loudspeaker. Runs on the conversation's thread. Times are seconds of the device's clock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from edgeagent.english.stop_phrases import Grade, StopPhrases
from edgeagent.stt.confirming import (
    begins,
    confirm,
    excludes,
    forbids,
    is_unlike_stops,
    missed,
    nothing_like,
    occurrences,
    possible,
    starts,
    unlike,
)
from edgeagent.stt.hearing import RecognisedText, SpottedPhrase

AFTER_SPEECH_S: Final = 1.0
"""Seconds after the end of the speech at which an unclear stop word counts."""
AFTER_WORD_S: Final = 3.0
"""Seconds after the word at which it counts at the latest."""
ALONE_S: Final = 0.8
"""Seconds after a word in the robot's own voice at which it is certain that nobody has spoken: voice activity takes up
to half a second over the robot's voice. Of 58 stop words that people said over it and that were spotted, one was not
noticed as speech, at an echo of +6 dB; so this holds only where nothing moves."""
GUESS_S: Final = 0.5
"""Seconds after a word at which a guess that says no more than that is believed: "freeze" was what PocketSphinx made of
the first words of "where did you grow up"."""
PROBABLE: Final = 0.5
"""Probability of a stop word by the spotter from which on it counts in speech as short as a command, none of which was
understood, while something moves."""
_APART_S: Final = 0.5
"""The utterance of a word may begin so much after the word ends: voice activity is slower than the spotter."""
BEYOND_S: Final = 0.3
"""Seconds after its speech in which a word or a phrase may end: voice activity ends before the last sound of "stop"."""
_FIRST_S: Final = 0.3
"""A word that begins later after the onset of the speech has others before it."""
_WORD_S: Final = 0.2
"""Seconds before the end of a word; knowledge that is older is about another word."""
_SAME_S: Final = 0.2
"""A word of a transcript that begins within so much of one that was spotted is that one. The spotter tells up to half a
second too late when a word ended, "stop there" being one to it, and lets it begin with the pause before it; but never
before the word that came before that pause has ended (75 words, five voices)."""
_SPOKEN_S: Final = 0.4
"""Seconds that a stop word lasts."""
_COMMAND_S: Final = 1.0
"""Seconds up to which speech may be nothing but a command to stop, however many doubtful words are made of it."""
_LATE_S: Final = 0.5
"""Seconds that a spotter may be late with the end of a word."""
_LOOK_S: Final = 0.25
"""Seconds from one early look to the next, if the recogniser was busy or the person paused."""
_LOOK_UNTIL_S: Final = 0.6
"""Seconds after a word until which a look counts: the word is among the last four then, which are scored against it."""
_KEPT: Final = 64

Outcome = Literal["trip", "release"]


@dataclass(slots=True)
class _Waiting:
    """A word that was spotted, and means nothing yet."""

    keyword: SpottedPhrase
    alone: bool
    """The robot speaks, and nobody else was heard."""
    own: bool
    """The robot was just saying the word, or a form of it."""
    speech_end_s: float | None
    guessed: bool = False
    """True if the words of now, a guess, say it."""
    was_guessed: bool = False
    """True if a guess has said it."""
    apart: bool = False
    """True if the speech of now is not the one of the word."""
    look_s: float = field(init=False)
    """From when on an early look at the speech tells something new of the word."""

    def __post_init__(self) -> None:
        self.look_s = self.keyword.end_s + BEYOND_S

    @property
    def said_until_s(self) -> float | None:
        """End of the speech that holds it, also where the spotter is late with the word; None: it goes on."""
        if self.speech_end_s is None:
            return None
        is_late = self.keyword.end_s - self.speech_end_s <= _LATE_S
        return self.speech_end_s if is_late else self.keyword.end_s

    def note(self, meant: str | None) -> None:
        """Notes whether what was told last is a guess that says it."""
        self.guessed = meant == "guess"
        self.was_guessed |= self.guessed


@dataclass(frozen=True, slots=True)
class _SaidMeanwhile:
    """Knowledge about some speech, and its time."""

    transcript: RecognisedText
    began_s: float | None
    ended_s: float
    known_s: float
    stops: int
    """Stop words in it, whatever was meant."""
    sound_s: float | None = None
    """From when on the sound was heard; None where that is not known."""
    starts_s: tuple[float, ...] = ()
    """When each of them began; empty where that is not known."""

    @property
    def brief(self) -> bool:
        """True if it is no longer than a command to stop."""
        return self.began_s is not None and self.ended_s - self.began_s <= _COMMAND_S


class StopWatch:
    """The stop words that wait for their transcript.

    A transcript says something of a word that lies in its speech. That it was not meant it says of the first stop word
    of a sentence by whatever is around it, of another one only by its own "don't": a sentence that has told of a stop
    and then has one more is likely to mean it. Two different words that were spotted, and neither is in the transcript,
    were none.

    Args:
        phrases: The stop words that the spotter listens for.
        stops: The robot's stop phrases: of those that trip, a whole utterance is none that was missed.
    """

    def __init__(self, phrases: Sequence[str], stops: StopPhrases | None = None) -> None:
        self._phrases, self._stops = tuple(phrases), stops or StopPhrases()
        self._waiting: list[_Waiting] = []
        self._spotted: deque[tuple[str, float]] = deque(maxlen=_KEPT)
        """The words that were spotted, and their ends."""
        self._said: deque[_SaidMeanwhile] = deque(maxlen=_KEPT)
        self.phrase = ""
        """The one that was spotted, or decided, last."""
        self.was_said = False
        """True if a guess says the one that time has decided last."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The phrases that wait."""
        return tuple(dict.fromkeys(word.keyword.phrase for word in self._waiting))

    def spotted(
        self, keyword: SpottedPhrase, *, alone: bool = False, own: bool = False, speech_end_s: float | None = None
    ) -> Outcome | None:
        """Another stop word.

        Args:
            alone: The robot speaks, and nobody else was heard: unless somebody is, the word was in its own voice.
            own: The robot was just saying the word: where nothing goes on, it counts only if a recogniser has it, too.
            speech_end_s: When the last speech ended; None while somebody speaks.

        Returns:
            What is known of it already, because it was spotted late. A guess that is older than the spotting may
            confirm it, and never deny it.
        """
        self.phrase = keyword.phrase
        alone = alone and all(word.alone for word in self._waiting)
        if not alone:
            for word in self._waiting:
                word.alone = False
        word = _Waiting(keyword, alone, own, speech_end_s)
        self._waiting.append(word)
        self._spotted.append((keyword.phrase, keyword.end_s))
        for said in reversed(self._said):
            meant = self._meant(word, said)
            if said is self._said[-1]:
                word.note(meant)
            if meant is not None and meant != "guess" and said.transcript.final:
                return self._decided(word, meant)
        return None

    def speech(self, *, ended_s: float | None) -> None:
        """Somebody speaks (None), or has stopped."""
        for word in self._waiting:
            if not word.apart:
                word.speech_end_s = ended_s

    def told(
        self,
        transcript: RecognisedText,
        *,
        began_s: float | None = None,
        ended_s: float = math.inf,
        sound_s: float | None = None,
        now_s: float = math.inf,
        suspected: SpottedPhrase | None = None,
    ) -> Outcome | None:
        """Judges the words so far by a transcript of some speech, partial or final. Also words that the spotter has
        missed.

        Args:
            began_s: The speech. A partial transcript is a guess that often lacks the "don't" before the word: it
                confirms only a word with which the speech begins, if it has no others ``GUESS_S`` after it.
            ended_s: Until when it was transcribed; infinite for a partial one.
            sound_s: From when on it was heard; the times of its words count from there.
            now_s: When this is known.
            suspected: The stop word that the spotter suspects in it, and has not told of.
        """
        stops = occurrences(transcript, self._phrases)
        found = [] if sound_s is None else [sound_s + start_s for start_s in starts(transcript.words, self._phrases)]
        starts_s = tuple(found) if len(found) == stops else ()
        said = _SaidMeanwhile(transcript, began_s, ended_s, now_s, stops, sound_s, starts_s)
        self._said.append(said)
        phrase = self._missed(said, suspected) if transcript.final else None
        if phrase is not None:
            self.phrase = phrase
            self.forget()
            return "trip"
        outcome: Outcome | None = None
        for word in tuple(self._waiting):
            meant = self._meant(word, said)
            word.note(meant)
            if meant is not None and meant != "guess":
                outcome = self._decided(word, meant)
            if outcome == "trip":
                break
        return outcome

    def wants_look(self, now_s: float) -> bool:
        """True if an early look at the speech may deny a word now: it has just ended, down to its last sound, and the
        speech goes on."""
        speaks = [word for word in self._waiting if word.speech_end_s is None]
        due = [word for word in speaks if word.look_s <= now_s <= word.keyword.end_s + _LOOK_UNTIL_S]
        for word in due:
            word.look_s = now_s + _LOOK_S
        return bool(due)

    def looked(self, transcript: RecognisedText, *, began_s: float, ended_s: float) -> Outcome | None:
        """Judges the words so far by an early look at speech that goes on. It may release a word, and never counts one:
        "stop" may become "stop sign".

        A word is released if the recogniser has looked for it in vain, and is confident of its text, which is longer
        than a command to stop; neither that text nor another that may have been said has anything like a stop word.

        Args:
            began_s, ended_s: The sound that was looked at; a word has to lie in it, near its end.
        """
        outcome: Outcome | None = None
        for word in tuple(self._waiting):
            inside = began_s <= word.keyword.end_s - _SPOKEN_S
            if (
                inside
                and BEYOND_S <= ended_s - word.keyword.end_s <= _LOOK_UNTIL_S
                and word.keyword.phrase in transcript.excluded
                and all(unlike(transcript, phrase) for phrase in {word.keyword.phrase, *self._phrases})
            ):
                outcome = self._decided(word, "release")
        return outcome

    def _missed(self, said: _SaidMeanwhile, suspected: SpottedPhrase | None) -> str | None:
        """The stop phrase that was meant, be it one that the spotter does not listen for."""
        transcript, voted = said.transcript, None
        if suspected is not None:
            brief = said.brief and suspected.score >= PROBABLE
            voted = possible(transcript, suspected.phrase, self._phrases, brief=brief)
        return self._phrase(transcript) or missed(transcript, self._phrases) or voted

    def _phrase(self, transcript: RecognisedText) -> str | None:
        """The stop phrase that trips and is all of the words; None: there is more, or another one."""
        row = self._stops.read(transcript.text)
        return row.words if row is not None and row.grade is Grade.TRIP else None

    def begun(self, onset_s: float) -> None:
        """Somebody has begun to speak: it may be that speech which holds the word."""
        for word in self._waiting:
            word.apart = onset_s > word.keyword.end_s + _APART_S
            if not word.apart:
                word.alone, word.speech_end_s = False, None
            elif word.speech_end_s is None:
                word.speech_end_s = word.keyword.end_s

    def due(self, now_s: float, *, moves: bool = False, acts: bool = False) -> Outcome | None:
        """Decides about a word, if nobody has said in time what was meant: it counts, unless nobody has spoken, or the
        robot has said it and no recogniser has heard it from anybody.

        Args:
            moves: Something moves now, or is about to: then it counts in any case.
            acts: A run goes on, or a tool works: then it counts though the robot has said it.
        """
        outcome: Outcome | None = None
        for word in tuple(self._waiting):
            end_s = word.keyword.end_s
            if word.alone and now_s < end_s + ALONE_S:
                continue
            word.alone = word.alone and not moves
            if word.alone:
                outcome = self._decided(word, "release")
                continue
            by_s = end_s + (GUESS_S if word.guessed else AFTER_WORD_S)
            if word.said_until_s is not None:
                by_s = min(by_s, word.said_until_s + AFTER_SPEECH_S)
            if now_s < by_s:
                continue
            if moves or acts or word.was_guessed or not word.own:
                return self._decided(word, "trip")
            outcome = self._decided(word, "release")
        return outcome

    def forget(self, *, before_s: float = math.inf) -> None:
        """Forgets the words that ended before that time, because they were decided otherwise."""
        self._waiting = [word for word in self._waiting if word.keyword.end_s >= before_s]

    def _decided(self, word: _Waiting, meant: Outcome) -> Outcome | None:
        """A word is one thing or another: one that was meant is enough, of the others all must be released."""
        self.phrase, self.was_said = word.keyword.phrase, word.guessed
        if meant == "trip":
            self.forget()
            return "trip"
        self._waiting.remove(word)
        return None if self._waiting else "release"

    def _meant(self, word: _Waiting, said: _SaidMeanwhile) -> Outcome | Literal["guess"] | None:
        """Judges a word by what is known of some speech; None: nothing, or nothing clear. A "guess" says it, so far."""
        keyword, began_s = word.keyword, said.began_s
        until_s = math.inf if word.said_until_s is None else word.said_until_s
        if min(keyword.end_s, until_s + BEYOND_S) > said.ended_s + BEYOND_S:
            return None
        if began_s is not None and began_s > keyword.end_s + _APART_S:
            return None
        verdict = confirm(said.transcript, keyword.phrase)
        if verdict == "confirmed":
            first = began_s is None or keyword.start_s <= began_s + _FIRST_S
            whole = first and self._phrase(said.transcript) is not None
            return "trip" if said.transcript.final else "guess" if whole else None
        inside = said.sound_s is not None and said.sound_s <= keyword.end_s - _SPOKEN_S - _LATE_S
        if inside and excludes(said.transcript, keyword.phrase, self._phrases):
            verdict = "denied"
        if word.was_guessed and begins(said.transcript, keyword.phrase):
            return None  # "stop", and then "watch out for the cat", is "stop watch" too
        unclear = not said.transcript.understood or (keyword.sure and is_unlike_stops(said.transcript, self._phrases))
        doubtful = said.brief and unclear and (keyword.sure or not said.stops)
        if verdict == "denied" and doubtful and not forbids(said.transcript, self._phrases):
            return None  # "stop now" was heard as "to stop the note"
        before = self._stops_before(keyword, said)
        denied = forbids(said.transcript, self._phrases, after=before) if before else verdict == "denied"
        return "release" if denied else None

    def _stops_before(self, keyword: SpottedPhrase, said: _SaidMeanwhile) -> int:
        """Number of stop words that were said before one in the same speech, as far as is known."""
        began_s = said.began_s
        if began_s is None:
            return 0
        same = [place for place, at_s in enumerate(said.starts_s) if abs(at_s - keyword.start_s) <= _SAME_S]
        if len(same) == 1:
            return same[0]
        first_s = began_s - _APART_S
        earlier = [phrase for phrase, end_s in self._spotted if first_s <= end_s < keyword.end_s - _WORD_S]
        # each was taken for another word, or for one that nothing in the transcript is like
        if not said.stops and (keyword.phrase not in earlier or nothing_like(said.transcript, keyword.phrase)):
            return 0
        spotted = len(earlier)
        known = [s.stops for s in self._said if s.began_s == began_s and s.known_s <= keyword.end_s - _WORD_S]
        return max(spotted, known[-1] if known else 0)
