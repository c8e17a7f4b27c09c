"""Stop words: how soon they are heard, how often other talk sets them off, what the transcript makes of both.

Voices are flite's slt, rms and awb and espeak-ng's en-gb-x-gbclan, by which no threshold was chosen. A stop word that
is not heard counts as infinity. The talk is that of ``ears_sentences`` without stop words, with a second between two
sentences.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
from bench import ears_double_talk, ears_sentences
from bench.people_trials import Condition
from bench.report import Rows, share

from edgeagent.audio import Samples
from edgeagent.stt import STOP_WORDS, RecognisedText, SphinxTranscriber, SpottedPhrase, StopNetwork, confirm, missed
from edgeagent.testing import Room, synthesised

VOICES: Final = ("slt", "rms", "awb", "en-gb-x-gbclan")
AT_THE_END: Final = (
    "stop", "robot stop", "please stop", "no stop", "no no stop", "stop stop", "wait stop", "okay stop", "now stop",
    "freeze", "robot freeze", "please freeze", "go to the kitchen no stop",
)  # fmt: skip
"""Lines that end with their stop word, so that its end is known."""
AT_THE_BEGINNING: Final = (
    "stop now", "stop it", "stop moving", "stop right there", "stop please", "stop the robot", "freeze right there",
)  # fmt: skip
PHRASES: Final = (
    *STOP_WORDS, "robot stop", "please stop", "no stop", "stop now", "stop moving", "stop it", "stop right there",
    "go to the kitchen", "come to the living room", "drive forward two meters", "turn left", "turn right",
    "look around", "how full is your battery", "what time is it", "where are you", "follow me", "pick up the red cube",
)  # fmt: skip
ALONE: Final = (
    "open the door", "what's up", "sit down", "over there", "hands off", "call mom", "play a song", "good night",
    "say hello", "read it aloud", "how old are you", "right here", "next one", "switch it off", "hot tea",
    "on the left", "a full house", "all clear", "i forgot", "three cups",
)  # fmt: skip
"""Short utterances by themselves, with which the network was not trained."""
LIKE_ORDERS: Final = (
    "turn around", "turn around now", "how full is your battery", "tell me your position", "how far is it from here",
    "three degrees", "hold it up", "please wait for me", "the hot stove", "top of the list", "I am in the hall",
    "how much charge have you got left", "do you feel all right", "at the front door", "she dropped it",
)  # fmt: skip
"""What robots are told, and what ends or begins like a stop word; some of it is among the examples of training."""
PLACES: Final = (Condition(0.0), Condition(0.3), Condition(0.0, "pink", 10.0), Condition(0.0, "motor", 10.0))
_FORMS: Final = ("{}", "please {}")
_HEARD_BY: Final = ("heart", "joe", "slt", "rms", "en-gb-x-gbclan", "en-us+f3")
"""The last two are in none of the examples of training."""
_WAYS: Final = ((0.0, 1.0), (3.0, 1.0), (-3.0, 1.0), (0.0, 1.2), (0.0, 0.8))
"""Semitones and tempo."""
RATE_HZ: Final = 16_000
SOON_S: Final = 0.15
LATE_S: Final = 1.2
SOFT_END_S: Final = 0.35
"""The pause after which the transcript is made."""
_BLOCK: Final = 160
_PAUSE_S: Final = 0.5
_PEAK: Final = 0.3
_SETS: Final = Path(__file__).resolve().parents[1] / "train_nano/evaluation"
_LONGEST: Final = 90
"""Characters of a line."""
_FLOOR: Final = 3e-4
_WITHIN: Final = 0.01
"""Of the peak, -40 dB: where a word ends."""


class Listening:
    """The network of the stop words, fed as fast as it goes."""

    def __init__(self) -> None:
        self.network = StopNetwork(STOP_WORDS)

    def hear(self, sound: Samples) -> list[SpottedPhrase]:
        """What is heard in a sound that begins at 0 s."""
        self.network.reset()
        blocks = range(0, len(sound), _BLOCK)
        return [each for at in blocks for each in self.network.process(sound[at : at + _BLOCK], at / RATE_HZ)]


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target of each measurement; nothing that does not work."""
    listening = Listening()
    transcriber = SphinxTranscriber(PHRASES)
    try:
        voices, ways = (VOICES[:2], _WAYS[:1]) if quick else (VOICES, _WAYS)
        return [
            *_hits(listening, transcriber, voices),
            *_false_alarms(listening, transcriber, 120.0 if quick else 600.0),
            *_by_voice(listening, ways),
            *_taken(listening, "short utterances by themselves", product((*voices, "heart"), ALONE, ways)),
            *_taken(listening, "what is like an order", product(_HEARD_BY, LIKE_ORDERS, ways)),
            *_taken(listening, "what people say to robots", _said_to_robots(40 if quick else 400)),
            *ears_double_talk.rows(quick),
            *_costs(listening),
        ], []
    finally:
        transcriber.close()


