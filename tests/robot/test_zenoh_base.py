"""A base over Zenoh: real processes on the loopback, and a dead man's switch that gives zero when velocities stop."""

import contextlib
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("zenoh", reason="the extra edgeagent[ros] is not installed")

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import BaseDriver, BaseLimits, Velocity, ZenohBase, encode_twist, open_session, remote_base

from .bases import LIMIT_S, calls, until

ROOT = Path(__file__).parents[2]
PROMISED_S = 0.5
QUICK = BaseLimits(acceleration_mps2=100.0, board_timeout_s=0.3)


class Robot:
    """A switch and a robot, each a process.

    Attributes:
        endpoint: Endpoint of the switch.
        log: Velocities that the robot was given.
    """

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.endpoint = f"tcp/127.0.0.1:{port}"
        self.log = log
        self.processes: list[subprocess.Popen[str]] = []
        self._before = 0

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a process, and waits for the line that says that it is ready."""
        process = self.begin(*command)
        assert process.stdout.readline()
        return process

    def begin(self, *command: str, program: Sequence[str] = (sys.executable, "-u")) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*program, *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def switch(self, *options: str) -> None:
        self.start("-m", "edgeagent.robot.zenoh_switch", "--listen", self.endpoint, *options)

    def body(self, how: str = "") -> None:
        self.start("-m", "tests.robot.zenoh_robot", self.endpoint, str(self.log), how)

    def both(self, how: str = "") -> None:
        """Starts the switch and the robot side by side."""
        started = [
            self.begin("-m", "edgeagent.robot.zenoh_switch", "--listen", self.endpoint),
            self.begin("-m", "tests.robot.zenoh_robot", self.endpoint, str(self.log), how),
        ]
        assert all(process.stdout.readline() for process in started)

    def agent(self, then: str = "drive_on()") -> subprocess.Popen[str]:
        process = self.start("-c", textwrap.dedent(AGENT), self.endpoint, then)
        process.driver = int(process.stdout.readline())
        return process

    def velocities(self) -> list[tuple[float, float]]:
        """Moments and speeds forward, since the last ``begin_anew``."""
        return [(at, float(text.split()[1])) for at, text in calls(self.log)][self._before :]

    def begin_anew(self) -> None:
        """Ends the agents; the switch and the robot go on, at rest."""
        while len(self.processes) > 2:
            self._end(self.processes.pop())
        assert until(lambda: not self.drives())
        self._before += len(self.velocities())

    def drives(self) -> bool:
        told = self.velocities()
        return bool(told) and told[-1][1] > 0

    def stands(self) -> bool:
        told = self.velocities()
        return bool(told) and told[-1][1] == 0

    def close(self) -> None:
        for process in self.processes:
            self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what strace runs
        process.wait()
        process.stdout.close()


AGENT = """
    import sys, threading
    from edgeagent.robot import BaseDriver, BaseLimits, ZenohBase

    base = ZenohBase(endpoint=sys.argv[1], limits=BaseLimits(acceleration_mps2=100.0, board_timeout_s=0.3))
    driver = BaseDriver(base)
    driver.start()
    print("ready", driver.pid, sep="\\n", flush=True)

    def drive_on():
        while True:
            drive.set(0.2)
            threading.Event().wait(0.02)

    with driver.drive() as drive:
        exec(sys.argv[2])
"""


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path / "robot.log")
    yield robot
    robot.close()


@pytest.fixture
def whole(robot: Robot) -> Robot:
    robot.both()
    return robot


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    robot = Robot(tmp_path_factory.mktemp("robot") / "robot.log")
    robot.both()
    yield robot
    robot.close()


@pytest.fixture
def shared(kept: Robot) -> Iterator[Robot]:
    """A switch and a robot for those tests that leave both as they are."""
    yield kept
    kept.begin_anew()


def keep_driving(drive, so_long: Callable[[], bool], forward_mps: float = 0.2, turn_rps: float = 0.0) -> None:
    def renewed() -> bool:
        drive.set(forward_mps, turn_rps)
        return so_long()

    assert until(renewed)


def failed(driver: BaseDriver, meanwhile: Callable[[], object] = lambda: None) -> str:
    """Drives until the base fails; what it says."""
    with driver.drive() as drive:
        keep_driving(drive, lambda: bool(driver.velocity.forward_mps))
        meanwhile()
        with pytest.raises(DriveError) as raised:
            keep_driving(drive, lambda: False)
    return str(raised.value)


def refusal(robot: Robot) -> str:
    """What a driver says that can't open its base."""
    with pytest.raises(DriveError) as raised:
        BaseDriver(ZenohBase(endpoint=robot.endpoint, answer_s=1.0)).start()
    return str(raised.value)


# --- driving ----------------------------------------------------------------------------------------------------------


