"""The recogniser's part of ``scripts/bench ears``: words wrong, commands heard in talk that holds none, latency, load.

Sentences of ``ears_sentences``, spoken by voices that nothing was tuned on, with noise at the microphone and through
the product's noise suppression; with the robot's own voice, in the simulated room and through the echo canceller. The
house robot's phrases, both models together. What was understood is put to the nano model with the house robot's tools,
which are kept from talk as in a conversation: a command is heard in talk where one is called.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
from bench import ears_sentences as said
from bench.report import Rows, teller
from bench.voice_stack import used_s

from edgeagent import Agent, LlamaLLM, Options
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, house_heard
from edgeagent.audio import EchoCanceller, Samples
from edgeagent.english import Phrases
from edgeagent.hooks import TalkGuardHook, changes
from edgeagent.house import HouseRobot
from edgeagent.stt import RATE_HZ, RecognisedText, SphinxOptions, SphinxTranscriber, for_error_rate, word_error_rate
from edgeagent.testing import (
    FULL_SPEED_MPS,
    Motor,
    NoiseSource,
    Room,
    RoomSettings,
    Signal,
    babble,
    from_db,
    speech_level,
    steady_noise,
    synthesised,
)

Pairs = list[tuple[str, str, str, str]]
"""Name, figure of the people's voices, figure of espeak-ng's, target."""

PEOPLE: Final = ("slt", "rms", "awb")
MACHINE: Final = "en-us"
VOICES: Final = (*PEOPLE, MACHINE)
NOISES: Final = ("babble", "steady", "motor")
SNRS_DB: Final = (20, 10, 5)
QUICK_EACH: Final = 8
"""One sentence in so many is spoken."""
NOISY_EACH: Final = 12
MOVES: Final = frozenset({"drive", "turn", "go_to", "pick_up", "put_down", "follow", "dock"})

_PAUSE_S: Final = 0.4
_LEVEL: Final = 0.05
"""A person's, -26 dBFS on the frames with speech, as in the room."""
_FLOOR: Final = 1e-4
_BLOCK: Final = RATE_HZ // 20
_NOISE_S: Final = 30
_BABBLE_S: Final = 12
_BABBLE_VOICES: Final = ("kal", "en-gb", "en-us+f3", "en-gb+m3", "en-029", "en-gb+f2")
_ECHOES_DB: Final = (-6.0, 6.0)
_ROBOT: Final = (
    "The window is open and the lamp is new. I have been waiting since noon, and nobody came along. Perhaps tomorrow "
    "will be better, because then the sun comes out again and everybody is back from the holidays."
)
_PLAIN: Final = Phrases()
_NEVER: Final = Event()
_HANG_S: Final = 20.0
"""A busy machine hangs no engine."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A sentence, who said it, and what became of it."""

    text: str
    kind: str
    voice: str
    transcript: RecognisedText
    finish_s: float


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target, of the people's voices and of espeak-ng's by itself; nothing that does not work."""
    each = QUICK_EACH if quick else 1
    table: Pairs = []
    tell = teller("ears")
    with transcriber() as ears:
        tell("words, clean")
        clean = list(heard(ears, sentences(each), VOICES))
        table += word_rows("clean", clean, "6 %")
        noises = [("babble", 10)] if quick else [(noise, snr) for noise in NOISES for snr in SNRS_DB]
        for noise, snr_db in noises:
            tell(f"words, {noise} at {snr_db} dB")
            found = heard(ears, sentences(each * (4 if quick else NOISY_EACH)), VOICES, (noise, snr_db))
            table += word_rows(f"{noise} at {snr_db} dB", list(found), "15 %" if snr_db == 10 else "")
        for gain_db in _ECHOES_DB[:1] if quick else _ECHOES_DB:
            tell(f"words, own voice at {gain_db:+.0f} dB")
            found = heard(ears, sentences(each * (8 if quick else NOISY_EACH)), VOICES, own_db=gain_db)
            table += word_rows(f"own voice at {gain_db:+.0f} dB", list(found), "")
        table += load_rows(ears, clean)
        tell("what nobody should understand")
        table += nonsense_rows(ears)
    tell("commands in talk")
    made: Rows = []
    for name, people, machine, target in table + command_rows(clean):
        if people or not machine:
            made.append((name, people, target))
        if machine:
            made.append((f"{name}, espeak-ng", machine, target))
    return made, []


@contextmanager
def transcriber() -> Iterator[SphinxTranscriber]:
    """The recogniser with the house robot's phrases, and nothing of it left behind."""
    with tempfile.TemporaryDirectory() as cache:
        ears = SphinxTranscriber(house_heard(), SphinxOptions(cache=Path(cache), hang_s=_HANG_S))
        try:
            yield ears
        finally:
            ears.close()


