"""What ``edgeagent listen --record`` has kept, once a person has corrected the texts: words and key phrases, by file.

The app's phrases and key phrases are those of the settings, as in ``listen``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Final

import numpy as np

from edgeagent.app import Vocabulary, stop_words, vocabulary, wake_words
from edgeagent.audio import Resampler, Samples, read_wav
from edgeagent.config import Config
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.stt import (
    LEAD,
    RATE_HZ,
    KeyPhraseSpotter,
    RecognisedText,
    SphinxOptions,
    SphinxTranscriber,
    SpottedPhrase,
    confirm,
    for_error_rate,
    word_error_rate,
)

Rows = list[tuple[str, ...]]

HEADER: Final = ("file", "was said", "was heard", "words wrong: both", "app's", "general", "key phrases")
TRANSCRIPTS: Final = "transcripts.jsonl"
MODELS: Final = {"both": LEAD, "app's": float("-inf"), "general": float("inf")}
"""Which hypothesis counts: the lead that the app's must have."""
_BLOCK: Final = RATE_HZ // 20
_SPOTTED: Final = 160
_IDLE_S: Final = 60.0
_HANG_S: Final = 20.0
_PAUSE: Final = np.zeros(RATE_HZ // 2, np.float32)
_NEVER: Final = Event()


@dataclass(slots=True)
class Recorded:
    """An utterance, and what was made of it."""

    file: str
    text: str
    sound: Samples
    heard: dict[str, RecognisedText] = field(default_factory=dict)
    """By model."""
    spotted: set[str] = field(default_factory=set)

    @property
    def words(self) -> int:
        return len(for_error_rate(self.text).split())

    def wrong(self, model: str) -> float:
        """Words."""
        return self.words * word_error_rate(self.text, self.heard[model].raw)


def rows(folder: Path, config: Config, tell: Callable[[str], None] = lambda text: None) -> tuple[Rows, list[str]]:
    """The table under ``HEADER``; and the files that can't be used.

    Raises:
        EdgeAgentError: There is nothing to be measured, or a recogniser or the app can't be used.
    """
    found, wrong = recordings(folder)
    said = vocabulary(config)
    keywords = stop_words(config) | wake_words(config)
    for model, lead in MODELS.items():
        tell(f"recordings, {model if model == 'both' else model + ' model alone'}")
        _transcribe(found, model, lead, said, list(keywords))
    if keywords:
        tell("recordings, key phrases")
        _spot(found, keywords)
    made: Rows = []
    for one in found:
        rates = (f"{one.wrong(model) / one.words:.0%}" if one.words else "-" for model in MODELS)
        both = one.heard["both"]
        heard = both.raw if both.understood else f"({both.raw})"
        made.append((one.file, one.text, heard, *rates, _of_keywords(one, list(keywords))))
    words = sum(one.words for one in found)
    total = (f"{sum(one.wrong(model) for one in found) / max(words, 1):.1%}" for model in MODELS)
    understood = sum(one.heard["both"].understood for one in found)
    all_files = f"{words} words", f"{understood} of {len(found)} understood, the others in brackets"
    return [*made, ("all", *all_files, *total, _all_keywords(found, list(keywords)))], wrong


def recordings(folder: Path) -> tuple[list[Recorded], list[str]]:
    """What is in a folder; and what of it can't be used.

    Raises:
        ConfigError: It has no transcripts, or none that can be used.
    """
    try:
        lines = (folder / TRANSCRIPTS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{folder / TRANSCRIPTS} can't be read: {error}") from error
    found, wrong = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            file, text = str(told["file"]), str(told["text"])
        except (ValueError, KeyError, TypeError):
            wrong.append(f"{TRANSCRIPTS}, line {number}: no object with file and text")
            continue
        try:
            sound, rate_hz = read_wav(folder / file)
            found.append(Recorded(file, text, Resampler(rate_hz, RATE_HZ).process(sound, last=True)))
        except (EdgeAgentError, OSError) as error:
            wrong.append(f"{file}: {error}")
    if not found:
        raise ConfigError(f"{folder} has no recording that can be used: {'; '.join(wrong) or 'it is empty'}")
    return found, wrong


def _transcribe(found: list[Recorded], model: str, lead: float, said: Vocabulary, keywords: list[str]) -> None:
    phrases = list(dict.fromkeys((*said.phrases, *keywords)))
    ears = SphinxTranscriber(phrases, SphinxOptions(names=said.names, lead=lead, hang_s=_HANG_S))
    try:
        for one in found:
            ears.begin()
            for at in range(0, len(one.sound), _BLOCK):
                ears.feed(one.sound[at : at + _BLOCK])
            ears.wait_idle(_IDLE_S)
            one.heard[model] = ears.finish(_NEVER)
    finally:
        ears.close()


def _spot(found: list[Recorded], keywords: dict[str, float | None]) -> None:
    heard: Queue[SpottedPhrase] = Queue()
    spotter = KeyPhraseSpotter(keywords, heard.put)
    try:
        for one in found:
            spotter.flush()
            sound = np.concatenate((_PAUSE, one.sound, _PAUSE))
            for number, at in enumerate(range(0, len(sound), _SPOTTED)):
                if number % 25 == 0:  # it drops what it can't follow
                    spotter.wait_idle(_IDLE_S)
                spotter.feed(sound[at : at + _SPOTTED], at / RATE_HZ)
            spotter.wait_idle(_IDLE_S)
            one.spotted = {heard.get().phrase for _ in range(heard.qsize())}
    finally:
        spotter.close()


def _of_keywords(one: Recorded, keywords: list[str]) -> str:
    """Spotted, or not; and what the transcript makes of it."""
    told = []
    for phrase in keywords:
        meant, spotted = confirm(one.text, phrase) == "confirmed", phrase in one.spotted
        if meant or spotted:
            kind = ("spotted" if spotted else "missed") if meant else "false alarm"
            transcript = one.heard["both"]
            told.append(f"{phrase}: {kind}, {confirm(transcript.text if transcript.understood else '', phrase)}")
    return "; ".join(told)


def _all_keywords(found: list[Recorded], keywords: list[str]) -> str:
    meant = [(one, phrase) for one in found for phrase in keywords if confirm(one.text, phrase) == "confirmed"]
    spotted = sum(phrase in one.spotted for one, phrase in meant)
    alarms = sum(len(one.spotted) for one in found) - spotted
    minutes = sum(len(one.sound) for one in found) / RATE_HZ / 60
    return f"{spotted} of {len(meant)} spotted, {alarms} false alarms in {minutes:.1f} minutes"
