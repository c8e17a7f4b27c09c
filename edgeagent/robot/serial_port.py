"""The serial port of a motor board, for one program alone, and the time-out that every such board is given.

Knows no protocol. Runs in the driver's process of a base.
"""

from __future__ import annotations

from typing import Any, Final

from edgeagent.errors import ConfigError, DriveError

TIMEOUT_S: Final = 0.3
"""Time-out that a board is given, in seconds: a multiple of 0.1. A larger number lets the motors turn for longer when
the driver is killed."""
ANSWER_S: Final = 0.2
"""Seconds that a board may take to answer, or to take what is sent. It takes 10 ms at 38,400 baud; the rest is for a
busy machine."""

TENTHS: Final = round(TIMEOUT_S * 10)
"""The same time-out as the boards count it, in steps of 100 ms."""


def open_port(port: str, baud: int, *, board: str) -> Any:
    """Opens a serial port for this process alone: 8 data bits, no parity, 1 stop bit.

    Args:
        port: For instance ``/dev/ttyACM0``.
        board: Name of the board, for the errors.

    Returns:
        A ``serial.Serial`` whose calls take ``ANSWER_S`` at most.

    Raises:
        ConfigError: pyserial is not installed.
        DriveError: The port can't be opened, or another program has it.
    """
    try:
        # has no types
        import serial  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise ConfigError(f'a {board} needs pyserial, not installed here: pip install "edgeagent[pi]"') from error
    try:
        return serial.Serial(port, baud, timeout=ANSWER_S, write_timeout=ANSWER_S, exclusive=True)
    except (OSError, ValueError) as error:
        raise DriveError(
            f"{port} can't be opened ({error}): is the board plugged in, is this user in the group dialout, "
            "has another program the port?"
        ) from error
