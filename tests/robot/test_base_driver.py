"""A base that stops by itself: leases, limits, faults, and what becomes of it when a process is killed or stopped."""

import contextlib
import ctypes
import dataclasses
import logging
import math
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeagent import Agent, GoalHandle, skill
from edgeagent.app import AppFile
from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import Base, BaseDriver, BaseLimits, Drive, GpioBase, RoboClaw, SafetyLatch, SimulatedBase
from edgeagent.testing import ScriptedLLM, call

from .bases import (
    LIMIT_S,
    SHORT,
    Board,
    BrokenBase,
    CountedBase,
    SlowAtTheLastBase,
    SlowBase,
    WatchedGpioBase,
    WithoutStop,
    calls,
    until,
)

PULSES_PER_M = 10_000.0
NOBODY = 65534
"""User without rights."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "base.log"


@pytest.fixture
def driver(log: Path) -> Iterator[BaseDriver]:
    with BaseDriver(SimulatedBase(log=log)) as driver:
        yield driver


def velocities(log: Path) -> list[tuple[float, float]]:
    """The velocities that the motors were given, one after the other."""
    return [tuple(map(float, text.split()[1:])) for _, text in calls(log) if text.startswith("velocity")]


def is_at_rest(log: Path) -> bool:
    """True if the last that the motors were told is to stand."""
    told = [text for _, text in calls(log) if text != "open"]
    return bool(told) and told[-1] in ("stop", "close", "velocity 0.0000 0.0000")


def is_gone(pid: int) -> bool:
    """True if a process has ended, though nobody may have asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@dataclasses.dataclass
class Motors:
    """A base, and what tells that its driver has told it to stand."""

    base: Base
    are_told_to_stand: Callable[[], bool]


@pytest.fixture(params=["simulated", "roboclaw", "pins"])
def motors(request: pytest.FixtureRequest, log: Path) -> Iterator[Motors]:
    def pins_are_low() -> bool:
        return calls(log)[-1][1].split()[1:5] == ["output:0.00"] * 4

    match request.param:
        case "simulated":
            yield Motors(SimulatedBase(log=log), lambda: is_at_rest(log))
        case "roboclaw":
            with Board() as board:
                yield Motors(roboclaw(board), lambda: board.wheels == (0, 0) and not board.stopped_itself)
        case "pins":
            base = WatchedGpioBase(left=(4, 14), right=(17, 27), enable=22, full_speed_mps=0.5, track_m=0.3, log=log)
            yield Motors(base, pins_are_low)


def keep_driving(drive, so_long, forward_mps: float = 0.2, turn_rps: float = 0.0) -> None:
    """Renews the lease until something is so."""

    def renewed() -> bool:
        drive.set(forward_mps, turn_rps)
        return so_long()

    assert until(renewed)


# --- driving ----------------------------------------------------------------------------------------------------------


@pytest.mark.real_time
def test_it_speeds_up_by_its_acceleration_and_never_over_its_limit(driver, log):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps == 0.3, forward_mps=50.0, turn_rps=-50.0)
    driven = velocities(log)
    assert max(forward for forward, _ in driven) == 0.3
    assert min(turn for _, turn in driven) >= -math.radians(60) - 0.001
    assert 0 < driven[0][0] <= 2 * 0.02 * 0.5
    assert [forward for forward, _ in driven if forward] == sorted(forward for forward, _ in driven if forward)


def test_the_way_is_told_while_it_drives(driver):
    with driver.drive() as drive:
        keep_driving(drive, lambda: drive.odometry is not None and drive.odometry.travelled_m > 0.05)


def test_leaving_the_block_of_a_drive_stops_it(driver, log):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
    assert until(lambda: is_at_rest(log))
    with pytest.raises(DriveError, match="has ended"):
        drive.set(0.2)


@pytest.mark.real_time
def test_a_lease_that_nobody_renews_runs_out_though_the_process_is_well(driver, log):
    with driver.drive() as drive:
        drive.set(0.2)
        leased_s = time.monotonic()
        assert until(lambda: driver.velocity.forward_mps > 0)
        assert until(lambda: is_at_rest(log))
        (stopped_s,) = [at_s for at_s, text in calls(log) if text == "stop" and at_s > leased_s]
        assert stopped_s - leased_s < 1.0, "a lease of 0.3 s"
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


@pytest.mark.real_time
@pytest.mark.parametrize("slow", [{"odometer_s": 0.05}, {"once_s": 0.4}], ids=["odometer", "one command"])
def test_a_base_that_answers_slowly_is_driven_without_a_stop_or_a_fault(log, slow):
    with BaseDriver(SlowBase(BaseLimits(board_timeout_s=0.5), log=log, **slow)) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.way.travelled_m > 0.3)
            told = [text.split()[0] for _, text in calls(log)]
        assert "stop" not in told[told.index("velocity") :]


