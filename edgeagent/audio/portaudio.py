"""Microphones and loudspeakers through PortAudio: found by name, at their own rate, and reopened when they vanish.

Sound passes in PortAudio's own threads; a watching thread notices within a second that it does no more. The clock is
the machine's monotonic one, because PortAudio's differs from sound system to sound system.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np

from edgeagent.audio.device import BLOCK_S, DeviceInfo, Fill, Samples, Take, Xruns, holder_of_cards, patiently
from edgeagent.errors import AudioError

logger = logging.getLogger(__name__)

LATENCY_S: Final = 0.060
"""Below about 0.03 a Raspberry Pi's sound is choppy."""
_PULSE: Final = "PULSE_LATENCY_MSEC"
_PULSE_GIVEN: Final = _PULSE in os.environ
_PULSE_SHARE: Final = 0.75
"""Of the latency, for PulseAudio's buffer: less has under-runs on a busy machine or never calls, more is heard after a
flush."""
_OTHER_RATES_HZ: Final = (48_000, 44_100, 32_000, 16_000)
"""Tried when a device refuses the rate that it says is its own."""
_SILENT_S: Final = 0.5
"""Without a call for so long, a device is lost."""
_SETTLE_S: Final = 3.0
"""A sound server may take so long for its first calls; PulseAudio plays out up to 2 s of silence first."""
_RETRY_S: Final = 0.5
_CLOSE_S: Final = 2.0
_SWITCH_S: Final = 0.001

_HUSHED: Final = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)(
    lambda file, line, function, error, form: logger.debug("ALSA: %s, %s: %s", file, function, form)
)

End = Literal["input", "output"]
Wanted = str | int | None
State = Literal["lost", "back"]


def library() -> Any:
    """``sounddevice``, with a sentence instead of an OSError.

    Raises:
        AudioError: PortAudio is not installed, or ALSA is not configured.
    """
    _ask_pulse(LATENCY_S)
    if "sounddevice" not in sys.modules:
        _check_alsa()
    try:
        import sounddevice
    except OSError as error:
        raise AudioError(f"PortAudio is not there ({error}): sudo apt install libportaudio2") from error
    _hush_alsa()
    return sounddevice


def devices() -> list[DeviceInfo]:
    """The devices that PortAudio knows now; empty if there are none."""
    sd = library()
    hosts = sd.query_hostapis()
    default_input, default_output = sd.default.device
    return [
        DeviceInfo(
            index=index,
            name=str(found["name"]),
            host=str(hosts[found["hostapi"]]["name"]),
            inputs=int(found["max_input_channels"]),
            outputs=int(found["max_output_channels"]),
            rate_hz=int(found["default_samplerate"]),
            default_input=index == default_input,
            default_output=index == default_output,
        )
        for index, found in enumerate(sd.query_devices())
    ]


def find(wanted: Wanted, end: End) -> DeviceInfo:
    """The device of that index, or whose name has that text in it; None: the default one.

    Raises:
        AudioError: There is none, or more than one; the text lists those that there are.
    """
    usable = [device for device in devices() if _channels(device, end)]
    what = "microphone" if end == "input" else "loudspeaker"
    if not usable:
        raise AudioError(f"there is no {what}: plug one in, or name a file with --{end} FILE.wav")
    if wanted is None:
        first = [device for device in usable if (device.default_input if end == "input" else device.default_output)]
        return (first or usable)[0]
    if isinstance(wanted, int) or wanted.isdecimal():
        found = [device for device in usable if device.index == int(wanted)]
    else:
        found = [device for device in usable if wanted.casefold() in device.name.casefold()]
        found = [device for device in found if device.name == wanted] or found
    if len(found) == 1:
        return found[0]
    listed = "; ".join(f"{device.index}: {device.name}" for device in (found or usable))
    if found:
        raise AudioError(f"{wanted!r} could be any of these {what}s: {listed}; write more of the name, or the number")
    raise AudioError(f"there is no {what} {wanted!r}; there are {listed}")


def forget_devices() -> None:
    """Has PortAudio look for devices anew, since it lists them only once; none may be open.

    Raises:
        AudioError: The sound system fails, or does not answer.
    """
    if "sounddevice" not in sys.modules:
        return
    sd = library()

    def begin_anew() -> None:
        with contextlib.suppress(sd.PortAudioError):  # the last beginning has failed
            sd._terminate()
        try:
            sd._initialize()
        except sd.PortAudioError as error:
            raise AudioError(f"the sound system does not begin: {error}") from error

    patiently(begin_anew)


