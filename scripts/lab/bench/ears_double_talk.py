"""Stop words and commands that a person says over the robot's own voice, through the whole ears in the simulated room.

The robot is espeak-ng's "en" and speaks real replies; people are voices by which no threshold was chosen. The robot
holds its voice when somebody is heard, as the conversation does, and goes on after a while. Clocks differ by 100 ppm.
Times are the room's: what a decode takes is not counted. A word's time is from its last sample, which is 40 to 100 ms
after it is heard to end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from bench.ears_words import transcriber as house_transcriber
from bench.report import Rows, share

from edgeagent.audio import Samples
from edgeagent.stt import (
    STOP_WORDS,
    Ears,
    FinalTranscript,
    HearingEvent,
    KeyPhraseSpotter,
    KeywordSpotted,
    SpeechStarted,
    SphinxTranscriber,
    confirm,
    missed,
    word_error_rate,
)
from edgeagent.testing import Room, RoomSettings, synthesised

VOICES: Final = ("slt", "rms", "awb", "en-gb-x-gbclan", "en-gb-scotland", "en-us-nyc")
REPLIES: Final = (
    "Okay, driving to the kitchen. I will tell you when I am there.",
    "My battery is at seventy eight percent, which is enough for about three hours of driving.",
    "I see a red cube on the table and a green ball next to the window.",
    "It is twenty past four in the afternoon. You asked me to remind you of the laundry at five o'clock.",
    "I could not reach the bedroom because the door is closed. Could you open it for me, please?",
    "I am in the living room now. The sofa is on my left and the bookshelf is behind me.",
    "I have turned left by ninety degrees and moved forward by two meters.",
    "There are three rooms that I know of: the kitchen, the bedroom and the living room.",
    "Sure. I will follow you at a distance of one meter until you tell me something else.",
)
OF_STOPPING: Final = (
    "I will stop at the kitchen door. Please tell me to stop if I drive too fast.",
    "Stop. I have come to a full stop now. Robot stop is what you say to make me stop.",
)
COMMANDS: Final = (
    "go to the kitchen", "turn left", "how full is your battery", "come to the living room", "what time is it",
    "drive forward two meters",
)  # fmt: skip
ECHOES_DB: Final = (-20, -6, 0, 6)
ROOMS_S: Final = (0.2, 0.6)
RATE_HZ: Final = 16_000

_FIRST_S: Final = 6.0
_APART_S: Final = 4.3
_HELD_S: Final = 2.0
_STEP_S: Final = 0.04
_SPOTTED_S: Final = 0.3
_STARTED_S: Final = 0.25
_LATE_S: Final = 1.2
_PEAK: Final = 0.3
_NOISE_DB: Final = 30


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that a person has said, and when."""

    text: str
    voice: str
    start_s: float
    end_s: float


class Stage:
    """A robot that speaks without an end, people, and ears."""

    def __init__(self, transcriber: SphinxTranscriber, settings: RoomSettings, replies: Sequence[str]) -> None:
        self.room = Room(settings)
        self.events: list[tuple[float, HearingEvent]] = []
        self._reply = np.concatenate([np.concatenate((spoken(text), _silence(0.3))) for text in replies])
        self.room.calibrate(self._reply, RATE_HZ)
        self._at = 0
        self._held_s = 0.0
        self.spotter = KeyPhraseSpotter(dict.fromkeys(STOP_WORDS), lambda _: None)
        self.ears = Ears(self.room, transcriber, self._take, spotter=self.spotter)

    def run(self, seconds: float) -> None:
        self.ears.open_sound(self._fill)
        for _ in range(round(seconds / _STEP_S)):
            self.room.run(_STEP_S)
            self.ears.settle(60.0)

    def _take(self, event: HearingEvent) -> None:
        now_s = self.room.now()
        self.events.append((now_s, event))
        if isinstance(event, SpeechStarted):
            self._held_s = now_s + _HELD_S

    def _fill(self, block: Samples, dac_s: float) -> None:
        if dac_s < self._held_s:
            return
        part = np.take(self._reply, np.arange(self._at, self._at + len(block)), mode="wrap")
        block[:] = part
        self._at += len(block)


def rows(quick: bool) -> Rows:
    """Name, figure and target of each measurement."""
    with house_transcriber() as transcriber:
        shared = _Shared(transcriber)
        table: Rows = []
        for gain_db in (-6,) if quick else ECHOES_DB:
            table += _stop_rows(shared, gain_db, 1 if quick else 4)
        for gain_db in (-6,) if quick else (-6, 0):
            table += _command_rows(shared, gain_db, COMMANDS[:2] if quick else COMMANDS)
        for gain_db in (-6,) if quick else (-20, -6, 6):
            table += own_rows(shared, gain_db, 60.0 if quick else 300.0)
        return table


class _Shared:
    """A transcriber that several ears use one after another: they close theirs."""

    def __init__(self, transcriber: SphinxTranscriber) -> None:
        self._transcriber = transcriber

    def __getattr__(self, name: str) -> object:
        return getattr(self._transcriber, name)

    def close(self) -> None:
        pass