def test_a_lease_that_is_renewed_often_costs_the_base_one_command_a_step(log):
    def told() -> int:
        return sum(text == "told" for _, text in calls(log))

    with BaseDriver(CountedBase(log=log)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps == 0.2)
        before, begun_s = told(), time.monotonic()
        keep_driving(drive, lambda: told() - before >= 50)
        assert time.monotonic() - begun_s > 0.8, "50 steps of 20 ms, though it was renewed 200 times a second"


def test_a_slow_call_at_the_end_of_a_lease_is_followed_by_a_stop_and_by_nothing_before(log):
    """That may be 0.8 s after the last renewal, which docs/safety.md says."""
    with BaseDriver(SlowAtTheLastBase(log=log)) as driver:

        def drives_once() -> bool:
            with driver.drive() as drive:
                drive.set(0.2)
                assert until(lambda: not driver.velocity.is_zero)
                assert until(lambda: driver.velocity.is_zero)
            return any(text == "slow" for _, text in calls(log))

        assert until(drives_once), "a busy machine may miss the end of a lease"
        told = [text for _, text in calls(log)]
        assert told[told.index("slow") + 1] == "stop"


def test_a_beat_of_another_thread_is_no_lease(driver):
    with driver.drive() as drive:
        errors = []

        def beat() -> None:
            try:
                drive.set(0.2)
            except DriveError as error:
                errors.append(str(error))

        thread = threading.Thread(target=beat)
        thread.start()
        thread.join()
        assert errors == ["only the thread that has begun a drive renews its lease: its body may hang"]
        assert driver.velocity.is_zero


def test_a_stop_ends_the_drive_for_whoever_goes_on_asking(driver, log):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        driver.stop()
        with pytest.raises(DriveError, match="stopped"):
            drive.set(0.2)
        assert until(lambda: is_at_rest(log))
    with driver.drive() as another:
        keep_driving(another, lambda: driver.velocity.forward_mps > 0)


def test_a_second_drive_takes_the_place_of_the_first(driver):
    with driver.drive() as first:
        first.set(0.2)
        with driver.drive() as second:
            second.set(-0.2)
            with pytest.raises(DriveError, match="has ended"):
                first.set(0.2)


def test_a_held_base_stands_and_goes_on_when_it_is_released(driver):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        driver.hold()
        keep_driving(drive, lambda: driver.velocity.is_zero)
        driver.release()
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_a_hold_that_was_lost_on_a_full_link_holds_all_the_same(driver):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        os.kill(driver.pid, signal.SIGSTOP)
        for _ in range(5_000):  # nobody reads them
            driver.release()
        driver.hold()
        os.kill(driver.pid, signal.SIGCONT)
        keep_driving(drive, lambda: driver.velocity.is_zero)
        driver.release()
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


@pytest.mark.real_time
def test_a_hold_ends_a_silence(driver):
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        driver.silence(2.0)
        driver.hold()
        begun_s = time.monotonic()
        keep_driving(drive, lambda: driver.velocity.is_zero)
        assert time.monotonic() - begun_s < 1.0


def test_a_base_that_was_held_before_it_was_started_does_not_move(log):
    with BaseDriver(SimulatedBase(log=log)) as driver:
        driver.close()
        driver.hold()
        with driver.drive() as drive:
            drive.set(0.2)
            begun = driver.odometry
            keep_driving(drive, lambda: driver.odometry is not None and driver.odometry is not begun)
        assert velocities(log) == [] or set(velocities(log)) == {(0.0, 0.0)}


@pytest.mark.parametrize(("forward_mps", "turn_rps", "unit"), [(0.3, 0.0, "m a drive"), (0.0, 1.0, "degrees a drive")])
def test_a_drive_ends_at_the_limit_of_its_way(log, forward_mps, turn_rps, unit):
    with BaseDriver(SimulatedBase(SHORT, log=log)) as driver, driver.drive() as drive:
        with pytest.raises(DriveError, match=unit):
            keep_driving(drive, lambda: False, forward_mps, turn_rps)
        assert until(lambda: is_at_rest(log))


def test_a_body_that_asks_without_a_pause_is_held_to_the_limit(log):
    def flood(drive: Drive) -> None:
        while True:
            drive.set(0.3)

    with BaseDriver(SimulatedBase(SHORT, log=log)) as driver, driver.drive() as drive:
        with pytest.raises(DriveError, match="m a drive"):
            flood(drive)
        assert until(lambda: is_at_rest(log))


