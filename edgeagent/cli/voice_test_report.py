"""Screen and report of a voice test."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from edgeagent.check.voice_advice import LEAST_SNR_DB, LOUD_DB, QUIET_DB, Advice, Mixer, advice
from edgeagent.check.voice_plan import Kind, PlannedLine
from edgeagent.check.voice_score import Attempt, RecogniserScore, Tally, VoiceReport, VoiceScore
from edgeagent.check.voice_sound import RoomSound
from edgeagent.cli import streams
from edgeagent.cli.listen_view import METER_CELLS, METER_EVERY_S, meter
from edgeagent.cli.streams import CLEAR_LINE, one_line, toned
from edgeagent.config import Config
from edgeagent.stt.hearing import Level

Row = tuple[str, str]
"""Name and figure."""

_NAME: Final = 26
_SPEECH_DB: Final = (-60.0, 0.0)
_NOISE_DB: Final = (-90.0, -30.0)
_SNR_DB: Final = (0.0, 50.0)
"""Ends of the bars."""
_CAUGHT: Final[tuple[tuple[str, Kind], ...]] = (
    ("stop words caught", "stop"),
    ("  while the robot speaks", "stop_over"),
    ("wake words caught", "wake"),
)


def show_report(report: VoiceReport, config: Config, mixer: Mixer, *, json: bool, folder: Path | None = None) -> None:
    """Prints the report, and what to change.

    Args:
        mixer: Ways to change the microphone's level.
        json: One JSON object in place of text.
        folder: Of the recordings; None: none was made.
    """
    found = advice(report, config, mixer)
    if json:
        told = {
            **report.as_dict(),
            "advice": [asdict(one) for one in found],
            "recordings": None if folder is None else str(folder),
        }
        streams.answer_json(told, indent=2)
        return
    streams.answer("")
    for name, figure in _rows(report):
        streams.answer(f"{one_line(name) if name.strip() == name else name:<{_NAME}}{figure}".rstrip())
    streams.answer("")
    streams.answer("What to change", "bold")
    if not report.score.attempts:
        streams.answer("  nobody knows yet: no sentence was said")
    elif not found:
        streams.answer("  nothing: all is well")
    for number, one in enumerate(found, 1):
        _show_advice(number, one)
    if folder is not None:
        streams.answer("")
        streams.answer(f"recordings: {folder}", "dim")
        streams.answer("edgeagent voice-test --delete deletes them", "dim")


def _show_advice(number: int, one: Advice) -> None:
    told: tuple[tuple[str, streams.Tone], ...] = ((one.found, "warning"), (one.do, "plain"))
    for place, (text, tone) in enumerate(told):
        for line, part in enumerate(streams.fitted(text, 6)):
            mark = f"{number:>3}. " if place == line == 0 else " " * 5
            streams.answer(mark + toned(part, tone))
    if one.setting:
        streams.answer(" " * 7 + toned(one.setting, "name"))


def _rows(report: VoiceReport) -> Iterator[Row]:
    score, room = report.score, report.room
    if score.attempts:
        yield from _heard_rows(score)
    yield from _sound_rows(score, room)
    for name, one in score.groups.items():
        yield name, _group(one)
    for engine in report.engines:
        yield engine.name, _engine(engine)


def _heard_rows(score: VoiceScore) -> Iterator[Row]:
    yield "words wrong", _share(score.words_wrong)
    if (commands := score.right("command")).of:
        yield "commands right", _count(commands)
    for name, kind in _CAUGHT:
        if (tally := score.right(kind)).of:
            after_s = score.caught_s(kind)
            yield name, _count(tally) + ("" if after_s is None else f", {after_s:.2f} s after the word")
    if (trips := score.false_trips).of:
        held = score.false_holds.count
        yield "false stops", _count(trips) + (f"; {held} held the robot for a moment" if held else "")
    if score.latency_s is not None:
        yield "words known after", f"{score.latency_s:.2f} s"


def _sound_rows(score: VoiceScore, room: RoomSound | None) -> Iterator[Row]:
    if score.speech_db is not None:
        good = f"good: {QUIET_DB:.0f} to {LOUD_DB:.0f}"
        yield "speech", f"{score.speech_db:4.0f} dBFS  {_bar(score.speech_db, *_SPEECH_DB)}{good}"
    if room is not None:
        yield "noise", f"{room.noise_db:4.0f} dBFS  {_bar(room.noise_db, *_NOISE_DB)}"
    if score.snr_db is not None:
        good = f"good: {LEAST_SNR_DB:.0f} or more"
        yield "voice over noise", f"{score.snr_db:4.0f} dB    {_bar(score.snr_db, *_SNR_DB)}{good}"
    if (clipped := score.clipped).of:
        yield "clipped", _count(clipped)
    if room is not None and room.played_db is not None:
        yield from _echo_rows(room, score.speech_db)


def _echo_rows(room: RoomSound, speech_db: float | None) -> Iterator[Row]:
    if room.echo_db is None or room.gain_db is None:
        yield "echo", "none: the microphone does not hear the loudspeaker"
    else:
        figures = [f"{room.echo_db:4.0f} dBFS, {room.gain_db:+.0f} dB beside what is played"]
        if speech_db is not None:
            way = "over" if room.echo_db > speech_db else "under"
            figures.append(f"{abs(room.echo_db - speech_db):.0f} dB {way} you")
        if room.removed_db is not None and room.left_db is not None:
            figures.append(f"{room.removed_db:.0f} dB of it removed, {room.left_db:.0f} dBFS left")
        yield "echo", ", ".join(figures)
    if room.own_voice:
        yield "own voice taken for you", "once" if room.own_voice == 1 else f"{room.own_voice} times"
    if room.xruns:
        yield "device late", "once" if room.xruns == 1 else f"{room.xruns} times"


def _group(score: VoiceScore) -> str:
    """One person at one place, in a line."""
    figures = [
        f"{_share(score.words_wrong)} words wrong",
        f"{_count(score.right('command'))} commands",
        f"{_count(score.right('stop', 'stop_over'))} stop words",
    ]
    if score.speech_db is not None:
        figures.append(f"{score.speech_db:.0f} dBFS")
    if score.snr_db is not None:
        figures.append(f"{score.snr_db:.0f} dB over noise")
    return ", ".join(figures)


def _engine(engine: RecogniserScore) -> str:
    late = "" if engine.decode_s is None else f", {engine.decode_s:.2f} s"
    return f"{_share(engine.words)} words wrong, {_count(engine.commands)} commands{late}"


def _count(tally: Tally) -> str:
    return f"{tally.count} of {tally.of}"


def _share(tally: Tally) -> str:
    return f"{_count(tally)} ({tally.share:.0%})" if tally.of else "none said"


def _bar(value: float, low: float, high: float) -> str:
    """A small bar, on a terminal only."""
    stream = streams.stdout()
    if not stream.isatty():
        return ""
    full, empty = ("█", "·") if streams.is_utf8(stream) else ("#", ".")
    cells = round(min(max((value - low) / (high - low), 0.0), 1.0) * METER_CELLS)
    return f"{full * cells}{empty * (METER_CELLS - cells)}  "


_INDENT: Final = " " * 10


class StageView:
    """Shows a test as it goes on: on stdout, or with ``--json`` on stderr.

    Attributes:
        json: As given.
    """

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self._stream = sys.stderr if json else streams.stdout()
        self._utf8 = streams.is_utf8(self._stream)
        self._animated = streams.animated(self._stream)
        self._listening = self._drawn = False
        self._drawn_s = 0.0

    def begin(self, device: str, count: int) -> None:
        """Shows what is about to happen."""
        self.tell(f"{count} sentences through {device}; Ctrl-C ends it, and reports what there is")

    def tell(self, text: str) -> None:
        self._line(toned(one_line(text), "dim", self._stream))

    def doing(self, text: str) -> None:
        """Shows what takes a while; on a terminal only."""
        if self._animated:
            streams.draw(self._stream, f"{CLEAR_LINE}{toned(one_line(text) + ' …', 'dim', self._stream)}")
            self._drawn = True

    def ask(self, number: int, count: int, line: PlannedLine) -> None:
        self._listening = False
        asked = "while I talk, say" if line.kind == "stop_over" else "please say"
        self._line(f"{number:>3} of {count}  {asked}: " + toned(one_line(line.text), "bold", self._stream))

    def listen(self, line: PlannedLine) -> None:
        self._listening = True

    def level(self, level: Level) -> None:
        if self._listening and self._animated and time.monotonic() - self._drawn_s >= METER_EVERY_S:
            self._drawn_s = time.monotonic()
            streams.draw(self._stream, f"{CLEAR_LINE}{_INDENT}{meter(level, utf8=self._utf8)}")
            self._drawn = True

    def show(self, attempt: Attempt) -> None:
        self._listening = False
        mark, tone = self._mark(attempt.right)
        told = ", ".join(_of(attempt))
        clipped = toned("  clipped", "warning", self._stream) if attempt.sound.clipped else ""
        self._line(f"{_INDENT}{toned(mark, tone, self._stream)} {told}{clipped}")

    def move(self, distance: str) -> None:
        self._line(toned(f"please go to: {one_line(distance)}", "name", self._stream))
        streams.typed("Enter when you are there ")

    def end(self) -> None:
        """Takes the meter away."""
        self._listening = False
        if self._drawn:
            self._drawn = False
            streams.draw(self._stream, CLEAR_LINE)

    def _mark(self, right: bool) -> tuple[str, streams.Tone]:
        if right:
            return ("✓" if self._utf8 else "ok"), "name"
        return ("✗" if self._utf8 else "NO"), "warning"

    def _line(self, text: str) -> None:
        self.end()
        if self.json:
            streams.tell(text)
        else:
            streams.answer(text)


def _of(attempt: Attempt) -> Iterator[str]:
    """Tells in pieces how a line was heard."""
    words = one_line(attempt.heard)
    yield (words if attempt.understood else f"{words} (not understood)".strip()) if words else "nothing was heard"
    match attempt.line.kind:
        case "command":
            return
        case "talk":
            if attempt.commands:
                yield f"taken for: {', '.join(sorted(attempt.commands))}"
            elif attempt.denied:
                yield "held for a moment"
        case _ if not attempt.caught:
            yield "not caught"
        case _:
            yield "caught" if attempt.caught_s is None else f"caught after {attempt.caught_s:.2f} s"
