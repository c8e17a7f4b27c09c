"""The echo's part of ``scripts/bench mouth``: what the canceller removes in the simulated room, and what it costs.

The robot speaks for 20 s in the voice of one program, the person interrupts it twice in another's. What a canceller
does to a person is found by running it twice, the second time with the person's sound upside down: half the difference
of both is the person, half the sum is the rest (Hagerman and Olofsson, 2004).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeagent.audio import FRAME_S, EchoCanceller, Resampler, ResidualGate, Samples
from edgeagent.testing import Room, RoomSettings, in_db, rms, speech_frames, speech_level, synthesised

Rows = list[tuple[str, str, str, str, str, str]]

HEADER: Final = ("condition", "echo removed", "own voice as speech", "person's loss", "delay error", "of a core")
TARGETS: Final = ("target", "", "< 2 %", "< 3 dB by the gate", "", "")
RATE_HZ: Final = 16_000
ROBOT: Final = (
    "The kitchen is clear and the door is open. I have driven four metres and turned to the left. My battery is at "
    "sixty two percent, so I can go on for about two hours. Shall I look for the red box in the living room, or do you "
    "want me to come back first?"
)
PERSON: Final = (
    "Wait a moment please, I did not mean the kitchen. Could you drive to the bedroom and look under the table?"
)
_SECONDS: Final = 20.0
_FIRST_S: Final = 1.0
"""Nobody speaks before."""
_LEARNT_S: Final = 3.0
"""The echo that is removed is measured from here on: after two seconds of the robot's speech."""
_PERSON_AT_S: Final = (6.0, 12.5)
_ROBOT_LEVEL: Final = 0.1
_PAUSE_S: Final = 0.8
_VAD_MODE: Final = 2
_LATER: Final = range(100, 400)
"""Samples by which the canceller may delay what it lets through."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One condition."""

    name: str
    room: RoomSettings
    times_tell: bool = True
    """Whether a drift of the clocks can be seen in the times of the blocks."""
    jitter_s: float = 0.0
    """Of the times, as a standard deviation."""
    underrun_ms: float = 0.0
    """After 10 s."""


class _NoGate(ResidualGate):
    """In the place of the gate, to measure the canceller by itself."""

    @property
    def only_far(self) -> bool:
        return True

    def process(self, clean: Samples, near: Samples, far: Samples) -> Samples:
        return clean


@dataclass(frozen=True, slots=True)
class _Run:
    room: Room
    clean: Samples
    delay_s: float
    share: float
    """Of a core."""


def scenes(quick: bool) -> list[Scene]:
    """The grid of the issue, and what else goes wrong."""
    gains = (0.0,) if quick else (-20.0, -6.0, 6.0)
    made = [
        Scene(
            f"echo {gain:+.0f} dB, drift {drift} ppm, RT60 {rt60_s} s",
            RoomSettings(rate_hz=RATE_HZ, echo_gain_db=gain, drift_ppm=drift, rt60_s=rt60_s),
        )
        for gain in gains
        for rt60_s in (0.2, 0.6)
        for drift in ((200,) if quick else (0, 100, 200))
    ]
    hidden = RoomSettings(rate_hz=RATE_HZ, drift_ppm=200, rt60_s=0.2)
    made.append(Scene("echo +0 dB, drift 200 ppm that no time tells of", hidden, times_tell=False))
    if quick:
        return made
    return [
        *made,
        Scene("echo +0 dB, drift 200 ppm, times that jitter by 3 ms", hidden, jitter_s=0.003),
        Scene("echo +0 dB, clipping loudspeaker, RT60 0.6 s", RoomSettings(rate_hz=RATE_HZ, clip=0.2, rt60_s=0.6)),
        Scene("echo +0 dB, pink noise at 20 dB", RoomSettings(rate_hz=RATE_HZ, noise_snr_db=20)),
        Scene("echo +0 dB, 0.3 s that no time tells of", RoomSettings(rate_hz=RATE_HZ, delay_ms=300)),
        Scene("echo +0 dB, 0.95 s that no time tells of", RoomSettings(rate_hz=RATE_HZ, delay_ms=950)),
        Scene("echo +0 dB, an under-run of 200 ms", RoomSettings(rate_hz=RATE_HZ), underrun_ms=200),
        Scene("echo +0 dB, a device of 48 kHz", RoomSettings(rate_hz=48_000)),
    ]


def rows(quick: bool = False) -> Rows:
    """A row for each condition, under ``HEADER``.

    "Echo removed" is measured on what was echo before, 2 s after the robot's first word, with the canceller alone in
    brackets; the person's loss is that of all stages, at 0 dB (the echo's gain says how loud the echo is beside it).
    """
    return [_row(scene) for scene in scenes(quick)]