@pytest.mark.real_time
def test_why_a_drive_has_ended_is_told_though_nobody_read_in_time(log, monkeypatch):
    def narrow(*kind: int) -> tuple[socket.socket, socket.socket]:
        pair = socketpair(*kind)
        for one in pair:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the system makes that a few messages
        return pair

    socketpair = socket.socketpair
    monkeypatch.setattr(socket, "socketpair", narrow)
    with BaseDriver(SimulatedBase(SHORT, log=log), lease_s=1.0) as driver, driver.drive() as drive:
        drive.set(0.3)
        ctypes.PyDLL(None).sleep(1)  # which holds the interpreter's lock, until the way is driven and the link is full
        with pytest.raises(DriveError, match="m a drive"):
            keep_driving(drive, lambda: False, 0.3)


def test_a_velocity_that_is_something_else_is_refused_where_it_is_asked_for(driver):
    with driver.drive() as drive:
        for velocity in ("fast", None, []):
            with pytest.raises((ValueError, TypeError)):
                drive.set(velocity)
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_a_velocity_that_is_no_number_stops_the_drive(driver, log):
    for velocity in (math.nan, math.inf, -math.inf):
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
            drive.set(velocity)
            with pytest.raises(DriveError, match="no number"):
                keep_driving(drive, lambda: False)
            assert until(lambda: is_at_rest(log))


# --- faults of a base -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", "OSError: the cable is out"),
        ("exits", "SystemExit: 3"),
        ("cancels", "CancelledError: nobody waits"),
        ("tells much", "OSError: xxx"),
        ("stands still", "a wheel is blocked, the cable of an encoder is out, or"),
        ("late", "set_velocity of the base took"),
        ("slow", "for a call, twice: a stop would come too late"),
        ("nan", "the odometer tells nonsense"),
        ("jumps", "the odometer jumped by 5"),
    ],
)
def test_a_base_that_fails_while_it_drives_is_stopped_and_made_safe_and_the_drive_told(log, how, told):
    with BaseDriver(BrokenBase(log=log, how=how)) as driver:
        with driver.drive() as drive, pytest.raises(DriveError, match=told):
            keep_driving(drive, lambda: False)
        assert until(lambda: calls(log)[-1][1] == "close")
        assert [text for _, text in calls(log)][-2] == "stop"


def test_a_base_whose_stop_fails_is_given_zero_velocity(log, caplog):
    with BaseDriver(BrokenBase(log=log, how="stop raises")) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        with pytest.raises(DriveError, match=r"OSError: the brake is out$"):
            driver.wait_for_rest()
    assert [text for _, text in calls(log)][-2:] == ["velocity 0.0000 0.0000", "close"]
    assert "the base BrokenBase failed and stands: OSError: the brake is out" in caplog.messages


@pytest.mark.parametrize(("timeout_s", "end"), [(0.1, "the time-out of its board"), (None, "its power is cut")])
def test_a_base_that_takes_neither_a_stop_nor_zero_is_not_said_to_stand(log, caplog, timeout_s, end):
    base = BrokenBase(BaseLimits(board_timeout_s=timeout_s), log=log, how="can not be stopped")
    with BaseDriver(base, without_timeout=timeout_s is None) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        with pytest.raises(DriveError, match=rf"the brake is out \(may still move, until {end}\)"):
            driver.wait_for_rest()
    assert calls(log)[-1][1] == "close"
    assert f"the base BrokenBase failed and may still move, until {end}: OSError: the brake is out" in caplog.messages


def test_a_base_whose_stop_never_returns_is_told_and_the_next_drive_has_a_new_process(log):
    with BaseDriver(BrokenBase(log=log, how="hangs at the end")) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        with pytest.raises(DriveError, match=f"its process ended by signal {int(signal.SIGALRM)}"):
            driver.wait_for_rest()
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_a_base_that_never_answers_is_given_up_and_the_next_drive_has_a_new_process(log):
    with BaseDriver(BrokenBase(log=log, how="never")) as driver:
        first = driver.pid
        with driver.drive() as drive, pytest.raises(DriveError, match="does not answer: its process said nothing"):
            keep_driving(drive, lambda: False)
        with driver.drive():
            assert driver.pid not in (first, None)


class Unread(BaseDriver):
    """A driver whose agent has no memory for what it is told, from its first motion on."""

    def _take(self, kind: str, *values: object) -> None:
        super()._take(kind, *values)
        if not self.velocity.is_zero:
            raise MemoryError


def test_an_agent_that_can_not_take_what_its_base_tells_does_not_drive_on(log):
    with Unread(SimulatedBase(log=log)) as driver:
        with driver.drive() as drive, pytest.raises(DriveError, match="could not be taken"):
            keep_driving(drive, lambda: False)
        assert until(lambda: calls(log)[-1][1] == "close")
        assert is_at_rest(log)


def test_a_base_that_can_not_be_opened_is_told_with_its_reason(log):
    with pytest.raises(DriveError, match="ttyUSB7 is not there"):
        BaseDriver(BrokenBase(log=log, how="not there")).start()
    assert calls(log)[-1][1] == "close"


