"""A base on a board that never answers: its packets, its time-out, and what is told when the line breaks."""

import math
import os
import pty
import signal
import sys
import tty
from collections.abc import Iterator

import pytest
import serial

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import BaseDriver, BaseLimits, GpioBase, Sabertooth, Velocity

from .bases import until
from .sabertooth_board import SabertoothBoard
from .test_base_driver import keep_driving

TIMEOUT = bytes([128, 14, 3, 17])
"""Command 14 with 3 steps of 100 ms; 128 + 14 + 3 is 145, its seven lower bits 17."""
AT_REST = TIMEOUT + bytes([128, 0, 0, 0]) + bytes([128, 4, 0, 4])


def sabertooth(board: SabertoothBoard, **settings) -> Sabertooth:
    return Sabertooth(**{"port": board.port, "full_speed_mps": 0.5, "track_m": 0.3} | settings)


@pytest.fixture
def line() -> Iterator[tuple[str, int]]:
    """A serial line that nobody reads: its port, and the board's end."""
    master, slave = pty.openpty()
    tty.setraw(master)
    tty.setraw(slave)
    yield os.ttyname(slave), master
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize(
    ("velocity", "address", "sent"),
    [
        (Velocity(0.0, 0.0), 128, AT_REST),
        # the example of the guide, page "Packet Overview": address 130, command 0, data 64, checksum 66
        (Velocity(0.25, 0.0), 130, bytes([130, 14, 3, 19, 130, 0, 64, 66, 130, 4, 64, 70])),
        (Velocity(0.5, 0.0), 128, TIMEOUT + bytes([128, 0, 127, 127, 128, 4, 127, 3])),
        (Velocity(-0.5, 0.0), 135, bytes([135, 14, 3, 24, 135, 1, 127, 7, 135, 5, 127, 11])),
        # to the left: motor 1 backwards, motor 2 forward, 0.15 m/s each
        (Velocity(0.0, 1.0), 128, TIMEOUT + bytes([128, 1, 38, 39, 128, 4, 38, 42])),
        # a curve at full speed keeps its shape: 0.35 and 0.65 m/s become 7/13 and all of the power
        (Velocity(0.5, 1.0), 128, TIMEOUT + bytes([128, 0, 68, 68, 128, 4, 127, 3])),
    ],
    ids=str,
)
def test_the_packets_are_those_of_the_guide(line, velocity, address, sent):
    port, board_end = line
    base = Sabertooth(port=port, full_speed_mps=0.5, track_m=0.3, address=address)
    base.open()
    first = bytes([address, 14, 3, (address + 17) % 128, address, 0, 0, address % 128])
    assert os.read(board_end, 12)[:8] == first, "the time-out, before anything else"
    base.set_velocity(velocity)
    assert os.read(board_end, 100) == sent
    base.stop()
    assert os.read(board_end, 100)[4:] == bytes([address, 0, 0, address % 128, address, 4, 0, (address + 4) % 128])
    base.close()


def test_it_drives_without_odometry_and_says_so():
    with SabertoothBoard() as board, BaseDriver(sabertooth(board)) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: board.wheels == (51, 51), 0.2)
            keep_driving(drive, lambda: board.wheels == (-38, 38), 0.0, 1.0)
        assert until(lambda: board.wheels == (0, 0))
        assert driver.odometry is None
        assert (board.damaged, board.driven_without_timeout, board.stopped_itself) == (0, False, 0)


