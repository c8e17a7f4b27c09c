"""A base on Basicmicro's RoboClaw, two motors with quadrature encoders, in its packet serial mode.

Packets as in the RoboClaw Series User Manual, "Packet Serial" and "Advanced Packet Serial": address, command, values
with the high byte first, and a CRC of 16 bits (polynomial 0x1021, which ``binascii.crc_hqx`` computes) over all of it.

====  ================================  ============================================  ==========================
 no.  command                           sent                                          received
====  ================================  ============================================  ==========================
  14  Set Serial Timeout                address, 14, value, CRC                       0xFF
  15  Read Serial Timeout               address, 15                                   value, CRC
  24  Read Main Battery Voltage Level   address, 24                                   value (2), CRC
  37  Drive M1 / M2 With Signed Speed   address, 37, speed M1 (4), speed M2 (4), CRC  0xFF
  78  Read Encoder Counters             address, 78                                   M1 (4), M2 (4), CRC
====  ================================  ============================================  ==========================

The time-out counts in steps of 100 ms; without a byte for so long, the board stops both motors by itself. The battery's
value counts tenths of a volt.
"""

from __future__ import annotations

import math
import struct
from binascii import crc_hqx
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import ZERO, BaseLimits, Odometry, Velocity
from edgeagent.robot.serial_port import TENTHS, TIMEOUT_S, open_port

_DONE: Final = b"\xff"
_TRIES: Final = 2
"""Packets until a board that does not answer is given up, while it drives."""
_TRIES_AT_START: Final = 5
_COUNTS: Final = 1 << 32


class _Number(IntEnum):
    """Commands by their numbers in the manual."""

    SET_TIMEOUT = 14
    READ_TIMEOUT = 15
    READ_BATTERY = 24
    DRIVE = 37
    READ_ENCODERS = 78


@dataclass(kw_only=True)
class RoboClaw:
    """Two wheels on one RoboClaw: M1 on the left, M2 on the right, both forward for positive speeds.

    Attributes:
        port: Serial port, for instance ``/dev/ttyACM0`` or ``/dev/serial0``.
        pulses_per_m: Quadrature pulses of an encoder for a metre of its wheel; negative if M1 runs backwards.
        track_m: Metres between the wheels.
        baud: Of a serial port; over USB it does not matter.
        address: Of the board, 0x80 to 0x87.

    Raises:
        ConfigError: A setting is out of range.
    """

    port: str
    pulses_per_m: float
    track_m: float
    baud: int = 115_200
    address: int = 0x80
    limits: BaseLimits = field(default_factory=BaseLimits)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pulses_per_m) and self.pulses_per_m):
            raise ConfigError(f"pulses_per_m of a RoboClaw is {self.pulses_per_m!r}; it must be a number beside 0")
        if not (math.isfinite(self.track_m) and self.track_m > 0):
            raise ConfigError(f"track_m of a RoboClaw is {self.track_m!r}; it must be a number of metres above 0")
        if not 0x80 <= self.address <= 0x87:
            raise ConfigError(f"address of a RoboClaw is {self.address!r}; it must be 0x80 to 0x87")
        self.limits = replace(self.limits, board_timeout_s=TIMEOUT_S)

    def open(self) -> None:
        """Opens the port for this process alone, sets the time-out, and reads it back.

        Raises:
            DriveError: The port can't be opened, another program has it, or nothing there answers as a RoboClaw.
        """
        self._serial: Any = open_port(self.port, self.baud, board="RoboClaw")
        self._tries = _TRIES_AT_START
        self._order(_Number.SET_TIMEOUT, bytes([TENTHS]))
        self._check_timeout()
        self._counts: tuple[int, int] = self._question(_Number.READ_ENCODERS, ">II")
        self._pulses = [0, 0]
        self._drives = False
        self.set_velocity(ZERO)
        self._tries = _TRIES

    def set_velocity(self, velocity: Velocity) -> None:
        half_mps = velocity.turn_rps * self.track_m / 2
        wheels = (velocity.forward_mps - half_mps, velocity.forward_mps + half_mps)
        if not velocity.is_zero and not self._drives:
            self._check_timeout()
        self._drives = not velocity.is_zero
        self._order(_Number.DRIVE, struct.pack(">ii", *(round(mps * self.pulses_per_m) for mps in wheels)))

    def odometry(self) -> Odometry:
        counts = self._question(_Number.READ_ENCODERS, ">II")
        for wheel, (now, before) in enumerate(zip(counts, self._counts, strict=True)):
            # the counters wrap at 32 bits
            self._pulses[wheel] += (now - before + _COUNTS // 2) % _COUNTS - _COUNTS // 2
        self._counts = counts
        left_m, right_m = (pulses / self.pulses_per_m for pulses in self._pulses)
        return Odometry((left_m + right_m) / 2, (right_m - left_m) / self.track_m)

    def battery_v(self) -> float:
        (tenths,) = self._question(_Number.READ_BATTERY, ">H")
        return float(tenths) / 10

    def stop(self) -> None:
        self.set_velocity(ZERO)

    def close(self) -> None:
        port = getattr(self, "_serial", None)
        if port is not None:
            port.close()

    def _check_timeout(self) -> None:
        """Reads the time-out back, before every drive, because a board that lost its power has forgotten it.

        Raises:
            DriveError: The board has another one.
        """
        (kept,) = self._question(_Number.READ_TIMEOUT, ">B")
        if kept != TENTHS:
            raise DriveError(f"the board on {self.port} has a time-out of {kept / 10} s, not of {TIMEOUT_S} s")

    def _order(self, command: int, values: bytes) -> None:
        """Sends a command that is answered with one byte."""
        packet = bytes([self.address, command]) + values
        self._exchange(packet + crc_hqx(packet, 0).to_bytes(2), 1, lambda answer: answer == _DONE)

    def _question(self, command: int, form: str) -> tuple[Any, ...]:
        """Sends a question; returns the values of its answer."""
        sent = bytes([self.address, command])
        size = struct.calcsize(form)

        def fits(answer: bytes) -> bool:
            return crc_hqx(sent + answer[:size], 0).to_bytes(2) == answer[size:]

        return struct.unpack(form, self._exchange(sent, size + 2, fits)[:size])

    def _exchange(self, packet: bytes, size: int, fits: Callable[[bytes], bool]) -> bytes:
        """Sends a packet and reads its answer, again if that is damaged or does not come.

        Raises:
            DriveError: No answer that fits.
        """
        answer = b""
        for _ in range(self._tries):
            self._serial.reset_input_buffer()
            self._serial.write(packet)
            answer = bytes(self._serial.read(size))
            if len(answer) == size and fits(answer):
                return answer
        told = f"answers nonsense ({answer.hex()})" if answer else "does not answer"
        raise DriveError(
            f"the board on {self.port} {told} to command {packet[1]}: is it a RoboClaw in packet serial mode?"
        )
