"""Voice activity and endpointing in the simulated room: start and end of speech, false starts, share of a core.

End of speech is the last 10 ms of the clean line within 40 dB of its peak, start the first. Voices are flite's slt, rms
and awb and espeak-ng's en-us, by which no threshold was chosen but ``far_speech_ms``; the babble's are the same six in
every room. What may be left of the robot's own voice was learned from some of the voices and rooms used here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from bench.report import Rows, teller

from edgeagent.audio import RATE_HZ, EchoCanceller, Endpointer, HardEnd, Samples, SoftEnd, SpeechStarted
from edgeagent.testing import Room, RoomSettings, synthesised

VOICES: Final = ("slt", "rms", "awb", "en-us")
LINES: Final = (
    "stop",
    "yes",
    "turn left",
    "don't move",
    "drive to the kitchen",
    "go forward two meters",
    "look at the window",
    "half a meter back",
    "pick up the red box and bring it to me",
    "could you tell me what time it is",
    "she sells sea shells by the shore",
    "well I think it might rain later this afternoon",
)
TALKERS: Final = {
    "slt": "the meeting was moved to next tuesday because of the holiday and nobody told us until this morning",
    "rms": "my brother bought a new car last week and he still cannot find the button for the lights",
    "awb": "there is a shop around the corner which sells the best bread in town if you come early",
    "kal": "it has been raining for three days now and the river is already rather high",
    "en-gb": "do you remember where we put the keys of the garden house after the party in july",
    "en-us+f3": "i would rather take the train because it is faster and you can read a book on the way",
}
ROBOT: Final = (
    "i am on my way to the kitchen and will be back in about two minutes with the red box that you asked for",
    "the battery is at sixty two percent which is enough for another hour of driving around the house",
    "there is an obstacle in front of me so i will turn around and try the other door",
)
"""Spoken one after the other."""
ROBOTS: Final = ("en-gb", "slt", "awb")
"""Its voices."""
RT60S_S: Final = (0.3, 0.6)
NOISES: Final = ("babble", "pink", "fan", "motor")
SNRS_DB: Final = (20, 10, 5)
ECHOES_DB: Final = (-20, -6, 0, 6)
QUICK_SNRS_DB: Final = (10,)
QUICK_ECHOES_DB: Final = (-20, -6, 6)
QUICK_OVER_DB: Final = -6
_WITHIN_DB: Final = -40
_BLOCK: Final = 160
_SOON_S: Final = 0.25


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target of each measurement; nothing that does not work. Quick: fewer lines and conditions, one
    minute for ten."""
    made: Rows = []
    tell = teller("ears")
    voices = VOICES[:2] if quick else VOICES
    tell("start and end of speech")
    snrs_db = QUICK_SNRS_DB if quick else SNRS_DB
    for kind, snr_db in [("clean", 0), *((kind, snr_db) for kind in NOISES for snr_db in snrs_db)]:
        made += _edges(kind, snr_db, voices)
    minutes = 1 if quick else 10
    tell("false starts in noise")
    for kind in (*NOISES, "white", "hum", "music"):
        for snr_db in SNRS_DB[-1:] if quick else SNRS_DB:
            starts, _ = hear(pieces(noise_alone(kind, snr_db, 60.0 * minutes)))
            name = f"{kind}, {snr_db} dB under a person's level: false starts in {minutes} min"
            made.append((name, str(starts.starts), "0"))
    for rt60_s in RT60S_S[-1:] if quick else RT60S_S:
        for echo_db in QUICK_ECHOES_DB if quick else ECHOES_DB:
            tell(f"own voice at {echo_db:+} dB, RT60 {rt60_s} s")
            for voice in ROBOTS[:1] if quick else ROBOTS:
                alone = OwnVoice(echo_db, rt60_s, voice)
                alone.run(60.0 * minutes)
                heard, _ = hear(alone.pieces)
                name = f"own voice ({voice}) at {echo_db:+} dB, RT60 {rt60_s} s: false starts in {minutes} min"
                made.append((name, str(heard.starts), "0"))
            if not quick or echo_db == QUICK_OVER_DB:
                made += _barge_in(echo_db, rt60_s, voices)
    for name, sound in (("idle", noise_alone("pink", 30, 60.0)), ("hearing", talk(60.0))):
        _, share = hear(pieces(sound))
        made.append((f"voice activity and endpointing, {name}", f"{100 * share:.2f} % of a core", ""))
    return made, []


@dataclass
class Heard:
    """What an endpointer made of a stream. ``found`` are (begin, start, start known, end, end known), in seconds."""

    starts: int = 0
    found: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Piece:
    """What the endpointer is given at once."""

    samples: Samples
    far_active: bool = False
    microphone_db: float | None = None


def pieces(stream: Samples) -> list[Piece]:
    """A stream in which the robot is silent, in blocks of 10 ms."""
    return [Piece(stream[at : at + _BLOCK]) for at in range(0, len(stream), _BLOCK)]


