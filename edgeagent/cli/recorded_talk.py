"""A talk that is recorded: the lines beside its sound, and ``edgeagent replay talk.wav``, which plays both.

Lines tell who said what and what the robot did, at which second of the sound. They are written on whatever thread an
event happens, and shown on the main thread when their time has come; PortAudio's thread takes the sound.
"""

from __future__ import annotations

import json
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from edgeagent import events
from edgeagent.cli import streams
from edgeagent.cli.activity import Line, TalkLines, latch_line
from edgeagent.cli.streams import Tone, one_line, toned
from edgeagent.errors import AudioError, ConfigError
from edgeagent.json_lines import JsonLinesFile
from edgeagent.pii import for_log

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.app.conversation import Conversation
    from edgeagent.audio.playback import PlaybackQueue
    from edgeagent.audio.wav import WavReader
    from edgeagent.config import Config


logger = logging.getLogger(__name__)
SOUND: Final = ".wav"
"""End of the name of the sound."""
LINES: Final = ".lines.jsonl"
"""End of the name of the lines."""


def lines_of(sound: Path) -> Path:
    """File of the lines that belong to a recording."""
    return sound.with_suffix(LINES)


def check_target(path: Path) -> None:
    """Finds out early that a recording can't be kept there.

    Raises:
        ConfigError: It can't.
    """
    if path.suffix.lower() != SOUND:
        raise ConfigError(f"--record {path}: a recording is a WAV file; name it {path.with_suffix(SOUND).name}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"--record {path}: there is no such folder, or it is not yours")


def record_lines(conversation: Conversation, path: Path, app: App) -> Path:
    """Has a conversation recorded, its sound and its lines; returns the file of the sound.

    Raises:
        AudioError: The file can't be made.
    """
    recorder = conversation.record(_free(path))
    lines = RecordedLines(lines_of(recorder.path), recorder.at_s, name=app.agent.name, mode=app.pii.log)
    conversation.subscribe(lines.take)
    conversation.latch.subscribe(lambda state, reason: lines.write(time.monotonic(), latch_line(state, reason)))
    return recorder.path


def _free(path: Path) -> Path:
    """The path, or the first one with a number where neither sound nor lines are there: nothing is overwritten."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(one for one in chain([path], numbered) if not any(map(os.path.lexists, (one, lines_of(one)))))


class RecordedLines:
    """Writes the lines of one talk. A disk that is full ends that, never the talk.

    Args:
        path: Its owner alone may read it.
        at_s: Tells the second of the sound at a time of the monotonic clock.
        name: The robot's.
        mode: Treatment of personal data in the lines; the sound has what was said.

    Raises:
        ConfigError: The file can't be made.
    """

    def __init__(self, path: Path, at_s: Callable[[float], float], *, name: str, mode: Any) -> None:
        self._path, self._at_s, self._mode = path, at_s, mode
        self._file: JsonLinesFile | None = JsonLinesFile(path, max_mb=math.inf)
        self._lines = TalkLines(name)
        self._lock = threading.Lock()

    def take(self, event: events.Event | events.VoiceEvent) -> None:
        """Writes the lines of an event."""
        with self._lock:
            lines = self._lines.lines(event)
        for line in lines:
            self.write(event.t, line)

    def write(self, monotonic_s: float, line: Line | None) -> None:
        """Writes a line that belongs to a time of the monotonic clock; None is nothing."""
        file = self._file
        if file is None or line is None:
            return
        fields = {"at_s": round(self._at_s(monotonic_s), 2), "text": line.text, "tone": line.tone}
        try:
            file.write(for_log(fields, self._mode, "the lines of the recording"))
        except OSError as error:
            with self._lock:
                first, self._file = self._file is not None, None
            if not first:
                return
            file.close()
            logger.warning("%s cannot be written: %s; no more lines are kept", self._path, error.strerror)


# --- played again -----------------------------------------------------------------------------------------------------


_AHEAD_S: Final = 1.0
"""Seconds of sound that wait for the loudspeaker."""
_PIECE_S: Final = 0.02
"""Seconds of sound that are read at once, and seconds between two looks at the lines."""


def replay_sound(file: Path, config: Config, *, as_json: bool) -> None:
    """Plays a recording with its lines. Without a loudspeaker, and as JSON, the lines are shown at once.

    Raises:
        AudioError: The file is no WAV.
        ConfigError: It can't be read, or the lines beside it are none.
    """
    from edgeagent.app.ears_setup import open_device
    from edgeagent.audio.playback import PlaybackQueue
    from edgeagent.audio.wav import WavReader

    lines = deque(_lines(lines_of(file)))
    try:
        stream = file.open("rb")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error
    with stream:
        reader = WavReader(stream, str(file))
        if as_json:
            for line in lines:
                streams.answer_json(line)
            return
        if not lines:
            streams.tell(f"there are no lines in {lines_of(file)}", "dim")
        try:
            device = open_device(config, ends=("output",))
            queue = PlaybackQueue(device.output_rate_hz or reader.rate_hz)
            device.start(fill=queue.fill)
        except AudioError as error:
            streams.warn(f"{error}; so it is not played")
            _show(lines, float("inf"))
            return
        try:
            for played_s in _played(reader, queue):
                _show(lines, played_s)
        finally:
            device.stop()
        _show(lines, float("inf"))


def _played(reader: WavReader, queue: PlaybackQueue) -> Iterator[float]:
    """Plays a file. Yields now and then the seconds of it that were given to the loudspeaker."""
    from edgeagent.audio.stream_clock import Resampler

    resampler = Resampler(reader.rate_hz, queue.rate_hz)
    sound, pause = queue.begin(), threading.Event()
    while not sound.ended:
        while not sound.complete and sound.queued_s < _AHEAD_S:
            piece = reader.read(round(_PIECE_S * reader.rate_hz))
            queue.write(sound, resampler.process(piece, last=not len(piece)))
            if not len(piece):
                queue.finish(sound)
        pause.wait(_PIECE_S)
        yield sound.handed_s


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
    while lines and lines[0]["at_s"] <= until_s:
        line = lines.popleft()
        tone: Tone = line["tone"] if line["tone"] in get_args(Tone) else "plain"
        indent = "  " if line["text"].startswith("  ") else ""
        text = toned(indent + one_line(line["text"]), tone)
        streams.answer(f"{line['at_s']:7.1f} s  {text}")
