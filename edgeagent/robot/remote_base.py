"""A base that is reached by messages: the rules that every transport shares, and Zenoh as one of them.

``ZenohBase`` needs no ROS installation on the agent's side; ``examples/ros2/ros_base.py`` adds ROS 2. Velocities go to
a dead man's switch on the robot's side, which tells that it is there; odometry comes as poses. Runs in the driver's
process. A transport may hand over what it hears on any thread.

Keys are those that ``zenoh-bridge-ros2dds`` gives to ROS 2 topics: the topic's name without its first slash, after the
bridge's namespace (``ros2_name_to_key_expr`` in ``zenoh-plugin-ros2dds/src/ros2_utils.rs``). Payloads are those that
the bridge hands to DDS as they are (``route_zenoh_message_to_dds`` in ``route_subscriber.rs``): CDR.

=========================  ==========================  =====================================================
key                        message                     way
=========================  ==========================  =====================================================
``cmd_vel_agent``          ``geometry_msgs/Twist``     this base to the switch; who sent it, and when, attached
``cmd_vel_agent/switch``   ``std_msgs/String``         the switch to this base: its state as JSON, 20 times a second
``cmd_vel``                ``geometry_msgs/Twist``     the switch to the robot
``odom``                   ``nav_msgs/Odometry``       the robot to this base
=========================  ==========================  =====================================================

A session connects to one endpoint and does nothing else: no scouting by multicast or gossip, no shared memory, no port.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import os
import re
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import ZERO, BaseLimits, Odometry, Velocity
from edgeagent.robot.cdr import RosPose, decode_odometry, decode_string, encode_twist
from edgeagent.robot.dead_mans_switch import BEAT_S, EVERYBODY, TIMEOUT_S, SwitchState

if TYPE_CHECKING:
    import zenoh

UNHEARD_S: Final = 0.5
"""Seconds without a word from the switch, or without odometry, after which a base that drives is given up. A larger
number rides over longer pauses of the network."""
ANSWER_S: Final = 5.0
"""Seconds until switch, robot and odometry must have been heard at the start. ROS 2 takes its time to find them."""
LAST_S: Final = 0.05
"""Seconds for the last zero to leave before the transport is closed. A reader in ROS 2 forgets what a writer that is
gone has sent, and Zenoh does not send what waits when a session closes."""

_UNIT: Final = 0.01
"""Deviation of a quaternion's length from 1 beyond which it is no rotation."""
_NOBODY: Final = "nobody reads what the dead man's switch passes on: is the robot's node there?"