def test_a_board_without_a_time_out_is_refused(log):
    with pytest.raises(ConfigError, match="has no time-out"):
        BaseDriver(SimulatedBase(BaseLimits()))


def test_a_time_out_of_a_board_that_is_too_long_is_none():
    with pytest.raises(ConfigError, match=r"has no time-out of at most 0\.5 s"):
        BaseDriver(SimulatedBase(BaseLimits(board_timeout_s=3600)))


@pytest.mark.parametrize("lease_s", [0, -1, 60, math.inf, math.nan])
def test_a_lease_that_does_not_end_soon_is_refused(lease_s):
    with pytest.raises(ConfigError, match="lease_s"):
        BaseDriver(SimulatedBase(), lease_s=lease_s)


def test_a_board_without_a_time_out_is_called_unsafe_at_every_start(caplog):
    driver = BaseDriver(SimulatedBase(BaseLimits()), without_timeout=True)
    for start in (1, 2):
        with caplog.at_level(logging.WARNING), driver:
            assert [record.levelname for record in caplog.records if "UNSAFE" in record.message] == ["WARNING"] * start


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "fast", None])
def test_a_limit_that_is_no_number_above_zero_is_refused(value):
    with pytest.raises(ConfigError, match="speed_mps"):
        BaseLimits(speed_mps=value)


def test_a_base_that_can_not_be_handed_to_a_process_is_refused():
    base = SimulatedBase()
    base.lock = threading.Lock()
    with pytest.raises(ConfigError, match=r"open ports and pins in open\(\)"):
        BaseDriver(base)


def test_closing_twice_leaves_no_process():
    driver = BaseDriver(SimulatedBase())
    driver.start()
    pid = driver.pid
    driver.close()
    driver.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_drive_that_outlives_its_driver_is_over():
    with BaseDriver(SimulatedBase()) as driver, driver.drive() as drive:
        driver.close()
        with pytest.raises(DriveError, match="has ended"):
            drive.set(0.2)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nan at first", "the odometer tells nonsense"),
        ("a tuple", r"TypeError: odometry\(\) returned a tuple; return Odometry\(travelled_m, turned_rad\)"),
    ],
)
def test_an_odometer_that_tells_no_number_at_the_start_is_refused(log, how, told):
    with pytest.raises(DriveError, match=told):
        BaseDriver(BrokenBase(log=log, how=how)).start()


@pytest.mark.parametrize("name", ["open", "set_velocity", "odometry", "stop", "close", "battery_v"])
def test_a_base_without_a_method_is_refused_by_its_name(name):
    base = SimulatedBase()
    setattr(base, name, None)
    with pytest.raises(ConfigError, match=rf"SimulatedBase is no base: it has no method {name}\(\)$"):
        BaseDriver(base)


@pytest.mark.parametrize("limits", [None, 0.3, {"speed_mps": 0.3}, BaseLimits])
def test_a_base_with_limits_that_are_none_is_refused(limits):
    with pytest.raises(ConfigError, match="for its limits, which must be a BaseLimits"):
        BaseDriver(SimulatedBase(limits))


@pytest.mark.parametrize("base", [3, SimulatedBase])
def test_what_is_no_base_is_refused(base):
    with pytest.raises(ConfigError, match="is no base: it has "):
        BaseDriver(base)


def test_a_base_that_loses_its_stop_is_given_zero_velocity_and_closed(log):
    with BaseDriver(WithoutStop(log=log)) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
        with pytest.raises(DriveError, match="AttributeError: no stop"):
            driver.wait_for_rest()
    assert [text for _, text in calls(log)][-2:] == ["velocity 0.0000 0.0000", "close"]


def test_a_stop_while_the_base_is_opened_counts_for_the_drive_that_waits_for_it(log):
    with contextlib.ExitStack() as stack:
        driver = BaseDriver(BrokenBase(log=log, how="opens when the file is there"))
        stack.callback(driver.close)
        errors = []

        def drive() -> None:
            try:
                with driver.drive() as drive:
                    keep_driving(drive, lambda: False)
            except DriveError as error:
                errors.append(str(error))

        thread = threading.Thread(target=drive)
        thread.start()
        assert until(lambda: bool(calls(log)))
        driver.stop()
        log.with_suffix(".go").touch()
        thread.join(LIMIT_S)
        assert errors == ["the drive has ended: it was stopped"]
        assert [velocity for velocity in velocities(log) if velocity != (0.0, 0.0)] == []