class PortAudioDevice:
    """A loudspeaker, a microphone, or both.

    Args:
        input, output: Index, a part of the name, or None for the default one.
        ends: Which of them to open.
        latency_s: Asked of the sound system; what it grants is in ``latency_s``.
        channel: Of the microphone, from 0; None: the mean of all.
        on_state: Told when the device is lost and when it is back, on the watching thread.

    Raises:
        AudioError: There is no such device, or the sound system does not answer.
    """

    def __init__(
        self,
        *,
        input: Wanted = None,  # noqa: A002 - the word for it
        output: Wanted = None,
        ends: tuple[End, ...] = ("input", "output"),
        latency_s: float = LATENCY_S,
        channel: int | None = None,
        on_state: Callable[[State, str], object] | None = None,
    ) -> None:
        self.xruns = Xruns()
        self.latency_s = latency_s
        self._asked_s = latency_s
        self._wanted: dict[End, Wanted] = {"input": input, "output": output}
        self._found: dict[End, DeviceInfo] = {}
        self._rates: dict[End, int] = {}
        self._channel = channel
        self._mix: Samples = np.ones(1, np.float32)
        """Share of each of the microphone's channels in what is heard."""
        self._on_state = on_state
        self._streams: dict[End, Any] = {}
        self._called_s: dict[End, float] = {}
        self._opened_s = 0.0
        self._fill: Fill | None = None
        self._take: Take | None = None
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None
        self._lock = threading.Lock()
        patiently(lambda: self._look(ends))

    @property
    def name(self) -> str:
        return " and ".join(dict.fromkeys(found.name for found in self._found.values()))

    @property
    def input_rate_hz(self) -> int | None:
        return self._rates.get("input")

    @property
    def output_rate_hz(self) -> int | None:
        return self._rates.get("output")

    def now(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        """Opens what there is a callback for.

        Raises:
            AudioError: The device is busy, or refuses.
        """
        self._fill, self._take = fill, take
        self._stopping.clear()
        # a callback must not wait long for the interpreter's lock, whatever the other threads do
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        try:
            patiently(self._open)
        except BaseException:
            self._stopping.set()  # or what opens late would call
            raise
        self._watcher = threading.Thread(target=self._watch, name="audio-watch", daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Ends the calls and gives the device back. Safe to call again."""
        self._stopping.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join(_CLOSE_S)
        self._close()

    # --- streams ----------------------------------------------------------------------------------------------------

    def _look(self, ends: tuple[End, ...]) -> None:
        self._found = {end: find(self._wanted[end], end) for end in ends}
        self._rates = {end: _rate(found, end) for end, found in self._found.items()}

    def _open(self) -> None:
        sd = library()
        _ask_pulse(self._asked_s)
        self._opened_s = time.monotonic()
        wanted: list[tuple[End, Any]] = []
        if self._fill is not None and "output" in self._found:
            wanted.append(("output", self._play))
        if self._take is not None and "input" in self._found:
            wanted.append(("input", self._record))
        try:
            for end, callback in wanted:
                found, rate_hz = self._found[end], self._rates[end]
                channels = min(_channels(found, end), 2) if end == "output" else self._input_channels(found)
                if end == "input":
                    self._mix = np.full(channels, 1 / channels, np.float32)
                made = (sd.OutputStream if end == "output" else sd.InputStream)(
                    device=found.index,
                    samplerate=rate_hz,
                    blocksize=int(rate_hz * BLOCK_S),
                    channels=channels,
                    dtype="float32",
                    latency=self._asked_s,
                    callback=callback,
                )
                self._streams[end] = made
                self._called_s[end] = time.monotonic()
                made.start()
                self.latency_s = made.latency
        except sd.PortAudioError as error:
            self._close()
            raise AudioError(_explained(error, self.name)) from error
        if self._stopping.is_set():
            self._close()

    def _input_channels(self, found: DeviceInfo) -> int:
        if self._channel is None:
            return min(found.inputs, 2)
        if self._channel >= found.inputs:
            raise AudioError(f"{found.name} has {found.inputs} channels; channel {self._channel} is not one of them")
        return self._channel + 1

    def _close(self) -> None:
        with self._lock:
            streams, self._streams = list(self._streams.values()), {}
        if not streams:
            return

        def close() -> None:
            for stream in streams:
                stream.close(ignore_errors=True)

        closing = threading.Thread(target=close, name="audio-close", daemon=True)  # a lost device may never answer
        closing.start()
        closing.join(_CLOSE_S)

    def _play(self, block: Any, frames: int, times: Any, status: Any) -> None:
        """PortAudio's thread: nothing here waits."""
        now_s = time.monotonic()
        self._called_s["output"] = now_s
        if status.output_underflow:
            self.xruns.under += 1
        mono = np.zeros(frames, np.float32)
        if self._fill is not None:
            self._fill(mono, now_s + _ahead_s(times.outputBufferDacTime, times.currentTime, self.latency_s))
        block[:] = mono[:, None]

    def _record(self, block: Any, frames: int, times: Any, status: Any) -> None:
        """PortAudio's thread: nothing here waits."""
        now_s = time.monotonic()
        self._called_s["input"] = now_s
        if status.input_overflow:
            self.xruns.over += 1
        if self._take is not None:
            # a tenth of what block.mean(axis=1) costs, a hundred times a second
            mono = block @ self._mix if self._channel is None else block[:, self._channel].copy()
            self._take(mono, now_s - _ahead_s(times.currentTime, times.inputBufferAdcTime, self.latency_s))

    # --- a device that vanishes -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._stopping.wait(_SILENT_S / 2):
            now_s = time.monotonic()
            limit_s = max(_SILENT_S, 4 * self.latency_s)
            settled = now_s - self._opened_s > _SETTLE_S
            silent = [end for end in self._streams if now_s - self._called_s[end] > limit_s]
            if silent and (settled or not any(stream.active for stream in self._streams.values())):
                self._reopen()

    def _reopen(self) -> None:
        """PortAudio's list of devices is made once, so it is ended and begun again until the device is on it."""
        sd = library()
        self._tell("lost", f"{self.name} does not answer any more; it is opened again when it is back")
        while not self._stopping.is_set():
            self._close()
            try:
                with contextlib.suppress(sd.PortAudioError):  # the last beginning has failed
                    sd._terminate()
                sd._initialize()
                self._found = {end: find(self._wanted[end], end) for end in self._found}
                # at the rate that it had: what is above it was made for that one
                for end, found in self._found.items():
                    _rate(found, end, only_hz=self._rates[end])
                self._open()
            except (AudioError, sd.PortAudioError) as error:
                logger.debug("still no device: %s", error)
                self._stopping.wait(_RETRY_S)
                continue
            if self._stopping.is_set():
                return
            self._tell("back", f"{self.name} is back")
            return

    def _tell(self, state: State, text: str) -> None:
        logger.log(logging.WARNING if self._on_state is None else logging.INFO, "%s", text)
        if self._on_state is not None:
            try:
                self._on_state(state, text)
            except (Exception, SystemExit):  # the builder's code
                logger.exception("on_state raised")


def _ask_pulse(latency_s: float) -> None:
    """PulseAudio's own default buffers almost two seconds, of which PortAudio's times know nothing."""
    if not _PULSE_GIVEN:
        os.environ[_PULSE] = str(round(_PULSE_SHARE * latency_s * 1e3))


@lru_cache(maxsize=1)
def _hush_alsa() -> None:
    """ALSA writes what it meets to stderr, into the midst of a screen; what matters is in the errors and the counts."""
    try:
        alsa = ctypes.CDLL("libasound.so.2")
    except OSError:
        return
    alsa.snd_lib_error_set_handler(_HUSHED)
    atexit.register(alsa.snd_lib_error_set_handler, None)  # its threads may outlive what Python has made


def _check_alsa() -> None:
    """PortAudio's assertions end the process where ALSA knows no default device.

    Raises:
        AudioError: It knows none.
    """
    try:
        alsa = ctypes.CDLL("libasound.so.2")
    except OSError:  # another system, or PortAudio is not there either
        return
    given = os.environ.get("ALSA_CONFIG_PATH")
    whose = f"in {given} (ALSA_CONFIG_PATH)" if given else "(sudo apt install libasound2-data)"
    if alsa.snd_config_update() < 0:
        raise AudioError(f"ALSA can't read its configuration {whose}")
    found = ctypes.c_void_p()
    if alsa.snd_config_search(ctypes.c_void_p.in_dll(alsa, "snd_config"), b"pcm.default", ctypes.byref(found)) < 0:
        raise AudioError(f"ALSA's configuration names no default device {whose}")


def _channels(device: DeviceInfo, end: End) -> int:
    return device.inputs if end == "input" else device.outputs


def _rate(found: DeviceInfo, end: End, *, only_hz: int | None = None) -> int:
    """The device's own rate, or the first other one that it takes; or ``only_hz``.

    Raises:
        AudioError: It takes none.
    """
    sd = library()
    check = sd.check_input_settings if end == "input" else sd.check_output_settings
    error: Exception | None = None
    for rate_hz in dict.fromkeys((found.rate_hz, *_OTHER_RATES_HZ) if only_hz is None else (only_hz,)):
        try:
            check(device=found.index, samplerate=rate_hz, dtype="float32", channels=1 if end == "input" else None)
        except (sd.PortAudioError, ValueError) as refused:
            error = refused
            continue
        return rate_hz
    raise AudioError(_explained(error, found.name))


def _ahead_s(later: float, earlier: float, otherwise: float) -> float:
    """The difference of two of PortAudio's times, where the sound system tells them."""
    ahead = later - earlier
    return ahead if earlier > 0 and 0 <= ahead < 2 else otherwise


def _explained(error: Exception | None, name: str) -> str:
    """Tells what was wrong with a device, and what to do."""
    text = str(error)
    if "unavailable" in text or "-9985" in text or "busy" in text:
        holder = holder_of_cards()
        whose = f"{holder} has it" if holder else "another program has it"
        return f"{name} is busy: {whose}; end that program, or use a sound server"
    if "sample rate" in text:
        return f"{name} takes none of the usual rates ({text}); choose another device"
    return f"{name} can't be used: {text}; 'edgeagent doctor' lists the devices"
