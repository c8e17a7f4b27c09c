"""A hospital porter, whose tools nano has not seen: edgeagent check --app porter.py --cases porter.toml"""

from typing import Literal

from edgeagent import Agent, tool


@tool
def deliver_sample(tube: str, lab: str, urgent: bool = False) -> str:
    """Carry a blood tube to a laboratory."""
    return f"{tube} is in {lab}"


@tool
def hail_lift(floor: int) -> str:
    """Call the elevator and ride to a level."""
    return f"on floor {floor}"


@tool
def wipe_down(area: Literal["lid", "tray", "wheels"], passes: int = 1) -> str:
    """Disinfect a part of the robot."""
    return f"{area} is clean"


@tool
def page_nurse(name: str) -> str:
    """Ring somebody of the ward."""
    return f"{name} is coming"


agent = Agent("porter", "You carry things in a hospital.", tools=[deliver_sample, hail_lift, wipe_down, page_nurse])
