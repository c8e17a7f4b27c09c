"""A base that is reached over Zenoh, without a ROS installation on the agent's side.

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
import os
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import Velocity
from edgeagent.robot.cdr import decode_odometry, decode_string, encode_twist
from edgeagent.robot.remote_base import RemoteBase

if TYPE_CHECKING:
    import zenoh

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
        import zenoh

        self._velocities = session.declare_publisher(
            key(self.namespace, VELOCITY_KEY),
            priority=zenoh.Priority.REAL_TIME,
            congestion_control=zenoh.CongestionControl.DROP,  # an old velocity is worth nothing
            express=True,
        )
        self._hear(session, STATE_KEY, lambda data: self.hear_switch(decode_string(data)))
        if self.has_odometry:
            self._hear(session, ODOMETRY_KEY, lambda data: self.hear_pose(decode_odometry(data)))

    def publish(self, velocity: Velocity) -> None:
        if self._session is not None:
            self._velocities.put(encode_twist(velocity), attachment=_STAMP.pack(self._sender, time.monotonic()))

    def disconnect(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()  # type: ignore[no-untyped-call]

    def _hear(self, session: zenoh.Session, name: str, take: Callable[[bytes], None]) -> None:
        """Subscribes to a key. What comes is taken on a thread of Zenoh's."""

        def taken(sample: zenoh.Sample) -> None:
            try:
                take(sample.payload.to_bytes())
            except ValueError as error:
                self.refuse(f"what comes on {name} can't be read: {error}")

        session.declare_subscriber(key(self.namespace, name), taken)


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