def sentences(each: int = 1) -> list[tuple[str, str]]:
    """(Kind, sentence): one in so many of each kind."""
    kinds = {"command": said.COMMANDS, "forbidden": said.FORBIDDEN, "talk": said.TALK, "other": said.OTHER}
    return [(kind, text) for kind, texts in kinds.items() for text in texts[::each]]


def heard(
    ears: SphinxTranscriber,
    spoken: Sequence[tuple[str, str]],
    voices: Iterable[str],
    noise: tuple[str, float] | None = None,
    *,
    own_db: float | None = None,
) -> Iterator[Heard]:
    """Each sentence by each voice, alone, with noise (kind, SNR in dB), or while the robot speaks."""
    for voice in voices:
        for number, (kind, text) in enumerate(spoken):
            if own_db is None:
                sound = at_microphone(text, voice, noise, seed=number)
            else:
                sound = over_own_voice(text, voice, own_db, seed=number)
            ears.begin()
            for at in range(0, len(sound), _BLOCK):
                ears.feed(sound[at : at + _BLOCK])
            ears.wait_idle(60)
            begun_s = time.monotonic()
            transcript = ears.finish(_NEVER)
            yield Heard(text, kind, voice, transcript, time.monotonic() - begun_s)


def at_microphone(text: str, voice: str, noise: tuple[str, float] | None, *, seed: int) -> Samples:
    """The sentence with a pause before and after, with noise, after the noise suppression."""
    dry = synthesised(text, voice, RATE_HZ).astype(np.float64)
    pause = np.zeros(round(_PAUSE_S * RATE_HZ))
    sound = np.concatenate((pause, dry * (_LEVEL / speech_level(dry, RATE_HZ)), pause))
    random = np.random.default_rng(seed)
    sound += random.normal(0, _FLOOR, len(sound))
    if noise is None:
        return sound.astype(np.float32)
    lead = RATE_HZ  # the suppression has heard the noise before somebody speaks
    level = _LEVEL * from_db(-noise[1])
    sound = np.concatenate((np.zeros(lead), sound))
    track = _noise(noise[0])
    begin = int(random.integers(len(track) - len(sound)))
    sound += level * track[begin : begin + len(sound)]
    canceller = EchoCanceller(RATE_HZ, None, mode="off")
    block = RATE_HZ // 100
    clean = [
        canceller.near(sound[at : at + block].astype(np.float32), at / RATE_HZ) for at in range(0, len(sound), block)
    ]
    return np.concatenate(clean)[lead:]


@lru_cache
def _noise(kind: str) -> Signal:
    """Half a minute of it, of level 1."""
    random, count = np.random.default_rng(1), _NOISE_S * RATE_HZ
    sources: list[NoiseSource]
    if kind == "steady":
        sources = [steady_noise("pink", 1.0, random, RATE_HZ)]
    elif kind == "motor":
        sources = [Motor(lambda time_s: FULL_SPEED_MPS, 1.0, random, RATE_HZ)]
    else:
        lines = " and ".join(said.TALK[:8])
        voices = [synthesised(lines, voice, RATE_HZ)[: _BABBLE_S * RATE_HZ] for voice in _BABBLE_VOICES]
        sources = [*babble([voice.astype(np.float64) for voice in voices], 1.0, random, RATE_HZ, 0.3)]
    made: Signal = sum((source.block(0, count) for source in sources), np.zeros(count))
    return made


