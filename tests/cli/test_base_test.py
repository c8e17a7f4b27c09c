"""``edgeagent base test``: what it asks, what it says to change, and that the motors stand whenever it ends."""

import re
import signal
from pathlib import Path

import pytest

from tests.robot.bases import Board, calls, until
from tests.robot.sabertooth_board import SabertoothBoard

PULSES_PER_M = "10000"


def roboclaw(board: Board) -> list[object]:
    """The options for a board at a pseudo-terminal."""
    return ["--board", "roboclaw", "--port", board.port, "--pulses-per-m", PULSES_PER_M, "--track-m", "0.3"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--board", "simulated"], "nobody is there to be asked"),
        (["--yes"], "name the base: either --app FILE.py or --board NAME"),
        (["--yes", "--app", "robot.py", "--board", "simulated"], "name the base"),
        (["--yes", "--app", "nowhere.py"], "nowhere.py is not there"),
        (["--yes", "--board", "roboclaw"], "a RoboClaw needs --port /dev/ttyACM0"),
        (["--yes", "--board", "roboclaw", "--port", "/dev/null"], "--pulses-per-m and --track-m"),
        (["--yes", "--board", "sabertooth"], "a Sabertooth needs --port /dev/serial0, --full-speed-mps and --track-m"),
        (["--yes", *"--board simulated --low-battery-v 10".split()], "the board simulated measures no battery"),
        (["--yes", *"--board roboclaw --port x --pulses-per-m nan --track-m 1".split()], "pulses_per_m of a RoboClaw"),
    ],
)
def test_what_can_not_be_tested_is_told_and_moves_nothing(in_process, arguments, told):
    done = in_process("base", "test", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    "text", ["agent = Agent('robi', llm=ScriptedLLM('x'))", "base = 3", "base = None", "driver = 'me'"]
)
def test_an_app_file_without_a_base_is_refused(edgeagent, in_process, text):
    done = in_process("base", "test", "--yes", "--app", edgeagent.app(text))
    assert done.returncode == 2
    assert "defines no base" in done.stderr


def test_a_base_whose_board_has_no_time_out_is_refused(edgeagent, in_process):
    app = edgeagent.app("from edgeagent.robot import BaseLimits, SimulatedBase\nbase = SimulatedBase(BaseLimits())")
    done = in_process("base", "test", "--yes", "--app", app)
    assert done.returncode == 2
    assert "has no time-out" in done.stderr


def test_a_port_where_nothing_is_is_told(in_process):
    done = in_process("base", "test", "--yes", *roboclaw(Nothing()))
    assert done.returncode == 1
    assert "CHANGE  the base failed: the base RoboClaw can't be used" in done.stdout


class Nothing:
    port = "/dev/nothing-is-there"


@pytest.mark.real_time
def test_without_eyes_it_tries_what_encoders_tell(edgeagent):
    with Board() as board:
        done = edgeagent("base", "test", "--yes", *roboclaw(board), "--low-battery-v", "10.5")
        assert board.stopped_itself == 1
        assert board.wheels == (0, 0)
    assert done.returncode == 0, done.stdout
    assert "ok      battery: 12.1 V, low below 10.5 V" in done.stdout
    lines = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert lines == [
        "ok      battery",
        "ok      forward, odometer",
        "        forward, wheels",
        "ok      turn to the left, odometer",
        "        turn to the left, wheels",
        "        scale",
        "ok      stop",
        "ok      board time-out",
        "the base does what it should, as far as was tried; 3 not tried",
    ]


@pytest.mark.real_time
def test_a_sabertooth_is_tried_and_a_person_sees_that_its_time_out_stops_it(at_terminal):
    with SabertoothBoard() as board:
        options = ["--port", board.port, "--full-speed-mps", "0.6", "--track-m", "0.3"]
        terminal = at_terminal("base", "test", "--board", "sabertooth", *options)
        for shown, answer in (
            (r"off the ground, .* \[y/N\] ", "y"),
            (r"left wheel ran .*\? ", "f"),
            (r"right wheel ran .*\? ", "f"),
            (r"left wheel ran .*\? ", "b"),
            (r"right wheel ran .*\? ", "f"),
            (r"for the scale, .* \[y/N\] ", "n"),
            (r"do they stop early\? ready\? \[y/N\] ", "y"),
            (r"did they stop at \[o\]nce, .*\? ", "o"),
        ):
            terminal.expect(shown)
            terminal.enter(answer)
        assert terminal.ends() == 0
        assert board.stopped_itself == 1
        assert (board.wheels, board.damaged, board.driven_without_timeout) == ((0, 0), 0, False)


