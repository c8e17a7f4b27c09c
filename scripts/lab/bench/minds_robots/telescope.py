"""A telescope on a mount: choices, seconds, arc minutes, and a truth value."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def slew_to(target: str) -> str:
    """Point the telescope at a star, a planet or an object of a catalogue."""
    return f"On {target}."


@tool
def expose(seconds: float, band: Literal["clear", "red", "green", "blue", "h-alpha"] = "clear") -> str:
    """Take one picture.

    Args:
        seconds: Exposure time.
        band: Filter in front of the camera.
    """
    return "The picture is saved."


@tool(motion=True)
def nudge(direction: Literal["north", "south", "east", "west"], arcminutes: float) -> str:
    """Move the field of view a little."""
    return "Moved."


@tool(motion=True)
def dome_slit(open: bool) -> str:
    """Open the slit of the dome (true) or close it (false)."""
    return "The slit has moved."


@tool(read_only=True)
def seeing() -> str:
    """Current seeing, in arc seconds."""
    return "1.8 arc seconds"


@tool
def track(rate: Literal["sidereal", "lunar", "solar"]) -> str:
    """Choose the rate at which the mount follows the sky."""
    return f"Tracking at the {rate} rate."


agent = Agent(
    "telescope",
    "You operate the telescope of a school observatory. Call a tool when you are asked to do something. "
    "Otherwise just answer.",
    tools=[slew_to, expose, nudge, dome_slit, seeing, track],
)
