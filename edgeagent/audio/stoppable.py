"""A file or a pipe whose reader can be stopped while it waits: for what a pipe has not delivered yet, and may never."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
from pathlib import Path


class StoppableFile:
    """Bytes of a file or a pipe, without a buffer of its own. One thread reads; ``stop`` is for any.

    Args:
        path: "-" is stdin, which is left open.

    Raises:
        OSError: It can't be opened.
    """

    def __init__(self, path: Path | str) -> None:
        self._owned = str(path) != "-"
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if self._owned else sys.stdin.fileno()
        if stat.S_ISDIR(os.fstat(self._file).st_mode):
            os.close(self._file)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC)
        self._open = True

    def read(self, count: int) -> bytes:
        """The next bytes, fewer only at the end, or when it is stopped.

        Raises:
            OSError: It can't be read.
        """
        pieces: list[bytes] = []
        while count > 0:
            ready, _, _ = select.select([self._file, self._woken], [], [])
            piece = b"" if self._woken in ready else os.read(self._file, count)
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def stop(self) -> None:
        """Ends a ``read`` that waits, and every later one. Safe to call again."""
        if self._open:
            os.write(self._wake, b"x")

    def close(self) -> None:
        """Once nobody reads any more. Safe to call again."""
        if self._open:
            self._open = False
            for number in (self._woken, self._wake, *([self._file] if self._owned else [])):
                os.close(number)
