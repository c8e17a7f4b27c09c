"""A RoboClaw: its packets by the maker's manual, and answers that go wrong in mid-drive: nonsense, too late, never."""

import os
import threading

import pytest

from edgeagent.errors import DriveError
from edgeagent.robot import BaseDriver, RoboClaw

from .bases import Board, until
from .test_base_driver import keep_driving


class FaultyBoard(Board):
    """A board that obeys every packet, and whose answers go wrong when a test says so.

    Attributes:
        how: nonsense, late or never; empty while it is well.
    """

    how = ""

    def _answered(self, data: bytes) -> tuple[int, bytes]:
        used, answer = super()._answered(data)
        if not used:
            return used, answer
        match self.how:
            case "nonsense":
                return used, os.urandom(len(answer) - 1) + bytes([answer[-1] ^ 0x55])
            case "never":
                return used, b""
            case "late":
                timer = threading.Timer(0.25, self._send_late, (answer,))
                timer.daemon = True
                timer.start()
                return used, b""
        return used, answer

    def _send_late(self, answer: bytes) -> None:
        if self._ends:
            os.write(self._master, answer)


class TappedBoard(Board):
    """Keeps the packets that it was sent, each once."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []
        super().__init__()

    def _answered(self, data: bytes) -> tuple[int, bytes]:
        used, answer = super()._answered(data)
        if used and data[:used] not in self.packets:
            self.packets.append(data[:used])
        return used, answer


def crc16(packet: bytes) -> bytes:
    """CRC as the manual's listing in C computes it, bit by bit."""
    crc = 0
    for byte in packet:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc.to_bytes(2)


def test_packets_are_those_of_the_manual():
    with TappedBoard() as board:
        base = RoboClaw(port=board.port, pulses_per_m=10_000, track_m=0.3)
        with BaseDriver(base) as driver, driver.drive() as drive:
            keep_driving(drive, lambda: board.wheels == (3000, 3000), forward_mps=0.3)
        drives = b"\x80\x25" + (3000).to_bytes(4) * 2
        wanted = [b"\x80\x0e\x03", b"\x80\x0f", b"\x80\x4e", b"\x80\x25" + bytes(8), drives]
        questions = (15, 24, 78)  # they have no CRC
        packets = [packet + (b"" if packet[1] in questions else crc16(packet)) for packet in wanted]
        assert [packet for packet in board.packets if packet in packets] == packets


@pytest.mark.parametrize(
    ("how", "told"),
    [("nonsense", "answers nonsense"), ("late", "does not answer|answers nonsense|took"), ("never", "does not answer")],
)
def test_answers_that_are_nonsense_late_or_missing_stop_the_base_and_are_told(how, told):
    with FaultyBoard() as board:
        base = RoboClaw(port=board.port, pulses_per_m=10_000, track_m=0.3)
        with BaseDriver(base) as driver:
            with driver.drive() as drive:
                keep_driving(drive, lambda: board.wheels[0] > 0)
                board.how = how
                with pytest.raises(DriveError, match=told):
                    keep_driving(drive, lambda: False)
                assert until(lambda: board.wheels == (0, 0))
            board.how = ""
            with driver.drive() as another:  # the process is a new one, and nothing else is lost
                keep_driving(another, lambda: board.wheels[0] > 0)
