"""Sound in and out at once: a device's microphone and loudspeaker, and what takes the one out of the other.

Opens the device. Knows nothing of speech.
"""

from __future__ import annotations

from edgeagent.audio.device import Fill, Samples, SoundDevice, Take
from edgeagent.audio.echo import EchoCanceller, Mode
from edgeagent.audio.stereo_recorder import StereoRecorder
from edgeagent.errors import AudioError


class Duplex:
    """A device that is heard and may speak.

    Args:
        device: Has a microphone.
        mode: Echo canceller.
        noise_suppression: Noise is taken out of the microphone too.
        rate_hz: Rate of the sound that the canceller gives.

    Attributes:
        device: The device.
        input_rate_hz: Rate of the microphone's blocks.
        echo: Takes the robot's own voice out of the microphone's blocks; another one after ``renew``.
        recorder: Gets a copy of both ends, if there is one.

    Raises:
        AudioError: The device has no microphone.
    """

    def __init__(self, device: SoundDevice, *, mode: Mode, noise_suppression: bool, rate_hz: int) -> None:
        if device.input_rate_hz is None:
            raise AudioError(f"{device.name} has no microphone")
        self.device = device
        self._mode, self._noise_suppression, self._rate_hz = mode, noise_suppression, rate_hz
        self.input_rate_hz = device.input_rate_hz
        self.echo = self.new_canceller()
        self.recorder: StereoRecorder | None = None

    def open(self, take: Take, play: Fill | None = None) -> None:
        """Opens microphone and loudspeaker.

        Args:
            take: Given the microphone's blocks, on the device's thread.
            play: Writes the loudspeaker's samples. They go to the echo canceller as they go out.

        Raises:
            AudioError: The device can't be opened; it may be tried again.
        """

        def fill(block: Samples, dac_s: float) -> None:
            if play is not None:
                play(block, dac_s)
            self.echo.far(block, dac_s)
            if self.recorder is not None:
                self.recorder.far(block, dac_s)

        def hear(block: Samples, adc_s: float) -> None:
            if self.recorder is not None:
                self.recorder.near(block, adc_s)
            take(block, adc_s)

        self.device.start(fill=None if play is None else fill, take=hear)

    def close(self) -> None:
        """Closes both.

        Raises:
            AudioError: The device has failed meanwhile.
        """
        self.device.stop()

    def renew(self, *, anew: bool = False) -> None:
        """Takes up the microphone's rate, which a device that was lost may have come back with.

        Args:
            anew: The canceller has failed, and another one is made in any case.
        """
        if anew or self.device.input_rate_hz not in (None, self.input_rate_hz):
            self.input_rate_hz = self.device.input_rate_hz or self.input_rate_hz
            self.echo = self.new_canceller()

    def new_canceller(self) -> EchoCanceller:
        """Makes an echo canceller that knows nothing of the room yet."""
        return EchoCanceller(
            self.input_rate_hz,
            self.device.output_rate_hz,
            mode=self._mode,
            noise_suppression=self._noise_suppression,
            rate_hz=self._rate_hz,
            xruns=self.device.xruns,
        )
