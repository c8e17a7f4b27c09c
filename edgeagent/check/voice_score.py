"""Score of a voice test: what the ears made of each line, counted. Values and pure functions, any thread."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeagent.check.voice_plan import Kind, PlannedLine
from edgeagent.check.voice_sound import RoomSound, VoiceSound
from edgeagent.stt.confirming import confirm, missed
from edgeagent.stt.hearing import RecognisedText
from edgeagent.stt.recordings import for_error_rate, word_error_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One line, and what the ears heard when a person said it.

    Attributes:
        heard: Text; empty where nothing was noticed.
        raw: The same, as the engine gave it.
        understood: The recogniser vouches for it.
        parts: Utterances in which the ears heard the line; 0: voice activity noticed nothing.
        spotted: Key phrases that the spotter heard, each with its seconds from the end of the word.
        denied: Those of them that the transcript says were no command.
        told: Key phrases that stand in the transcript as a command.
        latency_s: From the end of speech to the transcript; None where nobody measured it.
        person: Who said it.
        file: Recording, in its folder.
    """

    line: PlannedLine
    heard: str = ""
    raw: str = ""
    understood: bool = False
    parts: int = 0
    spotted: Mapping[str, float | None] = field(default_factory=dict)
    denied: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    latency_s: float | None = None
    sound: VoiceSound = field(default_factory=VoiceSound)
    person: str = ""
    file: str = ""

    @property
    def words(self) -> int:
        """Words of the line."""
        return len(for_error_rate(self.line.text).split())

    @property
    def wrong(self) -> float:
        """Words put in, left out or changed."""
        return self.words * word_error_rate(self.line.text, self.raw)

    @property
    def exact(self) -> bool:
        """The words are right, and the recogniser vouches for them."""
        return self.understood and for_error_rate(self.heard) == for_error_rate(self.line.text)

    @property
    def commands(self) -> frozenset[str]:
        """Key phrases that a robot would obey, but for the wake word that the line asks for."""
        wake = {self.line.phrase} if self.line.kind == "wake" else set()
        return frozenset({*self.spotted, *self.told} - ({*self.denied} - {*self.told}) - wake)

    @property
    def caught(self) -> bool:
        """The key phrase of the line was spotted, or stands in the transcript as a command."""
        phrase = self.line.phrase
        return phrase in self.told or (phrase in self.spotted and phrase not in self.denied)

    @property
    def caught_s(self) -> float | None:
        """Seconds from the end of the key phrase until the robot knew of it; None where that is not known."""
        if not self.caught:
            return None
        return self.spotted.get(self.line.phrase, self.latency_s)

    @property
    def right(self) -> bool:
        """A robot would do what the line asks for."""
        match self.line.kind:
            case "command":
                return self.exact
            case "talk":
                return not self.commands
        return self.caught


