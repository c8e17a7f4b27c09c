"""``edgeagent base test``: a robot's base, tried with its wheels off the ground. Runs on the main thread.

The motors run only inside a drive of ``BaseDriver``, which ends with this process, with an answer that fails to come,
and with Ctrl-C.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import ConfigError, DriveError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.robot import BaseDriver, Odometry

EPILOG: Final = epilog(
    {
        "edgeagent base test --app my_robot.py": "your base: the file defines base = MyBase(), or its driver",
        "edgeagent base test --board roboclaw --port /dev/ttyACM0 --pulses-per-m 5600 --track-m 0.25 --low-battery-v "
        "10.5": "a RoboClaw",
        "edgeagent base test --board sabertooth --port /dev/serial0 --full-speed-mps 0.6 --track-m 0.3": "a Sabertooth",
        "edgeagent base test --board simulated": "how the test goes, without motors",
        "edgeagent base test --app my_robot.py --yes": "asks nothing, and tries what needs no eyes; the wheels are "
        "off the ground",
    },
    exit_code="0 all is well, as far as was tried · 1 something has to be changed · 2 wrong usage, or nobody to ask · "
    "130 Ctrl-C",
)

base = typer.Typer(help="The base of a robot: its motors.", no_args_is_help=True, rich_markup_mode="rich")

RUN_S: Final = 1.5
"""Seconds of one movement that a person looks at."""
PROMISED_S: Final = 0.5
"""Seconds from a stop to zero velocity that docs/safety.md promises."""
SILENT_S: Final = 1.0
"""Seconds for which the driver tells the board nothing, to see that the board's own time-out stops the wheels."""
WRONG_SHARE: Final = 0.03
"""Share by which a measured way may differ from the odometer's. Less can't be read off a ruler beside a wheel."""

SCALE_M: Final = 0.5
"""Metres that a wheel rolls for the scale, if the limits of the base allow them."""

_SHARE: Final = 0.5
"""Share of the limits at which the wheels run."""
_STEP_S: Final = 0.02
_SLACK_S: Final = 0.15
"""Seconds that a board may take beyond its time-out: it speeds down, and looks at its clock now and then."""
_WHEELS: Final = ("left", "right")


Board = Literal["simulated", "roboclaw", "sabertooth"]
"""Boards that need no app file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardOptions:
    """Options of a base without a file."""

    board: Annotated[Board | None, typer.Option("--board", help="A base without a file.", show_choices=True)] = None
    port: Annotated[str, typer.Option("--port", metavar="PATH", help="Serial port of the board.")] = ""
    pulses_per_m: Annotated[
        float | None,
        typer.Option("--pulses-per-m", metavar="N", help="RoboClaw: of its encoders, for a metre of a wheel."),
    ] = None
    full_speed_mps: Annotated[
        float | None,
        typer.Option("--full-speed-mps", metavar="MPS", help="Sabertooth: of a wheel at full power, metres a second."),
    ] = None
    track_m: Annotated[float | None, typer.Option("--track-m", metavar="M", help="Metres between the wheels.")] = None
    low_battery_v: Annotated[
        float | None,
        typer.Option("--low-battery-v", metavar="V", help="RoboClaw: volts below which no drive begins."),
    ] = None


@base.command("test", epilog=EPILOG)
@options.tabled
def try_base(
    app: Annotated[
        Path | None,
        typer.Option("--app", metavar="FILE.py", help="Your robot: a file that defines base or driver."),
    ] = None,
    *,
    own: BoardOptions,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="The wheels are off the ground: try what needs no eyes, ask nothing.")
    ] = False,
    log_level: options.LogLevel = None,
) -> None:
    """Try a base with its wheels off the ground: directions, scale, stop, the board's time-out, battery."""
    with exits.guarded():
        exits.watch(screen=False)
        if not yes and not sys.stdin.isatty():
            raise ConfigError("nobody is there to be asked: with the wheels off the ground, say --yes for the rest")
        if app is not None and own.board is None:
            driver = _app_driver(app)
        elif own.board is not None and app is None:
            driver = _board_driver(own.board, own)
        else:
            raise ConfigError("name the base: either --app FILE.py or --board NAME")
        trial = BaseTrial(driver, ask=None if yes else _asked)
        with closing(driver), exits.ending():
            trial.run()
        streams.answer(trial.summary)
    raise typer.Exit(exits.OK if trial.is_well else exits.FAILED)


