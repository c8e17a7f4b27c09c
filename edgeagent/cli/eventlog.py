"""``--log``: every event as a line of JSON, appended and on disk as far as the system is concerned."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from edgeagent import events
from edgeagent.cli import streams
from edgeagent.errors import ConfigError


class EventLog:
    """A subscriber that writes. Called on the threads of runs and voice; a disk that is full ends it, never the run.

    Args:
        path: Created with mode 0600, because it holds what was said; None writes nothing.

    Raises:
        ConfigError: The file cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file: int | None = None
        if path is not None:
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise ConfigError(f"the log {path} cannot be opened: {error.strerror}") from None

    def __call__(self, event: events.Event | events.VoiceEvent) -> None:
        with self._lock:
            if self._file is None:
                return
            rest = (events.to_json(event) + "\n").encode("utf-8", "replace")
            try:
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            except OSError as error:
                streams.warn(f"the log {self._path} cannot be written: {error.strerror}; no more events are logged")
                self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
