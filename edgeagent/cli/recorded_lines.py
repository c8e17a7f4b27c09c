"""Lines of a talk that is recorded, beside the sound: who said what and what the robot did, at which second of it.

Runs on whatever thread an event happens.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeagent import events
from edgeagent.cli.activity import Line, latch_line
from edgeagent.cli.talk_view import TalkLines
from edgeagent.errors import ConfigError
from edgeagent.json_lines import JsonLinesFile
from edgeagent.pii import for_log

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.app.conversation import Conversation

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