@pytest.mark.parametrize("kind", ["sabertooth", "pins"])
def test_what_counts_its_way_by_time_counts_no_speed_that_its_wheels_do_not_have(kind):
    limits = BaseLimits(speed_mps=0.5, turn_rps=4.0, board_timeout_s=0.1)
    if kind == "sabertooth":
        base = Sabertooth(port="x", full_speed_mps=0.2, track_m=0.4, limits=limits)
    else:
        base = GpioBase(left=(1, 2), right=(3, 4), full_speed_mps=0.2, track_m=0.4, limits=limits)
    assert base.limits.speed_mps == 0.2
    assert base.limits.turn_rps == pytest.approx(1.0)
    assert base.limits.distance_m == limits.distance_m


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_board_stops_by_its_own_time_out_when_the_driver_is_killed_or_stopped(number):
    with SabertoothBoard() as board, BaseDriver(sabertooth(board)) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: board.wheels[0] > 0)
            os.kill(driver.pid, number)
            with pytest.raises(DriveError, match="does not answer"):
                keep_driving(drive, lambda: False)
        assert until(lambda: board.stopped_itself == 1)
        assert board.wheels == (0, 0)


def test_the_trial_on_the_page_shows_that_the_board_has_a_time_out(checkout, monkeypatch):
    page = (checkout / "docs" / "robot.md").read_text(encoding="utf-8")
    program = page.partition("<<'END'\n")[2].partition("END\n```")[0]
    assert "os.kill(driver.pid, signal.SIGKILL)" in program
    with SabertoothBoard() as board:
        exec(program.replace("/dev/serial0", board.port), {"__name__": "trial"})  # noqa: S102  our own page
        assert until(lambda: board.stopped_itself == 1)


def test_a_board_that_lost_its_power_has_its_time_out_again_with_the_next_velocity():
    with SabertoothBoard() as board, BaseDriver(sabertooth(board)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: board.wheels[0] > 0)
        board.lose_power()
        keep_driving(drive, lambda: board.powered_up == 1)
        keep_driving(drive, lambda: board.wheels[0] > 0 and board.timeout_s == 0.3)
        os.kill(driver.pid, signal.SIGKILL)
        assert until(lambda: board.stopped_itself == 1)


def test_a_cable_that_is_pulled_in_mid_drive_is_told():
    with SabertoothBoard() as board, BaseDriver(sabertooth(board)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: board.wheels[0] > 0)
        board.pull()
        with pytest.raises(DriveError, match="the base Sabertooth does not answer"):
            keep_driving(drive, lambda: False)


def test_two_programs_do_not_get_one_board():
    with SabertoothBoard() as board, BaseDriver(sabertooth(board)) as driver:
        with pytest.raises(DriveError, match="has another program the port"):
            BaseDriver(sabertooth(board)).start()
        with driver.drive() as drive:  # which the first one has still
            keep_driving(drive, lambda: board.wheels[0] > 0)


def test_a_port_that_is_not_there_is_told():
    with pytest.raises(DriveError, match=r"/dev/ttyUSB77 can't be opened.*is the board plugged in"):
        BaseDriver(Sabertooth(port="/dev/ttyUSB77", full_speed_mps=0.5, track_m=0.3)).start()


def test_without_pyserial_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(ConfigError, match=r'a Sabertooth needs pyserial.*pip install "edgeagent\[pi\]"'):
        Sabertooth(port="/dev/null", full_speed_mps=0.5, track_m=0.3).open()


def test_commands_that_pile_up_in_the_port_are_dropped_and_told(line, monkeypatch):
    port, _ = line
    base = Sabertooth(port=port, full_speed_mps=0.5, track_m=0.3)
    base.open()
    dropped = []
    monkeypatch.setattr(serial.Serial, "out_waiting", property(lambda self: 0 if dropped else 96))
    monkeypatch.setattr(serial.Serial, "reset_output_buffer", lambda self: dropped.append(True))
    with pytest.raises(DriveError, match="does not send what it is given"):
        base.set_velocity(Velocity(0.2, 0.0))
    assert dropped
    base.stop()  # which is sent, because nothing is in front of it any more
    base.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"full_speed_mps": 0.0},
        {"full_speed_mps": math.nan},
        {"track_m": math.inf},
        {"address": 127},
        {"address": 136},
        {"baud": 2400},
    ],
    ids=str,
)
def test_a_wrong_setting_is_named(wrong):
    settings = {"port": "/dev/null", "full_speed_mps": 0.5, "track_m": 0.3} | wrong
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Sabertooth(**settings)
