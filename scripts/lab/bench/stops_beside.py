"""The price of stop words, and what stands beside them: an hour of other talk, barge-in, wake words.

Parts of ``scripts/bench stops``, in the same room, with the same voices. An hour is one conversation after another in
which the robot drives while people talk to each other; in ten of their sentences a stop word stands in passing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from bench.ears_double_talk import COMMANDS, REPLIES
from bench.ears_sentences import OTHER, TALK
from bench.report import Rows
from bench.voice_trials import LIMIT_S, calm, talking, tell

from edgeagent.english import StopPhrases
from edgeagent.llm import LLMRequest
from edgeagent.robot import LatchState
from edgeagent.testing import Rehearsal, RoomSettings, call
from edgeagent.voice import State

Once = Callable[[str, Callable[[], Any]], Any]
"""Measures something by its name, unless its result is kept."""

MINUTES: Final = 60
SOON_S: Final = 0.6
"""From the first sound of a sentence until the robot's voice waits."""
RELEASED_S: Final = 2.0
WAKE_WORD: Final = "hey robi"
BARGE_INS: Final = 200
WAKES: Final = 60
IN_PASSING: Final = (
    "the bus stop is at the end of the street", "she stopped by yesterday evening", "we had to stop for petrol twice",
    "I could not stop laughing at that film", "the pipes freeze every winter up there", "traffic came to a halt again",
    "put the peas back into the freezer", "he never knows when to stop", "the last stop is the main station",
    "I told him to freeze the bread",
)  # fmt: skip
_VARIATIONS: Final = ((0.0, 1.0), (2.0, 1.0), (-2.0, 1.0), (0.0, 1.1), (0.0, 0.9))
_BLOCK_S: Final = 0.1
"""The room tells the time in blocks."""
_PIECE: Final = 40
"""Sentences of one conversation."""
_PAUSE_S: Final = (0.4, 3.0)
_STOPS: Final = StopPhrases()
_SLOW: Final = 0.1
_AWAY: Final = "garage"
_ROOM: Final = RoomSettings(rt60_s=0.3, echo_gain_db=-20, noise_snr_db=25, record=False)


