"""Turn taking: what is done in each state with what happens, by the table.

Everything here runs on the conversation's thread. Knows ears only to tell them how long to wait.
"""

from __future__ import annotations

import math
from typing import Final

from edgeagent import events
from edgeagent.english.answers import Control, control_of
from edgeagent.english.stop_phrases import Grade, Release, Situation
from edgeagent.english.tokens import after, words_of
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.stt import hearing
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent
from edgeagent.stt.key_phrases import SpottedPhrase
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.guess import LEAST_GUESS
from edgeagent.voice.hearing_report import HearingLoss, HearingReport
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.stop_words import StopWords
from edgeagent.voice.turn import Turn, Turns
from edgeagent.voice.turn_actions import TurnActions
from edgeagent.voice.turn_end import DONE
from edgeagent.voice.turn_rules import final_after_ms, has_said_enough, is_called, is_over, only_called, says_something
from edgeagent.voice.turn_states import State, States, TableEvent, going_on
from edgeagent.voice.utterance import Kind, kind_of
from edgeagent.voice.voice_settings import DialogueSettings

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
_BESIDE: Final = frozenset({Control.LOUDER, Control.QUIETER, Control.VOLUME})
"""Controls that are obeyed while the robot goes on speaking."""
_SILENT_S: Final = 0.3
"""A stop word that ends after so much silence of everybody else is in the robot's own voice, if it speaks. When the
word begins the spotter does not tell well: it counts the pause before it."""