def test_a_velocity_arrives_and_the_way_comes_back(shared: Robot) -> None:
    with BaseDriver(ZenohBase(endpoint=shared.endpoint, limits=QUICK)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: drive.odometry.travelled_m > 0.05)
        keep_driving(drive, lambda: drive.odometry.turned_rad > 0.2, 0.0, 1.0)
        assert math.isclose(max(forward for _, forward in shared.velocities()), 0.2)
    assert until(shared.stands)


def test_a_robot_without_odometry_drives_too(robot: Robot) -> None:
    robot.both("silent")
    base = ZenohBase(endpoint=robot.endpoint, limits=QUICK, has_odometry=False)
    with BaseDriver(base) as driver, driver.drive() as drive:
        keep_driving(drive, robot.drives)
        assert drive.odometry is None
    assert until(robot.stands)


def test_switch_and_base_meet_at_a_router_such_as_the_bridge(robot: Robot) -> None:
    with open_session(listen=robot.endpoint):
        robot.start("-m", "edgeagent.robot.zenoh_switch", "--connect", robot.endpoint)
        robot.body()
        agent = robot.agent()
        assert until(robot.drives)
        os.kill(agent.driver, signal.SIGKILL)
        assert until(robot.stands)


def test_at_rest_nothing_is_sent_so_that_others_may_drive(shared: Robot) -> None:
    with (
        BaseDriver(ZenohBase(endpoint=shared.endpoint, limits=QUICK)) as driver,
        open_session(connect=shared.endpoint) as session,
    ):
        driver.start()
        session.put("cmd_vel", encode_twist(Velocity(0.1)))
        assert until(shared.drives)
        begun = driver.odometry.travelled_m
        assert until(lambda: driver.odometry.travelled_m > begun + 0.05)
        assert shared.drives()
        session.put("cmd_vel", encode_twist(Velocity()))


# --- killed and stopped -----------------------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("who", ["agent", "driver"])
def test_the_robot_stands_when_the_agent_or_its_driver_is_killed_or_stopped(
    shared: Robot, who: str, number: signal.Signals
) -> None:
    agent = shared.agent()
    assert until(shared.drives)
    begun_s = time.monotonic()
    os.kill({"agent": agent.pid, "driver": agent.driver}[who], number)
    try:
        assert until(shared.stands)
        assert shared.velocities()[-1][0] - begun_s < PROMISED_S
    finally:
        if number == signal.SIGSTOP:
            os.kill(agent.driver, signal.SIGKILL)


def test_what_waited_while_the_switch_was_stopped_moves_nothing(shared: Robot) -> None:
    switch = shared.processes[0]
    agent = shared.agent()
    assert until(shared.drives)
    switch.send_signal(signal.SIGSTOP)
    assert agent.wait(LIMIT_S)  # its base notices that the switch is silent
    before, lease_s = len(shared.velocities()), time.monotonic() + 0.3
    assert until(lambda: time.monotonic() > lease_s)
    switch.send_signal(signal.SIGCONT)
    assert until(shared.stands)
    assert all(forward == 0 for _, forward in shared.velocities()[before:])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_switch_that_is_ended_gives_zero(whole: Robot, number: signal.Signals) -> None:
    switch = whole.processes[0]
    whole.agent()
    assert until(whole.drives)
    switch.send_signal(number)
    assert switch.wait(LIMIT_S) == 0
    assert until(whole.stands)


# --- what is not there ------------------------------------------------------------------------------------------------


def test_nothing_at_the_endpoint_is_told_with_what_to_start(robot: Robot) -> None:
    told = refusal(robot)
    assert f"nothing answers at {robot.endpoint}" in told
    assert "python -m edgeagent.robot.zenoh_switch" in told


def test_odometry_that_does_not_come_is_told(robot: Robot) -> None:
    robot.switch()
    with open_session(connect=robot.endpoint) as session:
        session.declare_subscriber("cmd_vel", lambda sample: None)
        assert "no odometry was heard" in refusal(robot)


def test_a_switch_that_nobody_reads_is_told(robot: Robot) -> None:
    robot.switch()
    base = ZenohBase(endpoint=robot.endpoint, answer_s=1.0, has_odometry=False)
    with pytest.raises(DriveError, match="nobody reads"):
        BaseDriver(base).start()


def test_a_robot_without_a_switch_is_refused(robot: Robot) -> None:
    with open_session(listen=robot.endpoint):
        robot.body()
        assert "no dead man's switch was heard" in refusal(robot)


def test_a_switch_with_a_longer_time_out_is_refused(robot: Robot) -> None:
    robot.switch("--timeout", "0.4")
    robot.body()
    assert "longer than the 0.3 s of board_timeout_s" in refusal(robot)


