"""Parts on the pins of a Raspberry Pi: a servo, a distance sensor, buttons to talk and to stop, and a light.

Each opens its pins in the constructor, gives them back with ``close``, and is a context manager. Pins have BCM
numbers. gpiozero calls the buttons on a thread of its own. The parts know nothing of agents or voices: a button calls a
function, and the light is told events.
"""

from __future__ import annotations

import contextlib
import logging
import math
import statistics
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, Self

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.gpio_base import gpiozero, taking
from edgeagent.robot.latch import LatchState, SafetyLatch

STEP_S: Final = 0.02
"""Seconds between two steps of a servo: one pulse. A larger number makes it jerk."""
PING_S: Final = 0.06
"""Seconds between two measurements. The HC-SR04's data sheet asks for 60 ms, so that no echo meets the next ping."""
ECHO_S: Final = 0.1
"""Seconds for an echo to come. An HC-SR04 that hears none ends its pulse after 38 ms."""
STALE_S: Final = 0.3
"""Seconds after which a measurement counts for nothing. A larger number trusts a sensor that hangs for longer."""
NEAREST_M: Final = 0.02
"""Metres of the HC-SR04's shortest range. Less than that is a fault of the sensor, or something that touches it."""
LONGEST_TALK_S: Final = 60.0
"""Seconds after which a talk button counts as stuck, and the ears close."""

_SOUND_MPS: Final = 343.0
"""Metres a second, in air of 20 degrees Celsius."""
_MEDIAN_OF: Final = 3
"""Measurements that one distance is taken from. A larger number drops more wrong echoes and sees an obstacle later."""
_FEWEST: Final = 2
"""Good measurements of these, below which the sensor tells nothing."""
_TRIGGER_S: Final = 0.000_01
"""Seconds of the pulse that starts a measurement, from the same data sheet."""
_BOUNCE_S: Final = 0.01
"""Seconds for which a button must rest before it counts. A larger number rides over worse contacts, and acts later."""

_log = logging.getLogger("edgeagent.robot")
_pinging = threading.Lock()
"""Held by the sensor that measures, so that none hears another's ping."""


