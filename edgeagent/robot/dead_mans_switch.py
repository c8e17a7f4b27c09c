"""A dead man's switch on the robot's side: velocities pass only while they come, and only from one sender.

Rules without a transport or a thread: ``zenoh_switch`` runs them over Zenoh, ``examples/ros2/switch.py`` in
ROS 2. The switch is what stands for the time-out of a board where a base is reached over a network.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from edgeagent.errors import ConfigError
from edgeagent.robot.base import ZERO, Velocity
from edgeagent.robot.base_driver import LONGEST_TIMEOUT_S

TIMEOUT_S: Final = 0.3
"""Seconds after which a velocity that is not renewed becomes zero. A larger number rides over longer pauses of the
network, and lets the robot drive on for longer when its agent is gone."""
BEAT_S: Final = 0.05
"""Seconds between two states that a switch tells, so that a base notices a switch that is gone."""
LOOK_S: Final = 0.01
"""Seconds between two looks at a switch, by which its zero may come late."""

EVERYBODY: Final = "*"
"""Sender in a state that concerns every base."""

_ZEROS: Final = 5
"""Zeros that are sent after a drive, a beat apart, because a network may lose one."""
_KNOWN: Final = 16
"""Senders whose clocks are remembered: what one of them sent long ago may come after another one was heard."""
_CREEP: Final = 0.001
"""Seconds a second by which the clocks of two computers may drift apart. Quartz drifts by less than 0.0001."""

_log = logging.getLogger("edgeagent.robot")


@dataclass(frozen=True, slots=True)
class SwitchState:
    """State that a switch tells.

    Attributes:
        timeout_s: Seconds after which a velocity that is not renewed becomes zero.
        is_heard: True if somebody reads what passes.
        senders: Those from which something came since the last state.
        refused: Sender whose velocities do not pass, ``*`` for all, empty for none.
        why: Reason of that.
    """

    timeout_s: float
    is_heard: bool = True
    senders: tuple[str, ...] = ()
    refused: str = ""
    why: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SwitchState:
        """Reads a state that a switch has told.

        Raises:
            ValueError: The text is something else.
        """
        try:
            read = json.loads(text)
            senders = tuple(map(str, read["senders"]))
            state = cls(
                float(read["timeout_s"]), bool(read["is_heard"]), senders, str(read["refused"]), str(read["why"])
            )
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"{text[:80]!r} is no state of a dead man's switch") from error
        if not 0 < state.timeout_s <= LONGEST_TIMEOUT_S:
            raise ValueError(f"a switch with a time-out of {state.timeout_s!r} s is none")
        return state


class DeadMansSwitch:
    """Lets the velocities of one sender pass while they come, at most ``timeout_s`` after each was sent.

    Clocks of sender and switch need not agree: the smallest difference between sending and taking counts as no delay.
    A velocity that took longer by the time-out is refused, so that what has waited in a queue while the switch or the
    network slept moves nothing.

    Args:
        timeout_s: Seconds for which a velocity holds.

    Raises:
        ConfigError: The time-out is not above 0 and at most 0.5 s.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
            raise ConfigError(
                f"timeout_s of a dead man's switch is {timeout_s!r}; it must be above 0 and at most "
                f"{LONGEST_TIMEOUT_S:g} s"
            )
        self.timeout_s = timeout_s
        self._velocity = ZERO
        self._ends_s = float("-inf")
        """Moment at which the velocity becomes zero."""
        self._sender = ""
        self._clocks: dict[str, tuple[float, float]] = {}
        """By sender, the newest last: difference of its clock and that of the switch, and when that was corrected."""
        self._senders: set[str] = set()
        self._refused = self._why = ""

    def tell(self, *, is_heard: bool = True) -> SwitchState:
        """The state, with who was heard and who was refused since the last time."""
        state = SwitchState(self.timeout_s, is_heard, tuple(sorted(self._senders)), self._refused, self._why)
        self._senders.clear()
        self._refused = self._why = ""
        return state

    def take(self, velocity: Velocity, sender: str, sent_s: float, now_s: float) -> str:
        """Takes a velocity that has come.

        Args:
            velocity: What the sender asks for.
            sender: Name of the sender, another one after each of its starts.
            sent_s: Seconds on the sender's clock, which must not be set back while it runs.
            now_s: Seconds on the clock of the switch.

        Returns:
            An empty text if the velocity passes, else the reason why it does not.
        """
        if not (velocity.is_finite and math.isfinite(sent_s)):
            self.drop()
            return self._refuse(sender, "a velocity or a time that is no number came")
        self._senders.add(sender)
        delay_s = self._delay_s(sender, sent_s, now_s)
        if sender != self._sender:
            if not self.look(now_s).is_zero:
                # another program at rest takes nothing from the one that drives
                return "" if velocity.is_zero else self._refuse(sender, "another program drives the robot")
            self._sender = sender
        if velocity.is_zero:
            self.drop()
        elif delay_s >= self.timeout_s:
            return self._refuse(sender, f"its velocities come {delay_s:.1f} s late")
        else:
            self._velocity, self._ends_s = velocity, now_s - delay_s + self.timeout_s
        return ""

    def _delay_s(self, sender: str, sent_s: float, now_s: float) -> float:
        """Seconds that what came just now was late, compared with what came soonest from its sender."""
        away_s = now_s - sent_s
        offset_s, corrected_s = self._clocks.pop(sender, (away_s, now_s))
        offset_s = min(offset_s + _CREEP * (now_s - corrected_s), away_s)
        self._clocks[sender] = (offset_s, now_s)
        if len(self._clocks) > _KNOWN:
            del self._clocks[next(iter(self._clocks))]
        return away_s - offset_s

    def refuse_all(self, why: str) -> str:
        """Stops at once, because something came that can't be read. Returns the reason."""
        self.drop()
        return self._refuse(EVERYBODY, why)

    def drop(self) -> None:
        """Stops at once: nothing passes until the next velocity."""
        self._velocity, self._ends_s = ZERO, float("-inf")

    def look(self, now_s: float) -> Velocity:
        """The velocity that the robot may drive now."""
        if now_s >= self._ends_s:
            self.drop()
        return self._velocity

    def _refuse(self, sender: str, why: str) -> str:
        self._refused, self._why = sender, why
        return why


