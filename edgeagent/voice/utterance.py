"""Kinds of utterances, as far as turn taking needs to tell them apart. English. Pure functions, on any thread."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from edgeagent.english.answers import control_of, is_backchannel, yes_or_no
from edgeagent.english.completeness import Phrases
from edgeagent.english.sentence_rules import Sentence, is_correction, is_question, sentence
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import trails_off
from edgeagent.english.word_rows import is_number
from edgeagent.stt.transcriber import Transcript


class Kind(StrEnum):
    """Kind of an utterance."""

    STOP = "stop"
    """A stop phrase that trips the latch; in longer sentences ``edgeagent.english.stop_phrases`` judges stop words."""
    CONTROL = "control"
    """Control that works without the model; ``controls.control_of`` says which."""
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
    transcript: Transcript | str, *, phrases: Phrases, speaking: bool = False, question_open: bool = False
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


def _read(transcript: Transcript | str) -> tuple[str, str, bool]:
    if isinstance(transcript, str):
        return transcript, transcript, True
    return transcript.text, transcript.raw or transcript.text, transcript.understood
