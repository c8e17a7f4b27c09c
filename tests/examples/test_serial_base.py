"""The example of a motor board of one's own, with a board that speaks its lines at a pseudo-terminal."""

import os
import pty
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeagent import GoalHandle
from edgeagent.app import AppFile
from edgeagent.errors import DriveError
from edgeagent.robot import BaseDriver
from tests.robot.bases import LIMIT_S, until

TIMEOUT_S = 0.3


class LineBoard:
    """A board as the example describes it.

    Attributes:
        port: Name of the terminal.
        speeds: Velocity of now, in metres and radians a second.
        answers: What it answers in place of its way; empty for its way.
    """

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        tty.setraw(self._master)
        tty.setraw(slave)
        self.port, self._slave = os.ttyname(slave), slave
        self.speeds, self.answers = (0.0, 0.0), b""
        self._way, self._heard_s = [0.0, 0.0], time.monotonic()
        self._thread = threading.Thread(target=self._run, name="board")
        self._thread.start()

    def close(self) -> None:
        os.write(self._slave, b"end\n")
        self._thread.join(LIMIT_S)
        os.close(self._master)
        os.close(self._slave)

    def stands(self) -> bool:
        """True if the motors stand: by a command, or by the board's own time-out."""
        return self.speeds == (0.0, 0.0) or time.monotonic() - self._heard_s > TIMEOUT_S

    def _run(self) -> None:
        with os.fdopen(os.dup(self._master), "rb", buffering=0) as lines:
            while (line := lines.readline()) != b"end\n":
                letter, forward, turn = line.split()
                assert letter == b"V"
                now_s = time.monotonic()
                for part, speed in enumerate(self.speeds):
                    self._way[part] += speed * min(now_s - self._heard_s, TIMEOUT_S)
                self.speeds, self._heard_s = (float(forward), float(turn)), now_s
                os.write(self._master, self.answers or b"W %.4f %.4f\n" % tuple(self._way))


@pytest.fixture
def board() -> Iterator[LineBoard]:
    board = LineBoard()
    yield board
    board.close()


@pytest.fixture
def app(board: LineBoard, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> AppFile:
    monkeypatch.setenv("ROBOT_PORT", board.port)
    return AppFile.load(checkout / "examples/serial_base.py")


@pytest.mark.real_time
def test_it_drives_by_the_houses_tools(app: AppFile, board: LineBoard) -> None:
    tools = {tool.name: tool for tool in app.module.agent.tools}
    made = tools["drive"](distance_m=0.3, goal=GoalHandle())
    assert (made.status, made.text) == ("ok", "drove forward 0.3 m")
    assert until(board.stands)


@pytest.mark.parametrize("answer", [b"\n", b"W nan 0\n", b"W one two\n", b"\xff\xfe\n", b"W 5.0 0.0\n"])
def test_a_board_that_answers_nonsense_is_given_up(app: AppFile, board: LineBoard, answer: bytes) -> None:
    with BaseDriver(app.module.base) as driver, driver.drive() as drive:
        drive.set(0.2)
        assert until(lambda: driver.velocity.forward_mps > 0)
        board.answers = answer

        def fails() -> bool:
            try:
                drive.set(0.2)
            except DriveError as error:
                return "does not answer" in str(error)
            return False

        assert until(fails)
        assert until(board.stands)
