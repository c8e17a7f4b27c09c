"""Words that make the robot wait, and let it go on: "wait", "hold on", "go on", clear or only probable.

Runs on the conversation's thread. Knows neither the ears nor the state of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from edgeagent.english.stop_phrases import FEW, Grade, Release, ends_with_hold, is_forbidden
from edgeagent.stt.hearing import RecognisedText
from edgeagent.voice.robot_side import RobotSide
from edgeagent.voice.stop_words import StopWords
from edgeagent.voice.turn import Turn
from edgeagent.voice.turn_states import TableEvent
from edgeagent.voice.voice_settings import DialogueSettings

_LIKELIEST: Final = 2
"""The likeliest other texts of doubtful words, in which "hold on" counts, too. Of 84 doubtful utterances of other talk,
in a room and in noise at 10 dB, none had a phrase of two words or more there or as its text; two had one further on."""
_LAST: Final = 2
"""Words at the end of up to four doubtful ones that make motion wait if they are a stop phrase: "hold on" was heard as
"going to hold on". None of 194 doubtful utterances of talk in noise at 10 dB ends so."""
_BRIEF_S: Final = 1.2
"""Seconds up to which speech may be nothing but a phrase that stops or holds, however many doubtful words are made of
it: "yeah" was heard eight times in a slow "cancel that"."""
_LEAST_WORD: Final = 0.05
"""Least confidence of a doubtful "wait" or "no". Of the same 84 none was heard as one; said by synthetic voices, in
noise and over the robot's, most had 0.06 to 0.8."""


class _Grading(Protocol):
    def __call__(self, text: str, *, final: bool) -> Grade | None: ...


class WaitingWords:
    """Effects of those words.

    Args:
        stop_words: Holds and releases.
        robot: What it says.
        settings: Its words.
        grade: Grades a text as a stop phrase, with what goes on now; ``final`` as ``TurnTaking.grade`` has it.
        fire: Does the cell of an event of the table.
    """

    def __init__(
        self,
        stop_words: StopWords,
        robot: RobotSide,
        settings: DialogueSettings,
        *,
        grade: _Grading,
        fire: Callable[[TableEvent], None],
    ) -> None:
        self._stop_words, self._robot, self._settings = stop_words, robot, settings
        self._grade, self._fire = grade, fire

    def heed(self, turn: Turn, transcript: RecognisedText, now_s: float) -> bool:
        """Obeys the words until a soft end, if they ask the robot to wait or to go on: both can be undone.

        Args:
            turn: Whose words these are.
            now_s: The device's clock.

        Returns:
            False: they are something else.
        """
        return self._clear(turn, transcript) if transcript.understood else self._doubtful(turn, transcript, now_s)

    def _clear(self, turn: Turn, transcript: RecognisedText) -> bool:
        words = turn.rest(transcript).text
        turn.grade = self._grade(words, final=turn.final)
        if turn.grade is None and self._robot.runs.moves and ends_with_hold(words):
            turn.grade = Grade.HOLD
        if turn.grade is not Grade.HOLD and self._stop_words.released(transcript.text) is None:
            if turn.waits:  # "wait" was the beginning of something else
                turn.waits = False
                if not turn.waited:
                    self._stop_words.move_on()
            return False
        if not turn.waits:
            turn.waited = self._stop_words.motion_waits
        turn.dismissed, turn.waits = True, turn.grade is Grade.HOLD
        self.obey(transcript.text, turn.grade)
        return True

    def _doubtful(self, turn: Turn, transcript: RecognisedText, now_s: float) -> bool:
        """Makes motion wait for a probable "stop", "wait" or "no", and says so: who is unsure stops moving.

        False: the words are neither, nor may they be. Few words, brief ones, or none where somebody has spoken, may
        have been anything: motion waits for a moment, in which the robot asks to hear the words again.
        """
        if not self._robot.runs.moves:
            return False
        rest = turn.rest(transcript)
        whole = rest is transcript
        words = rest.text.split()
        likely = [rest.text, *rest.others[:_LIKELIEST]] if whole else [rest.text]
        phrases = [text for text in likely if self._grade(text, final=turn.final) in (Grade.HOLD, Grade.CANCEL)]
        probable = rest.text in phrases and (rest.confidence or 0.0) >= _LEAST_WORD
        near = whole and any(self._grade(text, final=turn.final) for text in transcript.near_stops)
        ends = _LAST < len(words) <= 2 * _LAST and not is_forbidden(words[:-_LAST])
        ends = ends and self._grade(" ".join(words[-_LAST:]), final=turn.final) is not None
        waits = probable or near or ends or any(" " in phrase.strip() for phrase in phrases)
        if not waits and not self._settings.phrases.stops.is_near_stop(rest.text):
            began_s = turn.began_s if whole else turn.onset_s
            brief = turn.soft_end_s is not None and turn.soft_end_s - began_s <= _BRIEF_S
            if brief or len(words) <= FEW:
                self._stop_words.pause(now_s)
            return False
        again = turn.waits
        if not again:
            turn.waited = self._stop_words.motion_waits
        turn.dismissed = turn.waits = True
        self._fire(TableEvent.WAIT)
        if not again:
            self._robot.remark(self._settings.waiting)
        return True

    def obey(self, text: str, grade: Grade | None) -> None:
        """Makes the robot wait, if that is the grade of a text; else it goes on."""
        if grade is Grade.HOLD:
            self._fire(TableEvent.WAIT)
            return
        if self._stop_words.released(text) is Release.MOTION:
            self._stop_words.move_on()
        elif self._stop_words.speech_waits:
            self._stop_words.speak_on()
        else:
            self._robot.remark(self._settings.waiting)
        self._fire(TableEvent.GO_ON)
