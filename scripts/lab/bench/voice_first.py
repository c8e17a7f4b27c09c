"""Stop words over the first sentence that the robot speaks, when nobody knows its echo: counts for the voice.

The robot begins to drive and says so; a person says "stop" within the first half second of that. It is heard if the
latch trips. Each trial is a conversation of its own in the simulated room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from bench import ears_double_talk, voice_lines
from bench.report import Rows
from bench.voice_trials import LIMIT_S, VOICES, Once, calm, talking, tell

from edgeagent.llm import LLMRequest
from edgeagent.testing import Rehearsal, RoomSettings, call, synthesised

GAINS_DB: Final = (-20, -6, 0)
AFTER_S: Final = (0.0, 0.25, 0.5)
OWN_GAINS_DB: Final = (-20, -6, 6)
SILENCE_S: Final = 3_600.0
_SOON_S: Final = 2.5
"""From the end of the word to the trip, its transcript included."""
_UNDER_RUN_MS: Final = 200.0


def _nothing(talk: Rehearsal, long: bool) -> None:
    """The robot has not spoken yet."""


def _under_run(talk: Rehearsal, long: bool) -> None:
    _tell_story(talk)
    talk.room.underrun(_UNDER_RUN_MS)
    calm(talk)


def _other_device(talk: Rehearsal, long: bool) -> None:
    """The device came back with another rate: the ears have a new canceller."""
    _tell_story(talk)
    ears = talk.conversation.dialogue.ears
    ears.sound.echo = ears.sound.new_canceller()
    calm(talk)


def _silence(talk: Rehearsal, long: bool) -> None:
    _tell_story(talk)
    talk.pass_s(SILENCE_S if long else SILENCE_S / 60)


def _tell_story(talk: Rehearsal) -> None:
    handle = talk.conversation.say(voice_lines.STORIES[0])
    talk.pass_until(lambda: handle.done, LIMIT_S)


BEFORE: Final[dict[str, Callable[[Rehearsal, bool], None]]] = {
    "after the start": _nothing,
    "after an under-run": _under_run,
    "after another device": _other_device,
    "after an hour of silence": _silence,
}


def first_stops(before: str, quick: bool, once: Once) -> Rows:
    """ "Stop" over "Going to the kitchen.", at three gains by three voices at three times."""
    voices, times = (VOICES[:1], AFTER_S[:1]) if quick else (VOICES, AFTER_S)
    scenes = [(gain_db, voice, after_s) for gain_db in GAINS_DB for voice in voices for after_s in times]
    made: list[list[bool]] = [
        once(number, lambda n: _stopped(before, *scenes[n], long=not quick)) for number in range(len(scenes))
    ]
    rows: Rows = []
    for gain_db in GAINS_DB:
        heard = [trial for trial, scene in zip(made, scenes, strict=True) if scene[0] == gain_db]
        name = f'"stop" in the first half second of a sentence {before}, echo {gain_db:+d} dB'
        stopped, started = (sum(column) for column in zip(*heard, strict=True))
        rows.append((name, f"{stopped} of {len(heard)} (speech noticed in {started})", "all"))
    return rows


def _stopped(before: str, gain_db: float, voice: str, after_s: float, *, long: bool) -> list[bool]:
    def reply(request: LLMRequest) -> Any:
        return [call("go_to", place="kitchen")] if request.messages[-1].role == "user" else "Okay."

    with talking(RoomSettings(echo_gain_db=gain_db, record=False), reply) as (talk, log):
        rate_hz = talk.room.settings.rate_hz
        talk.room.calibrate(synthesised("Going to the kitchen.", "en", rate_hz), rate_hz)
        BEFORE[before](talk, long)
        robot = talk.conversation.dialogue.robot
        log.events.clear()
        talk.conversation.hear("go to the kitchen")
        talk.pass_until(lambda: robot.sounding, LIMIT_S)
        said = talk.say("stop", voice, after_s=after_s + talk.room.settings.delay_ms / 1000)
        latch = talk.conversation.latch
        stopped = talk.pass_until(
            lambda: latch.state == "tripped" and talk.now_s > said.start_s, _SOON_S + LIMIT_S / 10
        )
        if not stopped:
            tell(f"not heard {before}: {voice}, {after_s:g} s, {gain_db:+g} dB: {log.brief()}")
        return [stopped, bool(log.of("barge_in")) or stopped]


def own_first_sentences(gain_db: float, minutes: float, once: Once) -> Rows:
    """The robot's own first sentences, some of which say "stop": each with a canceller that knows nothing."""
    texts = (*ears_double_talk.OF_STOPPING, *ears_double_talk.REPLIES)
    with talking(RoomSettings(echo_gain_db=gain_db, rt60_s=0.4, drift_ppm=100, record=False)) as (talk, log):
        rate_hz = talk.room.settings.rate_hz
        talk.room.calibrate(synthesised(texts[0], "en", rate_hz), rate_hz)
        ears = talk.conversation.dialogue.ears

        def trial(number: int) -> list[float]:
            log.events.clear()
            ears.sound.echo = ears.sound.new_canceller()
            talk.pass_s(1.0)
            begun_s = talk.now_s
            handle = talk.conversation.say(texts[number % len(texts)])
            talk.pass_until(lambda: handle.done, LIMIT_S)
            spoken_s = talk.now_s - begun_s
            interrupted = bool(log.of("barge_in", action="final"))
            stopped = talk.conversation.rearm()
            held = len(log.of("barge_in", action="hold")) + len(log.of("keyword", confirmed=None))
            if held:
                tell(f"own first sentence at {gain_db:+g} dB: {texts[number % len(texts)]!r}: {log.brief()}")
            calm(talk)
            return [spoken_s, held, interrupted or stopped]

        made: list[Sequence[float]] = []
        while sum(row[0] for row in made) < minutes * 60:
            made.append(once(len(made), trial))
    held, ended = (int(sum(row[column] for row in made)) for column in (1, 2))
    name = f"self-interruptions in {minutes:g} minutes of first sentences, echo {gain_db:+g} dB, 100 ppm, RT60 0.4 s"
    return [(name, f"{ended} ({held} held and resumed; {len(made)} sentences)", "0")]