# --- what goes wrong in mid-drive -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_switch_that_dies_in_mid_drive_is_told(whole: Robot, number: signal.Signals) -> None:
    with BaseDriver(ZenohBase(endpoint=whole.endpoint, limits=QUICK)) as driver:
        told = failed(driver, lambda: whole.processes[0].send_signal(number))
    assert "switch has been silent" in told or "odometry has been silent" in told


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("silent", "odometry has been silent"),
        ("jumps", "the odometer jumped"),
        ("nan", "odometry tells nonsense"),
        ("garbage", "what comes on odom can't be read"),
    ],
)
def test_odometry_that_goes_wrong_stops_the_robot_and_is_told(robot: Robot, how: str, told: str) -> None:
    robot.both(how)
    with BaseDriver(ZenohBase(endpoint=robot.endpoint, limits=QUICK)) as driver:
        assert told in failed(driver)
        assert until(robot.stands)


@pytest.mark.parametrize(
    ("payload", "stamp"),
    [(b"\xde\xad\xbe\xef", bytes(16)), (encode_twist(Velocity(0.1)), None)],
    ids=["garbage", "no sender"],
)
def test_garbage_at_the_switch_stops_the_robot_and_is_told(shared: Robot, payload: bytes, stamp: bytes | None) -> None:
    with (
        BaseDriver(ZenohBase(endpoint=shared.endpoint, limits=QUICK)) as driver,
        open_session(connect=shared.endpoint) as session,
    ):
        told = failed(driver, lambda: session.put("cmd_vel_agent", payload, attachment=stamp))
        assert "lets nothing pass" in told
        assert until(shared.stands)
        with driver.drive() as drive:
            keep_driving(drive, shared.drives)


def test_a_second_program_is_refused_and_the_first_drives_on(shared: Robot) -> None:
    shared.agent()
    assert until(shared.drives)
    with (
        BaseDriver(ZenohBase(endpoint=shared.endpoint, limits=QUICK)) as second,
        pytest.raises(DriveError, match="another program drives"),
        second.drive() as drive,
    ):
        keep_driving(drive, lambda: False, -0.1)
    assert shared.drives()
    assert all(forward >= 0 for _, forward in shared.velocities())


# --- settings ---------------------------------------------------------------------------------------------------------


def test_an_endpoint_that_is_none_is_refused(robot: Robot) -> None:
    with pytest.raises(ConfigError, match="endpoint"):
        ZenohBase(endpoint="127.0.0.1")
    with pytest.raises(ConfigError, match="is no endpoint"):
        open_session(connect="127.0.0.1:7447")


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [
        ("tcp/127.0.0.1:7447", True),
        ("tcp/[::1]:7447", True),
        ("tcp/localhost:7447", True),
        ("tcp/127.0.0.1:7447#so_rcvbuf=65000", True),
        ("unixsock-stream//run/zenoh.sock", True),
        ("tcp/192.168.1.7:7447", False),
        ("tcp/127.0.0.1.example.org:7447", False),
        ("udp/[ff02::1]:7447", False),
        ("tcp/0.0.0.0:7447", False),
        ("tcp/", False),
    ],
)
def test_an_endpoint_beyond_this_machine_is_seen(endpoint: str, local: bool) -> None:
    assert remote_base.is_local(endpoint) == local


def test_a_switch_that_can_not_start_says_why(robot: Robot) -> None:
    robot.switch()
    for options in (["--listen", robot.endpoint], ["--timeout", "2"]):
        command = [sys.executable, "-m", "edgeagent.robot.zenoh_switch", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 2
        assert "port taken" in done.stderr or "must be above 0" in done.stderr


# --- the network ------------------------------------------------------------------------------------------------------


def test_no_socket_is_opened_but_the_one_on_the_loopback(robot: Robot, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True).returncode:
        pytest.skip("strace is missing, or may not trace here")

    def traced(name: str, *command: str) -> list[str]:
        return [strace, "-f", "-e", "trace=socket,connect,bind,setsockopt", "-o", str(tmp_path / name), *command]

    switch = [sys.executable, "-u", "-m", "edgeagent.robot.zenoh_switch", "--listen", robot.endpoint]
    started = robot.begin(*traced("switch", *switch), program=[])
    assert "passes" in started.stdout.readline()
    robot.body()
    agent = traced("agent", sys.executable, "-c", textwrap.dedent(AGENT), robot.endpoint, "drive.set(0.2)")
    done = subprocess.run(agent, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    for name, verb in (("switch", "bind("), ("agent", "connect(")):
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        (opened,) = [line for line in lines if "socket(AF_INET" in line]
        assert "SOCK_STREAM" in opened
        reached = [line for line in lines if "sin_addr=" in line or "sin6_addr" in line]
        assert reached
        assert all('inet_addr("127.0.0.1")' in line and verb in line for line in reached)
        assert not any("MULTICAST" in line or "MEMBERSHIP" in line for line in lines)
