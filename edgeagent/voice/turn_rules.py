"""Rules on turns: when one ends, when it interrupts the robot, what calls the robot. Pure functions, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from edgeagent.english.completeness import Phrases
from edgeagent.english.sentence_rules import begins_with_verb
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import after, words_of
from edgeagent.stt.confirming import missed
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.turn import Turn
from edgeagent.voice.turn_states import TableEvent
from edgeagent.voice.utterance import Kind, kind_of
from edgeagent.voice.voice_settings import Preset

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


def says_something(transcript: Transcript, preset: Preset, phrases: Phrases) -> bool:
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


def kind_until_pause(turn: Turn, transcript: Transcript, phrases: Phrases, *, over: bool, asked: bool) -> Kind:
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
    kind: Kind, transcript: Transcript, preset: Preset, phrases: Phrases, *, over: bool
) -> TableEvent | None:
    """Chooses the event of the table that the words until the soft end are; None: they change nothing yet.

    ``ENOUGH_WORDS`` is for a statement over the robot's voice.
    """
    if kind not in _EVENT_OF and over and kind is Kind.STATEMENT and says_something(transcript, preset, phrases):
        return TableEvent.ENOUGH_WORDS
    return _EVENT_OF.get(kind)


def is_another(rest: str, phrases: Phrases) -> bool:
    """True if what followed a turn that was answered already is an utterance of its own: "what time is it" after "go to
    the kitchen", said by whomever. "Ninety degrees" and "and turn around" belong to what was said before.
    """
    kind = kind_of(rest, phrases=phrases)
    if kind is not Kind.COMMAND:
        return kind in (Kind.QUESTION, Kind.CORRECTION, Kind.CONTROL)
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


def is_called(transcript: Transcript, phrases: Sequence[str]) -> bool:
    """True if an utterance begins with a wake word, or has one as a call: the spotter has missed it."""
    begins = any(after(transcript.text, phrase) is not None for phrase in phrases if words_of(phrase))
    return (transcript.understood and begins) or missed(transcript, phrases) is not None


def only_called(turn: Turn) -> bool:
    """True if the turn was the wake word and no more, though the recogniser did not know it."""
    understood = turn.transcript is not None and turn.transcript.understood
    if understood or turn.woken_s is None or turn.soft_end_s is None:
        return False
    return turn.soft_end_s - turn.woken_s <= _CALL_S