def test_a_stop_overtakes_velocities_that_wait(log):
    stopped = threading.Event()

    def flood(driver: BaseDriver) -> None:
        with contextlib.suppress(DriveError), driver.drive() as drive:
            while not stopped.is_set():
                drive.set(0.3)

    with BaseDriver(SimulatedBase(log=log)) as driver:
        thread = threading.Thread(target=flood, args=(driver,))
        thread.start()
        assert until(lambda: driver.velocity.forward_mps > 0)
        os.kill(driver.pid, signal.SIGSTOP)  # so that the socket fills
        driver.stop()
        stopped.set()
        thread.join(LIMIT_S)
        os.kill(driver.pid, signal.SIGCONT)
        assert until(lambda: is_at_rest(log))
        with driver.drive() as another:
            keep_driving(another, lambda: driver.velocity.forward_mps > 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_that_closes_its_copy_does_not_end_the_driver(driver):
    child = os.fork()
    if child == 0:
        driver.close()
        os._exit(0)
    os.waitpid(child, 0)
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_closing_ends_a_start_that_waits(log):
    driver, errors = BaseDriver(BrokenBase(log=log, how="opens for ever")), []

    def start() -> None:
        try:
            driver.start()
        except DriveError as error:
            errors.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    assert until(lambda: bool(calls(log)))
    driver.close()
    thread.join(LIMIT_S)
    assert errors == ["the base BrokenBase was closed while it was opened"]


def test_a_system_without_files_to_spare_is_told(log):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    driver = BaseDriver(SimulatedBase(log=log))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 400), hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(2))
        with pytest.raises(DriveError, match=r"can't be started.*Too many open files"):
            driver.start()
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with driver, driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_an_agent_with_a_path_on_its_path_drives(driver, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, Path("apps")])  # which Python itself ignores
    driver.close()
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_an_agent_with_many_files_drives(driver):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard), hard))
    taken = []
    try:
        while not taken or taken[-1] < 1100:
            taken.append(os.dup(0))
        driver.close()
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.velocity.forward_mps > 0)
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_class_of_a_base_may_stand_in_an_app_file(tmp_path, log):
    app = tmp_path / "my_robot.py"
    app.write_text(
        "from edgeagent import Agent\nfrom edgeagent.robot import SimulatedBase\n"
        "class MyBase(SimulatedBase): ...\nagent = Agent('robi')\n"
    )
    base = AppFile.load(app).module.MyBase(log=log)
    with BaseDriver(base) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


def test_a_class_in_a_file_that_takes_pins_is_told_that_its_driver_runs_that_again(tmp_path):
    app = tmp_path / "my_robot.py"
    app.write_text(
        "from pathlib import Path\nfrom edgeagent import Agent\nfrom edgeagent.robot import SimulatedBase\n"
        f"Path({str(tmp_path / 'pin')!r}).touch(exist_ok=False)\n"
        "class MyBase(SimulatedBase): ...\nagent = Agent('robi')\n"
    )
    driver = BaseDriver(AppFile.load(app).module.MyBase())
    with pytest.raises(DriveError, match=r"File exists.*keep pins and nodes in another one than the class"):
        driver.start()
    driver.close()


@pytest.mark.timeout(60)
def test_an_app_file_that_starts_its_driver_is_told_and_starts_no_further_one(tmp_path):
    app = tmp_path / "my_robot.py"
    app.write_text(
        "from pathlib import Path\nfrom edgeagent import Agent\nfrom edgeagent.robot import BaseDriver, SimulatedBase\n"
        f"runs = Path({str(tmp_path / 'runs')!r})\n"
        "runs.write_text(runs.read_text() + '.' if runs.exists() else '.')\n"
        "assert len(runs.read_text()) < 5\n"
        "class MyBase(SimulatedBase): ...\n"
        "driver = BaseDriver(MyBase())\ndriver.start()\nagent = Agent('robi')\n"
    )
    with pytest.raises(ConfigError, match=r"was started where its class is imported.*in another one than the class"):
        AppFile.load(app)
    assert (tmp_path / "runs").read_text() == ".."


def test_a_file_that_hangs_keeps_no_process_whose_agent_is_gone(tmp_path):
    app = tmp_path / "my_robot.py"
    app.write_text("import threading\nthreading.Event().wait()\n")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    run = (
        "import sys; from edgeagent.robot import base_process; base_process.OPENS_S = 0.3; "
        "base_process.main([sys.argv[1], sys.argv[1], '0.3', 'my_robot', sys.argv[2]])"
    )
    with theirs:
        process = subprocess.Popen([sys.executable, "-c", run, str(theirs.fileno()), app], pass_fds=[theirs.fileno()])
    ours.close()
    assert process.wait(LIMIT_S) == -signal.SIGALRM


# --- the latch, and a skill -------------------------------------------------------------------------------------------