def _row(scene: Scene) -> tuple[str, str, str, str, str, str]:
    alone = _run(scene)
    ungated = _run(scene, gate=False)
    loss_db, canceller_db = _loss_db(scene), _loss_db(scene, gate=False)
    error_ms = abs(1000 * alone.delay_s - scene.room.delay_ms - scene.underrun_ms)
    return (
        scene.name,
        f"{_removed_db(alone):.0f} dB ({_removed_db(ungated):.0f})",
        f"{_voiced(alone.clean):.1%} ({_voiced(ungated.clean):.1%})",
        f"{loss_db:.1f} dB ({canceller_db:.1f})",
        f"{error_ms:.1f} ms" if scene.times_tell else "",
        f"{alone.share:.1%}",
    )


def _run(scene: Scene, *, person: float = 0.0, gate: bool = True) -> _Run:
    """The scene, played; a person speaks whose samples are scaled by ``person``."""
    room = Room(scene.room)
    rate_hz = scene.room.rate_hz
    voice = _robot(rate_hz)
    room.calibrate(voice, rate_hz)
    canceller = EchoCanceller(rate_hz, rate_hz, xruns=room.xruns)
    if not gate:
        canceller._gate = _NoGate(RATE_HZ)
    random = np.random.default_rng(0)
    blocks: dict[str, int] = {"far": 0, "near": 0}
    begun: dict[str, float] = {}
    clean: list[Samples] = []
    spent_s = 0.0

    def told(end: str, time_s: float) -> float:
        blocks[end] += 1
        first = begun.setdefault(end, time_s)
        if not scene.times_tell:
            time_s = first + (blocks[end] - 1) * FRAME_S
        return time_s + scene.jitter_s * float(random.standard_normal())

    def fill(block: Samples, dac_s: float) -> None:
        at = blocks["far"] * len(block)
        part = voice[at : at + len(block)]
        block[: len(part)] = part
        canceller.far(block, told("far", dac_s))

    def take(block: Samples, adc_s: float) -> None:
        nonlocal spent_s
        adc_s = told("near", adc_s)
        began_s = time.thread_time()
        clean.append(canceller.near(block, adc_s))
        spent_s += time.thread_time() - began_s

    if person:
        words = person * synthesised(PERSON, "slt", rate_hz)
        for at_s in _PERSON_AT_S:
            room.say(words, rate_hz, at_s)
    room.start(fill=fill, take=take)
    room.run(_SECONDS / 2)
    if scene.underrun_ms:
        room.underrun(scene.underrun_ms)
    room.run(_SECONDS / 2)
    return _Run(room, np.concatenate(clean), canceller.delay_s, spent_s / _SECONDS)


def _robot(rate_hz: int) -> Samples:
    words = synthesised(ROBOT, "en-gb", rate_hz)
    pause = np.zeros(round(_PAUSE_S * rate_hz), np.float32)
    spoken = np.concatenate((np.zeros(round(_FIRST_S * rate_hz), np.float32), words, pause, words))
    return spoken * np.float32(_ROBOT_LEVEL / speech_level(spoken, rate_hz))


def _at_our_rate(samples: Samples, run: _Run) -> Samples:
    return Resampler(run.room.settings.rate_hz, RATE_HZ).process(samples, last=True)[: len(run.clean)]


def _removed_db(run: _Run) -> float:
    echo = _at_our_rate(run.room.recorded.echo, run)
    heard = speech_frames(echo, RATE_HZ)
    heard[: round(_LEARNT_S * RATE_HZ)] = False
    return in_db(rms(echo[heard])) - in_db(rms(run.clean[: len(echo)][heard]))


def _loss_db(scene: Scene, *, gate: bool = True) -> float:
    upright, upside_down = _run(scene, person=1.0, gate=gate), _run(scene, person=-1.0, gate=gate)
    left = (upright.clean - upside_down.clean) / 2
    person = _at_our_rate(upright.room.recorded.person, upright)
    later = max(_LATER, key=lambda shift: float(np.dot(left[shift:], person[: len(left) - shift])))
    person = person[: len(left) - later]
    spoken = speech_frames(person, RATE_HZ)
    return in_db(rms(person[spoken])) - in_db(rms(left[later:][: len(person)][spoken]))


def _voiced(clean: Samples) -> float:
    """Share of the frames from the robot's first word on that WebRTC's voice activity detector takes for a voice."""
    import webrtcvad

    detector = webrtcvad.Vad(_VAD_MODE)
    frame = round(RATE_HZ * FRAME_S)
    whole = (np.clip(clean, -1, 1) * 32_767).astype(np.int16)
    found = [
        detector.is_speech(whole[at : at + frame].tobytes(), RATE_HZ) for at in range(0, len(whole) - frame, frame)
    ]
    return float(np.mean(found[round(_FIRST_S / FRAME_S) :]))
