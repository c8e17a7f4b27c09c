"""Turn taking: whose turn it is, and what is done with what happens, by the table of ``turn_states``.

Everything here runs on the conversation's thread, except where a method says otherwise. Times are seconds of the
device's clock. Knows ears only to tell them how long to wait.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from edgeagent import events
from edgeagent.english.answers import Control, control_of
from edgeagent.english.sentence_rules import begins_correction
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import NEGATIONS, after, words_of
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.stt import hearing
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent, RecognisedText, SpottedPhrase
from edgeagent.voice.answering import Answering
from edgeagent.voice.chimes import Chime
from edgeagent.voice.hearing_events import translated
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.stop_words import HearingLoss, StopWords
from edgeagent.voice.stopping import AFTER_WORD_S
from edgeagent.voice.turn import (
    Kind,
    Turn,
    event_of_words,
    final_after_ms,
    hard_end_ms,
    has_said_enough,
    is_called,
    is_over,
    kind_of,
    kind_until_pause,
    only_called,
    without_wake_word,
)
from edgeagent.voice.turn_end import DONE
from edgeagent.voice.turn_states import TABLE, Action, State, TableEvent
from edgeagent.voice.voice_settings import DialogueSettings
from edgeagent.voice.waiting_words import WaitingWords
from edgeagent.voice.weighing import Weighing

_BESIDE: Final = frozenset({Control.LOUDER, Control.QUIETER, Control.VOLUME})
"""Controls that are obeyed while the robot goes on speaking."""
_REST_S: Final = 4.0
"""Seconds of speech that goes on after its first part was answered, in which motion that this has asked for waits."""
_SOUND_S: Final = 0.15
"""Seconds that a sound after a pause may take to be known for speech, as which it would go on with the turn."""
_SILENT_S: Final = 0.3
"""A stop word that ends after so much silence of everybody else is in the robot's own voice, if it speaks. When the
word begins the spotter does not tell well: it counts the pause before it."""
_PLAYBACK: Final = {State.SPEAKING: "playing", State.HELD: "held"}
"""State of the loudspeaker; in other states it is stopped."""


class TurnTaking:
    """Whose turn it is: what the ears tell becomes events of the table, and its cells are done.

    Args:
        ears: Told how long to wait for the rest of a sentence.
        robot: What it says and does.
        latch: Motion obeys it.
        settings: Barge-in, words, and waiting.
        emit: Called with the class and the fields of an event of the voice.
        post: Has something called on the conversation's thread. Any thread.

    Attributes:
        state: As the table says.
        stop_words: What a stop word does.
    """

    def __init__(
        self,
        ears: Ears,
        robot: RobotSide,
        latch: SafetyLatch,
        settings: DialogueSettings,
        *,
        emit: Emit,
        post: Callable[[Callable[[], object]], object],
    ) -> None:
        self._ears, self._robot, self._settings, self._emit = ears, robot, settings, emit
        self.state = State.ASLEEP if settings.wake_words else State.LISTENING
        self._now_s = self._since_s = 0.0
        """The time, and when the state began."""
        self._post = post
        self._awake = not settings.wake_words
        """True if whoever speaks is answered without a wake word."""
        self._turn: Turn | None = None
        """The turn of who speaks, until it is over."""
        self._closing: Turn | None = None
        """The turn that is over, while its cell is done."""
        self._answered: Turn | None = None
        """A turn that is over, while its utterance may still go on."""
        self._last: Turn | None = None
        """The turn that was over last."""
        self._late: dict[int, Turn] = {}
        """Turns that are over, while their words are not known, by utterance: somebody speaks already again."""
        self._interposed = False
        """True while the words of a late turn are taken, in the midst of what is being said."""
        self._typed: deque[str] = deque()
        """Texts from a keyboard that wait until nobody speaks."""
        self._spoken_s = -math.inf
        """Until when somebody has spoken."""
        self._end_untold = False
        """True until the hard end of speech is told: the utterance may end later than the turn."""
        self._doubted: tuple[str, ...] = ()
        """The stop words and the wake word of which the ears know that they wait."""
        self._loss = HearingLoss()
        self._deaf = False
        self.stop_words = StopWords(
            settings.stop_words,
            settings.phrases.stops,
            latch,
            robot,
            emit=emit,
            on_trip=lambda: self.fire(TableEvent.TRIP),
            on_release=self._go_on_after_all,
            on_untold=lambda: robot.remark(settings.not_understood),
        )
        self._answering = Answering(robot, self.stop_words, settings)
        self._waiting = WaitingWords(self.stop_words, robot, settings, grade=self.grade, fire=self.fire)
        self._weighing = Weighing(robot.foresight, settings, self.grade, post=post, take=self._take_final)
        self._actions: dict[Action, Callable[[], object]] = {
            Action.NOTHING: lambda: None,
            Action.OPEN: self._open,
            Action.HOLD: self._hold,
            Action.RESUME: self._dismiss,
            Action.CUT: self._cut,
            Action.HALT: self.stop_words.halt,
            Action.WAIT: lambda: self.stop_words.wait(self._now_s),
            Action.AWAIT_REST: self._await_rest,
            Action.ANSWER: self._answer,
            Action.ASK: self._ask_again,
            Action.WAKE: self._wake,
            Action.SLEEP: self._sleep,
            Action.LOSE: self._lose,
            Action.STOP: self._stop_everything,
            Action.REARM: self.stop_words.allow,
        }

    # --- the table --------------------------------------------------------------------------------------------------

    def fire(self, event: TableEvent) -> None:
        """Does the cell of an event: its action, then the way to the state after it."""
        cell = TABLE[self.state, event]
        self._actions[cell.action]()
        if cell.then == "back":
            self._become(self._what_goes_on(), event)
        elif cell.then != "stay":
            self._become(cell.then, event)

    def look(self) -> None:
        """Takes up changes of the loudspeaker, and a goal that has ended after its run."""
        if self.state is State.SPEAKING:
            if not self._robot.sounding:
                self.fire(TableEvent.PLAYBACK_FINISHED)
        elif self.state in (State.HEARING, State.HELD):
            return
        elif self._robot.sounding:
            self.fire(TableEvent.SOUND)
        elif self.state in (State.THINKING, State.ACTING) and self._what_goes_on() is not self.state:
            self.fire(TableEvent.RUN_FINISHED)

    def change(self, event: events.Event) -> None:
        """Takes up the changes of a run."""
        if isinstance(event, events.AgentStart):  # what was foreseen may be otherwise after it
            self._weighing.end()
            return
        if isinstance(event, events.AgentEnd):
            self._robot.ended(event)
        if isinstance(event, events.ToolExecutionStart):
            self.fire(TableEvent.TOOL)
        elif self.state in (State.THINKING, State.ACTING):
            self.fire(TableEvent.RUN_FINISHED)

    def _what_goes_on(self) -> State:
        """Returns the state that is "back"."""
        turn, robot = self._turn, self._robot
        if turn is not None and not turn.dismissed and not turn.asleep and not turn.complete:
            return State.HELD if robot.sounding else State.HEARING
        if robot.sounding:
            return State.HELD if self.stop_words.speech_waits else State.SPEAKING
        if robot.runs.acting:
            return State.ACTING
        if robot.thinking:
            return State.THINKING
        return State.LISTENING if self._awake else State.ASLEEP

    def _become(self, state: State, why: TableEvent) -> None:
        """Enters a state. While a person has the floor, what the robot would begin to say waits too."""
        if state in (State.HEARING, State.HELD):
            self._robot.queue.hold()
        elif not self.stop_words.keeps_silent:
            self._robot.queue.resume()
        if state is not self.state:
            old, self.state = self.state, state
            self._since_s = self._now_s
            self._emit(events.VoiceState, old=str(old), new=str(state), why=str(why))
            if (told := _PLAYBACK.get(state, "stopped")) != _PLAYBACK.get(old, "stopped"):
                self._emit(events.Playback, state=told, position_s=self._robot.position_s)

    # --- what the ears tell -----------------------------------------------------------------------------------------

    def hear(self, event: HearingEvent) -> None:
        """Takes an event of the ears."""
        match event:
            case hearing.Level():
                self._tick(event.now_s, loud=event.loud)
            case hearing.SpeechStarted():
                self._begin(event)
            case hearing.SpeechResumed():
                self._go_on(event.at_s)
            case hearing.SoftEnd():
                self._pause(event)
            case hearing.HardEnd():
                self._answered = None
                self._end(cut=event.cut)
                if self._turn is None and not event.cut:  # else its words are not known yet
                    self._robot.rest.end()
            case hearing.PartialTranscript():
                self._hear_partly(event)
            case hearing.EarlyLook():
                self._look_early(event)
            case hearing.Judged():
                self._judge(event)
            case hearing.FinalTranscript():
                self._understand(event)
            case hearing.KeywordSpotted():
                self._spot(event.keyword)
            case hearing.WaitSpotted():
                self.stop_words.wait_spotted(event.keyword, self._now_s)
            case hearing.Trouble():
                self._tell(event)
                if event.part == "device":
                    self.device("back" if event.over else "lost")
        self._loss.take(event, self._now_s)

    def _begin(self, event: hearing.SpeechStarted) -> None:
        self._answered = None
        self.stop_words.watch.begun(event.at_s)
        if self._turn is not None and self._turn.utterance:  # its words are not known yet
            self._late[self._turn.utterance] = self._turn
        asleep = self.state is State.ASLEEP
        self._hear_new(Turn(event.utterance, event.at_s, sound_s=event.begin_s, asleep=asleep))
        self._weighing.end()

    def _hear_new(self, turn: Turn) -> None:
        """Somebody speaks."""
        self._turn, turn.at_rest = turn, self._at_rest
        self._tell_speech()
        self._await_rest()
        self._take_floor(turn)

    def _take_floor(self, turn: Turn) -> None:
        if self.state is not State.SPEAKING:
            self.fire(TableEvent.SPEECH_START)
        elif self._settings.preset.interruptible:
            self._hold_if_long(turn, self._ears.now_s)

    def _hold_if_long(self, turn: Turn, now_s: float) -> None:
        """Somebody who speaks over the robot's voice has the floor, once it is long enough."""
        if self.state is State.SPEAKING and (now_s - turn.onset_s) * 1000 >= self._settings.preset.hold_after_ms:
            self.fire(TableEvent.SPEECH_START)

    def _go_on(self, at_s: float) -> None:
        """The utterance goes on, be it after its turn was answered."""
        self.stop_words.watch.speech(ended_s=None)
        self._weighing.drop()
        before, self._answered = self._answered, None
        if self._robot.rest.until_s is not None:
            self._robot.rest.begin(at_s + _REST_S)
        if self._turn is not None:
            self._tell_speech()
            self._turn.resume(at_s)
            self._await_rest()
        elif before is not None:
            self._hear_new(Turn(before.utterance, at_s, sound_s=before.sound_s, before=before, lead=before.lead))

    def _tell_speech(self) -> None:
        self._end_untold = True
        self._emit(events.SpeechStart)

    def _tell(self, event: HearingEvent) -> None:
        """Tells an event of the ears as it is."""
        if (told := translated(event)) is not None:
            kind, fields = told
            self._emit(kind, **fields)

    def _pause(self, event: hearing.SoftEnd) -> None:
        self.stop_words.watch.speech(ended_s=event.at_s)
        self._spoken_s = event.at_s
        self._tell(event)
        if self._turn is not None:
            self._turn.soft_end_s = event.at_s

    def _end(self, *, cut: bool = False) -> None:
        if self._end_untold:
            self._emit(events.SpeechEnd, soft=False)
        self._end_untold = False
        if self._turn is not None:
            self._turn.ended, self._turn.cut = True, cut
            self._close_turn()

    def _hear_partly(self, event: hearing.PartialTranscript) -> None:
        transcript = event.transcript
        self._tell(event)
        turn, preset = self._turn, self._settings.preset
        if turn is None or turn.utterance != event.utterance:
            return
        turn.hear_partly(transcript.text)
        self.stop_words.decide(turn, transcript, now_s=self._now_s)
        kind = kind_of(transcript, phrases=self._settings.phrases, speaking=True)
        enough = not turn.dismissed and has_said_enough(turn, preset, kind)
        if enough and not self.stop_words.is_about_waiting(turn.text):
            self.fire(TableEvent.ENOUGH_WORDS)

    def _look_early(self, event: hearing.EarlyLook) -> None:
        turn = self._turn
        if turn is not None and turn.utterance == event.utterance and turn.transcript is None:
            self.stop_words.look(turn, event)

    def _understand(self, event: hearing.FinalTranscript) -> None:
        turn, preset = self._turn, self._settings.preset
        whole = turn is not None and turn.utterance == event.utterance and turn.before is None and not turn.lead
        if whole and turn is not None and self._may_believe(turn) and self._weighing.begin(event):
            self._ears.hard_end_ms = max(preset.unfinished_end_ms, preset.reopen_ms)  # it may be unfinished
        else:
            self._take_final(event)

    def _take_final(self, event: hearing.FinalTranscript) -> None:
        last, believed = self._last, self._believed(event)
        if event.transcript.text:
            self.stop_words.tell_words(event.at_s)
        self._tell(replace(event, transcript=believed))
        if event.utterance in self._late:
            self._understand_late(event, self._late.pop(event.utterance))
        elif self._turn is not None and self._turn.utterance == event.utterance:
            self._take_words(self._turn, event, believed)
        elif last is not None and last.utterance == event.utterance:  # nobody waits for it but a stop word
            self._decide(last, event)

    @property
    def _at_rest(self) -> bool:
        """True if the robot neither moves, speaks nor thinks, has asked nothing, and its latch is free."""
        robot = self._robot
        if robot.busy or robot.has_asked or self._answering.question_open(self._now_s):
            return False
        return robot.latch.state is LatchState.FREE

    def _may_believe(self, turn: Turn) -> bool:
        """True if likely words count as understood: the robot was at rest when they began, and is."""
        return turn.at_rest and self._at_rest and not (turn.asleep or turn.dismissed)

    def _believed(self, event: hearing.FinalTranscript) -> RecognisedText:
        turn, transcript = self._turn, event.transcript
        if turn is None or turn.utterance != event.utterance:
            return transcript
        turn.believed = transcript.likely and self._may_believe(turn)
        return replace(transcript, understood=True) if turn.believed else transcript

    def _understand_late(self, event: hearing.FinalTranscript, turn: Turn) -> None:
        """Its words come while somebody speaks again: it is the robot's turn for a moment, as if they were in time."""
        now, self._turn = self._turn, turn
        self._interposed = now is not None
        if turn.cut and now is not None:
            self._decide(turn, event)
            if not turn.dismissed:
                now.lead = f"{turn.lead} {event.transcript.text}".strip()
        else:
            self._take_words(turn, event)
        self._turn, self._interposed = now, False
        if now is not None:
            self._answered = None
            self._await_rest()
            if not now.dismissed:
                self._take_floor(now)

    def _take_words(self, turn: Turn, event: hearing.FinalTranscript, believed: RecognisedText | None = None) -> None:
        turn.transcript = transcript = believed or event.transcript
        self._decide(turn, event)  # by what the recogniser vouches for
        if turn.asleep:
            self._wake_by_words(turn, transcript)
        if not turn.dismissed and not turn.asleep:
            self._weigh(turn, transcript)
        self._close_turn()

    def _decide(self, turn: Turn, event: hearing.FinalTranscript) -> None:
        """Decides by all the words of a turn about the stop words in it."""
        self.stop_words.decide(turn, event.transcript, now_s=self._now_s, ended_s=event.at_s, suspected=event.suspected)

    def _judge(self, event: hearing.Judged) -> None:
        turn = self._turn
        if turn is not None and turn.utterance == event.utterance:
            turn.done = event.probability >= DONE
            self._await_rest()

    def _weigh(self, turn: Turn, transcript: RecognisedText) -> None:
        """Weighs the words until the soft end: they decide when the turn ends, and whether it interrupts."""
        if self._waiting.heed(turn, transcript, self._now_s):
            return
        preset, phrases = self._settings.preset, self._settings.phrases
        over = self.state in (State.SPEAKING, State.HELD)
        asked = self._answering.question_open(self._now_s)
        turn.kind = kind_until_pause(turn, transcript, phrases, over=over, asked=asked)
        waits = self._robot.rest.holds and turn.before is not None
        if waits and begins_correction(words_of(transcript.text)):
            turn.kind = Kind.UNFINISHED  # "go to the bathroom, no": what waits can't do harm until the rest is known
        control = control_of(transcript.text, phrases.stops) if transcript.understood else None
        if over and control is not None and control.control in _BESIDE:
            turn.dismissed = True
            self._robot.obey(control)
            self.fire(TableEvent.FALSE_ALARM)
        elif turn.before is not None and after(transcript.text, turn.before.text) == "":  # no speech went on
            turn.dismissed = True
            self._answered = turn.before  # but it may be the beginning of some
            self.fire(TableEvent.FALSE_ALARM)
        else:
            if waits and over and preset.interruptible and transcript.text and turn.kind is not Kind.BACKCHANNEL:
                self.fire(TableEvent.CORRECTION)  # an announcement gives way to who speaks on
                over = False
            event = event_of_words(turn.kind, transcript, preset, phrases, over=over)
            if event in (None, TableEvent.ENOUGH_WORDS):
                self._await_rest()
            elif over and not preset.interruptible:
                return
            elif event is TableEvent.BACKCHANNEL and not self._robot.runs.acting:
                self.stop_words.deny()
            if event is not None:
                self.fire(event)

    def _close_turn(self) -> None:
        """The end of the turn, once it is over and its words are known."""
        turn = self._turn
        if turn is None or turn.transcript is None or not turn.complete:
            return
        newest = self._last is None or self._last.utterance <= turn.utterance
        self._turn, self._closing, self._last = None, turn, turn
        if turn.believed and not self._at_rest:
            turn.transcript = replace(turn.transcript, understood=False)
        if turn.dismissed or turn.asleep or not turn.transcript.text.strip() or only_called(turn):
            self._robot.rest.end()
            self.fire(TableEvent.FALSE_ALARM)
            if turn.stopped and newest and turn.transcript.understood and not turn.asleep:
                self._ask_beside_stop(turn, turn.transcript)
        else:
            self.fire(TableEvent.HARD_END if turn.transcript.understood else TableEvent.NOT_UNDERSTOOD)
        if turn.transcript.understood:
            self.stop_words.end_pause(math.inf if turn.soft_end_s is None else turn.soft_end_s)
        self._closing = None
        if self._answered is None:  # it can't go on: what follows is another turn
            self._ears.hard_end_ms = 0
        self._take_typed()

    def _ask_beside_stop(self, turn: Turn, transcript: RecognisedText) -> None:
        """Asks for what is wanted beside a stop, "stop and tell me where you are", once that has been obeyed, and only
        while motion is off and nobody has stopped the robot again."""
        phrases = self._settings.phrases
        rest = without_wake_word(phrases.stops.beside(turn.rest(transcript).text), self._settings.wake_words)
        wanted = kind_of(rest, phrases=phrases) in (Kind.COMMAND, Kind.QUESTION) and not NEGATIONS.search(rest)
        if wanted and control_of(rest, phrases.stops) is None and not self._robot.has_asked:
            self._post(partial(self._ask_stopped, turn.stopped, rest))

    def _ask_stopped(self, stopped: tuple[int, int] | None, rest: str) -> None:
        off = self._robot.latch.state is LatchState.TRIPPED
        if off and self._turn is None and stopped == self.stop_words.stopped:
            self.type_text(rest, typed=False)

    def _spot(self, keyword: SpottedPhrase) -> None:
        self._weighing.end()
        turn = self._turn
        if keyword.phrase in self._settings.stop_words:
            alone = turn is None and self._robot.sounding and not self._robot.runs.acting
            alone = alone and keyword.end_s - self._spoken_s > _SILENT_S
            self.fire(TableEvent.STOP_WORD)
            self.stop_words.spotted(keyword, turn, alone=alone, spoken_s=self._spoken_s, now_s=self._now_s)
            return
        if turn is not None and turn.asleep and turn.transcript is None:
            turn.called = keyword  # its transcript may deny it
            self._emit(events.Keyword, phrase=keyword.phrase, confirmed=None)
        else:
            self._call(keyword, turn)

    def _call(self, keyword: SpottedPhrase, turn: Turn | None) -> None:
        """A wake word counts."""
        self._emit(events.Keyword, phrase=keyword.phrase, confirmed=True)
        if turn is not None:
            turn.called, turn.woken_s = None, keyword.end_s
        self._awake = True
        just_called = turn is None and self.state is not State.ASLEEP  # who called has not said more yet
        self.fire(TableEvent.CALL if just_called else TableEvent.WAKE_WORD)

    def _wake_by_words(self, turn: Turn, transcript: RecognisedText) -> None:
        """Wakes up for a wake word that was spotted, unless the recogniser has looked for it in vain, or was missed."""
        called, turn.called = turn.called, None
        if called is not None and called.phrase not in transcript.excluded:
            self._call(called, turn)
        elif is_called(transcript, self._settings.wake_words):
            self.fire(TableEvent.WAKE_WORD)
        elif called is not None:
            self._emit(events.Keyword, phrase=called.phrase, confirmed=False)

    def _tick(self, now_s: float, *, loud: bool) -> None:
        """Time passes, in which something was ``loud``: nobody who may go on is cut off by that."""
        self._now_s = now_s
        silent_until_s = now_s - _SOUND_S if loud else now_s
        turn, preset = self._turn, self._settings.preset
        if turn is not None:
            self._spoken_s = now_s if turn.soft_end_s is None else turn.soft_end_s
        self._weighing.tick(now_s)
        self._listen_for_loss()
        self.stop_words.tick(now_s, turn)
        if turn is not None and turn.called is not None and now_s >= turn.called.end_s + AFTER_WORD_S:
            self._call(turn.called, turn)
        called = () if turn is None or turn.called is None else (turn.called.phrase,)
        doubted = self.stop_words.watch.waiting + called
        if doubted != self._doubted:
            self._doubted = doubted
            self._ears.doubt(doubted)
        if turn is not None and turn.speaking and self.stop_words.watch.wants_look(now_s):
            self._ears.look_early()
        if self.stop_words.has_waited(now_s, self._spoken_s):
            self.stop_words.speak_on()
            self.fire(TableEvent.GO_ON)
        if turn is not None and not turn.dismissed and turn.speaking and preset.interruptible:
            self._hold_if_long(turn, now_s)
            long = (now_s - turn.onset_s) * 1000 >= final_after_ms(preset)
            if self.state is State.HELD and long and not self.stop_words.is_about_waiting(turn.text):
                self.fire(TableEvent.LONG_SPEECH)
        elif turn is not None and not turn.ended and is_over(turn, preset, silent_until_s):
            self._end()
        elif self.state is State.HELD and not self.stop_words.watch.waiting and not self.stop_words.speech_waits:
            silent_s = self._since_s if turn is None or turn.soft_end_s is None else turn.soft_end_s
            if (now_s - silent_s) * 1000 >= preset.resume_after_ms:
                self.fire(TableEvent.FALSE_ALARM)
        waited_s = now_s - self._since_s
        if self.state is State.LISTENING and self._settings.wake_words and waited_s >= self._settings.follow_up_s:
            self.fire(TableEvent.QUIET)
        self._robot.rest.tick(silent_until_s)
        self._robot.tick(now_s, self.state)

    def _listen_for_loss(self) -> None:
        """Ears that deliver sound may be deaf nevertheless."""
        deaf = self._loss.deaf(self._now_s)
        if deaf is not self._deaf:
            self._deaf = deaf
            self.device("lost" if deaf else "back", "ears")

    # --- what others tell -------------------------------------------------------------------------------------------

    def type_text(self, text: str, *, typed: bool = True) -> None:
        """A text that nobody has spoken is complete, and its turn is over at once.

        Args:
            typed: A person has typed the text.
        """
        grade = self.grade(text, typed=typed)
        if grade is Grade.CANCEL:
            self._answering.cancel()
            return
        if grade is Grade.HOLD or self.stop_words.released(text) is not None:
            self._waiting.obey(text, grade)
            return
        if self._turn is not None and not self._turn.asleep:
            self._typed.append(text)
            return
        now_s = self._now_s
        self._closing = Turn(0, now_s, ended=True, final=True, transcript=RecognisedText(text), soft_end_s=now_s)
        self.fire(TableEvent.CALL)
        self.fire(TableEvent.TYPED)
        self._closing = None

    def _take_typed(self) -> None:
        """Takes up a line that was typed while somebody spoke."""
        while self._typed and self._turn is None and not self._interposed:
            self.type_text(self._typed.popleft())

    def press(self) -> None:
        """The button: the person has the floor."""
        self._awake = True
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

    # --- stop phrases -----------------------------------------------------------------------------------------------

    def grade(self, text: str, *, typed: bool = False, final: bool = False) -> Grade | None:
        """Grades a whole utterance as a stop phrase, with what goes on now. Any thread.

        Args:
            typed: A person has typed the text.
            final: The utterance has interrupted the robot already.
        """
        return self.stop_words.grade(text, asked=self._answering.question_open(self._now_s), typed=typed, final=final)

    def _go_on_after_all(self) -> None:
        """Goes on with everything that was held, because a word was no stop word, or the robot's own."""
        if self.state is State.HELD and self._turn is None:
            self.fire(TableEvent.FALSE_ALARM)
        else:
            self._become(self.state, TableEvent.FALSE_ALARM)

    # --- actions of the table ---------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._answering.begin(self._now_s, thinking=self.state is State.THINKING)

    def _hold(self) -> None:
        self._robot.queue.hold()
        self._emit(events.BargeIn, action="hold")

    def _dismiss(self) -> None:
        """Makes nothing of the turn; the robot's speech goes on unless it waits for more."""
        if self._turn is not None:
            self._turn.dismissed = True
        if not self.stop_words.speech_waits:
            self._emit(events.BargeIn, action="resume")

    def _cut(self) -> None:
        self.stop_words.speak_on()
        if self._turn is not None:
            self._turn.final = True
        self._emit(events.BargeIn, action="final")
        if not self._robot.person.cut_short():  # a tool waits for the answer
            self._robot.cut_in()

    def _await_rest(self) -> None:
        """The ears keep the utterance open for as long as the rest of the sentence is waited for, and beyond that for
        as long as a turn that was answered may go on."""
        turn, preset = self._turn, self._settings.preset
        if turn is not None and not turn.ended:
            self._ears.hard_end_ms = max(hard_end_ms(turn, preset), preset.reopen_ms)

    def _answer(self) -> None:
        turn = self._closing
        if turn is None:
            return
        soft_end_s = -math.inf if turn.soft_end_s is None or not turn.utterance else turn.soft_end_s
        preset = self._settings.preset
        until_s, amount_until_s = (soft_end_s + ms / 1000 for ms in (preset.motion_after_ms, preset.amount_after_ms))
        may_go_on = max(until_s, amount_until_s) > self._now_s and not self._robot.runs.acting
        if may_go_on:
            self._robot.rest.begin(until_s, amount_until_s=amount_until_s)
        control = self._answering.answer(turn, self._now_s)
        if not may_go_on:
            self._robot.rest.end()
        if control is Control.SLEEP and self._settings.wake_words:
            self._awake = False
        if turn.asked and turn.utterance:
            self._answered = turn

    def _ask_again(self) -> None:
        self._answering.ask_again(self._closing, self._now_s)
        self._robot.rest.end()
        self._answered = self._closing

    def _wake(self) -> None:
        self._awake = True
        if self._turn is not None:
            self._turn.asleep = False
        self._robot.chime(Chime.WAKE)

    def _sleep(self) -> None:
        self._awake = False
        self._answering.forget()

    def _stop_everything(self) -> None:
        self.stop_words.forget()
        self.stop_words.move_on()
        self._robot.rest.end()
        self._answering.forget()
        self._typed.clear()
        for turn in (self._turn, *self._late.values()):
            if turn is not None:
                turn.dismissed = True
        self._robot.stop()
        self._robot.chime(Chime.ERROR)
        self._weighing.end()

    def _lose(self) -> None:
        """Makes motion wait, because a robot that hears nothing can't be stopped by a word."""
        if self._turn is not None:  # its words may still say stop
            self._late[self._turn.utterance] = self._turn
        self._turn = self._answered = None
        self._answering.forget()
        self.stop_words.end_pause()
        for turn in self._late.values():
            turn.dismissed = True
        self._weighing.end()