def judged(
    line: PlannedLine,
    transcript: RecognisedText,
    spotted: Mapping[str, float | None],
    phrases: Iterable[str],
    **more: Any,
) -> Attempt:
    """Returns the attempt that a transcript and spotted phrases make.

    Args:
        phrases: Every key phrase that a transcript may have.
        more: Further fields of the attempt.
    """
    return Attempt(
        line=line,
        heard=transcript.text,
        raw=transcript.raw or transcript.text,
        understood=transcript.understood,
        spotted=dict(spotted),
        denied=tuple(phrase for phrase in spotted if confirm(transcript, phrase) == "denied"),
        told=tuple(phrase for phrase in phrases if missed(transcript, [phrase]) is not None),
        **more,
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """Count of some lines or words, among all of them."""

    count: int
    of: int

    @property
    def share(self) -> float:
        """From 0 to 1; 0 of none is 0."""
        return self.count / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class VoiceScore:
    """Counts of the lines that were said, by one person at one place or by all."""

    attempts: Sequence[Attempt]

    def of(self, *kinds: Kind) -> list[Attempt]:
        """The lines of some kinds."""
        return [one for one in self.attempts if one.line.kind in kinds]

    def right(self, *kinds: Kind) -> Tally:
        """Lines of some kinds that were heard right."""
        lines = self.of(*kinds)
        return Tally(sum(one.right for one in lines), len(lines))

    @property
    def words_wrong(self) -> Tally:
        """Over the robot's voice, only the stop word counts."""
        lines = [one for one in self.attempts if one.line.kind != "stop_over"]
        return Tally(round(sum(one.wrong for one in lines)), sum(one.words for one in lines))

    @property
    def false_trips(self) -> Tally:
        """Lines without a command to stop that would trip the latch."""
        lines = self.of("command", "talk", "wake")
        return Tally(sum(bool(one.commands) for one in lines), len(lines))

    @property
    def false_holds(self) -> Tally:
        """The same that would only hold motion, until the transcript denies the stop word."""
        lines = self.of("command", "talk", "wake")
        return Tally(sum(bool(one.denied) and not one.commands for one in lines), len(lines))

    @property
    def unnoticed(self) -> Tally:
        """Lines of which voice activity noticed nothing."""
        lines = [one for one in self.attempts if one.line.kind != "stop_over"]
        return Tally(sum(not one.parts for one in lines), len(lines))

    @property
    def cut(self) -> Tally:
        """Lines that a pause cut into several utterances."""
        lines = [one for one in self.attempts if one.line.kind != "stop_over" and one.parts]
        return Tally(sum(one.parts > 1 for one in lines), len(lines))

    @property
    def clipped(self) -> Tally:
        """Lines that the microphone clipped."""
        lines = [one for one in self.attempts if one.sound.speech_db is not None]
        return Tally(sum(one.sound.clipped for one in lines), len(lines))

    @property
    def speech_db(self) -> float | None:
        """Median level of a person at the microphone, in dBFS."""
        return _median(one.sound.speech_db for one in self.attempts)

    @property
    def snr_db(self) -> float | None:
        """Median of the person's voice over the noise."""
        return _median(one.sound.snr_db for one in self.attempts)

    @property
    def latency_s(self) -> float | None:
        """Median time from the end of speech to the transcript."""
        return _median(one.latency_s for one in self.attempts)

    def caught_s(self, *kinds: Kind) -> float | None:
        """Median time from the end of a stop word until it was known."""
        return _median(one.caught_s for one in self.of(*kinds))

    @property
    def groups(self) -> dict[str, VoiceScore]:
        """A score for each person and place, where there are several."""
        found: dict[str, list[Attempt]] = {}
        for one in self.attempts:
            name = ", ".join(part for part in (one.person, one.line.distance) if part) or "nobody named"
            found.setdefault(name, []).append(one)
        return {name: VoiceScore(lines) for name, lines in found.items()} if len(found) > 1 else {}

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        tallies: dict[str, Tally] = {
            "words_wrong": self.words_wrong,
            "commands_right": self.right("command"),
            "stops_heard": self.right("stop"),
            "stops_heard_over_the_robot": self.right("stop_over"),
            "wake_words_heard": self.right("wake"),
            "false_trips": self.false_trips,
            "false_holds": self.false_holds,
            "unnoticed": self.unnoticed,
            "cut": self.cut,
            "clipped": self.clipped,
        }
        return {
            "lines": len(self.attempts),
            **{name: {"count": tally.count, "of": tally.of} for name, tally in tallies.items()},
            "stop_after_s": _rounded(self.caught_s("stop"), 2),
            "stop_over_the_robot_after_s": _rounded(self.caught_s("stop_over"), 2),
            "latency_s": _rounded(self.latency_s, 2),
            "speech_db": _rounded(self.speech_db),
            "snr_db": _rounded(self.snr_db),
        }


@dataclass(frozen=True, slots=True)
class RecogniserScore:
    """A recogniser, measured on recordings.

    Attributes:
        name: As ``--engine`` has it.
        words: Words wrong.
        commands: Commands right.
        decode_s: Median time from the last sample to the words on this machine; None where nobody measured it.
    """

    name: str
    words: Tally
    commands: Tally
    decode_s: float | None


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of a stop word that does better than the present one, on the same recordings.

    Attributes:
        heard, heard_now: Recordings of the word in which it is spotted: with the new threshold and the present one.
        alarms, alarms_now: Recordings without it in which it is spotted likewise.
    """

    phrase: str
    value: float
    heard: Tally
    heard_now: Tally
    alarms: int
    alarms_now: int


@dataclass(frozen=True, slots=True)
class VoiceReport:
    """All that a voice test found.

    Attributes:
        room: None where no room was measured.
        engine: The recogniser of the settings.
        engines: Every recogniser that was compared on the recordings, that of the settings first.
        thresholds: Better ones, by the recordings.
        again: It was made of recordings, so that nothing is known of times.
    """

    score: VoiceScore
    room: RoomSound | None = None
    engine: str = ""
    engines: Sequence[RecogniserScore] = ()
    thresholds: Sequence[Threshold] = ()
    again: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON values; the advice is for the caller to add."""
        room = None if self.room is None else dataclasses.asdict(self.room) | {"left_db": self.room.left_db}
        return {
            "engine": self.engine,
            "again": self.again,
            "all": self.score.as_dict(),
            "groups": {name: score.as_dict() for name, score in self.score.groups.items()},
            "room": room and {name: _rounded(value) for name, value in room.items()},
            "engines": [dataclasses.asdict(one) for one in self.engines],
            "thresholds": [dataclasses.asdict(one) for one in self.thresholds],
            "attempts": [dataclasses.asdict(one) | {"right": one.right} for one in self.score.attempts],
        }


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _rounded(value: Any, digits: int = 1) -> Any:
    return round(value, digits) if isinstance(value, float) else value