def test_a_latch_that_trips_stops_a_skill_that_drives(driver, log):
    latch, moved = SafetyLatch(), threading.Event()

    @skill(resources=["base"], stop=driver.stop, pause=driver.hold, resume=driver.release)
    def drive(goal: GoalHandle) -> str:
        """Drive."""
        with driver.drive() as motion:
            while not goal.cancelled:
                goal.checkpoint()
                motion.set(0.2)
                if driver.velocity.forward_mps:
                    moved.set()
                goal.cancel_event.wait(0.02)
        return "drove"

    agent = Agent("robi", llm=ScriptedLLM([call("drive")], "Done."), tools=[drive], latch=latch)
    handle = agent.start("drive")
    assert moved.wait(LIMIT_S)
    latch.trip("somebody said stop")
    (made,) = handle.result(LIMIT_S).tool_calls
    assert made.result.status == "interrupted"
    assert until(lambda: is_at_rest(log))


@pytest.mark.real_time
def test_a_stop_function_that_hangs_does_not_keep_the_base_driving(motors):
    latch, moved, hung = SafetyLatch(), threading.Event(), threading.Event()
    driver = BaseDriver(motors.base, without_timeout=True)

    @skill(resources=["base"], stop=lambda: hung.wait(LIMIT_S))
    def drive(goal: GoalHandle) -> str:
        """Drive."""
        with driver.drive() as motion:
            while True:
                goal.checkpoint()
                motion.set(0.2)
                if driver.velocity.forward_mps:
                    moved.set()
                goal.cancel_event.wait(0.02)

    handle = Agent("robi", llm=ScriptedLLM([call("drive")], "Done."), tools=[drive], latch=latch).start("drive")
    try:
        assert moved.wait(LIMIT_S)
        threading.Thread(target=latch.trip, args=("somebody said stop",)).start()
        assert until(motors.are_told_to_stand)
    finally:
        hung.set()
        driver.close()
    handle.result(LIMIT_S)


# --- processes that are killed, stopped or hang -----------------------------------------------------------------------

AGENT = """
    import ctypes, sys, threading
    from pathlib import Path, PosixPath
    from edgeagent.robot import BaseDriver, BaseLimits, RoboClaw, SimulatedBase

    from tests.robot.bases import BrokenBase, ThreadedBase, WatchedGpioBase

    driver = BaseDriver({base})
    driver.start()
    print(driver.pid, flush=True)
    pause = threading.Event()
    with driver.drive() as drive:
        while not driver.velocity.forward_mps:
            drive.set(0.2)
            pause.wait(0.01)
        print("drives", flush=True)
        {then}
"""
DRIVE_ON = "while True: drive.set(0.2); pause.wait(0.01)"
HOLD_THE_INTERPRETER = "ctypes.PyDLL(None).sleep(100)"
HANG = "pause.wait()"
BEAT = "threading.Thread(target=lambda: [drive.set(0.2) for _ in iter(int, 1)], daemon=True).start(); pause.wait()"


@pytest.fixture
def agent_process(log: Path) -> Iterator:
    started: list[subprocess.Popen[str]] = []

    def start(then: str, base: str = "SimulatedBase(log=Path(sys.argv[1]))") -> subprocess.Popen[str]:
        program = textwrap.dedent(AGENT).format(then=then, base=base)
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(log)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        started.append(process)
        process.driver = int(process.stdout.readline())
        assert process.stdout.readline() == "drives\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_the_base_stands_when_the_agent_is_killed_or_stopped(agent_process, log, number):
    process = agent_process(DRIVE_ON)
    process.send_signal(number)
    assert until(lambda: is_at_rest(log))
    if number != signal.SIGSTOP:
        assert until(lambda: calls(log)[-1][1] == "close"), "safe, after it stood"


@pytest.mark.parametrize("then", ["drive_without_memory(drive)", "drive_on_a_full_disk(drive)"])
def test_the_base_stands_when_the_agent_has_no_memory_or_disk_left(agent_process, log, then):
    agent_process(f"from tests.robot import bases; bases.{then}")
    assert until(lambda: is_at_rest(log))
    assert until(lambda: calls(log)[-1][1] == "close"), "the agent has ended"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_base_stands_when_an_agent_without_files_to_spare_is_killed_or_stopped(agent_process, log, number):
    process = agent_process("from tests.robot import bases; bases.drive_without_files(drive)")
    process.send_signal(number)
    assert until(lambda: is_at_rest(log))


def test_a_driver_whose_memory_is_exhausted_by_its_base_stands_and_is_safe(log):
    """Memory that was set aside for that is given back first."""
    with BaseDriver(BrokenBase(log=log, how="no memory")) as driver:
        with driver.drive() as drive, pytest.raises(DriveError, match="MemoryError"):
            keep_driving(drive, lambda: False)
        assert until(lambda: calls(log)[-1][1] == "close")
        with driver.drive() as drive:
            drive.set(0.0)


