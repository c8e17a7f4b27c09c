"""WAV files and pipes: read block by block, written as they grow. Knows nothing of devices.

The standard library's ``wave`` reads no floating point and no pipe without a length, so this reads the few chunks
itself (RIFF/WAVE: format codes 1 and 3, and 0xFFFE, the extensible one that names one of them).
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples
from edgeagent.errors import AudioError

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_UNKNOWN: Final = 0xFFFFFFFF
_LONGEST: Final = 0x7FFFFF00
"""Bytes of sound from which on a length is none: what writes to a pipe puts the largest number there."""
_FORMAT_BYTES: Final = 4096
"""More than any format has."""
_AT_ONCE: Final = 1 << 16
"""Bytes of a chunk that is passed over, or samples of a whole file, that are read at once."""
_RATES_HZ: Final = (8_000, 192_000)
_WIDTHS: Final = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}


class Readable(Protocol):
    """Source of bytes."""

    def read(self, count: int, /) -> bytes: ...


class WavReader:
    """Reads a WAV stream as mono. A stream that ends early ends there; ``truncated`` says so.

    Args:
        stream: A file or a pipe.
        name: For errors.
        channel: Which one, from 0; None: their mean.

    Raises:
        AudioError: It is no WAV, or of a kind that this does not read.
    """

    def __init__(self, stream: Readable, name: str, *, channel: int | None = None) -> None:
        self.name = name
        self.truncated = False
        self._stream = stream
        self._channel = channel
        self._code, self._bits, self.channels, self.rate_hz, self._left = self._header()
        self._frame_bytes = self.channels * self._bits // 8
        if channel is not None and not 0 <= channel < self.channels:
            raise AudioError(f"{name} has {self.channels} channels; channel {channel} is not one of them")

    def read(self, count: int) -> Samples:
        """The next samples, ``count`` of them unless the stream ends."""
        wanted = count * self._frame_bytes
        if self._left is not None:
            wanted = min(wanted, self._left)
        data = self._exactly(wanted)
        if self._left is not None:
            self._left -= len(data)
            self.truncated = self.truncated or len(data) < wanted
        whole = len(data) - len(data) % self._frame_bytes
        frames = self._decoded(data[:whole]).reshape(-1, self.channels)
        frames = np.clip(np.nan_to_num(frames, posinf=1.0, neginf=-1.0), -1.0, 1.0)
        mono = frames.mean(axis=1) if self._channel is None else frames[:, self._channel]
        return mono.astype(np.float32)

    def _header(self) -> tuple[int, int, int, int, int | None]:
        """Format code, bits of a sample, channels, rate, and bytes of sound; None: until the stream ends."""
        begin = self._exactly(4)
        if not begin:
            raise AudioError(f"{self.name} is empty")
        if begin != b"RIFF":
            raise AudioError(f"{self.name} is no WAV file: it does not begin with RIFF")
        self._exactly(4)
        if self._exactly(4) != b"WAVE":
            raise AudioError(f"{self.name} is no WAV file: it is another kind of RIFF")
        form: tuple[int, int, int, int] | None = None
        while True:
            head = self._exactly(8)
            if len(head) < 8:
                raise AudioError(f"{self.name} has no sound in it: it ends before its data")
            kind, size = head[:4], struct.unpack("<I", head[4:])[0]
            if kind == b"data":
                if form is None:
                    raise AudioError(f"{self.name} is broken: its data comes before its format")
                return (*form, None if size == 0 or size >= _LONGEST else size)
            content = self._exactly(min(size, _FORMAT_BYTES)) if kind == b"fmt " else b""
            if kind == b"fmt ":
                form = self._format(content)
            self._skip(size + size % 2 - len(content))

    def _format(self, content: bytes) -> tuple[int, int, int, int]:
        if len(content) < 16:
            raise AudioError(f"{self.name} is broken: its format is cut")
        code, channels, rate_hz, _, _, bits = struct.unpack("<HHIIHH", content[:16])
        if code == _EXTENSIBLE and len(content) >= 26:
            code = struct.unpack("<H", content[24:26])[0]
        if bits not in _WIDTHS.get(code, ()):
            raise AudioError(f"{self.name} has samples of a kind that is not read here (format {code}, {bits} bits)")
        if not _RATES_HZ[0] <= rate_hz <= _RATES_HZ[1] or channels == 0:
            raise AudioError(f"{self.name} has {channels} channels of {rate_hz} Hz; 8,000 to 192,000 Hz are read")
        return code, bits, channels, rate_hz

    def _decoded(self, data: bytes) -> NDArray[np.float64]:
        match self._code, self._bits:
            case (3, 32):
                return np.frombuffer(data, "<f4").astype(np.float64)
            case (3, _):
                return np.frombuffer(data, "<f8").astype(np.float64)
            case (_, 8):
                return (np.frombuffer(data, np.uint8).astype(np.float64) - 128) / 128
            case (_, 16):
                return np.frombuffer(data, "<i2") / 32768.0
            case (_, 24):
                padded = np.zeros((len(data) // 3, 4), np.uint8)
                padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
                return padded.view("<i4").reshape(-1) / 2147483648.0
        return np.frombuffer(data, "<i4") / 2147483648.0

    def _skip(self, count: int) -> None:
        """Passes over bytes, also those of a pipe."""
        while count > 0 and (piece := self._exactly(min(count, _AT_ONCE))):
            count -= len(piece)

    def _exactly(self, count: int) -> bytes:
        """As many bytes as there are: a pipe gives what it has."""
        pieces: list[bytes] = []
        while count > 0 and (piece := self._stream.read(count)):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


class WavWriter:
    """Writes 16 bits. Its lengths are right whenever ``close`` was reached, and at the end of a pipe unknown.

    Args:
        channels: Of each sample; what is written has the shape (samples,) or (samples, channels).
        name: Name of the file in errors; its path by default.

    Raises:
        AudioError: The file can't be written.
    """

    def __init__(self, target: Path | BinaryIO, rate_hz: int, *, channels: int = 1, name: str = "") -> None:
        self.rate_hz, self._channels = rate_hz, channels
        self._bytes = 0
        self._closed = self._failed = False
        self._own = isinstance(target, Path)
        self._name = name or (str(target) if isinstance(target, Path) else "stdout")
        with self._told():
            self._stream: BinaryIO | IO[bytes] = target.open("wb") if isinstance(target, Path) else target
        self._begin = _place(self._stream)
        with self._told():
            self._put(self._header(_UNKNOWN - 36))

    def write(self, samples: Samples) -> None:
        """Appends samples; what is beyond [-1, 1] is clipped.

        Raises:
            AudioError: The disk is full, or fails. A pipe that nobody reads is a BrokenPipeError.
        """
        data = (np.clip(samples, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()
        with self._told():
            self._put(data)
        self._bytes += len(data)

    @property
    def full(self) -> bool:
        """True if the lengths of a WAV can't count another second."""
        return self._bytes + 2 * self._channels * self.rate_hz > _LONGEST

    def settle(self) -> None:
        """Writes the lengths so far: whatever kills the process from here on, the file is whole until here.

        Raises:
            AudioError: As ``write``.
        """
        with self._told():
            self._finish()

    def close(self) -> None:
        """Writes the lengths. Safe to call again.

        Raises:
            AudioError: The disk is full, or fails; the file is closed then too.
        """
        if self._closed:
            return
        self._closed = True
        with self._told():
            try:
                if not self._failed:
                    self._finish()
            finally:
                if self._own:
                    self._stream.close()

    def _finish(self) -> None:
        if self._begin is not None:
            self._stream.seek(self._begin)
            self._stream.write(self._header(min(self._bytes, _UNKNOWN - 36)))
            self._stream.seek(0, 2)
        self._stream.flush()

    def _put(self, data: bytes) -> None:
        try:
            self._stream.write(data)
        except OSError:
            self._failed = True
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the system in a sentence; a broken pipe is the command's affair."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise AudioError(f"{self._name} can't be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _header(self, size: int) -> bytes:
        frame = 2 * self._channels
        form = struct.pack("<HHIIHH", _PCM, self._channels, self.rate_hz, self.rate_hz * frame, frame, 16)
        return (
            b"RIFF"
            + struct.pack("<I", size + 36)
            + b"WAVEfmt "
            + struct.pack("<I", 16)
            + form
            + (b"data" + struct.pack("<I", size))
        )