@dataclass(kw_only=True)
class RemoteBase(ABC):
    """Rules of a base behind a transport, whose class adds ``connect``, ``publish`` and ``disconnect``.

    Attributes:
        limits: Limits for the driver's process. ``board_timeout_s`` is the longest time-out that the switch may have.
        has_odometry: Waits for odometry and drives only while it comes; False for a robot that tells none.
        answer_s: Seconds until switch, robot and odometry must have been heard at the start.
    """

    limits: BaseLimits = field(default_factory=lambda: BaseLimits(board_timeout_s=TIMEOUT_S))
    has_odometry: bool = True
    answer_s: float = ANSWER_S

    @abstractmethod
    def connect(self) -> None:
        """Opens the transport. From then on, ``hear_switch`` and ``hear_pose`` are called as messages come.

        Raises:
            DriveError: Nothing is there; the text says what to start.
        """

    @abstractmethod
    def publish(self, velocity: Velocity) -> None:
        """Sends a velocity to the switch."""

    @abstractmethod
    def disconnect(self) -> None:
        """Closes the transport. Called also when ``connect`` has failed."""

    @property
    @abstractmethod
    def sender(self) -> str:
        """Name under which the switch knows this base."""

    @property
    @abstractmethod
    def switch_hint(self) -> str:
        """Command that starts the switch, for an error."""

    # --- what the driver calls ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Connects, and waits for the switch and for odometry.

        Raises:
            DriveError: One of them does not come, or the switch has a longer time-out than ``limits`` tell.
        """
        self._moves = False
        self._forget()
        self.connect()
        end_s = time.monotonic() + self.answer_s
        with self._heard:
            while not self._is_ready() and time.monotonic() < end_s:
                self.publish(ZERO)  # the switch tells that it has come
                self._heard.wait(BEAT_S)
            state, pose, fault = self._state, self._pose, self._fault
        if fault:
            raise DriveError(fault)
        if state is None:
            raise DriveError(
                f"no dead man's switch was heard for {self.answer_s:g} s, and without one the robot would drive on "
                f"when its agent is killed: start it on the robot's side with: {self.switch_hint}"
            )
        if self.has_odometry and pose is None:
            raise DriveError(
                f"no odometry was heard for {self.answer_s:g} s: is the robot's node running? A robot that tells "
                "none needs has_odometry=False"
            )
        if not state.is_heard:
            raise DriveError(_NOBODY)
        if not self._reaches:
            raise DriveError("the dead man's switch is there, and does not hear this base: is the network one-way?")

    def set_velocity(self, velocity: Velocity) -> None:
        """Sends a velocity. At rest nothing is sent, so that others may drive the robot then.

        Raises:
            DriveError: The switch or the odometry is silent, or the switch refuses what this base sends.
        """
        if velocity.is_zero:
            if self._moves:
                self.stop()
            return
        self._check()
        self._moves = True
        self.publish(velocity)

    def odometry(self) -> Odometry | None:
        with self._heard:
            return self._way if self.has_odometry else None

    def stop(self) -> None:
        self.publish(ZERO)
        self._moves = False

    def close(self) -> None:
        threading.Event().wait(LAST_S)
        self.disconnect()

    def _forget(self) -> None:
        self._heard = threading.Condition()
        self._state: SwitchState | None = None
        self._pose: RosPose | None = None
        self._switch_s = self._pose_s = -math.inf
        self._way = Odometry()
        self.is_known = self._reaches = False
        self._fault = ""

    def _is_ready(self) -> bool:
        return bool(self._fault) or (
            self._state is not None
            and self._state.is_heard
            and (self._pose is not None or not self.has_odometry)
            and self._reaches
        )

    def _check(self) -> None:
        now_s = time.monotonic()
        with self._heard:
            fault = self._fault or ("" if self._state is None or self._state.is_heard else _NOBODY)
            switch_s, pose_s = now_s - self._switch_s, now_s - self._pose_s
        if fault:
            raise DriveError(fault)
        if switch_s > UNHEARD_S:
            raise DriveError(
                f"the dead man's switch has been silent for {switch_s:.1f} s: is its process there, and the network?"
            )
        if self.has_odometry and pose_s > UNHEARD_S:
            raise DriveError(f"the odometry has been silent for {pose_s:.1f} s: is the robot's node there?")

    # --- what a transport calls ---------------------------------------------------------------------------------------

    def hear_switch(self, text: str) -> None:
        """Takes the state that the switch has told."""
        try:
            state = SwitchState.from_json(text)
        except ValueError as error:
            self.refuse(str(error))
            return
        if state.timeout_s > (self.limits.board_timeout_s or 0.0):
            self.refuse(
                f"the dead man's switch has a time-out of {state.timeout_s:g} s, longer than the "
                f"{self.limits.board_timeout_s} s of board_timeout_s in the limits of this base"
            )
        if state.why and state.refused in (self.sender, EVERYBODY, ""):  # a transport may tell no senders
            self.refuse(f"the dead man's switch lets nothing pass: {state.why}")
        with self._heard:
            self._state, self._switch_s = state, time.monotonic()
            # a transport that does not tell senders has one without a name
            self.is_known = self.is_known or self.sender in state.senders
            self._reaches = self.is_known or self._reaches or "" in state.senders
            self._heard.notify_all()

    def hear_pose(self, pose: RosPose) -> None:
        """Takes a pose, and adds the way from the last one. Steps to the front count as forward, others as back."""
        length = math.hypot(pose.qx, pose.qy, pose.qz, pose.qw)
        if not (math.isfinite(pose.x_m) and math.isfinite(pose.y_m)) or not abs(length - 1) <= _UNIT:
            self.refuse(f"the odometry tells nonsense: {pose}")
            return
        with self._heard:
            last = self._pose or pose
            before, after = _yaw_rad(last), _yaw_rad(pose)
            east_m, north_m = pose.x_m - last.x_m, pose.y_m - last.y_m
            ahead_m = east_m * math.cos(before) + north_m * math.sin(before)
            self._way = Odometry(
                # the whole step, not its part to the front: a jump to the side is a jump
                self._way.travelled_m + math.copysign(math.hypot(east_m, north_m), ahead_m),
                self._way.turned_rad + math.remainder(after - before, 2 * math.pi),
            )
            self._pose, self._pose_s = pose, time.monotonic()
            self._heard.notify_all()

    def refuse(self, why: str) -> None:
        """Takes note that this base must not drive any more until it is opened again. The first reason counts."""
        with self._heard:
            self._fault = self._fault or why
            self._heard.notify_all()


def _yaw_rad(pose: RosPose) -> float:
    return math.atan2(2 * (pose.qw * pose.qz + pose.qx * pose.qy), 1 - 2 * (pose.qy * pose.qy + pose.qz * pose.qz))


# --- Zenoh ------------------------------------------------------------------------------------------------------------


ENDPOINT: Final = "tcp/127.0.0.1:7447"
"""Endpoint of a Zenoh router on this machine, such as the bridge or the switch."""
CONNECT_S: Final = 2.0
"""Seconds in which a connection must stand."""
VELOCITY_KEY: Final = "cmd_vel_agent"
STATE_KEY: Final = "cmd_vel_agent/switch"
ROBOT_KEY: Final = "cmd_vel"
ODOMETRY_KEY: Final = "odom"

_STAMP: Final = struct.Struct("<8sd")
"""Sender and seconds on its monotonic clock, attached to a velocity."""

_log = logging.getLogger("edgeagent.robot")


def open_session(*, connect: str = "", listen: str = "") -> zenoh.Session:
    """Opens a session that connects to one endpoint, or listens on one as a router, and opens no other socket.

    Raises:
        ConfigError: Zenoh is not installed, or the endpoint is none.
        DriveError: Nothing answers at the endpoint, or its port is taken.
    """
    try:
        import zenoh
    except ModuleNotFoundError as error:
        raise ConfigError('Zenoh is not installed here: pip install "edgeagent[ros]"') from error
    endpoint = connect or listen
    config = zenoh.Config()
    settings: dict[str, Any] = {
        "mode": "client" if connect else "router",
        "connect/endpoints": [connect] if connect else [],
        "connect/timeout_ms": round(CONNECT_S * 1000),
        "listen/endpoints": [listen] if listen else [],
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "transport/shared_memory/enabled": False,
    }
    try:
        for name, value in settings.items():
            config.insert_json5(name, json.dumps(value))
    except zenoh.ZError as error:
        raise ConfigError(f"{endpoint!r} is no endpoint of Zenoh, such as {ENDPOINT}: {error}") from error
    if not is_local(endpoint):
        _log.warning("velocities leave this machine: %s is not on it", endpoint)
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        if connect:
            raise DriveError(
                f"nothing answers at {endpoint} ({_first_line(error)}): start zenoh-bridge-ros2dds there, or "
                f"python -m edgeagent.robot.zenoh_switch"
            ) from error
        raise DriveError(f"{endpoint} can't be listened on ({_first_line(error)}): is its port taken?") from error


def is_local(endpoint: str) -> bool:
    """True if an endpoint is on the loopback, or a socket of the file system."""
    protocol, _, address = endpoint.partition("/")
    host = re.split(r"[?#]", address)[0].rpartition(":")[0].strip("[]")
    try:
        return protocol.startswith("unix") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def key(prefix: str, name: str) -> str:
    """A key behind a namespace, which is empty or the one that the bridge has."""
    return "/".join(filter(None, (prefix.strip("/"), name)))


@dataclass(kw_only=True)
class ZenohBase(RemoteBase):
    """A robot behind Zenoh.

    Attributes:
        endpoint: Zenoh's name of the router, for instance ``tcp/127.0.0.1:7447``. An address of another machine is
            called so in the log at every start.
        namespace: Namespace of the bridge, empty for none.

    Raises:
        ConfigError: The endpoint has no protocol.
    """

    endpoint: str = ENDPOINT
    namespace: str = ""

    def __post_init__(self) -> None:
        if "/" not in self.endpoint:
            raise ConfigError(f"endpoint of a ZenohBase is {self.endpoint!r}; it must be such as {ENDPOINT}")

    @property
    def sender(self) -> str:
        return self._sender.hex()

    @property
    def switch_hint(self) -> str:
        return "python -m edgeagent.robot.zenoh_switch"

    def connect(self) -> None:
        self._session: zenoh.Session | None = None
        self._sender = os.urandom(8)
        session = self._session = open_session(connect=self.endpoint)
        self._velocities = velocity_publisher(session, key(self.namespace, VELOCITY_KEY))
        self._hear(session, STATE_KEY, lambda data: self.hear_switch(decode_string(data)))
        if self.has_odometry:
            self._hear(session, ODOMETRY_KEY, lambda data: self.hear_pose(decode_odometry(data)))

    def publish(self, velocity: Velocity) -> None:
        if self._session is not None:
            self._velocities.put(encode_twist(velocity), attachment=_STAMP.pack(self._sender, time.monotonic()))

    def disconnect(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()  # type: ignore[no-untyped-call]  # zenoh declares no type of it

    def _hear(self, session: zenoh.Session, name: str, take: Callable[[bytes], None]) -> None:
        """Subscribes to a key. What comes is taken on a thread of Zenoh's."""

        def taken(sample: zenoh.Sample) -> None:
            try:
                take(sample.payload.to_bytes())
            except ValueError as error:
                self.refuse(f"what comes on {name} can't be read: {error}")

        session.declare_subscriber(key(self.namespace, name), taken)


def velocity_publisher(session: zenoh.Session, name: str) -> zenoh.Publisher:
    """Declares a key for velocities, which go before everything else and are dropped on a full line: an old one is
    worth nothing."""
    import zenoh

    return session.declare_publisher(
        name, priority=zenoh.Priority.REAL_TIME, congestion_control=zenoh.CongestionControl.DROP, express=True
    )


def is_read(publisher: zenoh.Publisher) -> bool:
    """True if somebody reads what is published."""
    status: Any = publisher.matching_status  # no bool, as its stub says
    return bool(status.matching)


def read_stamp(data: bytes) -> tuple[str, float]:
    """Sender of a velocity and its time, from what is attached to it.

    Raises:
        ValueError: It is something else.
    """
    try:
        sender, sent_s = _STAMP.unpack(data)
    except struct.error as error:
        raise ValueError("a velocity came without its sender and time") from error
    return sender.hex(), sent_s


def _first_line(error: Exception) -> str:
    return str(error).partition(" at /")[0].partition("\n")[0]