def test_what_was_there_when_a_driver_began_is_given_up_at_the_end_of_the_program():
    """Libraries in C tell of what is not as leaked."""
    program = """if True:
        import os
        from edgeagent.robot import BaseDriver, SimulatedBase

        class Used:
            def __del__(self, told=os.write):
                told(1, b"given up")

        used = Used()
        used.itself = used
        with BaseDriver(SimulatedBase()):
            pass
    """
    folder = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=True)
    assert (done.stdout, done.stderr) == ("given up", "")


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("motors", "then"),
    [
        ("simulated", HANG),
        ("simulated", BEAT),
        ("simulated", HOLD_THE_INTERPRETER),
        ("roboclaw", HOLD_THE_INTERPRETER),
        ("pins", HANG),
    ],
    indirect=["motors"],
    ids=["body hangs", "a thread beats", "C call", "C call, roboclaw", "body hangs, pins"],
)
def test_the_base_stands_when_the_body_that_drives_hangs(agent_process, motors, then):
    process = agent_process(then, f"{motors.base!r}, without_timeout=True")
    assert until(motors.are_told_to_stand)
    process.kill()
    assert until(lambda: is_gone(process.driver)), "before its board"


def test_a_thread_of_the_base_keeps_no_driver_whose_agent_is_gone(agent_process, log):
    process = agent_process(DRIVE_ON, base="ThreadedBase(log=Path(sys.argv[1]))")
    process.kill()
    assert until(lambda: is_gone(process.driver))
    assert calls(log)[-1][1] == "close"


def test_a_base_that_hangs_ends_though_its_agent_is_gone(agent_process, log):
    process = agent_process(DRIVE_ON, base="BrokenBase(log=Path(sys.argv[1]), how='hangs at the end')")
    process.kill()
    assert until(lambda: is_gone(process.driver))


def test_a_driver_that_is_terminated_leaves_the_base_safe(agent_process, log):
    process = agent_process(DRIVE_ON)
    os.kill(process.driver, signal.SIGTERM)
    assert until(lambda: calls(log)[-1][1] == "close")
    assert is_at_rest(log)


def test_ctrl_c_at_the_terminal_does_not_end_the_driver(driver):
    os.kill(driver.pid, signal.SIGINT)
    os.kill(driver.pid, signal.SIGHUP)
    with driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps > 0)


# --- a serial board ---------------------------------------------------------------------------------------------------


def roboclaw(board: Board) -> RoboClaw:
    return RoboClaw(port=board.port, pulses_per_m=PULSES_PER_M, track_m=0.3)


def test_a_serial_board_drives_and_tells_its_way():
    with Board() as board, BaseDriver(roboclaw(board)) as driver:
        assert board.timeout_s == 0.3
        with driver.drive() as drive:
            keep_driving(drive, lambda: driver.odometry.travelled_m > 0.05)
            assert board.wheels[0] == board.wheels[1] > 0
            keep_driving(drive, lambda: driver.odometry.turned_rad > 0.1, 0.0, 1.0)
            assert board.wheels[0] == -board.wheels[1] < 0
        assert until(lambda: board.wheels == (0, 0))


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_board_stops_by_its_own_time_out_when_the_driver_is_killed_or_stopped(number):
    with Board() as board, BaseDriver(roboclaw(board)) as driver:
        with driver.drive() as drive:
            keep_driving(drive, lambda: board.wheels[0] > 0)
            os.kill(driver.pid, number)
            with pytest.raises(DriveError, match="does not answer"):
                keep_driving(drive, lambda: False)
        assert until(lambda: board.stopped_itself == 1)
        assert board.wheels == (0, 0)


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_serial_board_is_told_to_stand_when_the_agent_is_killed_or_stopped(agent_process, number):
    with Board() as board:
        process = agent_process(DRIVE_ON, f"RoboClaw(port={board.port!r}, pulses_per_m=10_000, track_m=0.3)")
        assert until(lambda: board.wheels[0] > 0)
        process.send_signal(number)
        assert until(lambda: board.wheels == (0, 0))
        assert board.stopped_itself == 0
        process.kill()
        assert until(lambda: is_gone(process.driver))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_pins_are_low_when_the_agent_is_killed_or_stopped(agent_process, log, number):
    pins = "left=(4, 14), right=(17, 27), enable=22, full_speed_mps=0.5, track_m=0.3, log=Path(sys.argv[1])"
    process = agent_process(DRIVE_ON, f"WatchedGpioBase({pins}), without_timeout=True")
    process.send_signal(number)
    assert until(
        lambda: [text for _, text in calls(log) if text.startswith("stop output:0.00 output:0.00 output:0.00")]
    )
    if number == signal.SIGSTOP:
        process.kill()
    assert until(lambda: calls(log)[-1][1].startswith("close input"))


def test_a_board_that_forgot_its_time_out_is_refused_before_it_drives():
    with Board() as board, BaseDriver(roboclaw(board)) as driver:
        board.timeout_s = 0.0  # its power was off for a moment
        with driver.drive() as drive, pytest.raises(DriveError, match=r"has a time-out of 0\.0 s, not of 0\.3 s"):
            keep_driving(drive, lambda: False)
        assert board.wheels == (0, 0)
        with driver.drive() as another:
            keep_driving(another, lambda: board.wheels[0] > 0)
            assert board.timeout_s == 0.3