def _board_driver(board: Board, own: BoardOptions) -> BaseDriver:
    """The driver of a board.

    Raises:
        ConfigError: An option of it is missing, or is no such number.
    """
    from edgeagent.robot import BaseDriver, BaseLimits, RoboClaw, Sabertooth, SimulatedBase

    port, track_m, low_battery_v = own.port, own.track_m, own.low_battery_v
    if low_battery_v is not None and board != "roboclaw":
        raise ConfigError(f"the board {board} measures no battery: --low-battery-v is for a RoboClaw")

    match board:
        case "simulated":
            return BaseDriver(SimulatedBase())
        case "roboclaw":
            if not port or own.pulses_per_m is None or track_m is None:
                raise ConfigError("a RoboClaw needs --port /dev/ttyACM0, --pulses-per-m and --track-m")
            limits = BaseLimits(low_battery_v=low_battery_v)
            return BaseDriver(RoboClaw(port=port, pulses_per_m=own.pulses_per_m, track_m=track_m, limits=limits))
        case "sabertooth":
            if not port or own.full_speed_mps is None or track_m is None:
                raise ConfigError("a Sabertooth needs --port /dev/serial0, --full-speed-mps and --track-m")
            return BaseDriver(Sabertooth(port=port, full_speed_mps=own.full_speed_mps, track_m=track_m))


def _app_driver(app: Path) -> BaseDriver:
    """The driver of the base that a file defines.

    Raises:
        ConfigError: It defines none, or one that can't be driven.
    """
    from edgeagent.app import AppFile
    from edgeagent.robot import BaseDriver

    module = AppFile.load(app).module
    found: Any = getattr(module, "base", None)
    driver = found if isinstance(found, BaseDriver) else getattr(module, "driver", None)
    if isinstance(driver, BaseDriver):
        return driver
    if not (hasattr(found, "limits") and hasattr(found, "set_velocity")):
        raise ConfigError(
            f"{app} defines no base: write base = MyBase() or driver = BaseDriver(MyBase()), and hand it to base_tools"
        )
    return BaseDriver(found)


class NoAnswer(EdgeAgentError):
    """Raised when nobody answers any more."""


def _asked(question: str) -> str:
    """Asks at the terminal.

    Raises:
        NoAnswer: It is closed.
    """

    line = streams.typed(f"{question} ")
    if line is None:
        raise NoAnswer("nobody answers any more; the base stands")
    return line.strip().casefold()