@contextmanager
def whole_wav(path: Path, rate_hz: int) -> Iterator[WavWriter]:
    """Writes a file that takes its place when it is whole: an error leaves none, or the file that stood there before.

    Until then it grows beside that place. A pipe, a device, and a file in a folder that takes no new one are written
    in place.

    Raises:
        AudioError: The file can't be written.
    """
    place = Path(os.path.realpath(path))
    is_new = not place.exists()
    writable = is_new or (place.is_file() and os.access(place, os.W_OK))
    if not writable or not os.access(place.parent, os.W_OK):
        with WavWriter(path, rate_hz) as writer:
            yield writer
        return
    part = place.with_name(f".{secrets.token_hex(8)}.wav")
    try:
        with WavWriter(part, rate_hz, name=str(path)) as writer:
            yield writer
        try:
            if not is_new:
                shutil.copymode(place, part)
            part.replace(place)
        except OSError as error:
            raise AudioError(f"{path} can't be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _place(stream: BinaryIO | IO[bytes]) -> int | None:
    """Returns the position of a stream whose beginning can be written again, unlike a pipe's or an appended file's."""
    try:
        if not stream.seekable() or fcntl.fcntl(stream.fileno(), fcntl.F_GETFL) & os.O_APPEND:
            return None
    except OSError:  # no file descriptor: in memory
        pass
    return stream.tell()


def read_wav(path: Path) -> tuple[Samples, int]:
    """A whole file, mono, and its rate.

    Raises:
        AudioError: It is not there, or no WAV.
    """
    try:
        with path.open("rb") as stream:
            reader = WavReader(stream, str(path))
            blocks = []
            while len(block := reader.read(_AT_ONCE)):
                blocks.append(block)
    except OSError as error:
        raise AudioError(f"{path} can't be read: {error.strerror}") from error
    return (np.concatenate(blocks) if blocks else np.zeros(0, np.float32)), reader.rate_hz