def _hits(listening: Listening, transcriber: SphinxTranscriber, voices: Sequence[str]) -> Rows:
    soon: list[float] = []
    late: list[float] = []
    lost: list[str] = []
    beginnings = beginnings_heard = 0
    for voice in voices:
        for line in filter(_has_a_stop_word, (*AT_THE_END, *AT_THE_BEGINNING)):
            sound, end_s = clip(line, voice)
            heard = listening.hear(sound)
            after_s = min((one.heard_s - end_s for one in heard), default=math.inf)
            if line in AT_THE_BEGINNING:
                beginnings += 1
                beginnings_heard += after_s <= SOON_S
            else:
                soon.append(after_s)
            if after_s > LATE_S:
                transcript, took_s = transcribed(transcriber, sound)
                if missed(transcript, STOP_WORDS) is not None:
                    after_s = SOFT_END_S + took_s
                else:
                    lost.append(f"{voice}: {line!r} as {transcript.text!r}")
            late.append(after_s)
    within = sum(one <= SOON_S for one in soon)
    caught = sum(one <= LATE_S for one in late)
    return [
        ("stop words at the end of a line heard within 150 ms of their end", share(within, len(soon)), "95 %"),
        ("median time after the word's end", f"{1000 * float(np.median(soon)):.0f} ms", ""),
        ("stop words at the beginning heard before 150 ms after the line", share(beginnings_heard, beginnings), ""),
        ("all of them within 1.2 s with the transcript", share(caught, len(late)), "all"),
        *(("lost", each, "") for each in lost),
    ]


def _false_alarms(listening: Listening, transcriber: SphinxTranscriber, wanted_s: float) -> Rows:
    seconds, alarms, wrong = 0.0, 0, []
    lines = [line for line in (*ears_sentences.TALK, *ears_sentences.OTHER) if not _has_a_stop_word(line)]
    number = 0
    while seconds < wanted_s:
        voice, line = VOICES[number % len(VOICES)], lines[number % len(lines)]
        number += 1
        sound, _ = clip(line, voice)
        seconds += len(sound) / RATE_HZ
        heard = listening.hear(sound)
        alarms += len(heard)
        for one in heard:
            transcript, _ = transcribed(transcriber, sound)
            if (verdict := confirm(transcript, one.phrase)) != "denied":  # an unclear one counts after a second
                wrong.append(f"{voice}: {line!r} as {transcript.text!r}, {verdict}")
    minutes = seconds / 60
    return [
        (f"false alarms in {minutes:.0f} minutes of other talk, before confirmation", str(alarms), "< 5 in 10"),
        ("the same, not denied by the transcript", str(len(wrong)), "0"),
        *(("not denied", each, "") for each in wrong),
    ]


def _by_voice(listening: Listening, ways: Sequence[tuple[float, float]]) -> Rows:
    made: Rows = []
    for place, voice in product(PLACES, _HEARD_BY):
        found = dict.fromkeys(STOP_WORDS, 0)
        for word, form, (semitones, tempo) in product(STOP_WORDS, _FORMS, ways):
            sound, _ = clip(form.format(word), voice, semitones=semitones, tempo=tempo)
            found[word] += word in {each.phrase for each in listening.hear(_in_room(sound, place))}
        told = ", ".join(f"{word} {count}" for word, count in found.items())
        made.append((f"found of {len(_FORMS) * len(ways)} each: {voice}, {place}", told, ""))
    return made


