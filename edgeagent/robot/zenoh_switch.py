"""The process of a dead man's switch over Zenoh: ``python -m edgeagent.robot.zenoh_switch``.

Runs on the robot's side, beside the motors, and ends only when it is told to. It passes the velocities of
``ZenohBase`` on to the robot while they come, and sends zero when they do not. Knows nothing of agents.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import queue
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeagent.errors import EdgeAgentError
from edgeagent.robot.base_process import keep_awake
from edgeagent.robot.cdr import decode_twist, encode_string, encode_twist
from edgeagent.robot.dead_mans_switch import LOOK_S, TIMEOUT_S, DeadMansSwitch, SwitchRelay
from edgeagent.robot.remote_base import (
    ENDPOINT,
    ROBOT_KEY,
    STATE_KEY,
    VELOCITY_KEY,
    is_read,
    key,
    open_session,
    read_stamp,
    velocity_publisher,
)

if TYPE_CHECKING:
    import zenoh


class ZenohSwitch:
    """Passes velocities on. One thread looks; Zenoh's only fills a queue.

    Args:
        session: An open session.
        switch: Rules of what may pass.
        namespace: Namespace of the bridge, empty for none.
    """

    def __init__(self, session: zenoh.Session, switch: DeadMansSwitch, namespace: str) -> None:
        robot = velocity_publisher(session, key(namespace, ROBOT_KEY))
        states = session.declare_publisher(key(namespace, STATE_KEY), express=True)
        self._relay = SwitchRelay(
            switch,
            send=lambda velocity: robot.put(encode_twist(velocity)),
            tell=lambda state: states.put(encode_string(state)),
            is_heard=lambda: is_read(robot),
        )
        self._came: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        self._subscriber = session.declare_subscriber(key(namespace, VELOCITY_KEY), self._queue)
        self._running = True

    def run(self) -> None:
        """Passes velocities on until ``end``; the last is zero."""
        try:
            while self._running:
                self._take_all()
                self._relay.look(time.monotonic())
        finally:
            self._relay.end()

    def end(self) -> None:
        """Ends the loop at its next step. A signal handler may call it."""
        self._running = False

    def _queue(self, sample: zenoh.Sample) -> None:
        stamp = sample.attachment.to_bytes() if sample.attachment is not None else b""
        self._came.put((sample.payload.to_bytes(), stamp))

    def _take_all(self) -> None:
        """Waits for a tick at most and takes all that has come, so that a stop counts before what was sent earlier."""
        with contextlib.suppress(queue.Empty):
            self._take(*self._came.get(timeout=LOOK_S))
            for _ in range(self._came.qsize()):
                self._take(*self._came.get_nowait())

    def _take(self, payload: bytes, stamp: bytes) -> None:
        self._relay.take(lambda: (decode_twist(payload), *read_stamp(stamp)), time.monotonic())


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