class SwitchRelay:
    """Passes on what a switch lets pass, and tells its state. Single-threaded; a transport calls it.

    Args:
        switch: Rules of what may pass.
        send: Sends a velocity to the robot.
        tell: Sends the state of the switch, as JSON, to whoever drives.
        is_heard: True if somebody reads what is sent to the robot.
    """

    def __init__(
        self,
        switch: DeadMansSwitch,
        send: Callable[[Velocity], None],
        tell: Callable[[str], None],
        is_heard: Callable[[], bool],
    ) -> None:
        self._switch, self._send, self._tell, self._is_heard = switch, send, tell, is_heard
        self._passes = ZERO
        self._is_new = False
        self._zeros = 0
        self._told_s = float("-inf")
        self._why = ""

    def take(self, read: Callable[[], tuple[Velocity, str, float]], now_s: float) -> None:
        """Takes a message, which ``read`` makes into a velocity, its sender and the time of sending.

        ``read`` raises ValueError for a message that is none: then the robot stops.
        """
        try:
            why = self._switch.take(*read(), now_s)
        except ValueError as error:
            why = self._switch.refuse_all(f"a message can't be read: {error}")
        if why and why != self._why:
            _log.warning("the dead man's switch lets nothing pass: %s", why)
        if why:
            self._told_s = float("-inf")  # the sender is to hear of it now
        self._why = why
        self._is_new = self._is_new or not why

    def look(self, now_s: float) -> None:
        """Sends the velocity that may pass now, when it is new or another one. Call it after each message and tick."""
        before, self._passes = self._passes, self._switch.look(now_s)
        if self._passes != before or (self._is_new and not self._passes.is_zero):
            self._send(self._passes)
            self._zeros = _ZEROS if self._passes.is_zero else 0
        self._is_new = False
        if now_s - self._told_s >= BEAT_S:
            self._told_s = now_s
            self._tell(self._switch.tell(is_heard=self._is_heard()).to_json())
            if self._zeros:
                self._zeros -= 1
                self._send(ZERO)

    def end(self) -> None:
        """Sends zero for good, for as long as a few beats take: what waits when a transport closes may be lost."""
        self._switch.drop()
        for _ in range(_ZEROS):
            self._send(ZERO)
            time.sleep(BEAT_S)  # the pace of the beats: nobody answers
