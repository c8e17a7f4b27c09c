"""A Sabertooth at the other end of a pseudo-terminal, as its User's Guide describes it.

Packets are looked up in tables that were written out by hand from the guide: nothing here computes one as the driver
does. The time-out is off when the board gets its power, as the guide says.
"""

from __future__ import annotations

import os
import select
import time

from .bases import Board

ADDRESS = 128
MOTOR_AND_SIGN = {0: (0, 1), 1: (0, -1), 4: (1, 1), 5: (1, -1)}
"""Commands of the guide's page "Commands": motor, and direction."""


class SabertoothBoard(Board):
    """Never answers; a packet with a wrong checksum "will not be acted upon".

    Attributes:
        wheels: Powers of motors 1 and 2, from -127 to 127.
        damaged: Packets whose checksum was wrong.
        told: Every good packet, in order.
        driven_without_timeout: True if a motor was ever switched on while the time-out was off.
        powered_up: How often it has got its power back.
    """

    def __init__(self) -> None:
        self.damaged = 0
        self.told: list[bytes] = []
        self.driven_without_timeout = False
        self.powered_up = 0
        self._power_lost = False
        super().__init__()

    def lose_power(self) -> None:
        """Switches the board off and on."""
        self._power_lost = True

    def _run(self) -> None:
        data, heard_s = b"", time.monotonic()
        while not self._closing.is_set():
            ready, _, _ = select.select([self._master], [], [], 0.005)
            if self._power_lost:
                self._power_lost, self.timeout_s, self.wheels = False, 0.0, (0, 0)
                self.powered_up += 1
            if ready:
                data += os.read(self._master, 256)
            while len(data) >= 4:
                if data[0] < 128:  # not the beginning of a packet
                    data = data[1:]
                    continue
                packet, data = data[:4], data[4:]
                if self._is_good(packet):
                    heard_s = time.monotonic()
                    self.told.append(packet)
                    if packet[0] == ADDRESS:
                        self._obey(packet[1], packet[2])
            if self.timeout_s and time.monotonic() - heard_s > self.timeout_s and self.wheels != (0, 0):
                self.wheels = (0, 0)
                self.stopped_itself += 1

    def _is_good(self, packet: bytes) -> bool:
        total = packet[0] + packet[1] + packet[2]
        while total > 127:  # the seven lower bits
            total -= 128
        self.damaged += total != packet[3]
        return total == packet[3]

    def _obey(self, command: int, data: int) -> None:
        if command == 14:
            self.timeout_s = data / 10
            return
        motor, sign = MOTOR_AND_SIGN[command]
        wheels = list(self.wheels)
        wheels[motor] = sign * data
        self.driven_without_timeout |= bool(data and not self.timeout_s)
        self.wheels = (wheels[0], wheels[1])