class BaseTrial:
    """Tries a base, step by step, and tells what to change.

    Args:
        driver: Of the base, not started.
        ask: Asks a person and returns the answer; None where nobody can answer.
    """

    def __init__(self, driver: BaseDriver, *, ask: Callable[[str], str] | None) -> None:
        self._driver, self._ask = driver, ask
        self._wrong = self._left_out = 0

    @property
    def is_well(self) -> bool:
        """True if everything that was tried is as it should be, and something was."""
        return not self._wrong

    @property
    def summary(self) -> str:
        left_out = f"; {self._left_out} not tried" if self._left_out else ""
        if not self.is_well:
            return f"change what is marked CHANGE, and test again{left_out}"
        return f"the base does what it should, as far as was tried{left_out}"

    def run(self) -> None:
        """Runs the test. A base that fails ends it."""
        if self._ask is not None and not self._is_yes("are all wheels off the ground, with nothing near them? [y/N]"):
            self._change("nothing was tried", "lift the robot, so that its wheels turn freely")
            return
        try:
            self._driver.start()
            if not self._battery():
                return
            self._direction("forward", {"left": "f", "right": "f"})
            self._direction("turn to the left", {"left": "b", "right": "f"})
            self._scale()
            self._stop()
            self._time_out()
        except DriveError as error:
            self._change("the base failed", str(error))

    # --- steps --------------------------------------------------------------------------------------------------------

    def _battery(self) -> bool:
        """Looks at the battery. False: it is too low for a drive."""
        volts, low_v = self._driver.battery_v, self._driver.limits.low_battery_v
        if volts is None:
            self._leave_out("battery", "the base has no battery_v")
        elif low_v is None:
            self._change(
                "battery", f"{volts:.1f} V, and no limit: set low_battery_v of the base's limits, or --low-battery-v"
            )
        elif volts < low_v:
            self._change("battery", f"{volts:.1f} V is low, below {low_v:g} V: charge it")
            return False
        else:
            self._fine("battery", f"{volts:.1f} V, low below {low_v:g} V")
        return True

    def _direction(self, name: str, wanted: dict[str, str]) -> None:
        """Runs the wheels, and compares their directions by odometer and by eye.

        Raises:
            DriveError: The base failed; that its wheels ran the wrong way was asked before.
        """
        failure = None
        if self._ask is not None:
            streams.tell(f"watch the wheels: {name}")
        try:
            way = self._run(forward=name == "forward")
        except DriveError as error:
            failure = error
        else:
            told = (way.travelled_m, "m") if name == "forward" else (math.degrees(way.turned_rad), "degrees")
            self._encoders(name, *told)
        self._look(name, wanted)
        if failure is not None:
            raise failure

    def _encoders(self, name: str, way: float, unit: str) -> None:
        """The odometer's direction; that it stands still or goes the other way, the driver notices."""
        if self._driver.odometry is None:
            self._leave_out(f"{name}, odometer", "the base has no encoders: it drives by time")
        elif way > 0:
            self._fine(f"{name}, odometer", f"{way:.2f} {unit}")
        else:
            self._change(f"{name}, odometer", f"{way:.2f} {unit}: turn the encoders round, or the sign of their scale")

    def _look(self, name: str, wanted: dict[str, str]) -> None:
        """Has a person tell the direction of each wheel."""
        if self._ask is None:
            self._leave_out(f"{name}, wheels", "nobody looks")
            return
        seen = {wheel: self._answer(f"the {wheel} wheel ran [f]orward, [b]ack, or [n]ot at all?") for wheel in _WHEELS}
        wrong = [wheel for wheel in _WHEELS if seen[wheel] != wanted[wheel]]
        still = [wheel for wheel in _WHEELS if seen[wheel] == "n"]
        if not wrong:
            self._fine(f"{name}, wheels", "as they should")
        elif still:
            self._change(f"{name}, wheels", f"{' and '.join(still)} stood still: look at cables, pins and power")
        elif name != "forward" and len(wrong) == len(_WHEELS):
            self._change(f"{name}, wheels", "it turned right: swap the left motor with the right one, encoders too")
        else:
            self._change(
                f"{name}, wheels", f"{' and '.join(wrong)} ran the other way: swap the two wires of that motor, each"
            )

    def _scale(self) -> None:
        """Compares the odometer with a measured way."""
        if self._ask is None:
            self._leave_out("scale", "nobody measures")
            return
        metres = min(SCALE_M, _SHARE * self._driver.limits.distance_m)
        if not self._is_yes(f"for the scale, mark a wheel at the top; it rolls by {metres:g} m. ready? [y/N]"):
            self._leave_out("scale", "not wanted")
            return
        told_m = self._run(forward=True, metres=metres).travelled_m
        measured_m = self._measured("turns of the mark times the wheel's circumference, in metres?")
        told = f"{told_m:.2f} m told, {measured_m:.2f} m measured"
        ratio = measured_m / told_m if told_m > 0 else 0.0
        if abs(ratio - 1) <= WRONG_SHARE:
            self._fine("scale", told)
            return
        change = f"multiply the way that odometry() tells by {ratio:.3f}"
        for setting, factor in (("pulses_per_m", 1 / ratio if ratio else 0.0), ("full_speed_mps", ratio)):
            value = getattr(self._driver.base, setting, None)
            if value is not None and factor:
                change = f"set {setting} to {value * factor:.5g}, not {value:.6g}"
        self._change("scale", f"{told}: {change}")

    def _stop(self) -> None:
        """Measures the time from a stop to zero velocity, and the way until it stands."""
        with self._driver.drive() as drive:
            self._drive_for(self._run_s(forward=True) / 2, lambda: drive.set(*self._speeds(forward=True)))
            before, begun_s = self._driver.way, time.monotonic()
            self._driver.stop()
            while not self._driver.velocity.is_zero and time.monotonic() - begun_s < 2 * PROMISED_S:
                time.sleep(_STEP_S / 4)  # the driver tells its velocity every 20 ms, and calls nobody
            took_s = time.monotonic() - begun_s
        stands = self._driver.wait_for_rest()
        rolled_m = self._driver.way.travelled_m - before.travelled_m
        told = f"zero velocity after {took_s:.2f} s, {100 * rolled_m:.0f} cm rolled"
        if took_s > PROMISED_S:
            self._change("stop", f"{told}: the driver was kept from running; look at the load of this machine")
        elif not stands:
            self._change("stop", f"{told}, and it rolls on: stop() of the base has to brake")
        else:
            self._fine("stop", told)

    def _time_out(self) -> None:
        """Has the driver tell the board nothing while the wheels run: the board has to stop them by itself."""
        limit_s = self._driver.limits.board_timeout_s
        if limit_s is None:
            self._change("board time-out", "the board has none: it drives on if its driver is killed")
            return
        sees = self._driver.odometry is not None
        if not sees and (self._ask is None or not self._is_yes("watch the wheels: do they stop early? ready? [y/N]")):
            self._leave_out("board time-out", "the base has no encoders, and nobody looks")
            return
        with self._driver.drive() as drive:
            self._drive_for(self._run_s(forward=True) / 2, lambda: drive.set(*self._speeds(forward=True)))
            speed_mps, before = self._driver.velocity.forward_mps, self._driver.way
            self._driver.silence(SILENT_S)
            self._drive_for(SILENT_S, lambda: None)
        self._driver.wait_for_rest()
        way_m = self._driver.way.travelled_m - before.travelled_m
        if sees:
            ran_on = way_m > speed_mps * (limit_s + _SLACK_S)
        else:
            ran_on = self._answer(f"did they stop at [o]nce, or run on for {SILENT_S:g} [s]econds?", "os") == "s"
        if ran_on:
            self._change("board time-out", f"the wheels ran on without a driver: set a time-out of {limit_s:g} s there")
        else:
            self._fine("board time-out", "the wheels stopped by themselves")

    # --- motion -------------------------------------------------------------------------------------------------------

    def _speeds(self, *, forward: bool) -> tuple[float, float]:
        limits = self._driver.limits
        return (_SHARE * limits.speed_mps, 0.0) if forward else (0.0, _SHARE * limits.turn_rps)

    def _run_s(self, *, forward: bool) -> float:
        """Seconds of a movement that ends before the limit of a drive."""
        limits = self._driver.limits
        most = limits.distance_m / limits.speed_mps if forward else limits.turn_rad / limits.turn_rps
        return min(RUN_S, most)

    def _run(self, *, forward: bool, metres: float | None = None) -> Odometry:
        """Runs for a moment, or so far. Returns the way."""
        from edgeagent.robot import Odometry

        speeds = self._speeds(forward=forward)
        with self._driver.drive() as drive:
            begun = self._driver.way
            if metres is None:
                self._drive_for(self._run_s(forward=forward), lambda: drive.set(*speeds))
            else:
                while self._driver.way.travelled_m - begun.travelled_m < metres:
                    drive.set(*speeds)
                    time.sleep(_STEP_S)  # the pace of the leases
        self._driver.wait_for_rest()
        way = self._driver.way
        return Odometry(way.travelled_m - begun.travelled_m, way.turned_rad - begun.turned_rad)

    def _drive_for(self, seconds: float, renew: Callable[[], None]) -> None:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            renew()
            time.sleep(_STEP_S)  # the pace of the leases

    # --- answers ------------------------------------------------------------------------------------------------------

    def _is_yes(self, question: str) -> bool:

        return self._ask is not None and streams.is_yes(self._ask(question))

    def _answer(self, question: str, letters: str = "fbn") -> str:
        """One of the letters, asked for until it is given."""
        assert self._ask is not None  # noqa: S101 - somebody is there
        while (answer := self._ask(question)[:1]) not in letters or not answer:
            pass
        return answer

    def _measured(self, question: str) -> float:
        assert self._ask is not None  # noqa: S101 - somebody is there
        while True:
            try:
                metres = float(self._ask(question).removesuffix("m").replace(",", "."))
            except ValueError:
                continue
            if 0 < metres < math.inf:
                return metres

    def _fine(self, name: str, told: str) -> None:
        streams.answer(f"ok      {name}: {told}")

    def _change(self, name: str, told: str) -> None:
        self._wrong += 1
        streams.answer(f"CHANGE  {name}: {told}")

    def _leave_out(self, name: str, why: str) -> None:
        self._left_out += 1
        streams.answer(f"        {name}: not tried, {why}")
