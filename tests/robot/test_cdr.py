"""ROS 2 messages as bytes, compared with what rclpy 9.1.2 (Kilted) serialises."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.robot import RosPose, Velocity, cdr, decode_twist, encode_odometry, encode_twist

TWIST = "00010000" + "000000000000d03f" + "00" * 32 + "000000000000e0bf"
ODOMETRY_BEGINS = (
    "00010000 07000000 00000000 05000000 6f646f6d 00 550000 0a000000 626173655f6c696e6b00 000000000000"
    "000000000000f83f 000000000000d0bf 0000000000000000"
    "0000000000000000 0000000000000000 333333333333e33f 9a9999999999e93f"
).replace(" ", "")
"""Its byte 0x55 is one that nobody wrote, between two fields."""
ODOMETRY = bytes.fromhex(ODOMETRY_BEGINS).ljust(724, b"\0")
READERS = [decode_twist, cdr.decode_odometry, cdr.decode_string]


def test_a_twist_is_what_ros_writes() -> None:
    assert encode_twist(Velocity(0.25, -0.5)).hex() == TWIST
    assert decode_twist(bytes.fromhex(TWIST)) == Velocity(0.25, -0.5)


def test_odometry_is_what_ros_writes() -> None:
    written = encode_odometry(RosPose(1.5, -0.25, qz=0.6, qw=0.8), Velocity(), 7_000_000_000)
    assert written == ODOMETRY.replace(b"\0\x55\0\0", b"\0\0\0\0")
    assert cdr.decode_odometry(ODOMETRY) == RosPose(1.5, -0.25, qz=0.6, qw=0.8)


def test_a_string_is_what_ros_writes() -> None:
    assert cdr.encode_string("hi").hex() == "0001000003000000686900"
    assert cdr.decode_string(cdr.encode_string("grüß dich")) == "grüß dich"


def test_a_message_of_a_big_endian_computer_is_read() -> None:
    little = bytes.fromhex(TWIST)
    doubles = [little[at : at + 8][::-1] for at in range(4, len(little), 8)]
    assert decode_twist(b"\0\0\0\0" + b"".join(doubles)) == Velocity(0.25, -0.5)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_twist_that_is_written_is_read(forward: float, turn: float) -> None:
    assert decode_twist(encode_twist(Velocity(forward, turn))) == Velocity(forward, turn)


@given(st.binary(max_size=800), st.sampled_from(READERS))
def test_bytes_of_every_kind_are_read_or_refused(data: bytes, read) -> None:
    for begun in (data, b"\0\1\0\0" + data):
        try:
            read(begun)
        except ValueError:
            continue


@given(st.integers(0, 723))
def test_odometry_that_is_cut_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"too soon|begins no"):
        cdr.decode_odometry(ODOMETRY[:length])


def test_a_message_with_more_than_its_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        decode_twist(bytes.fromhex(TWIST) + bytes(8))


def test_a_velocity_that_is_no_number_is_read_as_such() -> None:
    assert not decode_twist(encode_twist(Velocity(math.nan))).is_finite
