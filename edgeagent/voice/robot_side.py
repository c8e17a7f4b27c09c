"""The robot's side of a conversation: what it says, does and is told, and how that is interrupted.

On the conversation's thread, except where a method says otherwise. Knows neither ears nor turns.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from edgeagent import events
from edgeagent.english.answers import Control, Controlled
from edgeagent.english.asking import may_ask
from edgeagent.english.sentence_rules import is_correction
from edgeagent.english.tokens import NEGATIONS, after, is_asked, words_of
from edgeagent.errors import BusyError, EdgeAgentError
from edgeagent.hooks.tool_guards import TalkGuardHook
from edgeagent.messages import ToolCall
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.session import Session
from edgeagent.session.foresight import Foresight
from edgeagent.tools import Tool
from edgeagent.tts.mouth import Mouth
from edgeagent.voice.announcer import Announcer, GoalReports, with_ends
from edgeagent.voice.chimes import Chime, chime
from edgeagent.voice.rest_of_turn import RestOfTurn, lacks_amount
from edgeagent.voice.runs import Runs
from edgeagent.voice.speech_queue import SpeechHandle, SpeechQueue
from edgeagent.voice.spoken_questions import VoicePerson
from edgeagent.voice.spoken_reply import HeardMessage
from edgeagent.voice.stopped_answer import StoppedAnswer
from edgeagent.voice.turn import APART
from edgeagent.voice.turn_states import State
from edgeagent.voice.voice_settings import DialogueSettings

logger = logging.getLogger(__name__)

_STEP: Final = 1.5
"""Factor of the volume for "louder" and "quieter": 3.5 dB, which everybody hears."""
_QUIETEST: Final = 0.05
_DISCARD_S: Final = 1.0
"""Seconds to wait for the end of a run that is discarded; the model stops within a token."""
_BEGIN_S: Final = 0.2
"""Seconds to wait until motion begins that is let go; a held latch is looked at every 50 ms at the latest."""
_CANCELLED: Final = "Okay, cancelled."
_NOTHING_SAID: Final = "I have said nothing yet."

Emit = Callable[..., None]


class RobotSide:
    """Speech, runs and motion of the robot in a conversation.

    Args:
        session: Its agent answers.
        mouth: What speaks.
        latch: Motion obeys it.
        settings: Words and waiting.
        clock: The device's, in seconds.
        emit: Called with the class and the fields of an event of the voice.
        tell: Called with every event of the runs.
        on_change: Told that a run or a tool of it has begun or ended; on the run's thread.
    """

    def __init__(
        self,
        session: Session,
        mouth: Mouth,
        latch: SafetyLatch,
        settings: DialogueSettings,
        *,
        clock: Callable[[], float],
        emit: Emit,
        tell: Callable[[events.Event], object],
        on_change: Callable[[events.Event], object],
    ) -> None:
        self.session, self.mouth, self.playback, self.latch = session, mouth, mouth.playback, latch
        self.queue = SpeechQueue(mouth)
        self.foresight = Foresight(session, shown=with_ends)
        self._conversed = session.context.conversing
        session.context.conversing = True
        self.ready = True
        """Set from outside: False while the model is not warm yet, and an answer would take long."""
        self.rest = RestOfTurn(latch)
        self._asked_for = ""
        """Text of the last request to the model."""
        self._settings, self._clock, self._emit = settings, clock, emit
        self._volume: float | None = None
        """While muted: the one before."""
        self._guard = TalkGuardHook(
            settings.keeps_from_talk,
            settings.phrases,
            answer=settings.not_understood,
            small=settings.small_model,
            english_only=settings.small_model,
        )
        stopped = StoppedAnswer(
            latch, settings.stopped, on_wait=lambda: self.remark(settings.waiting), on_motion=self._begin_motion
        )
        self._hooks = [GoalReports(settings.telling.report), stopped, self._guard]
        session.agent.hooks += self._hooks
        self._announcer = Announcer(
            self.queue,
            clock,
            is_announced=self._is_skill,
            tell=settings.telling.announcement,
            is_asking=lambda: self.person.waiting,
            settings=settings.announcer,
        )
        self.runs = Runs(
            session,
            self.queue,
            self._announcer,
            on_change=on_change,
            on_heard=self._heard,
            on_failure=self._failed,
            tell=tell,
        )
        self.person = VoicePerson(self.queue, on_asked=self.runs.look_again)
        self._unsubscribe = session.subscribe(self.person)

    def close(self) -> None:
        """Ends what it does and says."""
        self.person.give_up()
        self.foresight.leave()
        self.session.abort("safety_stop")
        self.rest.end()
        self.queue.close()
        self._tell_said()
        self.runs.close()
        self.foresight.close()
        self._unsubscribe()
        self.session.context.conversing = self._conversed
        self.session.agent.hooks[:] = [hook for hook in self.session.agent.hooks if hook not in self._hooks]

    # --- what goes on -----------------------------------------------------------------------------------------------

    @property
    def sounding(self) -> bool:
        """In the middle of saying something, be it held. Any thread."""
        return self.queue.is_sounding(self._clock())

    @property
    def position_s(self) -> float:
        """Seconds that were heard of what is being said."""
        return self.queue.position_s(self._clock())

    @property
    def thinking(self) -> bool:
        """A run goes on, or something is about to be said."""
        return self.runs.active or self.queue.has_more(self._clock())

    @property
    def busy(self) -> bool:
        """True if the robot moves, speaks or thinks. Any thread."""
        return self.runs.active or self.runs.acting or self.sounding

    @property
    def has_asked(self) -> bool:
        """True if the model's last words ask something."""
        return is_asked(self.runs.last_text)

    def tick(self, now_s: float, state: State) -> None:
        """Time passes: what is due is said."""
        self.person.tick(now_s)
        self._announcer.tick(now_s)
        waits = self.runs.active and (self.person.waiting or not self.runs.driving)
        quiet = state in (State.LISTENING, State.ASLEEP) or (state is State.ACTING and not waits)
        self.queue.tick(now_s, may_begin=quiet)
        self._tell_said()

    def settle(self, timeout_s: float) -> bool:
        """Waits while a model thinks and the mouth synthesises. Any thread but the conversation's."""

        def waits() -> bool:
            """For a person, or until motion is allowed: both take the device's time."""
            return self.person.waiting or (self.runs.about_to_move and self.latch.state is LatchState.HELD)

        end_s = time.monotonic() + timeout_s
        if not self.foresight.settle(timeout_s) or not self.runs.settle(end_s - time.monotonic(), waits=waits):
            return False
        return self.mouth.settle(max(0.0, end_s - time.monotonic()))

    # --- speaking ---------------------------------------------------------------------------------------------------

    def remark(self, text: str) -> SpeechHandle | None:
        """Says something that belongs to what was just said, also while a run or a drive goes on. None if it can't."""
        try:
            return self.queue.aside(text)
        except BusyError as error:  # the builder says more than the robot can
            logger.warning("not said: %s", error)
            return None

    def chime(self, which: Chime) -> None:
        """A short sound, after what is being said."""
        if self._settings.chimes:
            utterance = self.playback.begin()
            self.playback.write(utterance, chime(which, self.playback.rate_hz))
            self.playback.finish(utterance)

    # --- acting -----------------------------------------------------------------------------------------------------

    def interrupt(self, reason: str) -> None:
        """Silence, history cut to what was heard, and the model stopped; tools by their on_interrupt."""
        self.queue.cut(everything=reason == "safety_stop")
        self.session.abort(reason)
        self._guard.ended()

    def cut_in(self) -> None:
        """A person interrupts. Motion that waits for the rest of a turn waits on: that person may speak of it."""
        if self.rest.holds:
            self.queue.cut()
        else:
            self.interrupt("barge_in")

    def stop(self) -> None:
        """Motion was stopped already; now speech, then the run and everything else."""
        self.person.give_up()
        self._announcer.forget()
        self.interrupt("safety_stop")
        self.runs.forget()

    def ask(self, text: str, *, unfinished: bool = False, spoken: bool = False) -> None:
        """Has the model answer; what it does meanwhile is interrupted, and goals are left at work.

        Args:
            unfinished: The run that goes on heard only the first part of this turn.
            spoken: It was heard: where it asks for nothing, no tool is called that talk may not set off.
        """
        if self.rest.holds:
            self._begin_what_waits()
        first = self.runs.unnoticed if unfinished else ""
        if first and self.runs.discard(_DISCARD_S):
            text = f"{first} {text}"
        self._asked_for, answers = text, self.has_asked
        if self.runs.unheard_report:
            self._guard.hears(text, spoken=spoken, answers=answers)
            self.runs.add(text)
            return
        if self.thinking or self.sounding:  # an answer that is about to be said is one to a question before this
            self.interrupt("barge_in")
        self._guard.hears(text, spoken=spoken, answers=answers)
        if not self.ready:
            self.remark(self._settings.not_ready)
        try:
            self.runs.ask(text)
        except EdgeAgentError as error:  # no model, or a closed session: the conversation itself goes on
            logger.error("%s", error)
            self.remark(self._settings.failed)

    def _begin_what_waits(self) -> None:
        """Motion that waits for the rest of a turn begins: what follows is about something else."""
        self.rest.let_begin()
        self.runs.await_motion(_BEGIN_S)

    def forget_what_waits(self, asked: str) -> bool:
        """Undoes the last run if its motion waits for the rest of the turn, or nothing is known of it. True if it did.

        Args:
            asked: What that run was asked.
        """
        return (self.rest.holds or self.runs.unnoticed == asked) and self.runs.take_back(asked, _DISCARD_S)

    def ask_whole(self, text: str, answered: str, *, spoken: bool) -> str:
        """Has the model answer a turn that went on after its first part was answered, in place of that.

        Where the first part was acted on and the rest is a command of its own, "and turn around", or corrects it, only
        that is asked.

        Args:
            text: All of it.
            answered: The first part.
            spoken: See ``ask``.

        Returns:
            What was asked.
        """
        taken_back = self.runs.take_back(answered, _DISCARD_S)
        forbids = NEGATIONS.search(answered) or not may_ask(answered, self._settings.phrases)
        if not taken_back and not forbids and (rest := after(text, answered)):
            rest = rest.strip(" ,.;")
            if rest.partition(" ")[0].casefold() in APART or is_correction(words_of(rest)):
                text = rest
        self.ask(text, spoken=spoken)
        return text

    def applies(self, controlled: Controlled) -> bool:
        """True if words that may be a control are one now: without a trip, "continue" is for the model."""
        if controlled.control is Control.CONTINUE:
            return self.latch.state is LatchState.TRIPPED
        if controlled.control is Control.WAIT:  # while something goes on the dialogue has obeyed
            return False
        return controlled.control is not Control.CANCEL or self.busy or self.person.waiting

    def obey(self, controlled: Controlled) -> None:
        """Does what a control word says."""
        match controlled.control:
            case Control.LOUDER:
                self._set_volume(self._wanted_volume * _STEP)
            case Control.QUIETER:
                self._set_volume(self._wanted_volume / _STEP)
            case Control.VOLUME:
                self._set_volume((controlled.percent or 0.0) / 100)
            case Control.REPEAT:
                self.remark(self.runs.last_text or _NOTHING_SAID)
            case Control.CANCEL:
                self.person.give_up()
                self.session.agent.clear_all_queues()
                self.interrupt("cancelled")
                self.runs.forget()
                self.session.agent.cancel_goals()
                self.remark(_CANCELLED)
            case Control.CONTINUE:
                if self.latch.rearm():
                    self.remark(self._settings.rearmed)
                elif self.latch.state is LatchState.TRIPPED:
                    self.remark(self._settings.still_stopped.format(reason=self.latch.reason.replace("_", " ")))
            case Control.HUSH:
                if self.rest.holds:
                    self._begin_what_waits()
                self.interrupt("hush")
            case Control.MUTE:
                self.mute(on=True)
            case Control.UNMUTE:
                self.mute(on=False)
            case Control.SLEEP | Control.WAIT:  # they are the dialogue's
                pass

    @property
    def _wanted_volume(self) -> float:
        return self.playback.volume if self._volume is None else self._volume

    def _set_volume(self, volume: float) -> None:
        """While muted it is what will be heard afterwards."""
        volume = min(max(volume, _QUIETEST), 1.0)
        if self._volume is None:
            self.playback.volume = volume
        else:
            self._volume = volume

    def mute(self, *, on: bool) -> None:
        """Says nothing aloud, or does again. Any thread."""
        if on and self._volume is None:
            self._volume, self.playback.volume = self.playback.volume, 0.0
        elif not on and self._volume is not None:
            self.playback.volume, self._volume = self._volume, None

    @property
    def muted(self) -> bool:
        """True while it says nothing aloud. Any thread."""
        return self._volume is not None

    def ended(self, event: events.AgentEnd) -> None:
        """A run has ended; one that could say nothing of that by itself is spoken for."""
        self._guard.ended()
        if event.reason == "error":
            self.remark(self._settings.failed)
        elif event.reason in ("budget", "stopped", "terminated"):
            self.runs.conclude(event.run_id)

    # --- told by others ---------------------------------------------------------------------------------------------

    def _begin_motion(self, call: ToolCall, tool: Tool) -> None:
        """Has motion wait for the rest of what a person says, and tells of it meanwhile."""
        held = self.rest.hold(lacks_amount=lacks_amount(tool, self._asked_for))
        if held and tool.traits.is_skill and not tool.traits.destructive:
            self._announcer.begins(call)

    def _heard(self, heard: HeardMessage) -> None:
        self._emit(events.Heard, message_id=heard.message_id, text=heard.text)

    def _tell_said(self) -> None:
        """Tells the words that the robot has said by itself, which are no message and in no history, and why it has not
        said the rest."""
        while self.queue.finished:
            said = self.queue.finished.popleft()
            if said.heard:
                self._emit(events.Heard, message_id="", text=said.heard)
            if said.error is not None:
                self._failed(str(said.error))

    def _failed(self, text: str) -> None:
        logger.error("%s", text)
        self._emit(events.Device, state="trouble", name=f"voice: {text}")

    def _is_skill(self, name: str) -> bool:
        tool: Tool | Any = self.session.agent.tools.get(name)
        return tool is not None and tool.traits.is_skill
