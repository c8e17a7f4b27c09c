"""The agent of ``bench.ros``: drives, and prints each lease. ``python -m bench.ros_agent ros``, or a Zenoh endpoint."""

from __future__ import annotations

import sys
import threading
import time

from edgeagent.robot import BaseDriver, BaseLimits, RemoteBase, ZenohBase


def main(way: str) -> None:
    """Drives until the process is killed."""
    limits = BaseLimits(acceleration_mps2=100.0, distance_m=100.0, board_timeout_s=0.3)
    base: RemoteBase
    if way == "ros":
        from ros_base import RosBase

        base = RosBase(limits=limits)
    else:
        base = ZenohBase(limits=limits, endpoint=way)
    driver = BaseDriver(base)
    driver.start()
    print("ready", driver.pid, sep="\n", flush=True)
    pause = threading.Event()
    with driver.drive() as drive:
        while not pause.wait(0.02):
            print(time.monotonic(), flush=True)
            drive.set(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
