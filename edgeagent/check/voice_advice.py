"""Advice after a voice test: what to change, as rows of a table. Pure functions, any thread.

A row says when it applies, what is wrong and what to do. Its limits are rules of thumb where no source is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from edgeagent.app.ears_setup import stop_words
from edgeagent.check.voice_score import RecogniserScore, VoiceReport
from edgeagent.config import Config
from edgeagent.stt.stop_network import learnt

QUIET_DB: Final = -40.0
"""dBFS of speech under which a microphone is too quiet: 16 bits and a card's own noise leave little under it."""
LOUD_DB: Final = -10.0
"""dBFS of speech over which its peaks are about to clip: they are 10 to 15 dB higher."""
LEAST_SNR_DB: Final = 20.0
"""Voice over noise: at 20 dB one word in five of a command is wrong in noise, at 10 dB one in two (docs/figures.md)."""
ECHO_OVER_DB: Final = 1.0
"""Echo over the person's voice: up to as loud, stop words over the robot are heard (docs/figures.md)."""
LEAST_REMOVED_DB: Final = 20.0
"""Echo that a canceller removes from a loudspeaker that does not distort (``edgeagent doctor --sound``)."""
_MANY_CLIPPED: Final = 0.1
_MANY_CUT: Final = 0.15
_MANY_UNNOTICED: Final = 0.1
_FEW_COMMANDS: Final = 0.7
_LEAST_COMMANDS: Final = 4
_FEW_STOPS: Final = 0.8
_BETTER: Final = 0.75
"""Another recogniser is better if it has at most this share of the words wrong."""
_BETTER_WORDS: Final = 3
"""... and so many fewer."""
_SLOW_S: Final = 1.5


@dataclass(frozen=True, slots=True)
class Mixer:
    """Ways to change the microphone's level on this machine."""

    louder: str = "in the mixer of your system"
    quieter: str = "in the mixer of your system"


