"""Bases on motor boards at a serial port: RoboClaw and Sabertooth. They run in the driver's process of a base.

The port is opened for one program alone, and every board is given a time-out.

**Basicmicro's RoboClaw**: two motors with quadrature encoders, in its packet serial mode. Packets as in the RoboClaw
Series User Manual, "Packet Serial" (pages 58 and 59 of the edition for the 2x120A) and "Advanced Packet Serial" (from
page 66 on): address, command, values with the high byte first, and a CRC of 16 bits (polynomial 0x1021, which
``binascii.crc_hqx`` computes) over all of it. "If the packet was not valid for any reason no acknowledgement will be
sent back." The CRC of an answer "should be calculated using the sent Address and Command byte as well as all the data
received back". By USB "the address byte can be any value from 0x80 to 0x87".

====  ================================  ============================================  ==========================
 no.  command                           sent                                          received
====  ================================  ============================================  ==========================
  14  Set Serial Timeout                address, 14, value, CRC                       0xFF
  15  Read Serial Timeout               address, 15                                   value, CRC
  24  Read Main Battery Voltage Level   address, 24                                   value (2), CRC
  37  Drive M1 / M2 With Signed Speed   address, 37, speed M1 (4), speed M2 (4), CRC  0xFF
  78  Read Encoder Counters             address, 78                                   M1 (4), M2 (4), CRC
====  ================================  ============================================  ==========================

Command 14 "sets the serial communication timeout in 100ms increments"; without a byte for so long "both motors will
stop automatically". The battery's value counts tenths of a volt. A packet in which "a delay longer than 10ms between
bytes" comes is discarded, so each is written whole.

**Dimension Engineering's Sabertooth**: two motors without encoders, in its packetized serial mode. Packets as in the
Sabertooth 2x12 User's Guide (April 2012), "Mode 4: Packetized Serial Mode": four bytes, at 9600 baud from the factory,
8N1. "Packet Overview" gives an example: address 130, command 0, data 64, checksum 66 drives motor 1 forward at half
power. "Checksum": address, command and data added, "and then ANDed with the mask 0b01111111".

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

import contextlib
import fcntl
import math
import struct
import termios
from binascii import crc_hqx
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import ZERO, BaseLimits, Odometry, Velocity

TIMEOUT_S: Final = 0.3
"""Time-out that a board is given, in seconds: a multiple of 0.1. A larger number lets the motors turn for longer when
the driver is killed."""
ANSWER_S: Final = 0.2
"""Seconds that a board may take to answer, or to take what is sent. It takes 10 ms at 38,400 baud; the rest is for a
busy machine."""

TENTHS: Final = round(TIMEOUT_S * 10)
"""The same time-out as the boards count it, in steps of 100 ms."""


def open_port(port: str, baud: int, *, board: str) -> Any:
    """Opens a serial port for this process alone: 8 data bits, no parity, 1 stop bit.

    Args:
        port: For instance ``/dev/ttyACM0``.
        board: Name of the board, for the errors.

    Returns:
        A ``serial.Serial`` whose calls take ``ANSWER_S`` at most.

    Raises:
        ConfigError: pyserial is not installed.
        DriveError: The port can't be opened, or another program has it.
    """
    try:
        # has no types
        import serial  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise ConfigError(f'a {board} needs pyserial, not installed here: pip install "edgeagent[pi]"') from error
    try:
        opened = serial.Serial(port, baud, timeout=ANSWER_S, write_timeout=ANSWER_S, exclusive=True)
        # the lock keeps those out who ask for it, and this all others but root (tty_ioctl(2))
        fcntl.ioctl(opened, termios.TIOCEXCL)
        return opened
    except (OSError, ValueError) as error:
        raise DriveError(
            f"{port} can't be opened ({error}): is the board plugged in, is this user in the group dialout, "
            "has another program the port?"
        ) from error


def close_port(port: Any) -> None:
    """Closes a port of ``open_port``, and lets other programs open it; None for one that was never opened."""
    if port is not None:
        with contextlib.suppress(OSError):  # its cable is pulled
            fcntl.ioctl(port, termios.TIOCNXCL)
        port.close()


@contextmanager
def plugged_in(port: str) -> Iterator[None]:
    """Uses a port in a block.

    Raises:
        DriveError: The system has the port no more.
    """
    try:
        yield
    except (OSError, termios.error) as error:  # pyserial lets both through
        raise DriveError(f"the board on {port} is gone ({error}): is its cable pulled?") from error


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
        if not velocity.is_zero and not self._drives:
            self._check_timeout()
        self._drives = not velocity.is_zero
        speeds = (round(mps * self.pulses_per_m) for mps in velocity.wheels(self.track_m))
        self._order(_Number.DRIVE, struct.pack(">ii", *speeds))

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
        close_port(getattr(self, "_serial", None))

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
            DriveError: No answer that fits, or the port is gone.
        """
        answer = b""
        for _ in range(self._tries):
            with plugged_in(self.port):
                self._serial.reset_input_buffer()
                self._serial.write(packet)
                answer = bytes(self._serial.read(size))
            if len(answer) == size and fits(answer):
                return answer
        told = f"answers nonsense ({answer.hex()})" if answer else "does not answer"
        raise DriveError(
            f"the board on {self.port} {told} to command {packet[1]}: is it a RoboClaw in packet serial mode?"
        )


# --- Sabertooth -------------------------------------------------------------------------------------------------------


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
        limits = self.limits.reached_by(self.full_speed_mps, self.track_m, of="a Sabertooth")
        if self.baud not in BAUDS:
            raise ConfigError(f"baud of a Sabertooth is {self.baud!r}; it must be one of {', '.join(map(str, BAUDS))}")
        if not 128 <= self.address <= 135:
            raise ConfigError(f"address of a Sabertooth is {self.address!r}; it must be 128 to 135")
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
            DriveError: The port does not send what it was given before, or is gone.
        """
        sent = self._packet(_Packet.SERIAL_TIMEOUT, TENTHS)
        powers = velocity.powers(self.full_speed_mps, self.track_m)
        for (forward, backward), power in zip(_WAYS, powers, strict=True):
            sent += self._packet(forward if power >= 0 else backward, round(abs(power) * _FULL))
        with plugged_in(self.port):
            if self._serial.out_waiting > _MOST_WAITING:
                self._serial.reset_output_buffer()
                raise DriveError(f"{self.port} does not send what it is given: is its cable, or its adapter, broken?")
            self._serial.write(sent)

    def odometry(self) -> None:
        return None

    def stop(self) -> None:
        self.set_velocity(ZERO)

    def close(self) -> None:
        close_port(getattr(self, "_serial", None))

    def _packet(self, command: int, data: int) -> bytes:
        return bytes([self.address, command, data, (self.address + command + data) & 0b01111111])
