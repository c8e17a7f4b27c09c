"""Parts on gpiozero's mock pins: a servo, a distance sensor, buttons to talk and to stop, and a light."""

import logging
import math
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from gpiozero import Device, Motor
from gpiozero.pins.mock import MockFactory, MockPWMPin

from edgeagent import events
from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import (
    GpioBase,
    GpioDistance,
    GpioLight,
    GpioServo,
    GpioStopButton,
    GpioTalkButton,
    LatchState,
    SafetyLatch,
)

from .bases import until

LIMIT_S = 20.0


@pytest.fixture
def pins(monkeypatch) -> Iterator[MockFactory]:
    factory = MockFactory(pin_class=MockPWMPin)
    monkeypatch.setattr(Device, "pin_factory", factory)
    yield factory
    factory.reset()


def test_a_bridge_is_switched_off_before_its_pins_are_given_back(pins, monkeypatch):
    base = GpioBase(left=(4, 14), right=(17, 27), enable=22, full_speed_mps=0.5, track_m=0.3)
    base.open()
    enable = pins.pin(22)
    assert enable.state
    seen, close = [], Motor.close
    monkeypatch.setattr(Motor, "close", lambda motor: (seen.append(enable.state), close(motor)))
    base.close()
    assert seen
    assert not any(seen)
    assert enable.function == "input"


# --- servo ------------------------------------------------------------------------------------------------------------


def pulse_ms(pin: MockPWMPin) -> float:
    """Length of the pulses on a pin."""
    return round(pin.state / pin.frequency * 1000, 3)


def test_a_servo_turns_no_faster_than_it_may_and_to_the_pulse_of_its_angle(pins):
    with GpioServo(12, speed_dps=100) as servo:
        pin = pins.pin(12)
        assert pin.frequency is None, "no pulse before it is told an angle"
        assert list(servo.sweep(0)) == [0.02]
        assert pulse_ms(pin) == 1.5
        seen = [servo.angle_deg for _ in servo.sweep(-5)]
        assert seen == [-2, -4, -5]
        assert len(list(servo.sweep(90))) == 48
        assert pulse_ms(pin) == 2.0
        assert list(servo.sweep(90)) == []
        servo.off()
        assert servo.angle_deg is None
        assert pin.frequency is None
    assert pin.function == "input"


def test_a_servo_stands_where_its_sweep_is_left(pins):
    with GpioServo(12, speed_dps=100) as servo:
        list(servo.sweep(0))
        for _ in servo.sweep(90):
            if servo.angle_deg >= 10:
                break
        assert servo.angle_deg == 10


@pytest.mark.parametrize("angle", [91, -90.5, float("nan"), float("inf")])
def test_an_angle_beyond_the_ends_is_refused_before_it_turns(pins, angle):
    with GpioServo(12) as servo:
        with pytest.raises(ValueError, match="beyond the servo's ends"):
            servo.sweep(angle)
        assert servo.angle_deg is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"lowest_deg": 90},
        {"lowest_ms": 0},
        {"highest_ms": 1},
        {"speed_dps": 0},
        {"speed_dps": float("nan")},
        {"highest_deg": math.inf},
    ],
    ids=str,
)
def test_a_servo_with_impossible_ends_is_refused(pins, wrong):
    with pytest.raises(ConfigError, match="the servo on pin 12"):
        GpioServo(12, **wrong)


# --- distance sensor --------------------------------------------------------------------------------------------------


class EchoPin(MockPWMPin):
    """A pin whose edges carry the times that a test gives them, so that a busy machine does not change a distance."""

    at_s = 0.0

    def _call_when_changed(self):
        super(MockPWMPin.__mro__[1], self)._call_when_changed(self.at_s, self._state)


class TriggerPin(MockPWMPin):
    """The trigger of a sensor that answers at the end of its pulse, or not.

    Attributes:
        echo: The other pin.
        pulse_s: Length of the echo in seconds; None for no echo, "high" for one that does not end.
        once_s: The same for the next ping alone.
        pings: How often it was triggered.
        hangs: Keeps the next ping until it is set.
    """

    echo: EchoPin
    pulse_s: float | str | None = None
    once_s: float | None = None
    pings = 0
    hangs: threading.Event | None = None

    def _set_state(self, value):
        was = self._state
        super()._set_state(value)
        if not was or value:
            return
        self.pings += 1
        if self.hangs is not None:
            self.hangs.wait(LIMIT_S)
        pulse_s, self.once_s = self.once_s or self.pulse_s, None
        if pulse_s is None:
            return
        self.echo.at_s = 100.0
        self.echo.drive_high()
        if pulse_s != "high":
            self.echo.at_s = 100.0 + pulse_s
            self.echo.drive_low()


