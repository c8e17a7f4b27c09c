"""A motor board of your own, such as an Arduino, that drives by word: edgeagent chat --app examples/serial_base.py

The board takes a line such as "V 0.20 -0.50" (metres and radians a second), answers it with its way so far, such as
"W 1.25 0.10" (metres and radians), and stops the motors when no line has come for 0.3 s.
"""

import os

import serial  # of edgeagent[pi]

from edgeagent import Agent
from edgeagent.robot import BaseLimits, Odometry, Velocity, base_tools


class SerialBase:
    limits = BaseLimits(speed_mps=0.3, board_timeout_s=0.3)

    def __init__(self, port: str) -> None:
        self.port = port

    def open(self) -> None:
        self.line = serial.Serial(self.port, 115_200, timeout=0.1, write_timeout=0.1, exclusive=True)
        self.set_velocity(Velocity())

    def set_velocity(self, velocity: Velocity) -> None:
        self.line.write(b"V %.3f %.3f\n" % (velocity.forward_mps, velocity.turn_rps))
        answer = self.line.readline().split()
        if len(answer) != 3 or answer[0] != b"W":
            raise OSError(f"the board answered {answer}")  # whatever is raised stops the motors
        self.way = Odometry(float(answer[1]), float(answer[2]))

    def odometry(self) -> Odometry:
        return self.way

    def stop(self) -> None:
        self.set_velocity(Velocity())

    def close(self) -> None:
        self.line.close()


base = SerialBase(os.environ.get("ROBOT_PORT", "/dev/ttyACM0"))
agent = Agent("rover", "You are a robot. Act with the tools.", tools=base_tools(base))