class _Part(ABC):
    """A part that is closed once, at the end of a ``with`` block too."""

    @abstractmethod
    def close(self) -> None:
        """Leaves its pins."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class GpioServo(_Part):
    """A hobby servo, which turns no faster than it is allowed to.

    Args:
        pin: Its signal wire.
        lowest_deg, highest_deg: Angles at the two ends, in degrees.
        lowest_ms, highest_ms: Lengths of the pulses at the two ends, in milliseconds. Many servos turn further than
            from 1 to 2 ms; a servo that hums at an end is pushed against it.
        speed_dps: Degrees a second.

    Attributes:
        angle_deg: Angle that was commanded last; None before the first and after ``off``, when nobody knows it.

    Raises:
        ConfigError: The ends are in the wrong order, or the pin can't be used.
    """

    def __init__(
        self,
        pin: int,
        *,
        lowest_deg: float = -90.0,
        highest_deg: float = 90.0,
        lowest_ms: float = 1.0,
        highest_ms: float = 2.0,
        speed_dps: float = 90.0,
    ) -> None:
        if not (-math.inf < lowest_deg < highest_deg < math.inf and 0 < lowest_ms < highest_ms and speed_dps > 0):
            raise ConfigError(
                f"the servo on pin {pin} goes from {lowest_deg:g} to {highest_deg:g} degrees, {lowest_ms:g} to "
                f"{highest_ms:g} ms, at {speed_dps:g} degrees a second: the first end must be less, the speed above 0"
            )
        self._ends, self._step_deg = (lowest_deg, highest_deg), speed_dps * STEP_S
        self.angle_deg: float | None = None
        gpio = gpiozero("a servo")
        with taking(pin):
            self._servo: Any = gpio.AngularServo(
                pin,
                initial_angle=None,
                min_angle=lowest_deg,
                max_angle=highest_deg,
                min_pulse_width=lowest_ms / 1000,
                max_pulse_width=highest_ms / 1000,
            )

    def sweep(self, angle_deg: float) -> Iterator[float]:
        """Turns step by step, and yields the seconds to wait before the next step. Who leaves the loop stops the servo.

        The first turn is as fast as the servo is, because nobody knows where it stands.

        Raises:
            ValueError: The angle is beyond an end.
        """
        lowest, highest = self._ends
        if not lowest <= angle_deg <= highest:
            raise ValueError(f"{angle_deg:g} degrees is beyond the servo's ends, {lowest:g} and {highest:g}")
        return self._steps(float(angle_deg))

    def _steps(self, goal_deg: float) -> Iterator[float]:
        while self.angle_deg != goal_deg:
            now_deg = goal_deg if self.angle_deg is None else self.angle_deg
            left_deg = goal_deg - now_deg
            far = abs(left_deg) > self._step_deg
            self.angle_deg = now_deg + math.copysign(self._step_deg, left_deg) if far else goal_deg
            self._servo.angle = self.angle_deg
            yield STEP_S

    def off(self) -> None:
        """Sends no more pulses, so that the servo goes limp."""
        self._servo.detach()
        self.angle_deg = None

    def close(self) -> None:
        self._servo.close()


class GpioDistance(_Part):
    """An ultrasonic sensor as the HC-SR04, for ``distance=`` of a base's tools: call it for the distance.

    Its echo has 5 volts, which a pin does not bear: put a divider of 1 and 2 kilo-ohms between. Cloth and slanting
    faces send no echo back, and so look like nothing in range.

    Args:
        echo, trigger: Its two pins.
        most_m: Metres beyond which it tells of nothing nearer. A larger number is trusted less.

    Attributes:
        trouble: What was wrong with the last measurement; empty if nothing was.

    Raises:
        ConfigError: A pin can't be used.
    """

    def __init__(self, *, echo: int, trigger: int, most_m: float = 4.0) -> None:
        if not (math.isfinite(most_m) and most_m > NEAREST_M):
            raise ConfigError(f"most_m of a distance sensor is {most_m!r}; it must be above {NEAREST_M:g} m")
        self._most_m = most_m
        self._pins = f"{trigger} and {echo}"
        self.trouble = "nothing was measured yet"
        self._lock = threading.Lock()
        self._last: deque[float | None] = deque(maxlen=_MEDIAN_OF)
        self._measured_s = -math.inf
        self._rose: float | None = None
        self._pulse_s = 0.0
        self._came, self._closing = threading.Event(), threading.Event()
        gpio = gpiozero("a distance sensor")
        with taking(echo, trigger), contextlib.ExitStack() as opened:
            self._trigger: Any = opened.enter_context(gpio.OutputDevice(trigger))
            self._echo: Any = opened.enter_context(gpio.InputDevice(echo))
            self._echo.pin.edges = "both"
            self._echo.pin.when_changed = self._changed
            opened.pop_all()  # both stay open
        self._thread = threading.Thread(target=self._work, name=f"distance-{echo}", daemon=True)
        self._thread.start()

    def __call__(self) -> float:
        """Tells the distance to the nearest thing, in metres; ``most_m`` if the sensor works and nothing is nearer.

        Raises:
            DriveError: Nobody knows: no pulse came from the sensor, one that tells zero, or none for ``STALE_S``. No
                number stands for that, because a comparison would take it for a free way.
        """
        with self._lock:
            good = [metres for metres in self._last if metres is not None]
            age_s = time.monotonic() - self._measured_s
            trouble = self.trouble or "too few of its last answers are good"
        if age_s > STALE_S:
            trouble = self.trouble or f"its last answer is {age_s:.1f} s old"
        elif len(good) >= _FEWEST:
            return statistics.median_low(good)
        raise DriveError(f"the distance sensor on pins {self._pins} tells no distance: {trouble}")

    def close(self) -> None:
        self._closing.set()
        self._came.set()
        self._thread.join(ECHO_S + PING_S)
        self._echo.close()
        self._trigger.close()

    def _work(self) -> None:
        while not self._closing.wait(PING_S):
            try:
                metres, trouble = self._measured()
            except Exception as error:  # noqa: BLE001  lgpio and gpiozero have errors of their own
                metres, trouble = None, f"{type(error).__name__}: {error}"
            if self._closing.is_set():
                return
            with self._lock:
                self._last.append(metres)
                if metres is not None:
                    self._measured_s = time.monotonic()
                before, self.trouble = self.trouble, trouble
            if trouble and trouble != before:
                _log.warning("the distance sensor on pins %s tells no distance: %s", self._pins, trouble)

    def _measured(self) -> tuple[float | None, str]:
        """Measures once. Returns metres, or None and why."""
        with _pinging:
            if self._echo.pin.state:
                return None, "its echo does not end: look at the wire of the echo"
            self._rose = None
            self._came.clear()
            self._trigger.on()
            time.sleep(_TRIGGER_S)  # the pulse itself
            self._trigger.off()
            if not self._came.wait(ECHO_S):
                return None, "it does not answer: look at its wires and its 5 volts"
        metres = self._pulse_s * _SOUND_MPS / 2
        if not metres >= NEAREST_M:
            return None, f"it says {metres:.3f} m: something touches it, or it is broken"
        return min(metres, self._most_m), ""

    def _changed(self, ticks: float, level: int) -> None:
        """Takes an edge of the echo, on the thread of the pins."""
        if level:
            self._rose = ticks
        elif self._rose is not None:
            self._pulse_s = self._echo.pin_factory.ticks_diff(ticks, self._rose)
            self._came.set()


class GpioTalkButton(_Part):
    """A push button to talk, between its pin and ground: the robot hears while it is pressed.

    A button that is pressed for ``longest_s`` counts as stuck: the ears close until it is let go and pressed again.
    A button that is pressed from the start counts as stuck, too. A wire that is off is a button that nobody presses.

    Args:
        push: Called with True and False: ``conversation.push_to_talk``.

    Raises:
        ConfigError: The pin can't be used, or ``longest_s`` is no time.
    """

    def __init__(self, pin: int, push: Callable[[bool], object], *, longest_s: float = LONGEST_TALK_S) -> None:
        if not 0 < longest_s <= threading.TIMEOUT_MAX:  # no thread waits for longer
            raise ConfigError(f"longest_s of the talk button on pin {pin} is {longest_s!r}; it must be seconds above 0")
        self._pin, self._push, self._down = pin, push, False
        self._lock = threading.Lock()
        gpio = gpiozero("a button")
        with taking(pin):
            self._button: Any = gpio.Button(pin, pull_up=True, bounce_time=_BOUNCE_S, hold_time=longest_s)
        self._button.when_pressed = lambda: self._tell(True)
        self._button.when_released = lambda: self._tell(False)
        self._button.when_held = self._stuck
        if self._button.is_pressed:
            _log.warning("the talk button on pin %s is pressed at the start: let it go", pin)

    def close(self) -> None:
        self._button.close()
        self._tell(False)

    def _stuck(self) -> None:
        if self._tell(False):
            _log.warning("the talk button on pin %s is stuck: the ears are closed", self._pin)

    def _tell(self, down: bool) -> bool:
        """Tells of a change. Returns True if there was one."""
        with self._lock:
            if down is self._down:
                return False
            self._down = down
            try:
                self._push(down)
            except Exception:  # noqa: BLE001  whatever a builder's function raises must not end the thread of the pins
                _log.exception("the talk button on pin %s could not tell", self._pin)
            return True


class GpioStopButton(_Part):
    """A button that trips the latch, between its pin and ground. Letting it go does nothing: a person re-arms.

    Wire it normally closed: then a wire that breaks or a plug that falls off stops the robot too. Normally open, a
    broken wire is a button that never stops anything. While the button is pressed, or its wire is off, the latch can't
    be re-armed. This button needs the program: it does not replace one that cuts the motors' power.

    Args:
        latch: What it trips.
        normally_closed: The contact opens when the button is pressed.

    Raises:
        ConfigError: The pin can't be used.
    """

    def __init__(self, pin: int, latch: SafetyLatch, *, normally_closed: bool = True) -> None:
        self._pin, self._latch, self._normally_closed = pin, latch, normally_closed
        self._closed = False
        gpio = gpiozero("a button")
        with taking(pin):
            self._button: Any = gpio.Button(pin, pull_up=True, bounce_time=_BOUNCE_S)
        if normally_closed:
            self._button.when_released = self._trip
        else:
            self._button.when_pressed = self._trip
        latch.follow(self)
        if self.silent():
            self._trip()

    def obey(self) -> Callable[[], object]:
        """Trips the latch again if it was re-armed in the moment of a press. The latch calls this at every change."""
        if self._latch.state is not LatchState.TRIPPED and self.silent():
            return self._trip
        return lambda: None

    def silent(self) -> str:
        """Tells why the latch can't be re-armed; empty if it can. The latch asks."""
        if self._closed:
            return ""
        try:
            is_shut = bool(self._button.is_pressed)
        except Exception as error:  # noqa: BLE001  a pin that can't be read may be one that is pressed
            return f"the stop button on pin {self._pin} can't be read: {error}"
        if is_shut is self._normally_closed:
            return ""
        wire = ", or its wire is off" if self._normally_closed else ""
        return f"the stop button on pin {self._pin} is pressed{wire}"

    def close(self) -> None:
        """Gives the pin back: from here on the button stops nothing."""
        self._closed = True
        self._button.close()

    def _trip(self) -> None:
        try:
            self._latch.trip("stop button")
        except Exception:  # noqa: BLE001  the thread of the pins must live on
            _log.exception("the stop button on pin %s could not trip the latch", self._pin)