def _in_room(sound: Samples, place: Condition) -> Samples:
    """A clip as a microphone in that place has it."""
    room = Room(replace(place.settings(0, rate_hz=RATE_HZ), record=True))
    place.with_noise(room, 0)
    said = room.say(sound, RATE_HZ, _PAUSE_S)
    room.run(said.end_s + _PAUSE_S)
    return room.recorded.microphone


def _said_to_robots(count: int) -> list[tuple[str, str, tuple[float, float]]]:
    """Commands, questions and talk from the sets that the small model is measured by, each by one voice in one way."""
    texts = (each for file in sorted(_SETS.glob("*.jsonl")) for each in file.read_text(encoding="utf-8").splitlines())
    told = (json.loads(text) for text in texts)
    turns = (turn["text"] for one in told for turn in one.get("turns", [one]))
    lines = sorted({text for text in turns if text.isascii() and len(text) < _LONGEST and not _has_a_stop_word(text)})
    draw = random.Random(9)
    chosen = draw.sample(lines, count)
    return [(voice, line, draw.choice(_WAYS)) for voice, line in zip(cycle(_HEARD_BY), chosen, strict=False)]


def _taken(listening: Listening, name: str, lines: Iterable[tuple[str, str, tuple[float, float]]]) -> Rows:
    """Lines that are taken for a stop word, before confirmation: a transcript of few words denies little.

    Args:
        lines: Voice, text, and semitones with tempo.
    """
    made: Rows = []
    spoken = list(lines)
    for place in (PLACES[0], PLACES[2]):
        taken: list[str] = []
        for voice, line, (semitones, tempo) in spoken:
            sound, _ = clip(line, voice, semitones=semitones, tempo=tempo)
            if heard := listening.hear(_in_room(sound, place)):
                taken.append(f"{voice} {semitones:+g} semitones x{tempo:g}: {line!r} as {heard[0].phrase!r}")
        made.append((f"{name} taken for a stop word, {place}", share(len(taken), len(spoken)), ""))
        made += [("taken for a stop word", each, "") for each in taken]
    return made


def _costs(listening: Listening) -> Rows:
    made = []
    quiet = np.random.default_rng(0).normal(0, _FLOOR, 20 * RATE_HZ).astype(np.float32)
    talk = np.concatenate([clip(line, "slt")[0] for line in ears_sentences.TALK[:8]])
    for name, sound in (("idle", quiet), ("hearing", talk)):
        before_s = time.process_time()
        listening.hear(sound)
        used = (time.process_time() - before_s) * RATE_HZ / len(sound)
        made.append((f"network of the stop words, {name}", f"{used:.1%} of a core", ""))
    return made


def clip(line: str, voice: str, *, semitones: float = 0.0, tempo: float = 1.0) -> tuple[Samples, float]:
    """A line as a microphone has it, a pause before and after; and when its last word ends."""
    words = np.asarray(synthesised(line, voice, RATE_HZ, semitones=semitones, tempo=tempo), np.float64)
    words = words * (_PEAK / np.abs(words).max())
    frames = np.abs(words[: len(words) // _BLOCK * _BLOCK]).reshape(-1, _BLOCK).max(axis=1)
    end = int(np.flatnonzero(frames > _WITHIN * _PEAK)[-1] + 1) * _BLOCK
    pause = np.zeros(round(_PAUSE_S * RATE_HZ))
    sound = np.concatenate([pause, words, pause])
    sound += np.random.default_rng(0).normal(0, _FLOOR, len(sound))
    return sound.astype(np.float32), _PAUSE_S + end / RATE_HZ


def transcribed(transcriber: SphinxTranscriber, sound: Samples) -> tuple[RecognisedText, float]:
    """The transcript, and how long it took after the last sample."""
    transcriber.begin()
    transcriber.feed(sound)
    begun_s = time.monotonic()
    transcript = transcriber.finish(Event())
    took_s = max(0.0, time.monotonic() - begun_s - len(sound) / RATE_HZ)
    return transcript, took_s


def _has_a_stop_word(line: str) -> bool:
    return any(word in line.lower() for word in STOP_WORDS)