def told_by(distance: GpioDistance) -> float | None:
    """Metres to the millimetre, None if the sensor refuses to tell."""
    try:
        return round(distance(), 3)
    except DriveError:
        return None


class Sensor:
    """An HC-SR04 on pins 23 and 24."""

    def __init__(
        self, pins: MockFactory, metres: float | None, *, hangs: threading.Event | None = None, **settings: float
    ) -> None:
        self.trigger = pins.pin(23, pin_class=TriggerPin)
        self.trigger.hangs = hangs
        self.trigger.echo = pins.pin(24, pin_class=EchoPin)
        self.set(metres)
        self.distance = GpioDistance(echo=24, trigger=23, **settings)

    def set(self, metres: float | None) -> None:
        self.trigger.pulse_s = None if metres is None else metres * 2 / 343.0

    def __enter__(self) -> "Sensor":
        return self

    def __exit__(self, *_: object) -> None:
        if self.trigger.hangs is not None:
            self.trigger.hangs.set()
        self.distance.close()

    def tells(self, metres: float | None) -> bool:
        return until(lambda: told_by(self.distance) == metres)


def test_a_sensor_tells_metres_and_nothing_before_it_has_measured(pins):
    with Sensor(pins, 0.8, hangs=threading.Event()) as sensor:
        with pytest.raises(DriveError, match="pins 23 and 24 tells no distance: nothing was measured yet"):
            sensor.distance()
        sensor.trigger.hangs.set()
        assert sensor.tells(0.8)
        assert sensor.distance.trouble == ""
        sensor.set(0.3)
        assert sensor.tells(0.3)
    assert sensor.trigger.function == "input"
    assert not any(thread.name.startswith("distance") for thread in threading.enumerate())


def test_nothing_in_range_is_the_longest_distance_and_no_echo_is_an_error(pins, caplog):
    with Sensor(pins, 0.038 * 343 / 2, most_m=3.0) as sensor:  # the 38 ms of a sensor that hears nothing
        assert sensor.tells(3.0)
        sensor.set(None)  # the wire is off
        assert sensor.tells(None)
        with pytest.raises(DriveError, match="it does not answer: look at its wires"):
            sensor.distance()
        sensor.set(1.0)
        assert sensor.tells(1.0)
        assert sensor.distance.trouble == ""
    assert [record.message for record in caplog.records if "does not answer" in record.message] == [
        "the distance sensor on pins 23 and 24 tells no distance: it does not answer: look at its wires and its 5 volts"
    ], "once, not at every ping"


@pytest.mark.parametrize("metres", [0.0, 0.001, 0.019, -1.0])
def test_a_sensor_that_says_zero_tells_nothing_and_never_that_the_way_is_free(pins, metres):
    with Sensor(pins, 1.0) as sensor:
        assert sensor.tells(1.0)
        sensor.set(metres)
        assert sensor.tells(None)
        with pytest.raises(DriveError, match="something touches it, or it is broken"):
            sensor.distance()


def test_an_echo_that_does_not_end_is_an_error(pins):
    with Sensor(pins, 1.0) as sensor:
        assert sensor.tells(1.0)
        sensor.trigger.pulse_s = "high"
        assert sensor.tells(None)
        assert until(lambda: "does not end" in sensor.distance.trouble)


def test_a_measurement_that_hangs_is_an_error_after_a_moment(pins):
    with Sensor(pins, 1.0) as sensor:
        assert sensor.tells(1.0)
        sensor.trigger.hangs = threading.Event()
        assert sensor.tells(None)
        with pytest.raises(DriveError, match=r"its last answer is \d+\.\d s old"):
            sensor.distance()


def test_no_distance_is_older_than_what_a_drive_allows(pins):
    with Sensor(pins, 1.0) as sensor:
        assert sensor.tells(1.0)
        good_s, told_s = time.monotonic(), []
        sensor.set(None)
        assert until(lambda: sensor.distance.trouble != "")
        sensor.trigger.hangs = threading.Event()  # one ping is not answered, and the next one hangs

        def is_told_no_more() -> bool:
            at_s = time.monotonic()
            if told_by(sensor.distance) is None:
                return True
            told_s.append(at_s)
            return False

        assert until(is_told_no_more)
    assert max(told_s, default=good_s) - good_s < 0.3 + 0.06, "what base_tools allow, and a ping"


def test_one_wrong_echo_does_not_count(pins):
    with Sensor(pins, 1.0) as sensor:
        assert sensor.tells(1.0)
        told: list[float | None] = []
        for wrong_m in (0.2, 3.0, 0.001):
            sensor.trigger.once_s = wrong_m * 2 / 343.0
            goal = sensor.trigger.pings + 4
            assert until(lambda goal=goal: told.append(told_by(sensor.distance)) or sensor.trigger.pings >= goal)
        assert set(told) == {1.0}