class _Look(NamedTuple):
    """Red, green and blue from 0 to 1, and seconds of a blink, on as long as off; 0 for a steady light."""

    colour: tuple[float, float, float]
    blink_s: float = 0.0


_LOOKS: Final[Mapping[str, _Look]] = {
    "asleep": _Look((0, 0, 0)),
    "listening": _Look((0, 0.2, 0)),
    "hearing": _Look((0, 1, 0)),
    "held": _Look((0, 1, 0)),
    "thinking": _Look((0, 0, 1), 0.5),
    "acting": _Look((0, 0, 1)),
    "speaking": _Look((0.6, 0.6, 0.6)),
}
"""By the conversation's state. A single light has the strongest of the three colours."""
_LATCHED: Final[Mapping[LatchState, _Look]] = {
    LatchState.HELD: _Look((1, 0.6, 0), 0.5),
    LatchState.TRIPPED: _Look((1, 0, 0), 0.2),
}
"""By the latch, before the conversation's state."""


class Talks(Protocol):
    """Robot that talks, as its light knows it: a ``Conversation`` is one."""

    @property
    def state(self) -> str: ...
    @property
    def latch(self) -> SafetyLatch: ...
    def subscribe(self, fn: Callable[[Any], object], /) -> Callable[[], None]: ...


