"""Answers to turns: the policy of the conversation, as a list of cases.

Runs on the conversation's thread, except where a method says otherwise. Times are seconds of the device's clock. Knows
neither the ears nor the table.
"""

from __future__ import annotations

from edgeagent.english.answers import Control, Controlled, control_of
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import after
from edgeagent.robot.latch import LatchState
from edgeagent.voice.guess import Guess, guessed
from edgeagent.voice.robot_side import RobotSide
from edgeagent.voice.stop_words import StopWords
from edgeagent.voice.turn import Turn
from edgeagent.voice.turn_rules import is_another, without_wake_word
from edgeagent.voice.voice_settings import DialogueSettings


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
        # 4. A control; "continue" only allows motion if it was said after the last stop.
        if controlled is not None and self._robot.applies(controlled):
            if controlled.control is not Control.CONTINUE or self._stop_words.may_rearm(turn):
                self._robot.obey(controlled)
                return controlled.control
            return None
        # 5. A yes or a no to "did you say": the guess counts as said, or the robot asks to hear it again.
        if guess is not None and controlled is None and turn.before is None and turn.onset_s > guess.asked_s:
            answer = guess.answered(text)
            if answer is False:
                self._robot.remark(self._settings.say_again)
                return None
            if answer and control_of(guess.text) is not None:  # "you can move"
                self._allow_again(turn, guess.text)
                return None
            text = guess.text if answer else text
        # 6. Everything else is for the model.
        self._ask(turn, text, now_s, unfinished=unfinished)
        return None

    def ask_again(self, turn: Turn | None, now_s: float) -> None:
        """Asks about a turn that was not understood, and never acts on it."""
        settings = self._settings
        self._guess, text = None, None
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

    def _allow_again(self, turn: Turn, text: str) -> None:
        """Allows motion again, after a yes to the question about it."""
        controlled = control_of(text)
        if controlled is not None and self._robot.applies(controlled) and self._stop_words.may_rearm(turn):
            self._robot.obey(controlled)

    def _open_guess(self, now_s: float) -> Guess | None:
        guess = self._guess
        if guess is None or not self._stop_words.unstopped_since(guess.asked_s):
            return None
        return guess if guess.is_open(self._robot.queue.last, now_s) else None
