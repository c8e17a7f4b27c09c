"""Sound and devices in this program: the seam under which PortAudio, files and a simulated room are exchanged. Values
and protocols only.

Sound is mono float32 in [-1, 1], shape (samples,). Times are seconds of the device's own clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeagent.errors import AudioError

BLOCK_S: Final = 0.010
"""Seconds of sound that a device takes and gives at once."""

_CARDS = Path("/proc/asound")


def holder_of_cards(cards: Path = _CARDS, processes: Path = Path("/proc")) -> str | None:
    """The program that has a card open, as "name (process 123)"; None if none has, or nobody may know."""
    for status in sorted(cards.glob("card*/pcm*/sub*/status")):
        try:
            lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        owners = [line.partition(":")[2].strip() for line in lines if line.startswith("owner_pid")]
        if not owners or not owners[0].isdecimal():
            continue
        try:
            name = (processes / owners[0] / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            name = "a program"
        return f"{name} (process {owners[0]})"
    return None


Samples = NDArray[np.float32]
"""Mono, float32 in [-1, 1], shape (samples,)."""

Fill = Callable[[Samples, float], None]
"""Writes the next block of the loudspeaker into the array; the time is that at which its first sample leaves it (DAC).

Called by the device, on a thread where nothing may wait.
"""

Take = Callable[[Samples, float], None]
"""Is given the next block of the microphone; the time is that at which its first sample entered it (ADC).

Called by the device, on a thread where nothing may wait; the array is its own and may be kept.
"""


@dataclass(slots=True)
class Xruns:
    """Times that a device was late."""

    under: int = 0
    """Blocks of the loudspeaker that nobody had filled in time."""
    over: int = 0
    """Blocks of the microphone that were lost."""

    @property
    def total(self) -> int:
        return self.under + self.over


class SoundDevice(Protocol):
    """A loudspeaker, a microphone, or both on one clock.

    ``input_rate_hz`` and ``output_rate_hz`` are the device's own rates, None where it has no such end.
    """

    @property
    def name(self) -> str: ...
    @property
    def input_rate_hz(self) -> int | None: ...
    @property
    def output_rate_hz(self) -> int | None: ...
    @property
    def xruns(self) -> Xruns: ...
    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        """Begins to call. Raises ``AudioError`` if the device can't be opened."""
        ...

    def now(self) -> float:
        """The device's clock, in seconds."""
        ...

    def stop(self) -> None:
        """Ends the calls; none comes after it has returned. Safe to call again."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One entry of a list of devices."""

    index: int
    name: str
    host: str
    """The sound system, such as ALSA."""
    inputs: int
    outputs: int
    rate_hz: int
    """Its own rate."""
    default_input: bool = field(default=False, kw_only=True)
    default_output: bool = field(default=False, kw_only=True)


LIMIT_S: Final = 15.0
"""PulseAudio on a busy machine may take seconds."""

Result = TypeVar("Result")


def patiently(work: Callable[[], Result], *, limit_s: float = LIMIT_S) -> Result:
    """Gives or raises what ``work`` does.

    Raises:
        AudioError: It is not back in time; its thread is left behind.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="audio-call", daemon=True).start()
    if not done.wait(limit_s):
        raise AudioError(f"the sound system did not answer within {limit_s:.0f} s: does its server hang?")
    if errors:
        raise errors[0]
    return results[0]
