"""WAV files and pipes as a device: in real time, or as fast as whoever is behind them can."""

from __future__ import annotations

import errno
import logging
import os
import select
import stat
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from edgeagent.audio.device import BLOCK_S, Fill, Take, Xruns
from edgeagent.audio.wav import WavReader, WavWriter
from edgeagent.errors import AudioError, ConfigError
from edgeagent.stop import JOIN_S


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


logger = logging.getLogger(__name__)

_OTHER_FORMATS: Final = (".mp3", ".ogg", ".oga", ".opus", ".flac", ".m4a", ".aac", ".aif", ".aiff", ".wma")


def is_file(device: object) -> bool:
    """True if what somebody named as a device is a file or a pipe: x.wav, x.WAV, -."""
    return device is not None and (str(device) == "-" or str(device).lower().endswith(".wav"))


def check_format(device: object) -> None:
    """Finds out whether somebody has named a file of another format.

    Raises:
        ConfigError: So it is.
    """
    if device is not None and str(device).lower().endswith(_OTHER_FORMATS):
        raise ConfigError(f"{device}: sound is read from WAV files and written to WAV files only")


class FileDevice:
    """Reads the microphone from a file and writes the loudspeaker to one; "-" is stdin or stdout.

    After the end of the input there is silence. Without ``paced`` the clock is that of the samples, and both ends run
    as fast as their callbacks return.

    Args:
        input, output: Paths; None: there is no such end. The output is created by ``start``.
        output_rate_hz: Of the file that is written.
        paced: Keep the time of the wall.
        channel: Of the input, from 0; None: the mean of all.
        silence_s: So much silence comes before an input that is a file, in which whoever hears it gets ready; what
            comes through a pipe would be late for ever.

    Attributes:
        ended: Set when the input has been read to its end.

    Raises:
        AudioError: A file can't be read or written, or is no WAV.
        ConfigError: Both are the same file, which would be lost.
    """

    def __init__(
        self,
        *,
        input: Path | str | None = None,  # noqa: A002 - the word for it
        output: Path | str | None = None,
        output_rate_hz: int = 48_000,
        paced: bool = True,
        channel: int | None = None,
        silence_s: float = 0.0,
    ) -> None:
        if input is not None and output is not None and _same(Path(input), Path(output)):
            raise ConfigError(f"input and output are the same file, {output}: it would be overwritten")
        self.xruns = Xruns()
        self.ended = threading.Event()
        self.name = " and ".join(str(path) for path in (input, output) if path is not None)
        waits = input is not None and Path(input).is_file()
        self._paced, self._silent_blocks = paced, round(silence_s / BLOCK_S) if waits else 0
        self._input = None if input is None else _opened(input)
        self._reader: WavReader | None = None
        self._writer: WavWriter | None = None
        self._output, self._output_rate_hz = output, output_rate_hz
        try:
            if self._input is not None:
                self._reader = WavReader(self._input, str(input), channel=channel)
            if output is not None:
                _check_target(output)
        except BaseException:
            self._close()
            raise
        self._blocks = 0
        self._began_s = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    @property
    def input_rate_hz(self) -> int | None:
        return None if self._reader is None else self._reader.rate_hz

    @property
    def output_rate_hz(self) -> int | None:
        return None if self._output is None else self._output_rate_hz

    def now(self) -> float:
        """Seconds of the blocks that have passed."""
        return self._blocks * BLOCK_S

    def _count(self, rate_hz: int) -> int:
        """Samples of this block; of 22,050 Hz every other block has one more than those between."""
        return round((self._blocks + 1) * rate_hz * BLOCK_S) - round(self._blocks * rate_hz * BLOCK_S)

    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        """Begins to read and to write, on a thread of its own.

        Raises:
            AudioError: The output can't be created.
        """
        if self._output is not None and self._writer is None:
            self._writer = WavWriter(_target(self._output), self._output_rate_hz)
        self._stopping.clear()
        self._began_s = time.monotonic() - self.now()
        self._thread = threading.Thread(target=self._run, args=(fill, take), name="audio-files", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the calls and closes the files. Safe to call again.

        Raises:
            AudioError: The file could not be written.
        """
        self._stopping.set()
        if self._input is not None:
            self._input.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
        self._close()
        if self._failure is not None:
            raise AudioError(f"{self.name}: {self._failure}") from self._failure

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._input is not None:
            self._input.close()

    def _run(self, fill: Fill | None, take: Take | None) -> None:
        try:
            while not self._stopping.is_set():
                self._block(fill, take)
                self._blocks += 1
                if self._paced:
                    self._stopping.wait(max(self._began_s + self.now() - time.monotonic(), 0.0))
        except Exception as error:  # noqa: BLE001 - the top of this thread; told by stop()
            self._failure = error
            self.ended.set()

    def _block(self, fill: Fill | None, take: Take | None) -> None:
        if self._writer is not None and fill is not None:
            out = np.zeros(self._count(self._writer.rate_hz), np.float32)
            fill(out, self.now())
            self._writer.write(out)
        if self._reader is not None and take is not None:
            count = self._count(self._reader.rate_hz)
            silent = self._blocks < self._silent_blocks
            block = np.zeros(count, np.float32) if silent else self._reader.read(count)
            if len(block) < count:
                if self._reader.truncated and not self.ended.is_set() and not self._stopping.is_set():
                    logger.warning("%s ends earlier than it says", self._reader.name)
                self.ended.set()
                block = np.pad(block, (0, count - len(block)))
            take(block, self.now())


def _opened(path: Path | str) -> StoppableFile:
    try:
        return StoppableFile(path)
    except OSError as error:
        raise AudioError(f"{path} can't be read: {error.strerror}") from error


def _same(one: Path, other: Path) -> bool:
    """True if both are one file; "-" is two of them."""
    try:
        return str(one) != "-" and one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _target(path: Path | str) -> Path | BinaryIO:
    return sys.stdout.buffer if str(path) == "-" else Path(path)


def _check_target(path: Path | str) -> None:
    """Finds out early that a file can't be written, without creating it.

    Raises:
        AudioError: So it is.
    """
    file = Path(path)
    if str(path) != "-" and (file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK)):
        raise AudioError(f"{path} can't be written: there is no such folder, or it is not yours")