def over_own_voice(text: str, voice: str, gain_db: float, *, seed: int) -> Samples:
    """The sentence said over the robot's voice, in the room, as recognisers are given it after 3 s."""
    room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=gain_db, rt60_s=0.3, drift_ppm=100, record=False, seed=seed))
    own = synthesised(_ROBOT, "en-gb", RATE_HZ)
    own = own * np.float32(from_db(room.settings.loudspeaker_level_db) / speech_level(own, RATE_HZ))
    room.calibrate(own, RATE_HZ)
    canceller = EchoCanceller(RATE_HZ, RATE_HZ, xruns=room.xruns)
    words = synthesised(text, voice, RATE_HZ)
    sent, clean = 0, []

    def fill(block: Samples, dac_s: float) -> None:
        nonlocal sent
        part = own.take(np.arange(sent, sent + len(block)), mode="wrap")
        block[:] = part
        sent += len(block)
        canceller.far(block, dac_s)

    at_s = 3.0
    room.say(words, RATE_HZ, at_s)

    def take(block: Samples, adc_s: float) -> None:
        canceller.near(block, adc_s)
        clean.append(canceller.unsuppressed)

    room.start(fill=fill, take=take)
    room.run(at_s + len(words) / RATE_HZ + _PAUSE_S)
    return np.concatenate(clean)[round((at_s - _PAUSE_S) * RATE_HZ) :]


def wrong_share(found: Iterable[Heard]) -> float:
    """Word error rate of all together."""
    wrong = words = 0.0
    for one in found:
        count = len(for_error_rate(one.text).split())
        wrong += count * word_error_rate(one.text, one.transcript.raw)
        words += count
    return wrong / max(1.0, words)


def word_rows(condition: str, found: Sequence[Heard], target: str) -> Pairs:
    """Words that are wrong, and how much was understood, commands and other talk apart."""
    made: Pairs = []
    for name, commands in (("commands", True), ("other talk", False)):
        cells = []
        for voices in (PEOPLE, (MACHINE,)):
            mine = [one for one in found if one.voice in voices and (one.kind == "command") is commands]
            understood = sum(one.transcript.understood for one in mine) / max(1, len(mine))
            parts = [wrong_share(one for one in mine if one.voice == voice) for voice in voices]
            each = f" ({', '.join(f'{part:.1%}' for part in parts)})" if len(parts) > 1 else ""
            cells.append(f"{wrong_share(mine):.1%}{each}, understood {understood:.0%}, n {len(mine)}")
        made.append((f"words wrong, {name}, {condition}", *cells, target))
    return made


