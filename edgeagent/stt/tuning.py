"""A threshold for a key phrase, from recordings of a builder's own people, or from what espeak-ng says.

Decodes in the caller's process, a few seconds of work: for a command line, not for a running robot.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.wav import read_wav
from edgeagent.errors import ConfigError, SpeechError
from edgeagent.resources import scratch_folder
from edgeagent.stt import app_model
from edgeagent.stt.decoding import CEPSTRAL_MEAN, open_decoder
from edgeagent.stt.hearing import AGAIN_S, RATE_HZ
from edgeagent.stt.level_meter import Levelling
from edgeagent.stt.patterns import is_short, phone_patterns
from edgeagent.stt.phrases import spoken_words

if TYPE_CHECKING:
    from pathlib import Path

    from edgeagent.audio.device import Samples

VOICES: Final = ("en-us", "en-gb", "en-us+f3", "en-gb-scotland", "en-us+m3", "en-gb+f2")
"""Voices of espeak-ng that say the examples."""

EXPONENTS: Final = (5, 10, 15, 20, 22, 24, 26, 28, 30, 33, 36, 40)
_CARRIERS: Final = ("{}", "{}!", "please {}", "{} now", "robot {}", "no no {}")
_TALK: Final = (
    "the shop is on top of the hill", "go to the kitchen and bring me the cup", "what time is it now",
    "I think it will rain tomorrow", "she was asked to start the engine", "drive forward two meters",
    "turn on the light in the living room", "there is a step in front of the door", "how full is your battery",
    "we had soup and a sandwich for lunch", "the cat slept near the window all afternoon", "put the book on the desk",
    "he told me a story about his brother", "my sister is coming over on sunday", "set a timer for ten minutes",
    "my phone is somewhere in the bedroom", "that was a long day for everybody", "look to the left please",
    "could you follow me to the garage", "it costs about twenty dollars at the store",
    "I would like to have a cup of tea with milk", "do you know who called this morning",
    "the children are playing in the garden behind the house", "we should leave early because of the traffic",
    "I have never been to that part of the country", "this chair is more comfortable than the other one",
    "remember to bring an umbrella when you come", "they are going to paint the hallway next week",
)  # fmt: skip
ALARMS_PER_HOUR: Final = 30.0
"""False alarms in an hour that a short phrase may have: five in ten minutes of talk, before the transcript confirms or
denies them."""
_LONG_ALARMS_PER_HOUR: Final = 6.0
"""The same of a longer phrase: a looser threshold hears a synthesiser that says it badly, and other talk."""
_ALIAS: Final = re.compile(r"_(\d+)")
_PAUSE_S: Final = 0.5
_PEAK: Final = 0.2
_NOISE: Final = 1e-4
"""RMS of the noise under a clip: a microphone is never silent."""
_TIMEOUT_S: Final = 60
_FLITE: Final = "flite:"
_PIECE_BYTES: Final = 2 * RATE_HZ

Progress = Callable[[float, str], None]
"""Told how much is done, from 0 to 1, and what is being done."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """Result of tuning a phrase."""

    phrase: str
    threshold: float
    hits: int
    examples: int
    false_alarms: int
    """In all of the speech without the phrase."""
    others: int
    other_s: float
    """Length of the speech without the phrase, in seconds."""

    @property
    def misses(self) -> int:
        """Examples in which it was not heard."""
        return self.examples - self.hits

    @property
    def false_alarms_per_hour(self) -> float:
        """Of other speech, without a pause between the sentences longer than a second."""
        return 3600.0 * self.false_alarms / self.other_s if self.other_s else 0.0


def tune(
    phrase: str,
    *,
    voices: Sequence[str] = VOICES,
    examples: Iterable[Samples] = (),
    others: Iterable[Samples] = (),
    said: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Find the threshold that hears most of the examples with few false alarms in ten minutes of other talk.

    At most five of a short phrase such as "stop", and one of a longer one.

    Synthesised voices are further from the acoustic model than people are: with recordings of the people who will speak
    to the robot, and of other talk, the result is better, and ``voices=()`` leaves synthesis out.

    Args:
        voices: Of espeak-ng, or flite's as "flite:kal", for synthesised examples; none with recordings only.
        examples: Recordings that hold the phrase, mono at 16 kHz.
        others: Recordings that do not.
        said: Pronunciations that the builder knows better.

    Raises:
        ConfigError: The phrase can't be said or is too short, a pronunciation is none, or there are no examples.
        RecognitionError: PocketSphinx is missing.
        SpeechError: espeak-ng is missing, or knows no such voice.
    """
    words = spoken_words(phrase)
    if not words:
        raise ConfigError(f"the keyword {phrase!r} has no words")
    known, _ = app_model.pronounced(words, said)
    phone_patterns(words, known)  # refused before anything is spoken
    tell = progress or (lambda share, doing: None)
    recorded, other = list(examples), list(others)
    carriers = [carrier.format(phrase) for carrier in _CARRIERS]
    talk = [text for text in _TALK if phrase.lower() not in text]
    # 1. everything that is listened to
    positives: list[Samples] = recorded
    negatives: list[Samples] = other
    for number, voice in enumerate(voices):
        tell(0.3 * number / len(voices), f"{voice} speaks")
        positives = [*positives, *_synthesised(carriers, voice)]
        negatives = [*negatives, *_synthesised(talk, voice)]
    if not positives:
        raise ConfigError(f"tuning the keyword {phrase!r} needs recordings or voices")
    # 2. what each threshold hears of it
    hits, alarms = dict.fromkeys(EXPONENTS, 0), dict.fromkeys(EXPONENTS, 0)
    with scratch_folder("edgeagent-keywords-") as folder:
        decoder = _decoder(words, said, folder)
        for number, clip in enumerate([*positives, *negatives]):
            tell(0.3 + 0.7 * number / (len(positives) + len(negatives)), f"listening for {phrase!r}")
            for exponent, times in _found(decoder, clip).items():
                if number < len(positives):
                    hits[exponent] += 1
                else:
                    alarms[exponent] += times
    tell(1.0, "")
    # 3. the most hits within what is borne, of equal ones the fewest alarms; the strictest if nothing is within
    other_s = sum(map(len, negatives)) / RATE_HZ
    short = is_short(" ".join(known[word][0] for word in words))
    least = ALARMS_PER_HOUR if short else _LONG_ALARMS_PER_HOUR
    borne = [e for e in EXPONENTS if alarms[e] * 3600.0 <= least * other_s]
    best = max(borne or EXPONENTS[:1], key=lambda e: (hits[e], -alarms[e], -e))
    return Tuned(phrase, 10.0**-best, hits[best], len(positives), alarms[best], len(negatives), other_s)