def hear(stream: list[Piece]) -> tuple[Heard, float]:
    """The utterances of a stream, and the share of a core that it took."""
    endpointer, heard = Endpointer(), Heard()
    begun = time.process_time()
    for piece in stream:
        found = endpointer.feed(piece.samples, far_active=piece.far_active, microphone_db=piece.microphone_db)
        for event in found:
            match event:
                case SpeechStarted():
                    heard.starts += 1
                    heard.found.append([event.begin_s, event.at_s, endpointer.now_s, event.at_s, endpointer.now_s])
                case SoftEnd():
                    heard.found[-1][4] = endpointer.now_s
                case HardEnd():
                    heard.found[-1][3] = event.at_s
    return heard, (time.process_time() - begun) / endpointer.now_s


def bounds(line: Samples) -> tuple[int, int]:
    """First and last sample of a clean line: the frames of 10 ms within 40 dB of its peak."""
    frames = line[: len(line) // _BLOCK * _BLOCK].astype(np.float64).reshape(-1, _BLOCK)
    power = np.mean(frames**2, axis=1)
    loud = np.flatnonzero(power >= power.max() * 10 ** (_WITHIN_DB / 10))
    return int(loud[0]) * _BLOCK, int(loud[-1] + 1) * _BLOCK


def disturb(room: Room, kind: str, snr_db: float) -> None:
    """Adds noise of a kind to a room."""
    match kind:
        case "clean":
            pass
        case "babble":
            voices = [synthesised(text, voice, RATE_HZ) for voice, text in TALKERS.items()]
            room.add_babble(voices, snr_db=snr_db, rate_hz=RATE_HZ)
        case "motor":
            room.add_motor(lambda at_s: 0.5 * min(max(float(np.sin(0.7 * at_s)) + 0.7, 0.0), 1.0), snr_db=snr_db)
        case "white" | "pink" | "hum" | "fan":
            room.add_noise(kind, snr_db=snr_db)
        case _:
            raise ValueError(kind)


def noise_alone(kind: str, snr_db: float, seconds: float) -> Samples:
    """A room in which nobody speaks to the robot."""
    room = Room(RoomSettings(rate_hz=RATE_HZ, seed=5))
    if kind == "music":
        return (music(seconds) * room.person_level * 10 ** (-snr_db / 20)).astype(np.float32)
    disturb(room, kind, snr_db)
    room.run(seconds)
    return room.recorded.microphone


def talk(seconds: float) -> Samples:
    """A person who speaks half of the time."""
    room, _ = _told("clean", 0, VOICES)
    return np.resize(room.recorded.microphone, round(seconds * RATE_HZ))


class OwnVoice:
    """A room in which the robot speaks without a pause, as its echo canceller leaves it, and perhaps a person.

    Attributes:
        room: For what else is to happen there.
        pieces: What came out of the canceller until now.
    """

    def __init__(self, echo_gain_db: float, rt60_s: float, voice: str, *, seed: int = 2) -> None:
        settings = RoomSettings(
            rate_hz=RATE_HZ,
            echo_gain_db=echo_gain_db,
            rt60_s=rt60_s,
            drift_ppm=100,
            latency_ms=60,
            seed=seed,
            record=False,
        )
        speech = np.concatenate([synthesised(text, voice, RATE_HZ) for text in ROBOT])
        self._speech = speech * np.float32(10 ** (settings.loudspeaker_level_db / 20) / np.sqrt(np.mean(speech**2)))
        self._at = 0
        self._canceller = EchoCanceller(RATE_HZ, RATE_HZ)
        self.pieces: list[Piece] = []
        self.room = Room(settings)
        self.room.calibrate(self._speech, RATE_HZ)
        self.room.start(fill=self._fill, take=self._take)

    def run(self, seconds: float) -> None:
        """Lets it speak."""
        self.room.run(seconds)

    def _fill(self, block: Samples, dac_s: float) -> None:
        block[:] = self._speech.take(np.arange(self._at, self._at + len(block)), mode="wrap")
        self._at += len(block)
        self._canceller.far(block, dac_s)

    def _take(self, block: Samples, adc_s: float) -> None:
        microphone_db = float(10 * np.log10(np.mean(np.square(block, dtype=np.float64)) + 1e-10))
        left = self._canceller.near(block, adc_s)
        self.pieces.append(Piece(left, self._canceller.far_active, microphone_db))


def music(seconds: float) -> Samples:
    """Chords, a bass, a melody of plucked and bowed strings, and drums. RMS 1."""
    random = np.random.default_rng(0)
    made = np.zeros(round((seconds + 4) * RATE_HZ))

    def add(at_s: float, sound: np.ndarray) -> None:
        begin = round(at_s * RATE_HZ)
        part = made[begin : begin + len(sound)]
        part += sound[: len(part)]

    def note(pitch: int, length_s: float, bowed: bool) -> np.ndarray:
        time_s = np.arange(round(length_s * RATE_HZ)) / RATE_HZ
        hz = 440 * 2 ** ((pitch - 69) / 12)
        if bowed:
            swung = time_s + 0.0008 * np.sin(2 * np.pi * 5.5 * time_s)
            edges = np.minimum(1, 15 * np.minimum(time_s, length_s - time_s))
            return edges * sum(np.sin(2 * np.pi * hz * n * swung) / n for n in range(1, 12))
        return sum(np.exp(-time_s * (3 + 2 * n)) * np.sin(2 * np.pi * hz * n * time_s) / n for n in range(1, 8))

    beat_s = 0.5
    for bar in range(int(seconds / (4 * beat_s)) + 1):
        chord = ((0, 4, 7), (5, 9, 12), (7, 11, 14), (-3, 0, 4))[bar % 4]
        root = 48 + 2 * (bar // 16 % 3)
        for third in chord:
            add(4 * bar * beat_s, 0.12 * note(root + third + 12, 4 * beat_s, bar // 8 % 2 == 1))
        for beat in range(4):
            now_s = (4 * bar + beat) * beat_s
            add(now_s, 0.25 * note(root + chord[0] - 12, beat_s, False))
            drum = np.exp(-np.arange(RATE_HZ // 8) / RATE_HZ * (30 if beat % 2 else 18))
            thump = random.standard_normal(len(drum)) if beat % 2 else np.sin(np.arange(len(drum)) / RATE_HZ * 377)
            add(now_s, 0.4 * drum * thump)
            if random.random() < 0.8:
                pitch = root + 24 + int(random.choice((0, 2, 4, 5, 7, 9, 11)))
                add(now_s, 0.25 * note(pitch, beat_s, bar // 4 % 2 == 1))
    made = made[: round(seconds * RATE_HZ)]
    return (made / np.sqrt(np.mean(made**2))).astype(np.float32)


def _told(kind: str, snr_db: float, voices: tuple[str, ...]) -> tuple[Room, list[tuple[float, float]]]:
    """A room in which all lines were said, and when each really began and ended."""
    room = Room(RoomSettings(rate_hz=RATE_HZ, seed=3))
    disturb(room, kind, snr_db)
    truth, end_s = _say_all(room, voices, 5.0)
    room.run(end_s)
    return room, truth


def _say_all(room: Room, voices: tuple[str, ...], at_s: float) -> tuple[list[tuple[float, float]], float]:
    """Has all lines said, from a time on; returns when each really begins and ends, and when all is over."""
    truth = []
    for index, voice in enumerate(voices):
        for line in LINES:
            spoken = synthesised(line, voice, RATE_HZ)
            said = room.say(spoken, RATE_HZ, at_s, angle_deg=40.0 * index)
            begin, end = bounds(spoken)
            truth.append(((said.start + begin) / RATE_HZ, (said.start + end) / RATE_HZ))
            at_s = said.end_s + 2
    return truth, at_s


def _edges(kind: str, snr_db: float, voices: tuple[str, ...]) -> Rows:
    """Start and end of speech against the truth, in ms."""
    room, truth = _told(kind, snr_db, voices)
    heard, _ = hear(pieces(room.recorded.microphone))
    starts, known, ends, soft, clipped, split = [], [], [], [], 0, 0
    for begin_s, end_s in truth:
        mine = [u for u in heard.found if u[0] < end_s and u[3] > begin_s]
        if mine:
            starts.append(mine[0][1] - begin_s)
            known.append(mine[0][2] - begin_s)
            clipped += mine[0][0] > begin_s
            split += len(mine) > 1
            ends.append(mine[-1][3] - end_s)
            soft.append(mine[-1][4] - end_s)
    name = kind if kind == "clean" else f"{kind}, {snr_db} dB SNR"
    missed = len(truth) - len(starts)
    return [
        (f"{name}: start of speech, estimated - true (5, 50, 95 %)", _spread(starts), ""),
        (f"{name}: start known after", _spread(known), ""),
        (f"{name}: end of speech, estimated - true", _spread(ends), ""),
        (f"{name}: soft end known after the true end", _spread(soft), ""),
        (f"{name}: missed, first sound lost, split", f"{missed}, {clipped}, {split} of {len(truth)}", "0, 0, 0"),
    ]


def _barge_in(echo_db: float, rt60_s: float, voices: tuple[str, ...]) -> Rows:
    """When a person is heard who speaks while the robot does."""
    both = OwnVoice(echo_db, rt60_s, ROBOTS[0])
    truth, end_s = _say_all(both.room, voices, 12.0)
    both.run(end_s)
    heard, _ = hear(both.pieces)
    mine = [[u for u in heard.found if u[0] < end_s and u[3] > begin_s] for begin_s, end_s in truth]
    known = [found[0][2] - begin_s for found, (begin_s, _) in zip(mine, truth, strict=True) if found]
    late = len(truth) - sum(known_s <= _SOON_S for known_s in known)
    name = f"a person over own voice at {echo_db:+} dB, RT60 {rt60_s} s"
    return [
        (f"{name}: start known after", _spread(known), ""),
        (f"{name}: missed, not within 250 ms", f"{len(truth) - len(known)}, {late} of {len(truth)}", ""),
    ]


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    low, middle, high = (round(1000 * value) for value in np.quantile(seconds, (0.05, 0.5, 0.95)))
    return f"{low}, {middle}, {high} ms"
