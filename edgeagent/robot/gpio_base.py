"""A base on the pins of a Raspberry Pi: two motors behind an H-bridge, driven by pulse width through gpiozero.

Pins keep their level when a process is killed, and an H-bridge has no time-out, so ``BaseDriver`` takes this base with
``without_timeout=True`` only. A bridge whose enable pin hangs on a watchdog timer is what makes it safe.

Errors say what is wrong with a pin, also for the parts of ``gpio_parts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from edgeagent.errors import ConfigError
from edgeagent.robot.base import BaseLimits, Velocity


def gpiozero(part: str) -> Any:
    """Imports gpiozero.

    Args:
        part: What needs it, for the error.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        # has no types, and is not everywhere
        import gpiozero  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise ConfigError(f'{part} needs gpiozero, not installed here: pip install "edgeagent[pi]"') from error
    return gpiozero


@contextmanager
def taking(*pins: int | None) -> Iterator[None]:
    """Names the pins in the error of whatever takes them in the block.

    Raises:
        ConfigError: A pin does not exist, something else has it, or this is no Raspberry Pi.
    """
    try:
        yield
    except Exception as error:  # lgpio, RPi.GPIO and gpiozero have errors of their own each
        named = ", ".join(str(pin) for pin in pins if pin is not None)
        raise ConfigError(
            f"pins {named} can't be used ({type(error).__name__}: {error}): is this a Raspberry Pi with lgpio, is this "
            "user in the group gpio, has another part or program the pin?"
        ) from error


@dataclass(kw_only=True)
class GpioBase:
    """Two motors by gpiozero, without encoders. Pins by their BCM numbers.

    Attributes:
        left: Pins for forward and backward of the left motor.
        right: The same of the right motor.
        full_speed_mps: Speed of a wheel at full pulse width, in metres a second; measure it with the wheels loaded.
        track_m: Metres between the wheels.
        enable: Pin that switches the bridge on; None where there is none.

    Raises:
        ConfigError: A speed or a distance is not above 0.
    """

    left: tuple[int, int]
    right: tuple[int, int]
    full_speed_mps: float
    track_m: float
    enable: int | None = None
    limits: BaseLimits = field(default_factory=BaseLimits)

    def __post_init__(self) -> None:
        self.limits = self.limits.reached_by(self.full_speed_mps, self.track_m, of="a base on pins")

    def open(self) -> None:
        """Takes the pins, motors at rest.

        Raises:
            ConfigError: gpiozero is not installed, or a pin can't be had.
        """
        gpio = gpiozero("a base on pins")
        with taking(*self.left, *self.right, self.enable):
            self._motors: tuple[Any, Any] = (gpio.Motor(*self.left), gpio.Motor(*self.right))
            self._enable: Any = (
                None if self.enable is None else gpio.DigitalOutputDevice(self.enable, initial_value=True)
            )

    def set_velocity(self, velocity: Velocity) -> None:
        for motor, power in zip(self._motors, velocity.powers(self.full_speed_mps, self.track_m), strict=True):
            motor.value = power

    def odometry(self) -> None:
        return None

    def stop(self) -> None:
        for motor in self._motors:
            motor.stop()

    def close(self) -> None:
        """Switches the bridge off, and gives the pins back then, which makes them inputs."""
        if (enable := getattr(self, "_enable", None)) is not None:
            enable.off()
        for device in (*getattr(self, "_motors", ()), getattr(self, "_enable", None)):
            if device is not None:
                device.close()