@pytest.mark.real_time
def test_a_board_that_has_stopped_itself_speeds_up_from_rest():
    limits = BaseLimits(acceleration_mps2=0.2)
    base = RoboClaw(port="", pulses_per_m=PULSES_PER_M, track_m=0.3, limits=limits)

    def driven(board: Board) -> BaseDriver:
        return BaseDriver(dataclasses.replace(base, port=board.port))

    def wheel_after_the_stop() -> int:
        with Board() as board, driven(board) as driver, driver.drive() as drive:
            keep_driving(drive, lambda: board.wheels[0] >= 1500)
            os.kill(driver.pid, signal.SIGSTOP)
            assert until(lambda: board.stopped_itself == 1)
            drive.set(0.2)
            os.kill(driver.pid, signal.SIGCONT)
            keep_driving(drive, lambda: board.wheels[0] > 0)
            return board.wheels[0]

    for _ in range(5):
        try:
            assert wheel_after_the_stop() < 1000
            return
        except DriveError as error:  # the signal came amid a command to the board, which has failed since
            if "timeout" not in str(error):
                raise
    pytest.fail("every stop came amid a command")


def test_a_cable_that_is_pulled_in_mid_drive_is_told():
    with Board() as board, BaseDriver(roboclaw(board)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: board.wheels[0] > 0)
        board.pull()
        with pytest.raises(DriveError, match="the base RoboClaw does not answer"):
            keep_driving(drive, lambda: False)


def test_a_board_that_does_not_answer_is_told_at_the_start():
    with Board(answers=False) as board, pytest.raises(DriveError, match="does not answer to command 14"):
        BaseDriver(roboclaw(board)).start()


def test_two_programs_do_not_get_one_board():
    with Board() as board, BaseDriver(roboclaw(board)) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: board.wheels[0] > 0)
        with pytest.raises(DriveError, match="has another program the port"):
            BaseDriver(roboclaw(board)).start()
        keep_driving(drive, lambda: driver.odometry.travelled_m > 0.05)  # which the first one has still


def test_a_program_that_asks_for_no_lock_does_not_get_the_port_of_a_board_either():
    user = NOBODY if os.geteuid() == 0 else os.geteuid()  # root may open every port

    def opened() -> str:
        program = ["sh", "-c", 'exec 3<>"$0"', board.port]
        return subprocess.run(program, user=user, stderr=subprocess.PIPE, text=True, check=False).stderr

    with Board() as board:
        os.chown(board.port, user, -1)
        with BaseDriver(roboclaw(board)):
            assert "busy" in opened()
        assert opened() == "", "free after its driver was closed"


@pytest.mark.parametrize(
    "wrong", [{"pulses_per_m": 0.0}, {"pulses_per_m": math.nan}, {"track_m": 0.0}, {"address": 7}], ids=str
)
def test_a_wrong_setting_of_a_board_is_named(wrong):
    settings = {"port": "/dev/null", "pulses_per_m": 1.0, "track_m": 0.3} | wrong
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RoboClaw(**settings)


# --- pins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"full_speed_mps": math.inf}, {"track_m": math.inf}, {"track_m": 0.0}])
def test_a_speed_or_a_track_that_no_base_has_is_refused(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} of a base on pins"):
        GpioBase(**{"left": (4, 14), "right": (17, 27), "full_speed_mps": 0.5, "track_m": 0.3} | wrong)


def test_a_base_on_pins_turns_its_wheels_and_leaves_its_pins_as_inputs(log):
    base = WatchedGpioBase(left=(4, 14), right=(17, 27), enable=22, full_speed_mps=0.5, track_m=0.3, log=log)
    with pytest.raises(ConfigError, match="has no time-out"):
        BaseDriver(base)
    with BaseDriver(base, without_timeout=True) as driver, driver.drive() as drive:
        keep_driving(drive, lambda: driver.velocity.forward_mps == 0.25, forward_mps=0.25)
        keep_driving(drive, lambda: driver.velocity.turn_rps == -1.0, forward_mps=0.0, turn_rps=-1.0)
    told = [text.split() for _, text in calls(log)]
    assert "velocity output:0.50 output:0.00 output:0.50 output:0.00 output:1.00".split() in told
    assert "velocity output:0.30 output:0.00 output:0.00 output:0.30 output:1.00".split() in told
    assert told[-3][:5] == "stop output:0.00 output:0.00 output:0.00 output:0.00".split()
    assert told[-2][:5] == "velocity output:0.00 output:0.00 output:0.00 output:0.00".split()
    assert told[-1][0] == "close"
    assert {level.partition(":")[0] for level in told[-1][1:]} == {"input"}