def test_two_sensors_take_turns(pins):
    with Sensor(pins, 0.5) as sensor:
        trigger = pins.pin(5, pin_class=TriggerPin)
        trigger.echo, trigger.pulse_s = pins.pin(6, pin_class=EchoPin), 2 / 343.0
        with GpioDistance(echo=6, trigger=5) as other:
            assert sensor.tells(0.5)
            assert until(lambda: told_by(other) == 1.0)


@pytest.mark.parametrize("most_m", [0, 0.02, float("nan"), float("inf")])
def test_an_impossible_range_is_refused(pins, most_m):
    with pytest.raises(ConfigError, match="most_m"):
        GpioDistance(echo=24, trigger=23, most_m=most_m)


# --- buttons ----------------------------------------------------------------------------------------------------------


def test_a_talk_button_tells_once_of_each_press_and_release(pins):
    told = []
    pin = pins.pin(5)
    with GpioTalkButton(5, told.append) as button:
        assert told == []
        pin.drive_low()
        pin.drive_low()
        assert told == [True]
        pin.drive_high()
        assert told == [True, False]
        pin.drive_low()
        button.close()
        assert told == [True, False, True, False], "closed ears, not ears that stay open"


def test_a_talk_button_that_is_stuck_closes_the_ears(pins, caplog):
    told, closed = [], threading.Event()

    def push(down: bool) -> None:
        told.append(down)
        if not down:
            closed.set()

    with GpioTalkButton(5, push, longest_s=0.05):
        pins.pin(5).drive_low()
        assert closed.wait(LIMIT_S)
        assert until(lambda: "is stuck" in caplog.text)
        pins.pin(5).drive_high()
        assert told == [True, False], "letting go tells nothing new"
        pins.pin(5).drive_low()
        assert told[-1] is True


@pytest.mark.parametrize("longest_s", [0, -1, math.nan, math.inf])
def test_a_talk_button_that_could_never_be_stuck_or_would_always_be_is_refused(pins, longest_s):
    with pytest.raises(ConfigError, match="longest_s of the talk button on pin 5"):
        GpioTalkButton(5, lambda down: None, longest_s=longest_s)


def test_a_talk_button_that_is_pressed_from_the_start_does_not_talk(pins, caplog):
    told = []
    pin = pins.pin(5)
    pin.pull = "up"
    pin.drive_low()
    pin._set_pull = lambda value: setattr(pin, "_pull", value)  # somebody holds the button against the pull-up
    with caplog.at_level(logging.WARNING), GpioTalkButton(5, told.append):
        assert told == []
        assert "is pressed at the start" in caplog.text
        pin.drive_high()
        pin.drive_low()
        assert told == [True]


def test_a_function_that_raises_does_not_end_a_talk_button(pins, caplog):
    told = []

    def push(down: bool) -> None:
        told.append(down)
        raise OSError("the ears are gone")

    with GpioTalkButton(5, push):
        pins.pin(5).drive_low()
        pins.pin(5).drive_high()
    assert told == [True, False]
    assert "could not tell" in caplog.text


def wired(pins: MockFactory, *, shut: bool) -> MockPWMPin:
    """A pin whose button is shut to ground or not, whatever the pull-up wants."""
    pin = pins.pin(6)
    if shut:
        pin.pull = "up"
        pin.drive_low()
        pin._set_pull = lambda value: setattr(pin, "_pull", value)
    return pin


def test_a_stop_button_trips_the_latch_and_letting_go_does_nothing(pins):
    latch, pin = SafetyLatch(), wired(pins, shut=True)
    with GpioStopButton(6, latch):
        assert latch.state is LatchState.FREE
        pin.drive_high()
        assert (latch.state, latch.reason) == (LatchState.TRIPPED, "stop button")
        assert not latch.rearm(), "not while it is pressed"
        assert latch.reason == "the stop button on pin 6 is pressed, or its wire is off"
        pin.drive_low()
        assert latch.state is LatchState.TRIPPED
        assert latch.rearm()
        pin.drive_high()
        assert latch.state is LatchState.TRIPPED


def test_a_normally_closed_stop_button_whose_wire_is_off_trips_at_the_start(pins):
    latch = SafetyLatch()
    with GpioStopButton(6, latch):
        assert latch.state is LatchState.TRIPPED
        assert not latch.rearm()
    assert latch.rearm(), "a button that is closed holds nothing"


def test_a_normally_open_stop_button_trips_when_it_shuts(pins):
    latch = SafetyLatch()
    with GpioStopButton(6, latch, normally_closed=False):
        assert latch.state is LatchState.FREE
        pins.pin(6).drive_low()
        assert latch.state is LatchState.TRIPPED
        assert not latch.rearm()
        assert latch.reason == "the stop button on pin 6 is pressed"
        pins.pin(6).drive_high()
        assert latch.rearm()


