"""The part of ``scripts/bench voice`` that counts: conversations in the simulated room, on its clock.

Each part runs in a process of its own, two at a time. Time passes in steps of 20 ms, and no time passes while a model
or a recogniser works, so no figure here depends on how fast the machine is. What was measured is kept, trial by trial,
so that it goes on where it was stopped.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from bench import ears_sentences, voice_lines
from bench.kept import Kept
from bench.report import Rows
from bench.voice_commands import spoken_commands
from bench.voice_first import BEFORE, OWN_GAINS_DB, first_stops, own_first_sentences
from bench.voice_heard import heard_words
from bench.voice_trials import LIMIT_S, ROOM, VOICES, Once, calm, talking, tell

from edgeagent.llm import LLMRequest
from edgeagent.testing import Rehearsal, RoomSettings, Said, call, synthesised
from edgeagent.voice import State

PAUSE_S: Final = 0.4
"""Of a slow speaker."""
GAINS_DB: Final = (-20, -6, 6)
_ALONE: Final = 3
"""Stories that the robot tells before anybody interrupts."""
_TALK: Final = 75
"""Sentences without a stop word."""
_AT_ONCE: Final = 2


def own_voice(gain_db: float, minutes: float, once: Once) -> Rows:
    """The robot speaks, and nobody else does."""
    room = RoomSettings(echo_gain_db=gain_db, rt60_s=0.4, drift_ppm=100, record=False)
    texts = (*voice_lines.STORIES, voice_lines.TEMPTING)
    with talking(room) as (talk, log):
        rate_hz = talk.room.settings.rate_hz
        talk.room.calibrate(synthesised(voice_lines.STORIES[0], "en", rate_hz), rate_hz)

        def trial(number: int) -> list[float]:
            log.events.clear()
            begun_s = talk.now_s
            handle = talk.conversation.say(texts[number % len(texts)])
            talk.pass_until(lambda: handle.done, LIMIT_S)
            spoken_s = talk.now_s - begun_s
            interrupted = bool(log.of("barge_in", action="final"))
            stopped = talk.conversation.rearm()
            if interrupted or stopped:
                tell(f"own voice at {gain_db:+g} dB: {log.brief()}")
            calm(talk)
            return [spoken_s, len(log.of("barge_in", action="hold")), interrupted or stopped, stopped]

        made: list[list[float]] = []
        while sum(row[0] for row in made) < minutes * 60:
            made.append(once(len(made), trial))
    held, ended, tripped = (int(sum(column)) for column in list(zip(*made, strict=True))[1:])
    name = f"self-interruptions in {minutes:g} minutes of own speech, echo {gain_db:+g} dB, 100 ppm, RT60 0.4 s"
    return [(name, f"{ended} ({tripped} by a stop word; held and resumed {held} times)", "0")]


# --- turn taking ---------------------------------------------------------------------------------------------------


def in_two(talk: Rehearsal, parts: Sequence[str], voice: str) -> Said:
    """A sentence with a pause in it."""
    first = talk.say(parts[0], voice)
    return talk.say(parts[1], voice, after_s=first.end_s - talk.now_s + PAUSE_S)


def slow_speakers(lines: Sequence[tuple[str, ...]], count: int, name: str, target: str, once: Once) -> Rows:
    """A turn is cut off if half of it is answered, or asked about, and not the whole sentence in one turn. A robot that
    has begun to answer half of it, and falls silent to hear the rest, is counted apart.
    """
    with talking() as (talk, log):

        def trial(number: int) -> list[bool]:
            parts, voice = lines[number % len(lines)], VOICES[number // len(lines) % len(VOICES)]
            log.events.clear()
            said = in_two(talk, parts, voice)
            talk.pass_until(lambda: talk.now_s >= said.end_s, LIMIT_S)
            early = bool(log.of("voice_state", new=State.SPEAKING) or log.of("tool_execution_start"))
            talk.pass_s(2.0)
            talk.conversation.rearm()
            calm(talk)
            turns = len([m for m in talk.app.session.messages() if m.role == "user" and m.origin != "marker"])
            asked_again = len(log.of("heard", message_id=""))
            cut = turns + asked_again > 1
            if cut or early:
                what = f"cut off, {turns} turns, {asked_again} asked about" if cut else "begun early"
                tell(f"{what}: {' | '.join(parts)} ({voice}): {log.brief()}")
            talk.app.session.reset()
            return [cut, early]

        made = [once(number, trial) for number in range(count)]
    return [
        (name, f"{sum(cut for cut, _ in made)} of {count}", target),
        (f"{name}: answers begun before the end, and taken back", f"{sum(e and not c for c, e in made)}", ""),
    ]


def backchannels(count: int, once: Once) -> Rows:
    """A backchannel kills an answer if it becomes an interruption. The robot has spoken alone for half a minute before,
    so that it knows its own voice in this room, as in the measurements in real time."""
    with talking() as (talk, log):
        for story in voice_lines.STORIES[-_ALONE:]:
            handle = talk.conversation.say(story)
            talk.pass_until(lambda handle=handle: handle.done, LIMIT_S)

        def trial(number: int) -> list[bool]:
            nonlocal handle
            wait_s = np.random.default_rng([3, number]).uniform(1.0, 2.5)
            for _ in range(2):
                if handle.done or not talk.pass_until(lambda: talk.state is State.SPEAKING, 2.0):
                    calm(talk)
                    handle = talk.conversation.say(voice_lines.STORIES[number % len(voice_lines.STORIES)])
                talk.pass_s(wait_s)
                if talk.state is State.SPEAKING:
                    break
            log.events.clear()
            line = voice_lines.BACKCHANNELS[number % len(voice_lines.BACKCHANNELS)]
            voice = VOICES[number // len(voice_lines.BACKCHANNELS) % len(VOICES)]
            said = talk.say(line, voice)
            talk.pass_until(lambda: talk.now_s >= said.end_s + 1.2, LIMIT_S)
            killed = bool(log.of("barge_in", action="final")) or talk.conversation.rearm()
            if killed:
                why = "; ".join(event.why for event in log.of("voice_state", new=State.HEARING))
                tell(f"killed by {line!r} ({voice}): {why}: {log.brief()}")
            return [killed, bool(log.of("barge_in", action="hold"))]

        made = [once(number, trial) for number in range(count)]
    killed, held = (sum(column) for column in zip(*made, strict=True))
    return [("backchannels that killed an answer", f"{killed} of {count} ({held} held it)", "at most 5 of 100")]


# --- stop words ----------------------------------------------------------------------------------------------------


def false_stops(count: int, once: Once) -> Rows:
    """People talk while the robot drives; a drive is killed if it ends otherwise than where it was sent."""
    places = ("kitchen", "bedroom", "garage", "balcony")
    drives = 0

    def reply(request: LLMRequest) -> Any:
        told = request.messages[-1]
        if told.role == "user" and told.text.startswith("drive to number "):
            return [call("go_to", place=places[int(told.text.rpartition(" ")[2]) % len(places)])]
        return "Okay."

    lines = (*voice_lines.FALSE_STOPS, *[line for line in ears_sentences.TALK if "stop" not in line][:_TALK])
    with talking(ROOM, reply) as (talk, log):
        runs = talk.conversation.dialogue.robot.runs

        def trial(number: int) -> list[bool]:
            nonlocal drives
            if not runs.acting:
                calm(talk)
                talk.app.session.reset()
                talk.conversation.hear(f"drive to number {drives}")
                drives += 1
                talk.pass_until(lambda: runs.acting, LIMIT_S)
                calm(talk)
            log.events.clear()
            line, voice = lines[number % len(lines)], VOICES[number // len(lines) % len(VOICES)]
            said = talk.say(line, voice)
            talk.pass_until(lambda: talk.now_s >= said.end_s + 1.5, LIMIT_S)
            calm(talk)
            killed = talk.conversation.rearm()
            if killed:
                tell(f"drive killed by {line!r} ({voice}): {log.brief()}")
            return [killed, bool(log.of("keyword", confirmed=None))]

        made = [once(number, trial) for number in range(count)]
    killed, halted = (sum(column) for column in zip(*made, strict=True))
    return [("drives killed by a false stop word", f"{killed} of {count} ({halted} halted for a moment)", "0")]


# --- all of it -----------------------------------------------------------------------------------------------------


def parts(quick: bool) -> dict[str, Callable[[Once], Rows]]:
    """Every measurement by its name, the longest first."""
    few = quick
    voices = VOICES[:1] if few else VOICES
    most = 12 if few else 100
    return {
        "commands at 10 dB": partial(spoken_commands, voices, most, noise_snr_db=10.0),
        "commands": partial(spoken_commands, voices, most),
        "commands, dry": partial(spoken_commands, voices, most, rt60_s=0.0),
        "heard words": partial(heard_words, 6 if few else 200),
        "false stop words": partial(false_stops, 8 if few else 200),
        "slow speakers": partial(
            slow_speakers,
            voice_lines.SLOW,
            10 if few else 200,
            "false cut-offs of slow speakers, 400 ms inside a sentence",
            "at most 4 of 200",
        ),
        **{
            f"own voice at {gain_db:+d} dB": partial(own_voice, gain_db, 0.5 if few else 10)
            for gain_db in reversed(GAINS_DB)
        },
        **{f"stop {before}": partial(first_stops, before, few) for before in BEFORE},
        **{
            f"own first sentences at {gain_db:+d} dB": partial(own_first_sentences, gain_db, 0.5 if few else 10)
            for gain_db in OWN_GAINS_DB
        },
        "backchannels": partial(backchannels, 6 if few else 100),
        "slow speakers, whole": partial(
            slow_speakers,
            voice_lines.SLOW_WHOLE,
            6 if few else 36,
            "cut-offs where the words before the pause are a whole sentence",
            "",
        ),
    }


def rows(quick: bool, kept: Kept) -> Rows:
    """Name, figure and target of each measurement.

    Args:
        kept: What was measured already.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_AT_ONCE, mp_context=context) as pool:
        running = [pool.submit(_measured, name, quick, kept.path) for name in parts(quick)]
        try:
            made = [row for part in running for row in part.result()]
        except BaseException:  # what is measured is kept, and nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
    return made


def _measured(name: str, quick: bool, path: Path) -> Rows:
    """A part in a process of its own; it is kept trial by trial, and as a whole."""
    kept = Kept(path)
    begun_s = time.monotonic()

    def once(number: int, trial: Callable[[int], Any]) -> Any:
        return kept.once(f"{name}, {number}", lambda: trial(number))

    made: Rows = kept.once(name, lambda: parts(quick)[name](once))
    tell(f"{name}: {time.monotonic() - begun_s:.0f} s")
    return [(row[0], row[1], row[2]) for row in made]