def flite_is_there() -> bool:
    """True if flite's voice kal can say examples too."""
    return shutil.which("flite") is not None


def _synthesised(texts: Sequence[str], voice: str) -> Iterator[Samples]:
    if voice.startswith(_FLITE):
        yield from (_by_flite(text, voice.removeprefix(_FLITE)) for text in texts)
        return
    from edgeagent.tts.espeak import EspeakSpeaker

    speaker = EspeakSpeaker(voice)
    for text in texts:
        chunks = list(speaker.speak(text, Event()))
        if chunks:
            sound = np.concatenate([chunk.samples for chunk in chunks])
            yield Resampler(chunks[0].rate_hz, RATE_HZ).process(sound, last=True)


def _by_flite(text: str, voice: str) -> Samples:
    with scratch_folder("edgeagent-flite-") as folder:
        spoken = folder / "spoken.wav"
        try:
            subprocess.run(
                ["flite", "-voice", voice, "-t", text, "-o", str(spoken)],
                check=True,
                capture_output=True,
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SpeechError(f"flite can't say {text!r} with the voice {voice!r}: {error}") from error
        sound, rate_hz = read_wav(spoken)
    return Resampler(rate_hz, RATE_HZ).process(sound, last=True)


def _decoder(words: list[str], said: Mapping[str, str] | None, folder: Path) -> Any:
    """One decoder that listens for the phrase with every threshold at once, under names of its own for each."""
    known, _ = app_model.pronounced(words, said)
    entries = [
        (f"k{number}_{exponent}", pattern.phones, pattern.threshold(10.0**-exponent))
        for number, pattern in enumerate(phone_patterns(words, known))
        if pattern.when == "always"
        for exponent in EXPONENTS
    ]
    return open_decoder(app_model.write_keywords(folder, entries))


def _found(decoder: Any, clip: Samples) -> dict[int, int]:
    """Counts how often each threshold hears the phrase in a clip, if it does."""
    pause = np.zeros(round(_PAUSE_S * RATE_HZ))
    sound = np.concatenate([pause, clip * (_PEAK / max(float(np.abs(clip).max(initial=0.0)), 1e-6)), pause])
    sound += np.random.default_rng(len(clip)).normal(0.0, _NOISE, len(sound))
    levelled = Levelling().process(sound.astype(np.float32))
    ends: dict[int, list[float]] = {}
    for start in range(0, len(levelled), _PIECE_BYTES):  # what the spotter does once a second
        decoder.set_cmn(CEPSTRAL_MEAN)
        if not start:
            decoder.start_utt()
        decoder.process_raw(levelled[start : start + _PIECE_BYTES], False, False)
    heard = decoder.seg() if decoder.hyp() else ()
    for part in sorted(heard, key=lambda part: int(part.end_frame)):
        times = ends.setdefault(int(_ALIAS.findall(part.word)[-1]), [])
        if not times or part.end_frame > times[-1] + 100 * AGAIN_S:
            times.append(part.end_frame)
    decoder.end_utt()
    return {exponent: len(times) for exponent, times in ends.items()}