@dataclass(frozen=True, slots=True)
class Known:
    """All that the rows look at."""

    report: VoiceReport
    config: Config
    mixer: Mixer

    @property
    def speech_db(self) -> float | None:
        return self.report.score.speech_db

    @property
    def snr_db(self) -> float | None:
        return self.report.score.snr_db

    @property
    def echo_db(self) -> float | None:
        return None if self.report.room is None else self.report.room.echo_db

    @property
    def removed_db(self) -> float | None:
        return None if self.report.room is None else self.report.room.removed_db

    @property
    def echo_over_db(self) -> float | None:
        """Of the echo, beside the person's voice."""
        return None if self.echo_db is None or self.speech_db is None else self.echo_db - self.speech_db

    @property
    def echo_mode(self) -> str:
        return str(self.config.audio.get("echo", "webrtc"))

    @property
    def is_in_time(self) -> bool:
        """The device was never late while the robot's echo was measured."""
        return self.report.room is None or self.report.room.xruns == 0

    @property
    def is_clipped(self) -> bool:
        return self.report.score.clipped.share >= _MANY_CLIPPED

    @property
    def is_clean(self) -> bool:
        """Nothing is wrong with the sound, so what is wrong is elsewhere."""
        quiet = self.speech_db is not None and self.speech_db < QUIET_DB
        noisy = self.snr_db is not None and self.snr_db < LEAST_SNR_DB
        return not (quiet or noisy or self.is_clipped)

    @property
    def better_engine(self) -> RecogniserScore | None:
        """Another recogniser with clearly fewer words wrong on the same recordings."""
        if not self.report.engines:
            return None
        own, *others = self.report.engines
        best = min(others, key=lambda one: one.words.count)
        enough = own.words.count - best.words.count >= _BETTER_WORDS
        return best if enough and best.words.count <= _BETTER * own.words.count else None

    @property
    def stops(self) -> float:
        """Share of stop words that were heard."""
        return self.report.score.right("stop", "stop_over").share

    @property
    def missed(self) -> list[str]:
        """Stop words that were not heard, each time."""
        return [one.line.phrase for one in self.report.score.of("stop", "stop_over") if not one.right]


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change.

    Attributes:
        name: Of the rule.
        found: What is wrong, in figures.
        do: What to do.
        setting: A line of the settings file that does it, with its table; empty where none does.
    """

    name: str
    found: str
    do: str
    setting: str = ""


@dataclass(frozen=True, slots=True)
class VoiceRule:
    """A row: when it applies, and its texts, which may name figures of ``_figures``."""

    name: str
    applies: Callable[[Known], bool]
    found: str
    do: str
    setting: str = ""


VOICE_RULES: Final = (
    VoiceRule(
        "silent",
        lambda known: known.report.room is not None and known.report.room.silent and known.speech_db is None,
        "the microphone gives nothing at all, not even noise",
        "switch it on, unmute it, or take another one: edgeagent doctor lists them",
        '[audio] input = "a part of its name"',
    ),
    VoiceRule(
        "clipped",
        lambda known: known.is_clipped,
        "{clipped} of {sentences} sentences are clipped: the microphone is too loud",
        "turn it down: {quieter}",
    ),
    VoiceRule(
        "loud",
        lambda known: not known.is_clipped and known.speech_db is not None and known.speech_db > LOUD_DB,
        "speech is at {speech} dBFS: a raised voice will clip",
        "turn the microphone down: {quieter}",
    ),
    VoiceRule(
        "quiet",
        lambda known: known.speech_db is not None and known.speech_db < QUIET_DB,
        "speech is at {speech} dBFS: the microphone is too quiet",
        "turn it up: {louder}; or bring it nearer",
    ),
    VoiceRule(
        "noise",
        lambda known: known.snr_db is not None and known.snr_db < LEAST_SNR_DB,
        "speech is only {snr} dB over the noise (at least {least_snr})",
        "bring the microphone nearer to the person, and away from fans and motors",
    ),
    VoiceRule(
        "late",
        lambda known: known.report.room is not None and known.report.room.xruns > 0,
        "the device was late {xruns} times while I spoke a sentence, and echoes are found anew after each",
        "close what uses the processor, or let the device have more time; then test again",
        "[audio] latency_ms = {latency}",
    ),
    VoiceRule(
        "echo off",
        lambda known: known.echo_mode == "off" and known.echo_db is not None,
        "the microphone hears the robot, and nobody removes its echo",
        "have it removed",
        '[audio] echo = "webrtc"',
    ),
    VoiceRule(
        "echo loud",
        lambda known: known.echo_over_db is not None and known.echo_over_db > ECHO_OVER_DB,
        "the robot's echo is {echo_over} dB louder than the person",
        "turn the loudspeaker down by {echo_over} dB or more, or move the microphone away from it",
        "[speech] volume = {volume}",
    ),
    VoiceRule(
        "echo left",
        lambda known: known.is_in_time and known.removed_db is not None and known.removed_db < LEAST_REMOVED_DB,
        "only {removed} dB of the echo are removed: the loudspeaker distorts, or it was not quiet",
        "turn the loudspeaker down, fasten what rattles, and test again",
    ),
    VoiceRule(
        "own voice",
        lambda known: known.is_in_time and known.report.room is not None and known.report.room.own_voice > 0,
        "the robot took its own voice for a person's",
        "turn the loudspeaker down, move the microphone away from it, or make it harder to interrupt",
        '[conversation] barge_in = "strict"',
    ),
    VoiceRule(
        "unnoticed",
        lambda known: known.is_clean and known.report.score.unnoticed.share >= _MANY_UNNOTICED,
        "{unnoticed} of {lines} sentences were not noticed as speech, though the sound is good",
        "speak when I have finished, and let the microphone be without noise suppression of its own",
    ),
    VoiceRule(
        "cut",
        lambda known: known.report.score.cut.share >= _MANY_CUT,
        "{cut} of {lines} sentences were cut in two at a pause",
        "wait longer for the end of speech",
        "[expert] hard_end_ms = {hard_end}",
    ),
    VoiceRule(
        "engine",
        lambda known: known.better_engine is not None and (known.better_engine.decode_s or 0.0) <= _SLOW_S,
        "{better} has {better_wrong} words wrong where {own} has {own_wrong}, and takes {better_s} s",
        "take it: --engine {better}",
        '[ears] engine = "{better}"',
    ),
    VoiceRule(
        "commands",
        lambda known: (
            known.is_clean
            and known.better_engine is None
            and known.report.score.right("command").of >= _LEAST_COMMANDS
            and known.report.score.right("command").share < _FEW_COMMANDS
        ),
        "{commands} of {said} commands were heard right, though the sound is good",
        "list commands as your people say them: phrases= of your tools and your agent",
    ),
    VoiceRule(
        "stop words",
        lambda known: not known.report.thresholds and len(known.missed) > 1 and known.stops < _FEW_STOPS,
        "{stops} of {stops_said} stop words were heard; not heard: {missed}",
        "say {listened}, which the spotter listens for, by itself and a little louder; keep another way to stop the "
        "robot in reach",
    ),
)
"""Rows in the order of their weight: what is wrong with the sound is mended first."""


def advice(report: VoiceReport, config: Config, mixer: Mixer | None = None) -> list[Advice]:
    """Returns the advice of all rules that apply, the weightiest first; none where all is well."""
    known = Known(report, config, mixer or Mixer())
    figures = _figures(known)
    found = [
        Advice(rule.name, rule.found.format_map(figures), rule.do.format_map(figures), rule.setting.format_map(figures))
        for rule in VOICE_RULES
        if rule.applies(known)
    ]
    for one in report.thresholds:
        others = [
            f"{phrase}/{value:g}" if value else phrase
            for phrase, value in stop_words(config).items()
            if phrase != one.phrase
        ]
        words = ", ".join([f"{one.phrase}/{one.value:.0e}", *others])
        better = f"{one.heard.count} of {one.heard.of} in place of {one.heard_now.count}"
        told = f"with another threshold {one.phrase!r} is spotted {better}, false alarms {one.alarms} in place of "
        do = "set it"
        if learnt({one.phrase: None}):
            do += f"; PocketSphinx alone then listens for {one.phrase!r}: a threshold takes the word from the network"
        found.append(Advice("threshold", told + str(one.alarms_now), do, f'[ears] stop_words = "{words}"'))
    return found


def _figures(known: Known) -> Mapping[str, object]:
    """Figures by the names that the rows have for them."""
    score, better = known.report.score, known.better_engine
    own = known.report.engines[0] if known.report.engines else None
    volume = int(known.config.speech.get("volume", 100))
    over_db = max(known.echo_over_db or 0.0, 0.0)
    stops, commands = score.right("stop", "stop_over"), score.right("command")
    return {
        "speech": _whole(known.speech_db),
        "snr": _whole(known.snr_db),
        "least_snr": f"{LEAST_SNR_DB:.0f}",
        "removed": _whole(known.removed_db),
        "xruns": 0 if known.report.room is None else known.report.room.xruns,
        "latency": 2 * int(known.config.audio.get("latency_ms", 60)),
        "echo_over": _whole(over_db),
        "volume": max(round(volume * 10 ** (-over_db / 20)), 1),
        "quieter": known.mixer.quieter,
        "louder": known.mixer.louder,
        "clipped": score.clipped.count,
        "sentences": score.clipped.of,
        "unnoticed": score.unnoticed.count,
        "cut": score.cut.count,
        "lines": score.unnoticed.of,
        "hard_end": round(float(known.config.ears.get("hard_end_ms", 700)) + 400),
        "commands": commands.count,
        "said": commands.of,
        "stops": stops.count,
        "stops_said": stops.of,
        "missed": ", ".join(dict.fromkeys(known.missed)),
        "listened": " or ".join(repr(phrase) for phrase in stop_words(known.config)),
        "better": better.name if better else "",
        "better_wrong": better.words.count if better else 0,
        "better_s": f"{better.decode_s or 0.0:.1f}" if better else "",
        "own": own.name if own else "",
        "own_wrong": own.words.count if own else 0,
    }


def _whole(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"
