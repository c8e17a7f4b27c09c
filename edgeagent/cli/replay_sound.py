"""``edgeagent replay talk.wav``: plays what ``talk --record`` kept, and shows its lines when their time has come.

Runs on the main thread; PortAudio's thread takes the sound.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from edgeagent.cli import streams
from edgeagent.cli.recorded_lines import lines_of
from edgeagent.cli.streams import Tone, toned
from edgeagent.cli.text import one_line
from edgeagent.errors import AudioError, ConfigError

if TYPE_CHECKING:
    from edgeagent.audio.device import Device, Samples
    from edgeagent.audio.wav import WavReader
    from edgeagent.config import Config

_AHEAD_S: Final = 1.0
"""Seconds of sound that wait for the loudspeaker."""
_PIECE_S: Final = 0.1


def replay_sound(file: Path, config: Config, *, as_json: bool) -> None:
    """Plays a recording with its lines. Without a loudspeaker, and as JSON, the lines are shown at once.

    Raises:
        AudioError: The file is no WAV.
        ConfigError: It can't be read, or the lines beside it are none.
    """
    from edgeagent.app.ears_setup import open_device
    from edgeagent.audio.wav import WavReader

    lines = deque(_lines(lines_of(file)))
    if as_json:
        for line in lines:
            streams.answer_json(line)
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error
    with stream:
        reader = WavReader(stream, str(file))
        if not lines:
            streams.tell(f"there are no lines in {lines_of(file)}", "dim")
        try:
            device = open_device(config, ends=("output",))
            player = _Player(reader, device)
        except AudioError as error:
            streams.warn(f"{error}; so it is not played")
            _show(lines, float("inf"))
            return
        try:
            while player.go_on():
                _show(lines, player.played_s)
        finally:
            device.stop()
        _show(lines, float("inf"))


class _Player:
    """Plays a file through a device, from now on.

    Raises:
        AudioError: The device can't be opened.
    """

    def __init__(self, reader: WavReader, device: Device) -> None:
        from edgeagent.audio.stream_clock import Resampler

        self._reader, self._rate_hz = reader, device.output_rate_hz or reader.rate_hz
        self._resampler = Resampler(reader.rate_hz, self._rate_hz)
        self._waiting: deque[Samples] = deque()
        self._read = self._played = 0
        """Samples at the device's rate."""
        self._ended = False
        self._turned = threading.Event()
        device.start(fill=self._fill)

    @property
    def played_s(self) -> float:
        """Seconds of the file that were given to the loudspeaker."""
        return self._played / self._rate_hz

    def go_on(self) -> bool:
        """Reads on, and waits a moment; False when all of it was played."""
        while not self._ended and self._read - self._played < _AHEAD_S * self._rate_hz:
            piece = self._reader.read(round(_PIECE_S * self._reader.rate_hz))
            self._ended = not len(piece)
            made = self._resampler.process(piece, last=self._ended)
            self._read += len(made)
            self._waiting.append(made)
        self._turned.wait(_PIECE_S)
        self._turned.clear()
        return not self._ended or self._played < self._read

    def _fill(self, block: Samples, dac_s: float) -> None:
        """The device's thread: waits for nothing."""
        at = 0
        while at < len(block) and self._waiting:
            piece = self._waiting.popleft()
            taken = piece[: len(block) - at]
            block[at : at + len(taken)] = taken
            at += len(taken)
            if len(taken) < len(piece):
                self._waiting.appendleft(piece[len(taken) :])
        self._played += at
        self._turned.set()


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a recording; none where there is no such file. One that a kill has cut is left out."""
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    found = []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            found.append({"at_s": float(line["at_s"]), "text": str(line["text"]), "tone": str(line["tone"])})
        except (ValueError, KeyError, TypeError) as error:
            if number < len(texts):
                raise ConfigError(f"{path}:{number}: this is no line of a recording") from error
    return sorted(found, key=lambda line: line["at_s"])


def _show(lines: deque[dict[str, Any]], until_s: float) -> None:
    colour = streams.coloured(streams.stdout())
    while lines and lines[0]["at_s"] <= until_s:
        line = lines.popleft()
        tone: Tone = line["tone"] if line["tone"] in get_args(Tone) else "plain"
        indent = "  " if line["text"].startswith("  ") else ""
        text = toned(indent + one_line(line["text"]), tone, colour=colour)
        streams.answer(f"{line['at_s']:7.1f} s  {text}")
