"""ROS 2 messages as bytes: the few that a base needs, without a ROS installation.

CDR of the OMG's DDSI-RTPS 2.5, section 10: two bytes that name the encoding (0x0000 big-endian, 0x0001 little-endian),
two of options, then the fields, each aligned to its size. Fields as in the released ``geometry_msgs/msg/Twist``,
``nav_msgs/msg/Odometry`` and ``std_msgs/msg/String``. Knows nothing of transports.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from edgeagent.robot.base import Velocity

_LITTLE: Final = b"\x00\x01\x00\x00"
_TWIST: Final = struct.Struct("<6d")
_POSE_DOUBLES: Final = 7
_ODOMETRY_DOUBLES: Final = 7 + 36 + 6 + 36
"""RosPose, its covariance, twist, its covariance."""


@dataclass(frozen=True, slots=True)
class RosPose:
    """RosPose of a robot in the plane and its orientation as a quaternion, as ``nav_msgs/msg/Odometry`` has it."""

    x_m: float
    y_m: float
    qx: float = 0.0
    qy: float = 0.0
    qz: float = 0.0
    qw: float = 1.0


def encode_twist(velocity: Velocity) -> bytes:
    """Writes a ``geometry_msgs/msg/Twist``: forward is ``linear.x``, turn is ``angular.z``."""
    return _LITTLE + _TWIST.pack(velocity.forward_mps, 0.0, 0.0, 0.0, 0.0, velocity.turn_rps)


def decode_twist(data: bytes) -> Velocity:
    """Reads a ``geometry_msgs/msg/Twist``.

    Raises:
        ValueError: The bytes are no Twist.
    """
    reader = _CdrReader(data)
    forward, *_, turn = reader.doubles(6)
    reader.end()
    return Velocity(forward, turn)


def encode_odometry(
    pose: RosPose, velocity: Velocity, stamp_ns: int, frame: str = "odom", child: str = "base_link"
) -> bytes:
    """Writes a ``nav_msgs/msg/Odometry`` with covariances of zero."""
    body = struct.pack("<iI", *divmod(stamp_ns, 1_000_000_000)) + _text(frame)
    body = _padded(body, 4) + _text(child)
    position = (pose.x_m, pose.y_m, 0.0)
    orientation = (pose.qx, pose.qy, pose.qz, pose.qw)
    twist = (velocity.forward_mps, 0.0, 0.0, 0.0, 0.0, velocity.turn_rps)
    values = (*position, *orientation, *[0.0] * 36, *twist, *[0.0] * 36)
    return _LITTLE + _padded(body, 8) + struct.pack(f"<{_ODOMETRY_DOUBLES}d", *values)


def decode_odometry(data: bytes) -> RosPose:
    """Reads the pose of a ``nav_msgs/msg/Odometry``.

    Raises:
        ValueError: The bytes are no Odometry.
    """
    reader = _CdrReader(data)
    reader.skip(8, align=4)
    reader.text()
    reader.text()
    x, y, _, *orientation = reader.doubles(_ODOMETRY_DOUBLES)[:_POSE_DOUBLES]
    reader.end()
    return RosPose(x, y, *orientation)


def encode_string(text: str) -> bytes:
    """Writes a ``std_msgs/msg/String``."""
    return _LITTLE + _text(text)


def decode_string(data: bytes) -> str:
    """Reads a ``std_msgs/msg/String``.

    Raises:
        ValueError: The bytes are no String.
    """
    reader = _CdrReader(data)
    text = reader.text()
    reader.end()
    return text


def _text(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def _padded(body: bytes, size: int) -> bytes:
    return body + bytes(-len(body) % size)


class _CdrReader:
    """Reads fields one after the other. Raises ValueError when the bytes do not fit."""

    def __init__(self, data: bytes) -> None:
        encoding = data[:2]
        if len(data) < len(_LITTLE) or encoding not in (b"\x00\x00", b"\x00\x01"):
            raise ValueError(f"{data[:8].hex() or 'nothing'} begins no CDR message")
        self._order = "<" if encoding == b"\x00\x01" else ">"
        self._body, self._at = data[len(_LITTLE) :], 0

    def skip(self, size: int, align: int) -> bytes:
        begin = self._at + -self._at % align
        self._at = begin + size
        if self._at > len(self._body):
            raise ValueError(f"a message of {len(self._body)} bytes ends too soon")
        return self._body[begin : self._at]

    def doubles(self, count: int) -> tuple[float, ...]:
        return struct.unpack(f"{self._order}{count}d", self.skip(8 * count, align=8))

    def text(self) -> str:
        (size,) = struct.unpack(f"{self._order}I", self.skip(4, align=4))
        return self.skip(size, align=1).rstrip(b"\0").decode()

    def end(self) -> None:
        if len(self._body) - self._at > 3:  # some writers fill up to four bytes
            raise ValueError(f"a message of {len(self._body)} bytes is longer than its fields")