def test_a_press_in_the_moment_of_a_re_arm_trips_again(pins):
    latch, pin = SafetyLatch(), wired(pins, shut=True)

    class Slow:
        """Something else that moves, whose answer takes long enough for a person to press."""

        def obey(self):
            return lambda: None

        def silent(self):
            pin.drive_high()
            return ""

    with GpioStopButton(6, latch):
        latch.trip("somebody said stop")
        latch.follow(Slow())
        latch.rearm()
        assert latch.state is LatchState.TRIPPED


def test_a_stop_button_that_can_not_be_read_keeps_the_latch_tripped(pins):
    latch, pin = SafetyLatch(), wired(pins, shut=True)
    with GpioStopButton(6, latch):
        latch.trip("somebody said stop")

        def broken():
            raise OSError("the chip is gone")

        pin._get_state = broken
        assert not latch.rearm()
        assert "can't be read" in latch.reason


# --- light ------------------------------------------------------------------------------------------------------------


class Talker:
    """A conversation as a light knows it."""

    def __init__(self, state: str = "asleep") -> None:
        self.state, self.latch = state, SafetyLatch()
        self.subscribers: list = []

    def subscribe(self, fn):
        self.subscribers.append(fn)
        return lambda: self.subscribers.remove(fn)

    def become(self, new: str) -> None:
        self.tell(events.VoiceState(t=0.0, old=self.state, new=new, why="a test"))
        self.state = new

    def tell(self, event: object) -> None:
        for subscriber in self.subscribers:
            subscriber(event)


def colour(pins: MockFactory) -> tuple[float, ...]:
    return tuple(round(pins.pin(number).state, 2) for number in (17, 27, 22))


def test_a_light_shows_the_state_of_the_conversation_and_the_latch_before_it(pins):
    robot = Talker()
    latch = robot.latch
    with GpioLight((17, 27, 22), robot):
        assert colour(pins) == (0, 0, 0)
        for new, shown in {"listening": (0, 0.2, 0), "hearing": (0, 1, 0), "speaking": (0.6, 0.6, 0.6)}.items():
            robot.become(new)
            assert colour(pins) == shown
        robot.tell(events.SpeechEnd(t=0.0, soft=True))
        assert colour(pins) == (0.6, 0.6, 0.6)
        latch.trip("stop button")
        assert until(lambda: colour(pins) == (1, 0, 0))
        assert until(lambda: colour(pins) == (0, 0, 0)), "it blinks"
        robot.become("listening")
        assert until(lambda: colour(pins) == (1, 0, 0)), "stopped, whatever else goes on"
        latch.rearm()
        assert colour(pins) == (0, 0.2, 0)
        robot.become("thinking")
        assert until(lambda: colour(pins) == (0, 0, 1))
    assert {pins.pin(number).function for number in (17, 27, 22)} == {"input"}
    latch.trip("later")
    assert robot.subscribers == []


def test_a_single_light_has_the_strongest_colour(pins):
    robot = Talker("listening")
    latch = robot.latch
    with GpioLight(17, robot):
        assert pins.pin(17).state == 0.2
        robot.become("hearing")
        assert pins.pin(17).state == 1
        latch.hold("wait")
        assert until(lambda: pins.pin(17).state == 0), "it blinks"
        latch.release()
        assert pins.pin(17).state == 1


def test_a_light_that_is_made_while_the_robot_is_stopped_is_red(pins):
    robot = Talker()
    robot.latch.trip("stop button")
    with GpioLight((17, 27, 22), robot):
        assert until(lambda: colour(pins) == (1, 0, 0))


# --- pins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: GpioServo(5),
        lambda: GpioDistance(echo=4, trigger=5),
        lambda: GpioDistance(echo=5, trigger=4),
        lambda: GpioTalkButton(5, print),
        lambda: GpioStopButton(5, SafetyLatch()),
        lambda: GpioLight(5, Talker()),
        lambda: GpioLight((3, 4, 5), Talker()),
    ],
)
def test_a_pin_that_another_part_has_is_named(pins, make):
    with GpioTalkButton(5, print), pytest.raises(ConfigError, match=r"pins .*5.* can't be used.*another part"):
        make()


def test_a_pin_that_is_none_is_named(pins):
    with pytest.raises(ConfigError, match="pins 99 can't be used"):
        GpioServo(99)


def test_without_gpiozero_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpiozero", None)
    with pytest.raises(ConfigError, match=r'a servo needs gpiozero.*pip install "edgeagent\[pi\]"'):
        GpioServo(12)
