"""Lines of JSON: the text of one, and a file that lines are appended to and that never outgrows its limit.

Logs and audits are such files. Knows nothing of what the lines tell. Any thread, any number of processes.
"""

from __future__ import annotations

import fcntl
import functools
import json
import math
import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import ConfigError

MAX_MB: Final = 10.0
"""Megabytes (of a million bytes) of one file, after which a new one is begun."""
FILES: Final = 5
"""Files of one log or audit, the one that is written included: 50 MB in all, little beside the smallest SD card."""

_IN_MIDST: Final = 2
"""Times the limit that a file may grow to in the midst of something that is told in several lines."""
_UNSEEN: Final = re.compile(
    r"[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""C1 controls, line separators, marks and overrides of the writing direction, and what Unicode calls
default-ignorable: characters that change how a terminal or an editor shows the rest, and can't be seen themselves."""


def json_text(value: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """The value as JSON in which every character can be seen: what can't is written as ``\\uXXXX``.

    What JSON has no form for is written as its ``repr``. NaN and infinity are ``null``, as ``JSON.stringify`` writes
    them (ECMA-262, SerializeJSONProperty).
    """
    dumps = functools.partial(json.dumps, ensure_ascii=ascii_only, indent=indent, default=repr, allow_nan=False)
    try:
        text = dumps(value)
    except ValueError:
        text = dumps(json.loads(json.dumps(value, default=repr), parse_constant=lambda _: None))
    return _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


class JsonLinesFile:
    """A file to append to. When it is full it becomes ``PATH.1``, that one ``PATH.2`` and so on; the oldest goes.

    A line is one write, so the lines of two processes do not mix, and is on its way to the disk when ``write``
    returns. Where a line could not be written to its end, the next one begins anew.

    Args:
        path: Created with mode 0600. What is no regular file, such as a pipe, never rotates.
        max_mb: Megabytes of one file.
        files: How many there are at most, this one included.
        told: Name of the file in the error, such as "the log x.jsonl"; its path by default.

    Raises:
        ConfigError: The file cannot be opened, or a limit is none.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_mb: float = MAX_MB, files: int = FILES, told: str = ""
    ) -> None:
        if not _is_number(max_mb) or not max_mb > 0:
            raise ConfigError(f"max_mb={max_mb!r}: it should be a number of megabytes above 0; math.inf is no limit")
        if type(files) is not int or files < 1:
            raise ConfigError(f"files={files!r}: it should be a whole number from 1 on")
        self._path: Final = Path(os.path.realpath(path))
        self._limit_bytes = max_mb * 1e6
        self._files = files
        self._lock = threading.Lock()
        try:
            self._file: int | None = _opened(self._path)
        except OSError as error:
            raise ConfigError(f"{told or path} cannot be opened: {error.strerror}") from error
        self._torn = _is_torn(self._path)

    def write(self, value: Any, *, in_midst: bool = False) -> None:
        """Appends a line.

        Args:
            in_midst: The line belongs to those before it, so no new file begins with it if that can be helped.

        Raises:
            OSError: The disk is full, an older file cannot be renamed, or the file is closed.
        """
        line = json_text(value).encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._file is None:
                raise OSError("it is closed")
            if not self._has_room(self._file, len(line), self._limit_bytes * (_IN_MIDST if in_midst else 1)):
                self._file = self._begin_anew(self._file)
            rest = b"\n" + line if self._torn else line
            self._torn = True
            with _held(self._file):
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            self._torn = False

    def close(self) -> None:
        """Safe to call again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()

    def _has_room(self, file: int, size: int, limit_bytes: float) -> bool:
        now = os.fstat(file)
        return not stat.S_ISREG(now.st_mode) or now.st_size == 0 or now.st_size + size <= limit_bytes

    def _begin_anew(self, full: int) -> int:
        """The file to write to from now on. Of several processes the first one renames."""
        try:
            fcntl.flock(full, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process is at it
            return full
        try:
            self._make_room(full)
            fresh = _opened(self._path)
        except OSError:
            fcntl.flock(full, fcntl.LOCK_UN)  # else every other process waits for it in its next line
            raise
        os.close(full)
        self._torn = False
        return fresh

    def _make_room(self, full: int) -> None:
        """Renames the files, unless another process has."""
        if not self._is_named(full):
            return
        for number in range(self._files - 1, 1, -1):
            if self._older(number - 1).exists():
                self._older(number - 1).replace(self._older(number))
        if self._files > 1:
            self._path.replace(self._older(1))
        else:
            self._path.unlink()

    def _is_named(self, file: int) -> bool:
        """False after another process has renamed it."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _older(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _held(file: int) -> Iterator[None]:
    """Tells other processes that a line is being written: its beginning can be read before its end is there."""
    held = stat.S_ISREG(os.fstat(file).st_mode)
    if held:
        try:
            fcntl.flock(file, fcntl.LOCK_SH)
        except OSError:  # NFS needs a file that can be read for it (flock(2)), and some file systems have no locks
            held = False
    try:
        yield
    finally:
        if held:
            fcntl.flock(file, fcntl.LOCK_UN)


def _is_torn(path: Path) -> bool:
    """True if an earlier process died while it wrote."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stream.seek(-1, os.SEEK_END)
            return stream.read() != b"\n"
    except BlockingIOError:  # another process is writing now
        return False
    except OSError:  # it is empty, or not ours to read
        return False