class GpioLight(_Part):
    """A light that shows what the robot does.

    Dark asleep, dim green listening, green while somebody speaks, blinking blue thinking, blue acting, white speaking;
    blinking red stopped and blinking yellow held, whatever else goes on. The light is no proof that the program lives:
    a program that is killed leaves its pins as they were.

    Args:
        pins: One pin, or those of red, green and blue, each with its resistor to ground.
        conversation: Whose state it shows, by its events and its latch.

    Raises:
        ConfigError: A pin can't be used.
    """

    def __init__(self, pins: int | tuple[int, int, int], conversation: Talks) -> None:
        self._lock = threading.Lock()
        self._state, self._latch, self._closed = conversation.state, conversation.latch, False
        self._shown: _Look | None = None
        gpio = gpiozero("a light")
        self._is_single = isinstance(pins, int)
        with taking(*((pins,) if isinstance(pins, int) else pins)):
            self._light: Any = gpio.PWMLED(pins) if isinstance(pins, int) else gpio.RGBLED(*pins)
        self._subscribed = (
            conversation.subscribe(self._take),
            conversation.latch.subscribe(lambda state, reason: self._show()),
        )
        self._show()

    def close(self) -> None:
        for unsubscribe in self._subscribed:
            unsubscribe()
        with self._lock:
            self._closed = True
            self._light.close()

    def _take(self, event: object) -> None:
        """Takes an event of the conversation, on whatever thread it happens; ``voice_state`` counts."""
        if getattr(event, "kind", "") == "voice_state":
            self._state = str(getattr(event, "new", ""))
            self._show()

    def _show(self) -> None:
        with self._lock:
            look = _LATCHED.get(self._latch.state) or _LOOKS.get(self._state, _LOOKS["asleep"])
            if self._closed or look == self._shown:
                return
            self._shown = look
            if self._is_single:
                self._show_single(max(look.colour), look.blink_s)
            elif look.blink_s:
                self._light.blink(look.blink_s, look.blink_s, on_color=look.colour)
            else:
                self._light.color = look.colour

    def _show_single(self, value: float, blink_s: float) -> None:
        if blink_s:
            self._light.blink(blink_s, blink_s)
        else:
            self._light.value = value
