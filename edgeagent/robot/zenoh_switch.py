"""The process of a dead man's switch over Zenoh: ``python -m edgeagent.robot.zenoh_switch``.

Runs on the robot's side, beside the motors, and ends only when it is told to. It passes the velocities of
``ZenohBase`` on to the robot while they come, and sends zero when they do not. Knows nothing of agents.
"""

from __future__ import annotations

import argparse
import logging
import queue
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from edgeagent.errors import EdgeAgentError
from edgeagent.robot.base import ZERO, Velocity
from edgeagent.robot.base_process import keep_awake
from edgeagent.robot.cdr import decode_twist, encode_string, encode_twist
from edgeagent.robot.dead_mans_switch import BEAT_S, TICK_S, TIMEOUT_S, DeadMansSwitch
from edgeagent.robot.zenoh_base import (
    ENDPOINT,
    ROBOT_KEY,
    STATE_KEY,
    VELOCITY_KEY,
    key,
    open_session,
    read_stamp,
)

if TYPE_CHECKING:
    import zenoh

_ZEROS: Final = 5
"""Zeros that are sent after a drive, a beat apart, because a network may lose one."""

_log = logging.getLogger("edgeagent.robot")


class ZenohSwitch:
    """Passes velocities on. One thread looks; Zenoh's only fills a queue.

    Args:
        session: An open session.
        switch: Rules of what may pass.
        namespace: Namespace of the bridge, empty for none.
    """

    def __init__(self, session: zenoh.Session, switch: DeadMansSwitch, namespace: str = "") -> None:
        import zenoh

        self._switch = switch
        self._came: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        self._robot = session.declare_publisher(
            key(namespace, ROBOT_KEY),
            priority=zenoh.Priority.REAL_TIME,
            congestion_control=zenoh.CongestionControl.DROP,
            express=True,
        )
        self._states = session.declare_publisher(key(namespace, STATE_KEY), express=True)
        self._subscriber = session.declare_subscriber(key(namespace, VELOCITY_KEY), self._queue)
        self._passes = ZERO
        self._zeros = 0
        self._told_s = float("-inf")
        self._why = ""
        self._running = True

    def run(self) -> None:
        """Passes velocities on until ``end``; the last is zero."""
        try:
            while self._running:
                self._look(time.monotonic(), self._take_all())
        finally:
            self._send(ZERO)

    def end(self) -> None:
        """Ends the loop at its next step. A signal handler may call it."""
        self._running = False

    def _queue(self, sample: zenoh.Sample) -> None:
        stamp = sample.attachment.to_bytes() if sample.attachment is not None else b""
        self._came.put((sample.payload.to_bytes(), stamp))

    def _take_all(self) -> bool:
        """Waits for a tick at most and takes all that has come, so that a stop at its end counts before what was sent
        earlier. Returns True if the last of it may pass."""
        passes = False
        try:
            passes = self._take(*self._came.get(timeout=TICK_S))
            for _ in range(self._came.qsize()):
                passes = self._take(*self._came.get_nowait())
        except queue.Empty:
            pass
        return passes

    def _take(self, payload: bytes, stamp: bytes) -> bool:
        """Takes what has come. Returns True if that may pass."""
        try:
            sender, sent_s = read_stamp(stamp)
            why = self._switch.take(decode_twist(payload), sender, sent_s, time.monotonic())
        except ValueError as error:
            why = self._switch.refuse_all(f"what comes on {VELOCITY_KEY} can't be read: {error}")
        if why and why != self._why:
            _log.warning("the dead man's switch lets nothing pass: %s", why)
        if why:
            self._told_s = float("-inf")  # the sender is to hear of it now
        self._why = why
        return not why

    def _look(self, now_s: float, renewed: bool) -> None:
        """Sends the velocity that may pass now, when it is renewed or another one, and the state of the switch."""
        before, self._passes = self._passes, self._switch.look(now_s)
        if self._passes != before or (renewed and not self._passes.is_zero):
            self._send(self._passes)
            self._zeros = _ZEROS if self._passes.is_zero else 0
        if now_s - self._told_s >= BEAT_S:
            self._told_s = now_s
            self._states.put(encode_string(self._switch.tell().to_json()))
            if self._zeros:
                self._zeros -= 1
                self._send(ZERO)

    def _send(self, velocity: Velocity) -> None:
        self._robot.put(encode_twist(velocity))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the switch until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m edgeagent.robot.zenoh_switch",
        description="Passes velocities on to the robot while they come, and sends zero when they do not.",
        epilog="examples: --listen tcp/127.0.0.1:7447 (no bridge);  --connect tcp/127.0.0.1:7447 (to the bridge)",
    )
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--listen", metavar="ENDPOINT", help=f"be the router that base and robot connect to ({ENDPOINT})")
    ends.add_argument("--connect", metavar="ENDPOINT", help="connect to a router, such as zenoh-bridge-ros2dds")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds a velocity holds (%(default)s)")
    parser.add_argument("--namespace", default="", help="namespace of the bridge (none)")
    given = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    try:
        switch = DeadMansSwitch(given.timeout)
        listen = "" if given.connect else given.listen or ENDPOINT
        session = open_session(connect=given.connect or "", listen=listen)
    except EdgeAgentError as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return 2
    with session:
        running = ZenohSwitch(session, switch, given.namespace)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: running.end())
        keep_awake()
        sys.stderr.write(
            f"the dead man's switch passes {VELOCITY_KEY} on to {ROBOT_KEY}, at {given.connect or listen}\n"
        )
        running.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