def nonsense_rows(ears: SphinxTranscriber) -> Pairs:
    """How much was understood of what is no English: other languages, and noise without anybody who speaks."""
    foreign = [("foreign", text) for texts in said.FOREIGN.values() for text in texts]
    found = [
        one
        for language, texts in said.FOREIGN.items()
        for one in heard(ears, [("foreign", text) for text in texts], [language])
    ]
    sounds = 0
    for kind in NOISES:
        for part in np.split(_LEVEL * _noise(kind), _NOISE_S // 3):
            ears.begin()
            ears.feed(part.astype(np.float32))
            sounds += ears.finish(_NEVER).understood
    understood = sum(one.transcript.understood for one in found)
    return [
        ("understood of German, French, Spanish, Italian", "", f"{understood} of {len(foreign)}", "0"),
        ("understood of 3 s of noise", f"{sounds} of {len(NOISES) * (_NOISE_S // 3)}", "", "0"),
    ]


def load_rows(ears: SphinxTranscriber, found: Sequence[Heard]) -> Pairs:
    """How long the result takes after the last sample, and what the two processes need."""
    late_ms = 1000 * np.array([one.finish_s for one in found])
    sizes = [_resident_mb(pid) for pid in ears.pids if pid is not None]
    sound = [at_microphone(text, PEOPLE[0], None, seed=0) for _, text in sentences(40)]
    before_s = sum(used_s(pid) for pid in ears.pids if pid is not None)
    for one in sound:
        ears.begin()
        ears.feed(one)
        ears.finish(_NEVER)
    spent_s = sum(used_s(pid) for pid in ears.pids if pid is not None) - before_s
    seconds = sum(len(one) for one in sound) / RATE_HZ
    return [
        (
            "last sample to final transcript, p50 and p95",
            *(
                f"{np.percentile(late_ms[[one.voice in voices for one in found]], 50):.0f} ms, "
                f"{np.percentile(late_ms[[one.voice in voices for one in found]], 95):.0f} ms"
                for voices in (PEOPLE, (MACHINE,))
            ),
            "",
        ),
        ("share of a core while somebody speaks, both models", f"{spent_s / seconds:.0%}", "", ""),
        ("memory of the two processes", " + ".join(f"{size:.0f} MB" for size in sizes), "", ""),
    ]


def command_rows(found: Sequence[Heard]) -> Pairs:
    """Commands heard in talk that holds none: strictly, and as the nano model acts on what was understood."""
    talk = [one for one in found if one.kind in ("forbidden", "talk")]
    strict: dict[bool, int] = defaultdict(int)
    called: dict[bool, list[str]] = defaultdict(list)
    typed: dict[bool, set[str]] = defaultdict(set)
    moved: dict[bool, list[str]] = defaultdict(list)
    with acting() as calls:
        for one in talk:
            machine, made = one.voice == MACHINE, ()
            strict[machine] += one.transcript.understood and one.transcript.engine.endswith("app")
            if one.transcript.understood:
                made = calls(one.transcript.text)
            if made:
                called[machine].append(f"{one.text!r} as {one.transcript.text!r}")
            if MOVES & set(made) and said.NEGATIONS & set(one.text.split()):
                moved[machine].append(f"{one.text!r} as {one.transcript.text!r}")
            if calls(one.text, spoken=False):
                typed[machine].add(one.text)
    counts = {machine: sum((one.voice == MACHINE) is machine for one in talk) for machine in (False, True)}
    pairs = (False, True)
    made_rows: Pairs = [
        (
            "talk in which a tool was called",
            *(f"{len(called[m])} of {counts[m]}, typed {len(typed[m])} of its sentences" for m in pairs),
            "1 in 100",
        ),
        ("moved out of don't, not, never", *(f"{len(moved[m])}" for m in pairs), "0"),
        ("understood, from the app's model", *(f"{strict[m]} of {counts[m]}" for m in pairs), ""),
    ]
    return made_rows + [("  a call from", text, "", "") for m in pairs for text in called[m]]


@contextmanager
def acting() -> Iterator[Callable[..., tuple[str, ...]]]:
    """What tools the nano model calls for a text, and is let call; each text asked once."""
    known: dict[tuple[str, bool], tuple[str, ...]] = {}
    llm = LlamaLLM("nano")

    def calls(text: str, *, spoken: bool = True) -> tuple[str, ...]:
        if (text, spoken) not in known:
            robot = HouseRobot(speed=float("inf"))
            try:
                guard = TalkGuardHook(changes, _PLAIN, small=False)
                guard.hears(text, spoken=spoken, answers=False)
                options = Options(max_tool_hops=MAX_TOOL_HOPS)
                agent = Agent(NAME, INSTRUCTIONS, llm=llm, tools=robot.tools, hooks=[guard], options=options)
                made = agent.run(text).tool_calls
                let = [call for call in made if call.result is not None and call.result.status != "not_run"]
                known[text, spoken] = tuple(call.name for call in let)
            finally:
                robot.close()
        return known[text, spoken]

    try:
        yield calls
    finally:
        llm.close()


def _resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmRSS"))
