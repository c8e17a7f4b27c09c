"""Turn taking: what is done in each state with what happens, by the table.

Everything here runs on the conversation's thread, except ``halt``. Knows ears only to tell them how long to wait.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from edgeagent import events
from edgeagent.robot.latch import SafetyLatch
from edgeagent.stt import hearing
from edgeagent.stt.confirming import missed
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent
from edgeagent.stt.keywords import Keyword
from edgeagent.stt.types import Transcript
from edgeagent.voice.chimes import Chime
from edgeagent.voice.controls import Control, control_of
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.settings import DialogueSettings
from edgeagent.voice.stopping import StopWatch
from edgeagent.voice.table import TABLE, Action, Event, State
from edgeagent.voice.turn import Turn
from edgeagent.voice.turn_end import DONE
from edgeagent.voice.utterance import Kind, kind_of

logger = logging.getLogger(__name__)

_EVENT_OF: Final = {
    Kind.COMMAND: Event.COMMAND,
    Kind.CONTROL: Event.COMMAND,
    Kind.ANSWER: Event.COMMAND,
    Kind.QUESTION: Event.QUESTION,
    Kind.CORRECTION: Event.CORRECTION,
    Kind.UNFINISHED: Event.UNFINISHED,
    Kind.BACKCHANNEL: Event.BACKCHANNEL,
}
"""What is known at the soft end; other kinds change nothing until the hard end."""
_PLAYBACK: Final = {State.SPEAKING: "playing", State.HELD: "held"}
"""What the loudspeaker does; in other states it is stopped."""
_BESIDE: Final = frozenset({Control.LOUDER, Control.QUIETER, Control.VOLUME})
"""Controls that are obeyed while the robot goes on speaking."""
_NOD: Final = 2
"""Times ``final_after_ms``: so long may a backchannel be."""
_SILENT_S: Final = 0.3
"""A stop word that ends after so much silence of everybody else is in the robot's own voice, if it speaks. When the
word begins the spotter does not tell well: it counts the pause before it."""
_CALL_S: Final = 0.4
"""Speech that ends so soon after the wake word was nothing else."""


class TurnTaking:
    """Whose turn it is.

    Args:
        ears: Told how long to wait for the rest of a sentence.
        robot: What it says and does.
        latch: Motion obeys it.
        settings: Barge-in, words, and waiting.
        emit: Called with the class and the fields of an event of the voice.

    Attributes:
        state: As the table says.
    """

    def __init__(
        self, ears: Ears, robot: RobotSide, latch: SafetyLatch, settings: DialogueSettings, *, emit: Emit
    ) -> None:
        self.state = State.ASLEEP if settings.wake_words else State.LISTENING
        self._ears, self._robot, self._latch, self._settings, self._emit = ears, robot, latch, settings, emit
        self._awake = not settings.wake_words
        self._turn: Turn | None = None
        self._closing: Turn | None = None
        """The turn that is over, while its cell is done."""
        self._typed: deque[str] = deque()
        self._now_s = self._active_s = self._asked_s = 0.0
        self._spoken_s = -math.inf
        """Until when somebody has spoken."""
        self._unfinished = self._lost = False
        self._stop = StopWatch(settings.stop_words)
        self._actions: dict[Action, Callable[[], object]] = {
            Action.NOTHING: _nothing,
            Action.OPEN: self._open,
            Action.HOLD: partial(self._emit_barge_in, "hold"),
            Action.RESUME: self._resume,
            Action.CUT: self._cut,
            Action.HALT: self.halt,
            Action.PREPARE: _nothing,  # the ears have begun it
            Action.END_SOON: self._set_hard_end,
            Action.END_LATE: self._set_hard_end,
            Action.ANSWER: self._answer,
            Action.ASK: self._ask_again,
            Action.CLOSE: _nothing,
            Action.DEFER: _nothing,  # a reply that begins while somebody has the floor waits by itself
            Action.TELL: _nothing,
            Action.WAKE: self._wake,
            Action.SLEEP: self._sleep,
            Action.LOSE: self._lose,
            Action.STOP: self._stop_everything,
            Action.REARM: latch.rearm,
        }

    # --- the table --------------------------------------------------------------------------------------------------

    def fire(self, event: Event) -> None:
        """Does the cell of an event."""
        cell = TABLE[self.state, event]
        self._actions[cell.action]()
        if cell.then != "stay":
            self._become(self._going_on() if cell.then == "back" else cell.then, event)

    def _become(self, state: State, why: Event) -> None:
        if state in (State.HEARING, State.HELD):
            self._robot.hold()
        elif not self._stop.waiting:
            self._robot.resume()
        if state is not self.state:
            old, self.state = self.state, state
            self._active_s = self._now_s
            self._emit(events.VoiceState, old=str(old), new=str(state), why=str(why))
            if (told := _PLAYBACK.get(state, "stopped")) != _PLAYBACK.get(old, "stopped"):
                self._emit(events.Playback, state=told, position_s=self._robot.position_s)

    def _going_on(self) -> State:
        """The state that is what goes on."""
        turn, robot = self._turn, self._robot
        if turn is not None and not turn.dismissed and not turn.asleep and not turn.complete:
            return State.HELD if robot.sounding else State.HEARING
        if robot.sounding:
            return State.SPEAKING
        if robot.runs.acting:
            return State.ACTING
        if robot.thinking:
            return State.THINKING
        return State.LISTENING if self._awake else State.ASLEEP

    def look(self) -> None:
        """What the loudspeaker has become, and a goal that has ended after its run."""
        if self.state is State.SPEAKING:
            if not self._robot.sounding:
                self.fire(Event.PLAYBACK_FINISHED)
        elif self.state in (State.HEARING, State.HELD):
            return
        elif self._robot.sounding:
            self.fire(Event.SOUND)
        elif self.state in (State.THINKING, State.ACTING) and self._going_on() is not self.state:
            self.fire(Event.RUN_FINISHED)

    def change(self, event: events.Event) -> None:
        """What a run has become."""
        if isinstance(event, events.AgentEnd):
            self._robot.ended(event)
        if isinstance(event, events.ToolExecutionStart):
            self.fire(Event.TOOL)
        elif self.state in (State.THINKING, State.ACTING):
            self.fire(Event.RUN_FINISHED)

    def hear(self, event: HearingEvent) -> None:
        match event:
            case hearing.Level():
                self._tick(event.now_s)
            case hearing.Started():
                self._begin(event)
            case hearing.Resumed():
                self._go_on(event.at_s)
            case hearing.SoftEnded():
                self._pause(event.at_s)
            case hearing.Ended():
                self._end()
            case hearing.Partial():
                self._hear_partly(event.transcript)
            case hearing.Judged():
                self._judge(event)
            case hearing.Transcribed():
                self._understand(event)
            case hearing.Spotted():
                self._spot(event.keyword)
            case hearing.Trouble():
                self._emit(events.Device, state="trouble", name=f"{event.part}: {event.text}")
                if event.part == "device":
                    self.device("back" if event.over else "lost")

    # --- what a person says ---------------------------------------------------------------------

    def _begin(self, event: hearing.Started) -> None:
        self._turn = Turn(event.utterance, event.at_s, asleep=self.state is State.ASLEEP)
        self._emit(events.SpeechStart)
        self._ears.hard_end_ms = self._settings.preset.statement_end_ms
        self._stop.begun(event.at_s)
        if self.state is not State.SPEAKING:
            self.fire(Event.SPEECH_START)
        elif self._settings.preset.interruptible:
            self._hold(self._turn, self._ears.now_s)

    def _go_on(self, at_s: float) -> None:
        self._emit(events.SpeechStart)
        self._stop.speech(ended_s=None)
        if self._turn is not None:
            self._turn.resume(at_s)
            self._ears.hard_end_ms = self._settings.preset.statement_end_ms

    def _pause(self, at_s: float) -> None:
        self._stop.speech(ended_s=at_s)
        self._emit(events.SpeechEnd, soft=True)
        if self._turn is not None:
            self._turn.soft_end_s = at_s
            self.fire(Event.SOFT_END)

    def _end(self) -> None:
        self._emit(events.SpeechEnd, soft=False)
        if self._turn is not None:
            self._turn.ended = True
            self._close_turn()

    def _hear_partly(self, transcript: Transcript) -> None:
        self._emit(events.Partial, text=transcript.text)
        turn, preset = self._turn, self._settings.preset
        if turn is None:
            return
        turn.partial = transcript.text
        if not turn.dismissed:
            self._decide(turn, transcript)
        if turn.dismissed or not 0 < preset.words <= len(transcript.text.split()):
            return
        if (self._now_s - turn.onset_s) * 1000 < preset.final_after_ms:  # a guess: "right" is heard as "but I" first
            return
        if self._kind(transcript) is not Kind.BACKCHANNEL:
            self.fire(Event.TWO_WORDS)

    def _kind(self, transcript: Transcript) -> Kind:
        """Of words over the robot's voice."""
        return kind_of(transcript, phrases=self._settings.phrases, speaking=True)

    def _understand(self, event: hearing.Transcribed) -> None:
        turn, transcript = self._turn, event.transcript
        self._emit(
            events.Transcript,
            text=transcript.text,
            words=transcript.words,
            confidence=transcript.confidence,
            latency_s=event.latency_s,
            engine=transcript.engine,
            understood=transcript.understood,
        )
        if turn is None or turn.utterance != event.utterance:
            return
        turn.transcript = transcript
        if not turn.dismissed:
            self._decide(turn, transcript)
        if turn.asleep and missed(transcript, self._settings.wake_words) is not None:
            self.fire(Event.WAKE_WORD)
        if not turn.dismissed and not turn.asleep:
            self._weigh(turn, transcript)
        self._close_turn()

    def _judge(self, event: hearing.Judged) -> None:
        turn = self._turn
        if turn is not None and turn.utterance == event.utterance:
            turn.done = event.probability >= DONE
            self._set_hard_end()

    def _weigh(self, turn: Turn, transcript: Transcript) -> None:
        """What was said until the soft end: it decides when the turn ends, and whether it interrupts."""
        over = self.state in (State.SPEAKING, State.HELD)
        turn.kind = kind_of(
            transcript, phrases=self._settings.phrases, speaking=over, question_open=self._robot.person.waiting
        )
        control = control_of(transcript.text) if transcript.understood else None
        if over and control is not None and control.control in _BESIDE:
            turn.dismissed = True
            self._robot.obey(control)
            self.fire(Event.FALSE_ALARM)
        elif turn.kind not in _EVENT_OF:
            self._set_hard_end()
        elif self._settings.preset.interruptible or not over:
            self.fire(_EVENT_OF[turn.kind])

    def _close_turn(self) -> None:
        """The end of the turn, once it is over and its words are known."""
        turn = self._turn
        if turn is None or turn.transcript is None or not turn.complete:
            return
        self._turn, self._closing = None, turn
        if turn.dismissed or turn.asleep or not turn.transcript.text.strip() or _only_called(turn):
            self.fire(Event.FALSE_ALARM)
        else:
            self.fire(Event.HARD_END if turn.transcript.understood else Event.NOT_UNDERSTOOD)
        self._closing = None
        while self._typed and self._turn is None:
            self.type_text(self._typed.popleft())

    def type_text(self, text: str) -> None:
        """A text from a keyboard is complete, and its turn is over at once."""
        if self._turn is not None and not self._turn.asleep:
            self._typed.append(text)
            return
        turn = Turn(0, self._now_s, ended=True, final=True, transcript=Transcript(text), soft_end_s=self._now_s)
        self._closing = turn
        self.fire(Event.COMMAND)
        if self.state is State.HEARING:  # what was said until now is cut
            self._become(self._going_on(), Event.COMMAND)
        self.fire(Event.HARD_END)
        self._closing = None

    def press(self) -> None:
        """The button: the person has the floor."""
        self._awake = True
        if self.state in (State.SPEAKING, State.HELD):
            self.fire(Event.TWO_WORDS)
            self._become(self._going_on(), Event.TWO_WORDS)

    def device(self, state: str) -> None:
        if state == "lost" and not self._lost:
            self._lost = True
            self.fire(Event.DEVICE_LOST)
        elif state == "back" and self._lost:
            self._lost = False
            if not self._stop.waiting:
                self._latch.release()

    def _tick(self, now_s: float) -> None:
        """Time passes."""
        self._now_s = now_s
        turn, preset = self._turn, self._settings.preset
        if turn is not None:
            self._spoken_s = now_s if turn.soft_end_s is None else turn.soft_end_s
        match self._stop.due(now_s):
            case "trip":
                self._trip()
            case "release":
                self._deny()
        if turn is not None and not turn.dismissed and turn.speaking and preset.interruptible:
            self._hold(turn, now_s)
            spoken_ms = (now_s - turn.onset_s) * 1000
            if self.state is State.HELD and spoken_ms >= self._final_after_ms(turn):
                self.fire(Event.HALF_SECOND)
        elif self.state is State.HELD and not self._stop.waiting:
            silent_s = self._active_s if turn is None or turn.soft_end_s is None else turn.soft_end_s
            if (now_s - silent_s) * 1000 >= preset.resume_after_ms:
                self.fire(Event.FALSE_ALARM)
        waited_s = now_s - self._active_s
        if self.state is State.LISTENING and self._settings.wake_words and waited_s >= self._settings.follow_up_s:
            self.fire(Event.QUIET)
        self._robot.tick(now_s, self.state)

    def _hold(self, turn: Turn, now_s: float) -> None:
        """Somebody who speaks over the robot's voice has the floor, once it is long enough."""
        if self.state is State.SPEAKING and (now_s - turn.onset_s) * 1000 >= self._settings.preset.hold_after_ms:
            self.fire(Event.SPEECH_START)

    def _final_after_ms(self, turn: Turn) -> float:
        """From the onset of speech over the robot's voice until it is an interruption, whatever was said.

        The silence in which a soft end is awaited is no speech; and what sounds like "oh I see" may take its time.
        """
        preset = self._settings.preset
        nods = self._kind(Transcript(turn.partial, final=False)) is Kind.BACKCHANNEL
        return preset.final_after_ms * (_NOD if nods else 1) + preset.soft_end_ms

    # --- stop words -----------------------------------------------------------------------------

    def _spot(self, keyword: Keyword) -> None:
        if keyword.phrase not in self._settings.stop_words:
            self._emit(events.Keyword, phrase=keyword.phrase, confirmed=True)
            if self._turn is not None:
                self._turn.woken_s = keyword.end_s
            self.fire(Event.WAKE_WORD)
            return
        turn = self._turn
        self._emit(events.Keyword, phrase=keyword.phrase, confirmed=None)
        alone = turn is None and self._robot.sounding and not self._robot.runs.acting
        alone = alone and keyword.end_s - self._spoken_s > _SILENT_S
        self._stop.spotted(keyword, alone=alone)
        self._stop.speech(ended_s=None if turn is not None and turn.speaking else keyword.end_s)
        self.fire(Event.STOP_WORD)
        if turn is not None and turn.text:
            self._decide(turn, turn.transcript or Transcript(turn.partial, final=False))

    def _decide(self, turn: Turn, transcript: Transcript) -> None:
        """What a transcript makes of a stop word, spotted or missed."""
        waited = self._stop.waiting
        outcome = self._stop.told(transcript, onset_s=turn.began_s)
        if outcome is None:
            return
        if waited or outcome == "trip":
            self._emit(events.Keyword, phrase=self._stop.phrase, confirmed=outcome == "trip")
        if outcome == "trip":
            turn.dismissed = True
            self._trip()
        else:
            self._deny()

    def _deny(self) -> None:
        """It was no stop word, or the robot's own: what was held goes on."""
        if not self._lost:
            self._latch.release()
        if self.state is State.HELD and self._turn is None:
            self.fire(Event.FALSE_ALARM)
        else:
            self._become(self.state, Event.FALSE_ALARM)

    def halt(self) -> None:
        """What moves and speaks is held. Also on the thread that has spotted the word."""
        self._latch.hold("stop word")
        self._robot.hold(everything=True)

    def _trip(self) -> None:
        """It was meant; where motion is off already, speech and thought are left to stop."""
        if not self._latch.trip("stop word"):
            self.fire(Event.TRIP)

    def _stop_everything(self) -> None:
        self._stop.forget()
        self._unfinished = False
        if self._turn is not None:
            self._turn.dismissed = True
        self._robot.stop()
        self._robot.chime(Chime.ERROR)

    def _lose(self) -> None:
        """Who hears nothing can't be stopped by a word: what moves waits."""
        self._latch.hold("the microphone is lost")
        self._turn = None

    def _emit_barge_in(self, action: str) -> None:
        self._emit(events.BargeIn, action=action)

    # --- actions --------------------------------------------------------------------------------

    def _open(self) -> None:
        """The person has the floor, or goes on after a hard end that came too soon."""
        if self.state is not State.HEARING:
            late_s = self._now_s - self._asked_s
            self._unfinished = self.state is State.THINKING and late_s <= self._settings.reopen_s

    def _resume(self) -> None:
        if self._turn is not None:
            self._turn.dismissed = True
        self._emit_barge_in("resume")

    def _cut(self) -> None:
        if self._turn is not None:
            self._turn.final = True
        self._emit_barge_in("final")
        self._robot.interrupt("barge_in")

    def _set_hard_end(self) -> None:
        """How long the rest of the sentence is waited for: by the words, and a turn-end model where there is one."""
        turn, preset = self._turn, self._settings.preset
        if turn is None or turn.ended or turn.transcript is None:
            return
        match turn.kind, turn.done:
            case Kind.UNFINISHED, _:
                ends_ms = preset.unfinished_end_ms
            case Kind.STATEMENT | Kind.UNCLEAR | None, True:
                ends_ms = preset.command_end_ms
            case Kind.STATEMENT | Kind.UNCLEAR | None, False:
                ends_ms = preset.unfinished_end_ms
            case (Kind.STATEMENT | Kind.UNCLEAR | None, None) | (_, False):
                ends_ms = preset.statement_end_ms
            case Kind.QUESTION, _:
                ends_ms = preset.question_end_ms
            case _:
                ends_ms = preset.command_end_ms
        self._ears.hard_end_ms = ends_ms

    def _answer(self) -> None:
        """The turn is the robot's: control words, the answer to a question of a tool, or the model."""
        turn = self._closing
        if turn is None or turn.transcript is None:
            return
        text = self._without_wake_word(turn.transcript.text)
        controlled = control_of(text)
        unfinished, self._unfinished = self._unfinished, False
        if not text or (self._robot.person.waiting and self._robot.person.hear(text)):
            return
        if controlled is not None and self._robot.applies(controlled):
            self._awake = self._awake and not (controlled.control is Control.SLEEP and bool(self._settings.wake_words))
            self._robot.obey(controlled)
            return
        self._asked_s = self._now_s
        self._robot.ask(text, unfinished=unfinished)

    def _ask_again(self) -> None:
        """Never acted on, only asked about."""
        self._robot.remark(self._settings.not_understood)

    def _wake(self) -> None:
        self._awake = True
        if self._turn is not None:
            self._turn.asleep = False
        self._robot.chime(Chime.WAKE)

    def _sleep(self) -> None:
        self._awake = False

    def _without_wake_word(self, text: str) -> str:
        for phrase in self._settings.wake_words:
            if text.casefold().startswith(phrase.casefold()):
                return text[len(phrase) :].lstrip(" ,.!?")
        return text.strip()


def _only_called(turn: Turn) -> bool:
    """Whether it was the wake word and no more, though the recogniser did not know it."""
    understood = turn.transcript is not None and turn.transcript.understood
    if understood or turn.woken_s is None or turn.soft_end_s is None:
        return False
    return turn.soft_end_s - turn.woken_s <= _CALL_S


def _nothing() -> None:
    """The action of an empty cell."""
