"""Answers to turns: the policy of the conversation, as a list of cases; and "did you say: back up?".

Runs on the conversation's thread, except where a method says otherwise. Times are seconds of the device's clock. Knows
neither the ears nor the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from edgeagent.english.answers import Control, Controlled, control_of, is_only_no, yes_or_no
from edgeagent.english.asking import may_ask
from edgeagent.english.completeness import Phrases
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import NEGATIONS, after, words_of
from edgeagent.robot.latch import LatchState
from edgeagent.stt.confirming import occurrences
from edgeagent.stt.hearing import RecognisedText
from edgeagent.voice.robot_side import RobotSide
from edgeagent.voice.speech_queue import SpeechHandle
from edgeagent.voice.stop_words import StopWords
from edgeagent.voice.turn import Kind, Turn, is_another, kind_of, without_wake_word
from edgeagent.voice.voice_settings import DialogueSettings

_LEAST_WORDS: Final = 2
_MOST_WORDS: Final = 10
"""Words of the longest question: a person who hears a longer one has forgotten how it began."""
_LEAST_GUESS: Final = 0.2
"""Least confidence. In the simulated room the commands of flite's people that were heard right and not understood had
0.24 to 0.81, what was heard wrong 0.10 to 0.67."""
_LEAST_STATEMENT: Final = 0.4
"""The same for what is neither a command nor a question by any rule: "sound an alarm"."""
_ANSWER_S: Final = 12.0
"""Seconds after the question in which a yes belongs to it: the question is said in three or four."""


class Answering:
    """The robot's answer to each turn.

    Args:
        robot: What it says and does.
        stop_words: Holds that a person's words release.
        settings: Words and waiting.
    """

    def __init__(self, robot: RobotSide, stop_words: StopWords, settings: DialogueSettings) -> None:
        self._robot, self._stop_words, self._settings = robot, stop_words, settings
        self._asked_s = 0.0
        """When the model was asked last."""
        self._unfinished = False
        """True if the turn of now may be the rest of the one that the model was asked last."""
        self._guess: Guess | None = None
        """The last "did you say", while nobody has answered."""

    def question_open(self, now_s: float) -> bool:
        """True if a yes or a no is an answer to the robot. Any thread."""
        return self._robot.person.waiting or self._open_guess(now_s) is not None

    def begin(self, now_s: float, *, thinking: bool) -> None:
        """Takes note of a turn that begins: a robot that has only just begun to think was asked too early."""
        self._unfinished = thinking and now_s - self._asked_s <= self._settings.reopen_s

    def answer(self, turn: Turn, now_s: float) -> Control | None:
        """Answers a turn that is over. The first case that holds decides.

        Returns:
            The control that was obeyed; None for everything else.
        """
        if turn.transcript is None:
            return None
        text = f"{turn.lead} {without_wake_word(turn.transcript.text, self._settings.wake_words)}".strip()
        controlled = self._controlled(turn, text)
        unfinished, self._unfinished = self._unfinished, False
        # 1. Nothing was said but the wake word.
        if not text:
            return None
        self._stop_words.speak_on()  # whoever speaks of something else has ended a "wait"
        # 2. A stop phrase that cancels.
        if turn.grade is Grade.CANCEL:
            self.cancel()
            return None
        guess, self._guess = self._open_guess(now_s), None
        # 3. An answer to a tool that asks; "cancel" is none.
        cancels = controlled is not None and controlled.control is Control.CANCEL
        if not cancels and self._robot.person.waiting and self._robot.person.hear(text, began_s=turn.onset_s):
            return None
        if turn.transcript.understood:
            self._stop_words.end_pause(now_s if turn.soft_end_s is None else turn.soft_end_s)
        # 4. A control; "continue" only allows motion if it was said after the last stop.
        if controlled is not None and self._robot.applies(controlled):
            return self._obey(turn, controlled)
        # 5. A yes or a no to "did you say": the guess counts as said, or the robot asks to hear it again.
        if guess is not None and controlled is None and turn.before is None and turn.onset_s > guess.asked_s:
            answer = guess.answered(text)
            if answer is False:
                self._robot.remark(self._settings.say_again)
                return None
            if answer and (allowed := control_of(guess.text)) is not None:  # "you can move"
                return self._obey(turn, allowed) if self._robot.applies(allowed) else None
            text = guess.text if answer else text
        # 6. Everything else is for the model.
        self._ask(turn, text, now_s, unfinished=unfinished)
        return None

    def ask_again(self, turn: Turn | None, now_s: float) -> None:
        """Asks about a turn that was not understood, and never acts on it: nor on a part of it whose motion waits."""
        settings = self._settings
        self._guess, text = None, None
        answered = None if turn is None else turn.answered
        if answered is not None and self._robot.forget_what_waits(answered.asked):
            answered.asked = ""
        if turn is not None and turn.transcript is not None and turn.is_whole and not self._robot.person.waiting:
            stopped = self._robot.latch.state is LatchState.TRIPPED
            text = guessed(turn.transcript, settings.phrases, settings.stop_words, stopped=stopped)
        said = self._robot.remark(settings.did_you_say.format(text=text) if text else settings.not_understood)
        if text and said is not None:
            self._guess = Guess(text, now_s, said)

    def cancel(self) -> None:
        """Every goal and the run are cancelled; what waited has nothing to wait for."""
        self._guess = None
        self._robot.obey(Controlled(Control.CANCEL))
        self._stop_words.move_on()

    def forget(self) -> None:
        """Forgets what was asked: no answer to it is expected, and no rest of it."""
        self._guess, self._unfinished = None, False

    def _obey(self, turn: Turn, controlled: Controlled) -> Control | None:
        """Obeys a control, and returns it; None for a "continue" that may not allow motion again."""
        if controlled.control is Control.CONTINUE and not self._stop_words.may_rearm(turn):
            return None
        self._robot.obey(controlled)
        return controlled.control

    def _controlled(self, turn: Turn, text: str) -> Controlled | None:
        """Returns the control that a turn is, or its part since the answer; a part never allows motion."""
        stops = self._settings.phrases.stops
        if turn.before is not None and turn.transcript is not None:
            part = control_of(turn.rest(turn.transcript).text, stops)
            if part is None or part.control is not Control.CONTINUE:
                return part
        return control_of(text, stops)

    def _ask(self, turn: Turn, text: str, now_s: float, *, unfinished: bool) -> None:
        """Asks the model: all of the turn in place of its first part, or only what was said by itself after that."""
        if turn.transcript is None:
            return
        self._asked_s = now_s
        rest = turn.rest(turn.transcript)
        follows = rest is not turn.transcript and is_another(rest.text, self._settings.phrases)
        answered, spoken = turn.answered, bool(turn.utterance)
        if answered is not None and not follows:
            text = after(text, answered.settled) or text
            turn.asked = self._robot.ask_whole(text, answered.asked, spoken=spoken)
            turn.settled = answered.settled if turn.asked == text else answered.heard
        else:
            turn.asked = rest.text if follows else text
            turn.settled = answered.heard if answered is not None else ""
            self._robot.ask(turn.asked, unfinished=unfinished, spoken=spoken)

    def _open_guess(self, now_s: float) -> Guess | None:
        guess = self._guess
        if guess is None or not self._stop_words.unstopped_since(guess.asked_s):
            return None
        return guess if guess.is_open(self._robot.queue.last, now_s) else None


# --- did you say -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guess:
    """A command or question that somebody has probably said, and is asked about.

    Attributes:
        text: What was probably said.
        asked_s: When it was asked.
        question: What the robot says.
    """

    text: str
    asked_s: float
    question: SpeechHandle

    def is_open(self, last: SpeechHandle | None, now_s: float) -> bool:
        """True if a yes would belong to the question: nothing else was said since, and not too long ago.

        Args:
            last: What the robot has said last.
        """
        return last is self.question and now_s <= self.asked_s + _ANSWER_S

    def answered(self, text: str) -> bool | None:
        """True for a clear yes to it, False for a no and nothing else; None: it is something else that was said, or by
        somebody who had not heard the question but for its last word.

        Args:
            text: As it was understood.
        """
        if len(self.question.heard.split()) < len(self.question.text.split()) - 1:
            return None
        answer = yes_or_no(text)
        return None if answer is False and not is_only_no(words_of(text)) else answer


def guessed(
    transcript: RecognisedText, phrases: Phrases, stop_words: Sequence[str], *, stopped: bool = False
) -> str | None:
    """Returns the part of an utterance that was not understood and is worth a question, because it may ask for
    something.

    None for a prohibition, for what has a stop word in it, and for controls.

    Args:
        stopped: Motion is off. "You can move", which sounds like its contrary, is asked about then; "continue" alone is
            said again as fast.
    """
    text, confidence = transcript.text, transcript.confidence
    if NEGATIONS.search(text) or occurrences(transcript, stop_words):
        return None
    if not _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS or confidence is None or confidence < _LEAST_GUESS:
        return None
    if (controlled := control_of(text)) is not None:
        return text if stopped and controlled.control is Control.CONTINUE else None
    kind = kind_of(replace(transcript, understood=True), phrases=phrases)
    probably = kind is Kind.STATEMENT and confidence >= _LEAST_STATEMENT and may_ask(text, phrases)
    return text if probably or kind in (Kind.COMMAND, Kind.QUESTION) else None
