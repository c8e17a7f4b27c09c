"""A drone that surveys fields: a leg to fly, photos with a label, a beacon."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def fly_leg(bearing_deg: int, distance_m: float, altitude_m: float = 30.0) -> str:
    """Fly one straight leg.

    Args:
        bearing_deg: Compass bearing, 0 is north, 90 is east.
        distance_m: Metres over the ground.
        altitude_m: Metres above the ground.
    """
    return "Leg flown."


@tool
def photograph(count: int, label: str, infrared: bool = False) -> str:
    """Take photos straight down.

    Args:
        count: Number of photos.
        label: Name of the series, copied as it is said.
        infrared: Use the infrared camera.
    """
    return "Photos taken."


@tool(motion=True)
def return_home() -> str:
    """Fly back to the launch pad and land."""
    return "Landed."


@tool
def set_beacon(colour: Literal["red", "green", "white"], blinking: bool) -> str:
    """Set the light below the drone."""
    return "Beacon set."


def build(llm: LLM) -> Agent:
    """Build the agent of the survey drone."""
    return Agent(
        "survey_drone",
        "You fly a survey drone for a farmer. Use your tools for what is asked, and nothing else.",
        llm=llm,
        tools=[fly_leg, photograph, return_home, set_beacon],
    )
