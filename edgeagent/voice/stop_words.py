"""Stop words and the latch: the spotter holds, the transcript trips or releases; "wait" holds until "go on".

The conversation's thread, except where a method says otherwise. Knows no turn but the one that it is given.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from itertools import count
from typing import Final

from edgeagent import events
from edgeagent.english.answers import Control, control_of
from edgeagent.english.stop_phrases import Grade, Release, Situation, StopPhrases
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.stt.confirming import has_form, occurrences
from edgeagent.stt.hearing import (
    EarlyLook,
    FinalTranscript,
    HearingEvent,
    KeywordSpotted,
    PartialTranscript,
    RecognisedText,
    SpottedPhrase,
    Trouble,
)
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.stopped_answer import WAIT
from edgeagent.voice.stopping import BEYOND_S, Outcome, StopWatch
from edgeagent.voice.turn import Turn

_WORD: Final = "stop word"
_DEAF: Final = "the robot hears nothing"
"""Why motion is held."""
_UNCLEAR: Final = "words that were not understood"
WAIT_S: Final = 20.0
"""Seconds of silence after "wait" in which speech is held; motion is held until "continue"."""
PAUSE_S: Final = 2.0
"""Seconds after few words that were not understood in which motion waits: they may have been to stop it."""
_NUMBERS: Final = count(1)
EARS_S: Final = 1.0
"""Ears that fail or are behind for so long hear no stop word in time."""
RECOGNISERS_S: Final = 3.0
"""The same where both the spotter and the transcriber are lost: each is started again within two seconds, as a rule."""
SUSPECTED: Final = 0.3
"""Probability of a stop word by the spotter from which on the doubt of a recogniser decides. Of 33 commands to stop
that were neither understood nor spotted, in noise at 10 dB, 16 have more; of 244 lines of talk there, two."""
_OWN_S: Final = 1.2
"""Seconds before the end of a word in which the robot may have begun to say it: its length, as much as the spotter may
be late, and the way through the room."""
_EARS: Final = frozenset({"ears"})
_RECOGNISERS: Final = frozenset({"keywords", "transcriber"})


class StopWords:
    """Effects of a stop word, until it is known what was meant.

    Args:
        phrases: The stop words that the spotter listens for.
        stops: The robot's stop phrases.
        latch: Motion obeys it. It is held here under names of its own, so that nobody else's hold is released.
        robot: Its speech is held too.
        emit: Told of the events of the voice.
        on_trip: Called where the latch was tripped already, and speech and thought are left to stop.
        on_release: Called when it was no stop word, or the robot's own.
        on_untold: Called when motion goes on after a "hold on" that was spotted, and of which no transcript has told.

    Attributes:
        watch: The words that wait for their transcript.
    """

    def __init__(
        self,
        phrases: tuple[str, ...],
        stops: StopPhrases,
        latch: SafetyLatch,
        robot: RobotSide,
        *,
        emit: Emit,
        on_trip: Callable[[], object],
        on_release: Callable[[], object],
        on_untold: Callable[[], object],
    ) -> None:
        self.watch = StopWatch(phrases, stops)
        self._phrases, self._stops = phrases, stops
        self._latch, self._robot, self._emit = latch, robot, emit
        self._on_trip, self._on_release, self._on_untold = on_trip, on_release, on_untold
        number = next(_NUMBERS)
        self._word, self._deafness, self._person = f"{_WORD} {number}", f"{_DEAF} {number}", f"{WAIT} {number}"
        self._pause = f"{_UNCLEAR} {number}"
        """Owners of the holds: another conversation on the same latch has others."""
        self._deaf: set[str] = set()
        self._counting = threading.Lock()
        self._trips = self._obeyed = 0
        """Times that the latch was tripped, and how many of those have stopped speech and thought."""
        self._words = 0
        """Times that a word has counted, also where the latch was tripped already."""
        self._tripped_s = self._rearmed_s = -math.inf
        self._waits_s: float | None = None
        """From when on speech waits; None: it does not."""
        self._motion_waits = False
        self._paused_s: float | None = None
        """When words that were not understood were heard last; None: motion does not wait for them."""
        self._untold_s: float | None = None
        """End of a phrase that was spotted, for which motion waits, and of which no transcript has told yet."""

    def close(self) -> None:
        """Holds nothing more."""
        self._latch.release(owner=self._word)
        self._latch.release(owner=self._deafness)
        self._latch.release(owner=self._person)
        self._latch.release(owner=self._pause)

    # --- a word -----------------------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Holds motion and speech. Also on the thread that has spotted the word."""
        self._latch.hold(_WORD, owner=self._word)
        self._robot.queue.hold(everything=True)

    def spotted(self, keyword: SpottedPhrase, turn: Turn | None, *, alone: bool, spoken_s: float, now_s: float) -> None:
        """The spotter has heard one, and it was halted.

        Args:
            turn: What is being said.
            alone: Nobody but the robot was heard, and nothing moves.
            spoken_s: Until when somebody has spoken; before the end of the word, where the spotter is late with that.
        """
        self._emit(events.Keyword, phrase=keyword.phrase, confirmed=None)
        if self._latch.state is LatchState.TRIPPED and not self._robot.busy:  # the same word again
            self._trip_again(min(keyword.end_s, now_s))
            self._release()
            return
        ended_s = None if turn is not None and turn.speaking else spoken_s
        own = self._is_own(keyword)
        self._decided(self.watch.spotted(keyword, alone=alone, own=own, speech_end_s=ended_s), turn)

    def _is_own(self, keyword: SpottedPhrase) -> bool:
        """True if the robot was just saying a phrase, or a form of it."""
        return has_form(self._robot.queue.said_between(keyword.end_s - _OWN_S, keyword.end_s), keyword.phrase)

    def decide(
        self,
        turn: Turn,
        transcript: RecognisedText,
        *,
        now_s: float,
        ended_s: float = math.inf,
        suspected: SpottedPhrase | None = None,
    ) -> None:
        """Decides by a transcript about a stop word, spotted or missed. A word that has counted does not count again.

        Args:
            turn: Whose words these are, be it dismissed or over.
            now_s: The device's clock.
            ended_s: Until when it was transcribed.
            suspected: The likeliest stop word by the spotter, which may not have told of it.
        """
        rest = turn.rest(transcript)
        if turn.stops and occurrences(rest, self._phrases) <= turn.stops:
            return
        whole = rest is transcript
        began_s, sound_s = (turn.began_s, turn.sound_s) if whole else (turn.onset_s, None)
        counts = suspected is not None and suspected.score >= SUSPECTED and whole and self._robot.runs.moves
        vote = suspected if counts else None
        told = self.watch.told(rest, began_s=began_s, ended_s=ended_s, sound_s=sound_s, now_s=now_s, suspected=vote)
        self._decided(told, turn, stops=occurrences(rest, self._phrases))

    def look(self, turn: Turn, event: EarlyLook) -> None:
        """Releases the words that an early look denies, by what was said since the turn's last answer."""
        rest = turn.rest(event.transcript)
        began_s = turn.sound_s if rest is event.transcript else turn.onset_s
        if began_s is not None:
            self._decided(self.watch.looked(rest, began_s=began_s, ended_s=event.at_s), turn)

    def deny(self) -> None:
        """Denies the words that wait, after a backchannel: where nothing moves, none of them was meant."""
        if self.watch.waiting and not self._robot.runs.moves:
            self._emit(events.Keyword, phrase=self.watch.phrase, confirmed=False)
            self.forget()

    def tick(self, now_s: float, turn: Turn | None) -> None:
        """Time decides where nothing else does, and ends a pause."""
        if (paused_s := self._paused_s) is not None and not 0 <= now_s - paused_s < PAUSE_S:
            self._paused_s = None
            self._latch.release(owner=self._pause)
        if self._untold_s is not None and self._paused_s is None and turn is None:
            self._untold_s = None
            if self._robot.runs.moves:
                self._on_untold()
        outcome = self.watch.due(now_s, moves=self._robot.runs.moves, acts=self._acts)
        self._decided(outcome, turn, by_words=self.watch.was_said)

    @property
    def _acts(self) -> bool:
        """True if a run goes on, or a tool works: either may come to move something."""
        return self._robot.runs.active or self._robot.runs.acting

    def forget(self) -> None:
        """No word is left to decide."""
        self.watch.forget()
        self._latch.release(owner=self._word)

    def _decided(self, outcome: Outcome | None, turn: Turn | None, *, stops: int = 1, by_words: bool = True) -> None:
        if outcome is None:
            return
        if by_words:
            self._emit(events.Keyword, phrase=self.watch.phrase, confirmed=outcome == "trip")
        if outcome == "release":
            self._release()
            return
        if turn is not None:
            turn.dismissed, turn.stops = True, max(stops, 1)
        self._words += 1
        if not self._latch.trip(_WORD):  # motion is off already: speech and thought are left to stop
            self._on_trip()
        if turn is not None:
            turn.stopped = self.stopped

    def _release(self) -> None:
        if not self.watch.waiting:
            self._latch.release(owner=self._word)
            self._on_release()

    # --- trip and re-arm --------------------------------------------------------------------------------------------

    def tripped(self, now_s: float) -> int:
        """The latch was tripped, by whomever. Any thread.

        Returns:
            Its number, for ``obey``.
        """
        with self._counting:
            self._trips += 1
            self._tripped_s = now_s
            return self._trips

    def _trip_again(self, at_s: float) -> None:
        """A stop word while nothing is left to stop: what was said before it no longer allows motion."""
        self._words += 1
        with self._counting:
            self._tripped_s = max(self._tripped_s, at_s)

    def obey(self, trip: int) -> None:
        """Speech and thought have been stopped for that trip too, and so for those before it."""
        self._obeyed = max(self._obeyed, trip)

    def may_rearm(self, turn: Turn) -> bool:
        """True if "continue" was said after the last stop, rather than before it or across it."""
        return not self.trip_waits and turn.began_s >= self._tripped_s

    @property
    def stopped(self) -> tuple[int, int]:
        """Numbers that are others as soon as the robot is stopped again, by a word or otherwise."""
        return self._trips, self._words

    def unstopped_since(self, at_s: float) -> bool:
        """True if nobody has said stop since that time."""
        return at_s >= self._tripped_s

    @property
    def trip_waits(self) -> bool:
        """There was a trip that has not stopped speech and thought yet."""
        return self._obeyed != self._trips

    def rearmed(self, at_s: float) -> None:
        """Motion was allowed again then: what was said before counts no more. Any thread."""
        self._rearmed_s = at_s

    def allow(self) -> None:
        """Motion goes on as soon as nothing else holds it."""
        self.watch.forget(before_s=self._rearmed_s)
        if not self.watch.waiting:
            self._latch.release(owner=self._word)

    @property
    def keeps_silent(self) -> bool:
        """A word waits for its transcript, a trip is not obeyed yet, or somebody has said "wait": no speech goes on."""
        return bool(self.watch.waiting) or self.trip_waits or self.speech_waits

    # --- wait, and go on --------------------------------------------------------------------------------------------

    def grade(self, text: str, *, asked: bool, typed: bool = False, final: bool = False) -> Grade | None:
        """Grades a whole utterance as a stop phrase, with what goes on now. Any thread.

        Args:
            asked: The robot has asked something.
            typed: A person has typed the text.
            final: The utterance has interrupted the robot already.
        """
        robot = self._robot
        busy, speaks = final or robot.busy, final or robot.sounding
        situation = Situation(busy=busy, moves=robot.runs.moves, asked=asked, speaks=speaks)
        return self._stops.grade(text, situation, typed=typed)

    def released(self, text: str) -> Release | None:
        """Returns what an utterance releases of all that waits for a person's word; None where nothing waits."""
        if not (self.speech_waits or self.motion_waits) or self._latch.state is LatchState.TRIPPED:
            return None
        if release := self._stops.release(text):
            return release
        control = control_of(text, self._stops)
        return Release.MOTION if control is not None and control.control is Control.CONTINUE else None

    def is_about_waiting(self, text: str) -> bool:
        """True if words that are still being said ask the robot to wait, or to go on after that."""
        row = self._stops.read(text)
        return (row is not None and row.grade is Grade.HOLD) or self.released(text) is not None

    @property
    def speech_waits(self) -> bool:
        """Somebody has said "wait", and neither "go on" nor anything else since. Any thread."""
        return self._waits_s is not None

    @property
    def motion_waits(self) -> bool:
        """Somebody has said "wait", and not "continue" since. Any thread."""
        return self._motion_waits

    def wait(self, now_s: float) -> None:
        """Holds speech until ``speak_on``, and motion until ``move_on``; motion only where some may come."""
        self._waits_s, self._untold_s = now_s, None
        if self._acts:
            self._motion_waits = True
            self._latch.hold(WAIT, owner=self._person)
        self._robot.queue.hold(everything=True)

    def speak_on(self) -> None:
        """Speech goes on as soon as the state lets it."""
        self._waits_s = None

    def move_on(self) -> bool:
        """Speech and motion go on, where nothing else holds them. Any thread. Returns False if neither waited."""
        waited = self._motion_waits or self.speech_waits
        self.end_pause()
        self._waits_s, self._motion_waits = None, False
        self._latch.release(owner=self._person)
        return waited

    def pause(self, now_s: float) -> None:
        """Holds motion for ``PAUSE_S``, or until somebody is understood, because few words were not."""
        self._latch.hold(_UNCLEAR, owner=self._pause)
        self._paused_s = now_s  # last, so that whoever ends it meanwhile leaves no hold that nobody ends

    def wait_spotted(self, keyword: SpottedPhrase, now_s: float) -> None:
        """Holds motion as ``pause`` does for a phrase that makes it wait, until a transcript tells what was meant."""
        if self._motion_waits or not self._robot.runs.moves or self._is_own(keyword):
            return
        if self.grade(keyword.phrase, asked=False) is None:
            return
        self._untold_s = keyword.end_s
        self.pause(now_s)
        self._emit(events.Keyword, phrase=keyword.phrase, confirmed=None)

    def tell_words(self, ended_s: float) -> None:
        """Notes that a transcript tells what was said until then: what it says of a phrase is nobody else's to ask."""
        if self._untold_s is not None and ended_s >= self._untold_s - BEYOND_S:
            self._untold_s = None

    def end_pause(self, heard_until_s: float = math.inf) -> None:
        """Motion goes on that waited for words that were not understood. Any thread.

        Args:
            heard_until_s: Until when the words that end it were said: not those before a phrase that was spotted.
        """
        if (untold_s := self._untold_s) is not None and heard_until_s < untold_s - BEYOND_S:
            return
        self._paused_s = self._untold_s = None
        self._latch.release(owner=self._pause)

    def has_waited(self, now_s: float, spoken_s: float) -> bool:
        """True if speech has waited for ``WAIT_S`` of silence.

        Args:
            spoken_s: Until when somebody has spoken.
        """
        return self._waits_s is not None and now_s - max(self._waits_s, spoken_s) >= WAIT_S

    # --- a robot that hears nothing ---------------------------------------------------------------------------------

    def deafen(self, part: str) -> bool:
        """Makes motion wait, because a robot that hears nothing can't be stopped by a word. True if it heard until now.

        Args:
            part: What is lost; all of it must be back before anything moves.
        """
        heard = not self._deaf
        self._deaf.add(part)
        self._latch.hold(_DEAF, owner=self._deafness)
        return heard

    def undeafen(self, part: str) -> None:
        """Notes that a lost part is back. Motion no longer waits for the ears once all parts are back."""
        self._deaf.discard(part)
        if not self._deaf:
            self._latch.release(owner=self._deafness)


class HearingLoss:
    """Parts of the hearing that are lost, and since when."""

    def __init__(self) -> None:
        self._since_s: dict[tuple[str, str], float] = {}
        """By part and source."""

    def take(self, event: HearingEvent, now_s: float) -> None:
        """A part is in trouble, or shows that it works."""
        match event:
            case Trouble(part=part, source=source, lost=True):
                if event.over:
                    self._since_s.pop((part, source), None)
                else:
                    self._since_s.setdefault((part, source), now_s)
            case KeywordSpotted():
                self._works("keywords")
            case PartialTranscript():
                self._works("transcriber")
            case FinalTranscript(transcript=transcript) if transcript.text:
                self._works("transcriber")

    def deaf(self, now_s: float) -> bool:
        """True if no stop word would be heard in time."""
        return self._lost(_EARS, now_s - EARS_S) or self._lost(_RECOGNISERS, now_s - RECOGNISERS_S)

    def _works(self, part: str) -> None:
        self._since_s = {key: since_s for key, since_s in self._since_s.items() if key[0] != part}

    def _lost(self, parts: frozenset[str], before_s: float) -> bool:
        return parts <= {part for (part, _), since_s in self._since_s.items() if since_s <= before_s}