@pytest.mark.real_time
def test_it_says_what_to_change_at_a_board_that_is_set_up_wrongly(at_terminal):
    with Board(stops_itself=False) as board:
        terminal = at_terminal("base", "test", *roboclaw(board))
        terminal.expect(r"off the ground, .* \[y/N\] ")
        terminal.enter("y")
        for answers in (("f", "b"), ("x", "f", "b")):  # a letter that is none is asked again
            for answer in answers:
                terminal.expect(r"wheel ran \[f\]orward, \[b\]ack, or \[n\]ot at all\? ")
                terminal.enter(answer)
        terminal.expect(r"ready\? \[y/N\] ")
        terminal.enter("y")
        terminal.expect(r"in metres\? ")
        terminal.enter("a bit")
        terminal.expect(r"in metres\? ")
        terminal.enter("0.25")
        assert terminal.ends() == 1
        assert board.wheels == (0, 0)
    shown = terminal.seen
    assert "CHANGE  forward, wheels: right ran the other way: swap the two wires" in shown
    assert "CHANGE  turn to the left, wheels: it turned right: swap the left motor with the right one" in shown
    assert "set pulses_per_m to 20" in shown
    assert "CHANGE  battery: 12.1 V, and no limit" in shown
    assert "CHANGE  board time-out: the wheels ran on without a driver" in shown
    assert "change what is marked CHANGE, and test again" in shown


def test_ctrl_c_leaves_the_motors_at_zero(edgeagent, at_terminal):
    log = edgeagent.home / "log"
    imports = "from pathlib import Path\nfrom edgeagent.robot import SimulatedBase\n"
    app = edgeagent.app(f"{imports}base = SimulatedBase(log=Path({str(log)!r}))")
    terminal = at_terminal("base", "test", "--app", app)
    terminal.expect(r"\[y/N\] ")
    terminal.enter("yes")
    assert until(lambda: any(text.startswith("velocity 0.") for _, text in calls(log)))
    terminal.signal(signal.SIGINT)
    assert terminal.ends() == 130
    assert [text for _, text in calls(log)][-2:] == ["stop", "close"]


def test_a_robot_that_stands_on_the_ground_is_not_moved(at_terminal):
    terminal = at_terminal("base", "test", "--board", "simulated")
    terminal.expect(r"\[y/N\] ")
    terminal.enter("")
    terminal.expect("lift the robot")
    assert terminal.ends() == 1


BLIND = "BlindBase(BaseLimits(board_timeout_s=0.1, low_battery_v=10.5), volts={})"
"""A base without encoders that measures its battery."""


def blind(edgeagent, written: str) -> Path:
    """An app file with such a base in it."""
    imports = "from edgeagent.robot import BaseDriver, BaseLimits\nfrom tests.robot.bases import BlindBase\n"
    return edgeagent.app(imports + written)


def test_a_base_without_encoders_is_tried_too_and_its_battery_told(edgeagent):
    done = edgeagent("base", "test", "--yes", "--app", blind(edgeagent, f"base = {BLIND.format(12.0)}"))
    assert done.returncode == 0, done.stdout
    assert "ok      battery: 12.0 V, low below 10.5 V" in done.stdout
    assert "stop: zero velocity" in done.stdout


@pytest.mark.parametrize("written", ["base = {}", "base = BaseDriver({})", "driver = BaseDriver({})"])
def test_a_low_battery_ends_the_test_of_a_base_or_of_the_driver_of_an_app_file(edgeagent, in_process, written):
    done = in_process("base", "test", "--yes", "--app", blind(edgeagent, written.format(BLIND.format(9.0))))
    assert done.returncode == 1, done.stdout
    assert "CHANGE  battery: 9.0 V is low, below 10.5 V: charge it" in done.stdout
    assert "stop: zero velocity" not in done.stdout


@pytest.mark.real_time
def test_a_base_with_narrow_limits_is_tried_within_them(edgeagent, at_terminal):
    app = edgeagent.app(
        "from edgeagent.robot import BaseLimits, SimulatedBase\n"
        "base = SimulatedBase(BaseLimits(board_timeout_s=0.1, distance_m=0.15, turn_rad=0.5))"
    )
    terminal = at_terminal("base", "test", "--app", app)
    terminal.expect(r"off the ground, .* \[y/N\] ")
    terminal.enter("y")
    for answer in ("f", "f", "b", "f"):
        terminal.expect(r"wheel ran .*\? ")
        terminal.enter(answer)
    terminal.expect(r"it rolls by 0\.075 m\. ready\? \[y/N\] ")
    terminal.enter("y")
    terminal.expect(r"in metres\? ")
    terminal.enter("0.075")
    terminal.ends()
    assert "ok      board time-out" in terminal.seen
    assert set(re.findall("CHANGE +(.*?):", terminal.seen)) <= {"scale"}, "which it has rolled over a little"
