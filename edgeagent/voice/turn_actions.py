"""Actions of the table that concern the turns of people.

Everything here runs on the conversation's thread. Knows ears only to tell them how long to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from edgeagent import events
from edgeagent.english.answers import Control, Controlled, control_of
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import after
from edgeagent.robot.latch import LatchState
from edgeagent.stt.ears import Ears
from edgeagent.voice.chimes import Chime
from edgeagent.voice.guess import Guess, guessed
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.stop_words import StopWords
from edgeagent.voice.turn import Turn, Turns
from edgeagent.voice.turn_rules import hard_end_ms, is_another, without_wake_word
from edgeagent.voice.turn_states import Action, State, States
from edgeagent.voice.voice_settings import DialogueSettings


class TurnActions:
    """An action each.

    Args:
        turns: Shared with who hears.
        ears: Told how long to wait for the rest of a sentence.
        robot: What it says and does.
        stop_words: What a stop word does.
        states: The state, and how it changes.
        settings: Barge-in, words, and waiting.
        emit: Called with the class and the fields of an event of the voice.

    Attributes:
        by_name: What is to be done, by the table's name for it.
    """

    def __init__(
        self,
        turns: Turns,
        ears: Ears,
        robot: RobotSide,
        stop_words: StopWords,
        states: States,
        settings: DialogueSettings,
        *,
        emit: Emit,
    ) -> None:
        self._turns, self._ears, self._robot, self._stop_words = turns, ears, robot, stop_words
        self._states, self._settings, self._emit = states, settings, emit
        self._asked_s = 0.0
        self._unfinished = False
        self._guess: Guess | None = None
        self.by_name: Final[dict[Action, Callable[[], None]]] = {
            Action.NOTHING: _nothing,
            Action.OPEN: self._open,
            Action.HOLD: self._hold,
            Action.RESUME: self._resume,
            Action.CUT: self._cut,
            Action.HALT: stop_words.halt,
            Action.WAIT: lambda: stop_words.wait(states.now_s),
            Action.AWAIT_REST: self.wait_for_rest,
            Action.ANSWER: self._answer,
            Action.ASK: self._ask_again,
            Action.WAKE: self._wake,
            Action.SLEEP: self._sleep,
            Action.LOSE: self._lose,
            Action.STOP: self._stop_everything,
            Action.REARM: stop_words.allow,
        }

    @property
    def question_open(self) -> bool:
        """A yes or a no is an answer to the robot."""
        return self._robot.person.waiting or self._open_guess is not None

    @property
    def _open_guess(self) -> Guess | None:
        guess = self._guess
        if guess is None or not self._stop_words.unstopped_since(guess.asked_s):
            return None
        return guess if guess.is_open(self._robot.queue.last, self._states.now_s) else None

    def _open(self) -> None:
        """The person has the floor, or goes on after a hard end that came too soon."""
        late_s = self._states.now_s - self._asked_s
        self._unfinished = self._states.now is State.THINKING and late_s <= self._settings.reopen_s

    def _hold(self) -> None:
        self._robot.hold()
        self._emit(events.BargeIn, action="hold")

    def _resume(self) -> None:
        if self._turns.now is not None:
            self._turns.now.dismissed = True
        if not self._stop_words.speech_waits:
            self._emit(events.BargeIn, action="resume")

    def _cut(self) -> None:
        self._stop_words.speak_on()
        if self._turns.now is not None:
            self._turns.now.final = True
        self._emit(events.BargeIn, action="final")
        if not self._robot.person.cut_short():  # a tool waits for the answer
            self._robot.interrupt("barge_in")

    def wait_for_rest(self) -> None:
        """The ears keep the utterance open for as long as the rest of the sentence is waited for, and beyond that for
        as long as a turn that was answered may go on."""
        turn, preset = self._turns.now, self._settings.preset
        if turn is not None and not turn.ended:
            self._ears.hard_end_ms = max(hard_end_ms(turn, preset), preset.reopen_ms)

    def _answer(self) -> None:
        """The turn is the robot's: control words, the answer to a question of a tool, or the model."""
        turn = self._turns.closing
        if turn is None or turn.transcript is None:
            return
        text = f"{turn.lead} {without_wake_word(turn.transcript.text, self._settings.wake_words)}".strip()
        stops = self._settings.phrases.stops
        controlled = control_of(turn.rest(turn.transcript).text if turn.before else text, stops)
        if controlled is not None and controlled.control is Control.CONTINUE:
            controlled = control_of(text, stops)  # a part of a sentence never allows motion
        unfinished, self._unfinished = self._unfinished, False
        if not text:
            return
        self._stop_words.speak_on()
        if turn.grade is Grade.CANCEL:
            self.cancel()
            return
        guess, self._guess = self._open_guess, None
        cancels = controlled is not None and controlled.control is Control.CANCEL
        if not cancels and self._robot.person.waiting and self._robot.person.hear(text, began_s=turn.onset_s):
            return
        if controlled is not None and self._robot.applies(controlled):
            if controlled.control is Control.CONTINUE and not self._stop_words.may_rearm(turn):
                return
            if controlled.control is Control.SLEEP and self._settings.wake_words:
                self._turns.awake = False
            self._robot.obey(controlled)
            return
        if guess is not None and controlled is None and turn.before is None:
            answer = guess.answered(text) if turn.onset_s > guess.asked_s else None
            if answer is False:
                self._robot.remark(self._settings.say_again)
                return
            if answer and control_of(guess.text) is not None:  # "you can move"
                self._allow_again(turn, guess.text)
                return
            text = guess.text if answer else text
        self._asked_s = self._states.now_s
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
        if turn.utterance:
            self._turns.answered = turn

    def cancel(self) -> None:
        """Every goal and the run are cancelled; what waited has nothing to wait for."""
        self._guess = None
        self._robot.obey(Controlled(Control.CANCEL))
        self._stop_words.move_on()

    def _allow_again(self, turn: Turn, text: str) -> None:
        """Allows motion again, after a yes to the question about it."""
        controlled = control_of(text)
        if controlled is not None and self._robot.applies(controlled) and self._stop_words.may_rearm(turn):
            self._robot.obey(controlled)

    def _ask_again(self) -> None:
        """Never acted on, only asked about."""
        turn, settings = self._turns.closing, self._settings
        self._guess, text = None, None
        if turn is not None and turn.transcript is not None and turn.is_whole and not self._robot.person.waiting:
            stopped = self._robot.latch.state is LatchState.TRIPPED
            text = guessed(turn.transcript, settings.phrases, settings.stop_words, stopped=stopped)
        said = self._robot.remark(settings.did_you_say.format(text=text) if text else settings.not_understood)
        if text and said is not None:
            self._guess = Guess(text, self._states.now_s, said)
        self._turns.answered = turn

    def _wake(self) -> None:
        self._turns.awake = True
        if self._turns.now is not None:
            self._turns.now.asleep = False
        self._robot.chime(Chime.WAKE)

    def _sleep(self) -> None:
        self._turns.awake = False
        self._guess = None

    def _stop_everything(self) -> None:
        self._stop_words.forget()
        self._stop_words.move_on()
        self._unfinished = False
        self._guess = None
        self._turns.typed.clear()
        for turn in (self._turns.now, *self._turns.late.values()):
            if turn is not None:
                turn.dismissed = True
        self._robot.stop()
        self._robot.chime(Chime.ERROR)

    def _lose(self) -> None:
        """Makes motion wait, because a robot that hears nothing can't be stopped by a word."""
        if self._turns.now is not None:  # its words may still say stop
            self._turns.late[self._turns.now.utterance] = self._turns.now
        self._turns.now = self._turns.answered = self._guess = None
        for turn in self._turns.late.values():
            turn.dismissed = True


def _nothing() -> None:
    """The action of an empty cell."""
