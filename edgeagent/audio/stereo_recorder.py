"""Both ends of a device in one WAV file: left what the microphone hears, right what leaves the loudspeaker meanwhile.

The device's threads only put blocks into queues. The thread "recording" aligns them by the times of the device, as the
echo canceller does, and writes. Knows nothing of echoes and words.
"""

from __future__ import annotations

import math
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.far_end import REACH, FarEnd
from edgeagent.audio.stream_clock import Resampler, StreamClock
from edgeagent.audio.vad import RATE_HZ
from edgeagent.audio.wav import WavWriter
from edgeagent.errors import AudioError
from edgeagent.stop import JOIN_S

_MOST_WAITING: Final = 2_000
"""Blocks of both ends, ten seconds, that may wait for a disk."""
_SETTLE_S: Final = 1.0
"""Seconds of sound that a kill loses at most."""
_HELD_S: Final = 0.5
"""Seconds for which what was heard waits for what was played."""
_FILE_MODE: Final = 0o600
_LEFT_BYTES: Final = 200_000_000
"""Room that is left on the disk for sessions and logs: less of it ends a recording."""


class StereoRecorder:
    """Records until it is closed, the disk has 200 MB left, or the file is as long as a WAV can be: nine hours.

    Args:
        path: Where a file of that name is there, a number is put to the name: nothing is ever overwritten.
        in_hz, out_hz: Rates of the microphone and of the loudspeaker; None: there is no loudspeaker.
        on_end: Told once why the recording has ended by itself, on the recorder's thread.

    Attributes:
        path: The file, which its owner alone may read.

    Raises:
        AudioError: The file can't be made.
    """

    def __init__(
        self, path: Path, in_hz: int, out_hz: int | None, *, on_end: Callable[[str], object] = lambda why: None
    ) -> None:
        self.path = _created(path)
        self._on_end = on_end
        self._writer = WavWriter(self.path, RATE_HZ, channels=2)
        self._far_end = None if out_hz is None else FarEnd(out_hz, RATE_HZ)
        self._in_hz, self._resampler, self._clock = in_hz, Resampler(in_hz, RATE_HZ), StreamClock()
        self._queue: SimpleQueue[tuple[Samples, float, bool] | None] = SimpleQueue()
        """Blocks in the order in which they came, with their times; True for those of the microphone."""
        self._in_s = 0.0
        """Seconds of the microphone that were taken up."""
        self._count = self._settled = 0
        """Samples of the file, and those that its header counts."""
        self._left = _left(self.path)
        """Bytes that the disk has left."""
        self._held: deque[Samples] = deque()
        self._held_count = 0
        self._next: float | None = None
        """Position in the far end after the last sample."""
        self._began_s: float | None = None
        self._over = threading.Event()
        if self._left < _LEFT_BYTES:
            self._over.set()  # before anybody announces it
        self._thread = threading.Thread(target=self._work, name="recording", daemon=True)
        self._thread.start()

    # --- any thread; waits for nothing ------------------------------------------------------------------------------

    def near(self, block: Samples, adc_s: float) -> None:
        """The next block of the microphone, and the time at which its first sample entered."""
        if self._began_s is None:
            self._began_s = time.monotonic() - len(block) / self._in_hz
        self._put(block, adc_s, heard=True)

    def far(self, block: Samples, dac_s: float) -> None:
        """The next block of the loudspeaker, and the time at which its first sample leaves."""
        if self._far_end is not None:
            self._put(block.copy(), dac_s, heard=False)

    @property
    def is_over(self) -> bool:
        """True once it has ended, by itself or because it was closed."""
        return self._over.is_set()

    def at_s(self, monotonic_s: float) -> float:
        """Second of the file at a time of the monotonic clock; 0 before the first sound."""
        return 0.0 if self._began_s is None else max(monotonic_s - self._began_s, 0.0)

    def _put(self, block: Samples, at_s: float, *, heard: bool) -> None:
        if not self._over.is_set() and self._queue.qsize() <= _MOST_WAITING:
            self._queue.put((block, at_s, heard))

    def close(self) -> None:
        """Ends the file. Safe to call again."""
        self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    # --- the recorder's thread --------------------------------------------------------------------------------------

    def _work(self) -> None:
        why = ""
        try:
            while self._left >= _LEFT_BYTES and (item := self._queue.get()) is not None:
                if self._queue.qsize() >= _MOST_WAITING:
                    why = "the disk does not keep up"
                    break
                self._take(*item)
                if self._writer.full:
                    why = "a WAV file can't be longer"
                    break
            if self._left < _LEFT_BYTES:
                why = f"the disk has only {self._left / 1e6:.0f} MB left"
            self._hold(self._resampler.process(np.zeros(0, np.float32), last=True))
            self._flush(last=True)
        except Exception as error:  # noqa: BLE001 - the top of this thread: a recording never ends a talk
            why = str(error)
        self._over.set()
        with suppress(AudioError):
            self._writer.close()
        if why:
            self._on_end(why)

    def _take(self, block: Samples, at_s: float, heard: bool) -> None:
        if heard:
            self._hear(block, at_s)
        elif self._far_end is not None:
            self._far_end.put(block, at_s)
            self._far_end.drain()
        self._flush()
        if self._count - self._settled >= _SETTLE_S * RATE_HZ:
            self._writer.settle()
            self._settled = self._count
            self._left = _left(self.path)

    def _hear(self, block: Samples, adc_s: float) -> None:
        later_s = self._clock.observe(self._in_s, adc_s)
        if later_s > 0:  # the microphone was away for so long
            self._clock.skip(later_s)
            self._in_s += later_s
            missing = round(later_s * RATE_HZ)
            for at in range(0, missing, RATE_HZ):  # by the second: the device goes on meanwhile
                self._hold(np.zeros(min(RATE_HZ, missing - at), np.float32))
                self._flush()
        self._in_s += len(block) / self._in_hz
        self._hold(self._resampler.process(np.nan_to_num(block)))

    def _hold(self, left: Samples) -> None:
        self._held.append(left)
        self._held_count += len(left)

    def _flush(self, *, last: bool = False) -> None:
        """Writes what was heard, as far as it is known what the loudspeaker played meanwhile: a resampler holds its
        last milliseconds back, and where a loudspeaker does not call, nobody waits for it."""
        while self._held:
            left = self._held[0]
            if self._far_end is not None and not last and self._held_count <= _HELD_S * RATE_HZ:
                position = self._far_end.index(self._clock.time(self._count / RATE_HZ))
                if self._far_end.end < position + len(left) + REACH:
                    return
            self._held.popleft()
            self._held_count -= len(left)
            self._write(left)

    def _write(self, left: Samples) -> None:
        right = np.zeros(len(left), np.float32)
        if self._far_end is not None and len(left):
            position = self._far_end.index(self._clock.time(self._count / RATE_HZ))
            right = self._far_end.fade(position if self._next is None else self._next, position, len(left))
            self._next = position + len(left)
        self._writer.write(np.stack([left, right], axis=1))
        self._count += len(left)


def _left(path: Path) -> float:
    """Bytes that the disk of a file has left; without end where the system does not tell."""
    try:
        disk = shutil.disk_usage(path.parent)
    except OSError:
        return math.inf
    return disk.free if disk.total else math.inf


def _created(path: Path) -> Path:
    """Makes the file, or the first one with a number that is not there.

    Raises:
        AudioError: It can't be made.
    """
    for number in count(1):
        file = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE))
        except FileExistsError:
            continue
        except OSError as error:
            raise AudioError(f"the recording {file} can't be written: {error.strerror}") from error
        return file
    raise AssertionError("unreachable")
