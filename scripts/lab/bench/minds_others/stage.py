"""A moving head above a small stage: one beam, its colour and strobe, and a fog machine beside it."""

from typing import Literal

from edgeagent import Agent, tool


@tool
def brightness(percent: int) -> str:
    """Dim the beam."""
    return "Set."


@tool(motion=True)
def point(pan_deg: float, tilt_deg: float = 0.0) -> str:
    """Aim the beam.

    Args:
        pan_deg: Positive is to the right.
        tilt_deg: Positive is up.
    """
    return "Aimed."


@tool
def set_color(color: Literal["white", "red", "blue", "green", "amber", "magenta"]) -> str:
    """Change the colour of the beam."""
    return "Changed."


@tool
def strobe(flashes_per_second: float) -> str:
    """Let the beam flash."""
    return "Flashing."


@tool
def fog(seconds: int = 5) -> str:
    """Blow fog onto the stage."""
    return "Fog is out."


@tool
def blackout() -> str:
    """Put the beam out at once."""
    return "Dark."


@tool(read_only=True)
def lamp_temperature() -> str:
    """Temperature of the lamp."""
    return "71 degrees"


agent = Agent(
    "stage",
    "You are the light of a small theatre stage. Follow the cues with your tools; otherwise talk with the crew.",
    tools=[brightness, point, set_color, strobe, fog, blackout, lamp_temperature],
)