def _stop_rows(transcriber: object, gain_db: float, each: int) -> Rows:
    started, spotted, late, total = [], 0, 0, 0
    lost: dict[str, int] = {}
    for rt60_s in ROOMS_S:
        stage, trials = over_own_voice(transcriber, gain_db, rt60_s, ["stop"] * each)
        for trial in trials:
            total += 1
            started.append(_started(stage, trial))
            soon = _spotted(stage, trial)
            spotted += soon
            if soon or _transcribed(stage, trial):
                late += 1
            else:
                lost[trial.voice] = lost.get(trial.voice, 0) + 1
    name = f"'stop' over the robot's voice, echo {gain_db:+.0f} dB"
    in_time = sum(one <= _STARTED_S for one in started)
    return [
        (f"{name}: spotted within 300 ms", share(spotted, total), ""),
        (f"{name}: spotted, or in the transcript within 1.2 s", share(late, total), "90 %"),
        (f"{name}: speech noticed within 250 ms of its onset", share(in_time, total), ""),
        *((f"{name}: lost of {voice}", str(count), "") for voice, count in lost.items()),
    ]


def _command_rows(transcriber: object, gain_db: float, commands: Sequence[str]) -> Rows:
    errors, right = [], 0
    for rt60_s in ROOMS_S:
        stage, trials = over_own_voice(transcriber, gain_db, rt60_s, commands)
        for trial in trials:
            text = heard(stage, trial)
            errors.append(min(word_error_rate(trial.text, text), 1.0) * len(trial.text.split()))
            right += word_error_rate(trial.text, text) == 0
        words = sum(len(trial.text.split()) for trial in trials) * len(ROOMS_S)
    name = f"commands over the robot's voice, echo {gain_db:+.0f} dB"
    return [
        (f"{name}: word error rate", f"{sum(errors) / words:.0%}", ""),
        (f"{name}: understood word by word", share(right, len(errors)), ""),
    ]


def own_rows(transcriber: object, gain_db: float, seconds: float) -> Rows:
    """The robot speaks, also of stopping, and nobody else."""
    spotted, stops, begun, understood = 0, 0, 0, 0
    for rt60_s in ROOMS_S:
        stage = Stage(transcriber, _settings(gain_db, rt60_s), (*REPLIES, *OF_STOPPING))  # type: ignore[arg-type]
        stage.run(seconds)
        stage.ears.close()
        for _, event in stage.events:
            match event:
                case KeywordSpotted():
                    spotted += 1
                case SpeechStarted():
                    begun += 1
                case FinalTranscript(transcript=transcript):
                    understood += transcript.understood
                    stops += any(confirm(transcript, phrase) == "confirmed" for phrase in STOP_WORDS)
    name = f"{len(ROOMS_S) * seconds / 60:.0f} minutes of own voice, echo {gain_db:+.0f} dB"
    return [
        (f"{name}: stop words spotted", str(spotted), "few"),
        (f"{name}: utterances begun, and understood", f"{begun}, {understood}", "0"),
        (f"{name}: stop words in a transcript", str(stops), "0"),
    ]


def over_own_voice(
    transcriber: object, gain_db: float, rt60_s: float, texts: Sequence[str]
) -> tuple[Stage, list[Trial]]:
    """Each voice says each of the texts, at other places of what the robot says."""
    stage = Stage(transcriber, _settings(gain_db, rt60_s), REPLIES)  # type: ignore[arg-type]
    trials = []
    at_s = _FIRST_S
    for text in texts:
        for voice in VOICES:
            sound = synthesised(text, voice, RATE_HZ)
            stage.room.say(sound, RATE_HZ, at_s, angle_deg=40 * len(trials) % 360)
            trials.append(Trial(text, voice, at_s, at_s + len(sound) / RATE_HZ))
            at_s = trials[-1].end_s + _APART_S
    stage.run(at_s)
    stage.ears.close()
    return stage, trials


def heard(stage: Stage, trial: Trial) -> str:
    """The last of what was understood during a trial and soon after."""
    texts = [
        event.transcript.text if event.transcript.understood else ""
        for now_s, event in stage.events
        if isinstance(event, FinalTranscript) and trial.start_s < now_s < trial.end_s + 2 * _LATE_S
    ]
    return max(texts, key=len, default="")


def spoken(text: str) -> Samples:
    """By the robot."""
    made = synthesised(text, "en", RATE_HZ)
    return made * np.float32(_PEAK / np.abs(made).max())


def _settings(gain_db: float, rt60_s: float) -> RoomSettings:
    return RoomSettings(
        rate_hz=RATE_HZ, echo_gain_db=gain_db, rt60_s=rt60_s, drift_ppm=100, noise_snr_db=_NOISE_DB, record=False
    )


def _spotted(stage: Stage, trial: Trial) -> bool:
    return any(
        isinstance(event, KeywordSpotted) and trial.start_s < event.keyword.heard_s <= trial.end_s + _SPOTTED_S
        for _, event in stage.events
    )


def _started(stage: Stage, trial: Trial) -> float:
    """How long after the onset speech is noticed."""
    found = [
        now_s - trial.start_s
        for now_s, event in stage.events
        if isinstance(event, SpeechStarted) and trial.start_s < now_s < trial.end_s + _LATE_S
    ]
    return min(found, default=float("inf"))


def _transcribed(stage: Stage, trial: Trial) -> bool:
    return any(
        isinstance(event, FinalTranscript)
        and trial.start_s < now_s <= trial.end_s + _LATE_S
        and missed(event.transcript, STOP_WORDS) is not None
        for now_s, event in stage.events
    )


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), np.float32)
