"""A base of your own that drives by word. Run it with: edgeagent chat --app examples/my_base.py"""

from edgeagent import Agent
from edgeagent.robot import BaseLimits, SimulatedBase, base_tools

# Your motors here: RoboClaw(port="/dev/ttyACM0", pulses_per_m=5600, track_m=0.25), or a class with the methods of Base.
base = SimulatedBase(BaseLimits(speed_mps=0.3, board_timeout_s=0.1))


def ahead() -> float:
    """Metres to what stands ahead: your sensor, for instance gpiozero's DistanceSensor."""
    return 4.0


places = {"kitchen": (1.5, 0.0), "sofa": (1.0, 1.0)}  # metres ahead and to the left of where it starts
agent = Agent(
    "rover",
    "You are a robot. Act with the tools.",
    tools=base_tools(base, places=places, distance=ahead),
)
