"""Utterance of a person, from its onset to its end: its kind, what is known of it so far, and the rules on its words.

Rules say when a turn ends, when it interrupts the robot, and what calls the robot. English. Values for one thread, the
conversation's; functions are pure. Times are seconds of the device's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import Final

from edgeagent.english.answers import control_of, is_backchannel, yes_or_no
from edgeagent.english.completeness import Phrases
from edgeagent.english.sentence_rules import Sentence, begins_with_verb, is_correction, is_question, sentence
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import NEGATIONS, after, trails_off, words_of
from edgeagent.english.word_data import is_number
from edgeagent.stt.confirming import missed
from edgeagent.stt.hearing import RecognisedText, SpottedPhrase
from edgeagent.voice.turn_states import TableEvent
from edgeagent.voice.voice_settings import Preset


class Kind(StrEnum):
    """Kind of an utterance."""

    STOP = "stop"
    """A stop phrase that trips the latch; in longer sentences ``edgeagent.english.stop_phrases`` judges stop words."""
    CONTROL = "control"
    """Control that works without the model; ``edgeagent.english.answers.control_of`` says which."""
    BACKCHANNEL = "backchannel"
    """ "uh-huh" while the robot speaks: go on."""
    ANSWER = "answer"
    """To a question that the robot has asked."""
    UNFINISHED = "unfinished"
    """The person will go on: "drive to the"."""
    CORRECTION = "correction"
    """ "no, the bedroom"."""
    QUESTION = "question"
    COMMAND = "command"
    STATEMENT = "statement"
    """Anything else that was understood."""
    UNCLEAR = "unclear"
    """Not understood, or no words."""


_WORDS_OF_ANSWER: Final = 4


def kind_of(
    transcript: RecognisedText | str, *, phrases: Phrases, speaking: bool = False, question_open: bool = False
) -> Kind:
    """Returns the kind of an utterance.

    Args:
        transcript: Partial or final.
        phrases: The app's.
        speaking: The robot speaks, or was held speaking: only then is there a backchannel.
        question_open: The robot has asked something, and waits for the answer.
    """
    text, raw, understood = _read(transcript)
    said = sentence(text)
    words = said.words
    row = phrases.stops.read(text)
    if row is not None and row.grade is Grade.TRIP:
        return Kind.STOP
    if not words or not understood:
        return Kind.UNCLEAR
    if question_open and yes_or_no(text) is not None:
        return Kind.CORRECTION if is_correction(words) else Kind.ANSWER
    if speaking and not question_open and is_backchannel(words):
        return Kind.BACKCHANNEL
    if control_of(text, phrases.stops) is not None:
        return Kind.CONTROL
    if trails_off(raw) or phrases.is_unfinished(text):
        return Kind.UNFINISHED
    if is_correction(words):
        return Kind.CORRECTION
    return _whole(said, phrases, question_open)


def _whole(said: Sentence, phrases: Phrases, question_open: bool) -> Kind:
    words, complete = said.bare, phrases.is_complete(said.text)
    if is_question(words) or (said.asked and not phrases.is_command(words)):
        return Kind.QUESTION if complete else Kind.STATEMENT
    if question_open and len(words) <= _WORDS_OF_ANSWER:
        amount = bool(words) and is_number(words[0])
        if amount or not complete or phrases.is_name(words):
            return Kind.ANSWER
    return Kind.COMMAND if complete else Kind.STATEMENT


def _read(transcript: RecognisedText | str) -> tuple[str, str, bool]:
    if isinstance(transcript, str):
        return transcript, transcript, True
    return transcript.text, transcript.raw or transcript.text, transcript.understood


_WHOLE: Final = frozenset({Kind.COMMAND, Kind.QUESTION, Kind.CORRECTION, Kind.CONTROL, Kind.ANSWER})
"""Kinds of utterances that were said by themselves, whatever follows."""


@dataclass(slots=True)
class Turn:
    """One utterance."""

    utterance: int
    onset_s: float
    """Of the speech that is heard now; later than the beginning if speech was resumed after a dismissal."""
    began_s: float = field(init=False)
    """Of the utterance."""
    sound_s: float | None = None
    """When the sound of the utterance begins, from which the times of its words count; None: not known."""
    asleep: bool = False
    """True if the utterance began while the robot slept. Only a wake word in the utterance makes it count."""
    before: Turn | None = None
    """The turn that was answered already when the same utterance went on."""
    at_rest: bool = False
    """True if the robot was at rest when the turn began."""
    believed: bool = False
    """True if the words were only likely, and count as understood as long as the robot is at rest."""
    asked: str = ""
    """Request to the model that the turn led to."""
    settled: str = ""
    """The words before that: parts of the utterance that were answered by themselves, and are not asked again."""
    partial: str = ""
    certain_words: int = 0
    """Number of first words that are the same in the last two partial transcripts."""
    transcript: RecognisedText | None = None
    """Of all until the soft end; None while it is not known, or void because speech went on."""
    kind: Kind | None = None
    """Of the words until the soft end."""
    grade: Grade | None = None
    """Effect of those words as a stop phrase."""
    done: bool | None = None
    """Judgement of a turn-end model on the sound until the soft end; None without one."""
    soft_end_s: float | None = None
    ended: bool = False
    final: bool = False
    """True if the turn has interrupted the robot, or there was nothing to interrupt. Such a turn will be answered."""
    dismissed: bool = False
    """True if the turn is a stop word, a backchannel or a false alarm. Such a turn will not be answered."""
    waits: bool = False
    """True if the turn has asked the robot to wait."""
    waited: bool = False
    """True if motion waited already when the turn asked for that."""
    stops: int = 0
    """Number of stop words in the turn that have counted."""
    stopped: tuple[int, int] | None = None
    """``StopWords.stopped`` when the last of these had."""
    cut: bool = False
    """True if the utterance was too long. Speech that follows belongs to this utterance."""
    lead: str = ""
    """The words of the turn that was cut before this one."""
    called: SpottedPhrase | None = None
    """A wake word in it that waits for the transcript."""
    woken_s: float | None = None
    """When a wake word in it ended."""

    def __post_init__(self) -> None:
        self.began_s = self.onset_s if self.before is None else self.before.began_s

    @property
    def text(self) -> str:
        return self.partial if self.transcript is None else self.transcript.text

    def rest(self, transcript: RecognisedText) -> RecognisedText:
        """Returns the words that were said after the part that was answered already; all of it if nothing was.

        Also all of it where that part is heard otherwise now, or was no whole command or question, or has a "don't": it
        may belong to the rest.
        """
        before = self.before
        if before is None or before.kind not in _WHOLE or NEGATIONS.search(f"{before.lead} {before.text}"):
            return transcript
        rest = after(transcript.text, before.text) if before.text.strip() else None
        return replace(transcript, text=rest) if rest else transcript

    @property
    def answered(self) -> Turn | None:
        """The last part of it that the model was asked; parts after that were not understood."""
        part = self.before
        while part is not None and not part.asked:
            part = part.before
        return part

    @property
    def heard(self) -> str:
        """All of the utterance that was asked, be it in parts."""
        return f"{self.settled} {self.asked}".strip()

    @property
    def is_whole(self) -> bool:
        """Nothing of it was asked before."""
        return not self.lead and self.answered is None

    @property
    def speaking(self) -> bool:
        """Nobody has paused yet."""
        return self.soft_end_s is None and not self.ended

    def hear_partly(self, text: str) -> None:
        """Another guess at its words."""
        pairs = zip(self.partial.split(), text.split(), strict=False)
        self.certain_words = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.partial = text

    def resume(self, at_s: float) -> None:
        """Speech goes on after what looked like its end."""
        self.soft_end_s = self.done = None
        self.transcript = None
        if self.dismissed or not self.final:
            self.onset_s = at_s
            self.dismissed = False
            self.certain_words = 0

    @property
    def complete(self) -> bool:
        """True if the turn is over, and its words are known."""
        return self.ended and self.transcript is not None


# --- rules on the words of a turn -------------------------------------------------------------------------------------


_MORE: Final = 1
"""Words more than ``words`` that a statement or an unfinished phrase needs over the robot's voice: "thank you" is heard
as "and you", and "mm hmm" as "can and"."""
APART: Final = frozenset({"and", "then"})
"""Words that begin another command in the same sentence."""
_MEANT: Final = frozenset({Kind.COMMAND, Kind.QUESTION, Kind.CORRECTION, Kind.UNFINISHED, Kind.CONTROL, Kind.ANSWER})


def hard_end_ms(turn: Turn, preset: Preset) -> float:
    """Chooses the silence after which an utterance is over: by the words, and a turn-end model where there is one.

    Returns:
        Milliseconds of silence.
    """
    if turn.transcript is None:
        return preset.statement_end_ms
    match turn.kind, turn.done:
        case Kind.UNFINISHED, _:
            return preset.unfinished_end_ms
        case Kind.STATEMENT | Kind.UNCLEAR | None, True:
            return preset.command_end_ms
        case Kind.STATEMENT | Kind.UNCLEAR | None, False:
            return preset.unfinished_end_ms
        case (Kind.STATEMENT | Kind.UNCLEAR | None, None) | (_, False):
            return preset.statement_end_ms
        case Kind.QUESTION, _:
            return preset.question_end_ms
        case _:
            return preset.command_end_ms


def is_over(turn: Turn, preset: Preset, now_s: float) -> bool:
    """True if nothing more of a turn is waited for: its words are known, and it has been silent for long enough."""
    if turn.transcript is None or turn.soft_end_s is None:
        return False
    return (now_s - turn.soft_end_s) * 1000 >= hard_end_ms(turn, preset)


def final_after_ms(preset: Preset) -> float:
    """From the onset of speech over the robot's voice until it is an interruption, whatever was said. The silence in
    which a soft end is awaited is no speech.
    """
    return preset.final_after_ms + preset.soft_end_ms


def has_said_enough(turn: Turn, preset: Preset, kind: Kind) -> bool:
    """True if the words over the robot's voice are so many that they interrupt it.

    A word counts once two partial transcripts in a row have it, since "right" is heard as "but I" first; and the words
    are to be how something begins that a robot is told or asked, since a long "mm hmm" is heard as "and a".

    Args:
        kind: Of the words until now.
    """
    answered = 0 if turn.before is None else len(turn.before.text.split())
    new_words = turn.certain_words - answered - (_MORE if kind is Kind.UNFINISHED else 0)
    return 0 < preset.words <= new_words and kind in _MEANT


def says_something(transcript: RecognisedText, preset: Preset, phrases: Phrases) -> bool:
    """True if a statement over the robot's voice, which is neither told nor asked, interrupts it.

    Not where all but its first word is a backchannel: what is left of the robot's voice is heard as a short word,
    "but I see".

    Args:
        transcript: Until the soft end.
    """
    words = transcript.text.split()
    if not 0 < preset.words <= len(words) - _MORE:
        return False
    return kind_of(" ".join(words[1:]), phrases=phrases, speaking=True) is not Kind.BACKCHANNEL


_EVENT_OF: Final = {
    Kind.COMMAND: TableEvent.COMMAND,
    Kind.CONTROL: TableEvent.COMMAND,
    Kind.ANSWER: TableEvent.COMMAND,
    Kind.QUESTION: TableEvent.QUESTION,
    Kind.CORRECTION: TableEvent.CORRECTION,
    Kind.UNFINISHED: TableEvent.UNFINISHED,
    Kind.BACKCHANNEL: TableEvent.BACKCHANNEL,
}
"""Kinds that are known at the soft end; other kinds change nothing until the hard end."""


def kind_until_pause(turn: Turn, transcript: RecognisedText, phrases: Phrases, *, over: bool, asked: bool) -> Kind:
    """Returns the kind of the words until the soft end.

    Args:
        over: The robot speaks, or was held speaking.
        asked: A question of the robot's is open.
    """
    if turn.grade is Grade.CANCEL:
        return Kind.CONTROL
    kind = kind_of(transcript, phrases=phrases, speaking=over, question_open=asked)
    if kind is Kind.UNCLEAR and phrases.is_unfinished(transcript.text):
        return Kind.UNFINISHED  # with the rest it may be understood
    return kind


def event_of_words(
    kind: Kind, transcript: RecognisedText, preset: Preset, phrases: Phrases, *, over: bool
) -> TableEvent | None:
    """Chooses the event of the table that the words until the soft end are; None: they change nothing yet.

    ``ENOUGH_WORDS`` is for a statement over the robot's voice.
    """
    if kind not in _EVENT_OF and over and kind is Kind.STATEMENT and says_something(transcript, preset, phrases):
        return TableEvent.ENOUGH_WORDS
    return _EVENT_OF.get(kind)


def is_another(rest: str, phrases: Phrases) -> bool:
    """True if what followed a turn that was answered already is an utterance of its own: "what time is it" after "go to
    the kitchen", said by whomever. "Ninety degrees", "no, the bedroom" and "and turn around" belong to what was said
    before.
    """
    kind = kind_of(rest, phrases=phrases)
    if kind is not Kind.COMMAND:
        return kind in (Kind.QUESTION, Kind.CONTROL)
    said = words_of(rest)
    return said[0] not in APART and begins_with_verb(said)


_CALL_S: Final = 0.4
"""Speech that ends so soon after the wake word was nothing else."""


def without_wake_word(text: str, phrases: Iterable[str]) -> str:
    """Returns the words after the wake word, be it said twice, or all of it where it does not begin with one."""
    phrases = [phrase for phrase in phrases if words_of(phrase)]
    while rests := [rest for phrase in phrases if (rest := after(text, phrase)) is not None]:
        text = min(rests, key=len)
    return text.strip()


def is_called(transcript: RecognisedText, phrases: Sequence[str]) -> bool:
    """True if an utterance begins with a wake word, or has one as a call: the spotter has missed it."""
    begins = any(after(transcript.text, phrase) is not None for phrase in phrases if words_of(phrase))
    return (transcript.understood and begins) or missed(transcript, phrases) is not None


def only_called(turn: Turn) -> bool:
    """True if the turn was the wake word and no more, though the recogniser did not know it."""
    understood = turn.transcript is not None and turn.transcript.understood
    if understood or turn.woken_s is None or turn.soft_end_s is None:
        return False
    return turn.soft_end_s - turn.woken_s <= _CALL_S
