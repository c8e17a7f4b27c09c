"""A base on Dimension Engineering's Sabertooth, two motors without encoders, in its packetized serial mode.

Packets as in the Sabertooth 2x12 User's Guide (April 2012), "Mode 4: Packetized Serial Mode": four bytes, at 9600 baud
from the factory, 8N1. "Packet Overview" gives an example: address 130, command 0, data 64, checksum 66 drives motor 1
forward at half power. "Checksum": address, command and data added, "and then ANDed with the mask 0b01111111".

====  ========================  =============================  ==================================================
 no.  command                   sent                           data, from "Commands" and "Setting Commands"
====  ========================  =============================  ==================================================
   0  Drive forward motor 1     address, 0, power, checksum    0 to 127, off to full forward
   1  Drive backwards motor 1   address, 1, power, checksum    0 to 127, off to full reverse
   4  Drive forward motor 2     address, 4, power, checksum    the same
   5  Drive backwards motor 2   address, 5, power, checksum    the same
  14  Serial Timeout            address, 14, steps, checksum   steps of 100 ms without a command, until the driver is
                                                               shut off; 0, as at power-up, for never
====  ========================  =============================  ==================================================

"Packetized serial is a one-direction only interface": the board never answers, so nobody can read back its time-out.
That "does not persist through a power cycle". So the time-out goes before every velocity, and a board that lost its
power has it again 20 ms later. Boards whose manual has no command 14, those that want a bauding character first, have
no time-out and are not for this class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import ZERO, BaseLimits, Velocity
from edgeagent.robot.serial_port import TENTHS, TIMEOUT_S, open_port

BAUDS: Final = (9600, 19_200, 38_400, 115_200)
"""Rates of the line, in bits a second. At 2400, which the board knows too, a velocity every 20 ms does not fit."""

_FULL: Final = 127
"""Data for full power."""
_MOST_WAITING: Final = 60
"""Bytes that may wait in the port: five velocities. More of them would be driven later, a stop behind them."""


class _Packet(IntEnum):
    """Commands by their numbers in the guide."""

    FORWARD_1 = 0
    BACKWARD_1 = 1
    FORWARD_2 = 4
    BACKWARD_2 = 5
    SERIAL_TIMEOUT = 14


_WAYS: Final = (
    (_Packet.FORWARD_1, _Packet.BACKWARD_1),
    (_Packet.FORWARD_2, _Packet.BACKWARD_2),
)
"""Forward and backward, of motors 1 and 2."""


@dataclass(kw_only=True)
class Sabertooth:
    """Two wheels on one Sabertooth: motor 1 on the left, motor 2 on the right, both forward for positive power.

    A base without odometry: its way is counted by the commanded speed, and a wheel that is blocked or a wire that is
    off is not noticed.

    Attributes:
        port: Serial port, for instance ``/dev/serial0`` or ``/dev/ttyUSB0``.
        full_speed_mps: Speed of a wheel at full power, in metres a second; measure it with the wheels loaded.
        track_m: Metres between the wheels.
        baud: As the board is set; 9600 from the factory.
        address: Of the board, 128 to 135.

    Raises:
        ConfigError: A setting is out of range.
    """

    port: str
    full_speed_mps: float
    track_m: float
    baud: int = 9600
    address: int = 128
    limits: BaseLimits = field(default_factory=BaseLimits)

    def __post_init__(self) -> None:
        for name in ("full_speed_mps", "track_m"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name} of a Sabertooth is {value!r}; it must be a number above 0")
        if self.baud not in BAUDS:
            raise ConfigError(f"baud of a Sabertooth is {self.baud!r}; it must be one of {', '.join(map(str, BAUDS))}")
        if not 128 <= self.address <= 135:
            raise ConfigError(f"address of a Sabertooth is {self.address!r}; it must be 128 to 135")
        limits = self.limits.reached_by(self.full_speed_mps, self.track_m)
        self.limits = replace(limits, board_timeout_s=TIMEOUT_S)

    def open(self) -> None:
        """Opens the port for this process alone. No board says whether it is there.

        Raises:
            DriveError: The port can't be opened, or another program has it.
        """
        self._serial: Any = open_port(self.port, self.baud, board="Sabertooth")
        self.set_velocity(ZERO)

    def set_velocity(self, velocity: Velocity) -> None:
        """Commands a velocity, the time-out first.

        Raises:
            DriveError: The port does not send what it was given before.
        """
        half_mps = velocity.turn_rps * self.track_m / 2
        wheels = (velocity.forward_mps - half_mps, velocity.forward_mps + half_mps)
        # a curve at full speed keeps its shape: both wheels slow down together
        largest = max(1.0, *(abs(mps) / self.full_speed_mps for mps in wheels))
        sent = self._packet(_Packet.SERIAL_TIMEOUT, TENTHS)
        for (forward, backward), mps in zip(_WAYS, wheels, strict=True):
            power = round(abs(mps) / self.full_speed_mps / largest * _FULL)
            sent += self._packet(forward if mps >= 0 else backward, power)
        if self._serial.out_waiting > _MOST_WAITING:
            self._serial.reset_output_buffer()
            raise DriveError(f"{self.port} does not send what it is given: is its cable, or its adapter, broken?")
        self._serial.write(sent)

    def odometry(self) -> None:
        return None

    def stop(self) -> None:
        self.set_velocity(ZERO)

    def close(self) -> None:
        port = getattr(self, "_serial", None)
        if port is not None:
            port.close()

    def _packet(self, command: int, data: int) -> bytes:
        return bytes([self.address, command, data, (self.address + command + data) & 0b01111111])
