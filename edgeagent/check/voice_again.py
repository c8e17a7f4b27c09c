"""Recordings of voice tests, heard anew: by any recogniser, with other thresholds. Any one thread; takes a while.

What is measured here is what comes after the microphone, the echo canceller and the endpointer: recognisers and key
phrases. A recording of which voice activity noticed nothing stays unnoticed; the spotter, which needs none, hears it.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Final

import numpy as np

from edgeagent.app.ears_setup import ENGINES, Vocabulary, chosen_engine, make_transcriber, stop_words, wake_words
from edgeagent.audio.device import Samples
from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.wav import read_wav
from edgeagent.check.voice_plan import STOPS
from edgeagent.check.voice_score import Attempt, RecogniserScore, Tally, Threshold, VoiceScore, judged
from edgeagent.config import Config
from edgeagent.errors import AudioError, EdgeAgentError, RecognitionError
from edgeagent.stt.hearing import RATE_HZ, RecognisedText, SpottedPhrase, Transcriber
from edgeagent.stt.key_phrases import SpotterOptions
from edgeagent.stt.spotters import KeyPhraseSpotter
from edgeagent.stt.transcription import Idling
from edgeagent.stt.tuning import tune

Tell = Callable[[str], object]
"""Told what is being done, in a few words."""

_BLOCK: Final = RATE_HZ // 2
log: Final = logging.getLogger("edgeagent.check")

_SPOTTED: Final = RATE_HZ // 100
_AT_ONCE: Final = 100
"""Blocks that the spotter is given before it is waited for: it drops what it can't follow."""
_IDLE_S: Final = 60.0
_PAUSE: Final = np.zeros(RATE_HZ // 2, np.float32)
_NEVER: Final = Event()
_STEPS: Final = 4
_LEAST: Final = 3
"""Recordings of a stop word, and of other talk, from which on a threshold can be compared."""


@dataclass(frozen=True, slots=True)
class KeptUtterance:
    """A line with its recording, mono at 16 kHz."""

    attempt: Attempt
    sound: Samples


def read_recordings(kept: Iterable[tuple[Path, Attempt]]) -> list[KeptUtterance]:
    """Reads the recordings of lines; one that is no sound file is left out, with a warning."""
    found = []
    for path, attempt in kept:
        try:
            sound, rate_hz = read_wav(path)
        except AudioError as error:
            log.warning("left out: %s", error)
            continue
        found.append(KeptUtterance(attempt, Resampler(rate_hz, RATE_HZ).process(sound, last=True)))
    return found


def heard_again(
    recorded: Sequence[KeptUtterance], config: Config, vocabulary: Vocabulary, tell: Tell = lambda doing: None
) -> list[Attempt]:
    """Judges the recordings by the recogniser and the key phrases of the settings.

    Raises:
        EdgeAgentError: The recogniser or the spotter can't be had.
    """
    tell("the recogniser hears the recordings")
    transcripts = _transcripts(recorded, config, vocabulary)
    keywords = stop_words(config) | wake_words(config)
    tell("the spotter hears the recordings")
    spotted = _spotted(recorded, keywords, config)[0] if keywords else [{} for _ in recorded]
    wakes = wake_words(config)
    made = []
    for one, (transcript, _), found in zip(recorded, transcripts, spotted, strict=True):
        line = one.attempt.line
        counted = {phrase: after_s for phrase, after_s in found.items() if phrase not in wakes or line.kind == "wake"}
        phrases = dict.fromkeys((*stop_words(config), *STOPS, *([line.phrase] if line.phrase else [])))
        made.append(
            dataclasses.replace(
                judged(line, transcript, counted, phrases),
                parts=one.attempt.parts,
                sound=one.attempt.sound,
                person=one.attempt.person,
                file=one.attempt.file,
            )
        )
    return made


def compared(
    recorded: Sequence[KeptUtterance],
    config: Config,
    vocabulary: Vocabulary,
    attempts: Sequence[Attempt],
    tell: Tell = lambda doing: None,
) -> list[RecogniserScore]:
    """The recogniser of the settings and the others on the same recordings, as far as they are here.

    Args:
        attempts: What that of the settings has heard of them.
    """
    own = chosen_engine(config)[0]
    others = [name for name in ENGINES if name != own]
    found = []
    for name in others:
        settings = {key: value for key, value in config.ears.items() if key != "model" or name != "sphinx"}
        other = dataclasses.replace(config, ears={**settings, "engine": name})
        tell(f"{name} hears the recordings")
        try:
            if name != "sphinx" and not find_spec("faster_whisper"):
                continue
            transcripts = _transcripts(recorded, other, vocabulary)
        except EdgeAgentError:  # its model is not here, or another language is wanted
            continue
        heard = [
            dataclasses.replace(judged(one.attempt.line, transcript, {}, ()), parts=one.attempt.parts)
            for one, (transcript, _) in zip(recorded, transcripts, strict=True)
        ]
        found.append(_engine(name, heard, [took_s for _, took_s in transcripts]))
    return [_engine(own, attempts, [one.latency_s for one in attempts]), *found] if found else []


def better_thresholds(
    recorded: Sequence[KeptUtterance], config: Config, tell: Tell = lambda doing: None
) -> list[Threshold]:
    """Thresholds of stop words that hear more of the recordings with no more false alarms, or as many with fewer.

    ``edgeagent.stt.tuning.tune`` tells what can be reached; the spotter itself then tries thresholds from the present
    one towards that, and the first that reaches as much is taken: a few recordings say little about thresholds far
    away. Talk in which the word stands in passing counts for neither: its transcript has to tell.
    """
    found = []
    for phrase, value in stop_words(config).items():
        said = [one for one in recorded if one.attempt.line.phrase == phrase and one.attempt.line.kind in _STOP_KINDS]
        other = [one for one in recorded if one.attempt.line.kind in ("command", "talk") and not _has(one, phrase)]
        if len(said) < _LEAST or len(other) < _LEAST:
            continue
        tell(f"a threshold for {phrase!r} is looked for")
        now = _tried(phrase, value, said, other, config)
        if now.heard == len(said) and not now.alarms:
            continue
        try:
            tuned = tune(
                phrase,
                voices=(),
                examples=[one.sound for one in said],
                others=[one.sound for one in other],
                said=config.ears.get("said", {}),
            )
        except EdgeAgentError as error:
            log.warning("no threshold is looked for: %s", error)
            continue
        for threshold in _between(now.threshold, tuned.threshold):
            better = _tried(phrase, threshold, said, other, config)
            if better.beats(now):
                heard, heard_now = Tally(better.heard, len(said)), Tally(now.heard, len(said))
                found.append(Threshold(phrase, threshold, heard, heard_now, better.alarms, now.alarms))
                break
    return found


@dataclass(frozen=True, slots=True)
class _Tried:
    """A threshold, and in how many recordings it hears the word: of those with it, and of the others."""

    threshold: float
    heard: int
    alarms: int

    def beats(self, other: _Tried) -> bool:
        more, calmer = self.heard - other.heard, other.alarms - self.alarms
        return (more > 0 and calmer >= 0) or (more == 0 and calmer > 0)


def _tried(
    phrase: str, value: float | None, said: Sequence[KeptUtterance], other: Sequence[KeptUtterance], config: Config
) -> _Tried:
    words, thresholds = _spotted([*said, *other], {phrase: value}, config)
    heard = [phrase in one for one in words]
    return _Tried(thresholds[phrase], sum(heard[: len(said)]), sum(heard[len(said) :]))


def _between(now: float, tuned: float) -> list[float]:
    """Thresholds from the present one to another, the nearest first, at most ``_STEPS``."""
    begin, end = math.log10(now), math.log10(tuned)
    return [10.0 ** round(begin + (end - begin) * step / _STEPS) for step in range(1, _STEPS + 1)]


_STOP_KINDS: Final = ("stop", "stop_over")


def _has(one: KeptUtterance, phrase: str) -> bool:
    return f" {phrase} " in f" {one.attempt.line.text} "


def _engine(name: str, heard: Sequence[Attempt], took_s: Iterable[float | None]) -> RecogniserScore:
    score = VoiceScore(heard)
    known = [seconds for seconds in took_s if seconds is not None]
    return RecogniserScore(name, score.words_wrong, score.right("command"), statistics.median(known) if known else None)


def _transcripts(
    recorded: Sequence[KeptUtterance], config: Config, vocabulary: Vocabulary
) -> list[tuple[RecognisedText, float]]:
    """A transcript of each recording, and the seconds from its last sample to it."""
    transcriber = make_transcriber(config, vocabulary)
    try:
        return [_transcribed(transcriber, one) for one in recorded]
    finally:
        transcriber.close()


def _transcribed(transcriber: Transcriber, one: KeptUtterance) -> tuple[RecognisedText, float]:
    if not one.attempt.parts:
        return RecognisedText("", understood=False), 0.0
    transcriber.begin()
    for at in range(0, len(one.sound), _BLOCK):
        transcriber.feed(one.sound[at : at + _BLOCK])
        if isinstance(transcriber, Idling):  # it decodes while it is fed, and hangs if it is fed too fast
            transcriber.wait_idle(_IDLE_S)
    begun_s = time.monotonic()
    try:
        transcript = transcriber.finish(_NEVER)
    except RecognitionError:
        transcript = RecognisedText("", understood=False)
    return transcript, time.monotonic() - begun_s


def _spotted(
    recorded: Sequence[KeptUtterance], keywords: Mapping[str, float | None], config: Config
) -> tuple[list[dict[str, float | None]], Mapping[str, float]]:
    """Key phrases in each recording, with their seconds from the end of the word; and the thresholds in use."""
    heard: SimpleQueue[SpottedPhrase] = SimpleQueue()
    spotter = KeyPhraseSpotter(keywords, heard.put, SpotterOptions(said=config.ears.get("said", {})))
    found: list[dict[str, float | None]] = []
    try:
        for one in recorded:
            spotter.flush()
            sound = np.concatenate((_PAUSE, one.sound, _PAUSE))
            over = one.attempt.line.kind == "stop_over"
            for number, at in enumerate(range(0, len(sound), _SPOTTED)):
                if number % _AT_ONCE == 0:
                    spotter.wait_idle(_IDLE_S)
                spotter.feed(sound[at : at + _SPOTTED], at / RATE_HZ, speaking=over)
            spotter.wait_idle(_IDLE_S)
            words = [heard.get() for _ in range(heard.qsize())]
            found.append({word.phrase: max(word.heard_s - word.end_s, 0.0) for word in reversed(words)})
    finally:
        spotter.close()
    return found, spotter.sphinx.thresholds
