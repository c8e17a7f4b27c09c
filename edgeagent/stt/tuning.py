"""A threshold for a key phrase, from recordings of a builder's own people, or from what espeak-ng says.

Decodes in the caller's process, a few seconds of work: for a command line, not for a running robot.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

from edgeagent.audio.resample import Resampler
from edgeagent.audio.types import Samples
from edgeagent.errors import ConfigError
from edgeagent.stt import app_model
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.types import RATE_HZ

VOICES: Final = ("en-us", "en-gb", "en-us+f3", "en-gb-scotland", "en-us+m3", "en-gb+f2")
"""Voices of espeak-ng that say the examples."""

EXPONENTS: Final = (1, 2, 3, 5, 7, 10, 13, 16, 20, 25, 30, 35, 40, 45, 50, 60)
_CARRIERS: Final = ("{}", "{}!", "please {}", "{} now", "robot {}", "no no {}")
_TALK: Final = (
    "the shop is on top of the hill", "go to the kitchen and bring me the cup", "what time is it now",
    "I think it will rain tomorrow", "she was asked to start the engine", "drive forward two meters",
    "turn on the light in the living room", "there is a step in front of the door", "how full is your battery",
    "we had soup and a sandwich for lunch", "the cat sat on the sofa all afternoon", "put the book on the desk",
    "he told me a story about his brother", "the stock market went up a lot", "set a timer for ten minutes",
    "my phone is somewhere in the bedroom", "that was a lot of work for a saturday", "look to the left please",
    "could you follow me to the garage", "it costs about twenty dollars at the store",
)  # fmt: skip
_MOST_WAYS: Final = 8
_ALIAS: Final = re.compile(r"_(\d+)")
_PAUSE_S: Final = 0.5
_FLOOR: Final = 3e-4
"""RMS of the noise under a clip: a microphone is never silent."""
_PEAK: Final = 0.5


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found for a phrase."""

    phrase: str
    threshold: float
    hits: int
    examples: int
    false_alarms: int
    """Of ``others``, how many clips set it off."""
    others: int
    other_s: float
    """Length of the speech without the phrase, in seconds."""


def tune(
    phrase: str,
    *,
    voices: Sequence[str] = VOICES,
    examples: Iterable[Samples] = (),
    others: Iterable[Samples] = (),
    said: dict[str, str] | None = None,
) -> Tuned:
    """Find the threshold with the best balance of examples heard and false alarms.

    Synthesised voices are further from the acoustic model than people are: with recordings of the people who will speak
    to the robot, and of other talk, the result is better, and ``voices=()`` leaves synthesis out.

    Args:
        voices: Of espeak-ng, for synthesised examples; none with recordings only.
        examples: Recordings that hold the phrase, mono at 16 kHz.
        others: Recordings that do not.
        said: Pronunciations that the builder knows better.

    Raises:
        ConfigError: The phrase can't be said, or there are no examples.
        RecognitionError: PocketSphinx is missing.
        SpeechError: espeak-ng is missing, or knows no such voice.
    """
    words = spoken_words(phrase)
    if not words:
        raise ConfigError(f"the keyword {phrase!r} has no words")
    positives = [*examples, *_synthesised([carrier.format(phrase) for carrier in _CARRIERS], voices)]
    negatives = [*others, *_synthesised([text for text in _TALK if phrase.lower() not in text], voices)]
    if not positives:
        raise ConfigError(f"tuning the keyword {phrase!r} needs recordings or voices")
    with tempfile.TemporaryDirectory() as folder:
        decoder = _decoder(words, said, Path(folder))
        heard = [_exponents(decoder, clip) for clip in positives]
        false = [_exponents(decoder, clip) for clip in negatives]
    hits = {exponent: sum(exponent in found for found in heard) for exponent in EXPONENTS}
    alarms = {exponent: sum(exponent in found for found in false) for exponent in EXPONENTS}
    # Youden's index; of equal ones the strictest
    best = max(EXPONENTS, key=lambda e: (hits[e] / len(positives) - alarms[e] / max(1, len(negatives)), -e))
    other_s = sum(map(len, negatives)) / RATE_HZ
    return Tuned(phrase, 10.0**-best, hits[best], len(positives), alarms[best], len(negatives), other_s)


def entries(words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of a dictionary; a second pronunciation is word(2)."""
    for word, said in words.items():
        for number, phones in enumerate(dict.fromkeys(said), 1):
            yield f"{word}{f'({number})' if number > 1 else ''} {phones}\n"


def variants(words: Sequence[str], known: Mapping[str, Sequence[str]]) -> list[str]:
    """The ways to say a phrase: keyword search takes the first pronunciation of a word, unless it is given others."""
    ways = (
        [f"{word}({number})" if number > 1 else word for number in range(1, len(dict.fromkeys(known[word])) + 1)]
        for word in words
    )
    return [" ".join(way) for way in islice(product(*ways), _MOST_WAYS)]


def _synthesised(texts: Sequence[str], voices: Sequence[str]) -> Iterator[Samples]:
    if not voices:
        return
    from edgeagent.tts.espeak import EspeakSpeaker

    for voice in voices:
        speaker = EspeakSpeaker(voice)
        for text in texts:
            chunks = list(speaker.speak(text, Event()))
            if chunks:
                sound = np.concatenate([chunk.samples for chunk in chunks])
                yield Resampler(chunks[0].rate_hz, RATE_HZ).process(sound, last=True)


def _decoder(words: list[str], said: dict[str, str] | None, folder: Path) -> Any:
    """One decoder that listens for the phrase with every threshold at once, under names of its own for each."""
    import pocketsphinx  # type: ignore[import-untyped, unused-ignore]

    spoken, _ = app_model.pronounced(words, said)
    dictionary, listed = folder / "words.dict", folder / "phrases.list"
    aliases = {f"{word}_{exponent}": phones for exponent in EXPONENTS for word, phones in spoken.items()}
    dictionary.write_text("".join(entries(aliases)), encoding="utf-8")
    listed.write_text(
        "".join(
            f"{variant} /1e-{exponent}/\n"
            for exponent in EXPONENTS
            for variant in variants([f"{word}_{exponent}" for word in words], aliases)
        ),
        encoding="utf-8",
    )
    options = {"hmm": str(app_model.general_model().acoustic), "dict": str(dictionary), "kws": str(listed)}
    return pocketsphinx.Decoder(pocketsphinx.Config(loglevel="FATAL", **options))


def _exponents(decoder: Any, clip: Samples) -> set[int]:
    """The thresholds that hear the phrase in a clip."""
    pause = np.zeros(round(_PAUSE_S * RATE_HZ))
    sound = np.concatenate([pause, clip * (_PEAK / max(float(np.abs(clip).max(initial=0.0)), 1e-6)), pause])
    sound += np.random.default_rng(len(clip)).normal(0.0, _FLOOR, len(sound))
    decoder.start_utt()
    decoder.process_raw((np.clip(sound, -1.0, 1.0) * 32_767).astype("<i2").tobytes(), False, False)
    heard = decoder.seg() if decoder.hyp() else ()
    found = {int(_ALIAS.findall(part.word)[-1]) for part in heard}
    decoder.end_utt()
    return found