class TurnTaking:
    """Whose turn it is.

    Args:
        ears: Told how long to wait for the rest of a sentence.
        robot: What it says and does.
        latch: Motion obeys it.
        settings: Barge-in, words, and waiting.
        emit: Called with the class and the fields of an event of the voice.

    Attributes:
        states: The state, and how it changes.
        stop_words: What a stop word does.
    """

    def __init__(
        self, ears: Ears, robot: RobotSide, latch: SafetyLatch, settings: DialogueSettings, *, emit: Emit
    ) -> None:
        self._ears, self._robot, self._latch, self._settings, self._emit = ears, robot, latch, settings, emit
        self._turns = Turns(awake=not settings.wake_words)
        self._loss = HearingLoss()
        self._hears_nothing = False
        self._spoken_s = -math.inf
        """Until when somebody has spoken."""
        self._report = HearingReport(emit)
        self.stop_words = StopWords(
            settings.stop_words,
            settings.phrases.stops,
            latch,
            robot,
            emit=emit,
            on_trip=lambda: self.fire(TableEvent.TRIP),
            on_release=self._go_on_after_all,
        )
        self._stop = self.stop_words.watch
        self.states = States(
            State.ASLEEP if settings.wake_words else State.LISTENING,
            robot,
            what_goes_on=lambda: going_on(
                self._turns.now, robot, awake=self._turns.awake, waits=self.stop_words.speech_waits
            ),
            stop_waits=lambda: self._stop.waiting or self.stop_words.trip_waits or self.stop_words.speech_waits,
            emit=emit,
        )
        self.fire = self.states.fire
        self._actions = TurnActions(self._turns, ears, robot, self.stop_words, self.states, settings, emit=emit)
        self.states.actions = self._actions.by_name

    @property
    def state(self) -> State:
        """As the table says."""
        return self.states.now

    def hear(self, event: HearingEvent) -> None:
        match event:
            case hearing.Level():
                self._tick(event.now_s)
            case hearing.SpeechStarted():
                self._begin(event)
            case hearing.SpeechResumed():
                self._go_on(event.at_s)
            case hearing.SoftEnd():
                self._pause(event.at_s)
            case hearing.HardEnd():
                self._turns.answered = None
                self._end(cut=event.cut)
            case hearing.PartialTranscript():
                self._hear_partly(event)
            case hearing.Judged():
                self._judge(event)
            case hearing.FinalTranscript():
                self._understand(event)
            case hearing.KeywordSpotted():
                self._spot(event.keyword)
            case hearing.Trouble():
                self._report.trouble(event)
                if event.part == "device":
                    self.device("back" if event.over else "lost")
        self._loss.take(event, self.states.now_s)

    # --- what a person says ---------------------------------------------------------------------

    def _begin(self, event: hearing.SpeechStarted) -> None:
        self._turns.answered = None
        self._stop.begun(event.at_s)
        if self._turns.now is not None and self._turns.now.utterance:  # its words are not known yet
            self._turns.late[self._turns.now.utterance] = self._turns.now
        asleep = self.state is State.ASLEEP
        self._hear_new(Turn(event.utterance, event.at_s, sound_s=event.begin_s, asleep=asleep))

    def _hear_new(self, turn: Turn) -> None:
        """Somebody speaks."""
        self._turns.now = turn
        self._report.begun()
        self._actions.wait_for_rest()
        self._take_floor(turn)

    def _take_floor(self, turn: Turn) -> None:
        if self.state is not State.SPEAKING:
            self.fire(TableEvent.SPEECH_START)
        elif self._settings.preset.interruptible:
            self._hold(turn, self._ears.now_s)

    def _go_on(self, at_s: float) -> None:
        """The utterance goes on, be it after its turn was answered."""
        self._stop.speech(ended_s=None)
        before, self._turns.answered = self._turns.answered, None
        if self._turns.now is not None:
            self._report.begun()
            self._turns.now.resume(at_s)
            self._actions.wait_for_rest()
        elif before is not None:
            self._hear_new(Turn(before.utterance, at_s, sound_s=before.sound_s, before=before, lead=before.lead))

    def _pause(self, at_s: float) -> None:
        self._stop.speech(ended_s=at_s)
        self._report.paused()
        if self._turns.now is not None:
            self._turns.now.soft_end_s = at_s

    def _end(self, *, cut: bool = False) -> None:
        self._report.ended()
        if self._turns.now is not None:
            self._turns.now.ended, self._turns.now.cut = True, cut
            self._close_turn()

    def _hear_partly(self, event: hearing.PartialTranscript) -> None:
        transcript = event.transcript
        self._report.partly(transcript)
        turn, preset = self._turns.now, self._settings.preset
        if turn is None or turn.utterance != event.utterance:
            return
        turn.hear_partly(transcript.text)
        self.stop_words.decide(turn, transcript, now_s=self.states.now_s)
        kind = kind_of(transcript, phrases=self._settings.phrases, speaking=True)
        if not turn.dismissed and has_said_enough(turn, preset, kind) and not self._is_about_waiting(turn.text):
            self.fire(TableEvent.TWO_WORDS)

    def _understand(self, event: hearing.FinalTranscript) -> None:
        self._report.transcribed(event)
        last = self._turns.last
        if event.utterance in self._turns.late:
            self._understand_late(event, self._turns.late.pop(event.utterance))
        elif self._turns.now is not None and self._turns.now.utterance == event.utterance:
            self._take_words(self._turns.now, event)
        elif last is not None and last.utterance == event.utterance:  # nobody waits for it but a stop word
            self.stop_words.decide(last, event.transcript, now_s=self.states.now_s, ended_s=event.at_s)

    def _understand_late(self, event: hearing.FinalTranscript, turn: Turn) -> None:
        """Its words come while somebody speaks again: it is the robot's turn for a moment, as if they were in time."""
        now, self._turns.now = self._turns.now, turn
        self._turns.interposed = now is not None
        if turn.cut and now is not None:
            self.stop_words.decide(turn, event.transcript, now_s=self.states.now_s, ended_s=event.at_s)
            if not turn.dismissed:
                now.lead = f"{turn.lead} {event.transcript.text}".strip()
        else:
            self._take_words(turn, event)
        self._turns.now, self._turns.interposed = now, False
        if now is not None:
            self._turns.answered = None
            self._actions.wait_for_rest()
            if not now.dismissed:
                self._take_floor(now)

    def _take_words(self, turn: Turn, event: hearing.FinalTranscript) -> None:
        turn.transcript = transcript = event.transcript
        self.stop_words.decide(turn, transcript, now_s=self.states.now_s, ended_s=event.at_s)
        if turn.asleep and is_called(transcript, self._settings.wake_words):
            self.fire(TableEvent.WAKE_WORD)
        if not turn.dismissed and not turn.asleep:
            self._weigh(turn, transcript)
        self._close_turn()

    def _judge(self, event: hearing.Judged) -> None:
        turn = self._turns.now
        if turn is not None and turn.utterance == event.utterance:
            turn.done = event.probability >= DONE
            self._actions.wait_for_rest()

    def _weigh(self, turn: Turn, transcript: Transcript) -> None:
        """Weighs the words until the soft end: they decide when the turn ends, and whether it interrupts."""
        if self._heed(turn, transcript) if transcript.understood else self._heed_doubtful(turn, transcript):
            return
        over, preset = self.state in (State.SPEAKING, State.HELD), self._settings.preset
        turn.kind = (
            Kind.CONTROL
            if turn.grade is Grade.CANCEL
            else kind_of(
                transcript, phrases=self._settings.phrases, speaking=over, question_open=self._actions.question_open
            )
        )
        if turn.kind is Kind.UNCLEAR and self._settings.phrases.is_unfinished(transcript.text):
            turn.kind = Kind.UNFINISHED  # with the rest it may be understood
        control = control_of(transcript.text, self._settings.phrases.stops) if transcript.understood else None
        if over and control is not None and control.control in _BESIDE:
            turn.dismissed = True
            self._robot.obey(control)
            self.fire(TableEvent.FALSE_ALARM)
        elif turn.before is not None and after(transcript.text, turn.before.text) == "":  # no speech went on
            turn.dismissed = True
            self._turns.answered = turn.before  # but it may be the beginning of some
            self.fire(TableEvent.FALSE_ALARM)
        elif turn.kind not in _EVENT_OF:
            self._actions.wait_for_rest()
            phrases = self._settings.phrases
            if over and turn.kind is Kind.STATEMENT and says_something(transcript, preset, phrases):
                self.fire(TableEvent.TWO_WORDS)
        elif preset.interruptible or not over:
            if turn.kind is Kind.BACKCHANNEL and not self._robot.runs.acting:
                self.stop_words.deny()
            self.fire(_EVENT_OF[turn.kind])

    def _close_turn(self) -> None:
        """The end of the turn, once it is over and its words are known."""
        turn = self._turns.now
        if turn is None or turn.transcript is None or not turn.complete:
            return
        self._turns.now, self._turns.closing, self._turns.last = None, turn, turn
        if turn.dismissed or turn.asleep or not turn.transcript.text.strip() or only_called(turn):
            self.fire(TableEvent.FALSE_ALARM)
        else:
            self.fire(TableEvent.HARD_END if turn.transcript.understood else TableEvent.NOT_UNDERSTOOD)
        self._turns.closing = None
        if self._turns.answered is None:  # it can't go on: what follows is another turn
            self._ears.hard_end_ms = 0
        self._take_typed()

    def _take_typed(self) -> None:
        """Takes up a line that was typed while somebody spoke."""
        while self._turns.typed and self._turns.now is None and not self._turns.interposed:
            self.type_text(self._turns.typed.popleft())

    def type_text(self, text: str, *, typed: bool = True) -> None:
        """A text that nobody has spoken is complete, and its turn is over at once.

        Args:
            typed: A person has typed the text.
        """
        grade = self.grade(text, typed=typed)
        if grade is Grade.CANCEL:
            self._actions.cancel()
            return
        if grade is Grade.HOLD or self._released(text) is not None:
            self._wait_or_go_on(text, grade)
            return
        if self._turns.now is not None and not self._turns.now.asleep:
            self._turns.typed.append(text)
            return
        now_s = self.states.now_s
        turn = Turn(0, now_s, ended=True, final=True, transcript=Transcript(text), soft_end_s=now_s)
        self._turns.closing = turn
        self.fire(TableEvent.CALL)
        self.fire(TableEvent.TYPED)
        self._turns.closing = None

    def press(self) -> None:
        """The button: the person has the floor."""
        self._turns.awake = True
        self.fire(TableEvent.CALL)

    def device(self, state: str, part: str = "device") -> None:
        """A part of the ears is "lost" or "back"."""
        if state == "back":
            self.stop_words.undeafen(part)
        elif self.stop_words.deafen(part):
            self.fire(TableEvent.DEVICE_LOST)
            self._take_typed()

    def trip(self, number: int) -> None:
        """The latch was tripped: speech and thought follow."""
        self.stop_words.obey(number)
        self.fire(TableEvent.TRIP)

    def _listen_for_loss(self, now_s: float) -> None:
        """Ears that deliver sound may be deaf nevertheless."""
        deaf = self._loss.deaf(now_s)
        if deaf is not self._hears_nothing:
            self._hears_nothing = deaf
            self.device("lost" if deaf else "back", "ears")

    def _tick(self, now_s: float) -> None:
        """Time passes."""
        self.states.now_s = now_s
        turn, preset = self._turns.now, self._settings.preset
        if turn is not None:
            self._spoken_s = now_s if turn.soft_end_s is None else turn.soft_end_s
        self._listen_for_loss(now_s)
        self.stop_words.tick(now_s, turn)
        if self.stop_words.has_waited(now_s, self._spoken_s):
            self.stop_words.speak_on()
            self.fire(TableEvent.GO_ON)
        if turn is not None and not turn.dismissed and turn.speaking and preset.interruptible:
            self._hold(turn, now_s)
            long = (now_s - turn.onset_s) * 1000 >= final_after_ms(preset)
            if self.state is State.HELD and long and not self._is_about_waiting(turn.text):
                self.fire(TableEvent.HALF_SECOND)
        elif turn is not None and not turn.ended and is_over(turn, preset, now_s):
            self._end()
        elif self.state is State.HELD and not self._stop.waiting and not self.stop_words.speech_waits:
            silent_s = self.states.since_s if turn is None or turn.soft_end_s is None else turn.soft_end_s
            if (now_s - silent_s) * 1000 >= preset.resume_after_ms:
                self.fire(TableEvent.FALSE_ALARM)
        waited_s = now_s - self.states.since_s
        if self.state is State.LISTENING and self._settings.wake_words and waited_s >= self._settings.follow_up_s:
            self.fire(TableEvent.QUIET)
        self._robot.tick(now_s, self.state)

    def _hold(self, turn: Turn, now_s: float) -> None:
        """Somebody who speaks over the robot's voice has the floor, once it is long enough."""
        if self.state is State.SPEAKING and (now_s - turn.onset_s) * 1000 >= self._settings.preset.hold_after_ms:
            self.fire(TableEvent.SPEECH_START)

    # --- stop words -----------------------------------------------------------------------------

    def grade(self, text: str, *, typed: bool = False, cut: bool = False) -> Grade | None:
        """Grades a whole utterance as a stop phrase, with what goes on now. Any thread.

        Args:
            typed: A person has typed the text.
            cut: The utterance has interrupted the robot already.
        """
        situation = Situation(
            busy=cut or self._robot.busy, moves=self._robot.runs.moves, asked=self._actions.question_open
        )
        return self._settings.phrases.stops.grade(" ".join(words_of(text)), situation, typed=typed)

    def _heed(self, turn: Turn, transcript: Transcript) -> bool:
        """Obeys "wait", and what ends the wait, as soon as the words are known: both can be undone. False: neither."""
        turn.grade = self.grade(turn.rest(transcript).text, cut=turn.final)
        if turn.grade is not Grade.HOLD and self._released(transcript.text) is None:
            if turn.waits:  # "wait" was the beginning of something else
                turn.waits = False
                self.stop_words.move_on()
            return False
        turn.dismissed, turn.waits = True, turn.grade is Grade.HOLD
        self._wait_or_go_on(transcript.text, turn.grade)
        return True

    def _heed_doubtful(self, turn: Turn, transcript: Transcript) -> bool:
        """Makes motion wait for a probable "stop", "wait" or "no", and says so: who is unsure stops moving.

        False: the words are neither.
        """
        if not self._robot.runs.moves:
            return False
        text = turn.rest(transcript).text
        probable = (transcript.confidence or 0.0) >= LEAST_GUESS
        waits = probable and self.grade(text, cut=turn.final) in (Grade.HOLD, Grade.CANCEL)
        if not waits and not self._settings.phrases.stops.is_near_stop(text):
            return False
        again = turn.waits
        turn.dismissed = turn.waits = True
        self.fire(TableEvent.WAIT)
        if not again:
            self._robot.remark(self._settings.waiting)
        return True

    def _wait_or_go_on(self, text: str, grade: Grade | None) -> None:
        if grade is Grade.HOLD:
            self.fire(TableEvent.WAIT)
            return
        if self._released(text) is Release.MOTION:
            self.stop_words.move_on()
        elif self.stop_words.speech_waits:
            self.stop_words.speak_on()
        else:
            self._robot.remark(self._settings.waiting)
        self.fire(TableEvent.GO_ON)

    def _released(self, text: str) -> Release | None:
        """Returns what an utterance releases of all that waits for a person's word; None where nothing waits."""
        waits = self.stop_words.speech_waits or self.stop_words.motion_waits
        if not waits or self._latch.state is LatchState.TRIPPED:
            return None
        stops = self._settings.phrases.stops
        if release := stops.release(" ".join(words_of(text))):
            return release
        control = control_of(text, stops)
        return Release.MOTION if control is not None and control.control is Control.CONTINUE else None

    def _is_about_waiting(self, text: str) -> bool:
        """True if words that are still being said ask the robot to wait, or to go on after that."""
        row = self._settings.phrases.stops.read(" ".join(words_of(text)))
        return (row is not None and row.grade is Grade.HOLD) or self._released(text) is not None

    def _spot(self, keyword: SpottedPhrase) -> None:
        if keyword.phrase not in self._settings.stop_words:
            self._emit(events.Keyword, phrase=keyword.phrase, confirmed=True)
            if self._turns.now is not None:
                self._turns.now.woken_s = keyword.end_s
            self._turns.awake = True
            alone = self._turns.now is None and self.state is not State.ASLEEP  # who called has not said more yet
            self.fire(TableEvent.CALL if alone else TableEvent.WAKE_WORD)
            return
        turn = self._turns.now
        alone = turn is None and self._robot.sounding and not self._robot.runs.acting
        alone = alone and keyword.end_s - self._spoken_s > _SILENT_S
        self.fire(TableEvent.STOP_WORD)
        self.stop_words.spotted(keyword, turn, alone=alone, now_s=self.states.now_s)

    def _go_on_after_all(self) -> None:
        """Goes on with everything that was held, because a word was no stop word, or the robot's own."""
        if self.state is State.HELD and self._turns.now is None:
            self.fire(TableEvent.FALSE_ALARM)
        else:
            self.states.stay(TableEvent.FALSE_ALARM)