def hour(voices: Sequence[str], once: Once, *, minutes: float, seed: int) -> Rows:
    """Rows of an hour of talk: false trips, and how often and how long motion waited."""
    rng = random.Random(seed)
    lines = [line for line in (*TALK, *OTHER) if _STOPS.read(line) is None]  # "give me a second" is no other talk
    seconds = trips = 0.0
    waits: list[float] = []
    number = 0
    while seconds < minutes * 60:
        said = [(rng.choice(lines), rng.choice(voices), rng.choice(_VARIATIONS)) for _ in range(_PIECE)]
        if number < len(IN_PASSING):
            said[_PIECE // 2] = (IN_PASSING[number], rng.choice(voices), (0.0, 1.0))
        pauses = [rng.uniform(*_PAUSE_S) for _ in said]
        made = once(f"hour-{number}", partial(_talk, said, pauses))
        seconds, trips, waits = seconds + made[0], trips + made[1], waits + made[2]
        tell(f"{seconds / 60:.0f} minutes of talk: {trips:g} false trips, {len(waits)} holds, {_late(waits)} too long")
        number += 1
    passing = min(number, len(IN_PASSING))
    span = f"in {seconds / 60:.0f} minutes of talk by {', '.join(voices)}, {passing} stop words in passing"
    return [
        (f"false trips {span}", f"{trips:g}", "at most 1"),
        (f"of {len(waits)} holds that were released, after more than {RELEASED_S:g} s", f"{_late(waits)}", "0"),
        ("the longest of them; share of the time that motion waited", _share(waits, seconds), ""),
    ]


def _late(waits: Sequence[float]) -> int:
    return sum(wait_s > RELEASED_S + _BLOCK_S for wait_s in waits)


def _share(waits: Sequence[float], seconds: float) -> str:
    return f"{max(waits, default=0):.1f} s; {sum(waits) / seconds:.1%}"


class _Waits:
    """How long motion waited, each time."""

    def __init__(self, talk: Rehearsal) -> None:
        self.lasted_s: list[float] = []
        self._talk, self._since_s = talk, 0.0
        talk.conversation.latch.subscribe(self._note)

    def _note(self, state: LatchState, reason: str) -> None:
        if state is LatchState.HELD:
            self._since_s = self._talk.now_s
        elif state is LatchState.FREE and self._since_s:
            self.lasted_s.append(self._talk.now_s - self._since_s)
        if state is not LatchState.HELD:
            self._since_s = 0.0


def _talk(said: Sequence[tuple[str, str, tuple[float, float]]], pauses: Sequence[float]) -> list[Any]:
    """Seconds, false trips, and how long each hold lasted that was released."""

    def reply(request: LLMRequest) -> Any:
        message = request.messages[-1]
        return [call("go_to", place=_AWAY)] if message.role == "user" and _AWAY in message.text else ""

    with talking(_ROOM, reply, speed=_SLOW) as (talk, log):
        began_s = talk.now_s
        latch = talk.conversation.latch
        waits = _Waits(talk)
        trips = before = 0
        for (text, voice, (semitones, tempo)), pause_s in zip(said, pauses, strict=True):
            if not talk.app.agent.is_moving:
                talk.conversation.hear(f"go to the {_AWAY}")
                talk.pass_until(lambda: talk.app.agent.is_moving, LIMIT_S)
                calm(talk)
            heard = talk.say(text, voice, semitones=semitones, tempo=tempo)
            talk.pass_s(heard.end_s + RELEASED_S - talk.now_s)
            tripped = latch.state is LatchState.TRIPPED
            trips += tripped
            if tripped or latch.state is LatchState.HELD or len(waits.lasted_s) > before:
                lasted = ", ".join(f"{each:.1f} s" for each in waits.lasted_s[before:])
                state = f"{latch.state} {latch.reason}".strip()
                tell(f"{state} after {text!r} by {voice}: waited {lasted or 'till now'}: {log.brief()}")
            if tripped:
                talk.conversation.rearm()
            log.events.clear()
            before = len(waits.lasted_s)
            talk.pass_s(pause_s)
        return [talk.now_s - began_s, trips, waits.lasted_s]


def barge_ins(voices: Sequence[str], once: Once, *, count: int, seed: int) -> Rows:
    """Rows of sentences that people say over the robot's voice: does it wait soon enough?"""
    rng = random.Random(seed)
    rows: Rows = []
    for gain_db in (-20.0, -6.0, 0.0):
        drawn = [
            (rng.choice(COMMANDS + tuple(TALK[:60])), rng.choice(voices), rng.choice(_VARIATIONS), rng.uniform(1, 3))
            for _ in range(count // 3)
        ]
        waits = [
            once(f"barge-in-{gain_db:g}-{start}", partial(_interrupted, drawn[start : start + 10], gain_db))
            for start in range(0, len(drawn), 10)
        ]
        found = [each for part in waits for each in part]
        good = sum(each is not None and each <= SOON_S for each in found)
        rows.append((f"barge-in within {SOON_S:g} s, echo {gain_db:+g} dB", f"{good} of {len(found)}", "97 %"))
    return rows


def _interrupted(said: Sequence[tuple[str, str, tuple[float, float], float]], gain_db: float) -> list[float | None]:
    """Seconds from the first sound of each sentence until the robot's voice waits; None if it does not."""
    found: list[float | None] = []
    settings = RoomSettings(rt60_s=0.3, echo_gain_db=gain_db, record=False)
    with talking(settings, lambda request: "Okay.") as (talk, log):
        for text, voice, (semitones, tempo), after_s in said:
            talk.conversation.say(" ".join(REPLIES))
            talk.pass_until(lambda: talk.conversation.dialogue.robot.sounding, LIMIT_S)
            log.events.clear()
            heard = talk.say(text, voice, semitones=semitones, tempo=tempo, after_s=after_s)
            talk.pass_s(heard.start_s - talk.now_s)
            early = bool(log.of("barge_in", action="hold"))
            waited = talk.pass_until(lambda: bool(log.of("barge_in", action="hold")), 2 * SOON_S)
            found.append(None if early or not waited else talk.now_s - heard.start_s)
            if early or not waited:
                how = "held before" if early else "not held by"
                tell(f"{how} {text!r} by {voice}, echo {gain_db:+g} dB: {talk.state}")
            talk.pass_s(max(heard.end_s - talk.now_s, 0.0))  # or the next one begins under the rest of this
            talk.conversation.stop("the next one")
            talk.settle()
            talk.conversation.rearm()
            calm(talk)
    return found


def wakes(voices: Sequence[str], once: Once, *, count: int, minutes: float, seed: int) -> Rows:
    """Rows of a wake word with the request behind it, in the room, and of an hour of talk without one."""
    rng = random.Random(seed)
    drawn = [
        (rng.choice(voices), rng.choice(_VARIATIONS), f"{WAKE_WORD}, {rng.choice(COMMANDS)}") for _ in range(count)
    ]
    found = [
        each
        for start in range(0, count, 10)
        for each in once(f"wake-{start}", partial(_woken, drawn[start : start + 10]))[1]
    ]
    for (voice, how, text), woken in zip(drawn, found, strict=True):
        if not woken:
            tell(f"not woken by {text!r}: {voice} {how}")
    seconds = false = 0.0
    lines, number = [*TALK, *OTHER], 0
    while seconds < minutes * 60:
        said = [(rng.choice(voices), rng.choice(_VARIATIONS), rng.choice(lines)) for _ in range(_PIECE)]
        lasted_s, woken = once(f"asleep-{number}", partial(_woken, said))
        seconds, false, number = seconds + lasted_s, false + sum(woken), number + 1
        tell(f"{seconds / 60:.0f} minutes of talk: woken {false:g} times")
    return [
        (f"{WAKE_WORD!r} and a request, heard in the room", f"{sum(found)} of {len(found)}", "95 %"),
        (f"woken in {seconds / 60:.0f} minutes of talk", f"{false:g}", "at most 1"),
    ]


def _woken(said: Sequence[tuple[str, tuple[float, float], str]]) -> tuple[float, list[bool]]:
    """Seconds, and which of the sentences woke a robot that slept when they began."""
    found: list[bool] = []
    with talking(_ROOM, lambda request: "Okay.", ears={"wake_words": WAKE_WORD}) as (talk, log):
        began_s = talk.now_s
        for voice, (semitones, tempo), text in said:
            talk.pass_until(lambda: talk.state is State.ASLEEP, 4 * LIMIT_S)
            log.events.clear()
            talk.say(text, voice, semitones=semitones, tempo=tempo)
            woken = talk.pass_until(lambda: talk.state is not State.ASLEEP, LIMIT_S / 8)
            found.append(woken)
            if woken and WAKE_WORD not in text:
                tell(f"woken by {text!r}, {voice}: {log.brief()}")
        return talk.now_s - began_s, found
